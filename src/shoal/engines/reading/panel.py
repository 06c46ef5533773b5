"""Read a panel that lies as Parquet in a lake, into series on an engine.

The panel is the one that `shoal.read_panel` makes of the same table, with the same settings and the same refusals; only
that ids are texts and have no order, and that a message about a single row cannot say which row is the first.

Nothing but counts, instants and samples comes to the driver.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.contract import Blocks, Engine
from shoal.engines.local import parquet_files, refuse_other_columns
from shoal.engines.reading.first import refuse_respelt
from shoal.engines.reading.gaps import handle_gaps
from shoal.engines.reading.long import read_long
from shoal.engines.reading.summary import LARGEST
from shoal.engines.reading.tally import count_distinct
from shoal.engines.reading.wide import read_wide
from shoal.engines.rows import SERIES, SUBJECT
from shoal.engines.series import RESERVED, SeriesTable
from shoal.engines.work import Columns
from shoal.errors import InputError, ParameterError
from shoal.model import Origin, Whole
from shoal.read.align import parse_rules
from shoal.read.columns import Layout, Plan, make_plan, parse_layout, parse_request
from shoal.read.files import digest
from shoal.read.lake import is_lake
from shoal.read.missing import Keep, as_text, parse_missing
from shoal.read.repeats import Duplicates
from shoal.read.subjects import tell_subjects
from shoal.read.zones import find_zone

_CHEAP = 64 * 2**30
"""Bytes of input whose digest is worth reading them once more."""


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
    """Read series over common instants from Parquet, without bringing them into one place.

    Parameters
    ----------
    engine
        Where they shall lie.
    path
        A Parquet file or a folder of them: a path that driver and workers share, or any address Spark can read.
    id, time, value, subject, quasi, sensitive, other, layout, missing, align, duplicates, complete, quantity, timezone
        As of `shoal.read_panel`, but rows have no order here: duplicates have no first and no last. A wide table must
        have a row for each series. Times with a zone that are not read from a path of this machine are shown in UTC
        unless `timezone` says otherwise: Spark does not tell which it was.
    digests
        Whether the SHA-256 of the input files goes into the certificate; it takes another reading of them, and is not
        possible of an address. Left out: where they are files, of 64 GiB at most.
    """
    policies = parse_missing(missing)
    uneven = isinstance(policies[-1], Keep)
    rules = parse_rules(align=align, duplicates=duplicates, complete=complete, quantity=quantity, uneven=uneven)
    if rules.duplicates in (Duplicates.FIRST, Duplicates.LAST):
        raise ParameterError(
            f"duplicates='{rules.duplicates}' goes by the order of rows, which an engine does not keep. Give "
            "duplicates='mean', remove the rows first, or leave --engine out."
        )
    shape = parse_layout(layout)
    request = parse_request(
        id=id, time=time, value=value, subject=subject, quasi=quasi, sensitive=sensitive, other=other
    )
    if timezone is not None:
        find_zone(timezone)
    settings = {"missing": as_text(missing), "timezone": timezone, "sql": False}
    place = _place(path)
    plan = make_plan(engine.read(place).schema.names, request, shape)
    _refuse_names(plan)
    _refuse_other_columns(place)
    if plan.subject is not None:
        refuse_respelt(engine, engine.read(place, (plan.subject.name,)), plan.subject.name)
    read = (read_long if plan.layout is Layout.LONG else read_wide)(engine, place, plan, rules, timezone)
    n_series = read.totals.n_series
    n_subjects = n_series if plan.subject is None else count_distinct(engine, read.table, SUBJECT)
    told = (tell_subjects(plan, read.n_rows, n_series, n_subjects, read.instants.n_channels),)
    table, instants, found, account = handle_gaps(engine, read.table, read.instants, policies, read.totals)
    if found.large:
        raise InputError(
            f"{found.large} of {found.n_series * instants.n_instants * instants.n_channels} values are larger than "
            f"{LARGEST:g} in size; their squares would overflow. Change the unit or remove those series."
        )
    settings |= rules.settings(read.channels, instants.n_channels)
    attributes = tuple(column.name for column in (*plan.quasi, *plan.other))
    hidden = tuple(column.name for column in plan.sensitive)
    schema = pa.schema([*SERIES, *(table.schema.field(name) for name in (*attributes, *hidden))])
    panel = engine.map(table, Columns(tuple(schema.names)), schema)
    files = tuple(_digests(engine, place, digests))
    times: NDArray[Any] = np.arange(instants.n_instants) if instants.times is None else instants.times
    whole = Whole(
        n_series=found.n_series,
        n_subjects=found.n_series if plan.subject is None else count_distinct(engine, panel, SUBJECT),
        n_missing=found.missing,
        times=times.view("datetime64[us]") if instants.on_clock else times.astype(np.int64),
        channels=("value",) if read.channels is None else read.channels,
        timezone=None if read.zone is None else read.zone.name,
        attributes=attributes,
        sensitive=hidden,
        origin=Origin("file", files, read.n_rows, settings | _layout(plan) | account, told),
        roles=plan.roles(),
    )
    return SeriesTable(engine, panel, whole)


def _layout(plan: Plan) -> dict[str, str]:
    shape = {"shape": "row-per-series"} if plan.layout is Layout.WIDE else {}
    return {"layout": plan.layout.value, **shape}


def _place(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike):
        raise InputError("An engine reads Parquet files: give the path of a file or a folder.")
    place = os.fspath(path)
    if place.lower().endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        raise InputError("An engine reads Parquet, not CSV. Write the table as Parquet first, or leave --engine out.")
    if is_lake(place):
        raise InputError(
            "This is a Delta or Iceberg table, and an engine reads Parquet files, among which are rows that the table "
            "no longer has. Leave --engine out, or write the table as Parquet first."
        )
    return place


def _refuse_names(plan: Plan) -> None:
    """Some names are taken by columns of the panel itself."""
    for column in (*plan.quasi, *plan.sensitive, *plan.other):
        name = column.name.casefold()  # Spark does not tell `Shard` from `shard`
        if name in RESERVED or name.startswith("n "):
            raise ParameterError(
                f"Column {column.name!r} has a name that the panel uses itself on an engine. Rename it to keep it."
            )


def _refuse_other_columns(place: str) -> None:
    """Files of this machine are looked at. Of an address, Spark takes a column that a file lacks as missing."""
    if not Path(place).is_dir():
        return
    refuse_other_columns(parquet_files(Path(place)), place)


def _digests(engine: Engine, place: str, wanted: bool | None) -> list[str]:
    """SHA-256 of every file, in the order of their names, each taken where it is near."""
    if wanted is False:
        return []
    if not Path(place).exists():
        if wanted:
            raise ParameterError("digests: only files that this machine can read have one. Leave it out.")
        return []
    files = parquet_files(Path(place))
    if wanted is None and sum(file.stat().st_size for file in files) > _CHEAP:
        return []
    rows = pa.table({"number": range(len(files)), "file": [str(file.absolute()) for file in files]})
    found = engine.collect(engine.map(engine.scatter(rows), _Digest(), _DIGESTS)).sort_by("number")
    sums: list[str] = found["sha256"].to_pylist()
    return sums if all(sums) else []


_DIGESTS = pa.schema([("number", pa.int64()), ("sha256", pa.string())])


@dataclass(frozen=True)
class _Digest:
    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            sums = [_sha256(file) for file in block.column("file").to_pylist()]
            yield pa.record_batch([block.column("number"), pa.array(sums, pa.string())], schema=_DIGESTS)


def _sha256(file: str) -> str:
    """Empty where a worker does not see the file that the driver saw."""
    try:
        return digest(Path(file))
    except InputError:
        return ""
