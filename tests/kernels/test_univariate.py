import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.univariate import loss_of_labels, lowest_loss_of_all, lowest_loss_sorted
from shoal.kernels.univariate import optimal_groups
from strategies import ANY_VALUES, FEW_VALUES, TENTHS

LOSSES = pytest.mark.parametrize("loss", ["squared", "absolute"])


@st.composite
def columns_with_k(draw, largest_n):
    k = draw(st.integers(1, 4))
    elements = draw(st.sampled_from([st.sampled_from(FEW_VALUES), TENTHS, ANY_VALUES, st.just(0.1)]))
    return np.array(draw(st.lists(elements, min_size=k, max_size=max(k, largest_n)))), k


def check(values, k, loss, lowest):
    labels = optimal_groups(values, k, loss)
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1
    # The squares of the smallest numbers vanish below 1e-300.
    assert float(loss_of_labels(values, labels, loss) - lowest) <= 1e-12 * float(lowest) + 1e-300


@LOSSES
@given(case=columns_with_k(largest_n=8))
def test_no_partition_of_any_kind_has_a_lower_loss(loss, case):
    values, k = case
    check(values, k, loss, lowest_loss_of_all(values, k, loss))


@LOSSES
@given(case=columns_with_k(largest_n=16))
def test_no_cut_of_the_sorted_values_has_a_lower_loss(loss, case):
    values, k = case
    check(values, k, loss, lowest_loss_sorted(values, k, loss))


@LOSSES
@pytest.mark.parametrize("k", [1, 2, 3])
def test_sorting_and_sizes_below_2k_lose_nothing(loss, k, rng):
    for n in range(k, 10):
        values = rng.integers(0, 12, size=n).astype(float)
        assert lowest_loss_sorted(values, k, loss) == lowest_loss_of_all(values, k, loss)


@LOSSES
@pytest.mark.parametrize("size", ["k", "2k - 1", "2k", "3k - 1"])
def test_the_optimum_where_the_number_of_groups_changes(loss, size, rng):
    k = 5
    n = {"k": k, "2k - 1": 2 * k - 1, "2k": 2 * k, "3k - 1": 3 * k - 1}[size]
    for values in (rng.normal(size=n), rng.lognormal(size=n), np.full(n, 0.1)):
        check(values, k, loss, lowest_loss_sorted(values, k, loss))


@LOSSES
def test_an_offset_changes_no_group(loss, rng):
    values = rng.integers(-4000, 4000, size=500) / 8.0  # exact with and without the offset
    for k in (2, 3, 10):
        assert_array_equal(optimal_groups(values + 1e8, k, loss), optimal_groups(values, k, loss))


@LOSSES
def test_one_value_far_away_does_not_blur_the_others(loss, rng):
    near = rng.integers(0, 200, size=60) / 8.0
    far = np.concatenate([near, np.full(3, 1e12)])
    assert_array_equal(optimal_groups(far, 3, loss)[:60], optimal_groups(near, 3, loss))


def test_groups_are_numbered_from_the_smallest_value_and_equal_values_keep_row_order():
    assert_array_equal(optimal_groups(np.array([9.0, 1.0, 9.0, 1.0, 9.0, 1.0]), 3, "squared"), [1, 0, 1, 0, 1, 0])
    assert_array_equal(optimal_groups(np.zeros(4), 2, "absolute"), [0, 0, 1, 1])


def test_of_equal_losses_the_smaller_last_group_is_taken():
    # 0 1 | 2 3 4 and 0 1 2 | 3 4 lose the same.
    for loss in ("squared", "absolute"):
        assert_array_equal(optimal_groups(np.arange(5.0), 2, loss), [0, 0, 0, 1, 1])
