"""Panels read from any source into series on an engine.

The panel is the one that `shoal.read_panel` makes from the same source, with the same settings and the same refusals.
There are two differences: ids are texts and have no order, and a message about a single row cannot say which row is the
first.

Parquet whose names and types say what it holds is read in place: only counts, instants and samples reach the driver.
Any other table that can be read in batches is first written as such Parquet, in a scratch folder. Everything else is
read into the driver's memory and spread from there.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine
from shoal.engines.local import parquet_files, refuse_other_columns
from shoal.engines.reading.first import refuse_respelt
from shoal.engines.reading.gaps import handle_gaps
from shoal.engines.reading.key_counts import count_distinct
from shoal.engines.reading.long import Read, read_long
from shoal.engines.reading.segments import LongColumns, count_steps
from shoal.engines.reading.summary import LARGEST
from shoal.engines.reading.wide import read_wide
from shoal.engines.rows import SERIES, SUBJECT
from shoal.engines.series import RESERVED, SeriesTable, in_shards
from shoal.engines.work import Columns
from shoal.errors import InputError, ParameterError
from shoal.model import Origin, PanelShards, Whole
from shoal.read import read_panel
from shoal.read.align import Rules, parse_rules
from shoal.read.choice import choose
from shoal.read.columns import Layout, Placement, parse_layout, parse_request, place_columns
from shoal.read.files import ParquetTable, digest, find_files
from shoal.read.intervals import find_steps, tell_growing
from shoal.read.lake import is_lake
from shoal.read.long_form import COLUMNS, LongForm, open_long_form
from shoal.read.missing import Keep, Policy, parse_missing
from shoal.read.options import OPTIONS, option_text
from shoal.read.recognition import Recognised, Writing
from shoal.read.remote_files import is_address, is_store
from shoal.read.repeats import Duplicates
from shoal.read.source_files import shown
from shoal.read.subjects import tell_subjects
from shoal.read.zones import find_zone

_ROWS = 4_000_000
"""Rows of a scratch file: enough to keep a core busy for some seconds."""

_CHEAP = 64 * 2**30
"""Largest input, in bytes, that is worth reading again for its digest."""


def read_source(engine: Engine, source: Any, shard_size: int | None, **settings: Any) -> PanelShards:
    """Read series over common instants from anything, in shards."""
    if _is_readable(source, settings):
        return PanelShards.of(read_series(engine, source, **settings), shard_size)
    settings.pop("digests", None)
    if (folder := engine.scratch()) is not None:
        with open_long_form(source, settings) as form:
            if form is not None and (series := _read_form(engine, form, folder, settings)) is not None:
                return PanelShards.of(series, shard_size)
    return in_shards(read_panel(source, **settings), engine, size=shard_size)


def _is_readable(source: Any, settings: Mapping[str, Any]) -> bool:
    """Whether the engine can read a source in place: Parquet whose names and types say what it holds."""
    if settings.get("sql") is not None or not isinstance(source, str | os.PathLike):
        return False
    place = os.fspath(source)
    if not Path(place).exists() and not is_store(place):
        # Only Spark knows other addresses. Files from the web are fetched; the reader refuses a path that does not
        # exist.
        return "://" in place and not is_address(place)
    if is_lake(place):
        return False
    kind, files = find_files(place)
    packed = any((file.path or file.address) is None for file in files)
    if kind != "parquet" or packed or any(name in settings for name in OPTIONS if not OPTIONS[name].on_engines):
        return False
    request = parse_request(**{name: settings.get(name, ()) or None for name in COLUMNS})
    shape = parse_layout(settings.get("layout", "auto"))
    try:
        way = choose(ParquetTable(shown(place), files, ()), request, shape, Writing(), settings.get("timezone"), "")
    except (InputError, ParameterError):
        return True  # reading it on the engine says why not
    return isinstance(way, Placement) and way.id is not None


def _read_form(engine: Engine, form: LongForm, folder: Path, settings: Mapping[str, Any]) -> SeriesTable | None:
    """Write the rows as Parquet, and read them on the engine; None if interval ends have several steps."""
    options = {name: settings[name] for name in ("align", "duplicates", "complete", "quantity") if name in settings}
    policies = parse_missing(settings.get("missing", "fail"))
    rules = parse_rules(
        **{"align": "exact", "duplicates": "fail", "complete": 1.0, "quantity": None} | options,
        uneven=isinstance(policies[-1], Keep),
    )
    _refuse_names(form.plan)
    _write(form, folder)
    place = str(folder)
    read: Read | None = read_long(engine, place, form.plan, rules, form.zone)
    if form.ends and read is not None:
        read = _from_starts(engine, place, form, read)
    if read is None:
        return None
    base = {
        "missing": option_text(settings.get("missing", "fail")),
        "timezone": settings.get("timezone"),
        "sql": settings.get("sql") is not None,
    }
    of = "reading" if isinstance(form.way, Recognised) else "row"
    series = _finish(engine, read, form.plan, rules, policies, base | form.settings(), of=of)
    origin = _origin(series)
    subjects, *growing = origin.notes
    origin = replace(
        origin,
        kind=form.source.kind,
        sha256=form.source.sha256,
        reading={**origin.reading, **form.account()},
        notes=(subjects, *form.notes(), *growing),
        unread=form.unread(),
    )
    return _with_origin(replace(series, whole=replace(series.whole, timezone=form.shown_zone)), origin)


def _write(form: LongForm, folder: Path) -> None:
    """Write files of some million rows each, so that there are parts to distribute."""
    schema, batches = form.schema, form.batches()
    for number in itertools.count():
        n_rows = 0
        for batch in batches:
            if not n_rows:
                writer = pq.ParquetWriter(folder / f"{number:05}.parquet", schema, compression="lz4")
            writer.write_batch(batch)
            n_rows += batch.num_rows
            if n_rows >= _ROWS:
                break
        if not n_rows:
            return
        writer.close()


def _from_starts(engine: Engine, place: str, form: LongForm, read: Read) -> Read | None:
    """Times as starts of intervals, if all series have the same step; None if there are several steps."""
    times = read.instants.times
    if times is None or len(times) < 2:
        return read
    columns = LongColumns(form.schema.names[0], form.schema.names[1], (), (), form.zone)
    keys = engine.read(place, (columns.id, columns.time))
    counts = count_steps(engine, keys, columns, 1).counts["difference"]
    steps = np.diff(times)[:1]
    if counts:
        lengths = np.array(sorted(counts), dtype=np.int64)
        steps = find_steps(lengths, np.array([counts[length] for length in lengths.tolist()], dtype=np.int64))
    if len(steps) > 1:
        return None
    return replace(read, instants=replace(read.instants, times=times - steps[0]))


def read_series(
    engine: Engine,
    path: str | os.PathLike[str],
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
    digests: bool | None = None,
) -> SeriesTable:
    """Read series over common instants from Parquet, without bringing them to one place.

    Parameters
    ----------
    engine
        Where the series are stored.
    path
        A Parquet file or a folder of them: a path that driver and workers share, or any address Spark can read.
    id, time, value, subject, quasi, sensitive, other, layout, missing, align, duplicates, complete, quantity, timezone
        As for `shoal.read_panel`, but rows have no order here: there is no first or last duplicate. A wide table must
        have a row for each series. Times with a zone that are not read from a path on this machine are shown in UTC,
        unless `timezone` says otherwise: Spark does not report the original zone.
    digests
        Whether the SHA-256 of the input files goes into the certificate. It takes another pass over the files, and is
        not possible for an address. By default, it does for files of up to 64 GiB in total.
    """
    policies = parse_missing(missing)
    uneven = isinstance(policies[-1], Keep)
    rules = parse_rules(align=align, duplicates=duplicates, complete=complete, quantity=quantity, uneven=uneven)
    if rules.duplicates in (Duplicates.FIRST, Duplicates.LAST):
        raise ParameterError(
            f"duplicates='{rules.duplicates}' depends on the order of rows, which an engine does not keep. Give "
            "duplicates='mean', remove the rows first, or omit --engine."
        )
    shape = parse_layout(layout)
    request = parse_request(
        id=id, time=time, value=value, subject=subject, quasi=quasi, sensitive=sensitive, other=other
    )
    if timezone is not None:
        find_zone(timezone)
    settings = {"missing": option_text(missing), "timezone": timezone, "sql": False}
    place = os.fspath(path)
    names = engine.read(place).schema.names
    plan = place_columns(names, request, shape)
    _refuse_names(plan)
    _refuse_other_columns(place)
    if plan.subject is not None:
        refuse_respelt(engine, engine.read(place, (plan.subject.name,)), plan.subject.name)
    read = (read_long if plan.layout is Layout.LONG else read_wide)(engine, place, plan, rules, timezone)
    series = _finish(engine, read, plan, rules, policies, settings)
    files = tuple(_digests(engine, place, digests))
    return _with_origin(series, replace(_origin(series), sha256=files, unread=plan.unread(names)))


def _origin(series: SeriesTable) -> Origin:
    assert series.whole.origin is not None
    return series.whole.origin


def _with_origin(series: SeriesTable, origin: Origin) -> SeriesTable:
    return replace(series, whole=replace(series.whole, origin=origin))


def _finish(
    engine: Engine,
    read: Read,
    plan: Placement,
    rules: Rules,
    policies: tuple[Policy, ...],
    settings: dict[str, Any],
    *,
    of: str = "row",
) -> SeriesTable:
    """Handle gaps, and record what all series have in common."""
    n_series = read.totals.n_series
    n_subjects = n_series if plan.subject is None else count_distinct(engine, read.table, SUBJECT)
    notes = (
        tell_subjects(plan, read.n_rows, n_series, n_subjects, read.instants.n_channels, of=of),
        *tell_growing(read.totals.long, read.totals.growing),
    )
    table, instants, counts, account = handle_gaps(engine, read.table, read.instants, policies, read.totals)
    if counts.large:
        raise InputError(
            f"{counts.large} of {counts.n_series * instants.n_instants * instants.n_channels} values are larger than "
            f"{LARGEST:g} in size; their squares would overflow. Change the unit or remove those series."
        )
    settings |= rules.settings(read.channels, instants.n_channels)
    attributes = tuple(column.name for column in (*plan.quasi, *plan.other))
    hidden = tuple(column.name for column in plan.sensitive)
    schema = pa.schema([*SERIES, *(table.schema.field(name) for name in (*attributes, *hidden))])
    panel = engine.map(table, Columns(tuple(schema.names)), schema)
    times: NDArray[Any] = np.arange(instants.n_instants) if instants.times is None else instants.times
    whole = Whole(
        n_series=counts.n_series,
        n_subjects=counts.n_series if plan.subject is None else count_distinct(engine, panel, SUBJECT),
        n_missing=counts.missing,
        times=times.view("datetime64[us]") if instants.on_clock else times.astype(np.int64),
        channels=("value",) if read.channels is None else read.channels,
        timezone=None if read.zone is None else read.zone.name,
        attributes=attributes,
        sensitive=hidden,
        origin=Origin("file", (), read.n_rows, settings | _layout(plan) | account, notes),
        roles=plan.roles(),
    )
    return SeriesTable(engine, panel, whole)


def _layout(plan: Placement) -> dict[str, str]:
    shape = {"shape": "row-per-series"} if plan.layout is Layout.WIDE else {}
    return {"layout": plan.layout.value, **shape}


def _refuse_names(plan: Placement) -> None:
    """Refuse names that the panel's own columns use."""
    for column in (*plan.quasi, *plan.sensitive, *plan.other):
        name = column.name.casefold()  # Spark does not distinguish `Shard` from `shard`
        if name in RESERVED or name.startswith("n "):
            raise ParameterError(
                f"Column {column.name!r} has a name that the panel uses itself on an engine. Rename it to keep it."
            )


