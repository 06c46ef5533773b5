"""JSON, XML and HTML pages as tables.

They are read whole and within limits: neither depth nor entities can bring down the machine. The arrays of records in
them are found, and the values above become columns.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from shoal.errors import InputError
from shoal.read.blocks import per_day
from shoal.read.headings import groups_of, words_of
from shoal.read.source_files import SourceFile
from shoal.read.text_rows import Rows, kind_of_cell
from shoal.read.textfiles import clean

MOST_DOCUMENT = 512 << 20
"""Largest size of a document in bytes: it is held in memory, at several times its size."""


def read_json(file: SourceFile) -> Any:
    """The content of a JSON file; of one with a document on each line, the list of them."""
    text = _whole(file, "JSON")
    try:
        decoded = text.decode("utf-16" if text[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        try:
            return json.loads(decoded)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                raise
            return [json.loads(line) for line in decoded.splitlines() if line.strip()]
    except RecursionError:
        raise InputError("The JSON is nested too deeply to be a table of readings.") from None
    except ValueError:  # a syntax error, an encoding, or a number of thousands of digits
        raise InputError("The file begins like JSON but is not valid JSON: it is damaged or cut off.") from None


def read_xml(file: SourceFile) -> Element:
    """The root of an XML file without a document type, which is where entities are defined."""
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import parse
    except ImportError:
        raise InputError("Reading XML needs a package: pip install 'shoal[meters]'.") from None
    text = _whole(file, "XML")
    try:
        root: Element = parse(io.BytesIO(text), forbid_dtd=True).getroot()
    except DefusedXmlException:
        raise InputError(
            "The XML defines entities, as files that attack their reader do. Shoal does not read it."
        ) from None
    except (ParseError, ValueError, LookupError, RecursionError):
        raise InputError("The file begins like XML but is not valid XML: it is damaged or cut off.") from None
    return root


class _Cells(HTMLParser):
    """The cells of the rows of all tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        """A row or a cell begins."""
        if tag == "tr":
            self.rows.append([])
        self._in_cell = tag in ("td", "th") or (self._in_cell and tag != "tr")
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        """Ignore text between cells."""
        self._in_cell = self._in_cell and tag not in ("td", "th", "tr", "table")

    def handle_data(self, data: str) -> None:
        """The text of a cell."""
        if self._in_cell and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def read_page(file: SourceFile) -> list[list[str]] | None:
    """The rows of the tables of an HTML page, a form in which some portals save workbooks; None if it is not a page."""
    text = _whole(file, "page")
    if not re.search(rb"(?i)<(?:!doctype )?html|<table", text[:4096]):
        return None
    cells = _Cells()
    try:
        cells.feed(text.decode("utf-8-sig"))
    except UnicodeDecodeError:
        cells.feed(text.decode("cp1252", "replace"))
    return [[" ".join(cell.split()) for cell in row] for row in cells.rows]


def _whole(file: SourceFile, kind: str) -> bytes:
    with file.open() as stream:
        text = stream.read(MOST_DOCUMENT + 1)
    if len(text) > MOST_DOCUMENT:
        raise InputError(
            f"The {kind} has more than {MOST_DOCUMENT >> 20} MiB. Write it as CSV or Parquet, or in several files."
        )
    return text


_Record = dict[str, str]


def rows_of_json(document: Any) -> Rows:
    """The records of a document as rows: those of the kind with the most cells."""
    found: dict[tuple[str, ...], list[_Record]] = {}
    for path, record in _records(document, (), {}):
        found.setdefault(path, []).append(record)
    fit = {path: records for path, records in found.items() if _n_numbers(records)}
    if not fit:
        raise InputError("The document holds no array of readings: no records with a time and a number.")
    records = fit[max(fit, key=lambda path: (_n_numbers(fit[path]), path))]
    names = list(Counter(name for record in records for name in record))
    return Rows([[record.get(name, "") for name in names] for record in records], names)


def _n_numbers(records: list[_Record]) -> int:
    """How many cells hold numbers, of kinds of records in which some are times."""
    some = records[:50]
    kinds = Counter(kind_of_cell(cell) for record in some for cell in record.values())
    return int(kinds["N"] * len(records) / len(some))


