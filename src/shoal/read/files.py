"""CSV, Parquet and Excel files, single, in folders, archives or stores, as tables."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import io
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from shoal.errors import InputError
from shoal.read.locations import locate
from shoal.read.source_files import SourceFile, kind_of_bytes, shown
from shoal.read.tables import SourceTable, plain, rows_per_batch

_FEW_LINES = 1000
"""Line breaks inside entries that are accepted without a closer look."""


@dataclass(frozen=True)
class TextCounts:
    """Counts of quotation marks and lines in a file without zero bytes.

    An unclosed quotation mark turns every row below it into one entry, unnoticed if that column is not read.
    """

    path: Path
    n_quotes: int
    n_lines: int

    @classmethod
    def of(cls, path: Path) -> TextCounts:
        """Count at the speed of reading."""
        n_quotes = n_lines = 0
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                if b"\0" in block:
                    raise InputError(
                        "A file holds zero bytes in the middle of its text: it is damaged or not a text file."
                    )
                n_quotes += block.count(b'"')
                n_lines += block.count(b"\n")
        return cls(path, n_quotes, n_lines)

    def verify(self, n_rows: int, separator: str) -> None:
        """After reading `n_rows` rows: refuse a file that lost rows to an open quotation mark."""
        swallowed = self.n_quotes > 0 and self._many(self.n_lines, n_rows) and self._many(self._n_filled(), n_rows)
        if swallowed or (self.n_quotes % 2 and self._is_open_at_end(separator)):
            raise InputError(
                "A quotation mark in a file is never closed, so the rows below it would become one entry. Close it, "
                "or double it if it is intended."
            )

    def _many(self, n_lines: int, n_rows: int) -> bool:
        return n_lines - n_rows > max(n_rows, _FEW_LINES)

    def _n_filled(self) -> int:
        with self.path.open("rb") as stream:
            return sum(bool(line.strip()) for line in stream)

    def _is_open_at_end(self, separator: str) -> bool:
        """Called only if the number of quotation marks is odd: one may stand for inches inside an entry."""
        with io.TextIOWrapper(self.path.open("rb"), encoding="utf-8-sig", errors="replace", newline="") as text:
            try:
                for _ in csv.reader(text, delimiter=separator, strict=True):
                    pass
            except csv.Error:
                return True
        return False


_SUFFIXES = {".csv": "csv", ".csv.gz": "csv", ".tsv": "csv", ".tsv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_KINDS = {"text": "CSV", "parquet": "Parquet", "xlsx": "Excel", "json": "JSON", "xml": "XML"}
_FAILURES = (pa.ArrowException, OSError, EOFError, csv.Error, UnicodeDecodeError, MemoryError, OverflowError)
_BLOCK = 1 << 20
_CSV_BLOCK = 1 << 24
"""Bytes per block of a CSV: a row must fit into one, and wide tables have long rows. About 40 are held at once."""
_NARROW = 1000
"""Largest number of columns for which a table is read in blocks a quarter that size, to save memory."""
_MOST_COLUMNS = 200_000
"""Largest number of columns of a table: a year of five-minute readings has half as many."""


def open_files(source: str, sheet: str | None = None) -> SourceTable:
    """A file, a folder, a pattern, an archive or an address as one table."""
    return open_found(*find_files(source), source, sheet)


def open_found(kind: str, files: list[SourceFile], source: str, sheet: str | None = None) -> SourceTable:
    """Files of one kind as one table."""
    if sheet is not None and kind != "xlsx":
        raise InputError(f"Only a workbook has sheets, and this is {_KINDS[kind]}. Omit sheet=.")
    if kind in ("json", "xml"):
        raise InputError(f"{shown(source)} is {_KINDS[kind]}, not a table. Write it as CSV or Parquet.")
    sha256 = digests(files)
    if kind == "xlsx":
        return SheetTable(shown(source), files, sha256, sheet)
    return (CsvTable if kind == "text" else ParquetTable)(shown(source), files, sha256)


def find_files(source: str) -> tuple[str, list[SourceFile]]:
    """The kind of the files by their content ("text", "parquet", "xlsx", "json" or "xml"), and the files in order."""
    files = locate(source)
    kinds = [kind_of_bytes(file.head()) for file in files]
    if n_binary := kinds.count("binary"):
        raise InputError(
            f"{n_binary} of {len(files)} files at {shown(source)} are not text, Parquet or Excel, whatever their "
            "names say. Give a table in one of these formats."
        )
    if len(present := {kind: kinds.count(kind) for kind in _KINDS if kind in kinds}) > 1:
        counts = " and ".join(f"{n} {_KINDS[kind]}" for kind, n in present.items())
        raise InputError(f"{shown(source)} holds {counts} files. Keep one kind, or narrow it with a pattern.")
    return kinds[0], files


def digests(files: Sequence[SourceFile]) -> tuple[str, ...]:
    """SHA-256 of the local files that hold the table; none for object stores, which would have to be fetched again."""
    places = dict.fromkeys(file.stored for file in files)
    return () if None in places else tuple(digest(path) for path in places if path is not None)


def kind_of(path: Path) -> str | None:
    """What a file is by its name: "csv", "parquet", or None."""
    name = path.name.lower()
    return next((kind for suffix, kind in _SUFFIXES.items() if name.endswith(suffix)), None)


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


class FileTable(SourceTable):
    """Files of one kind, one after another. Columns are matched by name."""

    what = ""

    def __init__(self, source: str, files: Sequence[SourceFile], sha256: tuple[str, ...], *, untyped: bool) -> None:
        self.source = source
        self.files = list(files)
        headers = [self._checked(position, lambda f=file: self._header(f)) for position, file in enumerate(files)]
        if blank := sum(not header for header in headers):
            which = f"{source} is empty" if len(files) == 1 else f"{blank} of {len(files)} files at {source} are empty"
            raise InputError(f"{which}: there must be at least a line that names the columns, and readings below it.")
        if len(headers[0]) > _MOST_COLUMNS:
            raise InputError(
                f"The table has {len(headers[0])} columns, more than {_MOST_COLUMNS}. Write it as a long table, with "
                "one row per series and instant."
            )
        super().__init__(headers[0], kind="file", sha256=sha256, untyped=untyped)
        self._order = [self._match(position, header) for position, header in enumerate(headers)]

    def _header(self, file: SourceFile) -> list[str]:
        raise NotImplementedError

    def _read(self, file: SourceFile, columns: Sequence[int]) -> Iterator[list[Any]]:
        raise NotImplementedError

    def _name(self, position: int) -> str:
        # A file inside a folder may be named after the person it is about; what the user typed is not.
        return self.source if len(self.files) == 1 else f"File {position + 1} of {len(self.files)} in {self.source}"

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
        except _FAILURES as error:
            raise InputError(self._complaint(position, error)) from None

    def _complaint(self, position: int, error: BaseException) -> str:
        return f"{self._name(position)} cannot be read as {self.what}: it is damaged or of another kind."

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Batches of every file in order."""
        done = object()
        for position, (file, order) in enumerate(zip(self.files, self._order, strict=True)):
            parts = self._read(file, [order[c] for c in columns])
            while (batch := self._checked(position, lambda parts=parts: next(parts, done))) is not done:
                yield plain(batch)


