import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.v_mdav import naive_v_mdav
from shoal.kernels.v_mdav import v_mdav_groups
from shoal.model import Panel
from strategies import panels_with_k

GAINS = [0.0, 0.2, 0.5, 1.0, 1.1, 2.0, 100.0]


def check(x, k, gain):
    labels = v_mdav_groups(x, k, gain)
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1
    assert_array_equal(labels, naive_v_mdav(x, k, gain))


@settings(max_examples=400)
@given(case=panels_with_k(gaps=False), gain=st.sampled_from(GAINS))
def test_v_mdav_equals_naive_with_ties_and_channels(case, gain):
    x, k = case
    check(Panel(x).rows, k, gain)


@settings(max_examples=100)
@given(case=panels_with_k(gaps=False), gain=st.floats(0.0, 10.0))
def test_v_mdav_equals_naive_for_any_gain(case, gain):
    x, k = case
    check(Panel(x).rows, k, gain)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("size", ["k", "2k - 1", "2k", "3k - 1"])
def test_v_mdav_equals_naive_where_the_number_of_groups_changes(k, size, rng):
    n = {"k": k, "2k - 1": 2 * k - 1, "2k": 2 * k, "3k - 1": 3 * k - 1}[size]
    for x in (rng.normal(size=(n, 11)), rng.integers(0, 2, size=(n, 3)).astype(float), np.full((n, 2), 0.1)):
        for gain in GAINS:
            check(x, k, gain)


@pytest.mark.parametrize("seed", range(60))
def test_v_mdav_equals_naive_on_a_grid_full_of_ties(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(80, 140)) if seed % 4 == 0 else int(rng.integers(12, 50))
    n_columns, n_values = [(1, 20), (2, 8), (3, 4), (12, 2), (20, 2), (40, 2)][seed % 6]
    x = rng.integers(0, n_values, size=(n, n_columns)).astype(float)
    check(x, int(rng.integers(2, 6)), GAINS[seed % len(GAINS)])


@pytest.mark.parametrize("seed", range(14))
def test_v_mdav_equals_naive_on_two_hundred_rows(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(180, 220)), int(rng.integers(1, 30))))
    kind = seed % 4
    if kind == 1:
        x = np.round(x)
    if kind == 2:
        x = np.cumsum(x, axis=1) * rng.lognormal(size=(len(x), 1))
    if kind == 3:
        x = np.round(x, 1) + 1e9
    check(x, int(rng.integers(2, 8)), GAINS[seed % len(GAINS)])


@pytest.mark.parametrize(("gain", "labels"), [(1.0, [1, 1, 1, 0, 0]), (10.0, [1, 1, 0, 0, 0])])
def test_v_mdav_on_five_points_of_a_line(gain, labels):
    # The first group is {11, 10}. Its nearest is 2, 8 away from it and 1 from its own nearest: it comes if 8 < gain.
    x = np.array([0.0, 1.0, 2.0, 10.0, 11.0]).reshape(-1, 1)
    assert_array_equal(v_mdav_groups(x, 2, gain), labels)


def test_a_larger_gain_makes_larger_groups(rng):
    x = rng.normal(size=(200, 4))
    assert (np.bincount(v_mdav_groups(x, 4, 0.0))[:-1] == 4).all()
    assert v_mdav_groups(x, 4, 100.0).max() < v_mdav_groups(x, 4, 0.0).max()


def test_a_row_for_which_all_groups_are_full_splits_one():
    # With a huge gain each group takes 2k - 1 = 3 rows; the seventh row finds no room.
    x = np.array([0.0, 1.0, 2.0, 100.0, 101.0, 102.0, 50.0]).reshape(-1, 1)
    labels = v_mdav_groups(x, 2, 1e6)
    assert_array_equal(labels, naive_v_mdav(x, 2, 1e6))
    assert sorted(np.bincount(labels)) == [2, 2, 3]


def test_threads_change_nothing(rng):
    x = rng.integers(0, 9, size=(300, 4)).astype(float)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = v_mdav_groups(x, 5, 1.0)
    finally:
        numba.set_num_threads(before)
    assert_array_equal(alone, v_mdav_groups(x, 5, 1.0))


def test_the_panel_is_left_as_it_was(rng):
    x = rng.normal(size=(30, 3))
    before = x.copy()
    v_mdav_groups(x, 3, 1.0)
    assert_array_equal(x, before)
