"""Formats with a definition: NEM12 and NEM13 (AEMO's meter data file format), CMEP (MEPMD01) and Green Button (ESPI).

Each is read as its definition says into identifier, channel, start of the interval and value.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.documents import local_name
from shoal.read.durations import DAY, MINUTE
from shoal.read.profiles import NumberForm
from shoal.read.stamps import StampForm
from shoal.read.tables import ArrowTable

Reading = tuple[str, str, int, float]
"""Identifier, channel, start of the interval in microseconds, value."""

NAMES = ("id", "channel", "time", "value")


class DefinedTable(ArrowTable):
    """Readings of a format with a definition."""

    def __init__(self, definition: str, readings: Sequence[Reading], *, aware: bool, unit: str | None = None) -> None:
        columns = list(zip(*readings, strict=True)) or [(), (), (), ()]
        times = pa.array(columns[2], pa.int64()).cast(pa.timestamp("us", "UTC" if aware else None))
        arrays = [pa.array(columns[0], pa.large_string()), pa.array(columns[1], pa.large_string()), times]
        super().__init__(pa.table([*arrays, pa.array(columns[3], pa.float64())], names=list(NAMES)), kind="file")
        self.definition = definition
        self.unit = unit


def read_defined(rows: list[list[str]]) -> DefinedTable | None:
    """Rows of cells, read by their format's definition; None if they have none."""
    first = next((row for row in rows if any(row)), [])
    if len(first) > 1 and first[0] == "100" and first[1].upper() in ("NEM12", "NEM13"):
        return (_nem12 if first[1].upper() == "NEM12" else _nem13)(rows)
    if first[:1] and re.fullmatch(r"MEPMD0\d", first[0]):
        return _cmep(rows)
    return None


