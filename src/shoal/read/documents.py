"""JSON, XML and HTML pages, read whole and within limits: neither depth nor entities can bring down the machine."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from shoal.errors import InputError
from shoal.read.source_files import SourceFile

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
        """Text between cells belongs to none."""
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
