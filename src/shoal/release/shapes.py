"""Published values once more, in the shape that users expect: next to the data, and equal to it.

    wide             a row per instant, a column per series
    row-per-series   a row per series, a column per instant
    day-rows         a row per series and day, a column per time of the day

With several channels there is a row for each, named in the column `channel`. Days are those of the clock of the data. A
day on which an hour comes twice has more intervals than names of the clock: then the columns of all days are numbered
from 1, in the order of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.model.panel import Origin
from shoal.read.zones import local_times, time_texts
from shoal.release.canonical import parquet_blocks, refuse_other_text
from shoal.release.files import FileFormat, NotAPanelError, csv_frame, table_of, time_array, write_blocks
from shoal.release.values import value_columns

Shape = Literal["long", "wide", "row-per-series", "day-rows"]
AsShape = Literal["same", "long", "wide", "row-per-series", "day-rows"]

SHAPES = tuple(shape for shape in get_args(Shape) if shape != "long")
"""Shapes that are written next to the data, each in a table of its name."""

MOST_COLUMNS = 20_000

_AS_READ: Mapping[str, Shape] = {
    "column-per-series": "wide",
    "row-per-series": "row-per-series",
    "day-rows": "day-rows",
}


def shape_like(origin: Origin | None) -> Shape:
    """The shape of the table that was read; long if unknown, or if it was split into days."""
    reading = {} if origin is None else origin.reading
    return "long" if "split" in reading else _AS_READ.get(str(reading.get("shape")), "long")


def write_shape(panel: Panel, shape: Shape, folder: Path, file_format: FileFormat) -> list[Path]:
    """Write a panel under its pseudonyms, in the order of the data; nothing if that is already its shape."""
    if shape == "long":
        return []
    path = folder / f"{shape}.{file_format}"
    write_blocks(iter([shaped(panel, shape)]), path, file_format)
    return [path]


def shape_findings(path: Path, files: Mapping[str, Any], published: Panel) -> list[str]:
    """Tables in other shapes that do not say what the data says."""
    findings = []
    for name in sorted(files):
        if (shape := table_of(name)) not in SHAPES:
            continue
        try:
            expected = shaped(published, shape)  # type: ignore[arg-type]
            if name.endswith(".csv"):
                refuse_other_text(path / name, csv_frame(expected))
            elif not pa.concat_tables(parquet_blocks(path / name, expected.schema)).equals(expected):
                raise NotAPanelError("it has other values")
        except (NotAPanelError, ParameterError, OSError, pa.ArrowException, KeyError, ValueError, TypeError):
            findings.append(f"{name} does not say the same as the data")
    return findings


def shaped(panel: Panel, shape: Shape) -> pa.Table:
    """A panel as a table of another shape; missing is null."""
    values = panel.values.reshape(panel.n_series, panel.n_instants, panel.n_channels)
    names = [str(name) for name in panel.ids]
    if shape == "wide":
        _refuse_columns(shape, panel.n_series)
        times = time_array(np.repeat(panel.times, panel.n_channels), panel.timezone)
        rows = values.transpose(1, 2, 0).reshape(-1, panel.n_series)
        return _table({"time": times} | _channels(panel, panel.n_instants), rows, names)
    if shape == "row-per-series":
        _refuse_columns(shape, panel.n_instants)
        ids = {"id": pa.array(np.repeat(names, panel.n_channels).tolist(), pa.string())}
        rows = values.transpose(0, 2, 1).reshape(-1, panel.n_instants)
        return _table(ids | _channels(panel, panel.n_series), rows, time_texts(panel.times, panel.timezone))
    if panel.times.dtype.kind != "M":
        raise ParameterError("Day rows need timestamps, and the times of this panel are numbers. Use another shape.")
    clock = local_times(panel.times, panel.timezone)
    days, day = np.unique(clock.astype("datetime64[D]"), return_inverse=True)
    columns, place = _slots(clock, day.reshape(-1))
    cells = np.full((panel.n_series, len(days), panel.n_channels, len(columns)), np.nan)
    cells[:, day.reshape(-1), :, place] = values.transpose(1, 0, 2)
    n_rows = len(days) * panel.n_channels
    head = {
        "id": pa.array(np.repeat(names, n_rows).tolist(), pa.string()),
        "date": pa.array(np.tile(np.repeat(days, panel.n_channels), panel.n_series), pa.date32()),
    }
    return _table(head | _channels(panel, panel.n_series * len(days)), cells.reshape(-1, len(columns)), columns)


def _slots(clock: NDArray[Any], day: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Names of the columns of a day, and for each instant its place among them."""
    times = clock - clock.astype("datetime64[D]")
    distinct, place = np.unique(times, return_inverse=True)
    place = place.reshape(-1)
    if len(np.unique(np.stack([day, place]), axis=1).T) == len(clock):
        texts = [str(np.datetime64(0, "us") + time)[11:] for time in distinct]
        short = all(text.endswith(":00.000000") for text in texts)
        return [text[:5] if short else text for text in texts], place
    starts = np.flatnonzero(np.diff(day, prepend=-1))
    number = np.arange(len(day)) - starts[day]
    return [str(n + 1) for n in range(int(number.max()) + 1)], number


def _channels(panel: Panel, n: int) -> dict[str, pa.Array]:
    """The column that names channels, if there are several."""
    if panel.n_channels == 1:
        return {}
    return {"channel": pa.array(value_columns(panel.channels) * n, pa.string())}


def _table(head: dict[str, pa.Array], rows: NDArray[np.float64], names: list[str]) -> pa.Table:
    columns = [pa.array(np.ascontiguousarray(rows[:, at]), pa.float64(), from_pandas=True) for at in range(len(names))]
    return pa.table([*head.values(), *columns], names=[*head, *names])


def _refuse_columns(shape: str, n: int) -> None:
    if n > MOST_COLUMNS:
        raise ParameterError(
            f"A table of shape {shape} would have {n} columns, more than {MOST_COLUMNS}. Use long or day-rows."
        )
