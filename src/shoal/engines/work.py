"""Small pieces of work from which others are built."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Work


@dataclass(frozen=True)
class Chain:
    """Several pieces of work in sequence, without rows stored in between."""

    pieces: tuple[Work, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """The blocks after the last piece."""
        for piece in self.pieces:
            blocks = piece(blocks)
        return blocks


@dataclass(frozen=True)
class Same:
    """No work at all: the rows pass unchanged."""

    def __call__(self, blocks: Blocks) -> Blocks:
        """The blocks as they are."""
        return blocks


@dataclass(frozen=True)
class Columns:
    """Select columns. Engines that can omit the others without reading rows do so."""

    names: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """The blocks with these columns, in this order."""
        for block in blocks:
            yield block.select(list(self.names))


@dataclass(frozen=True)
class Having:
    """Keep the rows whose entry in a column is among some, or all other rows. Engines that can select them do so."""

    column: str
    among: pa.Array
    others: bool = False

    def __call__(self, blocks: Blocks) -> Blocks:
        """The rows of each block."""
        for block in blocks:
            kept = pc.is_in(block.column(self.column), self.among)
            kept = pc.invert(kept) if self.others else kept
            # Copying a block of long series is expensive: if all rows stay, pass it on.
            yield block if kept.true_count == block.num_rows else block.filter(kept)


def starts_of_keys(table: pa.Table | pa.RecordBatch, keys: Sequence[str]) -> NDArray[np.bool_]:
    """Mark where a new key begins in rows that are sorted by their keys. Equal means equal in every byte."""
    n = table.num_rows
    changes = np.zeros(n, dtype=np.bool_)
    changes[:1] = True
    for name in keys if n > 1 else ():
        column = table[name]
        if pa.types.is_floating(column.type):
            # Compare bits, so that a missing number equals itself.
            bits = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[column.type.bit_width]
            column = pa.chunked_array([chunk.view(bits) for chunk in pa.chunked_array(column).chunks], bits)
        here, before = column.slice(1), column.slice(0, n - 1)
        changes[1:] |= pc.fill_null(pc.not_equal(here, before), False).to_numpy(zero_copy_only=False)
        if column.null_count:
            changes[1:] |= pc.xor(here.is_null(), before.is_null()).to_numpy(zero_copy_only=False)
    return changes


def whole_keys(blocks: Blocks, keys: Sequence[str], *, rows: int = 1) -> Iterator[pa.Table]:
    """Regroup sorted blocks into tables that keep every key whole; each has at least `rows` rows, except the last."""
    waiting: list[pa.RecordBatch] = []
    n_waiting = 0
    for block in blocks:
        if not block.num_rows:
            continue
        if waiting and n_waiting >= rows:
            # Cut only where the key changes: find the first change, counting from the last row so far.
            seam = pa.Table.from_batches([waiting[-1].slice(waiting[-1].num_rows - 1), block]).select(list(keys))
            cuts = np.flatnonzero(starts_of_keys(seam, keys)[1:])
            if len(cuts):
                first = int(cuts[0])
                yield pa.Table.from_batches([*waiting, block.slice(0, first)] if first else waiting)
                waiting, n_waiting, block = [], 0, block.slice(first)
        waiting.append(block)
        n_waiting += block.num_rows
    if waiting:
        yield pa.Table.from_batches(waiting)


def each_key(blocks: Blocks, keys: Sequence[str]) -> Iterator[pa.Table]:
    """One table for each key, from sorted blocks. Use it for few large keys, such as shards."""
    for table in whole_keys(blocks, keys):
        bounds = [*np.flatnonzero(starts_of_keys(table.select(list(keys)), keys)), table.num_rows]
        for first, last in itertools.pairwise(bounds):
            yield table.slice(first, last - first)
