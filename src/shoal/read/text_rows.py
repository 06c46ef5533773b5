"""Lines of cells as a table: which are rows, which name the columns, and what the others say."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa

from shoal.read.headings import groups_of, unit_of
from shoal.read.tables import ArrowTable

LOOKED_AT = 400
"""Number of rows from which the shape of a table is found."""

_STAMP = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{2,4}(?!\d)|\d{1,2}:\d{2}|\d{1,2}[-/. ]*[^\W\d_]{3,9}[-/., ]+\d{2,4}|"
    r"[^\W\d_]{3,9} +\d{1,2},? +\d{4}|^(?:19|20)\d{2}[-/](?:0[1-9]|1[0-2])$|^(?:19|20)\d{6}T\d{4}|"
    r"^(?:19|20)\d{2}[-/ ]?W[0-5]?\d(?:-?[1-7])?$|\d{4} ?[年년]|^\d{12}[SW]$|"
    r"^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:(?:[01]\d|2[0-4])[0-5]\d(?:[0-5]\d)?)?$"
)
_OFFSET = re.compile(r"(?:GMT|UTC) *[+-] *\d{1,2}:?\d{2}")
_CLOCK_ALONE = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?: *[AaPp]\.?[Mm]\.?)?(?: *[-–] *\d{1,2}:\d{2}.*)?")
_DATE_ALONE = re.compile(r"[^:]*\d[^:]*")
_NUMBER = re.compile(r"[+(-]?(?:[$£€] ?)?(?:\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?:[eE][+-]?\d+)?[%)]?")
_KEY_VALUE = re.compile(r"([^:]{2,50}):(?!(?<=\d:)\d) *(\S.{0,80})")


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
    """Cells that repeat the one above them."""
    context: list[dict[str, str]] = field(default_factory=list)
    """What the lines above each section say, by key."""
    section: list[int] = field(default_factory=list)
    """The section of each row."""
    head: list[list[str]] = field(default_factory=list)
    """The lines above the first row."""


def kind_of_cell(cell: str) -> str:
    """What a cell looks like: empty (E), a time (T), a number (N) or a word (W)."""
    if not cell:
        return "E"
    if len(cell) < 70 and _STAMP.search(cell) and sum(map(str.isalpha, cell)) <= 20:
        # An offset alone is not a time: Date Time, GMT-05:00.
        return "T" if ("GMT" not in cell and "UTC" not in cell) or _STAMP.search(_OFFSET.sub("", cell)) else "W"
    return "N" if _NUMBER.fullmatch(cell) else "W"


def find_table(lines: list[list[str]]) -> Rows:
    """Distinguish rows from titles, headers and footers."""
    filled = [(place, row) for place, row in enumerate(lines) if any(row)]
    if not filled:
        return Rows([], None)
    looked = [row for _, row in filled[:LOOKED_AT]] + [row for _, row in filled[LOOKED_AT:][-50:]]
    record = _record_type(looked)
    body = [row for row in looked if record is None or row[0] == record]
    widths = Counter(len(row) for row in body)
    # The width with most cells: a title of many lines is narrow.
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
        if len(header) == width - 1 and _counts([row[0] for row in found.cells]):
            header = ["", *header]  # numbers of rows need no name
        found.names = (header + [""] * (width - len(header)))[:width]
    return found


def _counts(cells: list[str]) -> bool:
    """Whether cells count rows."""
    first = int(cells[0]) if cells and cells[0].isdecimal() else -1
    return first in (0, 1) and len(cells) > 2 and all(cell == str(n) for n, cell in enumerate(cells, first))


def _fill_down(rows: Rows) -> None:
    """Repeat in each row what the first columns state once per block, as reports and pivot tables do.

    Blocks have one length, or nearly all of them do: an entry that is merely missing is not invented.
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
    """What begins the rows with readings if the first cell of each line states its kind; None if it does not."""
    first = Counter(row[0] for row in rows)
    short = all(re.fullmatch(r"[A-Z][A-Z0-9]{0,7}|[1-9]\d{2}|\d{2}[A-Z]", word) for word in first)
    if not short or not 2 <= len(first) <= 8 or len(rows) < 2 * len(first):
        return None
    main = max(first, key=lambda word: (sum(len(row) for row in rows if row[0] == word), word))
    shapes = {word: {_shape(row) for row in rows if row[0] == word} for word in first}
    others = [(shape, first[word]) for word, found in shapes.items() if word != main for shape in found]
    # Lines of another kind have other fields; one line of words alone is a header.
    if any(shape in shapes[main] or (n == 1 and not set(shape) & {"N", "T"}) for shape, n in others):
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
    """The width of rows if some writers omit the last cells: that of the longest that begin as most rows do."""
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
        # A line below the names that distinguishes them, usually by units.
        bare = [unit.strip("[]()") for unit in units]
        return [f"{name} [{unit}]" if unit and unit != name else name for name, unit in zip(best, bare, strict=True)]
    return best


def _tells_units(row: list[str]) -> bool:
    """Whether a line has only units in most of its cells right of the first."""
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


def as_table(rows: Rows) -> ArrowTable:
    """Rows as a table of text; what sections say about themselves becomes columns."""
    width = len(rows.cells[0]) if rows.cells else len(rows.names or ())
    names = list(rows.names or [""] * width)
    columns = [pa.array([row[column] for row in rows.cells], pa.large_string()) for column in range(width)]
    for key in dict.fromkeys(key for found in rows.context for key in found):
        entries = pa.array([found.get(key, "") for found in rows.context], pa.large_string())
        columns.append(entries.take(pa.array(rows.section, pa.int64())))
        names.append(key)
    account = {"lines_skipped": rows.n_skipped, "filled_down": rows.n_filled}
    return ArrowTable(pa.table(columns, names=names), kind="file", untyped=True, account=account)
