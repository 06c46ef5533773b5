"""Frames of any library, through Arrow, and xarray objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.tables import ArrowTable, SourceTable, plain, rows_per_batch


def open_frame(source: Any) -> SourceTable:
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


class LazyTable(SourceTable):
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


class PandasTable(SourceTable):
    """A pandas frame. An index that means something becomes columns, before the others; see `index_levels`."""

    def __init__(self, frame: Any) -> None:
        if frame.columns.nlevels > 1:
            raise InputError(f"The frame has {frame.columns.nlevels} levels of column names. Flatten them to one.")
        self.frame = frame
        self.levels = index_levels(frame)
        names = column_texts(frame.columns)
        for name, _ in self.levels:
            if name in names:
                raise InputError(f"The index and a column of the frame are both called {name!r}. Rename one.")
        super().__init__([*(name for name, _ in self.levels), *names], kind="frame")
        self._converted: dict[int, Any] = {}

    def part(self, column: int) -> Any:
        """A column, or the level of the index in its place."""
        n_levels = len(self.levels)
        return self.levels[column][1] if column < n_levels else self.frame.iloc[:, column - n_levels]

    def label(self, column: int) -> Any:
        """What pandas calls a column or level: any object, or None if a level has no name."""
        n_levels = len(self.levels)
        return self.levels[column][1].name if column < n_levels else self.frame.columns[column - n_levels]

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """A few rows at a time, so that little is held twice; objects as a whole, since their type is that of all."""
        at_once = rows_per_batch(len(columns))
        parts = [self._objects(c) if self.part(c).dtype == object else self.part(c) for c in columns]
        for first in range(0, len(self.frame), at_once):
            some = slice(first, first + at_once)
            yield plain([_one_chunk(_to_arrow(part, some)) for part in parts])

    def matrix(self, columns: Sequence[int]) -> NDArray[Any] | None:
        """The array behind the frame; frames of several types are read column by column."""
        first, last = columns[0] - len(self.levels), columns[-1] + 1 - len(self.levels)
        if first < 0 or last - first != len(columns) or list(columns) != list(range(columns[0], columns[-1] + 1)):
            return None
        part = self.frame.iloc[:, first:last]
        kinds = part.dtypes.unique()
        if len(kinds) > 1 or not isinstance(kinds[0], np.dtype) or kinds[0].kind not in "fiu":
            return None
        found = part.to_numpy(copy=False)
        return found if np.isfinite(found.sum()) or not np.isinf(found).any() else None

    def _objects(self, column: int) -> Any:
        if column not in self._converted:
            self._converted[column] = _to_arrow(self.part(column), slice(None))
        return self._converted[column]


def index_levels(frame: Any) -> list[tuple[str, Any]]:
    """Levels of a frame's index that carry meaning, with their names.

    These are named levels, levels of instants, and what accompanies instants: the other level of a two-level index, or
    the index if the columns are instants. Unnamed ones are called time and id.
    """
    index = frame.index
    levels = [index.get_level_values(position) for position in range(index.nlevels)]
    beside_instants = is_clock(frame.columns) or any(is_clock(level) for level in levels)
    found = []
    for level in levels:
        usual = "time" if is_clock(level) else "id" if beside_instants and len(levels) <= 2 else None
        name = usual if level.name is None else str(level.name)
        if name is not None:
            found.append((name, level))
    return found


def is_clock(index: Any) -> bool:
    """Whether an index of pandas holds instants."""
    return type(index).__name__ in ("DatetimeIndex", "PeriodIndex")


def column_texts(columns: Any) -> list[str]:
    """Names of columns as text; instants with a zone in UTC, since offsets change with the season."""
    if type(columns).__name__ == "PeriodIndex":
        columns = columns.to_timestamp()
    if getattr(columns, "tz", None) is not None:
        return [f"{time.isoformat()}Z" for time in columns.tz_convert("UTC").tz_localize(None)]
    return [str(name) for name in columns]


def _to_arrow(part: Any, rows: slice) -> Any:
    """Some rows of a column or level as Arrow."""
    if isinstance(part, pa.Array | pa.ChunkedArray):
        return part.slice(rows.start, rows.stop - rows.start)
    series = part.iloc[rows] if hasattr(part, "iloc") else part[rows]
    if str(series.dtype).startswith("period"):
        series = (series.dt if hasattr(series, "dt") else series).to_timestamp()
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Mixed objects: read as text; numeric columns report entries that are not numbers.
        missing = series.isna()
        return pa.array(
            [None if gone else str(entry) for entry, gone in zip(series, missing, strict=True)], pa.large_string()
        )


def _one_chunk(array: Any) -> Any:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _failed() -> InputError:
    return InputError("The polars query cannot be collected. Run it on its own to see why.")


_CLOCKS = ("time", "timestamp", "datetime", "date")


def is_xarray(source: Any) -> bool:
    """Whether this is an array or a dataset of xarray; asked without importing it."""
    return type(source).__module__.split(".")[0] == "xarray" and hasattr(source, "coords") and hasattr(source, "dims")


class XarrayTable(SourceTable):
    """A row for each series and instant, as a long table.

    A DataArray holds the value; in a Dataset, every variable over series and time is a channel, as is every position of
    a third dimension. Coordinates along the series are columns, for `subject=`, `quasi=` and the like.
    """

    def __init__(self, source: Any) -> None:
        variables = dict(source.data_vars) if hasattr(source, "data_vars") else {"value": source}
        variables = {str(name): array for name, array in variables.items() if len(array.dims) > 1}
        dims = {dim: None for array in variables.values() for dim in array.dims}
        clock = _find_clock(source, tuple(dims))
        others = [dim for dim in dims if dim != clock]
        if clock is None or not 1 <= len(others) <= 2:
            raise InputError(
                "An xarray object needs a dimension of time and one of series, and may have one of channels; this one "
                f"has {len(dims)} candidate dimensions. Name the time dimension 'time', or transpose it."
            )
        series, channel = _tell_channels(source, others)
        self.dims = {"id": series, "time": clock} | ({} if channel is None else {"channel": channel})
        self._blocks: dict[str, Any] = {}
        for name, array in variables.items():
            if clock not in array.dims or series not in array.dims:
                continue
            if channel is None or channel not in array.dims:
                self._blocks[name] = array.transpose(series, clock)
                continue
            for position in range(array.sizes[channel]):
                label = str(_labels(source, channel)[position])
                own = label if len(variables) == 1 else f"{name} {label}"
                self._blocks[own] = array.isel({channel: position}).transpose(series, clock)
        if not self._blocks:
            raise InputError("No variable of the xarray dataset has both the dimension of time and that of series.")
        self._static = {
            str(name): np.asarray(coord.values)
            for name, coord in source.coords.items()
            if coord.dims == (series,) and name != series
        }
        self._ids, self._times = _labels(source, series), _labels(source, clock)
        names = ["id", "time", *self._blocks, *self._static]
        if len(set(names)) != len(names):
            raise InputError("Two parts of the xarray object share a name, or are called id or time. Rename them.")
        super().__init__(names, kind="array")
        self.values = tuple(self._blocks)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Some series at a time."""
        n_times = len(self._times)
        at_once = max(1, rows_per_batch(len(columns)) // max(1, n_times))
        for start in range(0, len(self._ids), at_once):
            some = slice(start, start + at_once)
            n_series = len(self._ids[some])
            made = []
            for name in (self.names[c] for c in columns):
                if name == "time":
                    made.append(_arrow(np.tile(self._times, n_series)))
                elif name in self._blocks:
                    made.append(pa.array(np.asarray(self._blocks[name][some].values, np.float64).ravel()))
                else:
                    entries = self._ids if name == "id" else self._static[name]
                    made.append(_arrow(np.repeat(entries[some], n_times)))
            yield made


def _find_clock(source: Any, dims: tuple[Any, ...]) -> Any:
    typed = [dim for dim in dims if dim in source.coords and source.coords[dim].dtype.kind == "M"]
    named = [dim for dim in dims if str(dim).lower() in _CLOCKS]
    for found in (typed, named):
        if len(found) == 1:
            return found[0]
    return None


def _tell_channels(source: Any, others: list[Any]) -> tuple[Any, Any]:
    """The dimension of series and that of channels, if any: chosen by name, never by length."""
    if len(others) == 1:
        return others[0], None
    named = [dim for dim in others if str(dim).lower() in ("channel", "channels", "variable", "quantity", "register")]
    if len(named) != 1:
        raise InputError(
            "Two dimensions of the xarray object could be the series. Name the other one 'channel', or read one "
            "channel with isel()."
        )
    return next(dim for dim in others if dim != named[0]), named[0]


def _labels(source: Any, dim: Any) -> Any:
    return np.asarray(source.coords[dim].values) if dim in source.coords else np.arange(source.sizes[dim])


def _arrow(entries: Any) -> Any:
    if entries.dtype.kind == "M":
        return pa.array(entries.astype("datetime64[us]"))
    return pa.array(entries.tolist() if entries.dtype.kind in "OU" else entries)
