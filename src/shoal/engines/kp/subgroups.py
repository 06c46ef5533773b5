"""Series of one word put together to subgroups of p to 2p - 1, where the series of a node are together.

A subgroup is named after its first series, by id; that series carries its box (both ends at every instant) and its
size. Where a leaf was cut into pieces, each of its series carries a box of its own instead, of size 1: undivided they
might be in other subgroups, and what is said about every formation must hold of those too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL
from shoal.engines.contract import Blocks, Shared
from shoal.engines.kp.cells import Cells, Plan, places
from shoal.engines.kp.words import BAD, GROWS, LEAF, LETTERS, NODE, Top, pack_letters, stretches, unpack_letters
from shoal.engines.rows import ID, ROW, SERIES, SUBJECT, pack, unpack
from shoal.engines.work import each_key, whole_keys
from shoal.features.sax import PatternRepresentation
from shoal.kernels.kp_clusters import split_sets
from shoal.kernels.kp_groups import boxes_of
from shoal.kernels.kp_tree import create_tree, recycle

PIECE, LEAD, SIZE, BOX, PLACE, BUCKET = "piece", "lead", "size", "box", "place", "bucket"

IN_NODES = pa.schema([(NODE, pa.int64()), (PIECE, pa.int64()), *SERIES])

IN_SUBGROUPS = pa.schema(
    [
        *SERIES,
        (LEVEL, pa.int64()),
        (LETTERS, pa.binary()),
        (LEAD, pa.string()),
        (SIZE, pa.int64()),
        (BOX, pa.binary()),
        (PLACE, pa.binary()),
    ]
)
"""Series with level and word of their leaf, their subgroup and where it lies. No subgroup: of a bad leaf."""

IN_BUCKETS = pa.schema([(BUCKET, pa.int64()), *SERIES, (LEVEL, pa.int64())])


@dataclass(frozen=True)
class ToNodes:
    """Every series with its node, and its piece of it."""

    top: Shared[Top]
    pieces: Shared[dict[int, Plan]]
    """Of nodes that are leaves of more than a block: how they are cut."""
    representation: PatternRepresentation

    def __call__(self, blocks: Blocks) -> Blocks:
        """The same series."""
        for table in stretches(blocks):
            x = np.array(unpack(table[ROW]))
            node = self.top.value.nodes(x, self.representation)
            piece = np.zeros(len(x), dtype=np.int64)
            for cut, plan in self.pieces.value.items():
                rows = np.flatnonzero(node == cut)
                piece[rows] = plan.numbers(places(x[rows]), table[ID].take(pa.array(rows)))
            columns = [pa.array(node), pa.array(piece), table[ID], table[SUBJECT], table[ROW]]
            yield pa.RecordBatch.from_arrays(columns, schema=IN_NODES)


@dataclass(frozen=True)
class CountInCells:
    """How many series of each node to be cut lie in which cell."""

    top: Shared[Top]
    cut: tuple[int, ...]
    cells: Cells
    representation: PatternRepresentation

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each node and cell, of each stretch."""
        for table in stretches(blocks):
            x = np.array(unpack(table[ROW]))
            node = self.top.value.nodes(x, self.representation)
            for cut in self.cut:
                counts = np.bincount(self.cells.of(places(x[node == cut])), minlength=self.cells.n_cells)
                seen = np.flatnonzero(counts)
                columns = [np.full(len(seen), cut), seen, counts[seen]]
                yield pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=CELL_COUNTS)


CELL_COUNTS = pa.schema([(NODE, pa.int64()), ("cell", pa.int64()), ("count", pa.int64())])


