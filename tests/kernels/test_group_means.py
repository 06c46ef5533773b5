import numpy as np
from hypothesis import given
from numpy.testing import assert_array_equal

from naive.mdav import naive_group_means, naive_mdav
from shoal.kernels.group_means import group_means
from shoal.model import Panel
from strategies import panels_with_k, panels_with_subjects


def as_bits(x):
    return Panel(x).values.view(np.uint64)


@given(case=panels_with_k())
def test_group_means_equal_naive_bit_for_bit(case):
    x, k = case
    panel = Panel(x)
    labels = naive_mdav(panel.rows, k)
    fast = group_means(panel.rows, labels, panel.subject_codes, k).reshape(x.shape)
    assert_array_equal(as_bits(fast), as_bits(naive_group_means(panel.values, labels, k)))


@given(case=panels_with_subjects())
def test_group_means_count_subjects_not_series(case):
    x, k, subjects = case
    panel = Panel(x, subjects=subjects)
    labels = naive_mdav(panel.rows, k, panel.subject_codes)
    fast = group_means(panel.rows, labels, panel.subject_codes, k).reshape(x.shape)
    assert_array_equal(as_bits(fast), as_bits(naive_group_means(panel.values, labels, k, panel.subject_codes)))


def test_a_mean_over_fewer_than_k_subjects_is_withheld():
    x = np.array([[1.0, 5.0], [np.nan, 7.0], [3.0, np.nan], [5.0, np.nan]])
    means = group_means(x, np.zeros(4, dtype=np.int64), np.arange(4), 3)
    assert_array_equal(means, np.tile([3.0, np.nan], (4, 1)))
