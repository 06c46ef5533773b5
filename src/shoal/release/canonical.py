"""Published tables, read only as Shoal writes them.

Readers of a table see more than its numbers: types, texts, and marks for missing values. Two rows that look alike after
a conversion may differ before it, so nothing is converted here:

    Parquet  exactly the types that are written; missing is null and never NaN; the statistics in the footer and the
             dictionaries are those of the rows; no more rows than the certificate counts
    CSV      writing what was read gives the same bytes

Tables are read block by block, so that a small file that unpacks to a large one is refused before it fills the memory.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.errors import ReleaseError
from shoal.model.keyed_names import NAME_LENGTH
from shoal.release.files import NotAPanelError, column_times, csv_frame, parse_times, unreadable
from shoal.release.parquet_pages import Unused, refuse_odd_footer, refuse_overlaps

BLOCK_ROWS = 1 << 17
_CSV_BLOCK = 1 << 22
_LONGEST_LINE = 1 << 20
_BROKEN = (OSError, pa.ArrowException, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, OverflowError)


class LongTable(NamedTuple):
    """A table with one row for each series, or profile, and instant."""

    names: list[Any]
    """The label of each series, in the order of the file."""
    clock: NDArray[Any]
    """The instants of all of them."""
    whole: NDArray[np.int64]
    """Columns of whole numbers (series, instants, columns)."""
    figures: NDArray[np.float64]
    """Columns of figures (series, instants, columns), NaN if nothing is published."""


def read_long(
    path: Path,
    label: str,
    figures: Sequence[str],
    *,
    what: str,
    timezone: str | None,
    most_rows: int | None,
    whole: Sequence[str] = (),
    label_type: pa.DataType | None = None,
) -> LongTable:
    """Read a published table back: `label`, whole numbers `whole`, `time` and numbers `figures`.

    Raises ReleaseError if it cannot be read or has other columns, NotAPanelError if it is not as Shoal writes it, or
    not a whole panel: every label one run, in order, all of the same length and at the same instants. `what` is a row
    in words; without `most_rows`, the memory of this machine is the limit.
    """
    types = [(label, label_type or pa.string()), *((name, pa.int64()) for name in whole)]
    schema = pa.schema([*types, ("time", _time_type(path, timezone)), *((n, pa.float64()) for n in figures)])
    n_rows = _count_rows(path)
    if most_rows is not None:
        refuse_more_rows(path, n_rows, most_rows)
    _refuse_too_large(path, 8 * n_rows * (len(figures) + len(whole)))
    table = _Rows(n_rows, len(whole), len(figures))
    for block in _blocks(path, schema):
        table.add(block, label, whole, figures)
    return table.shaped(path, what)


def read_labels(path: Path, columns: Mapping[str, pa.DataType], *, most_rows: int) -> pl.DataFrame:
    """Read a table without instants back, its columns of the given types and without gaps; errors as of `read_long`."""
    schema = pa.schema(list(columns.items()))
    n_rows = 0 if path.suffix == ".csv" else _count_rows(path)
    refuse_more_rows(path, n_rows, most_rows)
    try:
        if path.suffix == ".csv":
            frame = pl.read_csv(path, schema_overrides=pl.DataFrame(schema.empty_table()).schema, glob=False)
            refuse_other_text(path, csv_frame(frame.to_arrow()))
        else:
            blocks = list(parquet_blocks(path, schema))
            frame = pl.DataFrame(pa.concat_tables([schema.empty_table(), *blocks]))
        if frame.columns != schema.names or any(frame[name].null_count() for name in columns):
            raise KeyError
    except NotAPanelError as error:
        raise NotAPanelError(f"{path.name} {error}") from None
    except _BROKEN:
        raise unreadable(path) from None
    return frame


def refuse_more_rows(path: Path, n_rows: int, most_rows: int) -> None:
    """Raise if a table has more rows than its certificate counts."""
    if n_rows > most_rows:
        raise NotAPanelError(f"{path.name} has {n_rows} rows, release.json counts {most_rows}")


def refuse_other_text(path: Path, frame: pl.DataFrame) -> None:
    """Raise if a CSV is not, byte for byte, what writing this table gives."""
    again, found = io.BytesIO(), path.read_bytes()
    frame.write_csv(again)
    if again.getvalue() != found:
        row = max(0, _first_difference(found, again.getvalue()) - 1)
        raise RowError(row, "is not written as Shoal writes it: each entry has exactly one spelling")


def _blocks(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file, some at a time."""
    blocks = csv_blocks(path, schema) if path.suffix == ".csv" else parquet_blocks(path, schema)
    n_read = 0
    while True:
        try:
            block = next(blocks, None)
        except NotAPanelError as error:
            raise NotAPanelError(f"{path.name} {error}") from None
        except _BROKEN:
            raise unreadable(path) from None
        if block is None:
            return
        if any(block[name].null_count for name in schema.names if schema.field(name).type != pa.float64()):
            raise unreadable(path)
        _refuse_infinite(path, block, n_read)
        n_read += block.num_rows
        yield block


