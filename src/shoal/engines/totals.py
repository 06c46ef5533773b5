"""Counts over all blocks of a table.

Every part gives an array of whole numbers, and arrays are added. Whole numbers have no rounding, so the result depends
neither on where blocks begin nor on the order in which parts come in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine, Table

Numbers = NDArray[np.int64]

PIECE = 512
"""Numbers of an array that travel together. Pieces without any number but 0 stay where they are."""

_SCHEMA = pa.schema([("piece", pa.int32()), ("numbers", pa.binary())])


def add_up(engine: Engine, table: Table, count: Callable[[Blocks], Numbers], length: int) -> Numbers:
    """The sum over all parts of what `count` makes of one: `length` whole numbers. It must survive pickling."""
    parts = engine.map(table, _Count(count), _SCHEMA)
    added = engine.collect(engine.together(parts, ["piece"], _Add(), _SCHEMA))
    return _joined(added, length)


@dataclass(frozen=True)
class _Count:
    """The array of a part, cut into pieces."""

    count: Callable[[Blocks], Numbers]

    def __call__(self, blocks: Blocks) -> Blocks:
        yield _pieces(self.count(blocks))


@dataclass(frozen=True)
class _Add:
    """Pieces with the same number, added as they come."""

    def __call__(self, blocks: Blocks) -> Blocks:
        sums: dict[int, Numbers] = {}
        for block in blocks:
            numbers = block.column("piece").to_numpy()
            order = np.argsort(numbers, kind="stable")
            found, starts = np.unique(numbers[order], return_index=True)
            rows = np.frombuffer(b"".join(block.column("numbers").to_pylist()), np.int64).reshape(-1, PIECE)
            for piece, row in zip(found.tolist(), np.add.reduceat(rows[order], starts), strict=True):
                sums[piece] = sums[piece] + row if piece in sums else row
        yield _block(np.array(list(sums), dtype=np.int32), list(sums.values()))


def _pieces(array: Numbers) -> pa.RecordBatch:
    flat = np.zeros(-(-array.size // PIECE) * PIECE, dtype=np.int64)
    flat[: array.size] = array.ravel()
    rows = flat.reshape(-1, PIECE)
    used = np.flatnonzero(rows.any(axis=1))
    return _block(used.astype(np.int32), list(rows[used]))


def _block(pieces: NDArray[np.int32], rows: list[Numbers]) -> pa.RecordBatch:
    data = pa.array([row.tobytes() for row in rows], pa.binary())
    return pa.record_batch([pa.array(pieces), data], schema=_SCHEMA)


def _joined(added: pa.Table, length: int) -> Numbers:
    flat = np.zeros(-(-length // PIECE) * PIECE, dtype=np.int64)
    rows = flat.reshape(-1, PIECE)
    for piece, data in zip(added["piece"].to_pylist(), added["numbers"].to_pylist(), strict=True):
        rows[piece] += np.frombuffer(data, np.int64)
    return flat[:length]
