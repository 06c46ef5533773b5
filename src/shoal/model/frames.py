"""Panels as frames: in the shape in which they were read, or else one row per series and instant.

Types are returned as they were if they can hold the result: readings that came as whole numbers are floats unless all
of them are whole, text that named an instant becomes a timestamp. Whole numbers that named series are renumbered if
names are fresh, and stay whole.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.model.frame_shape import FrameShape, need

if TYPE_CHECKING:
    import polars as pl

    from shoal.model.panel import Panel

T = TypeVar("T")

DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class FrameColumn:
    """A column of a future frame: its name, its role and its entries; with several values, which one it is."""

    name: Any
    part: str
    entries: Any
    channel: int = 0


def shape_of(panel: Panel) -> FrameShape:
    """The shape a panel came in; one row per series and instant if unknown, or if channels require it."""
    shape = None if panel.origin is None else panel.origin.shape
    if shape is None:
        return FrameShape()
    # A wide frame has one value in a cell.
    wide = shape.layout != "long" and panel.n_channels > 1
    return FrameShape(shape.library, id=shape.id, time=shape.time, types=shape.types) if wide else shape


def to_pandas(panel: Panel) -> Any:
    """A pandas frame, or a Series if one came."""
    pd, shape = need("pandas", "to_pandas"), shape_of(panel)
    came = None if panel.origin is None else panel.origin.shape
    if came is not None and came.layout != "long" and panel.n_channels > 1:
        return _pandas_channels(pd, panel, came)
    ids, times = _pandas_ids(pd, panel, shape), _pandas_times(pd, panel, shape)
    if shape.layout == "long":
        columns = {column.name: column for column in _long(panel, shape)}
        frame = pd.DataFrame(
            {
                name: ids.repeat(panel.n_instants)
                if column.part == "id"
                else times[np.tile(np.arange(panel.n_instants), panel.n_series)]
                if column.part == "time"
                else _pandas_values(pd.Series(column.entries, copy=False), shape, column.channel)
                if column.part == "value"
                else column.entries
                for name, column in columns.items()
            }
        )
        found = {column.part: name for name, column in columns.items()}
        if shape.index:
            frame = frame.set_index([found[part] for part in shape.index])
            frame.index.names = [{"id": shape.id, "time": shape.time}[part] for part in shape.index]
        return frame.iloc[:, 0].rename(shape.values[0]) if shape.as_series else frame
    if shape.layout == "columns":
        frame = pd.DataFrame(_matrix(panel).T, index=times.rename(shape.time), columns=ids.rename(shape.across))
        frame = _pandas_values(frame, shape)
        return frame if "time" in shape.index or not shape.order else _back_to_column(frame, shape.time)
    clock = shape.types.get("columns") if shape.library == "pandas" else None
    across = times if clock is not None else pd.Index(_labels(panel, shape))
    frame = pd.DataFrame(_matrix(panel), index=ids.rename(shape.id), columns=across.rename(shape.across))
    frame = _pandas_values(frame, shape)
    for place, (name, entries) in enumerate(_static(panel, shape).items()):
        frame.insert(place, name, entries)
    return frame if "id" in shape.index else _back_to_column(frame, shape.id)


def _pandas_channels(pd: Any, panel: Panel, shape: FrameShape) -> Any:
    """A wide frame whose columns have a second level for channels. Other data about a series is in its index."""
    ids, times, n = _pandas_ids(pd, panel, shape), _pandas_times(pd, panel, shape), panel.n_channels
    static = _static(panel, shape)
    if shape.layout == "columns":
        beside = [np.repeat(entries, n) for entries in static.values()]
        last = np.tile(np.array(panel.channels, dtype=object), panel.n_series)
        columns = pd.MultiIndex.from_arrays([ids.repeat(n), *beside, last], names=[shape.across, *static, None])
        cells = panel.values.transpose(1, 0, 2).reshape(panel.n_instants, -1)
        frame = _pandas_values(pd.DataFrame(cells, index=times.rename(shape.time), columns=columns), shape)
        return frame if "time" in shape.index or not shape.order else frame.reset_index()
    across = times if shape.types.get("columns") is not None else pd.Index(_labels(panel, shape))
    columns = pd.MultiIndex.from_product([across, panel.channels], names=[shape.across, None])
    index = pd.MultiIndex.from_arrays([ids, *static.values()], names=[shape.id, *static]) if static else ids
    frame = _pandas_values(pd.DataFrame(panel.values.reshape(len(ids), -1), index=index, columns=columns), shape)
    return frame if "id" in shape.index else frame.reset_index()


def to_polars(panel: Panel) -> pl.DataFrame:
    """A polars frame."""
    import polars as pl  # late, because `import shoal` must stay quick

    shape = shape_of(panel)

    def typed(column: FrameColumn) -> Any:
        wanted = shape.type_of(column.part, "polars", column.channel)
        if column.part == "time":
            return _polars_times(pl, column.entries, panel.timezone, wanted)
        series = pl.Series(values=column.entries, nan_to_null=True, strict=False)
        if column.part == "value":
            whole = wanted is not None and wanted.is_integer() and _fit(column.entries, np.dtype(str(wanted).lower()))
            return series.cast(wanted) if whole or (wanted is not None and wanted.is_float()) else series
        return _polars_names(pl, series, wanted) if column.part == "id" else series

    return pl.DataFrame([typed(column).alias(str(column.name)) for column in _columns(panel, shape)])


def to_arrow(panel: Panel) -> Any:
    """A pyarrow table."""
    pa, shape = need("pyarrow", "to_arrow"), shape_of(panel)

    def typed(column: FrameColumn) -> Any:
        wanted = shape.type_of(column.part, "arrow", column.channel)
        if column.part == "time":
            return _arrow_times(pa, column.entries, panel.timezone, wanted)
        if column.part == "value":
            readings = pa.array(column.entries, pa.float64(), from_pandas=True)
            if wanted is None or not (pa.types.is_floating(wanted) or pa.types.is_integer(wanted)):
                return readings
            fit = pa.types.is_floating(wanted) or _fit(column.entries, wanted.to_pandas_dtype())
            return readings.cast(wanted) if fit else readings
        array = pa.array(column.entries, from_pandas=True)
        if column.part != "id" or wanted is None:
            return array
        dictionary = pa.types.is_dictionary(wanted)
        plain = wanted.value_type if dictionary else wanted
        try:
            array = array.cast(plain)
        except (pa.ArrowException, NotImplementedError):
            return array
        return array.dictionary_encode() if dictionary else array

    columns = _columns(panel, shape)
    return pa.table([typed(column) for column in columns], names=[str(column.name) for column in columns])


def to_numpy(panel: Panel) -> NDArray[Any]:
    """The readings (series, instants[, channels]); in the type of the array that came, if that can hold them."""
    kind = shape_of(panel).type_of("value", "numpy")
    return panel.values.astype(kind if kind is not None and _fit(panel.values, kind) else np.float64)


def to_xarray(panel: Panel) -> Any:
    """An xarray DataArray with the dimensions that came; times have no zone in it, so a zone is an attribute."""
    xr, shape = need("xarray", "to_xarray"), shape_of(panel)
    several = panel.values.ndim == 3
    dims = shape.dims if len(shape.dims) == panel.values.ndim else ("id", "time", "channel")[: 2 + several]
    channel = shape.values[0] if shape.library == "xarray" and shape.values else "channel"
    names = {"id": shape.id or "id", "time": shape.time or "time", "channel": channel}
    kind = shape.type_of("time", "xarray")
    clock = panel.times.dtype.kind == "M"
    coords: dict[Any, Any] = {
        names["id"]: _as_kind(panel, shape.type_of("id", "xarray")),
        names["time"]: panel.times.astype(kind)
        if kind is not None and kind.kind == ("M" if clock else "i")
        else panel.times,
    }
    if several:
        coords[names["channel"]] = list(panel.channels)
    values = panel.values
    wanted = shape.type_of("value", "xarray")
    if wanted is not None and _fit(values, wanted):
        values = values.astype(wanted)
    usual = ("id", "time", "channel")
    array = np.transpose(values, [usual.index(part) for part in dims])
    attributes = {"timezone": panel.timezone} if panel.timezone is not None and clock else {}
    name = shape.types.get("name") if shape.library == "xarray" else None
    return xr.DataArray(array, dims=[names[part] for part in dims], coords=coords, attrs=attributes, name=name)


def _columns(panel: Panel, shape: FrameShape) -> list[FrameColumn]:
    """All columns of a frame without an index."""
    if shape.layout == "long":
        return _long(panel, shape)
    matrix = _matrix(panel)
    if shape.layout == "columns":
        return [
            FrameColumn(_or(shape.time, "time"), "time", panel.times),
            *(FrameColumn(name, "value", row) for name, row in zip(panel.ids, matrix, strict=True)),
        ]
    return [
        FrameColumn(_or(shape.id, "id"), "id", _names(panel)),
        *(FrameColumn(name, "static", entries) for name, entries in _static(panel, shape).items()),
        *(FrameColumn(name, "value", row) for name, row in zip(_labels(panel, shape), matrix.T, strict=True)),
    ]


def _long(panel: Panel, shape: FrameShape) -> list[FrameColumn]:
    """A row per series and instant, columns in the order they came."""
    n, cells = panel.n_instants, panel.values.reshape(panel.n_series * panel.n_instants, -1)
    names = shape.values if len(shape.values) == panel.n_channels else panel.channels
    found = {
        "id": FrameColumn(_or(shape.id, "id"), "id", np.repeat(_names(panel), n)),
        "time": FrameColumn(_or(shape.time, "time"), "time", np.tile(panel.times, panel.n_series)),
    }
    found |= {f"value {c}": FrameColumn(_or(name, "value"), "value", cells[:, c], c) for c, name in enumerate(names)}
    found |= {
        f"static {name}": FrameColumn(name, "static", np.repeat(entries, n))
        for name, entries in _static(panel, shape).items()
    }
    order = [part for part in shape.order if part in found]
    return [found[part] for part in dict.fromkeys([*order, *found])]


def _matrix(panel: Panel) -> NDArray[np.float64]:
    return panel.values.reshape(panel.n_series, panel.n_instants)


def _names(panel: Panel) -> NDArray[Any]:
    """Identifiers as text or whole numbers, whichever they are."""
    names = panel.ids.tolist()
    whole = all(type(name) is int for name in names)
    return np.array(names, dtype=np.int64) if whole else np.array([str(name) for name in names], dtype=object)


def _static(panel: Panel, shape: FrameShape) -> dict[str, NDArray[Any]]:
    """Columns with one entry per series. Subjects only if the frame had them; otherwise they are bare numbers."""
    subjects = {} if panel.subjects is None or shape.subject is None else {shape.subject: panel.subjects}
    return {**subjects, **panel.attributes, **panel.sensitive}


def _labels(panel: Panel, shape: FrameShape) -> list[Any]:
    """The name of each instant's column: as it came, or the time."""
    labels = [shape.labels.get(int(time)) for time in panel.times.astype(np.int64)]
    if not any(label is None for label in labels):
        return labels
    return [str(time) for time in panel.times]


