"""Text files as tables: their encoding and separator, where the rows begin, and which lines are not rows.

A small file is examined as a whole, so that titles, sections, repeated headers and footers are found wherever they are.
For a large one, the head is examined and the rest is streamed.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv

from shoal.errors import InputError
from shoal.read.crosstabs import unfold
from shoal.read.source_files import SourceFile
from shoal.read.tables import SourceTable, plain, rows_per_batch
from shoal.read.text_rows import LOOKED_AT, Rows, find_table, kind_of_cell

SMALL = 16 << 20
"""Largest size of a file that is examined as a whole, in bytes."""
MOST_WHOLE = 64 << 20
"""The same for a file that cannot be read row by row; it takes about 20 times as much memory."""
_HEAD = 1 << 19
_GLANCE = 1 << 17
_TAIL = 1 << 12
_BLOCK = 1 << 22
"""Number of bytes read at once; a row must fit. About 40 blocks are held at a time."""
_GUARD = re.compile(r'=?"(.*)"')
_SEPARATORS = ",;\t|"
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class TextForm:
    """How a file is written, and where its table is."""

    encoding: str
    separator: str
    """A space stands for any number of blanks."""
    names: tuple[str, ...] | None
    """None if no line names the columns."""
    width: int
    n_before: int
    """Lines above the first row."""
    n_sections: int = 1


def encoding_of(head: bytes, *, whole: bool) -> str:
    """The encoding of a file by its first bytes."""
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if 4 * max(even, odd) > len(head) // 2:
            return "utf-16-be" if even > odd else "utf-16-le"
        raise InputError(
            "A text file has zero bytes in the middle: it is damaged, or of another kind. Export it again."
        )
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if not (error.reason == "unexpected end of data" and not whole):
            return "cp1252"
    return "utf-8"


def decode(content: bytes, encoding: str, shown: str) -> str:
    """The text of a file; a mixture of encodings is refused."""
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise InputError(f"{shown} is not UTF-8, UTF-16 or Windows-1252 text throughout. Save it as UTF-8.") from None
    if encoding == "cp1252" and re.search(rb"[\xc3\xc2][\x80-\xbf]", content):
        raise InputError(f"{shown} mixes UTF-8 and Windows-1252 text. Save it as UTF-8.")
    return text.removeprefix("\ufeff")


def clean(cell: str) -> str:
    """A cell without blanks at its ends and without what keeps spreadsheets from changing it: ="007", '007."""
    cell = cell.replace("\u00a0", " ").strip()
    if cell[:1] in "=\"'" and cell:
        if guarded := _GUARD.fullmatch(cell):
            return guarded[1].strip()
        if cell[0] == "'" and cell[1:2].isalnum():
            return cell[1:].rstrip("'")
    return cell


def split_rows(text: str, separator: str) -> Iterator[list[str]]:
    """The cells of each line, cleaned; a line without any is empty."""
    if separator == " ":
        if '"' not in text:
            yield from (line.split() for line in text.splitlines())
            return
        for row in csv.reader(text.splitlines(), delimiter=" ", skipinitialspace=True):
            yield [clean(cell) for cell in row if cell]
        return
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True):
        yield [clean(cell) for cell in row]


def separator_of(text: str) -> str:
    """The separator that cuts most lines into the same number of cells, and into many."""
    lines = text.splitlines()
    if lines and (said := re.fullmatch(r'"?sep=(.)"?,*', lines[0].strip("\ufeff \t"), re.IGNORECASE)):
        return said[1]
    some = "\n".join([line for line in lines if line.strip()][:LOOKED_AT])
    best, best_score = " ", 0.0
    for separator in _SEPARATORS:
        try:
            rows = [row for row in split_rows(some, separator) if row]
        except csv.Error:
            continue
        widths = Counter(map(len, rows))
        width, n_lines = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(0, 0))
        score = n_lines / max(1, sum(widths.values())) * (width - 1) ** 0.5 if width > 1 else 0.0

        if any(len(row) == width and all(kind_of_cell(cell) == "W" for cell in row) for row in rows[:60]):
            score *= 1.5  # as many names as cells: a separator that splits only the rows may be a decimal comma
        score = max(score, 0.3 * (sum(min(w, 9) * n for w, n in widths.items()) / max(1, sum(widths.values())) > 3))
        if score > best_score:
            best, best_score = separator, score
    return best


def is_plain_file(file: SourceFile) -> bool:
    """Whether a file is UTF-8 with a header in its first line and only rows below, judging by its ends."""
    with file.open() as stream:
        head = stream.read(_GLANCE + 1)
        tail = b""
        if len(head) > _GLANCE and file.size and file.path is not None:
            stream.seek(max(_GLANCE, file.size - _TAIL))
            tail = stream.read(_TAIL).partition(b"\n")[2]
    whole = len(head) <= _GLANCE
    encoding = encoding_of(head, whole=whole)
    if not head.strip() or (not whole and b"\n" not in head):
        return True  # an empty file, or a line without end, is refused as such
    if encoding not in ("utf-8", "utf-8-sig"):
        return False
    text = (head if whole else head.rpartition(b"\n")[0]).decode(encoding, "ignore")
    if respelt(text) is not text:
        return False
    first = text.splitlines()[0] if text else ""
    separator = separator_of(text)
    if not first.strip() or separator not in _SEPARATORS:
        # One column, or none: the plain reader reports what is wrong with it.
        return separator == " " and " " not in first.strip() and bool(first.strip())
    try:
        rows = find_table([*split_rows(text, separator), *split_rows(tail.decode("utf-8", "ignore"), separator)])
    except csv.Error:
        return True
    if not rows.cells:
        return True
    plain = rows.names is not None and rows.n_before <= 1 and rows.n_skipped == rows.n_ragged
    return plain and rows.is_even and not rows.n_filled and not any(rows.context) and unfold(rows) is rows


