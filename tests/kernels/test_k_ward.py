import numpy as np
from numpy.testing import assert_array_equal

from shoal.kernels.k_ward import k_ward_groups


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
