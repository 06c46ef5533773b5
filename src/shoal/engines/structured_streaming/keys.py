"""The stream of one key on a Spark worker: its state, its events, and its files."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, ReleaseError
from shoal.files.durable import Aside, sync, write_aside
from shoal.methods import Reposition
from shoal.streams.arrivals import Arrivals
from shoal.streams.blocks import Block, Position
from shoal.streams.checkpoint import UNREADABLE, Checkpoint
from shoal.streams.output import FileFormat, PublishedTotals, summarise, write_snapshot, write_summary
from shoal.streams.reposition import PublishedSnapshot, RepositionStream
from shoal.streams.terms import read_duration

STATES = "keys"
PARTIAL = ".partial-"
_STATE = "state-"
_LONGEST = 240
# Characters that Hive and Spark escape in the names of partitions, so that they read the same value back.
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{}\[\]^]""")


@dataclass(frozen=True)
class Terms:
    """What a worker needs to know about the stream."""

    method: Reposition
    key: str
    time: str
    sensitive: str
    quasi: tuple[str, ...]
    id: str | None
    every: str | None
    lateness: str | None
    known: tuple[str, ...] | None
    strict: bool
    untyped: bool
    file_format: FileFormat
    to: Path
    private: Path

    def arrivals(self) -> Arrivals:
        """The rule by which snapshots close, as `shoal stream` has it."""
        return Arrivals(
            time=self.time,
            sensitive=self.sensitive,
            quasi=self.quasi,
            id=self.id,
            every=read_duration(self.every, "every"),
            lateness=read_duration(self.lateness, "lateness"),
            known=self.known,
            strict=self.strict,
        )


