"""Cutting sets and putting subgroups together, against all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from kp_samples import walks
from naive.kp import naive_form_groups, naive_loss, naive_top_down
from shoal.kernels.kp_clusters import split_sets
from shoal.kernels.kp_groups import boxes_of, form_groups
from shoal.kernels.kp_index import cheapest, make_tree, take
from strategies import panels_with_k


def sets_of(labels):
    return sorted(np.flatnonzero(labels == number).tolist() for number in np.unique(labels))


@given(case=panels_with_k(gaps=False, channels=False), n_sets=st.integers(1, 3))
def test_cuts_are_those_of_the_definition(case, n_sets):
    x, k = case
    sets = np.unique(np.arange(len(x)) % n_sets, return_inverse=True)[1].reshape(-1)
    least = max(1, k - n_sets)
    expected = [part for rows in sets_of(sets) for part in naive_top_down(x.tolist(), rows, least)]
    parts = split_sets(x, sets, least)
    assert sets_of(parts) == sorted(expected)
    assert parts.tolist() == [sorted(expected).index(next(p for p in expected if i in p)) for i in range(len(x))]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("least", [1, 2, 3, 10])
@pytest.mark.parametrize("large", [0, 30, 2000])
def test_cuts_of_skewed_sets_are_those_of_the_definition(seed, least, large):
    x = np.random.default_rng(seed).lognormal(0.0, 2.0, size=(90, 4))
    parts = split_sets(x, np.zeros(90, dtype=np.int64), least, large)
    assert sets_of(parts) == sorted(naive_top_down(x.tolist(), list(range(90)), least, large))
    assert least <= np.bincount(parts).min() <= np.bincount(parts).max() < 2 * least


def test_a_great_many_equal_rows_are_cut_in_halves():
    sizes = np.bincount(split_sets(np.ones((100_000, 3)), np.zeros(100_000, dtype=np.int64), 3))
    assert 3 <= sizes.min() <= sizes.max() <= 5


@given(case=panels_with_k(gaps=False, channels=False, largest_k=6), p=st.integers(1, 3))
def test_groups_are_those_of_the_literal_greedy_order(case, p):
    x, k = case
    subgroups = split_sets(x, np.zeros(len(x), dtype=np.int64), p)
    groups = form_groups(*boxes_of(x, subgroups), k, np.zeros(1, dtype=np.int64))[subgroups]
    expected = naive_form_groups(x.tolist(), sets_of(subgroups), k)
    assert sets_of(groups) == sorted(sorted(row for s in group for row in s) for group in expected)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("k", "p"), [(10, 3), (5, 2), (7, 7), (20, 2)])
def test_groups_of_middling_panels_are_those_of_the_literal_greedy_order(seed, k, p):
    rng = np.random.default_rng(seed)
    x = [walks(150, seed), rng.lognormal(size=(150, 4)), rng.integers(0, 3, size=(150, 3)).astype(float)][seed % 3]
    subgroups = split_sets(x, np.zeros(len(x), dtype=np.int64), p)
    groups = form_groups(*boxes_of(x, subgroups), k, np.zeros(1, dtype=np.int64))[subgroups]
    expected = [[row for s in g for row in s] for g in naive_form_groups(x.tolist(), sets_of(subgroups), k)]
    assert sets_of(groups) == sorted(map(sorted, expected))
    losses = [sum(naive_loss(x.tolist(), rows) for rows in sets) for sets in (sets_of(groups), expected)]
    assert losses[0] == pytest.approx(losses[1])


def literal_greedy(low, high, sizes, k):
    """Algorithm 3 over all pairs, as arrays: groups until fewer than k rows are left, -1 for those."""
    groups, number = np.full(len(sizes), -1), 0

    def costs(box_low, box_high, n):
        total = np.zeros(len(sizes))
        for t in range(low.shape[1]):
            total += (np.maximum(box_high[t], high[:, t]) - np.minimum(box_low[t], low[:, t])) ** 2
        return np.where(groups < 0, total * (n + sizes.astype(float)) ** 2, np.inf)

    while sizes[groups < 0].sum() >= k:
        s = int(costs(np.full(low.shape[1], np.inf), np.full(low.shape[1], -np.inf), 0).argmin())
        box_low, box_high, n = low[s], high[s], sizes[s]
        groups[s] = number
        while n < k:
            s = int(costs(box_low, box_high, n).argmin())
            groups[s] = number
            box_low, box_high, n = np.minimum(box_low, low[s]), np.maximum(box_high, high[s]), n + sizes[s]
        number += 1
    return groups


@pytest.mark.parametrize("kind", ["walks", "uniform", "ties"])
def test_thousands_of_subgroups_are_grouped_as_by_all_pairs(kind):
    rng = np.random.default_rng(9)
    x = {
        "walks": lambda: walks(6000, 9),
        "uniform": lambda: rng.uniform(size=(6000, 10)),
        "ties": lambda: rng.integers(0, 3, size=(6000, 5)).astype(float),
    }[kind]()
    low, high, sizes = boxes_of(x, split_sets(x, np.zeros(len(x), dtype=np.int64), 3))
    found, literal = (
        form_groups(low, high, sizes, 10, np.zeros(1, dtype=np.int64)),
        literal_greedy(low, high, sizes, 10),
    )
    first = {}
    for mine, other in zip(found, literal, strict=True):
        if other >= 0:
            assert first.setdefault(other, mine) == mine
    assert len(set(first.values())) == len(first) == found.max() + 1


@given(case=panels_with_k(gaps=False, channels=False), seed=st.integers(0, 1000))
def test_the_index_finds_the_cheapest_box_whatever_was_taken(case, seed):
    x, _ = case
    rng = np.random.default_rng(seed)
    low, high, sizes = np.tile(x, (4, 1)), np.tile(x, (4, 1)), rng.integers(1, 4, size=4 * len(x))
    high += rng.integers(0, 3, size=(len(high), 1))
    tree = make_tree(low, high, sizes, np.arange(len(low)))
    alive = set(range(len(low)))
    while alive:
        s = int(rng.choice(sorted(alive)))
        box, n = np.stack([low[s], high[s]]), int(rng.integers(1, 9))
        costs = {}
        for b in alive:
            total = 0.0
            for t in range(low.shape[1]):
                d = max(box[1, t], high[b, t]) - min(box[0, t], low[b, t])
                total += d * d
            costs[b] = float(n + sizes[b]) * float(n + sizes[b]) * total
        found = cheapest(tree, box, n, 1.0)
        assert found == min(alive, key=lambda b: (costs[b], b))
        take(tree, found)
        alive.remove(found)
    assert cheapest(tree, np.stack([low[0], high[0]]), 1, 1.0) == -1


@pytest.mark.parametrize("kind", ["walks", "uniform", "skewed"])
def test_the_search_for_large_panels_loses_less_than_two_percent(kind):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = {
            "walks": lambda seed=seed: walks(20_000, seed),
            "uniform": lambda rng=rng: rng.uniform(size=(20_000, 10)),
            "skewed": lambda rng=rng: rng.lognormal(size=(20_000, 10)),
        }[kind]()
        subgroups = split_sets(x, np.zeros(len(x), dtype=np.int64), 3)
        losses = []
        for exact_up_to in (10**9, 0):
            boxes = boxes_of(x, subgroups)
            groups = form_groups(*boxes, 10, np.zeros(1, dtype=np.int64), exact_up_to)[subgroups]
            low, high, sizes = boxes_of(x, groups)
            assert sizes.min() >= 10
            losses.append((sizes * np.sqrt(((high - low) ** 2).mean(axis=1))).sum())
        assert losses[1] <= 1.02 * losses[0]


def test_a_great_many_equal_boxes_are_taken_in_order_without_looking_at_all_of_them():
    n = 60_000
    low = np.zeros((n, 2))
    groups = form_groups(low, low, np.full(n, 3), 9, np.zeros(1, dtype=np.int64))
    assert_array_equal(groups, np.arange(n) // 3)


def test_boxes_hold_their_rows():
    x = walks(60, 2)
    labels = np.arange(60) % 7
    low, high, sizes = boxes_of(x, labels)
    assert_array_equal(sizes, np.bincount(labels))
    for number in range(7):
        assert_array_equal(low[number], x[labels == number].min(axis=0))
        assert_array_equal(high[number], x[labels == number].max(axis=0))