def look_at(file: SourceFile, shown: str, *, must_whole: bool = False) -> tuple[TextForm, Rows | None, list[list[str]]]:
    """How a text file is written; also its rows and lines, if it is small, or not too large when they are required."""
    most = MOST_WHOLE if must_whole else SMALL
    with file.open() as stream:
        head = stream.read(most + 1)
    whole = len(head) <= most
    encoding = encoding_of(head, whole=whole)
    if not whole:
        head = head[:_HEAD].rpartition(b"\n\0" if encoding == "utf-16-le" else b"\n")[0]
    written = decode(head, encoding, shown)
    text = respelt(written)
    if text is not written and not whole:
        if not must_whole:
            return look_at(file, shown, must_whole=True)
        raise InputError(
            f"{shown} has more than {most >> 20} MiB, and its lines are not rows of cells: they are quoted as a "
            "whole, name each entry, or end in a carriage return alone. Write it as CSV."
        )
    separator = separator_of(text)
    try:
        lines = list(split_rows(text, separator))
    except csv.Error:
        raise InputError(
            f"{shown} cannot be read as a text table: a quote is never closed, or a cell is huge."
        ) from None
    if lines and len(lines[0]) <= 2 and re.fullmatch(r'"?sep=.?"?', "".join(lines[0]).strip(), re.IGNORECASE):
        lines[0] = []
    rows = find_table(lines)
    width = len(rows.cells[0]) if rows.cells else 0
    names = None if rows.names is None else tuple(rows.names)
    form = TextForm(encoding, separator, names, width, rows.n_before, rows.n_sections)
    return form, rows if whole else None, lines


class StreamedText(SourceTable):
    """A large text file, batch by batch. Lines whose width differs from the table's are skipped and counted."""

    def __init__(self, file: SourceFile, form: TextForm, shown: str) -> None:
        names = form.names or ("",) * form.width
        super().__init__(names, kind="file", untyped=True)
        self._file, self._form, self._shown = file, form, shown
        self._n_skipped = 0

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Cells as text, cleaned."""
        form = self._form
        names = [str(position) for position in range(form.width)]
        wanted = [names[c] for c in columns]
        unique = list(dict.fromkeys(wanted))
        n_skipped = 0

        def skip(_: Any) -> str:
            nonlocal n_skipped
            n_skipped += 1
            return "skip"

        with self._file.open() as stream:
            try:
                reader = pyarrow.csv.open_csv(
                    stream,
                    pyarrow.csv.ReadOptions(
                        block_size=_BLOCK,
                        skip_rows=form.n_before,
                        column_names=names,
                        encoding={"utf-8-sig": "utf8", "utf-8": "utf8"}.get(form.encoding, form.encoding),
                    ),
                    pyarrow.csv.ParseOptions(
                        delimiter=form.separator, newlines_in_values=True, invalid_row_handler=skip
                    ),
                    pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(unique, pa.string()), include_columns=unique),
                )
                step = rows_per_batch(len(columns))
                for batch in reader:
                    for start in range(0, len(batch), step):
                        part = batch.slice(start, step)
                        yield plain([part.column(name) for name in wanted])
            except (pa.ArrowException, OSError, UnicodeDecodeError):
                raise InputError(f"{self._shown} cannot be read as text: it is damaged or of another kind.") from None
        self._n_skipped = n_skipped

    def account(self) -> Mapping[str, int]:
        """Lines of another width."""
        return {"lines_skipped": self._n_skipped}


_WHOLE = re.compile(r'"(?:[^"]|"")*[,;\t|](?:[^"]|"")*"')
_PAIR = re.compile(r'([A-Za-z_][\w.-]*)=("[^"]*"|[^\s,;]*)')
_ENOUGH = 0.9


def respelt(text: str) -> str:
    """The text with one line per row and separators between its cells; unchanged if nothing is in the way."""
    if "\n" not in text and "\r" in text:
        return respelt(text.replace("\r", "\n"))
    some = [line.strip() for line in text[: 1 << 16].splitlines() if line.strip()][:400]
    if len(some) > 2 and _share(_WHOLE.fullmatch(line) is not None for line in some) >= _ENOUGH:
        return "\n".join(_without_quotes(line.strip()) for line in text.splitlines())
    if len(some) > 2 and _share(len(_PAIR.findall(line)) > 1 for line in some) >= _ENOUGH:
        return _as_cells([line for line in text.splitlines() if line.strip()])
    return text


def _share(found: Iterable[bool]) -> float:
    marks = list(found)
    return sum(marks) / len(marks)


def _without_quotes(line: str) -> str:
    return line[1:-1].replace('""', '"') if _WHOLE.fullmatch(line) else line


def _as_cells(lines: list[str]) -> str:
    """Lines such as energy,meter=m1 kwh=0.5 1717200000, or time=... kwh=...: a column for each name, then the rest."""
    pairs = [dict(_PAIR.findall(line)) for line in lines]
    rest = [[part for part in re.split(r"[\s,;]+", _PAIR.sub(" ", line)) if part] for line in lines]
    names = list(dict.fromkeys(name for row in pairs for name in row))
    n_rest = max(map(len, rest))
    header = [*names, *("" for _ in range(n_rest))]
    rows = [
        [*(own.get(name, "").strip('"') for name in names), *more, *([""] * (n_rest - len(more)))]
        for own, more in zip(pairs, rest, strict=True)
    ]
    return "\n".join("\t".join(row) for row in [header, *rows])