def _records(node: Any, path: tuple[str, ...], above: _Record) -> Iterator[tuple[tuple[str, ...], _Record]]:
    if isinstance(node, Mapping):
        own = _scalars(node)
        if _holds_array(node):
            # Objects next to arrays describe all of them.
            told = {key: part for key, part in node.items() if isinstance(part, Mapping) and not _holds_array(part)}
            own |= {key: entry for key, entry in _scalars(told, deep=True).items() if key not in own}
            node = {key: part for key, part in node.items() if key not in told}
        if (frame := _frame(node)) is not None:
            yield from (((*path, "#"), above | own | record) for record in frame)
            return
        stamps = [key for key in own if kind_of_cell(key) == "T" and kind_of_cell(own[key]) in "NE"]
        if len(stamps) > 1 and 2 * len(stamps) > len(own):
            # A number for each time: {"2024-05-31T00:00": 1.5, ...}.
            rest = {key: entry for key, entry in own.items() if key not in stamps}
            for key in stamps:
                yield (*path, "#"), above | rest | {"time": key, "value": own[key]}
            return
        if (counted := _since_start(node, above)) is not None:
            yield from (((*path, "#"), record) for record in counted)
            return
        within = above | {key: entry for key, entry in own.items() if entry}
        if (timed := _timed(node, own)) is not None:
            yield from (((*path, "#"), within | record) for record in timed)
            return
        if (days := _numbered(node)) is not None:
            yield (*path, "#"), within | days
            return
        parts = {str(key): part for key, part in node.items() if isinstance(part, Mapping | list)}
        if len(parts) > 1 and all(kind_of_cell(key) == "T" and _is_day(part) for key, part in parts.items()):
            # An array for each day: {"2024-05-31": [...], ...}.
            for key, part in parts.items():
                yield (*path, "#"), within | {"date": key} | _cells("value", part)
            return
        # Parts of one form differ in what their keys say: meters, channels or times.
        alike = len(parts) > 1 and len({_form(part) for part in parts.values()}) == 1
        name = _name_of_keys(path, within) if alike else ""
        for key, part in parts.items():
            if not alike:
                yield from _records(part, (*path, key), within)
            elif isinstance(part, Mapping) and not _holds_array(part) and _form(part)[1]:
                scalars = _scalars(part, deep=True)
                if sum(kind_of_cell(inner) == "T" for inner in scalars) > 1:
                    yield from _records(part, (*path, "*"), within | {name: key})
                else:
                    yield (*path, "*"), within | {name: key} | scalars
            else:
                yield from _records(part, (*path, "*"), within | {name: key})
    elif isinstance(node, list):
        for entry in node:
            if isinstance(entry, Mapping):
                if not _holds_array(entry):
                    yield path, above | _scalars(entry, deep=True)
                else:
                    yield from _records(entry, path, above)
            elif isinstance(entry, list):
                if entry and not any(isinstance(part, list | dict) for part in entry):
                    yield path, above | {f"{n}": _text(part) for n, part in enumerate(entry)}
                else:
                    yield from _records(entry, path, above)


