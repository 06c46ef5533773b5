"""Published tables as Parquet or CSV, written so that equal values read back equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import ReleaseError
from shoal.read.zones import time_texts
from shoal.release.parts_names import parts_of

FileFormat = Literal["parquet", "csv"]


class NotAPanelError(ReleaseError):
    """The table can be read but is not what was released any more."""


def time_array(times: NDArray[Any], timezone: str | None) -> pa.Array:
    """Instants as they are published: whole numbers, or UTC with a zone, or a clock without one."""
    return pa.array(times, pa.int64() if times.dtype.kind == "i" else pa.timestamp("us", tz=timezone))


def write_blocks(blocks: Iterator[pa.Table], path: Path, file_format: FileFormat) -> None:
    """Write blocks of rows one after another; the first tells the schema."""
    first = next(blocks)
    if file_format == "parquet":
        # zstd: half the size of the default at the same speed of reading.
        with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
            writer.write_table(first)
            for block in blocks:
                writer.write_table(block)
        return
    with path.open("wb") as file:
        _csv(first).write_csv(file)
        for block in blocks:
            _csv(block).write_csv(file, include_header=False)


def _csv(block: pa.Table) -> pl.DataFrame:
    """Rows as polars prints them: the shortest text that reads back as the same float, so equal stays equal."""
    if "time" not in block.column_names:
        return pl.DataFrame(block)
    kind = block.schema.field("time").type
    if not pa.types.is_timestamp(kind):
        return pl.DataFrame(block)
    # With a zone the text is that of its clock with the offset, Z in UTC; without one the local clock, unmarked.
    place = block.schema.get_field_index("time")
    times = np.asarray(block["time"].cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    distinct, which = np.unique(times, return_inverse=True)
    texts = pa.array(time_texts(distinct, kind.tz), pa.string()).take(pa.array(which.reshape(-1)))
    return pl.DataFrame(block.set_column(place, "time", texts))


def _clock(texts: pl.Series) -> pl.Series:
    """Times of a CSV as they are held: UTC where they have an offset, all of them or none."""
    marked = texts.str.contains(r"(?:Z|[+-]\d\d:\d\d)$").fill_null(False)
    if not marked.any():
        return texts.str.to_datetime(time_unit="us", strict=True)
    if not marked.all():
        raise ValueError("times with and without an offset")
    instants = texts.str.replace("Z$", "+00:00").str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=True)
    return instants.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def read_labels(path: Path, columns: dict[str, Any]) -> pl.DataFrame:
    """Read a table without instants back, its columns of the given polars types, none of them empty."""
    try:
        if path.suffix == ".csv":
            frame = pl.read_csv(path, schema_overrides=columns)
        else:
            frame = pl.concat(pl.read_parquet(file) for file in _files_of(path))
        # Types as they were written: to turn them into others might turn unequal entries into equal ones.
        if list(frame.schema.items()) != list(columns.items()) or any(frame[name].null_count() for name in columns):
            raise KeyError
        return frame
    except (OSError, pl.exceptions.PolarsError, KeyError):
        raise unreadable(path) from None


def read_table(path: Path, labels: tuple[str, ...], figures: list[str], *, whole: tuple[str, ...] = ()) -> pa.Table:
    """Read a published table back: text columns `labels`, whole numbers `whole`, `time`, and numbers `figures`.

    Raises ReleaseError where it cannot be read or has other columns, NotAPanelError where a figure is no number.
    """
    try:
        if path.suffix == ".csv":
            kinds: dict[str, Any] = {**dict.fromkeys(labels, pl.String), **dict.fromkeys(whole, pl.Int64)}
            frame = pl.read_csv(path, schema_overrides=kinds | dict.fromkeys(figures, pl.Float64))
            if frame["time"].dtype == pl.String:
                frame = frame.with_columns(_clock(frame["time"]))
            table = frame.to_arrow()
        else:
            parts = [pq.read_table(file, read_dictionary=list(labels)) for file in _files_of(path)]
            table = pa.concat_tables(parts).unify_dictionaries() if parts[1:] else parts[0]
        if table.column_names != [*labels, *whole, "time", *figures]:
            raise KeyError
        if any(table[name].null_count for name in (*labels, *whole, "time")):
            raise KeyError
        return table
    except (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, TypeError, ValueError):
        if path.suffix == ".csv":
            _find_text(path, figures)
        raise unreadable(path) from None


def _files_of(path: Path) -> list[Path]:
    """A file, or the parts in a folder in their order."""
    return sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]


def unreadable(path: Path) -> ReleaseError:
    """What is said of a table that is none."""
    return ReleaseError(
        f"{path.name} cannot be read: it is truncated, has other columns, or is not a {path.suffix[1:]} table."
    )


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


def find_data(folder: Path, files: Mapping[str, Any], name: str = "data") -> Path:
    """The data file, or another table, among the files a certificate names; of a table in parts their folder."""
    for suffix in ("parquet", "csv"):
        if f"{name}.{suffix}" in files:
            return folder / f"{name}.{suffix}"
    if parts_of(files, f"{name}.parquet"):
        return folder / f"{name}.parquet"
    raise ReleaseError(f"release.json names no {name} file.")


def column_numbers(path: Path, table: pa.Table, name: str) -> NDArray[np.float64]:
    """A column of figures, NaN where nothing is published."""
    try:
        return np.asarray(table[name].cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
    except (pa.ArrowException, TypeError, ValueError):
        raise unreadable(path) from None


def column_counts(path: Path, table: pa.Table, name: str) -> NDArray[np.int64]:
    """A column of whole numbers."""
    try:
        return np.asarray(table[name].cast(pa.int64()).to_numpy(), np.int64)
    except (pa.ArrowException, TypeError, ValueError):
        raise unreadable(path) from None


def column_times(table: pa.Table) -> NDArray[Any]:
    """The column `time` without its zone."""
    column = table["time"]
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)


def column_codes(table: pa.Table, name: str) -> tuple[NDArray[np.int64], list[str]]:
    """A column of labels as numbers and the labels they stand for."""
    column = table[name].combine_chunks()
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()


def runs_and_clock(path: Path, table: pa.Table, label: str, what: str) -> tuple[list[str], NDArray[Any]]:
    """The names of the rows that a table holds instant by instant, and their instants (rows, instants).

    Every name must be one run, all of the same length and at the same instants; `what` is a row in words.
    """
    try:
        codes, labels = column_codes(table, label)
        times = column_times(table)
    except (pa.ArrowException, TypeError, ValueError):
        raise unreadable(path) from None
    starts = np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])) if len(codes) else np.array([], int)
    n = len(starts)
    if not n or len(codes) % n or not np.array_equal(starts, np.arange(n) * (len(codes) // n)):
        raise NotAPanelError(f"{path.name} is no longer a whole panel: rows are missing, added or out of order.")
    clock = times.reshape(n, len(codes) // n)
    odd = np.flatnonzero((clock != clock[0]).any(axis=1))
    if len(odd):
        raise NotAPanelError(f"{path.name}: {what} {int(odd[0])} is not at the instants of the first one.")
    return [labels[c] for c in codes[starts]], clock