class ParquetTable(FileTable):
    """Parquet files, read row group by row group."""

    what = "Parquet"

    def __init__(self, source: str, files: Sequence[SourceFile], sha256: tuple[str, ...]) -> None:
        super().__init__(source, files, sha256, untyped=False)

    def _header(self, file: SourceFile) -> list[str]:
        with open_parquet(file) as parquet:
            return list(parquet.schema_arrow.names)

    def _read(self, file: SourceFile, columns: Sequence[int]) -> Iterator[list[Any]]:
        # A buffered stream: one row group may be as large as the file.
        with open_parquet(file, buffer_size=_BLOCK) as parquet:
            names = parquet.schema_arrow.names
            wanted = [names[c] for c in columns]
            for batch in parquet.iter_batches(batch_size=rows_per_batch(len(columns)), columns=wanted):
                batch.validate(full=True)  # Parquet does not ensure that text is UTF-8
                yield [batch.column(name) for name in wanted]


@contextlib.contextmanager
def open_parquet(file: SourceFile, **settings: Any) -> Iterator[Any]:
    """A Parquet file; in an object store, read in place."""
    with contextlib.ExitStack() as stack:
        place = file.local() if file.arrow is None else stack.enter_context(file.arrow())
        yield stack.enter_context(pyarrow.parquet.ParquetFile(place, **settings))


