from fractions import Fraction

import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from naive.nlk_prices import COMBINATIONS, group_loss, loss_of_labels, lowest_loss, plans
from shoal.kernels.nlk_channels import cell_losses, channel_groups, standardized
from shoal.kernels.nlk_intervals import interval_groups, loss_between, publish_labels
from shoal.kernels.nlk_price_windows import solve_instant
from shoal.kernels.nlk_prices import n_steps, priced_groups
from strategies import FEW_VALUES, TENTHS

EACH = pytest.mark.parametrize(("loss", "representative"), COMBINATIONS)
VALUES = st.one_of(st.sampled_from(FEW_VALUES), TENTHS, st.floats(-100, 100))


def solve(x, k, budget, loss="absolute", representative="mean"):
    done = np.zeros(1, dtype=np.int64)
    labels, found, bound = priced_groups(x, k, budget, loss, representative, done)
    assert done[0] == n_steps(x.shape[1])
    return labels, found, bound


def check_sizes(labels, k, budget):
    alone = np.zeros(labels.shape[0], dtype=int)
    for t in range(labels.shape[1]):
        counts = np.bincount(labels[:, t])
        assert counts.min() > 0
        sizes = counts[labels[:, t]]
        assert ((sizes == 1) | (sizes >= k)).all()
        assert sizes.max() <= max(1, 2 * k - 1)
        alone += sizes == 1
    if k > 1:
        assert alone.max() <= budget


@EACH
@given(
    v=arrays(np.float64, st.integers(2, 7), elements=VALUES),
    prices=arrays(np.float64, 7, elements=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0, 10.0, np.inf])),
    k=st.integers(2, 3),
)
def test_one_instant_costs_the_least_of_all_windows_and_series_alone(loss, representative, v, prices, k):
    v = np.sort(v)
    n = v.shape[0]
    price = prices[:n].copy()
    if n < k:
        price = np.minimum(price, 10.0)  # nothing but being alone is possible
    labels, gains = np.empty(n, dtype=np.int32), np.empty(n)
    kind = (k, loss == "squared", representative == "median", True)
    found = solve_instant(v, np.arange(n, dtype=np.int32), price, *kind, gains, labels)
    exact = [Fraction(float(value)) for value in v]
    lowest = min(
        float(sum(group_loss([exact[j] for j in group], loss, representative) for group in groups))
        + sum(price[j] for j in alone)
        for alone, groups in plans(n, k, 1)
    )
    assert found == pytest.approx(lowest, rel=1e-9, abs=1e-9)
    sizes = np.bincount(labels)[labels]
    cost = float(loss_of_labels(v[:, None], labels[:, None], loss, representative)) + price[sizes == 1].sum()
    assert cost == pytest.approx(lowest, rel=1e-9, abs=1e-9)
    if n >= k:
        assert (gains[sizes == 1] >= price[sizes == 1] - 1e-9).all()
        assert (gains[sizes > 1] <= price[sizes > 1] + 1e-9).all()


@EACH
@settings(max_examples=15)
@given(
    x=st.tuples(st.integers(2, 5), st.integers(2, 3)).flatmap(lambda s: arrays(np.float64, s, elements=VALUES)),
    k=st.integers(2, 3),
    budget=st.integers(1, 2),
)
def test_bound_and_loss_enclose_the_least_loss_of_all_solutions(loss, representative, x, k, budget):
    k = min(k, x.shape[0])
    labels, found, bound = solve(x, k, budget, loss, representative)
    check_sizes(labels, k, budget)
    best = lowest_loss(x, k, budget, loss, representative) if budget < x.shape[1] else Fraction(0)
    assert Fraction(bound) <= best
    assert found >= float(best) - 1e-11
    assert found == pytest.approx(float(loss_of_labels(x, labels, loss, representative)), rel=1e-9, abs=1e-11)


@EACH
def test_the_gap_is_small_on_a_panel_of_some_size(loss, representative, rng):
    x = rng.lognormal(size=(60, 1)) * rng.lognormal(size=(60, 40))
    for k, budget in ((3, 4), (8, 2)):
        labels, found, bound = solve(x, k, budget, loss, representative)
        check_sizes(labels, k, budget)
        assert 0.0 < bound <= found <= 1.03 * bound
        assert found < interval_groups(x, k, loss, representative)[1]
        assert found == loss_between(x, publish_labels(x, labels, representative), loss)


