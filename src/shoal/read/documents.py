"""JSON and XML, read whole and within limits: neither depth nor entities may take the machine down."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from shoal.errors import InputError
from shoal.read.locations import SourceFile

MOST_DOCUMENT = 512 << 20
"""Bytes of a document: it is held in memory, at several times its size."""


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
        raise InputError("The file begins like JSON and is none: it is damaged or cut off.") from None


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
        raise InputError("The XML defines entities, as files that attack their reader do. It is not read.") from None
    except (ParseError, ValueError, LookupError, RecursionError):
        raise InputError("The file begins like XML and is none: it is damaged or cut off.") from None
    return root


def _whole(file: SourceFile, kind: str) -> bytes:
    with file.open() as stream:
        text = stream.read(MOST_DOCUMENT + 1)
    if len(text) > MOST_DOCUMENT:
        raise InputError(
            f"The {kind} has more than {MOST_DOCUMENT >> 20} MiB. Write it as CSV or Parquet, or in several files."
        )
    return text
