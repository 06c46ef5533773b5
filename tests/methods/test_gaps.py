"""Groups of series with gaps are large enough that few cells are withheld, and lose least of those tried."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal import KAnonymity, Microaggregation, Panel
from shoal.methods import gaps
from shoal.methods.gaps import fill_gaps, groups_with_gaps, loss_with_gaps

NAN = float("nan")


def with_gaps(rng, n=300, n_columns=12, share=0.1):
    x = rng.normal(size=(n, 1)) + rng.normal(scale=0.3, size=(n, n_columns))
    x[rng.random(x.shape) < share] = NAN
    return x


def naive_loss(x, labels, k):
    total = 0.0
    for t in range(x.shape[1]):
        seen = [v for v in x[:, t] if v == v]
        middle = sum(seen) / len(seen) if seen else 0.0
        for i, value in enumerate(x[:, t]):
            group = [v for v, label in zip(x[:, t], labels, strict=True) if label == labels[i] and v == v]
            shown = sum(group) / len(group) if len(group) >= k else middle
            total += (value - shown) ** 2 if value == value else 0.0
    return total


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12), k=st.integers(1, 4), share=st.floats(0.0, 1.0))
def test_the_loss_is_that_of_the_definition(seed, n, k, share):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 5, size=(n, 3)).astype(float)
    x[rng.random(x.shape) < share] = NAN
    labels = np.unique(rng.integers(0, 3, size=n), return_inverse=True)[1]
    assert loss_with_gaps(x, labels, k) == pytest.approx(naive_loss(x, labels, k))


def test_a_gap_is_filled_from_the_rest_of_its_row():
    x = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [3.0, NAN], [1.0, NAN]])
    filled = fill_gaps(x)
    assert_array_equal(filled[:3], x[:3])
    assert filled[3, 1] > 20.0 > filled[4, 1]


@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 1.0), scale=st.sampled_from([1e-200, 1.0, 1e200]))
def test_filled_rows_are_complete_whatever_is_missing(seed, share, scale):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, size=(6, 4)) * scale
    x[rng.random(x.shape) < share] = NAN
    filled = fill_gaps(x)
    assert np.isfinite(filled).all()
    assert_array_equal(filled[~np.isnan(x)], x[~np.isnan(x)])


def test_units_of_columns_do_not_matter_for_what_a_gap_is_filled_with(rng):
    x = with_gaps(rng)
    units = 10.0 ** rng.integers(-3, 4, size=x.shape[1])
    np.testing.assert_allclose(fill_gaps(x * units), fill_gaps(x) * units)


def test_the_size_that_loses_least_is_kept(rng):
    x = with_gaps(rng, n=60)
    tried = []

    def form(rows, size):
        assert not np.isnan(rows).any()
        tried.append(np.arange(60) * (60 // size) // 60)
        return tried[-1]

    kept = groups_with_gaps(x, x, 4, form)
    assert len(tried) > 3
    assert loss_with_gaps(x, kept, 4) == min(loss_with_gaps(x, labels, 4) for labels in tried[1:])


@pytest.mark.parametrize(
    ("k", "missing", "n"), [(10, 0.05, 1000), (3, 0.0001, 100), (10, 0.5, 45), (5, 1.0, 40), (7, 0.1, 9)]
)
def test_sizes_begin_at_k_rise_and_leave_at_most_one_with_a_single_group(k, missing, n):
    sizes = list(gaps._sizes(k, missing, n))
    assert sizes[0] == k
    assert sizes == sorted(set(sizes))
    assert sum(size > n // 2 for size in sizes) <= 1
    assert sizes[-1] <= n


@pytest.mark.parametrize("kind", ["scattered", "stretches"])
def test_the_default_withholds_few_cells_where_mdav_withholds_many(rng, kind):
    values = with_gaps(rng, share=0.1 if kind == "scattered" else 0.0)
    if kind == "stretches":
        values[::4, 3:9] = NAN
    panel = Panel(values)
    withheld, losses = {}, {}
    for algorithm in ("auto", "mdav"):
        candidate = Microaggregation(k=5, algorithm=algorithm).anonymize(panel)
        assert candidate.check().holds
        withheld[algorithm] = candidate.recipe.figures["cells_withheld"]
        losses[algorithm] = loss_with_gaps(values, candidate.private.groups, 5)
    assert withheld["auto"] < withheld["mdav"] / 3
    assert losses["auto"] < 0.7 * losses["mdav"]


def test_gaps_count_though_the_features_have_none(rng):
    panel = Panel(with_gaps(rng, share=0.1))
    method = Microaggregation(k=5, features=lambda panel: np.nanmax(panel.rows, axis=1, keepdims=True))
    candidate = method.anonymize(panel)
    assert candidate.check().holds
    assert candidate.recipe.figures["cells_withheld"] < 0.05 * panel.values.size


def test_groups_with_gaps_are_the_same_for_any_number_of_threads(rng, monkeypatch):
    for name, value in (("MOST_UNCUT", 40), ("MOST_IN_BLOCK", 40), ("LEAST_GROUPS_IN_BLOCK", 4)):
        monkeypatch.setattr(f"shoal.kernels.blocks.{name}", value)
    panel = Panel(with_gaps(rng))
    one, two, three = (Microaggregation(k=3, threads=threads).anonymize(panel) for threads in (1, 2, 3))
    assert_array_equal(one.values, two.values)
    assert_array_equal(one.values, three.values)


def test_a_published_mean_covers_at_least_k_readings(rng):
    values = with_gaps(rng, share=0.3)
    candidate = Microaggregation(k=4).anonymize(Panel(values))
    assert KAnonymity(4).check(candidate).holds
    for label in np.unique(candidate.private.groups):
        members = candidate.private.groups == label
        shown = ~np.isnan(candidate.values[members][0])
        assert (np.count_nonzero(~np.isnan(values[members]), axis=0)[shown] >= 4).all()


def test_progress_of_a_panel_with_gaps_rises_to_the_end(rng):
    seen = []
    Microaggregation(k=3).anonymize(Panel(with_gaps(rng)), progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (300, 300)
