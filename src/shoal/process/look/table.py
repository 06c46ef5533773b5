"""From a table to a look at it: understand a sample, count all of it in one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shoal.process.look.count import BySeries, ByTime, LongSource, MeterSource, count
from shoal.process.look.result import Look
from shoal.read.canonical import Canonical
from shoal.read.choice import choose
from shoal.read.columns import Column, Layout, Placement, Request, parse_layout, parse_request
from shoal.read.containers import open_any, stem_of
from shoal.read.definitions import DefinedTable
from shoal.read.numbers import MISSING_WORDS
from shoal.read.recognition import Recognised, parse_writing, recognise
from shoal.read.tables import SourceTable
from shoal.read.time_reader import TimeReader
from shoal.read.understanding import ClockGuess, ColumnGuess, Part, TableShape, Understanding

_WRITING = {"decimal": None, "time_format": None, "interval": "auto", "null": None, "channel": None, "register": "keep"}
_COLUMNS = ("id", "time", "value", "subject", "quasi", "sensitive", "other")
_READINGS = (Part.ID, Part.TIME, Part.END, Part.SLOT, Part.VALUE, Part.CHANNEL)


def look(source: Any = None, **settings: Any) -> Look:
    """Describe a table completely, without changing it.

    Layout, columns and formats are recognised as in `read_panel`; then all rows are counted in one pass, in bounded
    memory. The result holds no reading and no identifier.

    Parameters
    ----------
    source
        Whatever `read_panel` reads.
    **settings
        Settings of `read_panel` that say what the table is, such as `id`, `time`, `value`, `layout` or `decimal`.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"id": ["a", "a", "b", "b"], "time": [0, 1, 0, 1], "value": [1.0, 2.0, 3.0, 4.0]})
    >>> look(table).settings
    {'id': 'id', 'time': 'time', 'value': ['value']}
    """
    request = parse_request(**{name: settings.get(name) or _none(name) for name in _COLUMNS})
    writing = parse_writing(**{name: settings.get(name, usual) for name, usual in _WRITING.items()})
    layout, timezone = parse_layout(settings.get("layout", "auto")), settings.get("timezone")
    with open_any(source, settings.get("sql"), settings.get("sheet")) as table:
        if request.value is None and table.values:
            request = replace(request, value=table.values)
        way = choose(table, request, layout, writing, timezone, stem_of(source))
        if isinstance(way, Recognised):
            understanding, rows = _recognised(way, request)
        else:
            # The names of a wide table say it all, and hundreds of columns would take long.
            seen = recognise(table, request, writing, timezone, "series") if way.layout is Layout.LONG else None
            understanding, rows = _planned(table, way, seen)
        found = count(rows, understanding)
    if request.id is None and (finer := found.finer) is not None:
        # What the sample took for meters are people with several meters.
        return look(source, **(settings | {"id": finer.name}))
    return Look(source if isinstance(source, str) else None, found, _said(settings))


def _none(name: str) -> Any:
    return () if name in ("quasi", "sensitive", "other") else None


def _said(settings: dict[str, Any]) -> dict[str, Any]:
    """What the caller said about the table, for the command."""
    usual = _WRITING | {"layout": "auto"}
    names = ("subject", "layout", *_WRITING, "timezone", "sql", "sheet")
    return {name: settings[name] for name in names if settings.get(name) not in (None, (), usual.get(name))}


def _recognised(way: Recognised, request: Request) -> tuple[Understanding, MeterSource]:
    """Rows of the canonical form, with further columns."""
    understanding, plan = way.understanding(), way.plan(request)
    assert plan.time is not None
    by_time = way.guess.shape is TableShape.COLUMN_PER_SERIES
    further = [] if by_time else [c for c in understanding.columns if c.role not in _READINGS]
    static = [column.position for column in further]
    table = Canonical(way.source, way.guess, zone=way.zone, only_id="series", static=static)
    first = 2 + len(plan.values)
    columns = [Column(column.name, first + place) for place, column in enumerate(further)]
    rows = LongSource(table, plan, TimeReader(plan.time.name, None), columns, nameable=_is_nameable(way))
    return understanding, rows


def _is_nameable(way: Recognised) -> bool:
    """Whether there is one id and one time column and the rest are readings, so that names say as much as the
    entries."""
    guess, names = way.guess, way.source.names
    if isinstance(way.source, DefinedTable) or guess.shape is not TableShape.LONG or guess.id is None or guess.channel:
        return False
    if len(guess.time.keys) != 1 or guess.time.stamp is None or guess.time.end is not None:
        return False
    if guess.id == getattr(way.source, "file_column", None) or not {*guess.numbers.nulls} <= {*MISSING_WORDS}:
        return False
    used = [names[place] for place in (guess.id, guess.time.stamp, *guess.values)]
    return all(used) and all(names.count(name) == 1 for name in used)


def _planned(table: SourceTable, plan: Placement, seen: Recognised | None) -> tuple[Understanding, MeterSource]:
    """Rows of a table that is read by the names of its columns."""
    used = {column.position for column in (plan.id, plan.time, *plan.values) if column is not None}
    further = [Column(name, place) for place, name in enumerate(table.names) if place not in used and name]
    clock = TimeReader("time" if plan.time is None else plan.time.name, None)
    understanding = _understanding(plan, further, seen)
    if plan.layout is Layout.LONG:
        return understanding, LongSource(table, plan, clock, further)
    if plan.time is not None:
        return understanding, ByTime(table, plan, clock)
    return understanding, BySeries(table, plan, clock, further)


def _understanding(plan: Placement, further: list[Column], seen: Recognised | None) -> Understanding:
    """What the names say, and what else was seen."""
    long = plan.layout is Layout.LONG
    shape = (
        TableShape.LONG if long else TableShape.ROW_PER_SERIES if plan.time is None else TableShape.COLUMN_PER_SERIES
    )
    parts = [(plan.id, Part.ID), (plan.time, Part.TIME)]
    parts += [(column, Part.VALUE) for column in plan.values] if long else []
    parts += [(plan.subject, Part.SUBJECT)]
    named = {c.name: ColumnGuess(c.name, c.position, part, "its name") for c, part in parts if c is not None}
    known = seen.understanding() if seen is not None else None
    evidence = {} if known is None else {column.name: column for column in known.columns}
    columns = [
        evidence[name] if name in evidence and evidence[name].role is guess.role else guess
        for name, guess in named.items()
    ]
    columns += [
        evidence.get(column.name) or ColumnGuess(column.name, column.position, Part.OTHER, "not used for readings")
        for column in further
        if column.name not in named
    ]
    clock = ClockGuess("", None, "", None, "printed", "nothing says whether they start or end an interval")
    blank = Understanding(shape, (), len(plan.values), clock)
    return replace(
        known or blank,
        shape=shape,
        columns=tuple(sorted(columns, key=lambda column: column.position)),
        n_value_columns=len(plan.values),
        channels=tuple(column.name for column in plan.values) if long and len(plan.values) > 1 else (),
    )