def test_a_hole_is_used_where_it_pays():
    v, price = np.array([0.0, 0.0, 5.0, 9.0]), np.array([np.inf, np.inf, 1.0, np.inf])
    labels, gains = np.empty(4, dtype=np.int32), np.empty(4)
    assert solve_instant(v, np.arange(4, dtype=np.int32), price, 3, False, False, True, gains, labels) == 12.0 + 1.0
    assert_array_equal(labels, [0, 0, 1, 0])
    assert gains[2] == 14.0 - 12.0  # all four together lose 14
    assert solve_instant(v, np.arange(4, dtype=np.int32), price, 3, False, False, False, gains, labels) == 14.0


@EACH
def test_an_offset_changes_no_label(loss, representative, rng):
    x = rng.integers(-4000, 4000, size=(60, 12)) / 8.0  # exact with and without the offset
    for k, budget in ((3, 2), (10, 3)):
        assert_array_equal(
            solve(x + 1e8, k, budget, loss, representative)[0], solve(x, k, budget, loss, representative)[0]
        )


@EACH
def test_without_budget_the_groups_are_the_best_runs(loss, representative, rng):
    x = rng.normal(size=(23, 4))
    labels, found, bound = solve(x, 4, 0, loss, representative)
    expected, lowest = interval_groups(x, 4, loss, representative)
    assert_array_equal(labels, expected)
    assert found == lowest
    assert lowest * (1.0 - 1e-12) <= bound <= lowest


@pytest.mark.parametrize(("k", "budget"), [(4, 4), (4, 9), (1, 0), (1, 2)])
def test_with_budget_for_all_instants_or_groups_of_one_nothing_is_lost(k, budget, rng):
    x = rng.normal(size=(10, 4))
    labels, found, bound = solve(x, k, budget)
    assert found == bound == 0.0
    assert_array_equal(publish_labels(x, labels, "mean"), x)


def test_as_many_series_as_k_and_a_constant_panel():
    for x in (np.arange(12.0).reshape(4, 3), np.full((9, 3), 0.1)):
        labels, found, bound = solve(x, 4, 1)
        check_sizes(labels, 4, 1)
        assert 0.0 <= bound <= found


def test_the_result_does_not_depend_on_the_number_of_threads(rng):
    x = rng.gamma(1.0, size=(80, 30))
    n_threads = numba.get_num_threads()
    results = []
    try:
        for n in {1, n_threads}:
            numba.set_num_threads(n)
            results.append(solve(x, 5, 3))
    finally:
        numba.set_num_threads(n_threads)
    for labels, found, bound in results:
        assert_array_equal(labels, results[0][0])
        assert (found, bound) == results[0][1:]


def test_on_real_meters_the_bound_is_near_and_the_loss_below_the_prototype(shared_data):
    table = pl.read_parquet(shared_data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet")
    wide = table.pivot(on="timestamp", index="series_id", values="value", maintain_order=True)
    x = wide.select(sorted(set(wide.columns) - {"series_id"})[:336]).to_numpy()[:180]
    labels, found, bound = solve(np.ascontiguousarray(x, dtype=np.float64), 10, 9)
    check_sizes(labels, 10, 9)
    assert found / x.sum() < 0.0951
    assert found <= 1.005 * bound


@pytest.mark.parametrize(("loss", "representative"), COMBINATIONS)
@pytest.mark.parametrize("k", [3, 5])
def test_channels_keep_sizes_and_budget_and_lose_less_with_budget(loss, representative, k, rng):
    x = rng.lognormal(size=(30, 8, 2)) * [1.0, 100.0]
    before = np.inf  # without budget
    for budget in (0, 1, 3):
        done = np.zeros(1, dtype=np.int64)
        labels, found = channel_groups(x, k, budget, loss, representative, done)
        alone = np.zeros(30, dtype=int)
        for t in range(8):
            sizes = np.bincount(labels[:, t])[labels[:, t]]
            assert ((sizes == 1) | (sizes >= k)).all()
            alone += sizes == 1
        assert alone.max() <= budget
        assert found == pytest.approx(cell_losses(standardized(x), labels, loss, representative).sum())
        assert found < before
        before = before if budget else found
        assert done[0] == 16
        assert_array_equal(labels, channel_groups(x, k, budget, loss, representative, done)[0])
    labels, found = channel_groups(x, k, 8, loss, representative, done)
    assert found == 0.0


def test_a_constant_channel_and_an_offset_change_no_group_of_channels(rng):
    x = rng.integers(0, 800, size=(20, 3, 2)) / 8.0
    done = np.zeros(1, dtype=np.int64)
    labels = channel_groups(x, 3, 1, "absolute", "mean", done)[0]
    assert_array_equal(channel_groups(x + 1e6, 3, 1, "absolute", "mean", done)[0], labels)
    wider = np.concatenate([x, np.full((20, 3, 1), 7.0)], axis=2)
    assert_array_equal(channel_groups(wider, 3, 1, "absolute", "mean", done)[0], labels)
