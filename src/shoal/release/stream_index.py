"""What a folder of streamed snapshots holds: one line of JSON for each, which the certificate sums up.

A stream has no end at which its certificate could be written, and may have millions of files. So the certificate has
the digest of `snapshots.ndjson`, and each of its lines has the digests of a snapshot's files.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as checked

from shoal.guarantees.event_groups import event_groups
from shoal.model import EventTables
from shoal.model.event_codes import as_numbers
from shoal.model.event_tables import GROUP, TIME
from shoal.read.durations import DAY
from shoal.release import certificate as cert
from shoal.release.certification import time_part
from shoal.release.values import count_groups, tally

INDEX_FILE = "snapshots.ndjson"


@checked(frozen=True, config=ConfigDict(extra="forbid"))
class SnapshotLine:
    """What the index says about a snapshot: its number from 1, how much it holds, and the digests of its files."""

    number: int
    time: int | None
    """Its instant as a number; None if everything was moved on or suppressed."""
    events: int
    groups: dict[str, int]
    """How many groups of each size it has."""
    files: dict[str, cert.FilePart]

    @staticmethod
    def of(number: int, tables: EventTables, digests: Mapping[str, cert.FilePart]) -> SnapshotLine:
        """The line of a snapshot as it was read back."""
        if not tables.n_events:
            return SnapshotLine(number, None, 0, {}, dict(digests))
        groups = np.bincount(as_numbers(tables.records[GROUP])) if tables.bucketised else event_groups(tables).sizes
        return SnapshotLine(number, _instant(tables), len(tables), tally(groups[groups > 0]), dict(digests))

    def as_bytes(self) -> bytes:
        """The one way a line is written."""
        return _LINE.dump_json(self) + b"\n"


def _instant(tables: EventTables) -> int:
    """The time of the first event as `EventTables.times` counts it."""
    kind = tables.records.schema[TIME]
    number = int(as_numbers(tables.records[TIME][:1])[0])
    if kind == pl.Date:
        return number * DAY
    if isinstance(kind, pl.Datetime):
        return {"ms": number * 1000, "us": number, "ns": number // 1000}[kind.time_unit]
    return number


_LINE: TypeAdapter[SnapshotLine] = TypeAdapter(SnapshotLine)


def read_lines(content: bytes) -> Iterator[SnapshotLine]:
    """The lines of an index; ValueError if one is not as Shoal writes it."""
    for raw in content.splitlines(keepends=True):
        line = _LINE.validate_json(raw)
        if line.as_bytes() != raw:
            raise ValueError("written otherwise")
        yield line


@dataclass
class Account:
    """What the lines of an index add up to."""

    first_number: int = 1
    n_snapshots: int = 0
    n_with_events: int = 0
    events: int = 0
    groups: Counter[str] = field(default_factory=Counter)
    first: int | None = None
    last: int | None = None
    steps: set[int] = field(default_factory=set)
    """Up to two different lengths of time between snapshots."""

    def add(self, line: SnapshotLine) -> None:
        """Add one snapshot."""
        self.n_snapshots += 1
        if line.time is None:
            return
        self.n_with_events += 1
        self.events += line.events
        self.groups.update(line.groups)
        if self.last is not None and len(self.steps) < 2:
            self.steps.add(line.time - self.last)
        self.first, self.last = line.time if self.first is None else self.first, line.time

    def counts(self, suppressed: int) -> cert.CountsPart:
        """The counts in the form of a certificate."""
        sizes = dict(sorted(self.groups.items(), key=lambda pair: int(pair[0])))
        if not sizes:
            return cert.CountsPart(
                events=0, snapshots=0, suppressed=suppressed, grouped="instants", groups=0, smallest_group=0,
                largest_group=0, group_sizes={},
            )  # fmt: skip
        return count_groups(sizes, "instants", events=self.events, snapshots=self.n_with_events, suppressed=suppressed)

    def time(self, kind: str, timezone: str | None) -> cert.TimePart:
        """Which instants are covered; `kind` is the numpy type of the numbers."""
        if self.first is None or self.last is None:
            return cert.TimePart(first="", last="", step=None, timezone=timezone)
        whole = time_part(np.array([self.first, self.last]).astype(kind), timezone)
        step = None
        if len(self.steps) == 1:
            pair = np.array([self.first, self.first + next(iter(self.steps))]).astype(kind)
            step = time_part(pair, timezone).step
        return whole.model_copy(update={"step": step})


class Index:
    """The growing file. Opened again, it is cut to the snapshots that the state of the stream covers."""

    def __init__(self, folder: Path, n_covered: int) -> None:
        self._path = folder / INDEX_FILE
        self._descriptor: int | None = None
        self.account = Account()
        self._digest, self._size = hashlib.sha256(), 0
        kept = [line for line in read_index(folder) if line.number <= n_covered]
        # A folder whose files were moved elsewhere restarts with the next snapshot.
        if not kept or kept[-1].number != n_covered:
            kept = []
        self.account.first_number = kept[0].number if kept else n_covered + 1
        for line in kept:
            self._count(line)

    def append(self, lines: Iterable[SnapshotLine]) -> None:
        """Append further snapshots."""
        if self._descriptor is None:  # not before the state of this folder is saved
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._descriptor, self._size)
        content = b"".join(self._count(line) for line in lines)
        while content:
            content = content[os.write(self._descriptor, content) :]

    def _count(self, line: SnapshotLine) -> bytes:
        content = line.as_bytes()
        self.account.add(line)
        self._digest.update(content)
        self._size += len(content)
        return content

    @property
    def part(self) -> cert.FilePart:
        """The digest of the index."""
        return cert.FilePart(sha256=self._digest.copy().hexdigest(), bytes=self._size)

    def sync(self) -> None:
        """Wait until it is on disk."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)


def read_index(folder: Path) -> list[SnapshotLine]:
    """The lines of a folder's index up to the first damaged one, which a lost disk may leave."""
    lines: list[SnapshotLine] = []
    with suppress(FileNotFoundError, ValueError):
        lines.extend(read_lines((folder / INDEX_FILE).read_bytes()))
    return lines