def _refuse_other_columns(place: str) -> None:
    """Check the files on this machine. For an address, Spark treats a column that a file lacks as missing."""
    if not Path(place).is_dir():
        return
    refuse_other_columns(parquet_files(Path(place)), place)


def _digests(engine: Engine, place: str, wanted: bool | None) -> list[str]:
    """SHA-256 of every file, in the order of their names, computed on the engine."""
    if wanted is False:
        return []
    if not Path(place).exists():
        if wanted:
            raise ParameterError("digests: only files that this machine can read have one. Omit it.")
        return []
    files = parquet_files(Path(place))
    if wanted is None and sum(file.stat().st_size for file in files) > _CHEAP:
        return []
    rows = pa.table({"number": range(len(files)), "file": [str(file.absolute()) for file in files]})
    digests = engine.collect(engine.map(engine.scatter(rows), _Digest(), _DIGESTS)).sort_by("number")
    sums: list[str] = digests["sha256"].to_pylist()
    return sums if all(sums) else []


_DIGESTS = pa.schema([("number", pa.int64()), ("sha256", pa.string())])


@dataclass(frozen=True)
class _Digest:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            sums = [_sha256(file) for file in block.column("file").to_pylist()]
            yield pa.record_batch([block.column("number"), pa.array(sums, pa.string())], schema=_DIGESTS)


def _sha256(file: str) -> str:
    """Empty if a worker does not see the file that the driver saw."""
    try:
        return digest(Path(file))
    except InputError:
        return ""
