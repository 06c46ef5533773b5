"""What the form of a frame says about its parts, and the shape in which its panel is returned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.model.frame_shape import FrameShape, Library
from shoal.model.frame_shape import Layout as Lay
from shoal.read.columns import DEFAULTS, Column, Layout, Placement, Request
from shoal.read.draft import PanelDraft
from shoal.read.frames import PandasTable, XarrayTable, index_levels, is_clock, is_pandas
from shoal.read.tables import ArrowTable, SourceTable
from shoal.read.wide import name_instants

_TIMES = DEFAULTS["time"]
_IDS = DEFAULTS["id"]


@dataclass(frozen=True)
class Framed:
    """A frame with what its index says."""

    source: Any
    request: Request
    timezone: str | None
    """The zone of instants among its column names, which as text have none."""
    columns_are_series: bool = False
    """Whether the frame says that its columns are series: they are called id, or carry the id that was named."""


def take_frame(source: Any, request: Request, timezone: str | None) -> Framed:
    """The roles that the index of a pandas frame plays; empty for all other sources."""
    if type(source).__module__.split(".")[0] != "pandas":
        return Framed(source, request, timezone)
    if type(source).__name__ == "Series":
        source = source.to_frame("value" if source.name is None else source.name)
    if not is_pandas(source) or source.columns.nlevels > 1:
        return Framed(source, request, timezone)
    levels = index_levels(source)
    clocks = [name for name, level in levels if is_clock(level)]
    others = [name for name, level in levels if not is_clock(level)]
    named = [str(name).lower() for name in source.columns]
    if len(clocks) == 1 and request.time is None and not any(word in named for word in _TIMES):
        request = replace(request, time=clocks[0])
    beside_instants = (len(levels) == 2 and len(clocks) == 1) or (is_clock(source.columns) and not clocks)
    if beside_instants and len(others) == 1 and request.id is None:
        request = replace(request, id=others[0])
    if len(levels) == 2 and len(clocks) == 1 and request.value is None:
        beside = [str(name) for name in source.columns if str(name) not in request.static]
        request = replace(request, value=tuple(beside)) if len(beside) == 1 else request
    across = source.columns.name
    is_id = across == request.id or (request.id is None and str(across).lower() in _IDS)
    if across is not None and is_id and len(clocks) == 1 == len(levels):
        return Framed(source, replace(request, id=None), timezone, columns_are_series=True)
    if is_clock(source.columns) and timezone is None and getattr(source.columns, "tz", None) is not None:
        timezone = pa.array(source.columns[:1]).type.tz
    return Framed(source, request, timezone)


def find_shape(source: Any, table: SourceTable, plan: Placement, timezone: str | None) -> FrameShape:
    """How the readings were arranged in a table of any kind."""
    if isinstance(table, XarrayTable):
        return _labelled_shape(source, table)
    as_series = type(source).__name__ == "Series"
    layout: Lay = "long" if plan.layout is Layout.LONG else "rows" if plan.id is not None else "columns"
    types = _types(source, table, plan)
    parts = {column.position: part for column, part in ((plan.id, "id"), (plan.time, "time")) if column is not None}
    values = {column.position: f"value {place}" for place, column in enumerate(plan.values)} if layout == "long" else {}
    static = {column.position: f"static {column.name}" for column in plan.static}
    listed = sorted((parts | values | static).items())
    n_levels = len(table.levels) if isinstance(table, PandasTable) else 0
    return FrameShape(
        library=_library(source),
        layout=layout,
        id=_label(table, plan.id),
        time=_label(table, plan.time),
        values=tuple(_label(table, column) for column in plan.values)
        if layout == "long" and not as_series
        else (source.name,)
        if as_series
        else (),
        subject=None if plan.subject is None else plan.subject.name,
        index=tuple(part for position, part in listed if position < n_levels and part in ("id", "time")),
        order=tuple(part for position, part in listed if position >= n_levels),
        types=types,
        labels=_instants(table, plan, timezone) if layout == "rows" else {},
        across=table.frame.columns.name if isinstance(table, PandasTable) and layout != "long" else None,
        as_series=as_series,
        whole_ids=_is_whole(types.get("id")),
    )


def unknown_shape(source: Any) -> FrameShape:
    """A layout that no frame has: the panel is returned with one row per series and instant."""
    return FrameShape(_library(source))


def _labelled_shape(source: Any, table: XarrayTable) -> FrameShape:
    """The dimensions of a DataArray; a Dataset is returned as one, with its variables as channels."""
    kinds = {part: source.coords[dim].dtype for part, dim in table.dims.items() if dim in source.coords}
    one, parts = not hasattr(source, "data_vars"), {dim: part for part, dim in table.dims.items()}
    return FrameShape(
        library="xarray",
        id=table.dims["id"],
        time=table.dims["time"],
        values=(table.dims.get("channel", "channel"),),
        types=kinds | ({"value": source.dtype, "name": source.name} if one else {}),
        dims=tuple(parts[dim] for dim in source.dims) if one else (),
        whole_ids=_is_whole(kinds.get("id")) or "id" not in kinds,
    )


def _library(source: Any) -> Library | None:
    room = type(source).__module__.split(".")[0]
    if room in ("pandas", "polars"):
        return room  # type: ignore[return-value]
    return "arrow" if hasattr(source, "__arrow_c_stream__") or room == "pyarrow" else None


def _label(table: SourceTable, column: Column | None) -> Any:
    if column is None:
        return None
    return table.label(column.position) if isinstance(table, PandasTable) else column.name


def _types(source: Any, table: SourceTable, plan: Placement) -> dict[str, Any]:
    """Types of the parts in the terms of the library; for series in columns, only one they share."""
    columns = {"id": plan.id, "time": plan.time}
    if isinstance(table, PandasTable):
        found = {part: table.part(column.position).dtype for part, column in columns.items() if column is not None}
        own, n_levels = table.frame.dtypes.tolist(), len(table.levels)
        kinds = [own[c.position - n_levels] if c.position >= n_levels else None for c in plan.values]
        if plan.layout is Layout.LONG or plan.id is not None:
            clock = table.part(plan.time.position) if plan.time is not None else table.frame.columns
        else:
            clock = table.part(plan.time.position) if plan.time is not None else None
            found["id"] = table.frame.columns.dtype
        if plan.layout is Layout.WIDE and plan.id is not None and is_clock(table.frame.columns):
            found |= {"columns": True, "time": table.frame.columns.dtype}
        found["freq"] = getattr(clock, "freq", None) if table.frame.index.nlevels == 1 else None
    elif type(source).__module__.split(".")[0] == "polars":
        kinds_of = dict(zip(table.names, source.collect_schema().dtypes(), strict=True))
        found = {part: kinds_of.get(column.name) for part, column in columns.items() if column is not None}
        kinds = [kinds_of.get(column.name) for column in plan.values]
    elif isinstance(table, ArrowTable):
        schema = table.table.schema
        found = {part: schema.field(c.position).type for part, c in columns.items() if c is not None}
        kinds = [schema.field(column.position).type for column in plan.values]
    else:
        return {}
    if all(kind == kinds[0] for kind in kinds):
        return found | {"value": kinds[0]}
    return found | ({f"value {n}": kind for n, kind in enumerate(kinds)} if plan.layout is Layout.LONG else {})


def _is_whole(kind: Any) -> bool:
    """Whether names of this type are whole numbers."""
    if isinstance(kind, pa.DataType):
        return bool(pa.types.is_integer(kind))
    asked = getattr(kind, "is_integer", None)
    return bool(asked()) if callable(asked) else getattr(kind, "kind", "") in ("i", "u")


def _instants(table: SourceTable, plan: Placement, timezone: str | None) -> dict[int, Any]:
    """The name of each instant's column."""
    places = PanelDraft(values=np.arange(len(plan.values), dtype=np.float64)[None])
    name_instants(places, [column.name for column in plan.values], timezone, guessed=False)
    times = np.arange(len(plan.values)) if places.times is None else places.times
    labels = [_label(table, plan.values[int(place)]) for place in places.values[0]]
    return dict(zip(times.tolist(), labels, strict=True))