def _frame(node: Mapping[str, Any]) -> Iterator[_Record] | None:
    """The rows of parallel columns, or of an array of rows next to its column names; None if there are none."""
    lists = {str(key): part for key, part in node.items() if isinstance(part, list) and part}
    flat = {key: part for key, part in lists.items() if not any(isinstance(entry, list | dict) for entry in part)}
    is_named = not any(kind_of_cell(key) == "T" for key in flat)
    if (
        is_named
        and len(flat) == len(lists) > 1
        and len({len(part) for part in flat.values()}) == 1 < len(next(iter(flat.values())))
    ):
        # {"time": [...], "value": [...]}
        return (dict(zip(flat, map(_text, entries), strict=True)) for entries in zip(*flat.values(), strict=True))
    for table in (part for key, part in lists.items() if key not in flat):
        widths = {len(row) if isinstance(row, list) else 0 for row in table}
        names = next((part for part in flat.values() if {len(part)} == widths and len(set(map(str, part))) > 1), None)
        if names is None or any(isinstance(cell, list | dict) for row in table for cell in row):
            continue
        # {"columns": [...], "data": [[...], ...]}, and maybe an "index" as long as the data
        beside = {key: part for key, part in flat.items() if part is not names and len(part) == len(table)}
        return (
            {key: _text(part[n]) for key, part in beside.items()}
            | dict(zip(map(str, names), map(_text, row), strict=True))
            for n, row in enumerate(table)
        )
    columns = [part for part in node.values() if isinstance(part, Mapping)]
    keys = list(columns[0]) if columns else []
    counted = [str(n) for n in range(int(keys[0]), int(keys[0]) + len(keys))] if keys and keys[0].isdecimal() else None
    if len(columns) == len(node) > 1 < len(keys) and all(list(part) == counted for part in columns):
        # {"time": {"0": ...}, "value": {"0": ...}}
        return ({str(name): _text(part[key]) for name, part in node.items()} for key in keys)
    return None


_LENGTH = re.compile(r"(?i)interval|resolution|step|frequency|granularity|period|cadence")
_ISO = re.compile(r"P(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?|(\d+)D)")


def _timed(node: Mapping[str, Any], own: _Record) -> Iterator[_Record] | None:
    """A start, an interval length and one array of numbers, as one record per interval; None if there are none."""
    lists = [part for part in node.values() if isinstance(part, list)]
    starts = [entry for key, entry in own.items() if kind_of_cell(entry) == "T" and "end" not in groups_of(key)]
    lengths = [step for key, entry in own.items() if _LENGTH.search(key) and (step := _seconds(key, entry))]
    if len(lists) != 1 or not starts or len(lengths) != 1 or not _are_numbers(lists[0]):
        return None
    try:
        start = datetime.fromisoformat(starts[0])
    except ValueError:
        return None
    length = timedelta(seconds=lengths[0])
    kept = {key: entry for key, entry in own.items() if kind_of_cell(entry) != "T" and not _LENGTH.search(key)}
    # An offset stays as it is: hours are counted, not shown by a clock.
    return (kept | {"start": (start + n * length).isoformat(), "value": _text(part)} for n, part in enumerate(lists[0]))


def _since_start(node: Mapping[str, Any], above: _Record) -> Iterator[_Record] | None:
    """Numbers keyed by the seconds since a start above them, as one record each; None if there are none."""
    starts = [key for key, entry in above.items() if "start" in groups_of(key) and kind_of_cell(entry) == "T"]
    if len(starts) != 1 or not _counts_seconds(node):
        return None
    try:
        start = datetime.fromisoformat(above[starts[0]])
    except ValueError:
        return None
    kept = {key: entry for key, entry in above.items() if kind_of_cell(entry) != "T"}
    return (
        kept | {"start": (start + timedelta(seconds=int(key))).isoformat(), "value": _text(entry)}
        for key, entry in node.items()
    )


def _counts_seconds(node: Mapping[str, Any]) -> bool:
    """Whether keys are whole numbers at least a minute apart, and each has a number."""
    keys = [int(key) for key in node if str(key).isdecimal()]
    apart = len(keys) > 2 and all(later - key >= 60 for key, later in itertools.pairwise(keys))
    return apart and len(keys) == len(node) and _are_numbers(list(node.values()))


def _seconds(name: str, entry: str) -> int:
    """The length of an interval in seconds: PT30M, 30 called minutes, or 1800; 0 if it is not a length."""
    if found := _ISO.fullmatch(entry):
        hours, minutes, seconds, days = (int(part or 0) for part in found.groups())
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if not entry.isdecimal():
        return 0
    number, words = int(entry), words_of(name)
    by_name = {"hour": 3600, "min": 60, "sec": 1, "ms": 0, "milli": 0}
    unit = next((unit for begin, unit in by_name.items() if any(word.startswith(begin) for word in words)), None)
    if unit is None:
        unit = 60 if number in (1, 5, 10, 15, 30, 60) else 1
    return number * unit if 86_400 % max(1, number * unit) == 0 else 0