class RowError(NotAPanelError):
    """A row is not as Shoal writes it."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(f"row {row} (counted from 0) {text}")


def _refuse_infinite(path: Path, block: pa.Table, n_before: int) -> None:
    for field in block.schema:
        if field.type == pa.float64() and pc.any(pc.is_inf(block[field.name])).as_py():
            row = n_before + int(np.argmax(pc.fill_null(pc.is_inf(block[field.name]), False).to_numpy()))
            raise NotAPanelError(f"{path.name} row {row} (counted from 0) holds an infinite value")


def parquet_blocks(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a Parquet file, some at a time, if its columns are exactly these and its footer is true.

    Raises KeyError if it has other columns, and NotAPanelError, without the name of the file, if these are not of the
    types that are written, hold NaN, or have statistics or dictionaries that do not match the rows.
    """
    refuse_odd_footer(path)
    with pq.ParquetFile(path, pre_buffer=False) as file:
        refuse_other_types(file, schema)
        refuse_overlaps(file.metadata)
        n_seen = 0
        for group in range(file.metadata.num_row_groups):
            extremes = _Extremes(schema)
            chunks = [file.metadata.row_group(group).column(place) for place in range(len(schema))]
            unused = [Unused(path, chunk, field.type) for chunk, field in zip(chunks, schema, strict=True)]
            for batch in file.iter_batches(BLOCK_ROWS, row_groups=[group], use_threads=False):
                # Texts of other libraries may be of 64 bits.
                block = pa.Table.from_batches([batch]).cast(schema)
                refuse_nan(block, n_seen)
                extremes.add(block)
                for column, left in zip(block.columns, unused, strict=True):
                    left.see(column)
                n_seen += block.num_rows
                yield block
            extremes.compare(file.metadata.row_group(group))
            for left in unused:
                left.refuse()


def refuse_other_types(file: pq.ParquetFile, schema: pa.Schema) -> None:
    """Raise unless the columns of a file are these, of these types: a conversion might make unequal entries equal."""
    schema_in_file = file.schema_arrow
    if schema_in_file.names != schema.names:
        raise KeyError
    reference = io.BytesIO()
    pq.write_table(schema.empty_table(), reference)
    written = pq.ParquetFile(reference).schema
    for place, (field, expected) in enumerate(zip(schema_in_file, schema, strict=True)):
        stored = [
            (c.physical_type, str(c.logical_type), c.max_definition_level, c.max_repetition_level, c.path)
            for c in (file.schema.column(place), written.column(place))
        ]
        if plain_text(field.type) != expected.type or field.nullable != expected.nullable or stored[0] != stored[1]:
            raise NotAPanelError(f"has another type in column {expected.name!r} than Shoal writes")


def plain_text(kind: pa.DataType) -> pa.DataType:
    """The type, and of texts that of short offsets: what libraries make of the same column of a file."""
    return pa.string() if kind in (pa.large_string(), pa.string_view()) else kind


def refuse_nan(block: pa.Table, n_before: int = 0) -> None:
    """Raise if a figure is NaN: its bits may hold anything, and it may look missing."""
    for field in block.schema:
        if pa.types.is_floating(field.type):
            nan = pc.fill_null(pc.is_nan(block[field.name]), False)
            if pc.any(nan).as_py():
                raise RowError(n_before + int(np.argmax(nan.to_numpy())), "holds NaN where nothing may be")