@dataclass(frozen=True)
class FormSubgroups:
    """Trees below the nodes, and their leaves cut to subgroups."""

    top: Shared[Top]
    cut: frozenset[int]
    p: int
    representation: PatternRepresentation
    rows: int

    def __call__(self, blocks: Blocks) -> Blocks:
        """All series; those of bad leaves without a subgroup."""
        top = self.top.value
        for table in whole_keys(blocks, [NODE, PIECE], rows=self.rows):
            rows = table.combine_chunks()
            x = np.array(unpack(rows[ROW]))
            node = rows[NODE].to_numpy()
            leaf, level, good = self._leaves(x, node, rows[PIECE].to_numpy(), top)
            kept = np.flatnonzero(good)
            is_cut = np.isin(node, list(self.cut))
            yield from subgrouped(rows, x, leaf, level, kept, is_cut, self.p, self.representation)

    def _leaves(
        self, x: NDArray[np.float64], node: NDArray[np.int64], piece: NDArray[np.int64], top: Top
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Of each row its leaf, the leaf's level, and whether it is a good one."""
        kind, starts = top.kind[node], top.level[node]
        level = starts.copy()
        # Rows are sorted by node and piece.
        leaf = np.cumsum((np.diff(node, prepend=node[0]) != 0) | (np.diff(piece, prepend=piece[0]) != 0))
        n_leaves = int(leaf.max()) + 1
        good = kind == LEAF
        for start in np.unique(starts[kind == GROWS]).tolist():
            rows = np.flatnonzero((kind == GROWS) & (starts == start))
            roots = np.unique(node[rows], return_inverse=True)[1].reshape(-1)
            inside = x[rows]

            def words(step: int, inside: NDArray[np.float64] = inside, start: int = start) -> NDArray[np.uint8]:
                return self.representation.words(inside, start + step - 1)

            # A node of level `start` is a root whose first level is that one.
            found = create_tree(words, roots, self.p, self.representation.max_level - start + 1)
            leaf[rows] = n_leaves + found.leaf
            n_leaves += len(found.level)
            level[rows] = found.level[found.leaf] + start - 1
            good[rows] = found.good[found.leaf]
        assert not good[kind == BAD].any()
        return leaf, level, good


@dataclass(frozen=True)
class OnlyBad:
    """The series of bad leaves, in as many buckets as they need; equal words at level 2 are in one."""

    n_buckets: int
    representation: PatternRepresentation

    def __call__(self, blocks: Blocks) -> Blocks:
        """What recycling needs of them."""
        for block in blocks:
            bad = block.filter(pc.is_null(block.column(LEAD)))
            if not bad.num_rows:
                continue
            bucket = np.zeros(bad.num_rows, dtype=np.int64)
            if self.n_buckets > 1:
                letters = self.representation.words(np.array(unpack(bad.column(ROW))), 2)
                for t in range(letters.shape[1]):
                    bucket = (31 * bucket + letters[:, t]) % 1_000_003
            columns = [pa.array(bucket % self.n_buckets), *(bad.column(name) for name in (ID, SUBJECT, ROW, LEVEL))]
            yield pa.RecordBatch.from_arrays(columns, schema=IN_BUCKETS)


def with_subgroup(block: pa.RecordBatch) -> pa.RecordBatch:
    """The series of good leaves."""
    return block.filter(pc.is_valid(block.column(LEAD))) if block.column(LEAD).null_count else block


@dataclass(frozen=True)
class Recycle:
    """Series of bad leaves put together at lower levels; fewer than p of a bucket are left out, and are suppressed."""

    p: int
    representation: PatternRepresentation
    is_cut: bool
    """Whether there are several buckets: undivided, series might be in other subgroups."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """Those that found a leaf, in subgroups."""
        for table in each_key(blocks, [BUCKET]):
            rows = table.combine_chunks()
            x = np.array(unpack(rows[ROW]))

            def words(level: int, x: NDArray[np.float64] = x) -> NDArray[np.uint8]:
                return self.representation.words(x, level)

            found, levels = recycle(words, rows[LEVEL].to_numpy(), self.p)
            kept = np.flatnonzero(found >= 0)
            if not len(kept):
                continue
            is_cut = np.full(len(kept), self.is_cut)
            inside = rows.take(pa.array(kept))
            everyone = np.arange(len(kept))
            leaf = found[kept]
            yield from subgrouped(inside, x[kept], leaf, levels[leaf], everyone, is_cut, self.p, self.representation)


def subgrouped(
    rows: pa.Table,
    x: NDArray[np.float64],
    leaf: NDArray[np.int64],
    level: NDArray[np.int64],
    kept: NDArray[np.int64],
    is_cut: NDArray[np.bool_],
    p: int,
    representation: PatternRepresentation,
) -> Blocks:
    """Rows with level, word and subgroup; `kept` are those of good leaves, the others have no subgroup."""
    n = len(x)
    letters = np.zeros((n, x.shape[1]), dtype=np.uint8)
    lead = np.full(n, -1, dtype=np.int64)
    size = np.zeros(n, dtype=np.int64)
    where = np.zeros((n, places(x[:1]).shape[1]), dtype=np.float32)
    ends = np.empty((0, x.shape[1], 2))
    if len(kept):
        sets, firsts, codes = np.unique(leaf[kept], return_index=True, return_inverse=True)
        words = np.empty((len(sets), x.shape[1]), dtype=np.uint8)
        for one in np.unique(level[kept][firsts]).tolist():
            of_level = level[kept][firsts] == one
            words[of_level] = representation.words(x[kept[firsts[of_level]]], one)
        codes = codes.reshape(-1)
        letters[kept] = words[codes]
        subgroup = split_sets(x[kept], codes, p)
        first = kept[np.unique(subgroup, return_index=True)[1]]
        low, high, sizes = boxes_of(x[kept], subgroup)
        lead[kept] = first[subgroup]
        where[kept] = places(0.5 * low + 0.5 * high)[subgroup]
        whole = first[~is_cut[first]]
        size[whole] = sizes[~is_cut[first]]
        size[is_cut & (lead >= 0)] = 1
        ends = np.stack([x, x], axis=2)
        ends[whole] = np.stack([low, high], axis=2)[~is_cut[first]]
        ends = ends[size > 0]
    yield pa.RecordBatch.from_arrays(
        [
            *(_one(rows[name]) for name in (ID, SUBJECT, ROW)),
            pa.array(level),
            pack_letters(letters),
            _one(rows[ID]).take(pa.array(lead, mask=lead < 0)),
            pa.array(size),
            _where(ends, size > 0),
            pack_letters(np.ascontiguousarray(where).view(np.uint8)),
        ],
        schema=IN_SUBGROUPS,
    )


def places_of(column: pa.Array) -> NDArray[np.float32]:
    """Where subgroups lie, from their bytes."""
    return np.ascontiguousarray(unpack_letters(column)).view("<f4")


def _where(ends: NDArray[np.float64], rows: NDArray[np.bool_]) -> pa.Array:
    """Boxes as bytes at these rows, nothing elsewhere."""
    if not rows.any():
        return pa.nulls(len(rows), pa.binary())
    number = np.cumsum(rows) - 1
    return pack(ends).take(pa.array(number, mask=~rows))


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
