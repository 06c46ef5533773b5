import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.refine import is_local_optimum, is_partition, lowest_loss, sse
from shoal.kernels import best
from shoal.kernels.best import best_groups
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.refine import refine_groups
from strategies import panels_with_k


@given(case=panels_with_k(gaps=False, channels=False), seed=st.integers(0, 3))
def test_groups_keep_k_and_lose_at_most_what_refined_mdav_does(case, seed):
    x, k = case
    found = best_groups(x, k, 40_000 // len(x) + 1, seed)
    refined, _ = refine_groups(x, mdav_groups(x, np.arange(len(x)), k, np.zeros(1, dtype=np.int64)), k, 10**9)
    assert is_partition(found, k)
    assert sse(x, found) <= sse(x, refined) * (1 + 1e-12)  # rounding
    assert is_local_optimum(x, found, k)


@pytest.mark.parametrize("seed", range(20))
def test_the_optimum_of_all_partitions_is_found_on_tiny_panels(seed):
    rng = np.random.default_rng(seed)
    k = 2 + seed % 3
    n = min(9, int(rng.integers(2 * k, 10)))
    x = rng.normal(size=(n, int(rng.integers(1, 5)))) * rng.choice([1.0, 1.0, 8.0], size=(n, 1))
    if seed % 5 == 0:
        x = np.round(x)
    found = best_groups(x, k, 400_000 // n, 1)
    assert sse(x, found) == pytest.approx(lowest_loss(x, k), rel=1e-9, abs=1e-12)


def test_the_same_seed_and_rounds_give_the_same_groups_for_any_number_of_threads(rng):
    x = rng.normal(size=(150, 4))
    once = best_groups(x, 4, 800, 7)
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        again = best_groups(x, 4, 800, 7)
    finally:
        numba.set_num_threads(before)
    assert_array_equal(once, again)


def test_a_common_offset_changes_no_group(rng):
    x = rng.integers(0, 50, size=(120, 3)).astype(float)
    assert_array_equal(best_groups(x + 1e8, 3, 1000, 2), best_groups(x, 3, 1000, 2))


def test_more_rounds_lose_less_than_local_search(rng):
    x = rng.normal(size=(300, 5))
    refined, _ = refine_groups(x, mdav_groups(x, np.arange(300), 4, np.zeros(1, dtype=np.int64)), 4, 10**9)
    assert sse(x, best_groups(x, 4, 4000, 0)) < 0.99 * sse(x, refined)


@pytest.mark.parametrize("n", [3, 4, 5])
def test_fewer_than_two_groups_of_rows_are_one_group(n, rng):
    assert_array_equal(best_groups(rng.normal(size=(n, 2)), 3, 1000, 0), np.zeros(n))


def test_equal_rows_are_no_trouble():
    x = np.zeros((40, 3))
    assert is_partition(best_groups(x, 3, 1500, 0), 3)


def test_proposals_are_counted_for_each_row_in_whole_rounds(rng, monkeypatch):
    seen = []
    anneal = best._anneal
    monkeypatch.setattr(best, "_anneal", lambda state, k, heat, n: seen.append(n) or anneal(state, k, heat, n))
    best_groups(rng.normal(size=(200, 3)), 5, 350, 0)
    assert seen == [best.PROPOSALS] * 4  # 70 000 proposals


def test_a_panel_above_the_block_size_is_searched_in_blocks(rng, monkeypatch):
    monkeypatch.setattr(best, "LARGEST_BLOCK", 100)
    x = rng.normal(size=(350, 3))
    refined, _ = refine_groups(x, mdav_groups(x, np.arange(350), 4, np.zeros(1, dtype=np.int64)), 4, 10**9)
    found = best_groups(x, 4, 2300, 3)
    assert is_partition(found, 4)
    assert sse(x, found) < sse(x, refined)
    assert_array_equal(found, best_groups(x, 4, 2300, 3))


@pytest.mark.parametrize(("name", "k", "percent"), [("census", 3, 5.00), ("tarragona", 10, 30.60)])
def test_real_panels_lose_less_than_local_search_reaches(shared_data, name, k, percent):
    path = shared_data / "sdc" / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"shared/data has no sdc/{name}.parquet")
    values = pl.read_parquet(path).drop("rownames").to_numpy().astype(float)
    x = np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))
    found = best_groups(x, k, 4_000_000 // len(x), 1)
    assert is_partition(found, k)
    assert 100.0 * sse(x, found) / x.size <= percent
