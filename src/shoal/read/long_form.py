"""A table of any layout as long rows with settled names and instants, for engines to assemble into series.

What a table is, where its intervals begin and which of two autumn hours is meant depends on the order of its rows and
on all of them. That is settled here, batch by batch; the result is a plain long table: one row per series and instant,
names in one spelling, instants in UTC or local clock time, readings as numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.read.align import Resample, parse_rules
from shoal.read.choice import choose
from shoal.read.columns import Layout, Placement, parse_layout, parse_request
from shoal.read.containers import open_any, stem_of
from shoal.read.draft import PanelDraft, gathered
from shoal.read.intervals import settle_interval
from shoal.read.pivot import LongRows, attach_static, settle_rows, static_columns
from shoal.read.recognition import Recognised, parse_writing
from shoal.read.repeats import Duplicates
from shoal.read.tables import SourceTable
from shoal.read.zones import offset_name

COLUMNS = ("id", "time", "value", "subject", "quasi", "sensitive", "other")
WRITING = ("decimal", "time_format", "interval", "null", "channel", "register")


@dataclass(eq=False)
class LongForm:
    """The rows, and what the account of reading says beyond what engines find in them."""

    plan: Placement
    rows: LongRows
    static: PanelDraft
    way: Placement | Recognised
    source: SourceTable
    ends: bool
    """Whether times are still ends of intervals."""

    @property
    def zone(self) -> str | None:
        """The zone of the instants, as engines receive it."""
        return None if self.rows.clock.zone is None else self.rows.clock.zone.name

    @property
    def shown_zone(self) -> str | None:
        """The zone in which the panel shows its instants."""
        if isinstance(self.way, Recognised):
            table = self.way.table
            if table.aware and self.way.zone is None and len(table.offsets) == 1:
                return offset_name(next(iter(table.offsets)))
        return self.zone

    @property
    def schema(self) -> pa.Schema:
        """Columns of the rows, under the names they have in messages."""
        plan, clock = self.plan, self.rows.clock
        assert plan.id is not None
        assert plan.time is not None
        time = pa.timestamp("us", None if clock.zone is None else "UTC") if clock.on_clock else pa.int64()
        fields = [(plan.id.name, pa.string()), (plan.time.name, time), *((c.name, pa.float64()) for c in plan.values)]
        return pa.schema([*fields, *((name, column.type) for name, column in self._static.items())])

    @property
    def _static(self) -> dict[str, pa.Array]:
        found: dict[str, Any] = {name: list(column) for name, column in self.static.attributes.items()}
        found |= {name: list(column) for name, column in self.static.sensitive.items()}
        if self.plan.subject is not None:
            found[self.plan.subject.name] = [None if s is None else str(s) for s in self.static.subjects or ()]
        plain = {
            name: [e.item() if isinstance(e, np.generic) else e for e in entries] for name, entries in found.items()
        }
        return {name: pa.array(entries, from_pandas=True) for name, entries in plain.items()}

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, batch by batch; raises their problems at the end."""
        schema, static = self.schema, self._static
        names = pa.array(self.rows.ids.texts(), pa.string())
        for series, instants, readings in self.rows.read():
            places = pa.array(series)
            time = pa.array(instants).cast(schema.field(1).type)
            yield pa.record_batch(
                [names.take(places), time, *map(pa.array, readings), *(c.take(places) for c in static.values())],
                schema=schema,
            )
        troubles = self.rows.troubles
        if isinstance(self.way, Recognised):
            troubles = [*self.way.table.verify(), *troubles]
        if troubles:
            raise gathered(troubles)

    def settings(self) -> dict[str, Any]:
        """What was understood, for the account."""
        return self.way.settings() if isinstance(self.way, Recognised) else {}

    def unread(self) -> tuple[str, ...]:
        """Columns that nobody asked for."""
        return self.way.unread() if isinstance(self.way, Recognised) else self.plan.unread(self.source.names)

    def notes(self) -> tuple[str, ...]:
        """Notes to the publisher; complete when all rows were read."""
        understood = self.way.notes() if isinstance(self.way, Recognised) else ()
        return (*understood, *self.rows.ids.spellings.notes(), *self.static.notes)

    def account(self) -> dict[str, int]:
        """What was left out or filled on the way; complete when all rows were read."""
        n = self.way.table.n_not_readings if isinstance(self.way, Recognised) else 0
        return {name: count for name, count in {"not_readings": n, **self.source.account()}.items() if count}


@contextmanager
def open_long_form(source: Any, settings: Mapping[str, Any]) -> Iterator[LongForm | None]:
    """The long form of files, a query or a lake; None if `read_panel` needs the table in memory.

    That is the case for frames, for a column per series, for channels in rows or blocks of columns, and for `split`,
    `register` and duplicates that depend on the order of rows.
    """
    given = {name: settings.get(name) for name in WRITING}
    register = given["register"] or "keep"
    rules = parse_rules(
        align=settings.get("align", "exact"),
        duplicates=settings.get("duplicates", "fail"),
        complete=settings.get("complete", 1.0),
        quantity=settings.get("quantity"),
        dst=settings.get("dst", "infer"),
        uneven=True,
    )
    by_order = rules.duplicates in (Duplicates.FIRST, Duplicates.LAST)
    is_place = source is None or isinstance(source, str | os.PathLike)
    if not is_place or by_order or register == "difference" or settings.get("split") is not None:
        yield None
        return
    writing = parse_writing(**given | {"interval": given["interval"] or "auto", "register": register})
    request = parse_request(**{name: settings.get(name, ()) or None for name in COLUMNS})
    shape, timezone = parse_layout(settings.get("layout", "auto")), settings.get("timezone")
    with open_any(source, settings.get("sql"), settings.get("sheet")) as table:
        way = choose(table, request, shape, writing, timezone, stem_of(source))
        rows_of, plan, ends, zone = table, way, False, timezone
        if isinstance(way, Recognised):
            rows_of, plan, zone = way.table, way.plan(request), way.zone
            settle_interval(way.table, zone)
            ends = way.table.ends
            if ends and isinstance(rules.align, Resample):
                way.table.shift, ends = 1, False  # an end belongs to the bucket before it
        assert isinstance(plan, Placement)
        if not _fits(plan, way):
            yield None
            return
        rows, _ = settle_rows(rows_of, plan, rules, zone)
        static = _static(rows_of, plan, rows)
        yield LongForm(plan, rows, static, way, table, ends)


def _fits(plan: Placement, way: Placement | Recognised) -> bool:
    """Whether the table has only series, instant and readings in columns of their own."""
    if plan.layout is not Layout.LONG or (isinstance(way, Recognised) and way.table.coded):
        return False
    names = [column.name for column in (plan.id, plan.time, *plan.values, *plan.static) if column is not None]
    return len({name.casefold() for name in names}) == len(names) and all(names)


def _static(table: SourceTable, plan: Placement, rows: LongRows) -> PanelDraft:
    """Columns with one entry per series, read first: their type shows only in all of them."""
    draft = PanelDraft(values=np.empty((rows.ids.n_series, 0)))
    if plan.static:
        assert plan.id is not None
        columns = static_columns(plan, rows.ids.n_series, untyped=table.untyped)
        for id_batch, *rest in table.batches([column.position for column in (plan.id, *plan.static)]):
            series = rows.ids.positions(id_batch)
            for column, batch in zip(columns, rest, strict=True):
                column.add(series, batch)
        for column in columns:
            column.verify()
        attach_static(draft, plan, columns)
    return draft
