import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from naive.mdav import naive_mdav
from naive.refine import is_local_optimum, is_optimum_of_swaps, is_partition, sse
from shoal.kernels import blocks
from shoal.kernels.blocks import block_groups
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.refine import refine_near

PLENTY = 10**6


def start(x, done, k=3):
    return mdav_groups(np.ascontiguousarray(x), np.arange(len(x)), k, done)


def grouped(x, k=3, threads=1):
    return block_groups(x, k, lambda rows, done: start(rows, done, k), PLENTY, np.zeros(1, dtype=np.int64), threads)


@pytest.fixture
def small_blocks(monkeypatch):
    for name in ("MOST_UNCUT", "MOST_IN_BLOCK"):
        monkeypatch.setattr(blocks, name, 60)
    monkeypatch.setattr(blocks, "LEAST_GROUPS_IN_BLOCK", 4)


@pytest.mark.parametrize("kind", ["normal", "ties", "one column", "alike", "huge", "offset"])
def test_groups_keep_to_k_and_lose_less_than_exact_mdav(small_blocks, rng, kind):
    x = rng.normal(size=(500, 1 if kind == "one column" else 6))
    x = {"ties": np.round(x), "alike": np.ones_like(x), "huge": 1e120 * x, "offset": x + 1e8}.get(kind, x)
    labels = grouped(x)
    assert is_partition(labels, 3)
    if kind in ("normal", "offset"):
        assert sse(x, labels) < sse(x, naive_mdav(x, 3))


def wide(rng, n, n_columns=24):
    """Rows that are spread in all directions alike; others of these tests have few columns and so are flat."""
    return rng.integers(0, 9, size=(n, n_columns)).astype(float)


@pytest.mark.parametrize(("n", "n_columns"), [(400, 5), (1000, 5), (1003, 5), (400, 24), (1003, 24)])
def test_the_groups_are_the_same_for_any_number_of_threads(small_blocks, rng, n, n_columns):
    x = wide(rng, n, n_columns)
    alone = grouped(x)
    for threads in (2, 3):
        assert_array_equal(grouped(x, threads=threads), alone)


def test_every_round_lowers_the_loss_and_later_ones_cross_borders(small_blocks, rng, monkeypatch):
    x = rng.normal(size=(800, 4))
    monkeypatch.setattr(blocks, "FLAT", 2.0)
    losses, rounds = [], blocks.N_NEAR
    for n_rounds in (1, 2, len(rounds)):
        monkeypatch.setattr(blocks, "N_NEAR", rounds[:n_rounds])
        losses.append(sse(x, grouped(x)))
    assert losses[0] > losses[1] > losses[2]
    whole = sse(x, refine_near(x, start(x, np.zeros(1, dtype=np.int64)), 3, PLENTY * len(x), 24))
    assert losses[2] - whole < 0.5 * (losses[0] - whole)  # most of what borders cost is won back


@pytest.mark.parametrize(("n_columns", "is_flat"), [(3, True), (24, False)])
def test_flat_rows_begin_with_mdav_in_larger_blocks(small_blocks, rng, monkeypatch, n_columns, is_flat):
    monkeypatch.setattr(blocks, "MOST_IN_FLAT_BLOCK", 200)
    sizes = []

    def watched_start(rows, done):
        sizes.append(len(rows))
        return start(rows, done)

    x = rng.normal(size=(400, n_columns))
    assert (blocks._coordinates(x)[1] >= blocks.FLAT) == is_flat
    labels = block_groups(x, 3, watched_start, PLENTY, np.zeros(1, dtype=np.int64), 1)
    assert is_partition(labels, 3)
    assert sum(sizes) == 400
    assert (60 < max(sizes) <= 200) == is_flat


def test_the_share_of_the_spread_is_that_of_the_leading_coordinates(rng):
    x = rng.normal(size=(300, 20)) * np.linspace(3.0, 0.1, 20)
    values = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    assert blocks._coordinates(x)[1] == pytest.approx(values[: blocks.N_COORDINATES].sum() / values.sum(), abs=0.01)
    assert blocks._coordinates(np.ones((50, 20)))[1] == 1.0


def test_groups_are_dissolved_only_while_a_round_before_dissolved_enough(small_blocks, rng, monkeypatch):
    tried = []

    def watched(x, labels, k, limit, n_near, *, thrifty, dissolving, subjects):
        tried.append((thrifty, dissolving))
        return refine_near(x, labels, k, limit, n_near, thrifty=thrifty, dissolving=dissolving, subjects=subjects)

    monkeypatch.setattr(blocks, "refine_near", watched)
    monkeypatch.setattr(blocks, "FLAT", 2.0)
    x = rng.normal(size=(400, 3))
    for worth, every_round in ((-1.0, True), (1.0, False)):
        tried.clear()
        monkeypatch.setattr(blocks, "WORTH_DISSOLVING", worth)
        assert is_partition(grouped(x), 3)
        assert all(thrifty for thrifty, _ in tried)
        assert tried[0][1]
        assert tried[-1][1] == every_round


@pytest.mark.parametrize("kind", ["normal", "ties", "alike"])
def test_a_thrifty_search_keeps_to_k_and_gains_most_of_what_a_thorough_one_does(rng, kind):
    x = rng.normal(size=(600, 6))
    x = {"ties": np.round(x), "alike": np.ones_like(x)}.get(kind, x)
    given = start(x, np.zeros(1, dtype=np.int64))
    thrifty = refine_near(x, given, 3, PLENTY, 16, thrifty=True)
    assert is_partition(thrifty, 3)
    before, after, best = (sse(x, labels) for labels in (given, thrifty, refine_near(x, given, 3, PLENTY, 16)))
    assert before - after >= 0.8 * (before - best)


