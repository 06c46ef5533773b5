"""The published table: `id,time,value`, sorted by pseudonym and time, as Parquet or CSV."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import InputError, ReleaseError
from shoal.model import Panel

FileFormat = Literal["parquet", "csv"]

_ROWS_AT_ONCE = 1 << 20


class NotAPanelError(ReleaseError):
    """The table can be read but is not a whole panel any more."""


def value_columns(channels: tuple[str, ...]) -> list[str]:
    """Names of the published value columns. A single channel is always called "value"."""
    if len(channels) == 1:
        return ["value"]
    # Plain words only, so that every reader of CSV takes them; never a name that is taken.
    taken = ["id", "time"]
    for name in channels:
        word = re.sub(r"\W", "_", name)
        while word in taken:
            word = f"value_{word}"
        taken.append(word)
    return taken[2:]


def write_values(panel: Panel, names: list[str], path: Path, file_format: FileFormat) -> None:
    """Write the rows of a panel under new names, in the order of the names."""
    order = np.argsort(np.array(names))
    per_block = max(1, _ROWS_AT_ONCE // panel.n_instants)
    blocks = [order[i : i + per_block] for i in range(0, len(order), per_block)]
    if file_format == "parquet":
        schema = _table(panel, names, blocks[0][:0], panel.timezone).schema
        # zstd: half the size of the default at the same speed of reading.
        with pq.ParquetWriter(path, schema, compression="zstd") as writer:
            for block in blocks:
                writer.write_table(_table(panel, names, block, panel.timezone))
    else:
        with path.open("wb") as file:
            for i, block in enumerate(blocks):
                # polars prints the shortest text that reads back as the same float, so equal stays equal.
                frame = pl.DataFrame(_table(panel, names, block, zone=None))
                if frame["time"].dtype == pl.Datetime:
                    # With a zone the instants are UTC, marked Z; without one they are the local clock, unmarked.
                    iso = "%Y-%m-%dT%H:%M:%S%.f" + ("Z" if panel.timezone else "")
                    frame = frame.with_columns(pl.col("time").dt.strftime(iso))
                frame.write_csv(file, include_header=i == 0)


def read_values(path: Path, channels: tuple[str, ...], timezone: str | None) -> Panel:
    """Read a published table back, rows in the order of the file; ids are the pseudonyms."""
    columns = value_columns(channels)
    try:
        if path.suffix == ".csv":
            frame = pl.read_csv(path, schema_overrides={"id": pl.String, **dict.fromkeys(columns, pl.Float64)})
            if frame["time"].dtype == pl.String:
                clock = pl.col("time").str.strip_suffix("Z").str.to_datetime(time_unit="us", strict=True)
                frame = frame.with_columns(clock)
            table = frame.to_arrow()
        else:
            table = pq.read_table(path, read_dictionary=["id"])
        if table.column_names != ["id", "time", *columns]:
            raise KeyError
        ids = table["id"].combine_chunks()
        times = _plain_times(table["time"])
        values = [np.asarray(table[c].cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64) for c in columns]
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, TypeError, ValueError):
        if path.suffix == ".csv":
            _find_text(path, columns)
        raise ReleaseError(
            f"{path.name} cannot be read: it is truncated, has other columns, or is not a {path.suffix[1:]} table."
        ) from None
    return _as_panel(path.name, ids, times, values, channels, timezone)


def _find_text(path: Path, columns: list[str]) -> None:
    """Name the first row of a CSV whose value is no number any more."""
    try:
        texts = pl.read_csv(path, infer_schema=False)
        wrong = texts.select(
            pl.any_horizontal(
                pl.col(c).is_not_null() & pl.col(c).cast(pl.Float64, strict=False).is_null() for c in columns
            )
        ).to_series()
    except (OSError, pl.exceptions.PolarsError):
        return
    if wrong.any():
        raise NotAPanelError(f"{path.name} row {wrong.arg_max()} (counted from 0) holds something that is no number")


def _table(panel: Panel, names: list[str], rows: NDArray[np.int64], zone: str | None) -> pa.Table:
    n_instants = panel.n_instants
    values = panel.values[rows].reshape(len(rows) * n_instants, panel.n_channels)
    times = np.tile(panel.times, len(rows))
    kind = pa.int64() if times.dtype.kind == "i" else pa.timestamp("us", tz=zone)
    arrays = [
        pa.array([names[i] for i in rows], pa.string()).take(pa.array(np.repeat(np.arange(len(rows)), n_instants))),
        pa.array(times, kind),
        *(pa.array(values[:, c], pa.float64(), from_pandas=True) for c in range(panel.n_channels)),
    ]
    return pa.table(arrays, names=["id", "time", *value_columns(panel.channels)])


def _plain_times(column: pa.ChunkedArray) -> NDArray[Any]:
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def _as_panel(
    name: str,
    ids: Any,
    times: NDArray[Any],
    values: list[NDArray[np.float64]],
    channels: tuple[str, ...],
    timezone: str | None,
) -> Panel:
    if pa.types.is_dictionary(ids.type):
        codes, labels = ids.indices.to_numpy(zero_copy_only=False), ids.dictionary.to_pylist()
    else:
        encoded = ids.dictionary_encode()
        codes, labels = encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary.to_pylist()
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])) if len(codes) else np.array([], int)
    n_series = len(starts)
    if (
        not n_series
        or len(codes) % n_series
        or not np.array_equal(starts, np.arange(n_series) * (len(codes) // n_series))
    ):
        raise NotAPanelError(f"{name} is no longer a whole panel: rows are missing, added or out of order.")
    n_instants = len(codes) // n_series
    clock = times.reshape(n_series, n_instants)
    odd = np.flatnonzero((clock != clock[0]).any(axis=1))
    if len(odd):
        raise NotAPanelError(f"{name}: series {int(odd[0])} is not at the instants of the first one.")
    for column in values:
        if np.isinf(column).any():
            raise NotAPanelError(
                f"{name} row {int(np.isinf(column).argmax())} (counted from 0) holds an infinite value"
            )
    stacked = np.stack(values, axis=-1) if len(values) > 1 else values[0]
    shape = (n_series, n_instants, len(values)) if len(values) > 1 else (n_series, n_instants)
    try:
        return Panel(
            stacked.reshape(shape),
            ids=[labels[c] for c in codes[starts]],
            times=clock[0],
            channels=channels,
            timezone=timezone,
        )
    except InputError as error:
        raise NotAPanelError(f"{name} is no longer a panel: {error}") from None
