"""The index changes the work, never the groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal.kernels import fast_mdav
from shoal.kernels.fast_mdav import fast_mdav_groups
from shoal.kernels.leaves import build_leaves, drop_row, farthest, nearest, place_of_point, place_of_row
from shoal.kernels.mdav import mdav_groups, squared_distance


def slow(x, k):
    return mdav_groups(x, np.arange(len(x)), k, np.zeros(1, dtype=np.int64))


def fast(x, k):
    return fast_mdav_groups(x, k, np.zeros(1, dtype=np.int64))


def clouds(rng, n, kind):
    if kind == "noise":
        return rng.normal(size=(n, 30))
    if kind == "few axes":
        return rng.normal(size=(n, 3)) @ rng.normal(size=(3, 40)) + 0.01 * rng.normal(size=(n, 40))
    if kind == "ties":
        return rng.integers(0, 3, size=(n, 4)).astype(float)
    if kind == "one column":
        return rng.integers(0, 50, size=(n, 1)).astype(float)
    if kind == "constant":
        return np.full((n, 5), 0.1)
    if kind == "copies":
        return np.repeat(rng.normal(size=(n // 7 + 1, 6)), 7, axis=0)[:n]
    if kind == "far away":
        return rng.normal(size=(n, 8)) + 1e8
    if kind == "outliers":
        return rng.standard_cauchy(size=(n, 10))
    return np.where(rng.random((n, 12)) < 0.9, 0.0, rng.gamma(1.0, size=(n, 12)))  # mostly zeros


KINDS = ["noise", "few axes", "ties", "one column", "constant", "copies", "far away", "outliers", "zeros"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "k"), [(700, 2), (901, 5), (1300, 10)])
def test_the_groups_are_those_of_the_search_through_all_rows(monkeypatch, kind, n, k):
    monkeypatch.setattr(fast_mdav, "SMALL", 60)
    x = clouds(np.random.default_rng(n + k), n, kind)
    assert_array_equal(fast(x, k), slow(x, k))


@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), n=st.integers(120, 260), k=st.integers(2, 6))
def test_the_groups_are_the_same_on_random_clouds(seed, kind, n, k):
    x = clouds(np.random.default_rng(seed), n, kind)
    before, fast_mdav.SMALL = fast_mdav.SMALL, 40
    try:
        assert_array_equal(fast(x, k), slow(x, k))
    finally:
        fast_mdav.SMALL = before


def test_small_panels_are_left_to_the_plain_kernel(rng):
    x = rng.normal(size=(100, 4))
    assert_array_equal(fast(x, 3), slow(x, 3))


def test_progress_counts_all_rows(rng, monkeypatch):
    monkeypatch.setattr(fast_mdav, "SMALL", 60)
    done = np.zeros(1, dtype=np.int64)
    fast_mdav_groups(rng.normal(size=(500, 4)), 4, done)
    assert done[0] == 500


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_and_farthest_equal_a_full_search_while_rows_are_dropped(kind):
    rng = np.random.default_rng(3)
    x = clouds(rng, 600, kind)
    leaves, frame = build_leaves(x, np.arange(600))
    left = list(range(600))
    while len(left) > 30:
        centre = int(rng.choice(left))
        others = [r for r in left if r != centre]
        by_distance = sorted(others, key=lambda r: (squared_distance(x[r], x[centre]), r))
        found = np.empty(5, dtype=np.int64)
        nearest(x, leaves, centre, place_of_row(leaves, centre), frame.error, found)
        assert found.tolist() == by_distance[:5]
        point = x[left].mean(axis=0)
        row, distance, _ = farthest(x, leaves, point, place_of_point(frame, point), frame.error)
        distances = {r: squared_distance(x[r], point) for r in left}
        assert row == min(left, key=lambda r: (-distances[r], r))
        assert distance == distances[row]
        for row in rng.choice(left, size=25, replace=False):
            drop_row(leaves, row)
            left.remove(row)
