"""How many groups of each size there are, counted by the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from shoal.engines.blocks import PUBLISHED, BlockPublished
from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.guarantees.k_anonymity import group_sizes
from shoal.engines.rows import SUBJECT, unpack
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.release.values import Grouped

_ROWS = 1 << 16
_CELLS = pa.schema([("instant", pa.int32()), ("bits", pa.binary()), (SUBJECT, pa.string())])
_TALLY = pa.schema([("size", pa.int64()), ("count", pa.int64())])
_COUNT = pa.schema([("n", pa.int64())])


def sizes_of(published: BlockPublished, grouped: Grouped) -> dict[str, int]:
    """How many groups of series published alike, or alike at an instant, there are of each size, in subjects."""
    engine = published.engine
    if grouped == "series":
        return {str(size): count for size, count in sorted(group_sizes(published).items())}
    n_channels = published.clock.n_channels
    cells = engine.map(published.table, _Cells(published.clock.n_instants, n_channels), _CELLS)
    return tally_keys(engine, cells, ["instant", "bits"])


def tally_keys(engine: Engine, table: Table, keys: list[str]) -> dict[str, int]:
    """How many keys there are of each size: the number of different subjects that have one."""
    found = engine.collect(engine.together(table, keys, TallyKeys(tuple(keys)), _TALLY, order=[SUBJECT]))
    counted: dict[int, int] = {}
    for row in found.to_pylist():
        counted[row["size"]] = counted.get(row["size"], 0) + row["count"]
    return {str(size): counted[size] for size in sorted(counted)}


def count_subjects(engine: Engine, table: Table) -> int:
    """How many different subjects a table has."""
    found = engine.collect(engine.together(table, [SUBJECT], _CountKeys(SUBJECT), _COUNT))
    return int(sum(found["n"].to_pylist()))


@dataclass(frozen=True)
class TallyKeys:
    """Of rows sorted by their keys and then by subject: how many keys of each size a part has."""

    keys: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each size."""
        found: dict[int, int] = {}
        for rows in whole_keys(blocks, self.keys, rows=_ROWS):
            table = rows.combine_chunks()
            starts = starts_of_keys(table, self.keys)
            # A subject counts where it first appears under a key.
            new = starts_of_keys(table, (*self.keys, SUBJECT))
            sizes = np.add.reduceat(new, np.flatnonzero(starts), dtype=np.int64)
            for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
                found[int(size)] = found.get(int(size), 0) + int(count)
        if found:
            yield pa.record_batch([pa.array(list(found)), pa.array(list(found.values()))], schema=_TALLY)


@dataclass(frozen=True)
class _CountKeys:
    key: str

    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(
            int(np.count_nonzero(starts_of_keys(rows.combine_chunks(), [self.key])))
            for rows in whole_keys((block.select([self.key]) for block in blocks), [self.key], rows=_ROWS)
        )
        if n:
            yield pa.record_batch([pa.array([n], pa.int64())], schema=_COUNT)


@dataclass(frozen=True)
class _Cells:
    """One row for each series and instant: its instant, the bytes there, and its subject."""

    n_instants: int
    n_channels: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            per = max(1, _ROWS // self.n_instants)
            for first in range(0, block.num_rows, per):
                yield from self._of(block.slice(first, per))

    def _of(self, block: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        values = unpack(block.column(PUBLISHED))
        n = len(values) * self.n_instants
        width = self.n_channels * 8
        bits = pa.Array.from_buffers(pa.binary(width), n, [None, pa.py_buffer(np.ascontiguousarray(values))]).cast(
            pa.binary()
        )
        instants = np.tile(np.arange(self.n_instants, dtype=np.int32), len(values))
        subjects = block.column(SUBJECT).take(pa.array(np.repeat(np.arange(len(values)), self.n_instants)))
        yield pa.record_batch([pa.array(instants), bits, subjects], schema=_CELLS)