def key_seed(seed: int, key: str) -> int:
    """The seed of one key, by HMAC: someone who knows all events of one key learns nothing about another key's
    groups."""
    digest = hmac.new(seed.to_bytes((seed.bit_length() + 7) // 8 or 1), key.encode(), hashlib.sha256).digest()
    return int.from_bytes(digest[:16])


def folder_name(column: str, key: str) -> str:
    """The folder of a key, named as partitions are: region=north."""
    column, key = (_ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text) for text in (column, key))
    name = f"{column}={key}"
    if len(name.encode()) > _LONGEST:
        raise InputError(f"A value of the key {column!r} is too long for a folder name. Use a shorter code.")
    return name


class KeyFiles:
    """The files of a key: a folder of published snapshots, and one state for each batch that changed it.

    Spark may run a task twice, and may run a batch again after a crash. So every file is written elsewhere and renamed,
    states carry the number of their batch, and an existing snapshot is never replaced by a different one.
    """

    def __init__(self, terms: Terms, name: str) -> None:
        self._to = terms.to / name
        self._states = terms.private / STATES / name
        self._format: FileFormat = terms.file_format
        self._aside = self._to / f"{PARTIAL}{uuid.uuid4().hex}"

    def state_before(self, batch: int | None) -> Checkpoint | None:
        """The last state of an earlier batch; without a number, the last state of all."""
        numbers = sorted(self._numbers())
        if batch is not None and numbers and numbers[-1] > batch:
            raise ReleaseError(
                "The state of the stream is ahead of Spark's checkpoint next to it. Restore the private folder, or "
                "start a new stream in new folders."
            )
        numbers = [number for number in numbers if batch is None or number < batch]
        if not numbers:
            return None
        if batch is not None:
            self.forget(numbers[-1])  # only an uncommitted batch runs again, and it needs only the last state
        try:
            return Checkpoint.from_bytes(self._state(numbers[-1]).read_bytes())
        except UNREADABLE:
            raise ReleaseError(
                f"A state in {str(self._states.parent)!r} cannot be read: it is damaged. Start the "
                "stream again in new folders."
            ) from None

    def publish(self, snapshots: Sequence[PublishedSnapshot]) -> None:
        """Write snapshots; each is complete and on disk before it gets its name."""
        for snapshot in snapshots:
            self._aside.mkdir(parents=True, exist_ok=True)
            for written in write_snapshot(self._aside, snapshot, self._format).asides:
                written.sync()
                aside = Aside(written.path, self._to / written.place.name)
                if aside.place.exists() and aside.place.read_bytes() != aside.path.read_bytes():
                    raise ReleaseError(
                        f"The snapshot at position {snapshot.number} was published before and would differ now: the "
                        "same batch came in another order or with other events. Nothing was replaced."
                    )
                aside.put_in_place()

    def commit(self, checkpoint: Checkpoint, summary: dict[str, Any] | None) -> None:
        """Store the state once what it covers is on disk; then the summary, which can be computed from the state."""
        if summary is not None:
            self._aside.mkdir(parents=True, exist_ok=True)
            sync(self._to)
        self._states.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark = f"-{uuid.uuid4().hex}"
        aside = write_aside(self._state(checkpoint.number), checkpoint.to_bytes(), mode=0o600, mark=mark)
        aside.sync()
        aside.put_in_place()
        sync(self._states)
        if summary is not None:
            write_summary(self._aside, summary)
            (self._aside / "summary.json").rename(self._to / "summary.json")

    def forget(self, before: int) -> None:
        """Remove older states: they hold events."""
        for number in self._numbers():
            if number < before:
                self._state(number).unlink(missing_ok=True)

    def tidy(self) -> None:
        """Remove what was not put in place."""
        shutil.rmtree(self._aside, ignore_errors=True)

    def _numbers(self) -> list[int]:
        return [int(path.name.removeprefix(_STATE)) for path in self._states.glob(f"{_STATE}*")]

    def _state(self, number: int) -> Path:
        return self._states / f"{_STATE}{number:012d}"


class KeyStream:
    """The stream of one key: arrivals, the operator, and what was published."""

    def __init__(self, terms: Terms, key: str | None, kept: Checkpoint | None) -> None:
        self._arrivals = terms.arrivals()
        self._method, self._untyped = terms.method, terms.untyped
        self._operator: RepositionStream | None = None
        self._totals = PublishedTotals()
        self.finished = False
        if kept is None:
            assert key is not None
            assert terms.method.seed is not None
            self._method = dataclasses.replace(terms.method, seed=key_seed(terms.method.seed, key))
            return
        facts = kept.facts
        self._method = dataclasses.replace(terms.method, seed=facts["seed"])
        self._arrivals.restore(kept.tables.get("open"), facts["arrivals"])
        self._totals = PublishedTotals.restored(facts["totals"])
        self.finished = facts["finished"]
        if facts["operator"] is not None:
            self._operator = RepositionStream.restored(
                self._method, kept.tables["window"], facts["operator"], self._arrivals.no_events()
            )

    def take(self, frame: pl.DataFrame, malformed: NDArray[np.bool_]) -> Iterator[PublishedSnapshot]:
        """Take events in order of arrival; yields the snapshots that leave the window."""
        before = self._arrivals.position
        after = Position(before.number + len(frame))
        numbers = np.arange(before.number + 1, after.number + 1)
        for snapshot in self._arrivals.take(Block(frame, malformed, numbers, before, after, self._untyped)):
            yield from self._push(snapshot)

    def finish(self) -> Iterator[PublishedSnapshot]:
        """End the stream; yields everything that was waiting."""
        for snapshot in self._arrivals.finish():
            yield from self._push(snapshot)
        if self._operator is not None:
            rest = self._operator.flush()
            self._totals = self._totals.after(rest, self._operator.figures)
            yield from rest
        self.finished = True

    def _push(self, snapshot: pl.DataFrame) -> Iterator[PublishedSnapshot]:
        if self._operator is None:
            arrivals = self._arrivals
            columns: dict[str, Any] = {"time": arrivals.time, "sensitive": arrivals.sensitive, "quasi": arrivals.quasi}
            self._operator = RepositionStream(self._method, known=arrivals.known_values(), **columns)
        published = self._operator.push(snapshot)
        self._totals = self._totals.after(published, self._operator.figures)
        yield from published

    def checkpoint(self, number: int) -> Checkpoint:
        """Everything that is needed to continue after this batch."""
        tables: dict[str, pl.DataFrame] = {}
        events, arrived = self._arrivals.state()
        if events is not None:
            tables["open"] = events
        operator = None
        if self._operator is not None and not self.finished:
            tables["window"], operator = self._operator.state()
        facts = {
            "arrivals": arrived,
            "totals": self._totals.facts(),
            "finished": self.finished,
            "seed": self._method.seed,
            "operator": operator,
        }
        return Checkpoint(number, facts, tables)

    def summary(self) -> dict[str, Any]:
        """The figures so far."""
        return summarise(self._method, self._arrivals, self._totals, finished=self.finished)