class _Extremes:
    """Smallest and largest entry of each column of a row group, to compare with those in the footer."""

    def __init__(self, schema: pa.Schema) -> None:
        self.columns: list[list[Any]] = [[None, None, 0] for _ in schema]

    def add(self, block: pa.Table) -> None:
        for found, column in zip(self.columns, block.columns, strict=True):
            found[2] += column.null_count
            ends = pc.min_max(_as_stored(column)).as_py()
            if ends["min"] is not None:
                found[0] = ends["min"] if found[0] is None else min(found[0], ends["min"])
                found[1] = ends["max"] if found[1] is None else max(found[1], ends["max"])

    def compare(self, group: Any) -> None:
        """Raise if the footer contradicts the rows; saying nothing is fine."""
        for place, (low, high, n_missing) in enumerate(self.columns):
            told = group.column(place).statistics
            if told is None:
                continue
            wrong = told.null_count is not None and told.null_count != n_missing
            if told.has_min_max:
                in_time = told.logical_type.type in ("TIMESTAMP", "DATE")
                ends = (told.min_raw, told.max_raw) if in_time else (told.min, told.max)
                wrong = wrong or not _says(ends[0], low, is_low=True) or not _says(ends[1], high, is_low=False)
            if wrong or told.distinct_count:
                raise NotAPanelError(
                    f"has statistics of column {group.column(place).path_in_schema!r} that do not match its rows"
                )


def _as_stored(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and instants as numbers: two of them may have one text when clocks are turned back."""
    if pa.types.is_date(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column


def _says(told: Any, found: Any, *, is_low: bool) -> bool:
    """Whether an end in a footer matches the rows; long texts may be cut there, the upper end then rounded up."""
    if isinstance(told, str | bytes) and isinstance(found, str):
        text = told.encode() if isinstance(told, str) else told
        own = found.encode()
        return text == own or (len(text) >= 16 and (own.startswith(text) if is_low else own.startswith(text[:-1])))
    return bool(told == found)


def csv_blocks(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a CSV without quotes, some megabytes at a time, if writing them again gives the same bytes.

    Raises KeyError if it has other columns, and NotAPanelError, without the name of the file, if an entry is not
    written as Shoal writes it.
    """
    n_seen = 0
    with path.open("rb") as file:
        if file.readline(_LONGEST_LINE).decode() != ",".join(schema.names) + "\n":
            raise KeyError
        while chunk := file.read(_CSV_BLOCK):
            chunk += file.readline(_LONGEST_LINE)
            block = _parsed(chunk, schema, n_seen)
            refuse_nan(block, n_seen)
            again = io.BytesIO()
            csv_frame(block).write_csv(again, include_header=False)
            if again.getvalue() != chunk:
                row = _first_difference(chunk, again.getvalue())
                raise RowError(n_seen + row, "is not written as Shoal writes it: each entry has exactly one spelling")
            n_seen += block.num_rows
            yield block


def _parsed(chunk: bytes, schema: pa.Schema, n_before: int) -> pa.Table:
    texts = pl.read_csv(
        io.BytesIO(chunk), has_header=False, new_columns=schema.names, infer_schema=False, quote_char=None
    )
    if texts.columns != schema.names:
        raise KeyError
    columns = []
    for name, field in zip(texts.columns, schema, strict=True):
        column = texts[name]
        if field.type == pa.string():
            typed = column
        elif pa.types.is_timestamp(field.type):
            typed = parse_times(column, zoned=field.type.tz is not None)
        else:
            typed = column.cast(pl.Float64 if field.type == pa.float64() else pl.Int64, strict=False)
        odd = typed.is_null() & column.is_not_null()
        if odd.any():
            kind = "instant" if field.name == "time" else "number"
            raise RowError(n_before + int(odd.arg_max() or 0), f"holds something that is no {kind}")
        columns.append(pa.array(typed.to_arrow()).cast(field.type))
    return pa.table(columns, schema=schema)


def _first_difference(one: bytes, other: bytes) -> int:
    lines = zip(one.split(b"\n"), other.split(b"\n"), strict=False)
    return next((row for row, (a, b) in enumerate(lines) if a != b), 0)


def _time_type(path: Path, timezone: str | None) -> pa.DataType:
    """The one type that instants may have: whole numbers, or microseconds, in the zone that the certificate names."""
    try:
        if path.suffix == ".csv":
            with path.open("rb") as file:
                names, first = (file.readline(_LONGEST_LINE).decode().rstrip("\n").split(",") for _ in range(2))
            is_whole = dict(zip(names, first, strict=False))["time"].lstrip("-").isdigit()
        else:
            is_whole = pa.types.is_integer(pq.read_schema(path).field("time").type)
    except (*_BROKEN, IndexError):
        raise unreadable(path) from None
    return pa.int64() if is_whole and timezone is None else pa.timestamp("us", tz=timezone)


def count_odd_names(names: pa.Array) -> int:
    """How many names are not written as pseudonyms are: this many hexadecimal digits."""
    matched = pc.match_substring_regex(names, f"^[0-9a-f]{{{NAME_LENGTH}}}$")
    return len(names) - int(pc.sum(matched).as_py() or 0)


def _count_rows(path: Path) -> int:
    """Rows by the footer, or lines after the first."""
    try:
        if path.suffix != ".csv":
            return int(pq.read_metadata(path).num_rows)
        with path.open("rb") as stream:
            return max(0, sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(_CSV_BLOCK), b"")) - 1)
    except _BROKEN:
        raise unreadable(path) from None


