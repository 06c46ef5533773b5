"""Silhouette and Davies-Bouldin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal import Panel
from shoal.errors import ParameterError
from shoal.features import find_features
from shoal.utility import DaviesBouldin, Silhouette
from shoal.utility.davies_bouldin import likeness
from shoal.utility.groups import group_series
from shoal.utility.silhouette import silhouettes

BOTH = [Silhouette, DaviesBouldin]


def distance(a, b):
    """Over what both have, scaled to all; None where that is nothing."""
    squares = [(u - v) ** 2 for u, v in zip(a, b, strict=True) if not math.isnan(u - v)]
    return math.sqrt(sum(squares) * len(a) / len(squares)) if squares else None


def mean(numbers):
    known = [n for n in numbers if n is not None]
    return sum(known) / len(known) if known else None


def naive_silhouettes(x, labels):
    found = []
    for i, row in enumerate(x):
        inside = mean(distance(row, x[j]) for j in range(len(x)) if labels[j] == labels[i] and j != i)
        rivals = [
            mean(distance(row, x[j]) for j in range(len(x)) if labels[j] == other)
            for other in set(labels) - {labels[i]}
        ]
        rivals = [r for r in rivals if r is not None]
        if inside is None or not rivals or max(inside, min(rivals)) == 0.0:
            found.append(0.0)
        else:
            found.append((min(rivals) - inside) / max(inside, min(rivals)))
    return found


def naive_davies_bouldin(x, labels):
    groups = sorted(set(labels))
    means, scatters = [], []
    for group in groups:
        members = [row for row, label in zip(x, labels, strict=True) if label == group]
        centre = [mean(None if math.isnan(v) else v for v in column) for column in zip(*members, strict=True)]
        centre = [math.nan if v is None else v for v in centre]
        means.append(centre)
        scatters.append(mean(distance(row, centre) for row in members) or 0.0)
    worst = []
    for i in range(len(groups)):
        gaps = [(j, distance(means[i], means[j])) for j in range(len(groups)) if j != i]
        worst.append(max([(scatters[i] + scatters[j]) / gap for j, gap in gaps if gap], default=0.0))
    return sum(worst) / len(worst)


def published_in(labels, shape):
    """A release in which each group has a value of its own, everywhere."""
    return Panel(np.broadcast_to(np.array(labels, dtype=float).reshape(-1, *[1] * (len(shape) - 1)), shape))


def case(rng, n=60, n_groups=7, length=5, gaps=0.0):
    labels = [*range(n_groups), *rng.integers(0, n_groups, size=n - n_groups).tolist()]
    x = rng.normal(size=(n, length)) + np.array(labels)[:, None]
    x[rng.random(x.shape) < gaps] = np.nan
    return x, labels


@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.7])
def test_silhouettes_equal_naive(rng, gaps):
    x, labels = case(rng, gaps=gaps)
    values, positions = Silhouette().per_series(Panel(x), published_in(labels, x.shape))
    assert_array_equal(positions, np.arange(60))
    assert_allclose(values, naive_silhouettes(x, labels), atol=1e-9)
    score = Silhouette().measure(Panel(x), published_in(labels, x.shape))
    assert (score.goal, score.range) == ("higher", (-1.0, 1.0))
    assert score.value == pytest.approx(values.mean())


@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.7])
def test_davies_bouldin_equals_naive(rng, gaps):
    x, labels = case(rng, gaps=gaps)
    score = DaviesBouldin().measure(Panel(x), published_in(labels, x.shape))
    assert (score.goal, score.range) == ("lower", (0.0, math.inf))
    assert score.value == pytest.approx(naive_davies_bouldin(x.tolist(), labels))


@given(data=st.data(), n_groups=st.integers(2, 5))
def test_what_is_ours_equals_scikit_learn_where_that_can_be_asked(data, n_groups):
    from sklearn.metrics import davies_bouldin_score, silhouette_samples

    labels = [*range(n_groups), *data.draw(st.lists(st.integers(0, n_groups - 1), min_size=1, max_size=20))]
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    x = rng.normal(size=(len(labels), data.draw(st.integers(1, 4))))
    grouped = group_series(Panel(x), published_in(labels, x.shape), "raw")
    assert_array_equal(grouped.labels, labels)
    everyone, all_groups = np.arange(len(x)), np.arange(n_groups)
    assert_allclose(silhouettes(grouped, everyone), silhouette_samples(x, labels), atol=1e-6)
    assert likeness(grouped, all_groups).mean() == pytest.approx(davies_bouldin_score(x, labels), rel=1e-6)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_a_sample_of_series_is_scored_against_all(rng, gaps):
    x, labels = case(rng, gaps=gaps)
    panel, published = Panel(x), published_in(labels, x.shape)
    everyone, _ = Silhouette().per_series(panel, published)
    values, positions = Silhouette(sample=20, seed=3).per_series(panel, published)
    assert len(set(positions.tolist())) == len(values) == 20
    assert_allclose(values, everyone[positions], atol=1e-9)
    assert Silhouette(sample=20, seed=3).measure(panel, published).value == pytest.approx(values.mean())
    assert_array_equal(Silhouette(sample=20, seed=3).per_series(panel, published)[1], positions)
    assert set(Silhouette(sample=20, seed=4).per_series(panel, published)[1]) != set(positions)


def test_a_sample_of_groups_is_scored_against_all(rng):
    x, labels = case(rng, n_groups=12)
    panel, published = Panel(x), published_in(labels, x.shape)
    each = likeness(group_series(panel, published, "raw"), np.arange(12))
    assert each.mean() == pytest.approx(DaviesBouldin().measure(panel, published).value)
    chosen = [DaviesBouldin(sample=1, seed=seed).measure(panel, published).value for seed in range(60)]
    assert all(np.isclose(each, value).any() for value in chosen)
    assert len(set(chosen)) > 6


@pytest.mark.parametrize("measure", BOTH)
def test_samples_are_right_on_average(rng, measure):
    x, labels = case(rng, n=90, n_groups=30)
    panel, published = Panel(x), published_in(labels, x.shape)
    whole = measure().measure(panel, published).value
    drawn = [measure(sample=10, seed=seed).measure(panel, published).value for seed in range(300)]
    assert np.mean(drawn) == pytest.approx(whole, abs=4 * np.std(drawn) / math.sqrt(300))


def test_the_sampling_is_said():
    published = published_in(np.arange(40) // 4, (40, 3))
    assert Silhouette().note(published) == ""
    assert Silhouette(sample=15, seed=2).note(published) == (
        "estimated from 15 of 40 series, drawn with seed 2, each compared with all"
    )
    assert DaviesBouldin(sample=10).note(published) == ""
    assert DaviesBouldin(sample=9).note(published) == (
        "estimated from 9 of 10 groups, drawn with seed 0, each compared with all"
    )


@pytest.mark.parametrize(("measure", "n_columns"), [(Silhouette, 60), (DaviesBouldin, 7)])
def test_chunks_change_nothing(rng, monkeypatch, measure, n_columns):
    x, labels = case(rng)
    panel, published = Panel(x), published_in(labels, x.shape)
    before = measure(sample=6).measure(panel, published).value
    monkeypatch.setattr("shoal.utility.groups.WORKING_MEMORY", 8 * n_columns / 2**20)  # one row
    assert measure(sample=6).measure(panel, published).value == pytest.approx(before)


@pytest.mark.parametrize("features", ["raw", "standardized", "centred", "haar"])
def test_distances_are_those_of_the_features(rng, features):
    x, labels = case(rng, length=8)
    panel, published = Panel(x), published_in(labels, x.shape)
    described = find_features(features)(panel)
    values, _ = Silhouette(features=features).per_series(panel, published)
    assert_allclose(values, naive_silhouettes(described, labels), atol=1e-6)
    found = DaviesBouldin(features=features).measure(panel, published).value
    assert found == pytest.approx(naive_davies_bouldin(described.tolist(), labels), rel=1e-6)


@pytest.mark.parametrize("measure", BOTH)
def test_only_which_series_are_alike_matters_of_the_published_values(rng, measure):
    x, labels = case(rng)
    names = rng.normal(size=7)
    values = names[labels][:, None] + np.arange(5)
    found = measure().measure(Panel(x), Panel(values)).value
    assert found == pytest.approx(measure().measure(Panel(x), published_in(labels, x.shape)).value, rel=1e-12)


@pytest.mark.parametrize("measure", BOTH)
@pytest.mark.parametrize("change", [lambda x: x + 1e9, lambda x: x * 2.0**-40, lambda x: x * 2.0**400])
def test_offset_and_unit_do_not_matter(rng, measure, change):
    labels = (np.arange(40) // 4).tolist()
    x = rng.integers(0, 50, size=(40, 6)).astype(float)
    near = measure().measure(Panel(x), published_in(labels, x.shape)).value
    assert measure().measure(Panel(change(x)), published_in(labels, x.shape)).value == pytest.approx(near, rel=1e-9)


def test_tight_groups_far_apart_are_best_and_mixed_ones_worst(rng):
    x = np.repeat([0.0, 100.0], 10)[:, None] + rng.random((20, 3))
    sorted_out, mixed = published_in(np.repeat([0, 1], 10), x.shape), published_in(np.tile([0, 1], 10), x.shape)
    good, bad = (Silhouette().measure(Panel(x), published) for published in (sorted_out, mixed))
    assert good.value > 0.98
    assert good.better_than(bad)
    good, bad = (DaviesBouldin().measure(Panel(x), published) for published in (sorted_out, mixed))
    assert good.value < 0.02
    assert good.better_than(bad)


def test_one_group_has_nothing_to_be_compared_with(rng):
    x = rng.normal(size=(6, 3))
    one = published_in([0] * 6, x.shape)
    assert Silhouette().measure(Panel(x), one).value == 0.0
    assert DaviesBouldin().measure(Panel(x), one).value == math.inf


@pytest.mark.parametrize("sample", [2, 5000])
def test_series_that_are_alone_score_zero(rng, sample):
    x = rng.normal(size=(6, 3))
    assert Silhouette(sample=sample).measure(Panel(x), Panel(x)).value == 0.0
    assert DaviesBouldin(sample=sample).measure(Panel(x), Panel(x)).value == 0.0
    values, positions = Silhouette(sample=sample).per_series(Panel(x), Panel(x))
    assert len(values) == len(positions) == min(sample, 6)


@pytest.mark.parametrize("measure", BOTH)
@pytest.mark.parametrize("labels", [[0] * 6, [0, 0, 0, 1, 1, 1], range(6)])
@pytest.mark.parametrize("level", [0.1, math.nan])
def test_originals_that_are_all_the_same_score_zero(measure, labels, level):
    assert measure().measure(Panel(np.full((6, 4), level)), published_in(labels, (6, 4))).value == 0.0


def test_one_series_can_be_measured():
    assert Silhouette().measure(Panel([[1.0, 2.0]]), Panel([[1.0, 2.0]])).value == 0.0
    assert DaviesBouldin().measure(Panel([[1.0, 2.0]]), Panel([[1.0, 2.0]])).value == 0.0


def test_a_series_that_is_missing_altogether_scores_zero():
    x = np.array([[0.0, 1.0], [0.1, 1.0], [np.nan, np.nan], [9.0, 9.0], [9.5, 9.0]])
    labels = [0, 0, 0, 1, 1]
    values, _ = Silhouette().per_series(Panel(x), published_in(labels, x.shape))
    assert values[2] == 0.0
    assert_allclose(values, naive_silhouettes(x, labels), atol=1e-9)


@pytest.mark.parametrize("measure", BOTH)
def test_haar_refuses_gaps_with_its_own_words(measure):
    x = np.ones((4, 4))
    x[1, 2] = np.nan
    with pytest.raises(ParameterError, match="1 of 4 series have missing values"):
        measure(features="haar").measure(Panel(x), Panel(np.ones((4, 4))))


@pytest.mark.parametrize("measure", BOTH)
class TestRefusals:
    def test_other_shapes(self, measure):
        with pytest.raises(ParameterError, match="differ in shape; compare them before shuffling rows"):
            measure().measure(Panel(np.ones((3, 2))), Panel(np.ones((2, 2))))

    def test_unknown_features(self, measure):
        with pytest.raises(ParameterError, match="features must be one of: raw, standardized, centred, haar"):
            measure(features="fourier")

    @pytest.mark.parametrize("sample", [0, -1, 2.5, True, "many"])
    def test_impossible_samples(self, measure, sample):
        with pytest.raises(ParameterError, match="sample must be a whole number of at least 1"):
            measure(sample=sample)

    @pytest.mark.parametrize("seed", [-1, 0.5, True, None])
    def test_impossible_seeds(self, measure, seed):
        with pytest.raises(ParameterError, match="seed must be a whole number of at least 0"):
            measure(seed=seed)
