"""Leaves of series that share a word, as fine as their number allows: the create-tree and recycle phases.

A node is a set of rows with the same word at its level, of p rows or more unless it is a bad leaf. A root has level 1,
where all words are equal. Algorithm 1, for a node of level L:

    fewer than p rows     bad leaf
    L = max_level         good leaf
    fewer than 2p rows    good leaf, at the highest level at which all its rows have the same word
    otherwise             children = its rows by their words at L + 1; small children have fewer than p rows
        one child             the node itself, at level L + 1
        all small             good leaf at level L
        small ones p or more  the other children at L + 1, and one child at L of all rows of the small ones
        small ones below p    all children at L + 1, so the small ones are bad leaves

The child of the small ones is a good leaf again: its rows differ at L + 1 and no p of them agree. "One child" is ours:
the listing makes the node a good leaf at L, so a hundred equal series would be published at level 1 for lack of a
split, while the text wants the level as high as P allows.

All nodes of a level are worked on at once, so a thousand trees cost what one does. Leaves are numbered by their first
row.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Ints, renumber

Words = Callable[[int], NDArray[np.uint8]]
"""Level to the letters of all rows at that level, (rows, letters)."""


class WordLeaves(NamedTuple):
    """Rows by leaf, and of each leaf its level and the row whose word it carries."""

    leaf: Ints
    level: Ints
    first: Ints
    good: Bools

    @property
    def sizes(self) -> Ints:
        """Rows of each leaf."""
        return np.bincount(self.leaf, minlength=len(self.level))


@njit(cache=True)
def _same_word(letters: NDArray[np.uint8], i: int, j: int) -> bool:
    for t in range(letters.shape[1]):  # noqa: SIM110 - numba compiles the loop, not the generator
        if letters[i, t] != letters[j, t]:
            return False
    return True


@njit(cache=True, nogil=True)
def word_classes(letters: NDArray[np.uint8], rows: Ints, node: Ints) -> tuple[Ints, Ints]:
    """Classes of rows with the same node and word, numbered by first appearance; and the first row of each class.

    `node` is by row, like `letters`. A hash only decides which rows are worth comparing.
    """
    n_slots = 16
    while n_slots < 2 * len(rows):
        n_slots *= 2
    slots = np.full(n_slots, -1, dtype=np.int64)
    classes = np.empty(len(rows), dtype=np.int64)
    firsts = np.empty(len(rows), dtype=np.int64)
    n_classes = 0
    for r in range(len(rows)):
        row = rows[r]
        state = np.uint64(node[row]) * np.uint64(0x9E3779B97F4A7C15)
        for t in range(letters.shape[1]):
            state = (state ^ np.uint64(letters[row, t])) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        slot = np.int64(state & np.uint64(n_slots - 1))
        while slots[slot] >= 0:
            other = firsts[slots[slot]]
            if node[other] == node[row] and _same_word(letters, row, other):
                break
            slot = (slot + 1) & (n_slots - 1)
        if slots[slot] < 0:
            slots[slot] = n_classes
            firsts[n_classes] = row
            n_classes += 1
        classes[r] = slots[slot]
    return classes, firsts[:n_classes].copy()


@njit(cache=True, nogil=True)
def _of_one_word(letters: NDArray[np.uint8], rows: Ints, node: Ints, n_nodes: int) -> Bools:
    """Whether all rows of each node have the same word; true for nodes without rows."""
    first = np.full(n_nodes, -1, dtype=np.int64)
    equal = np.ones(n_nodes, dtype=np.bool_)
    for row in rows:
        if first[node[row]] < 0:
            first[node[row]] = row
        elif not _same_word(letters, first[node[row]], row):
            equal[node[row]] = False
    return equal


class _Nodes:
    """Every row's node, and the nodes' levels; nodes are only ever added."""

    def __init__(self, roots: Ints) -> None:
        self.of_row = np.array(roots, dtype=np.int64)
        self.level = np.ones(int(self.of_row.max()) + 1, dtype=np.int64)
        self.is_small = np.zeros(len(self.level), dtype=np.bool_)  # fewer than 2p rows: to be raised, not split

    def add(self, n_more: int, level: int) -> Ints:
        ids = len(self.level) + np.arange(n_more)
        self.level = np.concatenate([self.level, np.full(n_more, level)])
        self.is_small = np.concatenate([self.is_small, np.zeros(n_more, dtype=np.bool_)])
        return ids

    def sort_in(self, ids: Ints, sizes: Ints, p: int) -> Ints:
        """Mark the nodes that are raised from now on; returns the nodes that are still to be split."""
        self.is_small[ids[(sizes >= p) & (sizes < 2 * p)]] = True
        return ids[sizes >= 2 * p]


def create_tree(words: Words, roots: Ints, p: int, max_level: int) -> WordLeaves:
    """The leaves of one tree per root; `roots` numbers the root of each row 0, 1, 2, ..."""
    nodes = _Nodes(roots)
    n_roots = len(nodes.level)
    waiting = nodes.sort_in(np.arange(n_roots), np.bincount(nodes.of_row), p)
    for level in range(2, max_level + 1):
        # numba would compile again for a read-only array.
        letters = np.require(words(level), requirements=["C", "W"])
        raised = np.flatnonzero(nodes.is_small[nodes.of_row])
        equal = _of_one_word(letters, raised, nodes.of_row, len(nodes.level))
        nodes.level[nodes.is_small & equal] = level
        waiting = _split(nodes, waiting, letters, p, level)
    return _as_leaves(nodes.of_row, nodes.level, p)


def _split(nodes: _Nodes, waiting: Ints, letters: NDArray[np.uint8], p: int, level: int) -> Ints:
    """Split what can be split, from level - 1 to level; returns the nodes to continue with."""
    is_waiting = np.zeros(len(nodes.level), dtype=np.bool_)
    is_waiting[waiting] = True
    rows = np.flatnonzero(is_waiting[nodes.of_row])
    if not len(rows):
        return waiting
    child, firsts = word_classes(letters, rows, nodes.of_row)
    parent = nodes.of_row[firsts]
    sizes = np.bincount(child)
    is_good = sizes >= p
    n_nodes = len(nodes.level)
    n_children = np.bincount(parent, minlength=n_nodes)
    n_good = np.bincount(parent[is_good], minlength=n_nodes)
    n_rows_of_small = np.bincount(parent, weights=np.where(is_good, 0, sizes), minlength=n_nodes).astype(np.int64)

    alone = waiting[n_children[waiting] == 1]
    nodes.level[alone] = level
    is_split = (n_good > 0) & (n_children > 1)
    merges = np.flatnonzero(is_split & (n_rows_of_small >= p))
    into = np.full(len(sizes), -1, dtype=np.int64)  # the new node of each child

    merged = nodes.add(len(merges), level - 1)
    by_parent = np.full(n_nodes, -1, dtype=np.int64)
    by_parent[merges] = merged
    to_merge = is_split[parent] & ~is_good & (by_parent[parent] >= 0)
    into[to_merge] = by_parent[parent[to_merge]]
    own = is_split[parent] & ~to_merge
    into[own] = nodes.add(int(own.sum()), level)

    moved = into[child] >= 0
    nodes.of_row[rows[moved]] = into[child[moved]]
    nodes.sort_in(merged, n_rows_of_small[merges], p)  # of 2p rows or more they are leaves as they are
    return np.concatenate([alone, nodes.sort_in(into[own], sizes[own], p)])


def _as_leaves(of_row: Ints, level: Ints, p: int) -> WordLeaves:
    leaf = renumber(of_row)
    first = np.unique(leaf, return_index=True)[1]
    good: Bools = np.bincount(leaf) >= p
    return WordLeaves(leaf, level[of_row[first]], first, good)


def recycle(words: Words, levels: Ints, p: int) -> tuple[Ints, Ints]:
    """Put rows of bad leaves together at the highest level at which p of them have the same word (Algorithm 2).

    Starts at the highest level of a bad leaf and goes down while p rows or more are left: of the rows whose leaf has
    this level or a higher one, those with the same word, if p or more, become a leaf of this level. It works with rows,
    not leaves, because the rows of a leaf need not have the same word at the level below (-0.2 and 0.2 agree at level 3
    and not at level 2); in that case the listing has no word to continue with.

    Returns for each row its new leaf, or -1 if it is left over (fewer than p are), and the level of each leaf.
    """
    leaf = np.full(len(levels), -1, dtype=np.int64)
    leaf_levels: list[int] = []
    level = int(levels.max(initial=0))
    node = np.zeros(len(levels), dtype=np.int64)
    while (leaf < 0).sum() >= p:
        rows = np.flatnonzero((leaf < 0) & (levels >= level))
        classes, _ = word_classes(np.require(words(level), requirements=["C", "W"]), rows, node)
        sizes = np.bincount(classes, minlength=1)
        number = np.where(sizes >= p, len(leaf_levels) - 1 + np.cumsum(sizes >= p), -1)
        leaf[rows] = number[classes]
        leaf_levels += [level] * int((sizes >= p).sum())
        level -= 1
    return leaf, np.array(leaf_levels, dtype=np.int64)
