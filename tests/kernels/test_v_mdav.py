import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.v_mdav import naive_v_mdav
from shoal.kernels.v_mdav import v_mdav_groups
from shoal.model import Panel
from strategies import panels_with_k


@given(case=panels_with_k(gaps=False), gain=st.floats(0.0, 10.0))
def test_v_mdav_equals_naive_for_any_gain(case, gain):
    x, k = case
    assert_array_equal(v_mdav_groups(Panel(x).rows, k, gain), naive_v_mdav(Panel(x).rows, k, gain))


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
