"""Types of the columns of arriving events: times of one kind, and numbers or text."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.durations import DAY
from shoal.read.time_reader import parse_times

LARGEST = 2**62
"""Later times are refused, so that a duration can be added to any."""


class TimeKind(IntEnum):
    """Kinds of time. The first usable one of a stream decides for all."""

    NONE = 0
    INTEGER = 1
    DATE = 2
    LOCAL = 3
    UTC = 4

    @property
    def on_clock(self) -> bool:
        """Whether it is microseconds on a clock; otherwise a whole number."""
        return self is not TimeKind.INTEGER

    def decide(self, every: int | None) -> TimeKind:
        """The kind of a stream whose first time is of this kind: dates cut to hours are times of a local clock."""
        whole_days = every is None or every % DAY == 0
        return TimeKind.LOCAL if self is TimeKind.DATE and not whole_days else self

    def accepts(self, kinds: NDArray[np.int8], every: int | None) -> NDArray[np.bool_]:
        """Which times a stream of this kind can use."""
        if self is TimeKind.NONE:
            return np.zeros(len(kinds), dtype=bool)
        if self is TimeKind.LOCAL or (self is TimeKind.DATE and every is not None):
            return np.asarray((kinds == TimeKind.DATE) | (kinds == TimeKind.LOCAL))
        return np.asarray(kinds == self)

    def published(self, instants: pl.Series) -> pl.Series:
        """Instants as they are published."""
        if self is TimeKind.INTEGER:
            return instants
        shown = instants.cast(pl.Datetime("us"))
        if self is TimeKind.DATE:
            return shown.dt.date()
        return shown.dt.replace_time_zone("UTC") if self is TimeKind.UTC else shown


def read_times(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Instants (microseconds, or whole numbers) and what each is; `TimeKind.NONE` if there is no usable time."""
    if column.dtype == pl.String:
        return _read_text(column)
    kind = column.dtype
    if kind.is_integer():
        which = TimeKind.INTEGER
        instants = column.cast(pl.Int64, strict=False)
    elif kind == pl.Date:
        which = TimeKind.DATE
        instants = column.cast(pl.Datetime("us")).cast(pl.Int64)
    elif isinstance(kind, pl.Datetime):
        which = TimeKind.LOCAL if kind.time_zone is None else TimeKind.UTC
        instants = column.dt.cast_time_unit("us").cast(pl.Int64)
    else:
        raise InputError(
            f"Column {column.name!r} must hold dates, timestamps, text such as 2024-05-31 14:30, or whole numbers."
        )
    present = instants.is_not_null().to_numpy()
    return _usable(instants.fill_null(0).to_numpy(), np.where(present, which, TimeKind.NONE))


def _read_text(column: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    # Many events share an instant: each text is read once.
    distinct = column.unique()
    if distinct.null_count() == 0 and distinct.str.contains(_INTEGER).all():
        return _usable(column.cast(pl.Int64).to_numpy(), np.full(len(column), TimeKind.INTEGER))
    found = parse_times(distinct.to_arrow())
    kinds = np.select(
        [found.missing | found.wrong, found.integer, found.date_only, found.has_offset],
        [TimeKind.NONE, TimeKind.INTEGER, TimeKind.DATE, TimeKind.UTC],
        TimeKind.LOCAL,
    )
    if len(distinct) == 1:
        return _usable(np.repeat(found.instants, len(column)), np.repeat(kinds, len(column)))
    read = pl.DataFrame({"text": distinct, "instant": found.instants, "kind": kinds})
    rows = column.alias("text").to_frame().join(read, on="text", how="left", nulls_equal=True, maintain_order="left")
    return _usable(rows["instant"].to_numpy(), rows["kind"].to_numpy())


def _usable(instants: NDArray[np.int64], kinds: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    far = (instants > LARGEST) | (instants < -LARGEST)
    return instants, np.where(far, TimeKind.NONE, kinds).astype(np.int8)


# No leading zeros: 007 is a name.
_INTEGER = r"^-?(?:0|[1-9]\d{0,17})$"
_NUMBER = r"^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$"

WHOLE, NUMBER, TEXT = "whole numbers", "numbers", "text"
_TYPES: dict[str, pl.DataType] = {WHOLE: pl.Int64(), NUMBER: pl.Float64(), TEXT: pl.String()}


def type_of(name: str) -> pl.DataType:
    """The type of the columns that are called so."""
    return _TYPES[name]


def decide_type(column: pl.Series, *, untyped: bool) -> str:
    """The type of a column: its own type, or a number type if every text entry is a plain number."""
    if not untyped:
        return WHOLE if column.dtype.is_integer() else NUMBER if column.dtype.is_float() else TEXT
    if column.null_count() == len(column):
        return TEXT
    for name, form in ((WHOLE, _INTEGER), (NUMBER, _NUMBER)):
        if column.str.contains(form).all() and _cast(column, name).null_count() == column.null_count():
            return name
    return TEXT


def cast_column(column: pl.Series, name: str) -> tuple[pl.Series, NDArray[np.bool_]]:
    """The column in that type, and which entries cannot be converted."""
    if column.dtype == _TYPES[name] and name != NUMBER:
        return column, np.zeros(len(column), dtype=bool)
    cast = _cast(column, name)
    return cast, (cast.is_null() & column.is_not_null()).to_numpy()


def _cast(column: pl.Series, name: str) -> pl.Series:
    """Entries that cannot be converted exactly, or are not finite, become null."""
    if name == TEXT:
        return column.cast(pl.String)
    kind = column.dtype
    if kind == pl.String:
        form = _INTEGER if name == WHOLE else _NUMBER
        column = column.set(~column.str.contains(form).fill_null(True), None)
    elif not kind.is_numeric():
        return pl.Series(column.name, [None] * len(column), dtype=_TYPES[name])
    cast = column.cast(_TYPES[name], strict=False)
    if name == NUMBER:
        return cast.set(~cast.is_finite().fill_null(True), None)
    return cast.set((cast.cast(kind) != column).fill_null(False), None) if kind.is_float() else cast
