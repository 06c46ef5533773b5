"""Readings inside JSON and XML: the arrays of records are found, and what stands above them becomes columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from shoal.errors import InputError
from shoal.read.textfiles import Rows, clean, kind_of_cell

_Record = dict[str, str]


def rows_of_json(document: Any) -> Rows:
    """The records of a document as rows: those of the kind that has most cells."""
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
        lists = {key: part for key, part in node.items() if isinstance(part, list)}
        lengths = {len(part) for part in lists.values() if part and not isinstance(part[0], list | dict)}
        if (
            len(lists) > 1
            and len(lengths) == 1
            and max(lengths) > 1
            and not any(isinstance(entry, list | dict) for part in lists.values() for entry in part)
        ):
            # Columns side by side: {"time": [...], "value": [...]}.
            for entries in zip(*lists.values(), strict=True):
                yield (*path, "#"), above | own | dict(zip(lists, map(_text, entries), strict=True))
            return
        stamps = [key for key in own if kind_of_cell(key) == "T" and kind_of_cell(own[key]) in "NE"]
        if len(stamps) > 1 and 2 * len(stamps) > len(own):
            # A number for each time: {"2024-05-31T00:00": 1.5, ...}.
            rest = {key: entry for key, entry in own.items() if key not in stamps}
            for key in stamps:
                yield (*path, "#"), above | rest | {"time": key, "value": own[key]}
            return
        within = above | {key: entry for key, entry in own.items() if entry}
        for key, part in node.items():
            if isinstance(part, Mapping | list):
                yield from _records(part, (*path, str(key)), within)
    elif isinstance(node, list):
        for entry in node:
            if isinstance(entry, Mapping):
                if not any(isinstance(part, list) and part for part in entry.values()):
                    yield path, above | _scalars(entry, deep=True)
                else:
                    yield from _records(entry, path, above)
            elif isinstance(entry, list):
                if entry and not any(isinstance(part, list | dict) for part in entry):
                    yield path, above | {f"{n}": _text(part) for n, part in enumerate(entry)}
                else:
                    yield from _records(entry, path, above)


def _scalars(node: Mapping[str, Any], *, deep: bool = False) -> _Record:
    """Entries that are no containers; of containers inside a record too, by their last name."""
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


def _text(entry: Any) -> str:
    if entry is None:
        return ""
    return clean(entry) if isinstance(entry, str) else repr(entry)


def rows_of_xml(root: Element) -> Rows:
    """The repeated elements of a document as rows."""
    return rows_of_json({_name(root): _as_nested(root)})


def _name(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _as_nested(element: Element) -> Any:
    """An element as a JSON document would write it: attributes and children by name, repeated ones as an array."""
    children = list(element)
    if not children and not element.attrib:
        return (element.text or "").strip()
    node: dict[str, Any] = dict(element.attrib)
    if not children and (element.text or "").strip():
        node[_name(element)] = (element.text or "").strip()
    n_of = Counter(_name(child) for child in children)
    for child in children:
        name, part = _name(child), _as_nested(child)
        if n_of[name] > 1:
            node.setdefault(name, []).append(part)
        else:
            node[name] = part
    return node
