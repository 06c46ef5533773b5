"""Sums of squares many rows at a time are those of one row after the other."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_array_equal

from shoal.kernels.lanes import (
    GROUP,
    STRIDE,
    WIDTH,
    begin_sums,
    bound_boxes,
    continue_sums,
    fit_box,
    lowest,
    promising_boxes,
    row_sum,
)

HUGE = 2**31 - 1
LARGEST = 16000  # of any value; a row is no longer than that


def points(rng, n, n_values):
    """Whole numbers with lengths up to the largest allowed, the last of each not negative."""
    y = rng.normal(size=(n, n_values))
    y *= LARGEST * rng.random((n, 1)) ** 0.2 / np.linalg.norm(y, axis=1, keepdims=True)
    y[:, -1] = abs(y[:, -1])
    return np.trunc(y).astype(np.int16)


def blocks(y):
    """Leaf by leaf, in a leaf pair by pair, in a pair row by row."""
    return np.ascontiguousarray(y.reshape(-1, WIDTH, y.shape[1] // 2, 2).transpose(0, 2, 1, 3)).reshape(-1)


def in_pairs(boxes):
    return np.ascontiguousarray(boxes.reshape(len(boxes), -1, 2).transpose(1, 0, 2)).reshape(-1)


def squares(y, q):
    """Of the coordinates, and with the lengths beyond: the least and the most."""
    y, q = y.astype(np.int64), q.astype(np.int64)
    sums = ((y[:, :-1] - q[:-1]) ** 2).sum(axis=1)
    return sums, sums + (y[:, -1] - q[-1]) ** 2, sums + (y[:, -1] + q[-1]) ** 2


def bits(hits):
    return sum(int(hit) << i for i, hit in enumerate(hits))


@njit
def begin(values, start, point, there, sums, least, most, i):
    begin_sums(values, start, point, there, sums, least, most, i)


@njit
def go_on(values, start, point, sums, i, near, far):
    return continue_sums(values, start, point, sums, i, near, far)


@njit
def along(values, start, point, n):
    return row_sum(values, start, point, n)


@njit
def bound(low, high, n, i, near, far, lower, upper):
    bound_boxes(low, high, n, i, near, far, lower, upper)


@njit
def promising(lower, upper, i, near, far):
    return promising_boxes(lower, upper, i, near, far)


@njit
def fit(values, start, there, low, high, n, i):
    fit_box(values, start, there, low, high, n, i)


@njit
def first_bit(mask):
    return lowest(mask)


@pytest.mark.parametrize("leaf", [0, 1, 2])
def test_a_block_begins_its_sums(rng, leaf):
    y, q = points(rng, 3 * WIDTH, 8), points(rng, 1, 8)[0]
    there = rng.random(WIDTH) < 0.7
    sums, least, most = np.zeros(4 * WIDTH, np.int32), np.zeros(4, np.int32), np.zeros(4, np.int32)
    begin(blocks(y), leaf * 8 * WIDTH, q, bits(there), sums, least, most, 3)
    total, low, high = squares(y[leaf * WIDTH : (leaf + 1) * WIDTH], q)
    assert_array_equal(sums[3 * WIDTH :], total)
    assert not sums[: 3 * WIDTH].any()
    assert (least[3], most[3]) == (low[there].min(), high[there].max())


def test_nothing_is_near_or_far_in_a_block_without_rows(rng):
    sums, least, most = np.zeros(WIDTH, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    begin(blocks(points(rng, WIDTH, 8)), 0, points(rng, 1, 8)[0], 0, sums, least, most, 0)
    assert (least[0], most[0]) == (HUGE, -1)


def test_a_block_continues_sums_and_says_which_rows_are_near_or_far(rng):
    y, q = points(rng, 2 * WIDTH, 16), points(rng, 1, 16)[0]
    y, q = y // 2, q // 2  # leaves room for what came before
    before = rng.integers(0, 10**6, size=3 * WIDTH).astype(np.int32)
    total, low, high = squares(y[WIDTH:], q) + before[WIDTH : 2 * WIDTH].astype(np.int64)
    for near, far in ((int(np.median(low)), HUGE), (-1, int(np.median(high))), (int(low.min()), int(high.max()))):
        sums = before.copy()
        mask = go_on(blocks(y), 16 * WIDTH, q, sums, 1, near, far)
        assert mask == bits((low <= near) | (high >= far))
        assert mask > 0
        assert_array_equal(sums, np.concatenate([before[:WIDTH], total, before[2 * WIDTH :]]))


def test_the_longest_distance_there_can_be_is_summed(rng):
    y, q = np.zeros((WIDTH, 8), np.int16), np.zeros(8, np.int16)
    y[:, 2], q[2] = LARGEST, -LARGEST
    sums, least, most = np.zeros(WIDTH, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)
    begin(blocks(y), 0, q, 1, sums, least, most, 0)
    assert least[0] == most[0] == 4 * LARGEST**2


@pytest.mark.parametrize("n", [1, 2, 45])
def test_values_that_lie_one_after_the_other_are_summed(rng, n):
    y, q = points(rng, 5, n * STRIDE), points(rng, 1, n * STRIDE)[0]
    for i, row in enumerate(y):
        assert along(y.reshape(-1), i * n * STRIDE, q, n) == ((row.astype(np.int64) - q) ** 2).sum()


def test_boxes_are_as_far_as_their_nearest_and_farthest_corners(rng):
    n = 3 * GROUP
    corners = np.sort(points(rng, 2 * n, 8).reshape(n, 2, 8), axis=1)
    corners[:, :, -1] = np.sort(abs(corners[:, :, -1]), axis=1)
    low, high, q = corners[:, 0], corners[:, 1], points(rng, 1, 8)[0]
    opposite = q.copy()
    opposite[-1] *= -1
    lower, upper = np.zeros(n, np.int32), np.zeros(n, np.int32)
    for i in range(0, n, GROUP):
        bound(in_pairs(low), in_pairs(high), n, i, q, opposite, lower, upper)
    low, high, q, opposite = (a.astype(np.int64) for a in (low, high, q, opposite))
    assert_array_equal(lower, (np.maximum(np.maximum(low - q, q - high), 0) ** 2).sum(axis=1))
    farthest = (np.maximum(opposite - low, high - opposite) ** 2).sum(axis=1)
    assert (4 * upper.astype(np.int64) >= farthest).all()
    assert (4 * upper.astype(np.int64) <= farthest * 1.01 + 100).all()
    mask = promising(lower, upper, GROUP, int(np.median(lower)), int(upper.max()))
    hits = (lower <= int(np.median(lower))) | (upper >= upper.max())
    assert mask == bits(hits[GROUP : 2 * GROUP])
    assert 0 < mask < 2**GROUP - 1


def test_a_box_is_fitted_to_the_rows_that_are_there(rng):
    y, there = points(rng, 2 * WIDTH, 8), rng.random(WIDTH) < 0.5
    low, high = np.zeros(5 * 8, np.int16), np.zeros(5 * 8, np.int16)
    fit(blocks(y), 8 * WIDTH, bits(there), low, high, 5, 3)
    kept = y[WIDTH:][there]
    expected_low, expected_high = np.zeros((5, 8), np.int16), np.zeros((5, 8), np.int16)
    expected_low[3], expected_high[3] = kept.min(axis=0), kept.max(axis=0)
    assert_array_equal(low, in_pairs(expected_low))
    assert_array_equal(high, in_pairs(expected_high))


@pytest.mark.parametrize("bit", [0, 1, 17, 31])
def test_the_lowest_bit_is_found(bit):
    assert first_bit(2**bit) == bit
    assert first_bit(2**bit + 2**40) == bit
