"""Read a panel from anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
import pyarrow as pa

from shoal.errors import InputError, ParameterError
from shoal.model import Origin, Panel, PanelReader, PanelShards, Roles
from shoal.model.frame_shape import FrameShape
from shoal.read.align import parse_rules
from shoal.read.calendar import parse_split, split_draft
from shoal.read.choice import choose, named_columns
from shoal.read.columns import Layout, Request, parse_layout, parse_request
from shoal.read.containers import open_any, stem_of
from shoal.read.draft import PanelDraft, gathered
from shoal.read.frame_shapes import find_shape, take_frame, unknown_shape
from shoal.read.intervals import handle_registers
from shoal.read.missing import Keep, Policy, handle_missing, parse_missing
from shoal.read.options import OPTIONS, given_options, option_text
from shoal.read.pivot import read_long
from shoal.read.recognition import Recognised, parse_writing, read_recognised
from shoal.read.subjects import tell_subjects, tell_totals
from shoal.read.wide import align_draft, read_wide
from shoal.read.zones import find_zone


@overload
def read_panel(source: Any = None, *, engine: None = None, **settings: Any) -> Panel: ...


@overload
def read_panel(
    source: Any = None, *, engine: PanelReader, shard_size: int | None = None, **settings: Any
) -> PanelShards: ...


def read_panel(  # type: ignore[misc]  # `settings` stands for the same words
    source: Any = None,
    *,
    id: str | None = None,
    time: str | None = None,
    value: str | Sequence[str] | None = None,
    subject: str | None = None,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    other: str | Sequence[str] = (),
    layout: str = "auto",
    missing: str | Mapping[str, Any] | Sequence[Any] = "fail",
    align: str | Mapping[str, Any] = "exact",
    duplicates: str = "fail",
    complete: float | str = 1.0,
    quantity: str | None = None,
    timezone: str | None = None,
    channel: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    dst: str = "infer",
    interval: str = "auto",
    null: str | Sequence[str] | None = None,
    register: str = "keep",
    split: str | None = None,
    every: str | None = None,
    sql: str | None = None,
    sheet: str | None = None,
    engine: PanelReader | None = None,
    shard_size: int | None = None,
) -> Panel | PanelShards:
    """Read series with common instants from files, frames, arrays or a database.

    Series come sorted by identifier (integers as numbers, everything else as text; CSV is all text), instants by time.
    Columns that are not named are never read into the panel. Nothing is filled, dropped or moved in time unless
    `missing` or `align` says so.

    Parameters
    ----------
    source
        A CSV, Parquet or Excel file, optionally zipped or gzipped, a folder or a pattern of one kind, local or at
        s3://, gs://, az:// or https://; the folder of a Delta or Iceberg table; a pandas, polars or pyarrow table or
        anything else with an Arrow stream; a numpy array (series, instants[, channels]); an xarray object with a
        dimension of time and one of series; or `postgresql://...` together with `sql`.
    id, time, value
        Names of columns. Found automatically if called id or series_id, time or timestamp, value, in any case. Several
        values are channels.
    subject
        Column with the person or household behind a series, needed if one has several. Found automatically if called
        subject.
    quasi, sensitive, other
        Columns with one entry per series: quasi-identifiers, sensitive values, and others worth keeping.
    layout
        "long": a row per series and instant. "wide": a row per series with a column per instant (timestamps, or else
        positions 0, 1, 2, ...), or a row per instant with a column per series. "auto": long if id, time and value are
        present, else wide by whichever of id and time is: with an id if the columns are named by timestamps or numbers,
        with a time if they look like one quantity of many subjects (names that differ in numbers only and name no
        sensor, readings of one scale). If neither an id nor the names decide, "wide" makes each column a subject,
        "long" makes all of them channels of one.
    missing
        "fail", "drop-series", "drop-instants", "interpolate:2h", "keep", or several in order such as
        "interpolate:2h,drop-series". Interpolation fills gaps up to that length between neighbours of the same series,
        never at its ends; if times are integers, the length is a number of instants. Values still missing after the
        last step are refused.
    align
        "exact": the times in the table, which must be evenly spaced. "resample:1h" or "resample:1h:sum": buckets from
        midnight, by mean, sum, first, last, min or max of their readings; by default, sum for energy and mean for the
        rest. A bucket that lacks readings is missing.
    duplicates
        Rows that differ for one series and instant: "fail", or take the "first" or "last" in the order of the table, or
        the "mean" of the different ones. Exact repeats collapse. Nothing is ever added up.
    complete
        With resample: the share of its readings that a bucket must have; with less, it is missing. Below 1, sums of
        incomplete buckets are scaled up. "any" accepts every bucket that has a reading, for tables without a step.
    quantity
        "energy" adds up, "power" and "other" average. Detected from the name of the value column and the unit in it.
    timezone
        Zone of times that have none, and the zone in which instants are shown. Otherwise, times without a zone count as
        local clock times.
    channel
        Column that says which quantity a row has, such as import and export. Detected if several rows have one series
        and time.
    decimal, time_format, null
        The decimal mark, the form of times as `strptime` writes it, and words that mean missing ("NA,Null,-"). By
        default, they are detected in the table.
    dst
        Which hour is meant if the clock shows one twice: "infer" by the order of rows within a series, or "first" or
        "second" if the order does not decide; "fail" refuses.
    interval
        Whether times are the "start" or the "end" of intervals; a panel has starts. "auto" decides by the table: two
        times in a row, the name of the column, or a first time that is one step after midnight.
    register
        "difference" takes what a meter's register counted from each of its readings to the next.
    split
        "day" or "week": each day or week of a series becomes a series of its own, of the same subject, with weekday,
        weekend and month as attributes; by the local clock. Days without the usual instants, such as those on which the
        clock changes, are left out. `missing` then judges the days.
    sql
        DuckDB SQL over files that it names, or over the source, called `input`; SQL of the database for
        `postgresql://`.
    sheet
        Name of the sheet of a workbook; by default the first with a table.
    engine
        Where to keep a panel too large for memory, such as `shoal.engines.Local()`: it is then read in shards.
    shard_size
        With an engine: about how many subjects a shard has, up to twice as many. By default, it follows from the data.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"id": ["a", "a", "b", "b"], "time": [0, 1, 0, 1], "value": [1.0, 2.0, 3.0, 4.0]})
    >>> read_panel(table)
    Panel(2 series, 2 instants, 2 subjects)
    """
    given = {name: setting for name, setting in locals().items() if name in OPTIONS}
    if isinstance(engine, str):
        raise ParameterError(f"engine is an engine, such as shoal.engines.Local(), not the word {engine!r}.")
    if engine is not None:
        return engine.read_panel(source, shard_size=shard_size, **given_options(given))
    if shard_size is not None:
        raise ParameterError("shard_size applies to a panel on an engine. Add engine=shoal.engines.Memory().")
    if every is not None:
        raise ParameterError("every applies to events and their snapshots. For series, give align='resample:1h'.")
    policies = parse_missing(missing)
    uneven = isinstance(policies[-1], Keep)
    rules = parse_rules(
        align=align, duplicates=duplicates, complete=complete, quantity=quantity, dst=dst, uneven=uneven
    )
    writing = parse_writing(
        decimal=decimal, time_format=time_format, interval=interval, null=null, channel=channel, register=register
    )
    shape = parse_layout(layout)
    parts = parse_split(split)
    request = parse_request(
        id=id, time=time, value=value, subject=subject, quasi=quasi, sensitive=sensitive, other=other
    )
    if timezone is not None:
        find_zone(timezone)
    # For the certificate. The SQL itself stays here: its conditions may quote identifiers.
    settings: dict[str, Any] = {"missing": option_text(missing), "timezone": timezone, "sql": sql is not None}
    settings |= {} if parts is None else {"split": parts}
    if isinstance(source, np.ndarray):
        draft = _from_array(source, request, timezone, sql)
        said = tell_subjects(None, draft.n_rows, *draft.shape)
        draft = handle_missing(split_draft(align_draft(draft, rules), parts), policies)
        settings |= rules.settings(None, draft.n_channels)
        found = FrameShape("numpy", types={"value": source.dtype})
        return draft.panel(Roles(), Origin("array", (), draft.n_rows, settings | draft.account, (said,), found))
    framed = take_frame(source, request, timezone)
    request, timezone = framed.request, framed.timezone
    if framed.columns_are_series and shape is Layout.AUTO and not writing.is_given:
        shape = Layout.WIDE
    with open_any(framed.source, sql, sheet) as table:
        if request.value is None and table.values:
            request = replace(request, value=table.values)
        way = choose(table, request, shape, writing, timezone, stem_of(source))
        understood: tuple[str, ...] = ()
        if isinstance(way, Recognised) and (named := named_columns(table, way, request)) is not None:
            by_name = choose(table, named, shape, writing, timezone, "")
            if not isinstance(by_name, Recognised):
                understood, way = way.notes(), by_name
        if isinstance(way, Recognised):
            plan, draft = read_recognised(way, request, rules)
            found = unknown_shape(source)
            settings |= way.settings()
            draft.notes = (*way.notes(), *draft.notes)
        else:
            plan = way
            read = read_long if plan.layout is Layout.LONG else read_wide
            draft = read(table, plan, rules, timezone)
            found = find_shape(source, table, plan, timezone)
            draft.notes = (*understood, *draft.notes)
        draft.count(**table.account())
    # Otherwise the memory that Arrow held for the tables would count on top of the panel.
    pa.default_memory_pool().release_unused()
    if draft.troubles:
        raise _all_troubles(draft, policies) from None
    draft = split_draft(handle_registers(draft, writing.register), parts)
    of = "row"
    if isinstance(way, Recognised):
        of = "column" if way.guess.series else "reading"
    notes = (tell_subjects(plan, draft.n_rows, *draft.shape, of=of), *draft.notes, *tell_totals(draft.ids))
    draft = handle_missing(draft, policies)
    settings |= rules.settings(draft.channels, draft.n_channels) | {"layout": plan.layout.value}
    if plan.layout is Layout.WIDE:
        settings.setdefault("shape", "column-per-series" if plan.id is None else "row-per-series")
    roles = plan.roles()
    unread = way.unread() if isinstance(way, Recognised) else plan.unread(table.names)
    origin = Origin(table.kind, table.sha256, draft.n_rows, settings | draft.account, notes, found, unread)
    return draft.panel(roles, origin)


def _all_troubles(draft: PanelDraft, policies: tuple[Policy, ...]) -> InputError:
    """The problems of a table, including gaps unless an earlier problem causes them."""
    troubles = list(draft.troubles)
    if not any("holds text" in str(trouble) or "evenly" in str(trouble) for trouble in troubles):
        try:
            handle_missing(draft, policies)
        except InputError as gaps:
            troubles.append(gaps)
    return gathered(troubles)


def _from_array(source: Any, request: Request, timezone: str | None, sql: str | None) -> PanelDraft:
    if request.names or timezone is not None or sql is not None:
        raise ParameterError("An array has no columns: omit id, time, value, the roles, timezone and sql.")
    if source.dtype.kind not in "biuf":
        raise InputError("The array holds something other than numbers. Convert it to float64 first.")
    # Filled, since otherwise the values that a masked array hides would be revealed.
    values = np.array(np.ma.filled(source.astype(np.float64), np.nan), order="C")
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise InputError(
            f"An array needs 2 dimensions (series, instants) or 3 (series, instants, channels), none of them empty; "
            f"this one has the shape {values.shape}."
        )
    if infinite := int(np.isinf(values).sum()):
        raise InputError(
            f"{infinite} of {values.size} values are infinite. Mark them as missing (NaN) or remove those series."
        )
    values[np.isnan(values)] = np.nan
    return PanelDraft(values=values, n_rows=len(values))