def _fit(values: NDArray[np.float64], kind: Any) -> bool:
    """Whether a type can hold these readings: a float type always, an integer type if all of them are whole."""
    kind = np.dtype(kind)
    if kind.kind not in "iu":
        return bool(kind.kind == "f")
    bounds = np.iinfo(kind)
    low, high = max(bounds.min, -(2**53)), min(bounds.max, 2**53)
    return bool(((values >= low) & (values <= high) & (values == np.rint(values))).all())


def _or(name: Any, usual: str) -> Any:
    return usual if name is None else name


def _as_kind(panel: Panel, kind: Any) -> NDArray[Any]:
    """Identifiers in the type of a numpy array, if that is a type of names."""
    names = _names(panel)
    if kind is not None and (kind.kind, names.dtype.kind) in (("i", "i"), ("u", "i"), ("O", "O")):
        return names.astype(kind)
    return names if names.dtype.kind == "i" else names.astype(str)


# ---- pandas


def _pandas_ids(pd: Any, panel: Panel, shape: FrameShape) -> Any:
    names = pd.Index(_names(panel).tolist())
    return _cast(names, shape.type_of("id", "pandas"))


def _cast(names: Any, wanted: Any) -> Any:
    """Names in the type that came; categories are those of these names."""
    if wanted is None:
        return names
    try:
        return names.astype("category" if str(wanted) == "category" else wanted)
    except (TypeError, ValueError):
        return names


