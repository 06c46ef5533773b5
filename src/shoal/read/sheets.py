"""Sheets of Excel workbooks, as rows of text cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.files import FileTable
from shoal.read.source_files import SourceFile
from shoal.read.tables import rows_per_batch


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
