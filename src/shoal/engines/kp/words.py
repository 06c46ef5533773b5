"""The upper part of the tree of words, on counts.

A node of more than a block of series is split by counts: how many of its series have which word at the next level is
counted where they are, and only words of p series or more come to the driver, at most one in p series. What happens to
the others follows from how many they are. The rules are those of `kernels.kp_tree`, and so are the nodes. A node that
fits into a block is grown there by that kernel itself: what is below a node depends on its own series alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Shared, Table
from shoal.engines.rows import ROW, unpack
from shoal.engines.work import Columns, starts_of_keys, whole_keys
from shoal.features.sax import PatternRepresentation
from shoal.kernels.kp_tree import word_classes

NODE, LETTERS, COUNT = "node", "letters", "count"

GROWS, LEAF, BAD = 0, 1, 2
"""A node below which a tree is grown; a good leaf; bad leaves, whose series are to be recycled one by one."""

ROWS_AT_ONCE = 1 << 16

_COUNTS = pa.schema([(NODE, pa.int64()), (LETTERS, pa.binary()), (COUNT, pa.int64())])


@dataclass(frozen=True, eq=False)
class Step:
    """The nodes that are split at a level: the node of each frequent word, and where all other words go."""

    level: int
    salt: int
    hashes: NDArray[np.uint64]
    parent: NDArray[np.int64]
    letters: NDArray[np.uint8]
    child: NDArray[np.int64]
    other: NDArray[np.int64]
    """Of each node before the step where a word goes that has no child of its own; -1: the node is not split."""

    def go(self, node: NDArray[np.int64], x: NDArray[np.float64], representation: PatternRepresentation) -> None:
        """Change the nodes of the rows of x."""
        rows = np.flatnonzero(self.other[node] >= 0)
        if not len(rows):
            return
        letters = representation.words(x[rows], self.level)
        place = np.searchsorted(self.hashes, _hashes(node[rows], letters, self.salt))
        place = np.minimum(place, len(self.hashes) - 1)
        # The hash only says where to look.
        same = (self.parent[place] == node[rows]) & (self.letters[place] == letters).all(axis=1)
        node[rows] = np.where(same, self.child[place], self.other[node[rows]])


@dataclass(frozen=True, eq=False)
class Top:
    """The nodes so far: level, series and kind of each, and the steps that lead there from the root."""

    level: NDArray[np.int64]
    size: NDArray[np.int64]
    kind: NDArray[np.int64]
    steps: tuple[Step, ...] = ()

    def nodes(self, x: NDArray[np.float64], representation: PatternRepresentation) -> NDArray[np.int64]:
        """The node of each row."""
        node = np.zeros(len(x), dtype=np.int64)
        for step in self.steps:
            # A node is only ever numbered after the steps before it.
            step.go(node, x, representation)
        return node


@dataclass(frozen=True)
class CountWords:
    """How often each word occurs at a level in the nodes that are to be split."""

    top: Shared[Top]
    splits: frozenset[int]
    level: int
    representation: PatternRepresentation

    def __call__(self, blocks: Blocks) -> Blocks:
        """Counts of each stretch of rows; they are summed up where equal words meet."""
        splits = np.zeros(len(self.top.value.level), dtype=np.bool_)
        splits[list(self.splits)] = True
        for table in stretches(blocks):
            x = np.array(unpack(table[ROW]))
            node = self.top.value.nodes(x, self.representation)
            rows = np.flatnonzero(splits[node])
            if not len(rows):
                continue
            node = node[rows]
            letters = self.representation.words(x[rows], self.level)
            classes, firsts = word_classes(letters, np.arange(len(rows)), node)
            columns = [pa.array(node[firsts]), pack_letters(letters[firsts]), pa.array(np.bincount(classes))]
            yield pa.RecordBatch.from_arrays(columns, schema=_COUNTS)


@dataclass(frozen=True)
class FrequentWords:
    """Counts of equal words added; those below p are left out."""

    p: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each frequent word."""
        for table in whole_keys(blocks, [NODE, LETTERS], rows=ROWS_AT_ONCE):
            rows = table.combine_chunks()
            starts = np.flatnonzero(starts_of_keys(rows, [NODE, LETTERS]))
            counts = np.add.reduceat(rows[COUNT].to_numpy(), starts)
            frequent = counts >= self.p
            found = rows.take(pa.array(starts[frequent])).set_column(2, _COUNTS.field(2), pa.array(counts[frequent]))
            yield from found.to_batches()


