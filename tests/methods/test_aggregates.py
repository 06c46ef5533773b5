import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal.errors import ParameterError
from shoal.kernels.mdav import mdav_groups
from shoal.methods.aggregates import aggregate_groups, check_rounding, largest_likeness, round_values
from shoal.model import Panel
from strategies import panels_with_k


def naive_aggregate(x, labels, k, aggregate):
    published = np.full(x.shape, np.nan)
    for label in set(labels.tolist()):
        members = [i for i in range(len(x)) if labels[i] == label]
        for c in range(x.shape[1]):
            seen = sorted(float(x[i, c]) for i in members if x[i, c] == x[i, c])
            if len(seen) < k:
                continue
            if aggregate == "median":
                seen = seen[(len(seen) - 1) // 2 : len(seen) // 2 + 1]
            elif aggregate == "trimmed-mean":
                cut = int(0.2 * len(seen))
                seen = seen[cut : len(seen) - cut]
            for i in members:
                published[i, c] = sum(seen) / len(seen)
    return published


@pytest.mark.parametrize("aggregate", ["mean", "median", "trimmed-mean"])
@given(case=panels_with_k())
def test_aggregates_equal_naive_and_members_are_published_alike(aggregate, case):
    x, k = case
    panel = Panel(x)
    labels = mdav_groups(panel.rows, panel.subject_codes, k, np.zeros(1, dtype=np.int64))
    published = aggregate_groups(panel.rows, labels, panel.subject_codes, k, aggregate)
    assert_allclose(published, naive_aggregate(panel.rows, labels, k, aggregate), rtol=1e-12, atol=1e-9)
    for label in set(labels.tolist()):
        own = published[labels == label]
        assert_array_equal(own, np.tile(own[0], (len(own), 1)))


def test_the_median_of_a_member_in_the_middle_is_that_member():
    x = np.array([[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 5.0, 5.0], [9.5, 8.5, 7.5, 3.0]])
    labels = np.zeros(3, dtype=np.int64)
    published = aggregate_groups(x, labels, np.arange(3), 3, "median")
    assert_array_equal(published[0], [5.0, 5.0, 5.0, 4.0])
    assert largest_likeness(x, published, labels) == 0.75
    assert largest_likeness(x, aggregate_groups(x, labels, np.arange(3), 3, "mean"), labels) == 0.25


def test_cells_at_which_all_are_equal_do_not_count():
    x = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0]])
    assert largest_likeness(x, np.array([[0.0, 0.0, 2.0]] * 2), np.zeros(2, dtype=np.int64)) == 0.0


@pytest.mark.parametrize(
    ("to", "values", "rounded"),
    [
        (0.1, [0.34, -0.04, np.nan, 0.3], [0.3, 0.0, np.nan, 0.3]),
        (5, [12.0, 13.0], [10.0, 15.0]),
        (0.25, [0.3, 0.4], [0.25, 0.5]),
        ("whole", [1.6, -0.2], [2.0, 0.0]),
        ("binary", [0.49, 0.5, np.nan], [0.0, 1.0, np.nan]),
    ],
)
def test_rounding(to, values, rounded):
    found = round_values(np.array(values), to)
    assert_array_equal(found, rounded)
    assert not np.signbit(found[found == 0.0]).any()


@given(values=st.lists(st.floats(-1e6, 1e6), min_size=1), to=st.sampled_from([0.01, 0.1, 0.5, 3.0, "whole"]))
def test_rounding_again_changes_nothing(values, to):
    once = round_values(np.array(values), to)
    assert_array_equal(round_values(once, to), once)


@pytest.mark.parametrize("to", [0, -1.0, float("inf"), "tenth", True])
def test_a_resolution_that_is_none_is_refused(to):
    with pytest.raises(ParameterError, match="round_to must be a resolution above 0"):
        check_rounding(to)