def _are_numbers(part: list[Any]) -> bool:
    return len(part) > 1 and all(entry is None or isinstance(entry, int | float) for entry in part)


def _numbered(node: Mapping[str, Any]) -> _Record | None:
    """A date and one array of as many numbers as a day has intervals, as cells of a row."""
    lists = {key: part for key, part in node.items() if isinstance(part, list) and part}
    if len(lists) != 1 or not any(kind_of_cell(entry) == "T" for entry in _scalars(node).values()):
        return None
    ((key, part),) = lists.items()
    return _cells(key, part) if _is_day(part) else None


def _is_day(part: Any) -> bool:
    """Whether this is an array of as many numbers as a day has intervals."""
    numbers = isinstance(part, list) and all(entry is None or isinstance(entry, int | float) for entry in part)
    return numbers and per_day(len(part)) is not None


def _cells(name: str, part: Iterable[Any]) -> _Record:
    return {f"{name} {n}": _text(entry) for n, entry in enumerate(part, 1)}


def _holds_array(node: Any) -> bool:
    """Whether there is an array inside, other than a few numbers such as coordinates."""
    if isinstance(node, Mapping):
        return _counts_seconds(node) or any(_holds_array(part) for part in node.values())
    return isinstance(node, list) and (len(node) > 4 or any(isinstance(entry, list | dict) for entry in node))


def _form(part: Any) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What distinguishes one kind of part from another: the names and kinds of their content."""
    if isinstance(part, list):
        first = part[0] if part else None
        return "list", _form(first)[1] if isinstance(first, Mapping) else ((type(first).__name__, ""),)
    if not isinstance(part, Mapping):
        return "", ()
    kinds = {Mapping: "object", list: "array"}
    told = (
        (str(key), next((word for kind, word in kinds.items() if isinstance(entry, kind)), ""))
        for key, entry in part.items()
    )
    return "object", tuple(sorted(told))


def _name_of_keys(path: tuple[str, ...], taken: _Record) -> str:
    """Names for the keys of parts of one form: as the key above them says, or a series and then a channel."""
    above = path[-1].removesuffix("s") if path and path[-1] not in "#*" else ""
    wanted = [above] if above and groups_of(above) & {"point", "meter", "owner", "channel", "time"} else []
    return next(name for name in (*wanted, "series", "channel", *map(str, range(9))) if name not in taken)


def _scalars(node: Mapping[str, Any], *, deep: bool = False) -> _Record:
    """Entries that are not containers; for containers inside a record too, by their last name."""
    found: _Record = {}
    for key, part in node.items():
        if isinstance(part, Mapping):
            if deep:
                inner = _scalars(part, deep=True)
                found |= {
                    name if name not in found and name not in node else f"{key}.{name}": entry
                    for name, entry in inner.items()
                }
        elif not isinstance(part, list):
            found[str(key)] = _text(part)
    return found


_COUNTED = re.compile(r"/Date\((-?\d+)(?:[+-]\d{4})?\)/")
"""Milliseconds since 1970, as older services write them."""


def _text(entry: Any) -> str:
    if entry is None:
        return ""
    if isinstance(entry, str):
        counted = _COUNTED.fullmatch(entry)
        return counted[1] if counted else clean(entry)
    return repr(entry)


def rows_of_xml(root: Element) -> Rows:
    """The repeated elements of a document as rows."""
    return rows_of_json({local_name(root): _as_nested(root)})


def local_name(element: Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def _as_nested(element: Element) -> Any:
    """An element as a JSON document would write it: attributes and children by name, repeated ones as an array."""
    children = list(element)
    if not children and not element.attrib:
        return (element.text or "").strip()
    node: dict[str, Any] = dict(element.attrib)
    if not children and (element.text or "").strip():
        node[local_name(element)] = (element.text or "").strip()
    n_of = Counter(local_name(child) for child in children)
    for child in children:
        name, part = local_name(child), _as_nested(child)
        if n_of[name] > 1:
            node.setdefault(name, []).append(part)
        else:
            node[name] = part
    return node