def test_without_dissolving_there_are_as_many_groups_as_before(rng):
    x = np.array([[0.0], [0.1], [5.0], [5.1], [10.0], [10.1], [0.2], [9.9]])
    given = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    groups = [refine_near(x, given, 2, PLENTY, 3, dissolving=dissolving).max() + 1 for dissolving in (True, False)]
    assert groups == [3, 4]


@given(values=st.lists(st.integers(0, 5), min_size=1, max_size=40), data=st.data())
def test_the_lowest_values_are_those_that_a_stable_sort_puts_first(values, data):
    x = np.array(values, dtype=float)
    n = data.draw(st.integers(1, len(x)))
    assert_array_equal(np.flatnonzero(blocks._lowest(x, n)), np.sort(np.argsort(x, kind="stable")[:n]))


def test_a_panel_of_one_block_is_refined_from_exact_mdav(rng):
    x = rng.normal(size=(90, 3))
    assert_array_equal(grouped(x), refine_near(x, naive_mdav(x, 3), 3, PLENTY, 24))


@pytest.mark.parametrize("seed", range(6))
def test_among_all_groups_the_result_is_a_local_optimum(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(32, 3)) if seed % 2 else np.round(rng.normal(size=(32, 3)))
    found = refine_near(x, rng.permutation(np.arange(32) // 4), 4, PLENTY, 100)
    assert is_partition(found, 4)
    assert is_local_optimum(x, found, 4)


@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 200),
    k=st.integers(1, 5),
    most=st.integers(10, 50),
    turn=st.integers(0, 3),
)
def test_cuts_leave_nobody_out_and_no_rest_but_one(seed, n, k, most, turn):
    points = np.random.default_rng(seed).integers(0, 4, size=(n, 3)).astype(float)
    parts = blocks._cut(points, np.ones(n, dtype=np.int64), k, most, turn)
    assert sorted(np.concatenate(parts).tolist()) == list(range(n))
    assert max(map(len, parts)) <= most
    assert sum(len(part) % k != 0 for part in parts) <= 1


def test_the_limit_of_evaluations_is_kept(small_blocks, rng):
    x = rng.normal(size=(300, 4))
    labels = block_groups(x, 3, start, 0, np.zeros(1, dtype=np.int64), 1)
    assert is_partition(labels, 3)
    assert sse(x, labels) > sse(x, grouped(x))


def of_several(rng, n_subjects, n_each, n_columns=3):
    """Rows of subjects that resemble themselves, and whose each is."""
    subjects = rng.permutation(np.repeat(np.arange(n_subjects), n_each))
    return rng.normal(size=(n_subjects, n_columns))[subjects] + rng.normal(size=(len(subjects), n_columns)), subjects


def n_distinct(labels, subjects):
    """Subjects in each group."""
    return np.bincount(np.unique(np.stack([labels, subjects]), axis=1)[0])


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_several_series_keep_k_subjects_and_no_allowed_swap_helps(seed):
    rng = np.random.default_rng(seed)
    x, subjects = of_several(rng, 9, 4)
    if seed % 2:
        x = np.round(x)
    given = mdav_groups(x, subjects, 3, np.zeros(1, dtype=np.int64))
    refined = refine_near(x, given, 3, PLENTY, 100, subjects=subjects)
    assert is_partition(refined, 3)
    assert n_distinct(refined, subjects).min() >= 3
    assert sse(x, refined) <= sse(x, given)
    assert is_optimum_of_swaps(x, refined, subjects)


@pytest.mark.parametrize("n_each", [2, 7])
def test_no_group_gets_a_subject_twice_by_refining(small_blocks, rng, n_each):
    x, subjects = of_several(rng, 60, n_each)
    given = mdav_groups(x, subjects, 4, np.zeros(1, dtype=np.int64))
    blocks_of = [
        block_groups(x, 4, lambda rows, done: given, PLENTY, np.zeros(1, dtype=np.int64), threads, subjects)
        for threads in (1, 2, 3)
    ]
    refined = blocks_of[0]
    for other in blocks_of[1:]:
        assert_array_equal(refined, other)
    twice = [int((np.bincount(labels) - n_distinct(labels, subjects)).sum()) for labels in (given, refined)]
    assert twice[1] <= twice[0]
    assert n_distinct(refined, subjects).min() >= 4
    assert sse(x, refined) < sse(x, given)


@pytest.mark.parametrize("several", [False, True])
def test_progress_never_exceeds_the_rows(small_blocks, rng, monkeypatch, several):
    x, subjects = of_several(rng, 60, 7)
    done, seen = np.zeros(1, dtype=np.int64), []

    def watched(*given, **named):
        seen.append(int(done[0]))
        return refine_near(*given, **named)

    def counted(rows, own):
        own[0] = len(rows)
        return start(rows, own, 4)

    monkeypatch.setattr(blocks, "refine_near", watched)
    block_groups(x, 4, counted, PLENTY, done, 1, subjects if several else None)
    assert len(seen) > 5
    assert max(seen) <= len(x)
    assert seen == sorted(seen)
    assert done[0] == len(x)


def test_a_large_group_is_cut_where_k_subjects_stay_on_either_side():
    x = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    together = np.zeros(6, dtype=np.int64)
    cut = refine_near(x, together, 2, PLENTY, 3, subjects=np.array([0, 1, 1, 2, 2, 0]))
    assert cut.tolist() == [0, 0, 0, 1, 1, 1]
    same = refine_near(x, together, 2, PLENTY, 3, subjects=np.array([0, 0, 0, 1, 1, 1]))
    assert same.tolist() == together.tolist()
