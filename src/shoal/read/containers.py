"""Tables inside files of any kind: text, workbooks, documents, and several files as one table."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.read.columns import Request
from shoal.read.crosstabs import GroupedTable, find_groups, unfold
from shoal.read.definitions import DefinedTable, read_defined, read_green_button
from shoal.read.documents import read_json, read_page, read_xml, rows_of_json, rows_of_xml
from shoal.read.files import digests, find_files, open_found, read_sheets
from shoal.read.lake import is_lake
from shoal.read.recognition import Writing, recognise
from shoal.read.source_files import SourceFile, shown
from shoal.read.sources import open_table
from shoal.read.tables import SourceTable
from shoal.read.text_rows import Rows, as_table, find_table
from shoal.read.textfiles import MOST_WHOLE, StreamedText, TextForm, is_plain_file, look_at


def stem_of(source: Any) -> str:
    """The file's name without its suffix, for a series without a name of its own."""
    if isinstance(source, str | os.PathLike):
        name = PurePath(os.fspath(source)).name.split("?")[0]
        return (
            re.sub(r"(?i)(\.(csv|tsv|txt|dat|json|ndjson|jsonl|xml|xlsx|xlsm|xls|parquet|pq|zip|gz))+$", "", name)
            or "series"
        )
    return "series"


