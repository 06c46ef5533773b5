"""Accuracy on real days of what was learned from published ones."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shoal import Microaggregation, Panel, simulate
from shoal.cli.options import build
from shoal.errors import InputError, ParameterError
from shoal.utility import Prediction

LEARNERS = ["knn", "svm"]


def naive_accuracy(train, test, window, neighbours):
    right = 0
    for day in test:
        for t in range(len(day)):
            first = max(0, t - window)
            apart = [sum((a - b) ** 2 for a, b in zip(day[first:t], row[first:t], strict=True)) for row in train]
            last = sorted(apart)[min(neighbours, len(train)) - 1]
            votes = [row[t] > 0.5 for row, d in zip(train, apart, strict=True) if d <= last]
            right += (2 * sum(votes) > len(votes)) == (day[t] > 0.5)
    return right / test.size


halves = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])  # squares of their differences are exact


@given(
    train=hnp.arrays(np.float64, st.tuples(st.integers(1, 7), st.just(6)), elements=halves),
    test=hnp.arrays(np.float64, st.tuples(st.integers(1, 3), st.just(6)), elements=halves),
    window=st.integers(1, 7),
    neighbours=st.integers(1, 6),
)
def test_neighbours_answer_as_a_loop_does(train, test, window, neighbours):
    found = Prediction(window=window, neighbours=neighbours).accuracy(train, test)
    assert found == pytest.approx(naive_accuracy(train, test, window, neighbours))


def test_by_hand():
    train = [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    one = Prediction(window=1, neighbours=1)
    # First instant: one of two votes is not enough, so 0; then as the day that has the same value before.
    assert one.accuracy(train, [[0.0, 0.0, 1.0]]) == 1.0
    assert one.accuracy(train, [[1.0, 1.0, 0.0]]) == pytest.approx(2 / 3)
    assert one.accuracy(train, [[1.0, 0.0, 0.0]]) == 0.0


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_rule_is_learned_and_only_the_window_is_seen(learner, rng):
    # Somebody is there at instant 3 if there at 1: within a window of 2, and out of sight with a window of 1.
    def draw(n):
        x = (rng.random((n, 4)) < 0.5).astype(float)
        x[:, 3] = x[:, 1]
        return x

    train, test = draw(200), draw(200)
    knowing, blind = (Prediction(learner, window=w).accuracy(train, test) for w in (2, 1))
    assert knowing > blind + 0.1
    assert knowing == pytest.approx((3 * 0.5 + 1.0) / 4, abs=0.06)


@pytest.mark.parametrize("learner", LEARNERS)
def test_where_all_days_agree_so_does_the_answer(learner):
    train, test = np.tile([0.0, 1.0, 1.0], (6, 1)), np.tile([1.0, 1.0, 1.0], (2, 1))
    assert Prediction(learner).accuracy(train, test) == pytest.approx(2 / 3)


@settings(max_examples=30)
@given(
    groups=hnp.arrays(np.int64, st.integers(2, 30), elements=st.integers(0, 6)),
    folds=st.integers(2, 6),
    seed=st.integers(0, 3),
)
def test_every_series_is_in_one_part_and_those_published_alike_in_the_same(groups, folds, seed):
    if len(set(groups.tolist())) < 2:
        return
    original = Panel(np.random.default_rng(0).random((len(groups), 3)))
    split = Prediction(folds=folds, seed=seed).split(original, Panel(np.repeat(groups[:, None], 3, axis=1)))
    assert len(split) == min(folds, len(set(groups.tolist())))
    assert sorted(np.concatenate(split).tolist()) == list(range(len(groups)))
    for group in set(groups.tolist()):
        assert sum(bool((groups[part] == group).any()) for part in split) == 1


def test_parts_are_of_nearly_the_same_size_and_change_with_the_seed():
    original = Panel(np.random.default_rng(0).random((90, 4)))
    published = Microaggregation(k=3).anonymize(original).published
    splits = [Prediction(seed=seed).split(original, published) for seed in (0, 1)]
    assert all(max(map(len, split)) - min(map(len, split)) <= 3 for split in splits)
    assert [sorted(part.tolist()) for part in splits[0]] != [sorted(part.tolist()) for part in splits[1]]


def test_no_day_is_predicted_from_a_mean_it_is_part_of():
    # Of coins nothing can be learned. A day whose pair is learned from is half of what it is predicted from.
    coins = Panel(np.random.default_rng(3).integers(0, 2, size=(60, 60)).astype(float))
    published = Microaggregation(k=2).anonymize(coins).published
    nearest = Prediction(neighbours=1)
    kept_apart = nearest.measure(coins, published).value
    rest = [np.delete(published.values, row, axis=0) for row in range(60)]
    leaking = np.mean([nearest.accuracy(rest[row], coins.values[[row]]) for row in range(60)])
    assert abs(kept_apart - 0.5) < 0.03
    assert leaking > 0.6


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_originals_teach_is_the_score_of_publishing_them(learner):
    days = simulate.occupancy(40, days=1, step="1h", start="2024-01-09", seed=2)
    published = Microaggregation(k=4, round_to="binary").anonymize(days).published
    measure = Prediction(learner, window=3)
    found = measure.accuracies(days, published)
    assert found.published == measure.measure(days, published).value
    parts = measure.split(days, published)
    alone = [
        measure.accuracy(days.values[np.concatenate(parts[:at] + parts[at + 1 :])], days.values[part])
        for at, part in enumerate(parts)
    ]
    assert found.original == pytest.approx(np.average(alone, weights=[len(part) for part in parts]))
    assert 0.75 < found.published < 1.0


def test_half_a_group_is_a_means_answer():
    means = np.tile([0.0, 2 / 3, 1 / 3], (4, 1))
    assert Prediction().accuracy(means, [[0.0, 1.0, 0.0]]) == 1.0
    assert Prediction(above=0.1).accuracy(means, [[0.0, 1.0, 0.0]]) == pytest.approx(2 / 3)


def test_channels_vote_apart():
    train = np.zeros((5, 2, 2))
    train[:, :, 1] = 1.0
    test = np.ones((1, 2, 2))
    for learner in LEARNERS:
        assert Prediction(learner).accuracy(train, test) == 0.5


def test_of_many_series_whole_groups_are_drawn_and_that_is_said():
    original = Panel(np.random.default_rng(0).random((90, 4)))
    published = Microaggregation(k=3).anonymize(original).published
    measure = Prediction(sample=20)
    drawn = np.concatenate(measure.split(original, published))
    assert 2 * 3 <= len(drawn) <= 20
    groups = {row.tobytes() for row in published.values[drawn]}
    assert len(drawn) == sum(row.tobytes() in groups for row in published.values)
    assert measure.note(published) == "estimated from about 20 of 90 series, drawn with seed 0"
    assert Prediction().note(published) == ""
    assert not math.isnan(measure.measure(original, published).value)


def test_options_can_be_typed():
    typed = build(Prediction, {"learner": "svm", "window": "4", "folds": "3"})
    assert typed == Prediction("svm", window=4, folds=3)


class TestRefusals:
    def test_impossible_parameters(self):
        with pytest.raises(ParameterError, match="learner must be one of: knn, svm"):
            Prediction("forest")
        for name, least in (("window", 1), ("neighbours", 1), ("folds", 2), ("sample", 2), ("seed", 0)):
            for value in (least - 1, True, 2.5):
                with pytest.raises(ParameterError, match=f"{name} must be a whole number of at least {least}"):
                    Prediction(**{name: value})
        with pytest.raises(ParameterError, match="above must be a finite number"):
            Prediction(above=float("inf"))

    def test_a_release_of_one_curve(self):
        with pytest.raises(ParameterError, match="at least 2 ways, found 1: with its group held out nothing is left"):
            Prediction().measure(Panel(np.eye(4)), Panel(np.ones((4, 4))))

    def test_gaps_and_other_shapes(self):
        gappy = np.eye(4)
        gappy[2, 0] = np.nan
        with pytest.raises(InputError, match="1 of 4 series of the original panel have missing"):
            Prediction().measure(Panel(gappy), Panel(np.eye(4)))
        with pytest.raises(ParameterError, match="differ in shape"):
            Prediction().measure(Panel(np.eye(4)), Panel(np.eye(3)))
        with pytest.raises(ParameterError, match=r"shape \(4, 1\), but the test series have shape \(3"):
            Prediction().accuracy(np.eye(4), np.eye(3))
