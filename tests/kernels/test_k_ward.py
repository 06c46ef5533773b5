import numba
import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_array_equal

from naive.k_ward import naive_k_ward
from shoal.kernels.k_ward import k_ward_groups
from shoal.model import Panel
from strategies import panels_with_k


def check(x, k):
    labels = k_ward_groups(x, k)
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1
    assert_array_equal(labels, naive_k_ward(x, k))


@settings(max_examples=400)
@given(case=panels_with_k(gaps=False))
def test_k_ward_equals_naive_with_ties_and_channels(case):
    x, k = case
    check(Panel(x).rows, k)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("size", ["k", "2k - 1", "2k", "3k - 1", "4k"])
def test_k_ward_equals_naive_where_the_number_of_groups_changes(k, size, rng):
    n = {"k": k, "2k - 1": 2 * k - 1, "2k": 2 * k, "3k - 1": 3 * k - 1, "4k": 4 * k}[size]
    for x in (rng.normal(size=(n, 11)), rng.integers(0, 2, size=(n, 3)).astype(float), np.full((n, 2), 0.1)):
        check(x, k)


KINDS = ["plain", "ties", "tenths", "walks", "far", "very far", "half alike", "one column", "outliers", "wide", "tight"]


@pytest.mark.parametrize("seed", range(33))
def test_k_ward_equals_naive_on_small_and_large_panels(seed):
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(rng.integers(30, 80)) if seed >= len(KINDS) else int(rng.integers(180, 220))
    n_columns = {"one column": 1, "wide": 60}.get(kind, int(rng.integers(2, 20)))
    x = rng.normal(size=(n, n_columns))
    if kind == "ties":
        x = rng.integers(0, 2, size=x.shape).astype(float)
    if kind == "tenths":
        x = rng.integers(0, 4, size=x.shape) / 10
    if kind == "walks":
        x = np.cumsum(x, axis=1)
    if kind == "far":
        x = np.round(x, 1) + 1e8
    if kind == "very far":
        x = np.round(x, 1) + 1e15  # rounding is an eighth here, and means lie outside their rows
    if kind == "half alike":
        x[rng.random(n) < 0.5] = 0.3
    if kind == "tight":  # crowds so far apart that the sketches of what is inside one are mostly rounding
        x = rng.normal(size=(2, n_columns))[rng.integers(0, 2, size=n)] * 1e9 + 1e-6 * x
    if kind == "outliers":
        x *= rng.lognormal(0.0, 5.0, size=(n, 1))
    check(x, int(rng.integers(2, 7)))


@pytest.mark.parametrize("seed", range(60))
def test_k_ward_equals_naive_on_a_grid_full_of_ties(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(80, 140)) if seed % 4 == 0 else int(rng.integers(12, 50))
    n_columns, n_values = [(1, 20), (2, 8), (3, 4), (12, 2), (20, 2), (40, 2)][seed % 6]
    x = rng.integers(0, n_values, size=(n, n_columns)).astype(float)
    check(x, int(rng.integers(2, 6)))


def test_k_ward_on_seven_points_of_a_line():
    # 0 and 12 are most distant. {0, 1} takes 2, before {11, 12} takes 10 at the same distance: lower rows first. Then
    # {0, 1, 2} takes 5, has 2k rows, and is split around 0 and 5.
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0, 5.0]).reshape(-1, 1)
    assert_array_equal(k_ward_groups(x, 2), [0, 0, 1, 2, 2, 2, 1])


def test_rows_that_are_all_alike_are_cut_in_row_order():
    assert_array_equal(k_ward_groups(np.full((8, 3), 0.1), 3), [0, 0, 0, 1, 1, 1, 1, 1])


def test_an_offset_changes_no_group(rng):
    # 840 is divisible by 1 to 8, the sizes that groups have on the way: every mean is a whole number.
    x = 840.0 * rng.integers(-1000, 1000, size=(60, 3))
    assert_array_equal(k_ward_groups(x + 840e8, 2), k_ward_groups(x, 2))


def test_two_far_apart_crowds_are_not_mixed(rng):
    x = np.concatenate([rng.normal(size=(40, 5)), 1000.0 + rng.normal(size=(40, 5))])
    labels = k_ward_groups(x, 5)
    assert not set(labels[:40]) & set(labels[40:])


def test_threads_change_nothing(rng):
    for x in (rng.normal(size=(700, 40)), rng.integers(0, 2, size=(700, 9)).astype(float)):
        before = numba.get_num_threads()
        try:
            numba.set_num_threads(1)
            alone = k_ward_groups(x, 5)
        finally:
            numba.set_num_threads(before)
        assert_array_equal(alone, k_ward_groups(x, 5))


def test_the_panel_is_left_as_it_was(rng):
    x = rng.normal(size=(30, 3))
    before = x.copy()
    k_ward_groups(x, 3)
    assert_array_equal(x, before)
