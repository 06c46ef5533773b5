"""Types of columns that a release of events can hold, under names that a certificate can carry."""

from __future__ import annotations

import re

import polars as pl

from shoal.errors import InputError

_PLAIN: dict[str, pl.DataType] = {
    "boolean": pl.Boolean(),
    "string": pl.String(),
    "date": pl.Date(),
    "float32": pl.Float32(),
    "float64": pl.Float64(),
    **{f"int{bits}": kind() for bits, kind in ((8, pl.Int8), (16, pl.Int16), (32, pl.Int32), (64, pl.Int64))},
    **{f"uint{bits}": kind() for bits, kind in ((8, pl.UInt8), (16, pl.UInt16), (32, pl.UInt32), (64, pl.UInt64))},
}
_NAMES = {kind: name for name, kind in _PLAIN.items()}
_DATETIME = re.compile(r"datetime\[(ms|us|ns)(?:, ([\w+/-]+))?\]")


def kind_of(dtype: pl.DataType) -> str | None:
    """The name of a type, or None if a release cannot hold it."""
    if isinstance(dtype, pl.Datetime):
        return f"datetime[{dtype.time_unit}{f', {dtype.time_zone}' if dtype.time_zone else ''}]"
    return _NAMES.get(dtype)


def dtype_of(kind: str) -> pl.DataType | None:
    """The type of a name, or None if there is none."""
    if match := _DATETIME.fullmatch(kind):
        return pl.Datetime(match[1], match[2])  # type: ignore[arg-type]
    return _PLAIN.get(kind)


def plain_types(frame: pl.DataFrame) -> pl.DataFrame:
    """The same table with categories as text; a type that cannot be released is refused."""
    labels = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.Categorical | pl.Enum)]
    plain = frame.with_columns(pl.col(labels).cast(pl.String)) if labels else frame
    for name, dtype in plain.schema.items():
        if kind_of(dtype) is None:
            raise InputError(
                f"Column {name!r} has type {dtype.base_type().__name__}, which a release of events cannot hold. Give "
                "numbers, booleans, text, dates or datetimes."
            )
    return plain


def as_text(column: pl.Series) -> pl.Series:
    """Dates and datetimes as ISO text, with a zone by its clock and with the offset; other columns as they are."""
    if column.dtype == pl.Date:
        return column.dt.strftime("%Y-%m-%d")
    if isinstance(column.dtype, pl.Datetime):
        zone = column.dtype.time_zone
        iso = "%Y-%m-%dT%H:%M:%S%.f"
        if zone is None:
            return column.dt.strftime(iso)
        world = column.dt.convert_time_zone("UTC").dt.strftime(f"{iso}Z")
        if zone == "UTC":
            return world
        # Before 1972 some clocks were ahead by odd seconds, which no offset can express: these times are in UTC.
        ahead = column.dt.base_utc_offset() + column.dt.dst_offset()
        odd = (ahead.dt.total_seconds() % 60 != 0).fill_null(False)
        return column.dt.strftime(f"{iso}%:z").zip_with(~odd, world)
    return column


def from_text(column: pl.Series, dtype: pl.DataType) -> pl.Series:
    """CSV text in the type it had; what does not fit is missing.

    A time without an offset is on the clock of the column's zone; one that this clock skips or shows twice is missing.
    """
    if dtype == pl.String:
        return column
    if dtype == pl.Boolean:
        return column.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    if dtype == pl.Date:
        return column.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Datetime):
        form, unit = "%Y-%m-%dT%H:%M:%S%.f", dtype.time_unit
        clock = column.str.to_datetime(form, time_unit=unit, strict=False)
        if dtype.time_zone is None:
            return clock
        local = clock.dt.replace_time_zone(dtype.time_zone, ambiguous="null", non_existent="null")
        marked = column.str.replace("Z$", "+00:00").str.to_datetime(f"{form}%:z", time_unit=unit, strict=False)
        return marked.dt.convert_time_zone(dtype.time_zone).zip_with(marked.is_not_null(), local)
    return column.cast(dtype, strict=False)


def is_number(dtype: pl.DataType) -> bool:
    """Whether a coarse column of this type is a range."""
    return dtype.is_integer() or dtype.is_float()


def coarse_names(name: str, dtype: pl.DataType) -> tuple[str, ...]:
    """The names under which a coarse column is published: both ends of a range, or one list."""
    return (f"{name}_low", f"{name}_high") if is_number(dtype) else (name,)
