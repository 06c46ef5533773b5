"""Kernels that find nearest rows, against pairs worked out one by one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.attack_candidates import INFINITE, fullest, naive_distance, naive_nearest
from naive.attack_dtw import naive_warping
from shoal.kernels.dtw import nearest_by_warping
from shoal.kernels.nearest_rows import nearest_rows

VALUES = [-1.0, 0.0, 0.5, 1.0, 3.0]  # sums of their squares are exact, so ties are ties


@st.composite
def two_tables(draw, gaps):
    width = draw(st.sampled_from([1, 2, 3, 5]))
    cells = st.sampled_from([*VALUES, float("nan")] if gaps else VALUES)
    table = st.integers(1, 6).flatmap(
        lambda n: st.lists(st.lists(cells, min_size=width, max_size=width), min_size=n, max_size=n)
    )
    return np.array(draw(table)), np.array(draw(table))


def unfold(found):
    distances, start, which = found
    return distances, [which[a:b].tolist() for a, b in pairwise(start)]


def compare(found, expected):
    distances, near = unfold(found)
    for i, (least, following, rows) in enumerate(expected):
        assert near[i] == rows
        wanted = [np.inf if d == INFINITE else float(d) for d in (least, following)]
        assert distances[i].tolist() == pytest.approx(wanted)


@pytest.mark.parametrize("gaps", [False, True])
@given(data=st.data())
def test_nearest_rows_and_all_ties_equal_enumeration(gaps, data):
    x, y = data.draw(two_tables(gaps))
    compare(nearest_rows(x, y), naive_nearest(x.tolist(), y.tolist()))


@given(tables=two_tables(gaps=True))
def test_of_rows_with_gaps_those_with_most_in_common_may_come_first(tables):
    x, y = tables
    _, near = unfold(nearest_rows(x, y, fullest=True))
    expected = naive_nearest(x.tolist(), y.tolist(), distance=fullest(naive_distance))
    assert near == [rows for _, _, rows in expected]


@given(tables=two_tables(gaps=False))
def test_rows_with_the_same_number_are_passed_over(tables):
    _, y = tables
    numbers = np.arange(len(y))
    if len(y) > 1:
        expected = naive_nearest(y.tolist(), y.tolist(), passed_over=lambda i, j: i == j)
        compare(nearest_rows(y, y, numbers, numbers), expected)


def test_wide_rows_given_up_early_have_the_same_ties(rng):
    y = rng.integers(0, 3, size=(40, 100)).astype(float)
    y[17] = y[3]
    x = np.vstack([y[3], y[8] + 0.25])
    compare(nearest_rows(x, y), naive_nearest(x.tolist(), y.tolist()))


@given(tables=two_tables(gaps=False), band=st.integers(0, 5))
def test_warping_and_all_ties_equal_walking_every_way(tables, band):
    x, y = tables
    distances, near = unfold(nearest_by_warping(x, y, band))
    for i, row in enumerate(x.tolist()):
        ways = [naive_warping(row, other, band) for other in y.tolist()]
        assert distances[i, 0] == min(ways)
        assert near[i] == [j for j, way in enumerate(ways) if way == min(ways)]


def test_without_a_band_warping_is_the_sum_of_squares(rng):
    x, y = rng.normal(size=(5, 30)), rng.normal(size=(9, 30))
    squares = ((x[:, None] - y[None]) ** 2).sum(axis=2)
    distances, near = unfold(nearest_by_warping(x, y, 0))
    assert distances[:, 0] == pytest.approx(squares.min(axis=1))
    assert [rows[0] for rows in near] == squares.argmin(axis=1).tolist()


def test_a_row_with_a_large_bound_may_be_the_nearest():
    """Two rows inside the envelope look near and are not; the third sticks out of it, and that is all it costs."""
    x = np.array([[0.0, 10.0, 0.0, 10.0]])
    y = np.array([[5.0] * 4, [5.1] * 4, [0.0, 10.0, 0.0, 10.0 + np.sqrt(90.0)]])
    distances, near = unfold(nearest_by_warping(x, y, 1))
    assert near == [[2]]
    assert distances[0].tolist() == pytest.approx([90.0, 100.0])


def test_bounds_leave_out_no_row_of_many(rng):
    x, y = np.cumsum(rng.normal(size=(6, 24)), axis=1), np.cumsum(rng.normal(size=(60, 24)), axis=1)
    distances, near = unfold(nearest_by_warping(x, y, 2))
    for i in range(len(x)):
        ways = sorted((naive_two_rows(x[i], y[j], 2), j) for j in range(len(y)))
        assert near[i] == [ways[0][1]]
        assert distances[i].tolist() == pytest.approx([ways[0][0], ways[1][0]])


def naive_two_rows(a, b, band):
    """As `naive_warping`, by a table: the walk over every way takes too long for 24 instants."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(max(0, i - band), min(len(b), i + band + 1)):
            cost[i + 1, j + 1] = (a[i] - b[j]) ** 2 + min(cost[i, j + 1], cost[i + 1, j], cost[i, j])
    return cost[-1, -1]