class CsvTable(FileTable):
    """CSV files with a header; every column is text, so that 007 stays 007. The separator is found in the header."""

    what = "CSV"

    def __init__(self, source: str, files: Sequence[SourceFile], sha256: tuple[str, ...]) -> None:
        self._counts: dict[Path, TextCounts] = {}
        super().__init__(source, files, sha256, untyped=True)

    def _header(self, file: SourceFile) -> list[str]:
        return read_header(file)[0]

    @property
    def _block(self) -> int:
        return _CSV_BLOCK if len(getattr(self, "names", ())) > _NARROW else _CSV_BLOCK // 4

    def _complaint(self, position: int, error: BaseException) -> str:
        name, text = self._name(position), str(error)
        if isinstance(error, UnicodeDecodeError) or "UTF8" in text or "UTF-8" in text:
            return f"{name} is not UTF-8 text. Save it as UTF-8."
        if "CSV parse error" in text:
            return (
                f"{name} has rows with a different number of columns than its header. Quote entries that contain a "
                "separator."
            )
        if "straddl" in text or "field larger than field limit" in text:
            return f"{name} has a row longer than {self._block >> 20} MiB: perhaps a quotation mark is never closed."
        return super()._complaint(position, error)

    def _read(self, file: SourceFile, columns: Sequence[int]) -> Iterator[list[Any]]:
        header, separator, n_lines = read_header(file)
        names = [str(position) for position in range(len(header))]
        wanted = [names[c] for c in columns]
        unique = list(dict.fromkeys(wanted))
        if not _has_rows(file, n_lines):
            return
        path = file.local()
        if path not in self._counts:
            self._counts[path] = TextCounts.of(path)
        with pa.input_stream(str(path), compression=None) as stream:
            reader = pyarrow.csv.open_csv(
                stream,
                pyarrow.csv.ReadOptions(block_size=self._block, skip_rows=n_lines, column_names=names),
                pyarrow.csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(unique, pa.string()), include_columns=unique),
            )
            step = rows_per_batch(len(columns))
            n_rows = 0
            for batch in reader:
                n_rows += len(batch)
                for start in range(0, len(batch), step):
                    part = batch.slice(start, step)
                    yield [part.column(name) for name in wanted]
        self._counts[path].verify(n_rows, separator)


def read_header(file: SourceFile | Path) -> tuple[list[str], str, int]:
    """The names of the columns of a CSV, its separator, and how many lines the header takes."""
    file = locate(file)[0] if isinstance(file, Path) else file
    with _open_text(file) as stream:
        first = stream.readline(_CSV_BLOCK)
        if not first.strip():
            return [], ",", 1
        if len(first) == _CSV_BLOCK:
            raise InputError(
                f"The first line of a file is longer than {_CSV_BLOCK >> 20} MiB, so it cannot be a header."
            )
        separator = "\t" if ".tsv" in file.name.lower() else _separator(first)
        lines = itertools.chain([first], iter(lambda: stream.readline(_CSV_BLOCK), ""))
        reader = csv.reader(lines, delimiter=separator)
        header = next(reader, [])
        return [name.strip() for name in header], separator, reader.line_num


@contextlib.contextmanager
def _open_text(file: SourceFile) -> Iterator[io.TextIOBase]:
    with file.open() as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as text:
        yield text


def _separator(line: str) -> str:
    outside = "".join(line.split('"')[::2])
    return max(",;\t|", key=outside.count)