def _compact(texts: Sequence[str], what: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    stamps = StampForm("compact").read(pl.Series(list(texts), dtype=pl.String))
    if not stamps.valid.all():
        raise InputError(f"{int((~stamps.valid).sum())} of {len(texts)} times in {what} records cannot be read.")
    return stamps.printed


def _numbers(texts: Sequence[str]) -> list[float]:
    found: list[float] = NumberForm().read(pl.Series(list(texts), dtype=pl.String)).tolist()
    return found


def _nem12(rows: list[list[str]]) -> DefinedTable:
    readings: list[Reading] = []
    id_ = channel = ""
    unit, minutes = None, 30
    for row in rows:
        if row[:1] == ["200"] and len(row) > 8:
            id_, channel, unit, minutes = row[1], row[4], row[7], _minutes(row[8])
        elif row[:1] == ["300"] and len(row) > 2:
            n_slots = DAY // (minutes * MINUTE)
            if len(row) < 2 + n_slots:
                raise InputError(f"A 300 record of the NEM12 file has fewer than the {n_slots} values of a day.")
            midnight = int(_compact([row[1]], "NEM12")[0])
            quality = row[2 + n_slots] if len(row) > 2 + n_slots else ""
            for n, number in enumerate(_numbers(row[2 : 2 + n_slots])):
                # Quality N: no reading, even if a value is given.
                value = float("nan") if quality[:1] == "N" else number
                readings.append((id_, channel, midnight + n * minutes * MINUTE, value))
        elif row[:1] == ["400"] and len(row) > 3 and row[3][:1] == "N" and row[1].isdecimal() and row[2].isdecimal():
            # Intervals of the day above, counted from 1, without a reading.
            n_slots = DAY // (minutes * MINUTE)
            if len(readings) < n_slots or not 1 <= int(row[1]) <= int(row[2]) <= n_slots:
                raise InputError("A 400 record of the NEM12 file is not about intervals of a day before it.")
            for n in range(len(readings) - n_slots + int(row[1]) - 1, len(readings) - n_slots + int(row[2])):
                readings[n] = (*readings[n][:3], float("nan"))
    return DefinedTable("NEM12", readings, aware=False, unit=unit)


def _minutes(text: str) -> int:
    if not text.isdecimal() or int(text) not in (1, 5, 15, 30, 60):
        raise InputError("A 200 record of the NEM12 file has no interval length of 5, 15 or 30 minutes.")
    return int(text)


def _nem13(rows: list[list[str]]) -> DefinedTable:
    reads = [row for row in rows if row[:1] == ["250"] and len(row) > 19]
    starts = _compact([row[9] for row in reads], "NEM13").tolist()
    values = _numbers([row[18] for row in reads])
    readings = [(row[1], row[4], start, value) for row, start, value in zip(reads, starts, values, strict=True)]
    return DefinedTable("NEM13", readings, aware=False, unit=reads[0][19] if reads else None)


def _cmep(rows: list[list[str]]) -> DefinedTable:
    readings: list[Reading] = []
    unit = None
    for row in rows:
        if len(row) < 17:
            continue
        length = row[12].zfill(8)
        step = (int(length[2:4]) * 1440 + int(length[4:6]) * 60 + int(length[6:8])) * MINUTE
        factor = float(row[11] or 1)
        unit = unit or row[10]
        at: int | None = None
        for stamp, number in zip(row[14::3], _numbers(row[16::3]), strict=False):
            # An empty time is one interval after the last. A time is the end of its interval.
            at = int(_compact([stamp], "CMEP")[0]) if stamp else None if at is None else at + step
            if at is not None:
                readings.append((row[5], row[10], at - step, number * factor))
    return DefinedTable("CMEP", readings, aware=True, unit=unit)


# Green Button

_UOM = {
    "72": "Wh",
    "38": "W",
    "73": "varh",
    "63": "var",
    "71": "VAh",
    "61": "VA",
    "169": "therm",
    "42": "m3",
    "119": "ft3",
}
_FLOW = {"1": "delivered", "4": "net", "19": "received", "20": "total"}


def _first(element: Element | None, name: str) -> str | None:
    if element is None:
        return None
    return next(((e.text or "").strip() for e in element.iter() if local_name(e) == name), None)


def _links(entry: Element, relation: str) -> list[str]:
    return [e.get("href", "") for e in entry if local_name(e) == "link" and e.get("rel") == relation]


def _has(element: Element, name: str) -> bool:
    return any(local_name(inner) == name for inner in element.iter())


def read_green_button(root: Element, only_id: str) -> DefinedTable | None:
    """Interval readings of an ESPI feed, scaled by the power of ten of their reading type; None for other XML."""
    if not _has(root, "IntervalReading"):
        return None
    entries = [e for e in root.iter() if local_name(e) == "entry"] or [root]
    types = {
        link: e for e in entries for link in _links(e, "self") if any(local_name(c) == "ReadingType" for c in e.iter())
    }
    type_of = {
        reading: next((types[link] for link in _links(e, "related") if link in types), None)
        for e in entries
        for reading in _links(e, "self")
        if _has(e, "MeterReading")
    }
    only_type = next(iter(types.values())) if len(types) == 1 else None
    found: list[tuple[str, str, str, int, float]] = []
    units = set()
    for entry in entries:
        blocks = [e for e in entry.iter() if local_name(e) == "IntervalBlock"]
        if not blocks:
            continue
        own = " ".join([*_links(entry, "self"), *_links(entry, "up")])
        point = re.search(r"UsagePoint/([^/\s]+)", own)
        reading = re.search(r"(\S*MeterReading/[^/\s]+)", own)
        kind = type_of.get(reading[1]) if reading else None
        kind = kind if kind is not None else only_type
        factor = 10.0 ** int(_first(kind, "powerOfTenMultiplier") or 0)
        unit = _UOM.get(_first(kind, "uom") or "", "")
        channel = " ".join(part for part in (unit, _FLOW.get(_first(kind, "flowDirection") or "", "")) if part)
        units.add(unit)
        for block in blocks:
            for interval in (e for e in block.iter() if local_name(e) == "IntervalReading"):
                start, value = _first(interval, "start"), _first(interval, "value")
                if start is not None and re.fullmatch(r"-?\d{1,12}", start):
                    number = float(value) if value and re.fullmatch(r"-?\d+(\.\d+)?", value) else float("nan")
                    id_ = point[1] if point else only_id
                    found.append((id_, reading[1] if reading else "", channel, int(start) * 1_000_000, number * factor))
    # A channel is a meter reading; it is named after what it measures if that distinguishes them.
    of_reading = {(id_, reading): channel for id_, reading, channel, _, _ in found}
    told: dict[str, set[str]] = {}
    for (_, link), channel in of_reading.items():
        told.setdefault(channel, set()).add(link.rpartition("/")[2])
    alone = len({link for _, link in of_reading}) == 1
    readings = [
        (
            id_,
            "" if alone else channel if len(told[channel]) == 1 else f"{channel} {link.rpartition('/')[2]}".strip(),
            at,
            v,
        )
        for id_, link, channel, at, v in found
    ]
    return DefinedTable("Green Button", readings, aware=True, unit=next(iter(units)) if len(units) == 1 else None)
