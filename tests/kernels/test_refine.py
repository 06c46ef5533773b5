import numba
import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.refine import is_local_optimum, is_partition, sse
from shoal.kernels import nearest_groups as nearest_groups_module
from shoal.kernels import refine
from shoal.kernels.arrays import renumber
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.nearest_groups import nearest_groups
from shoal.kernels.refine import refine_groups
from strategies import panels_with_k

PLENTY = 10**9


def mdav(x, k):
    return mdav_groups(x, np.arange(len(x)), k, np.zeros(1, dtype=np.int64))


@st.composite
def panels_with_groups(draw):
    """(x, labels, k): complete rows in random groups of at least k."""
    x, k = draw(panels_with_k(gaps=False, channels=False))
    n_groups = draw(st.integers(1, len(x) // k))
    extra = draw(st.lists(st.integers(0, n_groups - 1), min_size=len(x) - n_groups * k, max_size=len(x) - n_groups * k))
    labels = np.array(draw(st.permutations([*np.repeat(np.arange(n_groups), k).tolist(), *extra])), dtype=np.int64)
    return x, labels, k


@given(case=panels_with_groups(), limit=st.sampled_from([0, 1, 10, 100, 1000, PLENTY]))
def test_no_group_falls_below_k_and_the_loss_never_rises(case, limit):
    x, labels, k = case
    refined, used = refine_groups(x, labels, k, limit)
    assert is_partition(refined, k)
    assert sse(x, refined) <= sse(x, labels)
    assert 0 <= used <= limit


@given(case=panels_with_groups())
def test_the_result_is_a_local_optimum_and_stays(case):
    x, labels, k = case
    refined, used = refine_groups(x, labels, k, PLENTY)
    assert used < PLENTY
    assert is_local_optimum(x, refined, k)
    assert_array_equal(refine_groups(x, refined, k, PLENTY)[0], refined)


@pytest.mark.parametrize("seed", range(12))
def test_the_result_is_a_local_optimum_on_random_panels(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 6))
    x = rng.normal(size=(int(rng.integers(3 * k, 41)), int(rng.integers(1, 9))))
    if seed % 3 == 0:
        x = np.round(x)
    if seed % 4 == 0:
        x += 1e8
    start = rng.permutation(np.minimum(np.arange(len(x)) // k, len(x) // k - 1))
    refined, _ = refine_groups(x, start, k, PLENTY)
    assert is_partition(refined, k)
    assert is_local_optimum(x, refined, k)
    assert_array_equal(refine_groups(x, refined, k, PLENTY)[0], refined)


def test_the_input_is_untouched_and_the_result_repeats(rng):
    x = rng.normal(size=(200, 4))
    labels = mdav(x, 3)
    x_before, labels_before = x.copy(), labels.copy()
    one, other = refine_groups(x, labels, 3, PLENTY), refine_groups(x, labels, 3, PLENTY)
    assert_array_equal(one[0], other[0])
    assert one[1] == other[1]
    assert_array_equal(x, x_before)
    assert_array_equal(labels, labels_before)


@pytest.mark.parametrize("all_pairs_up_to", [5000, 100])
def test_the_number_of_threads_changes_nothing(rng, monkeypatch, all_pairs_up_to):
    monkeypatch.setattr(refine, "ALL_PAIRS_UP_TO", all_pairs_up_to)
    x = rng.integers(0, 6, size=(4000, 5)).astype(float)
    labels = np.arange(4000) // 4
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = refine_groups(x, labels, 4, PLENTY)
    finally:
        numba.set_num_threads(before)
    together = refine_groups(x, labels, 4, PLENTY)
    assert_array_equal(alone[0], together[0])
    assert alone[1] == together[1]


@given(case=panels_with_groups())
def test_a_common_offset_changes_no_group(case):
    x, labels, k = case
    x = np.round(x)
    assume(np.abs(x).max() < 1e7)
    assert_array_equal(refine_groups(x + 1e8, labels, k, PLENTY)[0], refine_groups(x, labels, k, PLENTY)[0])


def test_a_group_of_two_clusters_is_cut():
    x = np.array([[0.0], [10.0], [0.1], [10.1], [0.2], [10.2]])
    assert_array_equal(refine_groups(x, np.zeros(6, dtype=np.int64), 3, PLENTY)[0], [0, 1, 0, 1, 0, 1])


def test_a_group_stretched_between_others_is_dissolved():
    x = np.array([[0.0], [0.1], [5.0], [5.1], [10.0], [10.1], [0.2], [9.9]])
    assert_array_equal(
        refine_groups(x, np.array([0, 0, 1, 1, 2, 2, 3, 3]), 2, PLENTY)[0], renumber(np.array([0, 0, 1, 1, 2, 2, 0, 2]))
    )


def test_rows_change_places_in_a_cycle_of_three_where_no_move_and_no_swap_helps():
    x = np.array([[1.0, 3.0], [4.0, 4.0], [3.0, 0.0], [3.0, 2.0], [2.0, 1.0], [1.0, 1.0]])
    labels = np.array([0, 0, 1, 1, 2, 2])
    assert is_local_optimum(x, labels, 2)
    assert_array_equal(refine_groups(x, labels, 2, PLENTY)[0], [0, 1, 2, 1, 2, 0])


def test_a_large_panel_gains_nearly_as_much_from_near_groups_as_from_all(rng, monkeypatch):
    x = rng.normal(size=(1500, 3))
    labels = mdav(x, 5)
    every, _ = refine_groups(x, labels, 5, PLENTY)
    monkeypatch.setattr(refine, "ALL_PAIRS_UP_TO", 100)
    near, _ = refine_groups(x, labels, 5, PLENTY)
    assert is_partition(near, 5)
    assert sse(x, labels) - sse(x, near) > 0.6 * (sse(x, labels) - sse(x, every))


@pytest.mark.parametrize("most_compared", [0, 40], ids=["visited outwards", "all compared"])
@given(x=st.integers(0, 2**32).map(lambda seed: np.random.default_rng(seed).integers(0, 9, size=(40, 10)) * 0.5))
def test_nearest_groups_are_the_nearest(most_compared, x):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest_groups_module, "MOST_COMPARED", most_compared)
        near = nearest_groups(x, 7)
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    assert (near != np.arange(40)[:, None]).all()
    assert all(len(set(row)) == 7 for row in near.tolist())
    assert_array_equal(np.take_along_axis(squared, near, axis=1), np.sort(squared, axis=1)[:, :7])


def test_a_bounded_search_for_nearest_groups_still_finds_enough(rng, monkeypatch):
    monkeypatch.setattr(nearest_groups_module, "MOST_COMPARED", 0)
    monkeypatch.setattr(nearest_groups_module, "MOST_SCANNED", 1)
    x = rng.normal(size=(500, 4))
    near = nearest_groups(x, 6)
    assert all(len(set(row)) == 6 for row in near.tolist())
    assert (near != np.arange(500)[:, None]).all()


PROTOTYPE = {  # loss in percent that plain moves and swaps from MDAV reach
    ("census", 3): 5.25,
    ("census", 5): 8.20,
    ("census", 10): 12.34,
    ("tarragona", 3): 14.89,
    ("tarragona", 5): 20.75,
    ("tarragona", 10): 30.79,
}


def standardised(folder, name):
    path = folder / "sdc" / f"{name}.parquet"
    if not path.is_file():
        pytest.skip(f"shared/data has no sdc/{name}.parquet")
    values = pl.read_parquet(path).drop("rownames").to_numpy().astype(float)
    return np.ascontiguousarray((values - values.mean(axis=0)) / values.std(axis=0))


@pytest.mark.parametrize(("name", "k"), PROTOTYPE)
def test_refined_mdav_loses_at_most_what_the_prototype_did(shared_data, name, k):
    x = standardised(shared_data, name)
    refined, _ = refine_groups(x, mdav(x, k), k, PLENTY)
    assert is_partition(refined, k)
    assert 100.0 * sse(x, refined) / x.size <= PROTOTYPE[name, k]