def _has_rows(file: SourceFile, n_lines: int) -> bool:
    # pyarrow treats a file that ends after the skipped lines as damaged; here it is a table without rows.
    with file.open() as stream:
        for _ in range(n_lines):
            while (part := stream.readline(_CSV_BLOCK)) and not part.endswith(b"\n"):
                pass
        return any(block.strip() for block in iter(lambda: stream.read(_BLOCK), b""))


def read_sheet(file: SourceFile, sheet: str | None = None) -> pl.DataFrame:
    """The cells of a sheet as text, without a header; by default, of the first sheet that has a table."""
    return next(cells for _, cells in read_sheets(file, sheet))


def read_sheets(file: SourceFile, sheet: str | None = None) -> Iterator[tuple[str, pl.DataFrame]]:
    """Names of sheets that have a table, and their cells as text, without a header; only one sheet if it is named.

    Dates come as 2024-05-31 00:00:00, times of day as 14:30:00, numbers with all their digits.
    """
    try:
        import fastexcel
    except ImportError:
        raise InputError("Reading Excel needs a package: pip install 'shoal[meters]'.") from None
    try:
        with file.open() as stream:
            book = fastexcel.read_excel(stream.read())  # a path would be judged by its suffix
        names = book.sheet_names
        if sheet is not None and sheet not in names:
            raise InputError(f"None of the {len(names)} sheets of the workbook has the name given as sheet=.")
        n_found = 0
        for name in names if sheet is None else [sheet]:
            cells, numbers = (_load(book, name, kind) for kind in ("string", "float"))
            if (sheet is not None and cells.width) or (cells.width > 1 and cells.height > 1):
                n_found += 1
                yield name, pl.DataFrame([_exact(cell, number) for cell, number in zip(cells, numbers, strict=True)])
    except fastexcel.FastExcelError:
        raise InputError("The workbook cannot be read: it is damaged, or protected by a password.") from None
    if not n_found:
        raise InputError(f"None of the {len(names)} sheets of the workbook has a table of two rows and columns.")


def _load(book: Any, name: str, kind: str) -> pl.DataFrame:
    cells: pl.DataFrame = book.load_sheet(name, header_row=None, dtypes=kind).to_polars()
    return cells.rename({own: str(position) for position, own in enumerate(cells.columns)})


def _exact(cells: pl.Series, numbers: pl.Series) -> pl.Series:
    """Text as it is; the text of a number is rounded to nine decimals, so a number that lost digits is formatted
    again."""
    shown = cells.cast(pl.Float64, strict=False)
    lost = (shown != numbers).fill_null(False)
    exact = pl.select(pl.when(lost).then(numbers.cast(pl.String)).otherwise(cells)).to_series()
    # A time of day is a time on day zero, and the end of a day the first moment of day one.
    exact = exact.str.replace("^1899-12-3[01] ", "").str.replace("^1900-01-01 00:00:00$", "24:00:00")
    return exact.alias(cells.name)


class SheetTable(FileTable):
    """Workbooks, a sheet of each, with the names of the columns in their first row; every column is text."""

    what = "Excel"

    def __init__(self, source: str, files: Sequence[SourceFile], sha256: tuple[str, ...], sheet: str | None) -> None:
        self._sheet = sheet
        self._cells: dict[int, pl.DataFrame] = {}
        super().__init__(source, files, sha256, untyped=True)

    def _of(self, file: SourceFile) -> pl.DataFrame:
        if id(file) not in self._cells:
            self._cells[id(file)] = read_sheet(file, self._sheet)
        return self._cells[id(file)]

    def _header(self, file: SourceFile) -> list[str]:
        return [(name or "").strip() for name in self._of(file).row(0)]

    def _read(self, file: SourceFile, columns: Sequence[int]) -> Iterator[list[Any]]:
        cells = self._of(file).slice(1).to_arrow()
        chosen = pa.table([cells.column(c) for c in columns], names=[str(c) for c in columns])
        for batch in chosen.to_batches(max_chunksize=rows_per_batch(len(columns))):
            yield batch.columns
