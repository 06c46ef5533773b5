"""CSV and Parquet files, single, in folders or by pattern."""

from __future__ import annotations

import contextlib
import csv
import gzip
import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from shoal.errors import InputError
from shoal.read.tables import Table, plain, rows_per_batch

_SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".tsv": "csv", ".tsv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_ACCEPTED = ".csv, .csv.gz, .tsv, .parquet or .pq"
_BLOCK = 1 << 20
_CSV_BLOCK = 1 << 24
"""Bytes per block of a CSV: a row must fit into one, and wide tables have long rows."""


def open_files(source: str) -> Table:
    """A file, a folder or a pattern as one table."""
    kind, paths = find_files(source)
    sha256 = tuple(digest(path) for path in paths)
    return (CsvTable if kind == "csv" else ParquetTable)(source, paths, sha256)


def find_files(source: str) -> tuple[str, list[Path]]:
    """The kind of the files ("csv" or "parquet") and their paths in order."""
    try:
        path = Path(source).expanduser()
        is_file, is_folder = path.is_file(), path.is_dir()
        odd = not source.isprintable()
    except (OSError, RuntimeError):
        odd = True
    if odd:
        # Not echoed: this long or of several lines, it is rather a query than a name.
        raise InputError("The source is not the name of a file. Give a query as sql=.")
    if is_file:
        kind = kind_of(path)
        if kind is None:
            raise InputError(f"Cannot read {source}: its name must end in {_ACCEPTED}.")
        return kind, [path]
    if is_folder:
        found = [p for p in path.rglob("*") if p.is_file() and not _hidden(p.relative_to(path))]
    elif any(sign in source for sign in "*?["):
        found = _matching(source, path)
    else:
        raise InputError(f"No such file: {source}")
    by_kind = {kind: sorted(p for p in found if kind_of(p) == kind) for kind in ("csv", "parquet")}
    n_csv, n_parquet = len(by_kind["csv"]), len(by_kind["parquet"])
    if n_csv and n_parquet:
        raise InputError(
            f"{source} holds {n_csv} CSV and {n_parquet} Parquet files. Keep one kind, or narrow it with a pattern."
        )
    if not n_csv and not n_parquet:
        raise InputError(f"No file with a name ending in {_ACCEPTED} at {source}.")
    return ("csv", by_kind["csv"]) if n_csv else ("parquet", by_kind["parquet"])


def _matching(source: str, pattern: Path) -> list[Path]:
    root = Path(pattern.anchor or ".")
    try:
        found = list(root.glob(str(pattern.relative_to(pattern.anchor))))
    except (ValueError, NotImplementedError):
        raise InputError(f"The pattern {source} cannot be read: ** must stand alone between slashes.") from None
    return [path for path in found if path.is_file() and not path.name.startswith(".")]


def kind_of(path: Path) -> str | None:
    """What a file is by its name: "csv", "parquet", or None."""
    name = path.name.lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


def _hidden(path: Path) -> bool:
    # Spark and editors leave files such as _SUCCESS and .part.crc beside the data.
    return any(part.startswith((".", "_")) for part in path.parts)


def digest(path: Path) -> str:
    """SHA-256 of a file in hexadecimal."""
    state = hashlib.sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                state.update(block)
    except OSError as error:
        raise InputError(f"A file cannot be opened: {error.strerror}.") from None
    return state.hexdigest()