class FilesTable(SourceTable):
    """Tables of the same columns, one after another, and the stem of each file as a further column."""

    def __init__(self, tables: Sequence[SourceTable], stems: Sequence[str], form: Any, sha256: tuple[str, ...]) -> None:
        names = tables[0].names
        for position, table in enumerate(tables):
            if table.names != names:
                raise InputError(
                    f"File {position + 1} of {len(tables)} has other columns than the first ({len(table.names)} "
                    f"against {len(names)}). Read files with the same columns together."
                )
        self._tables, self._stems, self.form = list(tables), list(stems), form
        self.file_column = len(names) if len(tables) > 1 else None
        super().__init__((*names, "file") if len(tables) > 1 else names, kind="file", sha256=sha256, untyped=True)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Rows of every file in order."""
        for table, stem in zip(self._tables, self._stems, strict=True):
            own = [c for c in columns if c != self.file_column]
            for batch in table.batches(own or [0]):
                held = iter(batch)
                n_rows = len(batch[0])
                yield [
                    pa.array([stem] * n_rows, pa.large_string()) if c == self.file_column else next(held)
                    for c in columns
                ]

    def account(self) -> Mapping[str, int]:
        """The sums over all files."""
        total: Counter[str] = Counter()
        for table in self._tables:
            total.update(table.account())
        return total

    def close(self) -> None:
        """Close every table."""
        for table in self._tables:
            table.close()


def open_any(source: Any, sql: str | None, sheet: str | None = None) -> SourceTable:
    """Open a source in any format; a plain table as `open_table` does."""
    if sql is not None or not isinstance(source, str | os.PathLike):
        return open_table(source, sql, sheet)
    path = os.fspath(source)
    if not isinstance(path, str) or path.lower().startswith(("postgres", "sqlite")) or is_lake(path):
        return open_table(source, sql, sheet)
    kind, files = find_files(path) if _names_files(path) else ("", [])
    if not files:
        return open_table(source, sql, sheet)
    is_plain = kind == "parquet" or (kind == "text" and all(is_plain_file(file) for file in files))
    if is_plain or (kind != "xlsx" and sheet is not None):
        return open_found(kind, files, path, sheet)
    parts = [_open_file(file, kind, sheet, shown(path)) for file in files]
    tables = [table for table, _ in parts]
    if any(table is None for table in tables):
        return open_found(kind, files, path, sheet)
    sha256 = digests(files)
    if isinstance(tables[0], DefinedTable):
        return _joined([table for table in tables if isinstance(table, DefinedTable)], sha256)
    return FilesTable([t for t in tables if t is not None], [file.stem for file in files], parts[0][1], sha256)


def _names_files(path: str) -> bool:
    """Whether this is a path or an address that `locate` accepts; other sources are recognised elsewhere."""
    from shoal.read.remote_files import is_address

    return is_address(path) or not ("://" in path or "password=" in path.lower() or ("@" in path and ":" in path))


def _open_file(file: SourceFile, kind: str, sheet: str | None, name: str) -> tuple[SourceTable | None, TextForm | None]:
    if kind == "json":
        return as_table(rows_of_json(read_json(file))), None
    if kind == "xml":
        if (page := read_page(file)) is not None:
            return _table_of(find_table(page)), None
        root = read_xml(file)
        return read_green_button(root, file.stem) or as_table(rows_of_xml(root)), None
    if kind == "xlsx":
        return _open_workbook(file, sheet), None
    form, rows, lines = look_at(file, name)
    why = "" if rows is not None else _why_whole(find_table(lines))
    if why:
        form, rows, lines = look_at(file, name, must_whole=True)
        if rows is None:
            raise InputError(
                f"{name} has more than {MOST_WHOLE >> 20} MiB, and {why}: such a file must be read as a whole. Split "
                "it into smaller files, or write it with one row per series and instant."
            )
    if rows is None:
        return (_grouped(StreamedText(file, form, name), find_table(lines)) if form.width else None), form
    return read_defined(lines) or _table_of(rows), form


def _why_whole(head: Rows) -> str:
    """Why the rows of a file cannot be read one by one, judging by its head; empty if they can."""
    if head.n_sections > 1:
        return "its lines form sections with headings of their own"
    if head.n_filled:
        return "entries are printed once for a block of rows"
    return "its columns are times" if head.cells and unfold(head) is not head else ""


def _open_workbook(file: SourceFile, sheet: str | None) -> SourceTable | None:
    """The sheets whose tables have the same columns, read like files in a folder; those with most cells."""
    alike: dict[tuple[str, ...], dict[str, SourceTable]] = {}
    n_cells: Counter[tuple[str, ...]] = Counter()
    for name, frame in read_sheets(file, sheet):
        cells = [[cell or "" for cell in row] for row in frame.iter_rows()]
        if (defined := read_defined(cells)) is not None:
            return defined
        if (table := _table_of(find_table(cells))) is not None:
            alike.setdefault(table.names, {})[name] = table
            n_cells[table.names] += frame.height * frame.width
    if not alike:
        return None
    tables = alike[n_cells.most_common(1)[0][0]]
    if _repeat_each_other(list(tables.values())):
        tables = dict(list(tables.items())[:1])
    return FilesTable(list(tables.values()), list(tables), None, ())


def _repeat_each_other(tables: Sequence[SourceTable]) -> bool:
    """Whether tables that name their series cover the same series and times, as versions of one table do."""
    first = recognise(tables[0], Request(), Writing(), None, "") if len(tables) > 1 else None
    if first is None or first.guess.id is None:
        return False
    keys = [first.guess.id, *first.guess.time.keys]
    seen: set[tuple[str, ...]] = set()
    for table in tables:
        own = {row for batch in table.batches(keys) for row in zip(*(a.to_pylist() for a in batch), strict=True)}
        if own & seen:
            return True
        seen |= own
    return False


def _table_of(rows: Rows) -> SourceTable | None:
    if not rows.cells:
        return None
    unfolded = unfold(rows)
    return as_table(unfolded) if unfolded is not rows else _grouped(as_table(rows), rows)


def _grouped(table: SourceTable, rows: Rows) -> SourceTable:
    """The table with a row for each group of its columns, if two lines name them."""
    groups = find_groups(rows)
    return table if groups is None else GroupedTable(table, groups)


def _joined(tables: list[DefinedTable], sha256: tuple[str, ...]) -> DefinedTable:
    first = tables[0]
    first.table = pa.concat_tables([table.table for table in tables])
    first.sha256 = sha256
    return first
