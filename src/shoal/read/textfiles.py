"""Files of text as tables: which encoding and separator, where the rows begin, and which lines are none.

A small file is looked at as a whole, so that titles, sections, repeated headers and footers are found wherever they
are. Of a large one the head is looked at, and the rest is streamed.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import IO, Any

import pyarrow as pa
import pyarrow.csv

from shoal.errors import InputError
from shoal.read.headings import groups_of, unit_of
from shoal.read.source_files import SourceFile
from shoal.read.tables import ArrowTable, Table, plain, rows_per_batch

SMALL = 16 << 20
"""Bytes up to which a file is looked at as a whole."""
_HEAD = 1 << 19
_GLANCE = 1 << 17
_TAIL = 1 << 12
_LOOKED_AT = 400
"""Rows from which the shape of a table is found."""
_BLOCK = 1 << 22
"""Bytes read at once; a row must fit into them. Some 40 blocks are held at a time."""

_STAMP = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}(?!\d)|\d{1,2}:\d{2}|\d{1,2}[-/. ]*[^\W\d_]{3,9}[-/., ]+\d{2,4}|"
    r"[^\W\d_]{3,9} +\d{1,2},? +\d{4}|^(?:19|20)\d{2}[-/](?:0[1-9]|1[0-2])$|^(?:19|20)\d{6}T\d{4}|"
    r"^(?:19|20)\d{2}[-/ ]?W[0-5]?\d$|^\d{12}[SW]$|"
    r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$"
)
_CLOCK_ALONE = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?: *[AaPp]\.?[Mm]\.?)?(?: *[-–] *\d{1,2}:\d{2}.*)?")
_DATE_ALONE = re.compile(r"[^:]*\d[^:]*")
_NUMBER = re.compile(r"[+(-]?(?:[$£€] ?)?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?[%)]?")
_GUARD = re.compile(r'=?"(.*)"')
_KEY_VALUE = re.compile(r"([^:]{2,50}):(?!(?<=\d:)\d) *(\S.{0,80})")
_SEPARATORS = ",;\t|"
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True)
class TextForm:
    """How a file is written, and where its table lies."""

    encoding: str
    separator: str
    """A space stands for any number of blanks."""
    names: tuple[str, ...] | None
    """None where no line names the columns."""
    width: int
    n_before: int
    """Lines above the first row."""
    n_skipped: int = 0
    n_sections: int = 1
    n_filled: int = 0


@dataclass
class Rows:
    """Rows of a table as cells, and what was found around them."""

    cells: list[list[str]]
    names: list[str] | None
    n_before: int = 0
    n_skipped: int = 0
    n_sections: int = 1
    is_even: bool = True
    """Whether the header and all rows have the same number of cells."""
    n_ragged: int = 0
    """Lines among those skipped that look like rows with too few cells."""
    n_filled: int = 0
    """Cells that say what the one above them says."""
    context: list[dict[str, str]] = field(default_factory=list)
    """What the lines above each section say, by key."""
    section: list[int] = field(default_factory=list)
    """The section of each row."""
    head: list[list[str]] = field(default_factory=list)
    """The lines above the first row."""


# bytes to text


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
            "A file of text has zero bytes in the middle: it is damaged, or of another kind. Export it anew."
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
        raise InputError(
            f"{shown} is neither UTF-8 nor UTF-16 nor Windows-1252 text throughout. Save it as UTF-8."
        ) from None
    if encoding == "cp1252" and re.search(rb"[\xc3\xc2][\x80-\xbf]", content):
        raise InputError(f"{shown} mixes UTF-8 and Windows-1252 text. Save it as UTF-8.")
    return text.removeprefix("\ufeff")


# text to rows of cells


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
        for line in text.splitlines():
            yield line.split()
        return
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True):
        yield [clean(cell) for cell in row]


def separator_of(text: str) -> str:
    """The separator that cuts most lines into the same number of cells, and into many."""
    lines = text.splitlines()
    if lines and (said := re.fullmatch(r'"?sep=(.)"?,*', lines[0].strip("\ufeff \t"), re.IGNORECASE)):
        return said[1]
    some = "\n".join([line for line in lines if line.strip()][:_LOOKED_AT])
    best, best_score = " ", 0.0
    for separator in _SEPARATORS:
        try:
            rows = [row for row in split_rows(some, separator) if row]
        except csv.Error:
            continue
        widths = Counter(map(len, rows))
        width, n_lines = max(widths.items(), key=lambda item: (item[1] * (item[0] > 1), item[0]), default=(0, 0))
        score = n_lines / max(1, sum(widths.values())) * (width - 1) ** 0.5 if width > 1 else 0.0
        # Ragged lines: cells all the same.
        if any(len(row) == width and all(kind_of_cell(cell) == "W" for cell in row) for row in rows[:60]):
            score *= 1.5  # names as many as cells: what cuts the rows alone may be decimal commas
        score = max(score, 0.3 * (sum(min(w, 9) * n for w, n in widths.items()) / max(1, sum(widths.values())) > 3))
        if score > best_score:
            best, best_score = separator, score
    return best


def kind_of_cell(cell: str) -> str:
    """What a cell looks like: empty (E), a time (T), a number (N) or a word (W)."""
    if not cell:
        return "E"
    if len(cell) < 70 and _STAMP.search(cell) and sum(map(str.isalpha, cell)) <= 20:
        return "T"
    return "N" if _NUMBER.fullmatch(cell) else "W"


# rows to a table


def find_table(lines: list[list[str]]) -> Rows:
    """Tell rows from titles, headers and footers."""
    filled = [(place, row) for place, row in enumerate(lines) if any(row)]
    if not filled:
        return Rows([], None)
    looked = [row for _, row in filled[:_LOOKED_AT]] + [row for _, row in filled[_LOOKED_AT:][-50:]]
    record = _record_type(looked)
    body = [row for row in looked if record is None or row[0] == record]
    widths = Counter(len(row) for row in body)
    # Where most cells are: a title of many lines is narrow.
    usual = max(widths, key=lambda w: (widths[w] * w, w))
    width = _whole_width(body, usual)
    body = [row + [""] * (width - len(row)) for row in body if len(row) in (usual, width)]
    kinds = [Counter(kind_of_cell(row[column]) for row in body) for column in range(width)]
    stamps = [c for c, found in enumerate(kinds) if found["T"] > 0.6 * (len(body) - found["E"]) and found["T"]]
    numbers = [c for c, found in enumerate(kinds) if found["N"] >= 0.5 * (len(body) - found["E"]) and found["N"]]

    whole = [] if stamps else [_shape(row) for row in body[:1] + body[-1:]]
    forms = Counter(_form(row[c]) for row in body for c in stamps)
    clocks_alone = bool(stamps) and all(
        sum(":" in row[c] and _CLOCK_ALONE.fullmatch(row[c]) is not None for row in body) > 0.6 * len(body)
        for c in stamps
    )

    def is_data(row: list[str]) -> bool:
        if record is not None and row[0] != record:
            return False
        if len(row) != width and (len(row) < width or any(row[width:])):
            # Some writers leave out empty cells at the end of a line.
            own = "" if stamps else _shape(row)
            alike = bool(stamps) or (4 * len(row) >= 3 * width and any(shape.startswith(own) for shape in whole))
            if not alike or len(row) > width or not any(row[c : c + 1] > [""] for c in numbers):
                return False
            row = row + [""] * (width - len(row))
        if stamps:
            if clocks_alone and sum(map(bool, row)) == 1 and _DATE_ALONE.fullmatch("".join(row)):
                return False  # the day of the rows below
            if sum(map(bool, row)) == 1 and width > 2 and forms[_form("".join(row))] < 2:
                return False  # a title with a date in it
            return any(kind_of_cell(row[c]) == "T" for c in stamps)
        n_words = sum(kinds[c]["W"] == 1 and kind_of_cell(row[c]) == "W" and kinds[c]["N"] > 2 for c in numbers)
        if 2 * n_words >= len(numbers) > 0:
            return False  # the one word among numbers is the name of the column
        n_found = sum(kind_of_cell(row[c]) == "N" for c in numbers)
        return n_found > 0 and 2 * n_found >= sum(bool(row[c]) for c in numbers)

    found = Rows([], None, n_before=-1)
    above: list[list[str]] = []
    keys: dict[str, str] = {}
    header: list[str] | None = None
    n_odd = 0
    for place, row in filled:
        if not is_data(row) or (place == filled[0][0] and not stamps and _counts_columns(row)):
            above.append(row)
            continue
        if found.n_before < 0:
            found.n_before = place
            header = _header(above, width) if record is None else _record_names(above, row, stamps)
            found.head = above
        if above:
            new = _context([line for line in above if line != header], width, record)
            if not found.context or any(keys.get(key) != entry for key, entry in new.items()):
                keys = keys | new
                found.context.append(dict(keys))
            if found.cells:
                found.n_skipped += len(above)
                found.n_ragged += sum(_is_ragged(line, found.cells[0]) for line in above if line != header)
            above = []
        elif not found.context:
            found.context.append({})
        n_odd += len(row) != width
        found.section.append(len(found.context) - 1)
        found.cells.append((row + [""] * (width - len(row)))[:width])
    _fill_down(found)
    found.n_skipped += len(above)
    if found.cells:
        found.n_ragged += sum(_is_ragged(line, found.cells[0]) for line in above if line != header)
    found.n_before = max(0, found.n_before)
    found.n_sections = max(1, len(found.context))
    found.is_even = n_odd == 0 and (header is None or len(header) == width)
    if header is not None:
        found.names = (header + [""] * (width - len(header)))[:width]
    return found


def _fill_down(rows: Rows) -> None:
    """Say again in each row what the first columns say once for a block, as reports and pivot tables do.

    Blocks are of one length, or nearly all of them: an entry that merely lacks is not made up.
    """
    for column in range(len(rows.cells[0]) if rows.cells else 0):
        filled = [place for place, row in enumerate(rows.cells) if row[column]]
        lengths = Counter(after - place for place, after in itertools.pairwise([*filled, len(rows.cells)]))
        length, n_usual = lengths.most_common(1)[0] if lengths else (0, 0)
        is_reading = any("." in rows.cells[place][column] and _is_number(rows.cells[place][column]) for place in filled)
        if not filled or filled[0] or len(filled) < 2 or length < 3 or 2 * n_usual < len(filled) or is_reading:
            return
        rows.n_filled += len(rows.cells) - len(filled)
        for above, row in itertools.pairwise(rows.cells):
            row[column] = row[column] or above[column]


def _is_number(cell: str) -> bool:
    return kind_of_cell(cell) == "N"


def _counts_columns(row: list[str]) -> bool:
    """Whether a line names its columns by position, such as id, 0, 1, 2."""
    words = [cell for cell in row if kind_of_cell(cell) != "N"]
    counted = [int(cell) for cell in row if cell.isdecimal()]
    in_order = len(counted) > 1 and counted == list(range(counted[0], counted[0] + len(counted)))
    return in_order and len(words) + len(counted) == len(row) and any(groups_of(word) for word in words)


def _is_ragged(line: list[str], row: list[str]) -> bool:
    """Whether a line begins as the rows do and then breaks off."""
    filled = sum(map(bool, line))
    if filled < 2 or len(line) >= len(row) or "total" in groups_of(line[0]):
        return False
    return kind_of_cell(line[0]) == kind_of_cell(row[0]) and any(kind_of_cell(cell) in "NT" for cell in line[1:])


def _record_type(rows: list[list[str]]) -> str | None:
    """What begins the rows with readings where the first cell of each line tells its kind; None where it does not."""
    first = Counter(row[0] for row in rows)
    short = all(re.fullmatch(r"[A-Z][A-Z0-9]{0,7}|[1-9]\d{2}", word) for word in first)
    if not short or not 2 <= len(first) <= 8 or len(rows) < 2 * len(first):
        return None
    main = max(first, key=lambda word: (sum(len(row) for row in rows if row[0] == word), word))
    shapes = {word: {_shape(row) for row in rows if row[0] == word} for word in first}
    others = [shape for word, found in shapes.items() if word != main for shape in found]
    # Lines of another kind have other fields; a line of words alone is a header.
    if any(shape in shapes[main] or not set(shape) & {"N", "T"} for shape in others):
        return None
    return main


def _record_names(above: list[list[str]], row: list[str], stamps: list[int]) -> list[str] | None:
    """The record of another kind that names the fields of those with readings, as many, in words."""
    for line in reversed(above):
        words = [kind_of_cell(cell) == "W" or cell == own for cell, own in zip(line, row, strict=False)]
        if len(line) == len(row) and all(words) and stamps and all(kind_of_cell(line[c]) == "W" for c in stamps):
            return line
    return None


def _whole_width(rows: list[list[str]], usual: int) -> int:
    """The width of rows whose last cells some writers leave out: that of the longest that begin as most rows do."""
    if all(len(row) <= usual for row in rows):
        return usual
    shape = Counter(_shape(row) for row in rows if len(row) == usual).most_common(1)[0][0]
    longer = Counter(len(row) for row in rows if len(row) > usual and _shape(row[:usual]) == shape and any(row[usual:]))
    return max((width for width, n in longer.items() if n > 1), default=usual)


def _form(cell: str) -> str:
    return re.sub(r"\d+", "#", cell)


def _shape(row: list[str]) -> str:
    return "".join(kind_of_cell(cell) for cell in row)


def _header(above: list[list[str]], width: int) -> list[str] | None:
    """The line that names the columns, of those right above the first row."""
    near: list[list[str]] = []
    for row in reversed(above):
        if abs(len(row) - width) > 1 or (near and sum(map(bool, row)) < 2):
            break
        near.append(row)
    names = [row for row in near if not _tells_units(row)] or near
    best = max(names, key=lambda row: len({cell for cell in row if cell}), default=None)
    if best is None or (width > 1 and sum(map(bool, best)) < min(2, width)):
        return None
    below = near[: next(place for place, row in enumerate(near) if row is best)]
    units = next((row for row in below if _tells_units(row)), below[0] if below else best)
    if best is not units and len(units) == len(best) and len({unit for unit in units[1:] if unit}) > 1:
        # A line below the names that tells them apart: units, mostly.
        bare = [unit.strip("[]()") for unit in units]
        return [f"{name} [{unit}]" if unit and unit != name else name for name, unit in zip(best, bare, strict=True)]
    return best


def _tells_units(row: list[str]) -> bool:
    """Whether a line has nothing but units in most of its cells right of the first."""
    cells = [cell.strip("[]() ") for cell in row[1:] if cell]
    n_units = sum(len(cell) <= 6 and unit_of(f"[{cell}]") is not None for cell in cells)
    return 2 * n_units > len(cells)


def _context(lines: list[list[str]], width: int, record: str | None) -> dict[str, str]:
    """Keys and what they say in the lines above a section: key and value, key: value, or names above values."""
    keys: dict[str, str] = {}
    for place, row in enumerate(lines):
        filled = [cell for cell in row if cell]
        below = lines[place + 1] if place + 1 < len(lines) else []
        if record is not None:
            keys |= {f"{row[0]} {column}": cell for column, cell in enumerate(row[1:], 1) if cell}
        elif len(filled) == 1 and (said := _KEY_VALUE.fullmatch(filled[0])):
            keys[said[1].strip()] = said[2].strip()
        elif len(filled) == 1 and _DATE_ALONE.fullmatch(filled[0]) and kind_of_cell(filled[0]) == "T":
            keys["Date"] = filled[0]
        elif len(row) > 2 and len(row) == len(below) and all(kind_of_cell(cell) == "W" for cell in filled):
            keys |= {name: cell for name, cell in zip(row, below, strict=True) if name and cell}
        elif len(filled) == 2 and row[0] and kind_of_cell(row[0]) == "W" and row[0] not in keys.values():
            keys[row[0].rstrip(": ")] = filled[1]
    return {key: entry for key, entry in list(keys.items())[:60] if len(key) <= 60}


def as_table(rows: Rows, *, sha256: tuple[str, ...] = ()) -> ArrowTable:
    """Rows as a table of text; what sections say about themselves becomes columns."""
    width = len(rows.cells[0]) if rows.cells else len(rows.names or ())
    names = list(rows.names or [""] * width)
    columns = [pa.array([row[column] for row in rows.cells], pa.large_string()) for column in range(width)]
    for key in dict.fromkeys(key for found in rows.context for key in found):
        entries = pa.array([found.get(key, "") for found in rows.context], pa.large_string())
        columns.append(entries.take(pa.array(rows.section, pa.int64())))
        names.append(key)
    table = ArrowTable(pa.table(columns, names=names), kind="file", sha256=sha256)
    table.untyped = True
    return table


# files


def is_plain_file(file: SourceFile) -> bool:
    """Whether a file is UTF-8 with a header in its first line and nothing but rows below, as its ends tell."""
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
    first = text.splitlines()[0] if text else ""
    separator = separator_of(text)
    if not first.strip() or separator not in _SEPARATORS:
        # One column, or none: what is wrong with it is told by whoever reads it plainly.
        return separator == " " and " " not in first.strip() and bool(first.strip())
    try:
        rows = find_table([*split_rows(text, separator), *split_rows(tail.decode("utf-8", "ignore"), separator)])
    except csv.Error:
        return True
    if not rows.cells:
        return True
    plain = rows.names is not None and rows.n_before <= 1 and rows.n_skipped == rows.n_ragged
    return plain and rows.is_even and not rows.n_filled and not any(rows.context)


def look_at(file: SourceFile, shown: str) -> tuple[TextForm, Rows | None, list[list[str]]]:
    """How a file of text is written; its rows and lines too, where it is small."""
    with file.open() as stream:
        head = stream.read(SMALL + 1)
    whole = len(head) <= SMALL
    encoding = encoding_of(head, whole=whole)
    if not whole:
        head = head[:_HEAD].rpartition(b"\n\0" if encoding == "utf-16-le" else b"\n")[0]
    text = decode(head, encoding, shown)
    separator = separator_of(text)
    try:
        lines = list(split_rows(text, separator))
    except csv.Error:
        raise InputError(
            f"{shown} cannot be read as a table of text: a quote is never closed, or a cell is huge."
        ) from None
    if lines and len(lines[0]) <= 2 and re.fullmatch(r'"?sep=.?"?', "".join(lines[0]).strip(), re.IGNORECASE):
        lines[0] = []
    rows = find_table(lines)
    width = len(rows.cells[0]) if rows.cells else 0
    names = None if rows.names is None else tuple(rows.names)
    form = TextForm(encoding, separator, names, width, rows.n_before, rows.n_skipped, rows.n_sections)
    form = replace(form, n_filled=rows.n_filled if whole else 0)
    return form, rows if whole else None, lines


class StreamedText(Table):
    """A large file of text, batch by batch. Lines of another width than the table's are skipped and counted."""

    def __init__(self, file: SourceFile, form: TextForm, shown: str) -> None:
        names = form.names or ("",) * form.width
        super().__init__(names, kind="file", untyped=True)
        self._file, self._form, self._shown = file, form, shown
        self.n_skipped = form.n_skipped

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Cells as text, cleaned."""
        form = self._form
        names = [str(position) for position in range(form.width)]
        wanted = [names[c] for c in columns]
        unique = list(dict.fromkeys(wanted))
        n_skipped = form.n_skipped

        def skip(_: Any) -> str:
            nonlocal n_skipped
            n_skipped += 1
            return "skip"

        with self._open() as stream:
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
        self.n_skipped = n_skipped

    def _open(self) -> IO[bytes]:
        return self._file.open()
