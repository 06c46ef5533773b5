"""What every kernel that forms groups of k rows does: the groups of its definition, whatever the rows."""

from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal

from naive.by_statistic import naive_by_statistic
from naive.k_ward import naive_k_ward
from naive.mdav import naive_mdav
from naive.v_mdav import naive_v_mdav
from shoal.kernels.by_statistic import by_statistic_groups
from shoal.kernels.k_ward import k_ward_groups
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.v_mdav import v_mdav_groups
from shoal.model import Panel
from strategies import panels_with_k


def mdav(x, k):
    done = np.zeros(1, dtype=np.int64)
    labels = mdav_groups(x, np.arange(len(x)), k, done)
    assert done[0] == len(x)
    return labels


GROUPINGS = {
    "mdav": (mdav, naive_mdav),
    "k-ward": (k_ward_groups, naive_k_ward),
    "by-statistic": (lambda x, k: by_statistic_groups(x[:, 0], k), lambda x, k: naive_by_statistic(x[:, 0], k)),
} | {
    f"v-mdav, gain {gain}": (partial(v_mdav_groups, gain=gain), partial(naive_v_mdav, gain=gain)) for gain in (0.2, 2.0)
}
KINDS = {
    "plain": lambda rng, x: x,
    "walks": lambda rng, x: x.cumsum(axis=1),
    "one column": lambda rng, x: x[:, :1],
    "wide": lambda rng, x: np.tile(x, 6),
    "tenths": lambda rng, x: rng.integers(0, 4, size=x.shape) / 10,
    "ties": lambda rng, x: rng.integers(0, 2, size=x.shape).astype(float),
    "grid": lambda rng, x: rng.integers(0, 8, size=(len(x), 2)).astype(float),
    "half alike": lambda rng, x: np.where(rng.random((len(x), 1)) < 0.5, 0.3, x),
    "constant": lambda rng, x: np.full(x.shape, 0.1),
    "far": lambda rng, x: np.round(x, 1) + 1e8,
    "very far": lambda rng, x: np.round(x, 1) + 1e15,  # rounding is an eighth here, and means lie outside their rows
    "outliers": lambda rng, x: x * rng.lognormal(0.0, 5.0, size=(len(x), 1)),
    # Crowds so far apart that sketches of what is inside one are mostly rounding.
    "tight": lambda rng, x: x[rng.integers(0, 2, size=len(x))] * 1e9 + 1e-6 * x,
}
EACH = pytest.mark.parametrize("grouping", GROUPINGS)


def check(grouping, x, k):
    form, naive = GROUPINGS[grouping]
    before = x.copy()
    labels = form(x, k)
    assert_array_equal(labels, naive(x, k))
    assert_array_equal(x, before)
    sizes = np.bincount(labels)
    assert k <= sizes.min()
    assert sizes.max() <= 2 * k - 1


@EACH
@given(case=panels_with_k(gaps=False))
def test_it_equals_naive_with_ties_and_channels(grouping, case):
    x, k = case
    check(grouping, Panel(x).rows, k)


@EACH
@pytest.mark.parametrize("kind", KINDS)
def test_it_equals_naive_on_small_and_large_panels(grouping, kind):
    for seed, n in enumerate((13, 47, 120)):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(n, int(rng.integers(2, 12))))
        check(grouping, np.ascontiguousarray(KINDS[kind](rng, x)), int(rng.integers(2, 7)))


@EACH
@pytest.mark.parametrize("k", [1, 2, 5])
def test_it_equals_naive_where_the_number_of_groups_changes(grouping, k, rng):
    for n in (k, 2 * k - 1, 2 * k, 3 * k - 1, 4 * k):
        for x in (rng.normal(size=(n, 11)), rng.integers(0, 2, size=(n, 3)).astype(float), np.full((n, 2), 0.1)):
            check(grouping, x, k)


@pytest.mark.parametrize("grouping", ["k-ward", "v-mdav, gain 2.0"])
def test_threads_change_nothing(grouping, rng):
    form, before = GROUPINGS[grouping][0], numba.get_num_threads()
    for x in (rng.normal(size=(700, 40)), rng.integers(0, 2, size=(700, 9)).astype(float)):
        try:
            numba.set_num_threads(1)
            alone = form(x, 5)
        finally:
            numba.set_num_threads(before)
        assert_array_equal(alone, form(x, 5))
