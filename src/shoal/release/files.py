"""Published tables as Parquet or CSV, written so that equal values read back equal; and their names.

A table of a release is one file, or in shards many, `data-00000.parquet` and so on. A part holds whole shards. Which
shards, and in which order, is drawn at random; so a part reveals only that its series were published together.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import ReleaseError
from shoal.read.zones import time_texts

T = TypeVar("T")

MOST_PARTS = 100_000

_PART = re.compile(r"(data|patterns|attributes|wide|row-per-series|day-rows)-(\d{5})\.(parquet|csv)")


def part_name(table: str, number: int | None) -> str:
    """The name of a part of a table; for a release in one part, that of the table.

    Examples
    --------
    >>> part_name("data.parquet", 3), part_name("data.parquet", None)
    ('data-00003.parquet', 'data.parquet')
    """
    stem, _, suffix = table.partition(".")
    return table if number is None else f"{stem}-{number:05}.{suffix}"


def part_numbers(files: Iterable[str]) -> list[int]:
    """The parts among the files of a release, in order; none if its tables are single files."""
    return sorted({int(found[2]) for name in files if (found := _PART.fullmatch(name))})


def files_by_part(files: Mapping[str, T]) -> dict[int, dict[str, T]]:
    """The tables of each part, in the order of their numbers; none if they are single files."""
    by_part: dict[int, dict[str, T]] = {number: {} for number in part_numbers(files)}
    for name, file in files.items():
        if part := _PART.fullmatch(name):
            by_part[int(part[2])][name] = file
    return by_part


def table_of(name: str) -> str:
    """The table that a file is, or is a part of: `data` of `data-00003.parquet`."""
    match = _PART.fullmatch(name)
    return match[1] if match else name.partition(".")[0]


def files_in(folder: Path) -> set[str]:
    """Every file in a folder and the folders in it, by its name from there; links are not followed."""
    names: set[str] = set()
    for place, folders, files in os.walk(folder):
        here = Path(place).relative_to(folder)
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        names |= {(here / name).as_posix() for name in (*files, *links)}
        if not files and not folders and Path(place) != folder:
            names.add(here.as_posix())  # an empty folder is something, too
    return names


FileFormat = Literal["parquet", "csv"]


class NotAPanelError(ReleaseError):
    """The table can be read but is no longer what was released."""


def time_array(times: NDArray[Any], timezone: str | None) -> pa.Array:
    """Instants as they are published: whole numbers, or UTC with a zone, or a clock without one."""
    return pa.array(times, pa.int64() if times.dtype.kind == "i" else pa.timestamp("us", tz=timezone))


def write_blocks(blocks: Iterator[pa.Table], path: Path, file_format: FileFormat) -> None:
    """Write blocks of rows one after another; the first defines the schema."""
    first = next(blocks)
    if file_format == "parquet":
        # zstd: half the size of the default at the same speed of reading.
        with pq.ParquetWriter(path, first.schema, compression="zstd") as writer:
            writer.write_table(first)
            for block in blocks:
                writer.write_table(block)
        return
    with path.open("wb") as file:
        csv_frame(first).write_csv(file)
        for block in blocks:
            csv_frame(block).write_csv(file, include_header=False)


def csv_frame(block: pa.Table) -> pl.DataFrame:
    """Rows of a CSV as polars prints them: the shortest text that reads back as the same float."""
    if "time" not in block.column_names:
        return pl.DataFrame(block)
    kind = block.schema.field("time").type
    if not pa.types.is_timestamp(kind):
        return pl.DataFrame(block)
    # With a zone, text shows local time with its offset, or Z for UTC; without one, local time unmarked.
    place = block.schema.get_field_index("time")
    times = np.asarray(block["time"].cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    distinct, which = np.unique(times, return_inverse=True)
    texts = pa.array(time_texts(distinct, kind.tz), pa.string()).take(pa.array(which.reshape(-1)))
    return pl.DataFrame(block.set_column(place, "time", texts))


def parse_times(texts: pl.Series, *, zoned: bool) -> pl.Series:
    """Times of a CSV as they are held, in UTC if they have an offset; null if a text is of another kind."""
    iso = "%Y-%m-%dT%H:%M:%S%.f"
    if not zoned:
        return texts.str.to_datetime(iso, time_unit="us", strict=False)
    instants = texts.str.replace("Z$", "+00:00").str.to_datetime(f"{iso}%:z", time_unit="us", strict=False)
    return instants.dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def unreadable(path: Path) -> ReleaseError:
    """The message for a table that cannot be read."""
    return ReleaseError(
        f"{path.name} cannot be read: it is truncated, has other columns, or is not a {path.suffix[1:]} table."
    )


def find_data(folder: Path, files: Mapping[str, Any], name: str = "data") -> Path:
    """The data file, or another table, among the files of a release in one part, or of one part."""
    candidates = sorted(file for file in files if table_of(file) == name and file.endswith((".csv", ".parquet")))
    if not candidates:
        raise ReleaseError(f"release.json names no {name} file.")
    return folder / candidates[-1]


def column_times(table: pa.Table) -> NDArray[Any]:
    """The column `time` without its zone."""
    column = table["time"]
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.timestamp("us")).to_numpy(), dtype="datetime64[us]")
    return np.asarray(column.cast(pa.int64()).to_numpy(), dtype=np.int64)