def grow_on_counts(
    engine: Engine, table: Table, *, n_series: int, p: int, block: int, representation: PatternRepresentation
) -> Top:
    """Split nodes from the root down until none that can be split has more than `block` series."""
    one = np.ones(1, dtype=np.int64)
    top = Top(level=one, size=n_series * one, kind=0 * one + GROWS)
    for level in range(2, representation.max_level + 1):
        large = np.flatnonzero((top.kind == GROWS) & (top.size > block))
        if not len(large):
            return top
        work = CountWords(engine.share(top), frozenset(large.tolist()), level, representation)
        counts = engine.map(only(engine, table, (ROW,)), work, _COUNTS)
        found = engine.collect(engine.together(counts, [NODE, LETTERS], FrequentWords(p), _COUNTS))
        top = _split(top, large, found.sort_by([(NODE, "ascending"), (LETTERS, "ascending")]), p, level)
    # At the highest level nothing is split any more.
    kind = np.where((top.kind == GROWS) & (top.size > block), LEAF, top.kind)
    return Top(top.level, top.size, kind, top.steps)


def _split(top: Top, large: NDArray[np.int64], found: pa.Table, p: int, level: int) -> Top:
    """The nodes after a level: the cases are those of Algorithm 1."""
    parent, counts = found[NODE].to_numpy(), found[COUNT].to_numpy()
    letters = unpack_letters(found[LETTERS])
    n_nodes = len(top.level)
    n_good = np.bincount(parent, minlength=n_nodes)
    n_small = top.size - np.bincount(parent, weights=counts, minlength=n_nodes).astype(np.int64)  # series of small ones
    levels, kinds = top.level.copy(), top.kind.copy()
    alone = large[(n_good[large] == 1) & (n_small[large] == 0)]
    levels[alone] = level
    kinds[large[n_good[large] == 0]] = LEAF
    is_split = np.zeros(n_nodes, dtype=np.bool_)
    is_split[large] = (n_good[large] > 0) & ((n_good[large] > 1) | (n_small[large] > 0))
    parents = np.flatnonzero(is_split)
    if not len(parents):
        return Top(levels, top.size, kinds, top.steps)
    own = is_split[parent]
    # First a node for the small ones of each, then one for each frequent word.
    merged = n_small[parents] >= p
    small_kind = np.where(merged & (n_small[parents] >= 2 * p), LEAF, np.where(merged, GROWS, BAD))
    other = np.full(n_nodes, -1, dtype=np.int64)
    other[parents] = n_nodes + np.arange(len(parents))
    left = np.where(is_split, 0, top.size)  # a node that is split is empty
    child = n_nodes + len(parents) + np.arange(int(own.sum()))
    return Top(
        np.concatenate([levels, np.where(merged, level - 1, level), np.full(len(child), level)]),
        np.concatenate([left, n_small[parents], counts[own]]),
        np.concatenate([kinds, small_kind, np.full(len(child), GROWS)]),
        (*top.steps, _step(level, parent[own], letters[own], child, other)),
    )


def _step(
    level: int,
    parent: NDArray[np.int64],
    letters: NDArray[np.uint8],
    child: NDArray[np.int64],
    other: NDArray[np.int64],
) -> Step:
    salt = 0
    hashes = _hashes(parent, letters, salt)
    while len(np.unique(hashes)) < len(hashes):
        # Two words with one hash could not both be found; with another salt they differ.
        salt += 1
        hashes = _hashes(parent, letters, salt)
    order = np.argsort(hashes)
    return Step(level, salt, hashes[order], parent[order], letters[order], child[order], other)


def _hashes(node: NDArray[np.int64], letters: NDArray[np.uint8], salt: int) -> NDArray[np.uint64]:
    state = (node.astype(np.uint64) + np.uint64(salt << 32)) * np.uint64(0x9E3779B97F4A7C15)
    for t in range(letters.shape[1]):
        state = (state ^ letters[:, t].astype(np.uint64)) * np.uint64(0xFF51AFD7ED558CCD)
        state ^= state >> np.uint64(32)
    return state


def only(engine: Engine, table: Table, names: tuple[str, ...]) -> Table:
    """Some columns: what is not needed need not travel."""
    return engine.map(table, Columns(names), pa.schema([table.schema.field(name) for name in names]))


def stretches(blocks: Blocks, rows: int = ROWS_AT_ONCE) -> Blocks:
    """Blocks put together until they have so many rows: small ones cost more in calls than in work."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for block in blocks:
        waiting.append(block)
        n_waiting += block.num_rows
        if n_waiting >= rows:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting, n_waiting = [], 0
    if n_waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def pack_letters(letters: NDArray[np.uint8]) -> pa.Array:
    """Words (rows, letters) as a column of bytes."""
    own = np.ascontiguousarray(letters)
    ends = (np.arange(len(own) + 1, dtype=np.int64) * own.shape[1]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(own), [None, pa.py_buffer(ends), pa.py_buffer(own)])


def unpack_letters(column: pa.Array | pa.ChunkedArray) -> NDArray[np.uint8]:
    """The letters of a column of words of the same length."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not len(column):
        return np.empty((0, 0), dtype=np.uint8)
    _, ends, data = column.buffers()
    bounds = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    flat = np.frombuffer(data, np.uint8, count=int(bounds[-1] - bounds[0]), offset=int(bounds[0]))
    return flat.reshape(len(column), -1)