def _pandas_times(pd: Any, panel: Panel, shape: FrameShape) -> Any:
    kind = shape.type_of("time", "pandas")
    if panel.times.dtype.kind != "M":
        return _cast(pd.Index(panel.times), kind if getattr(kind, "kind", "") in ("i", "u") else None)
    index = pd.DatetimeIndex(panel.times, copy=True)
    if str(kind).startswith("period"):
        return index.to_period(kind.freq)
    if panel.timezone is not None:
        zone = getattr(kind, "tz", None)
        index = index.tz_localize("UTC").tz_convert(panel.timezone if zone is None else zone)
    index = index.as_unit(getattr(kind, "unit", None) or np.datetime_data(kind)[0]) if _is_clock(kind) else index
    freq = shape.types.get("freq") if shape.library == "pandas" else None
    if freq is not None:
        try:
            index.freq = freq
        except ValueError:
            index.freq = None  # other instants are published than were read
    return index


def _is_clock(kind: Any) -> bool:
    return getattr(kind, "kind", "") == "M"


def _pandas_values(values: Any, shape: FrameShape, channel: int = 0) -> Any:
    """Number types, including nullable and Arrow ones, are returned as they were if they can hold the readings."""
    kind = shape.type_of("value", "pandas", channel)
    if kind is None or getattr(kind, "kind", "") not in "fiu" or str(kind) == "float64":
        return values
    own = f"{kind.kind}{kind.itemsize}"
    return values.astype(kind if _fit(values.to_numpy(), own) else _floating(kind))


