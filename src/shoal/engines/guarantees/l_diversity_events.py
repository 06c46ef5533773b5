"""l-diversity of published events in blocks, exactly.

Snapshots have nothing to do with each other, so that all rows of a time are brought together, and what is there is
counted by the code that counts in memory. The events of one snapshot must fit into a worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import polars as pl
import pyarrow as pa

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.kp.words import ROWS_AT_ONCE
from shoal.engines.work import whole_keys
from shoal.guarantees import LDiversity
from shoal.guarantees.event_groups import event_groups
from shoal.model import EventTables, Verdict
from shoal.model.event_tables import COUNT, GROUP, TIME

_IS_RECORD = "is_record"
_DIGITS = 10_000  # as in memory: cut to four decimals, never rounded up

_FOUND = pa.schema([(name, pa.int64()) for name in ("size", "most", "too_many", "odd")])
_MISSING = pa.schema([("missing", pa.int64())])


@dataclass(frozen=True, eq=False, repr=False)
class BlockEvents:
    """Published events in blocks: what `EventTables` are in memory.

    Parameters
    ----------
    engine
        Where they lie.
    records
        Bucketised: `time`, `group` and the quasi-identifiers. Generalised: `time` first, the sensitive column last.
    counts
        `time`, `group`, the sensitive column and `count`; None where events are generalised.
    sensitive
        Name of the sensitive column.
    """

    engine: Engine
    records: Table
    counts: Table | None
    sensitive: str


def check_events(guarantee: LDiversity, events: BlockEvents) -> Verdict:
    """The verdict that `LDiversity.check` gives of the same tables, without a witness."""
    engine, l = events.engine, int(guarantee.l)
    tables = [events.records] if events.counts is None else [events.records, events.counts]
    for table in tables:
        without = engine.collect(engine.map(table, _NoTime(), _MISSING))
        if sum(without["missing"].to_pylist()):
            return Verdict("does not hold", 0.0, l, None, "times are missing")
    if events.counts is None:
        rows, schema = events.records, events.records.schema
    else:
        kinds = [[table.schema.field(name).type for name in (TIME, GROUP)] for table in tables]
        if kinds[0] != kinds[1]:
            return Verdict(
                "does not hold", 0.0, l, None, "records and counts have times or group numbers of different types"
            )
        columns = [*(events.counts.schema.field(name) for name in (TIME, GROUP, events.sensitive, COUNT))]
        schema = pa.schema([*columns, (_IS_RECORD, pa.bool_())])
        rows = engine.concat([engine.map(table, _Marked(table is events.records, schema), schema) for table in tables])
    work = WorstGroups(events.sensitive, l, events.counts is not None)
    found = engine.collect(engine.together(rows, [TIME], work, _FOUND)).to_pylist()
    if not found:
        return Verdict("does not hold", 0.0, l, None, "no event is published")
    least = min(Fraction(row["size"], row["most"]) for row in found)
    n_odd, too_many = (sum(row[name] for row in found) for name in ("odd", "too_many"))
    measured = int(least * _DIGITS) / _DIGITS
    if not too_many:
        return Verdict("holds", measured, l, None, "size of a group over its most frequent value, at the least")
    note = f"one sensitive value has too large a share of a group; so in {too_many} groups"
    if n_odd:
        note = f"what is published of {n_odd} group{'s' * (n_odd != 1)} does not fit together"
    return Verdict("does not hold", measured, l, None, note)


@dataclass(frozen=True)
class WorstGroups:
    """Of stretches of whole snapshots: the group where one value has the largest share."""

    sensitive: str
    l: int
    bucketised: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        """One row for each stretch."""
        for table in whole_keys(blocks, [TIME], rows=ROWS_AT_ONCE):
            groups = event_groups(self._tables(table))
            least = int((groups.sizes / groups.largest).argmin())
            too_many = int((groups.largest * self.l > groups.sizes).sum())
            entry = (int(groups.sizes[least]), int(groups.largest[least]), too_many, int((groups.sizes == 0).sum()))
            yield pa.RecordBatch.from_pylist([dict(zip(_FOUND.names, entry, strict=True))], schema=_FOUND)

    def _tables(self, table: pa.Table) -> EventTables:
        frame = pl.DataFrame(pl.from_arrow(table))
        if not self.bucketised:
            quasi = tuple(name for name in frame.columns if name not in (TIME, self.sensitive))
            return EventTables(frame.select(TIME, *quasi, self.sensitive), None, quasi, self.sensitive)
        records = frame.filter(pl.col(_IS_RECORD)).select(TIME, GROUP)
        counts = frame.filter(~pl.col(_IS_RECORD)).select(TIME, GROUP, self.sensitive, COUNT)
        return EventTables(records, counts, (), self.sensitive)


@dataclass(frozen=True)
class _Marked:
    """Records and counts as rows of one table; quasi-identifiers play no part."""

    is_record: bool
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            n = block.num_rows
            columns = [
                block.column(field.name) if field.name in block.schema.names else pa.nulls(n, field.type)
                for field in list(self.schema)[:-1]
            ]
            yield pa.RecordBatch.from_arrays([*columns, pa.array([self.is_record] * n)], schema=self.schema)


@dataclass(frozen=True)
class _NoTime:
    def __call__(self, blocks: Blocks) -> Blocks:
        n = sum(block.column(TIME).null_count for block in blocks)
        yield pa.RecordBatch.from_arrays([pa.array([n])], schema=_MISSING)
