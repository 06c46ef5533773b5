"""What matters about series, and pairs labelled from it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from shoal.errors import InputError, ParameterError
from shoal.features import interests
from shoal.features.interests import (
    Arrival,
    CustomInterest,
    Departure,
    Segment,
    TimeOccupied,
    WindowTotal,
    best_clusters,
    distances,
    label_pairs,
)

days = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(2, 12)), elements=st.sampled_from([0.0, 1.0]))


@given(x=days)
def test_times_are_those_a_loop_finds(x):
    for row, arrival, departure, occupied in zip(
        x, Arrival().of(x), Departure().of(x), TimeOccupied().of(x), strict=True
    ):
        there = [t for t, value in enumerate(row) if value > 0]
        assert arrival == (there[0] if there else len(row))
        assert departure == (there[-1] + 1 if there else 0)
        assert occupied == len(there)


def test_times_can_be_asked_above_a_level():
    use = np.array([[3.0, 9.0, 9.0, 2.0]])
    assert [i(5.0).of(use).item() for i in (Arrival, Departure, TimeOccupied)] == [1.0, 3.0, 2.0]


@pytest.mark.parametrize(("n", "window"), [(96, slice(44, 56)), (24, slice(11, 14)), (1440, slice(660, 840))])
def test_a_window_in_times_of_the_day_is_the_same_at_any_step(rng, n, window):
    x = rng.normal(size=(3, n))
    assert_array_equal(Segment("11:00", "14:00").of(x), x[:, window])
    assert_array_equal(WindowTotal("11:00", "14:00").of(x), x[:, window].sum(axis=1, keepdims=True))
    assert_array_equal(Segment(window.start, window.stop).of(x), x[:, window])


def test_a_window_may_end_at_midnight():
    assert Segment("23:00", "24:00").of(np.ones((1, 24))).shape == (1, 1)


def test_channels_count_apart():
    x = np.array([[[0, 1], [1, 1], [1, 0]]])
    assert Arrival().of(x).tolist() == [[1.0, 0.0]]
    assert WindowTotal(0, 2).of(x).tolist() == [[1.0, 2.0]]
    assert Segment(0, 2).of(x).tolist() == [[0.0, 1.0, 1.0, 1.0]]


@pytest.mark.parametrize("interest", [Segment(0, 2), WindowTotal(0, 2), Arrival(), Departure(), TimeOccupied()])
@given(x=days)
def test_the_true_distance_is_a_pseudometric(interest, x):
    i, j, k = x, np.roll(x, 1, axis=0), np.roll(x, 2, axis=0)
    assert (distances(interest, i, i) == 0).all()
    assert_array_equal(distances(interest, i, j), distances(interest, j, i))
    assert (distances(interest, i, k) <= distances(interest, i, j) + distances(interest, j, k) + 1e-9).all()


@pytest.mark.parametrize("n_series", [2, 3, 7])
def test_all_pairs_are_drawn_once(n_series):
    x = np.arange(n_series, dtype=float)[:, None]
    pairs = label_pairs(x, Segment(0, 1), n_pairs=None)
    found = {(int(a), int(b)) for a, b in zip(pairs.left[:, 0], pairs.right[:, 0], strict=True)}
    assert found == {(a, b) for a in range(n_series) for b in range(a + 1, n_series)}
    assert len(pairs.left) == n_series * (n_series - 1) // 2


def test_fewer_pairs_are_different_ones_and_the_same_under_a_seed(rng):
    x = np.arange(40, dtype=float)[:, None]
    one, same, other = (label_pairs(x, Segment(0, 1), n_pairs=100, seed=seed) for seed in (1, 1, 2))
    assert len({(a, b) for a, b in zip(one.left[:, 0], one.right[:, 0], strict=True)}) == 100
    assert_array_equal(one.left, same.left)
    assert (one.left != other.left).any()


def test_labels_by_threshold_are_true_distances_up_to_it(rng):
    x = rng.normal(size=(30, 5))
    pairs = label_pairs(x, Segment(1, 3), threshold=0.8)
    assert_array_equal(pairs.similar, distances(Segment(1, 3), pairs.left, pairs.right) <= 0.8)
    half = label_pairs(x, Segment(1, 3))
    assert half.similar.mean() == pytest.approx(0.5, abs=0.01)


def test_labels_by_clusters_find_the_planted_number(rng):
    level = np.repeat([0.0, 10.0, 20.0, 30.0], 10)
    x = np.column_stack([level + rng.normal(size=40), rng.normal(size=(40, 3)) * 50])
    pairs = label_pairs(x, Segment(0, 1), by="clusters", n_pairs=None)
    assert_array_equal(pairs.similar, abs(pairs.left[:, 0].round(-1) - pairs.right[:, 0].round(-1)) < 5)
    assert len(np.unique(best_clusters(level[:, None]))) == 4


def test_clusters_of_series_that_are_all_alike_are_one():
    assert label_pairs(np.ones((5, 3)), Arrival(), by="clusters").similar.all()


def test_any_function_is_an_interest():
    x = np.array([[1.0, 4.0], [3.0, 2.0]])
    assert distances(lambda values: values.max(axis=1), x[:1], x[1:]).tolist() == [1.0]
    assert_array_equal(CustomInterest(lambda values: values).of(x), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Segment(3, 3), "must end after it starts"),
        (lambda: Segment("14:00", "11:00"), "must end after it starts"),
        (lambda: Segment(-1, 3), "positions of at least 0"),
        (lambda: Segment(0, "11:00"), "both as times"),
        (lambda: WindowTotal("noon", "14:00"), "has the form '11:00'"),
        (lambda: WindowTotal("11:00", "25:00"), "up to '24:00'"),
        (lambda: Segment(0, 9).of(np.ones((2, 4))), "ends at position 9, the series have 4"),
        (lambda: Segment("11:10", "12:00").of(np.ones((2, 24))), "on its grid"),
        (lambda: CustomInterest(lambda x: x[:1]).of(np.ones((2, 4))), r"shape \(1, 4\) and type float64 for 2 series"),
        (lambda: CustomInterest(lambda x: x[:, 0] / 0).of(np.zeros((2, 4))), "missing or infinite"),
        (lambda: label_pairs(np.ones((3, 2)), Arrival), "instance such as interests.Arrival()"),
        (lambda: label_pairs(np.ones((3, 2)), 4), "An interest is"),
        (lambda: label_pairs(np.ones((3, 2)), Arrival(), by="guess"), "by must be one of: threshold, clusters"),
        (lambda: label_pairs(np.ones((3, 2)), Arrival(), by="clusters", threshold=1.0), "by='threshold'"),
        (lambda: label_pairs(np.ones((3, 2)), Arrival(), n_pairs=0), "n_pairs must be at least 1"),
        (lambda: label_pairs(np.ones((1, 2)), Arrival()), "at least 2 series, found 1"),
    ],
)
def test_what_makes_no_interest_is_refused(call, message):
    with np.errstate(all="ignore"), pytest.raises(ParameterError, match=message):
        call()


@pytest.mark.parametrize("values", [np.ones(3), [["secret"]], np.ones((2, 0)), [[1.0], [1.0, 2.0]]])
def test_what_is_no_array_of_series_is_refused(values):
    with pytest.raises(InputError, match=r"array of numbers \(series, instants\)") as refusal:
        interests.Arrival().of(values)
    assert "secret" not in str(refusal.value)


def test_gaps_are_refused_with_the_way_out():
    with pytest.raises(InputError, match=r"1 of 2 series.*the first at position 1.*drop-series"):
        Arrival().of([[1.0, 2.0], [np.nan, 1.0]])