def _floating(kind: Any) -> Any:
    """The floating type of the same family as one of whole numbers."""
    text = str(kind)
    return "double[pyarrow]" if text.endswith("[pyarrow]") else "Float64" if text[:1] in "IU" else "float64"


def _back_to_column(frame: Any, name: Any) -> Any:
    frame.index.name = name
    across = frame.columns.name
    frame = frame.reset_index()
    frame.columns.name = across
    return frame


# ---- polars and Arrow


def _polars_times(pl: Any, times: NDArray[Any], timezone: str | None, wanted: Any) -> Any:
    series = pl.Series(values=times)
    if times.dtype.kind != "M":
        return series.cast(wanted) if wanted is not None and wanted.is_integer() else series
    if timezone is not None:
        series = series.dt.replace_time_zone("UTC")
        with suppress(pl.exceptions.PolarsError):  # a fixed offset, which polars does not know: it stays UTC
            series = series.dt.convert_time_zone(timezone)
    elif wanted == pl.Date and not (times != times.astype("datetime64[D]")).any():
        return series.cast(pl.Date)
    unit = getattr(wanted, "time_unit", None)
    return series.dt.cast_time_unit(unit) if unit is not None and wanted != pl.Duration else series


def _polars_names(pl: Any, series: Any, wanted: Any) -> Any:
    if wanted is None or isinstance(wanted, pl.Enum):
        return series if wanted is None else series.cast(pl.Enum(series.unique(maintain_order=True)))
    try:
        return series.cast(wanted)
    except pl.exceptions.PolarsError:
        return series


def _arrow_times(pa: Any, times: NDArray[Any], timezone: str | None, wanted: Any) -> Any:
    array = pa.array(times)
    if times.dtype.kind != "M":
        return array.cast(wanted) if wanted is not None and pa.types.is_integer(wanted) else array
    if timezone is None and wanted is not None and pa.types.is_date(wanted):
        return array if (times != times.astype("datetime64[D]")).any() else array.cast(wanted)
    unit = wanted.unit if wanted is not None and pa.types.is_timestamp(wanted) else "us"
    return array.cast(pa.timestamp(unit, timezone), safe=False)