def _refuse_too_large(path: Path, n_bytes: int) -> None:
    """Refuse what unpacks to more than this machine can hold; large groups compress well, so no ratio reveals a
    bomb."""
    if n_bytes > os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"):
        raise ReleaseError(
            f"{path.name} would unpack to {n_bytes / 2**30:.1f} GiB of values, more than this machine has memory. Read "
            "it on a larger one."
        )


class _Rows:
    """Rows of a long table as they are read."""

    def __init__(self, n_rows: int, n_whole: int, n_figures: int) -> None:
        self.whole, self.figures = np.empty((n_rows, n_whole), np.int64), np.empty((n_rows, n_figures))
        self.n_read = 0
        self.names: list[Any] = []
        self.starts: list[NDArray[np.int64]] = []
        self.last: Any = None
        self.first_times: list[NDArray[Any]] = []  # until the first series ends
        self.clock: NDArray[Any] | None = None
        self.odd_row: int | None = None

    def add(self, block: pa.Table, label: str, whole: Sequence[str], figures: Sequence[str]) -> None:
        if not block.num_rows:
            return
        labels = block[label].combine_chunks()
        new = np.empty(len(labels), dtype=np.bool_)
        new[0] = self.n_read == 0 or labels[0].as_py() != self.last
        new[1:] = pc.not_equal(labels[1:], labels[:-1]).to_numpy(zero_copy_only=False)
        places = np.flatnonzero(new)
        self.names += labels.take(pa.array(places)).to_pylist()
        self.starts.append(places + self.n_read)
        self.last = labels[-1].as_py()
        self._compare_times(column_times(block), places)
        rows = slice(self.n_read, self.n_read + block.num_rows)
        for target, names in ((self.whole, whole), (self.figures, figures)):
            for place, name in enumerate(names):
                target[rows, place] = block[name].to_numpy()
        self.n_read += block.num_rows

    def _compare_times(self, times: NDArray[Any], starts: NDArray[np.int64]) -> None:
        if self.clock is None:
            second = starts[starts + self.n_read > 0]
            self.first_times.append(times[: second[0]] if len(second) else times)
            if not len(second):
                return
            self.clock = np.concatenate(self.first_times)
        if self.odd_row is None:
            at = (self.n_read + np.arange(len(times))) % len(self.clock)
            odd = times != self.clock[at]
            self.odd_row = self.n_read + int(odd.argmax()) if odd.any() else None

    def shaped(self, path: Path, what: str) -> LongTable:
        """The table, if it is a whole panel."""
        n = len(self.names)
        starts = np.concatenate(self.starts) if self.starts else np.array([], int)
        length = self.n_read // n if n else 0
        whole_runs = n and self.n_read == n * length == len(self.figures)
        if not whole_runs or not np.array_equal(starts, np.arange(n) * length):
            raise NotAPanelError(f"{path.name} is no longer a whole panel: rows are missing, added or out of order.")
        if self.odd_row is not None:
            raise NotAPanelError(
                f"{path.name}: {what} {self.odd_row // length} is not at the instants of the first one."
            )
        clock = np.concatenate(self.first_times) if self.clock is None else self.clock
        if (late := next((i for i in range(1, n) if not self.names[i - 1] < self.names[i]), None)) is not None:
            raise NotAPanelError(f"{path.name}: {what} {late} is not in the order of the names, or occurs twice.")
        whole = self.whole.reshape(n, length, self.whole.shape[1])
        return LongTable(self.names, clock, whole, self.figures.reshape(n, length, self.figures.shape[1]))
