"""Frames of any library, through Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.tables import ArrowTable, Table, plain, rows_per_batch


def open_frame(source: Any) -> Table:
    """A pandas, polars or pyarrow object, or anything else with an Arrow stream, as a table."""
    if isinstance(source, pl.LazyFrame):
        return LazyTable(source)
    if is_pandas(source):
        return PandasTable(source)
    if isinstance(source, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([source]))
    try:
        # Reading a stream uses it up, so it is held in memory; frames hand over their columns without a copy.
        return ArrowTable(
            source if isinstance(source, pa.Table) else pa.RecordBatchReader.from_stream(source).read_all()
        )
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("The Arrow stream of the source is not a table. Give a frame with named columns.") from None


def is_pandas(source: Any) -> bool:
    """Whether this is a pandas frame; asked without importing pandas."""
    return type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")


class LazyTable(Table):
    """A polars query, run once for the columns asked for."""

    def __init__(self, query: pl.LazyFrame) -> None:
        try:
            names = query.collect_schema().names()
        except (pl.exceptions.PolarsError, OSError):
            raise _failed() from None
        super().__init__(names, kind="frame")
        self._query = query
        self._collected: dict[int, Any] = {}

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Slices of the collected columns."""
        self._collect(columns)
        chosen = pa.table([self._collected[c] for c in columns], names=[str(c) for c in columns])
        for batch in chosen.to_batches(max_chunksize=rows_per_batch(len(columns))):
            yield plain(batch.columns)

    def _collect(self, columns: Sequence[int]) -> None:
        if all(c in self._collected for c in columns):
            return
        # Together with the columns already held, so that all of them come from one run of the query.
        wanted = sorted({*columns, *self._collected})
        try:
            table = self._query.select([self.names[c] for c in wanted]).collect().to_arrow()
        except (pl.exceptions.PolarsError, OSError):
            raise _failed() from None
        self._collected = {c: table.column(position) for position, c in enumerate(wanted)}


class PandasTable(Table):
    """A pandas frame. A meaningful index (named, or of datetimes) becomes a column; others are dropped."""

    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise InputError(f"The frame has {frame.columns.nlevels} levels of column names. Flatten them to one.")
        self._series = [frame.iloc[:, position] for position in range(frame.shape[1])]
        names = [str(name) for name in frame.columns]
        for name, level in reversed(_meaningful_levels(frame.index)):
            if name in names:
                raise InputError(f"The index and a column of the frame are both called {name!r}. Rename one.")
            self._series.insert(0, level)
            names.insert(0, name)
        super().__init__(names, kind="frame")
        self._arrays: dict[int, Any] = {}

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Slices of the columns, each converted to Arrow once."""
        for c in columns:
            if c not in self._arrays:
                self._arrays[c] = _to_arrow(self._series[c])
        chosen = pa.table([self._arrays[c] for c in columns], names=[str(c) for c in columns])
        for batch in chosen.to_batches(max_chunksize=rows_per_batch(len(columns))):
            yield plain(batch.columns)


def _meaningful_levels(index: Any) -> list[tuple[str, Any]]:
    levels = [index.get_level_values(position) for position in range(index.nlevels)]
    found = []
    for level in levels:
        is_clock = type(level).__name__ in ("DatetimeIndex", "PeriodIndex")
        if level.name is not None or is_clock:
            found.append((str(level.name) if level.name is not None else "time", level))
    return found


def _to_arrow(series: Any) -> Any:
    if str(series.dtype).startswith("period"):
        series = (series.dt if hasattr(series, "dt") else series).to_timestamp()
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Mixed objects: read as text, and let whoever needs numbers count what is none.
        missing = series.isna()
        return pa.array(
            [None if gone else str(entry) for entry, gone in zip(series, missing, strict=True)], pa.large_string()
        )


def _failed() -> InputError:
    return InputError("The polars query cannot be collected. Run it by itself to see why.")
