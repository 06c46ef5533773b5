"""The one form every source takes: named columns that can be read repeatedly, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.zones import find_zone

_CALENDAR = ((-719_162, 1), (2_932_896, -1))
"""The first and the last day of the years 1 to 9999, counted from 1970, and where the others are."""
_MOST_DAYS = 9999 * 366
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_LEAST, _MOST = -(2**63), 2**63 - 1

BATCH_CELLS = 1 << 19
"""About how many cells a batch holds: enough to amortise the work per batch, little next to the panel."""


class SourceTable:
    """Columns by position; names may repeat. Reading twice gives the same rows in the same order.

    Parameters
    ----------
    names
        Names of the columns.
    kind, sha256
        What the origin of a panel says: the kind of source, and the digest of each file.
    untyped
        Whether every column is text because the source knows no types (CSV).
    """

    values: tuple[str, ...] = ()
    """Columns that hold the values, if the source says so itself."""

    def __init__(self, names: Sequence[str], *, kind: str, sha256: tuple[str, ...] = (), untyped: bool = False) -> None:
        self.names = tuple(names)
        self.kind = kind
        self.sha256 = sha256
        self.untyped = untyped

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """The columns at these positions as Arrow arrays of equal length, batch after batch."""
        raise NotImplementedError

    def matrix(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """The columns at these positions as one array of finite numbers (rows, columns), where they are one already."""
        return None

    def account(self) -> Mapping[str, int]:
        """What was done to lines of text before they became rows, by name; complete once all rows have been read."""
        return {}

    def close(self) -> None:
        """Release connections and temporary files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ArrowTable(SourceTable):
    """A table in memory."""

    def __init__(
        self,
        table: Any,
        *,
        kind: str = "frame",
        sha256: tuple[str, ...] = (),
        untyped: bool = False,
        account: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(table.column_names, kind=kind, sha256=sha256, untyped=untyped)
        self.table = table
        self._account = account or {}

    def account(self) -> Mapping[str, int]:
        """What the table was created with."""
        return self._account

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Slices of the requested columns."""
        chosen = pa.table([self.table.column(c) for c in columns], names=[str(c) for c in columns])
        for batch in chosen.to_batches(max_chunksize=rows_per_batch(len(columns))):
            yield plain(batch.columns)


def rows_per_batch(n_columns: int) -> int:
    """The wider the table, the fewer rows."""
    return max(1, BATCH_CELLS // max(1, n_columns))


def plain(arrays: Sequence[Any]) -> list[Any]:
    """The arrays without the wrappers of frame libraries: no dictionaries, extension types or views.

    Typed tables can hold times that there are none of, and zones of any name: both are refused.
    """
    unwrapped = [_unwrap(array) for array in arrays]
    for array in filter(is_temporal, unwrapped):
        if beyond_calendar(array).any():
            raise InputError(
                "A column has dates outside the years 1 to 9999, times outside a day, or durations of more than 9999 "
                "years. Correct them or remove the column."
            )
        try:
            find_zone(getattr(array.type, "tz", None) or "UTC")
        except ParameterError:
            raise InputError(
                "A column has times in a zone that is not in the time zone database. Write them in UTC, or name the "
                "zone as in Europe/Bratislava."
            ) from None
    return unwrapped


def is_temporal(array: Any) -> bool:
    """Whether a column holds dates, times or durations."""
    return bool(pa.types.is_temporal(array.type) and not pa.types.is_interval(array.type))


def beyond_calendar(array: Any) -> NDArray[np.bool_]:
    """Which dates are outside the years 1 to 9999, times outside a day, or durations longer than 9999 years.

    Libraries fail at them, or wrap around.
    """
    kind = array.type
    wide = kind.bit_width == 64
    numbers = array.cast(pa.int64() if wide else pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    unit = 1 if pa.types.is_date32(kind) else _A_DAY[getattr(kind, "unit", "ms")]
    if pa.types.is_time(kind):
        first, last = 0, 0
    elif pa.types.is_duration(kind):
        first, last = -_MOST_DAYS, _MOST_DAYS
    else:  # in a zone, clocks differ from UTC by less than a day
        first, last = (end + inwards * (getattr(kind, "tz", None) is not None) for end, inwards in _CALENDAR)
    # Numbers of nanoseconds all lie inside, and the ends would not fit.
    beyond = (numbers < max(first * unit, _LEAST)) | (numbers > min((last + 1) * unit - 1, _MOST))
    return np.asarray(beyond, dtype=np.bool_)


def as_series(array: Any) -> pl.Series:
    """A column as polars knows it: times at a fixed offset, which it does not know, are in UTC."""
    if (zone := getattr(array.type, "tz", None)) is not None and find_zone(zone).offset is not None:
        array = array.cast(pa.timestamp(array.type.unit, "UTC"))
    return pl.Series(pl.from_arrow(array))


def _unwrap(array: Any) -> Any:
    if isinstance(array.type, pa.BaseExtensionType):
        if "uuid" in str(array.type):
            return pa.array([None if entry is None else str(entry) for entry in array.to_pylist()], pa.string())
        array = array.storage
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    if pa.types.is_decimal(array.type) and (array.type.bit_width != 128 or array.type.scale < 0):
        array = array.cast(pa.string())  # polars has no such numbers
    if pa.types.is_dictionary(array.type):
        # pyarrow cannot take from a view, which polars exports: plain entries first.
        array = _unwrap(array.dictionary).take(array.indices)
    if str(array.type) == "string_view":
        array = array.cast(pa.large_string())
    if pa.types.is_null(array.type):
        array = array.cast(pa.string())
    if pa.types.is_interval(array.type):
        array = pa.array([None if entry is None else str(entry) for entry in array.to_pylist()], pa.string())
    return array


def empty() -> InputError:
    """The message for a table without rows."""
    return InputError("The table is empty: it has no rows. Check the source or the query.")


def is_text(array: Any) -> bool:
    """Whether a column holds text."""
    return bool(pa.types.is_string(array.type) or pa.types.is_large_string(array.type))
