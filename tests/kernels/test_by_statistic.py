import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from naive.by_statistic import naive_row_means, naive_row_variances
from shoal.kernels.by_statistic import by_statistic_groups, row_means, row_variances
from shoal.model import Panel
from strategies import panels_with_k


def test_groups_begin_with_the_smallest_and_ties_go_by_row():
    statistic = np.array([7.0, 1.0, 3.0, 1.0, 3.0, 3.0, 9.0])
    assert_array_equal(by_statistic_groups(statistic, 2), [2, 0, 1, 0, 1, 2, 2])


@given(case=panels_with_k(gaps=False))
def test_means_and_variances_are_those_of_the_rows(case):
    rows = Panel(case[0]).rows
    size = np.abs(rows).max()
    assert_allclose(row_means(rows), naive_row_means(rows), rtol=1e-12, atol=1e-14 * size)
    width = np.ptp(rows, axis=1).max()
    # The oracle's own mean is rounded to the size of the values.
    assert_allclose(
        row_variances(rows), naive_row_variances(rows), rtol=1e-12, atol=1e-14 * width**2 + (1e-15 * size) ** 2
    )


def test_an_offset_changes_no_group(rng):
    x = rng.integers(-40, 40, size=(120, 16)) / 4.0  # exact with and without the offset
    for statistic in (row_means, row_variances):
        assert_array_equal(by_statistic_groups(statistic(x + 1e8), 5), by_statistic_groups(statistic(x), 5))
    assert_array_equal(row_variances(x + 1e8), row_variances(x))
