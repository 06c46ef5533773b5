"""Wide tables on an engine: a row for each series with a column for each instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine
from shoal.engines.reading.first import count_series, look, refuse_numbers
from shoal.engines.reading.gaps import PanelInstants, totals
from shoal.engines.reading.long import (
    NameStatic,
    Read,
    name_schema,
    refuse_types,
    refuse_without_subject,
)
from shoal.engines.reading.segments import LongColumns, as_texts, numbers_of, static_name
from shoal.engines.reading.static import Entries, kept_as, one_entry_each
from shoal.engines.reading.summary import HELPERS, counted
from shoal.engines.rows import ID, ROW, SUBJECT, pack
from shoal.engines.work import Chain
from shoal.errors import InputError, ParameterError
from shoal.read.align import Resample, Rules
from shoal.read.cells import refuse_sparse
from shoal.read.columns import Placement
from shoal.read.draft import PanelDraft
from shoal.read.tables import plain
from shoal.read.wide import align_draft, name_instants
from shoal.read.zones import find_zone

_CELLS = 1 << 20


def read_wide(engine: Engine, path: str, plan: Placement, rules: Rules, timezone: str | None) -> Read:
    """Read a wide table; the names of its value columns are the instants."""
    if plan.id is None:
        raise ParameterError(
            "A table with a row per instant and a column per series cannot be read on an engine. Write it with a row "
            "per series or as a long table, or omit --engine."
        )
    values = tuple(column.name for column in plan.values)
    static = tuple(column.name for column in plan.static)
    table = engine.read(path, (plan.id.name, *values, *static))
    ids = engine.read(path, (plan.id.name,))
    refuse_types(table.schema, LongColumns(plan.id.name, "", values, static, timezone))
    first = look(engine, ids, plan.id.name, None, None, distinct=False)
    n_series = count_series(engine, ids, plan.id.name)
    if n_again := first.n_rows - n_series:
        raise InputError(
            f"{n_again} of {first.n_rows} rows repeat the id of another; a wide table has one row per series. Give a "
            "long table, or a unique id with the person as subject=."
        )
    # Pass a single row of positions through the code for panels in memory: it comes out in the order of time.
    pattern = PanelDraft(values=np.arange(len(values), dtype=np.float64)[None, :])
    name_instants(pattern, list(values), timezone, guessed=plan.guessed)
    order = pattern.values[0].astype(np.int64)
    named = PanelDraft(values=pattern.values, times=pattern.times, on_clock=pattern.on_clock, timezone=pattern.timezone)
    aligned = align_draft(named, rules)
    n_instants = aligned.values.shape[1]
    refuse_sparse(n_series, n_instants, n_series * len(values))
    kinds = tuple(kept_as(table.schema.field(name).type, name) for name in static)
    schema = pa.schema(
        [(ID, pa.string()), (ROW, pa.binary()), *((static_name(i), kind) for i, kind in enumerate(kinds)), *HELPERS]
    )
    has_subject = plan.subject is not None
    final = name_schema(static, kinds, has_subject=has_subject)
    rows = _Rows(plan.id.name, values, static, order, pattern.times, pattern.on_clock, pattern.timezone, rules, schema)
    series = engine.keep(engine.map(table, Chain((rows, NameStatic(static, has_subject, final))), final))
    counts = totals(engine, series, len(kinds), SUBJECT if has_subject else None)
    if counts.infinite:
        # In other wide tables, column names may be identifiers; so columns are named by number here as well.
        labels = tuple(f"Column number {column.position + 1}, counted from 1," for column in plan.values)
        refuse_numbers(engine, table, values, labels)
    refuse_without_subject(plan, counts)
    instants = PanelInstants(aligned.times, n_instants, 1, pattern.on_clock)
    zone = None if pattern.timezone is None else find_zone(pattern.timezone)
    return Read(series, instants, counts, first.n_rows, zone=zone)


@dataclass(frozen=True)
class _Rows:
    """Rows of numbers, in the order of time."""

    id: str
    values: tuple[str, ...]
    static: tuple[str, ...]
    order: NDArray[np.int64]
    times: NDArray[np.int64] | None
    on_clock: bool
    timezone: str | None
    rules: Rules
    schema: pa.Schema

    def __call__(self, blocks: Blocks) -> Blocks:
        at_once = max(1, _CELLS // len(self.values))
        for block in blocks:
            for start in range(0, block.num_rows, at_once):
                yield self._rows(block.slice(start, at_once))

    def _rows(self, block: pa.RecordBatch) -> pa.RecordBatch:
        values = np.empty((block.num_rows, len(self.values)))
        for place, column in enumerate(self.order):
            values[:, place] = numbers_of(block, self.values[column])
        infinite = np.isinf(values).sum(axis=1)
        done: dict[str, NDArray[np.int64]] = {}
        if isinstance(self.rules.align, Resample):
            draft = PanelDraft(values=values, times=self.times, on_clock=self.on_clock, timezone=self.timezone)
            draft = align_draft(draft, self.rules)
            values = draft.values
            # Assign the counts of a block to its first series: only their sum is used.
            done = {name: n * (np.arange(len(values)) == 0) for name, n in draft.account.items()}
        starts = np.arange(block.num_rows)
        entries = [plain([block.column(name)])[0] for name in self.static]
        static = [
            one_entry_each(Entries.of(array, self.schema.field(static_name(i)).type), starts)[0]
            for i, array in enumerate(entries)
        ]
        return pa.record_batch(
            [
                as_texts(block.column(self.id), self.id),
                pack(values.reshape(block.num_rows, -1)),
                *static,
                *counted(values.reshape(block.num_rows, -1), 1, infinite=infinite, **done),
            ],
            schema=self.schema,
        )
