"""Read events from anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError, ParameterError
from shoal.model import Events, Origin
from shoal.read.columns import find_column, find_default, parse_request
from shoal.read.durations import parse_duration
from shoal.read.missing import DropInstants, DropSeries, Fail, parse_missing
from shoal.read.series import Spellings, as_array, read_names, read_values
from shoal.read.sources import open_table
from shoal.read.subjects import tell_events
from shoal.read.tables import SourceTable, as_series, empty
from shoal.read.time_reader import TimeReader


def read_events(
    source: Any = None,
    *,
    sensitive: str,
    time: str | None = None,
    quasi: str | Sequence[str] = (),
    id: str | None = None,
    subject: str | None = None,
    every: str | int | None = None,
    missing: str | Mapping[str, Any] | Sequence[Any] = "fail",
    sql: str | None = None,
    timezone: str | None = None,
    sheet: str | None = None,
) -> Events:
    """Read events, one row each, from files, frames or a database.

    Parameters
    ----------
    source, sql
        As in `read_panel`, without arrays.
    time
        Column with the time; found automatically if called time or timestamp.
    sensitive, quasi, id
        Columns with the sensitive value, with quasi-identifiers, and with an identifier of the event. Columns that are
        not named are not read. In a CSV a column of plain numbers becomes numbers, any other stays text; empty is
        missing.
    subject
        Column with the person behind an event; they may have events in other snapshots too.
    every
        How long a snapshot is, such as "1d", "2h" or a number if times are integers: times are rounded down to a
        multiple of it, counted from 1970-01-01 00:00 UTC, or from 0. By default, events with the same time form a
        snapshot.
    missing
        What to do with rows without a time: "fail" refuses them, "drop-instants" and "drop-series" leave them out, and
        say how many. A missing time cannot be filled.
    timezone, sheet
        As in `read_panel`.

    Examples
    --------
    >>> table = pl.DataFrame({"time": [0, 0, 1], "age": [30, 41, 52], "result": ["no", "yes", "no"]})
    >>> read_events(table, sensitive="result", quasi=["age"])
    Events(3 events, 2 snapshots, 1 quasi-identifiers)
    """
    if not isinstance(sensitive, str) or not sensitive:
        raise ParameterError("sensitive: give the name of one column.")
    length = None if every is None else parse_duration(every, "every")
    drops = _drops_rows(missing)
    request = parse_request(id=id, time=time, value=None, subject=subject, quasi=quasi, sensitive=sensitive, other=())
    if isinstance(source, np.ndarray):
        raise InputError("Events cannot be read from an array: their columns need names. Give a frame or a file.")
    with open_table(source, sql, sheet) as table:
        clock_column = (
            find_column(table.names, request.time) if request.time else find_default(table.names, "time", request.names)
        )
        if clock_column is None:
            raise InputError(
                f"None of the {len(table.names)} columns of the table is called time or timestamp. Name it with time=."
            )
        rest = [find_column(table.names, name) for name in request.names if name != request.time]
        clock = TimeReader(clock_column.name, timezone)
        times: list[Any] = []
        parts: list[list[Any]] = [[] for _ in rest]
        n_dropped = 0
        for batch, *others in table.batches([clock_column.position, *(column.position for column in rest)]):
            if drops and (n_timeless := int(pc.sum(gone := _timeless(batch)).as_py() or 0)):
                n_dropped += n_timeless
                batch, *others = (part.filter(pc.invert(gone)) for part in (batch, *others))
            times.append(clock.read(batch))
            for part, other in zip(parts, others, strict=True):
                part.append(other)
        if clock.n_rows == 0 and n_dropped:
            raise InputError(f"None of {n_dropped} rows has a time in column {clock_column.name!r}.")
        if clock.n_rows == 0:
            raise empty()
        if clock.n_missing:
            raise InputError(
                f"{clock.n_missing} of {clock.n_rows} rows have no time in column {clock_column.name!r}. Complete "
                "them, or leave them out: --missing drop-instants."
            )
        clock.verify()
        spellings = Spellings(f"column {(id if subject is None else subject)!r}")
        instants = np.concatenate(times)
        if length is not None:
            instants = instants // (step := length.needs(clock=clock.on_clock, setting="every")) * step
        columns = {clock_column.name: _time_series(clock, instants)}
        for column, part in zip(rest, parts, strict=True):
            if column.name in (id, subject):
                part = [read_names(pa.chunked_array(part).combine_chunks(), spellings)]
            columns[column.name] = _plain_series(table, part)
        notes = (tell_events(clock.n_rows, subject=subject is not None), *spellings.notes())
        if n_dropped:
            notes += (f"{n_dropped} of {n_dropped + clock.n_rows} rows have no time and are left out",)
        if (values := columns[sensitive]).dtype == pl.String:
            read, told_of_values = read_values(values.to_arrow(), sensitive)
            columns[sensitive] = pl.Series(pl.from_arrow(read))
            notes += told_of_values
        origin = Origin(table.kind, table.sha256, clock.n_rows, notes=notes)
    return Events(
        pl.DataFrame(columns),
        time=clock_column.name,
        sensitive=sensitive,
        quasi=request.quasi,
        id=id,
        subject=subject,
        origin=origin,
    )


def _drops_rows(missing: Any) -> bool:
    """Whether rows without a time are left out; otherwise they are refused."""
    steps = parse_missing(missing)
    if any(not isinstance(step, Fail | DropSeries | DropInstants) for step in steps):
        raise ParameterError(
            "missing: a row without a time can be refused ('fail') or left out ('drop-instants'); nothing can fill it."
        )
    return any(not isinstance(step, Fail) for step in steps)


def _timeless(batch: Any) -> Any:
    """Which entries of a column of times are empty."""
    if pa.types.is_string(batch.type) or pa.types.is_large_string(batch.type):
        return pc.equal(pc.utf8_trim_whitespace(batch), "").fill_null(True)
    return pc.is_null(batch, nan_is_null=True)


def _time_series(clock: TimeReader, instants: Any) -> pl.Series:
    series = pl.Series(instants, dtype=pl.Int64)
    if not clock.on_clock:
        return series
    zone = clock.zone
    if zone is not None:
        # Polars knows zones by name only; a fixed offset is shown in UTC.
        name = "UTC" if zone.offset is not None else zone.name
        return series.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(name)
    datetimes = series.cast(pl.Datetime("us"))
    return datetimes.dt.date() if clock.n_date_only == clock.n_rows else datetimes


def _plain_series(table: SourceTable, parts: list[Any]) -> pl.Series:
    series = as_series(pa.chunked_array(parts))
    if not table.untyped:
        return series
    entries = series.replace("", None).to_list()
    typed = as_array(entries, untyped=True)
    if typed.dtype.kind == "f":
        integral = all(entry is None or "." not in entry for entry in entries)
        numbers = pl.Series(typed).fill_nan(None)
        return numbers.cast(pl.Int64) if integral else numbers
    return pl.Series(typed) if typed.dtype.kind == "i" else pl.Series(entries, dtype=pl.String)