class _FileTable(Table):
    """Files of one kind, one after another. Columns are matched by name."""

    what = ""

    def __init__(self, source: str, paths: Sequence[Path], sha256: tuple[str, ...], *, untyped: bool) -> None:
        self.source = source
        self.paths = list(paths)
        headers = [self._checked(position, lambda p=path: self._header(p)) for position, path in enumerate(paths)]
        if blank := sum(not header for header in headers):
            raise InputError(
                f"{blank} of {len(paths)} files at {source} have no columns: the first line must name them."
            )
        super().__init__(headers[0], kind="file", sha256=sha256, untyped=untyped)
        self._order = [self._match(position, header) for position, header in enumerate(headers)]

    def _header(self, path: Path) -> list[str]:
        raise NotImplementedError

    def _read(self, path: Path, columns: Sequence[int]) -> Iterator[list[Any]]:
        raise NotImplementedError

    def _name(self, position: int) -> str:
        # A file inside a folder may be named after the person it is about; what the user typed is not.
        return self.source if len(self.paths) == 1 else f"File {position + 1} of {len(self.paths)} in {self.source}"

    def _match(self, position: int, header: list[str]) -> list[int]:
        if header == list(self.names):
            return list(range(len(header)))
        if sorted(header) != sorted(self.names) or len(set(header)) != len(header):
            raise InputError(
                f"{self._name(position)} has other columns than the first ({len(header)} against {len(self.names)}). "
                "Read files with the same columns together."
            )
        return [header.index(name) for name in self.names]

    def _checked(self, position: int, work: Any) -> Any:
        try:
            return work()
        except (pa.ArrowException, OSError, EOFError, csv.Error, UnicodeDecodeError) as error:
            raise InputError(self._complaint(position, error)) from None

    def _complaint(self, position: int, error: Exception) -> str:
        return f"{self._name(position)} cannot be read as {self.what}: it is damaged or of another kind."

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Batches of every file in order."""
        done = object()
        for position, (path, order) in enumerate(zip(self.paths, self._order, strict=True)):
            parts = self._read(path, [order[c] for c in columns])
            while (batch := self._checked(position, lambda parts=parts: next(parts, done))) is not done:
                yield plain(batch)


class ParquetTable(_FileTable):
    """Parquet files, read row group by row group."""

    what = "Parquet"

    def __init__(self, source: str, paths: Sequence[Path], sha256: tuple[str, ...]) -> None:
        super().__init__(source, paths, sha256, untyped=False)

    def _header(self, path: Path) -> list[str]:
        with pyarrow.parquet.ParquetFile(path) as file:
            return list(file.schema_arrow.names)

    def _read(self, path: Path, columns: Sequence[int]) -> Iterator[list[Any]]:
        # A buffered stream: one row group may be as large as the file.
        with pyarrow.parquet.ParquetFile(path, buffer_size=_BLOCK) as file:
            names = file.schema_arrow.names
            wanted = [names[c] for c in columns]
            for batch in file.iter_batches(batch_size=rows_per_batch(len(columns)), columns=wanted):
                yield [batch.column(name) for name in wanted]


class CsvTable(_FileTable):
    """CSV files with a header; every column is text, so that 007 stays 007. The separator is found in the header."""

    what = "CSV"

    def __init__(self, source: str, paths: Sequence[Path], sha256: tuple[str, ...]) -> None:
        super().__init__(source, paths, sha256, untyped=True)

    def _header(self, path: Path) -> list[str]:
        return read_header(path)[0]

    def _complaint(self, position: int, error: Exception) -> str:
        text = str(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            return f"{self._name(position)} is not UTF-8 text. Save it as UTF-8."
        if "CSV parse error" in text:
            return (
                f"{self._name(position)} has rows with another number of columns than its header. "
                "Quote entries that hold the separator."
            )
        return super()._complaint(position, error)

    def _read(self, path: Path, columns: Sequence[int]) -> Iterator[list[Any]]:
        header, separator, n_lines = read_header(path)
        names = [str(position) for position in range(len(header))]
        wanted = [names[c] for c in columns]
        unique = list(dict.fromkeys(wanted))
        with pa.input_stream(str(path), compression="gzip" if path.name.lower().endswith(".gz") else None) as stream:
            if not _has_rows(path, n_lines):
                return
            reader = pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK, skip_rows=n_lines, column_names=names),
                pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(unique, pa.string()), include_columns=unique),
            )
            step = rows_per_batch(len(columns))
            for batch in reader:
                for start in range(0, len(batch), step):
                    part = batch.slice(start, step)
                    yield [part.column(name) for name in wanted]


def read_header(path: Path) -> tuple[list[str], str, int]:
    """The names of the columns of a CSV, its separator, and how many lines the header takes."""
    with _open_text(path) as stream:
        first = stream.readline()
        if not first.strip():
            return [], ",", 1
        separator = "\t" if ".tsv" in path.name.lower() else _separator(first)
        stream.seek(0)
        reader = csv.reader(stream, delimiter=separator)
        header = next(reader, [])
        return [name.strip() for name in header], separator, reader.line_num


@contextlib.contextmanager
def _open_text(path: Path) -> Iterator[io.TextIOBase]:
    unpack = gzip.open if path.name.lower().endswith(".gz") else open
    with unpack(path, "rb") as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        yield text


def _separator(line: str) -> str:
    outside = "".join(line.split('"')[::2])
    return max(",;\t|", key=outside.count)


def _has_rows(path: Path, n_lines: int) -> bool:
    # pyarrow calls a file that ends after the skipped lines damaged; to us it is a table without rows.
    with _open_text(path) as stream:
        for _ in range(n_lines):
            stream.readline()
        return any(line.strip() for line in stream)
