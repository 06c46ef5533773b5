"""Where subgroups meet those nearby: a plan that cuts the space of mean values into cells of about the same size.

The plan is a binary tree, learned on a sample: each node is cut at the weighted median along the instant, or mean of
instants, where its sample spreads most. Cells are numbered from one side of the tree to the other, so that neighbours
in number are mostly neighbours in space.

What is alike cannot be cut by where it lies, and there may be millions of it, such as meters that measure nothing: of a
block that is far too large names decide by chance. Which of equals are together costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import chances

MOST_PLACES = 16
"""Numbers that say where a series lies: its values, or means over this many stretches of them."""


def places(x: NDArray[np.float64]) -> NDArray[np.float32]:
    """Where rows lie: (rows, at most 16), small enough to travel with every series."""
    length = x.shape[1]
    x = np.clip(x, -_LARGEST, _LARGEST)
    if length <= MOST_PLACES:
        return x.astype(np.float32)
    starts = np.arange(MOST_PLACES) * length // MOST_PLACES
    means: NDArray[np.float64] = np.add.reduceat(x, starts, axis=1) / np.diff(starts, append=length)
    return means.astype(np.float32)


_LARGEST = 1e38  # what a small float holds


@dataclass(frozen=True, eq=False)
class Cells:
    """Cuts of a binary tree; a node without a cut is a cell."""

    along: NDArray[np.int64]
    """Which of the places a node is cut along; -1 for a cell."""
    at: NDArray[np.float32]
    """What lies at or below goes to the first child."""
    child: NDArray[np.int64]
    """The first child, the second is the next node; of a cell its number."""
    n_cells: int

    @classmethod
    def learn(cls, sample: NDArray[np.float32], weights: NDArray[np.int64], n_series: int, block: int) -> Cells:
        """Cells of about `block` series, of a sample whose weights stand for `n_series`."""
        along, at, child = [-1], [np.float32(0.0)], [0]
        most = block * float(weights.sum()) / max(1, n_series)
        waiting = [(0, np.arange(len(sample)))]
        while waiting:
            node, rows = waiting.pop()
            cut = _cut(sample[rows], weights[rows]) if weights[rows].sum() > most else None
            if cut is None:
                continue
            column, value = cut
            along[node], at[node], child[node] = column, value, len(along)
            first = sample[rows, column] <= value
            for part in (first, ~first):
                waiting.append((len(along), rows[part]))
                along.append(-1)
                at.append(np.float32(0.0))
                child.append(0)
        return cls(*_numbered(np.array(along), np.array(at, dtype=np.float32), np.array(child)))

    def of(self, where: NDArray[np.float32]) -> NDArray[np.int64]:
        """The cell of each row of places."""
        node = np.zeros(len(where), dtype=np.int64)
        rows = np.arange(len(where))
        while len(rows := rows[self.along[node[rows]] >= 0]):
            here = node[rows]
            node[rows] = self.child[here] + (where[rows, self.along[here]] > self.at[here])
        return self.child[node]


@dataclass(frozen=True, eq=False)
class Plan:
    """Cells joined to blocks, and blocks cut by names where they are far too large."""

    cells: Cells
    of_cell: NDArray[np.int64]
    parts: NDArray[np.int64]
    """In how many blocks each one is cut."""

    @classmethod
    def of(cls, cells: Cells, counts: NDArray[np.int64], *, least: int, block: int, k: int) -> Plan:
        """Blocks of at least `least` series, with this many in each cell, and about `block` of those cut by names."""
        of_cell = joined(counts, least)
        sizes = np.bincount(of_cell, counts).astype(np.int64)
        # By chance none of these gets fewer than k, which is less than one in 300 of what it is expected to get.
        size = max(block, _MANY * k)
        return cls(cells, of_cell, np.where(sizes > 2 * size, sizes // size, 1))

    @property
    def n_blocks(self) -> int:
        """How many there are in all."""
        return int(self.parts.sum())

    def numbers(self, where: NDArray[np.float32], names: pa.Array) -> NDArray[np.int64]:
        """The block of each row, by its place and by a name that those have in common who must stay together."""
        block = self.of_cell[self.cells.of(where)]
        number = (np.cumsum(self.parts) - self.parts)[block]
        rows = np.flatnonzero(self.parts[block] > 1)
        if len(rows):
            by_chance = chances(names.take(pa.array(rows)), _SEED) * self.parts[block[rows]]
            number[rows] += by_chance.astype(np.int64)
        return number


_MANY, _SEED = 300, 12


def joined(counts: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """For each cell the block it is part of: cells in a row are joined until they have `least` series.

    What is left at the end joins the last block. Fewer than `least` in all are one block.
    """
    block = np.empty(len(counts), dtype=np.int64)
    number = so_far = 0
    for cell, count in enumerate(counts.tolist()):
        block[cell] = number
        so_far += count
        if so_far >= least:
            number, so_far = number + 1, 0
    block[block == number] = max(0, number - 1)
    return block


def _cut(sample: NDArray[np.float32], weights: NDArray[np.int64]) -> tuple[int, np.float32] | None:
    """Along what and where to cut; None where all lie in one place."""
    spread = sample.astype(np.float64).var(axis=0)
    for column in np.argsort(-spread, kind="stable").tolist():
        order = np.argsort(sample[:, column], kind="stable")
        values = sample[order, column]
        if values[0] == values[-1]:
            continue
        middle = int(np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2))
        value = values[min(middle, len(values) - 1)]
        # Something must lie on either side.
        return column, value if value < values[-1] else values[values < value].max()
    return None


def _numbered(
    along: NDArray[np.int64], at: NDArray[np.float32], child: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int64], int]:
    """Cells get their numbers from the first side of the tree to the last."""
    number, waiting = 0, [0]
    while waiting:
        node = waiting.pop()
        if along[node] >= 0:
            waiting += [int(child[node]) + 1, int(child[node])]
        else:
            child[node] = number
            number += 1
    return along, at, child, number
