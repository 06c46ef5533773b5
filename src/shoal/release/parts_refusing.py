"""What keeps a candidate on an engine inside before anything is checked: a crowd that could not be counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from shoal.engines.blocks import OF, PUBLISHED, BlockCandidate
from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.rows import ID, ROW, SUBJECT, unpack
from shoal.engines.work import starts_of_keys, whole_keys

_SUMS = pa.schema([("n", pa.int64()), ("sum", pa.int64())])
_WHO = pa.schema([(ID, pa.string()), (SUBJECT, pa.string()), ("side", pa.int32())])
_ROWS = 1 << 16
_ODD = pa.schema([("n", pa.int64())])


def refuse_blocks(candidate: BlockCandidate) -> str | None:
    """Why the crowd of this candidate cannot be counted, or None."""
    panel, engine = candidate.panel, candidate.panel.engine
    n_series, found = _sum_up(engine, candidate.table)
    if n_series != candidate.n_series:
        return f"The candidate has {n_series} series and says {candidate.n_series}: the crowd cannot be counted."
    if candidate.n_published is None and (n_series, found) != _sum_up(engine, panel.table):
        # A method that loses track of who is behind a row would make its own crowd.
        return "The candidate's subjects are not those of the original panel, row by row: the crowd cannot be counted."
    if candidate.n_published is not None and (n_odd := _strangers(candidate)):
        return f"{n_odd} series have subjects that are not those of their originals: the crowd cannot be counted."
    if candidate.form == "envelopes":
        places = np.searchsorted(panel.clock.times, candidate.clock.times)
        work = _OutOfEnvelope(tuple(places.tolist()), panel.clock.n_instants)
        if n_odd := sum(engine.collect(engine.map(candidate.table, work, _ODD))["n"].to_pylist()):
            return f"{n_odd} series do not lie in their envelopes."
    return None


def _strangers(candidate: BlockCandidate) -> int:
    """How many published series are of no original, or have another subject than theirs."""
    engine = candidate.panel.engine
    of = OF if OF in candidate.table.schema.names else ID
    before = engine.map(candidate.panel.table, _Who(ID, 0), _WHO)
    after = engine.map(candidate.table, _Who(of, 1), _WHO)
    found = engine.together(engine.concat([before, after]), [ID], _CountStrangers(), _ODD, order=["side"])
    return int(sum(engine.collect(found)["n"].to_pylist()))


@dataclass(frozen=True)
class _Who:
    """The id of the original and the subject of each row."""

    name: str
    side: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            sides = pa.array(np.full(block.num_rows, self.side, dtype=np.int32))
            yield pa.record_batch([block.column(self.name), block.column(SUBJECT), sides], schema=_WHO)


@dataclass(frozen=True)
class _CountStrangers:
    """Of rows sorted by id, originals first: how many others have no original before them, or not its subject."""

    def __call__(self, blocks: Blocks) -> Blocks:
        n_odd = 0
        for rows in whole_keys(blocks, [ID], rows=_ROWS):
            starts = np.flatnonzero(starts_of_keys(rows, [ID]))
            first = np.repeat(starts, np.diff(np.append(starts, rows.num_rows)))
            sides, subjects = rows["side"].to_numpy(), rows[SUBJECT].combine_chunks()
            same = pc.equal(subjects, subjects.take(pa.array(first))).to_numpy(zero_copy_only=False)
            n_odd += int(((sides == 1) & ((sides[first] == 1) | ~same.astype(np.bool_))).sum())
        if n_odd:
            yield pa.record_batch([pa.array([n_odd], pa.int64())], schema=_ODD)


def _sum_up(engine: Engine, table: Table) -> tuple[int, int]:
    """How many rows there are, and a sum over them that is the same for the same ids, subjects and originals."""
    rows = engine.collect(engine.map(table, _SumUp(), _SUMS))
    return int(sum(rows["n"].to_pylist())), sum(rows["sum"].to_pylist()) % 2**64


@dataclass(frozen=True)
class _SumUp:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            columns = [pl.Series(pl.from_arrow(block.column(name))) for name in (ID, SUBJECT, ROW)]
            mixed = np.zeros(block.num_rows, dtype=np.uint64)
            for column in columns:
                mixed = (mixed ^ column.hash(seed=5).to_numpy()) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
            yield pa.record_batch(
                [pa.array([block.num_rows], pa.int64()), pa.array([mixed.sum(dtype=np.uint64).astype(np.int64)])],
                schema=_SUMS,
            )


@dataclass(frozen=True)
class _OutOfEnvelope:
    """Series that are somewhere outside of what is published of them."""

    places: tuple[int, ...]
    n_instants: int

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            values = unpack(block.column(ROW)).reshape(block.num_rows, self.n_instants)[:, list(self.places)]
            ends = unpack(block.column(PUBLISHED)).reshape(block.num_rows, len(self.places), 2)
            outside = ((values < ends[..., 0]) | (values > ends[..., 1])).any(axis=1)
            yield pa.record_batch([pa.array([int(outside.sum())], pa.int64())], schema=_ODD)
