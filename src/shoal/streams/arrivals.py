"""From arriving events to closed snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.durations import Duration
from shoal.read.series import Spellings, read_names
from shoal.streams.blocks import Block, Position
from shoal.streams.checkpoint import refuse_unless_counts
from shoal.streams.columns import LARGEST, TEXT, TimeKind, cast_column, decide_type, read_times, type_of

_BEGINNING = -(2**63)
_CHUNKS = 64
"""Number of blocks whose open events are kept separately before they are merged."""
_SNAPSHOT, _ROW, _ID, _SUBJECT = (
    "snapshot",
    "row",
    "id",
    "__subject",
)  # columns of open events; also c0, c1, ...


class Fate(IntEnum):
    """What happens to an arriving event; the first that applies counts."""

    TAKEN = 0
    MALFORMED = 1
    INCOMPLETE = 2
    UNKNOWN = 3
    LATE = 4
    DUPLICATE = 5


REJECTED: dict[Fate, tuple[str, str]] = {
    Fate.MALFORMED: ("malformed", "is malformed: not a JSON object, or not as many entries as there are columns"),
    Fate.INCOMPLETE: (
        "incomplete",
        "is incomplete: no usable time, sensitive value or subject, or text where numbers are due",
    ),
    Fate.UNKNOWN: ("unknown", "has a sensitive value that is not among the known ones"),
    Fate.LATE: ("late", "is late: its snapshot is closed"),
    Fate.DUPLICATE: ("duplicates", "is a duplicate: its id has occurred in its snapshot"),
}
"""How rejected events are counted, and what is said about one."""


@dataclass(frozen=True)
class Arrived:
    """How many events arrived, and what happened to them."""

    events: int = 0
    rejected: dict[str, int] = field(default_factory=lambda: {name: 0 for name, _ in REJECTED.values()})
    out_of_order: int = 0

    def plus(self, fates: NDArray[np.int8], backward: NDArray[np.bool_]) -> Arrived:
        """These counts and those of some more events."""
        numbers = np.bincount(fates, minlength=len(Fate))
        more = {
            name: n + int(numbers[fate])
            for (fate, (name, _)), n in zip(REJECTED.items(), self.rejected.values(), strict=True)
        }
        return Arrived(self.events + len(fates), more, self.out_of_order + int(backward.sum()))


@dataclass(frozen=True)
class _SortedBlock:
    """A block with what happens to each of its events; `seen` is the latest time before each row and after the last."""

    block: Block
    fates: NDArray[np.int8]
    backward: NDArray[np.bool_]
    seen: NDArray[np.int64]
    events: pl.DataFrame
    """The accepted events, each with its row."""


class Arrivals:
    """Sorts arriving events into snapshots and closes these by a stated rule.

    An event belongs to the snapshot of its time, rounded down to a multiple of `every` (counted from 0, or from
    1970-01-01 on a clock). A snapshot closes when an event arrives whose time is at least `lateness` after the
    snapshot's end, or without `every` later than its instant and at least `lateness` later. Events of closed snapshots
    are late and are rejected. Events of open snapshots that come after events of later ones are accepted, and counted
    as out of order. What happens to an event depends only on the events before it, not on how they were cut into
    blocks.

    Parameters
    ----------
    time, sensitive, quasi, id, subject
        Names of columns. With `id`, a second event of a snapshot with the same id is a duplicate and rejected. With
        `subject`, snapshots have that column, too, as text, and an event without one is incomplete: an unknown person
        cannot be recognised.
    every
        Length of a snapshot; without it each instant is one.
    lateness
        How long a snapshot waits for late events. A longer wait loses fewer and delays all.
    known
        Known sensitive values as text; events with others are rejected. By default, all are accepted.
    strict
        Whether the first rejected event is an error.

    Examples
    --------
    >>> from shoal.streams.blocks import Position, parse_lines
    >>> lines = b'{"time": 1, "x": "a"}\\n{"time": 2, "x": "b"}\\n{"time": 1, "x": "c"}\\n'
    >>> arrivals = Arrivals(time="time", sensitive="x", quasi=())
    >>> [len(snapshot) for snapshot in arrivals.take(parse_lines(lines, arrivals.columns, Position()))]
    [1]
    >>> arrivals.arrived.rejected["late"]
    1
    """

    def __init__(
        self,
        *,
        time: str,
        sensitive: str,
        quasi: Sequence[str],
        id: str | None = None,
        subject: str | None = None,
        every: Duration | None = None,
        lateness: Duration | None = None,
        known: Sequence[str] | None = None,
        strict: bool = False,
    ) -> None:
        self.time, self.sensitive, self.quasi = time, sensitive, tuple(quasi)
        self.id, self.subject = id, subject
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(
                "A column of the events has two roles. Give each column one of time, sensitive, quasi, id or subject."
            )
        self.every, self.lateness, self.strict = every, lateness, strict
        self.known = None if known is None else pl.Series(sorted(set(known)), dtype=pl.String)
        self.kind = TimeKind.NONE
        self.types: tuple[str, ...] | None = None
        self.position = Position()
        self.arrived = Arrived()
        self.n_closed = 0
        self.n_repeated = 0
        """Events beyond the first of a subject in a closed snapshot."""
        self._latest = _BEGINNING
        self._last_closed = _BEGINNING
        self._open: pl.DataFrame | None = None

    @property
    def columns(self) -> list[str]:
        """The columns of a block that are read."""
        return [self.time, *self.quasi, self.sensitive, *self.identifiers]

    @property
    def identifiers(self) -> list[str]:
        """Columns that are read and never published; one may be both, id and subject."""
        return list(dict.fromkeys(name for name in (self.id, self.subject) if name is not None))

    @property
    def n_open(self) -> int:
        """Number of events in open snapshots."""
        return 0 if self._open is None else len(self._open)

    def known_values(self) -> list[Any] | None:
        """The known sensitive values in the type of their column, once that is decided."""
        if self.known is None or self.types is None:
            return None
        values, wrong = cast_column(self.known, self.types[-1])
        if wrong.any():
            raise ParameterError(f"{int(wrong.sum())} known values cannot occur in column {self.sensitive!r}.")
        return list(values.to_list())

    def take(self, block: Block) -> Iterator[pl.DataFrame]:
        """Accept events and yield each snapshot that closes, with columns time, quasi-identifiers, sensitive."""
        if self.types is None and len(block):
            if not block.untyped:
                self._decide(block.frame, untyped=False)
            else:
                # Types are decided by the events before the first snapshot closes, wherever a block ends.
                judged = self._judge(block)
                closings = self._closings(judged)
                if not closings:
                    yield from self._go_through(judged)
                    return
                head, block = block.split(closings[0][1])
                for _ in self._go_through(self._judge(head), closing=False):
                    raise AssertionError("nothing closes here")
                self._decide(self._open, untyped=True)
        yield from self._go_through(self._judge(block))

    def finish(self) -> Iterator[pl.DataFrame]:
        """Close every open snapshot, in order."""
        if self._open is None or not len(self._open):
            return
        if self.types is None:
            self._decide(self._open, untyped=True)
        left, self._open = self._open, self._open.clear()
        yield from self._close(left)

    def state(self) -> tuple[pl.DataFrame | None, dict[str, Any]]:
        """Open events, and what else is needed to continue."""
        facts = {
            "kind": int(self.kind),
            "types": self.types,
            "position": self.position.state(),
            "arrived": [self.arrived.events, self.arrived.rejected, self.arrived.out_of_order],
            "closed": self.n_closed,
            "repeated": self.n_repeated,
            "latest": self._latest,
            "last_closed": self._last_closed,
        }
        return self._open, facts

    def restore(self, rows: pl.DataFrame | None, facts: dict[str, Any]) -> None:
        """Continue from a state. Raises ValueError or TypeError if it is not one."""
        self.kind = TimeKind(facts["kind"])
        self.types = None if facts["types"] is None else tuple(facts["types"])
        self.position = Position(*facts["position"])
        self.arrived = Arrived(*facts["arrived"])
        self.n_closed, self.n_repeated = facts["closed"], facts.get("repeated", 0)
        self._latest, self._last_closed = facts["latest"], facts["last_closed"]
        self._open = rows
        refuse_unless_counts(self.arrived.events, self.arrived.out_of_order, self.n_closed, self.n_repeated)
        refuse_unless_counts(self.position.number, self.position.n_files, *self.arrived.rejected.values())
        if (
            list(self.arrived.rejected) != list(Arrived().rejected)
            or not isinstance(self.position.file, str | None)
            or not isinstance(self.position.marks, dict | None)
            or not all(type(at) is int and _BEGINNING <= at <= LARGEST for at in (self._latest, self._last_closed))
            or (self.kind is TimeKind.NONE and self._latest != _BEGINNING)
            or (self.types is not None and len(self.types) != len(self.quasi) + 1)
            or (rows is not None and rows.schema != self._open_schema())
            or (rows is not None and self._has_gaps(rows))
        ):
            raise ValueError("not the state of these arrivals")

    def _has_gaps(self, rows: pl.DataFrame) -> bool:
        """Whether open events lack a snapshot, a sensitive value or a subject, which were required of them."""
        needed = [_SNAPSHOT, f"c{len(self.quasi)}", *(() if self.subject is None else (_SUBJECT,))]
        return any(rows[name].null_count() for name in needed)

    def _open_schema(self) -> dict[str, Any]:
        """The columns of open events."""
        types = self.types or (TEXT,) * (len(self.quasi) + 1)
        named = {} if self.id is None else {_ID: pl.String()}
        named |= {} if self.subject is None else {_SUBJECT: pl.String()}
        return {_SNAPSHOT: pl.Int64()} | {f"c{i}": type_of(name) for i, name in enumerate(types)} | named

    def no_events(self) -> pl.DataFrame:
        """A snapshot as `take` gives it, without events."""
        return self._shown(pl.DataFrame(schema=self._open_schema()))

    def _decide(self, frame: pl.DataFrame | None, *, untyped: bool) -> None:
        assert frame is not None
        published = [*self.quasi, self.sensitive]
        columns = [frame[f"c{i}" if untyped else name] for i, name in enumerate(published)]
        if untyped and self.known is not None:
            columns[-1] = pl.concat([columns[-1].alias(self.sensitive), self.known.alias(self.sensitive)])
        self.types = tuple(decide_type(column, untyped=untyped) for column in columns)
        if untyped:
            self._open = frame.with_columns(cast_column(frame[f"c{i}"], kind)[0] for i, kind in enumerate(self.types))

    def _snapshots(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        length = self._length(self.every, "every")
        return instants if length == 0 else instants // length * length

    def _closing_times(self, snapshots: NDArray[np.int64]) -> NDArray[np.int64]:
        """The time from which an event closes each snapshot."""
        length, wait = self._length(self.every, "every"), self._length(self.lateness, "lateness")
        return snapshots + (max(1, wait) if length == 0 else length + wait)

    def _length(self, duration: Duration | None, setting: str) -> int:
        return 0 if duration is None else duration.needs(clock=self.kind.on_clock, setting=setting)

    def _judge(self, block: Block) -> _SortedBlock:
        frame = block.frame.select(self.columns)
        if block.untyped:
            frame = frame.with_columns(pl.all().replace("", None))
        if self.subject is not None:
            frame = frame.with_columns(_one_spelling(frame[self.subject]).alias(_SUBJECT))
        instants, kinds = read_times(frame[self.time])
        if self.kind is TimeKind.NONE and (kinds != TimeKind.NONE).any():
            first = TimeKind(int(kinds[np.flatnonzero(kinds)[0]]))
            self.kind = first.decide(None if self.every is None else self.every.length)
        fates = np.zeros(len(frame), dtype=np.int8)
        columns: list[pl.Series] = []
        wrong = ~self.kind.accepts(kinds, None if self.every is None else self.every.length)
        for name in (self.sensitive, *(() if self.subject is None else (_SUBJECT,))):
            wrong |= frame[name].is_null().to_numpy()
        for i, name in enumerate([*self.quasi, self.sensitive]):
            column = frame[name]
            if self.types is not None:
                column, unfit = cast_column(column, self.types[i])
                wrong |= unfit
            columns.append(column.alias(f"c{i}"))
        if self.known is not None:
            fates[~frame[self.sensitive].cast(pl.String).is_in(self.known.implode()).fill_null(True).to_numpy()] = (
                Fate.UNKNOWN
            )
        fates[wrong] = Fate.INCOMPLETE
        fates[block.malformed] = Fate.MALFORMED

        counts = fates == Fate.TAKEN
        seen = np.maximum.accumulate(np.concatenate([[self._latest], np.where(counts, instants, _BEGINNING)]))
        backward = np.zeros(len(frame), dtype=bool)
        snapshots = np.zeros(len(frame), dtype=np.int64)
        if counts.any():
            snapshots[counts] = self._snapshots(instants[counts])
            before = seen[:-1]
            closes = self._closing_times(snapshots)
            fates[counts & ((closes <= before) | (snapshots <= self._last_closed))] = Fate.LATE
            known = before > _BEGINNING
            latest = np.full(len(frame), _BEGINNING)
            latest[known] = self._snapshots(before[known])
            backward = counts & (fates == Fate.TAKEN) & (snapshots < latest)
        events = pl.DataFrame([pl.Series(_SNAPSHOT, snapshots), pl.Series(_ROW, np.arange(len(frame))), *columns])
        if self.id is not None:
            events = events.with_columns(frame[self.id].cast(pl.String).alias(_ID))
        if self.subject is not None:
            events = events.with_columns(frame[_SUBJECT])
        events = events[np.flatnonzero(fates == Fate.TAKEN)]
        if self.id is not None:
            again = self._duplicates(events)
            fates[again] = Fate.DUPLICATE
            backward[again] = False
            events = events[np.flatnonzero(~np.isin(events[_ROW].to_numpy(), again))]
        return _SortedBlock(block, fates, backward, seen, events)

    def _duplicates(self, events: pl.DataFrame) -> NDArray[np.int64]:
        """Rows whose id has occurred in their snapshot, in this block or before."""
        named = events.select(_SNAPSHOT, _ID, _ROW).drop_nulls(_ID)
        again = named.filter(~pl.struct(_SNAPSHOT, _ID).is_first_distinct())[_ROW].to_numpy()
        if self._open is None:
            return again
        earlier = named.join(self._open.select(_SNAPSHOT, _ID), on=[_SNAPSHOT, _ID], how="semi")[_ROW].to_numpy()
        return np.union1d(again, earlier)

    def _closings(self, judged: _SortedBlock) -> list[tuple[int, int]]:
        """Snapshots that close, in order, and how many rows of the block are consumed by then."""
        found = [frame[_SNAPSHOT].unique().to_numpy() for frame in (self._open, judged.events) if frame is not None]
        keys = np.unique(np.concatenate(found))
        if not len(keys):
            return []
        closes = self._closing_times(keys)
        due = closes <= judged.seen[-1]
        rows = np.searchsorted(judged.seen, closes[due], side="left")
        return list(zip(keys[due].tolist(), rows.tolist(), strict=True))

    def _go_through(self, judged: _SortedBlock, *, closing: bool = True) -> Iterator[pl.DataFrame]:
        """Consume the rows of a block and close snapshots; with `strict`, only the rows before a rejected one."""
        refused = int(np.argmax(judged.fates > 0)) if self.strict and (judged.fates > 0).any() else None
        end = len(judged.block) if refused is None else refused
        keys = [key for key, row in self._closings(judged) if row <= end] if closing else []
        events = judged.events if refused is None else judged.events.filter(pl.col(_ROW) < end)
        events = events.drop(_ROW)
        if self._open is not None and len(self._open):
            events = pl.concat([self._open, events])
        self.position = judged.block.position(end)
        self.arrived = self.arrived.plus(judged.fates[:end], judged.backward[:end])
        self._latest = int(judged.seen[end])
        if keys:
            inside = events[_SNAPSHOT] <= keys[-1]
            self._open = events.filter(~inside)
            yield from self._close(events.filter(inside))
        else:
            self._open = events.rechunk() if events.n_chunks() > _CHUNKS else events
        if refused is not None:
            rule = REJECTED[Fate(int(judged.fates[refused]))][1]
            raise InputError(
                f"The event at {judged.block.place(refused)} {rule}. Omit --strict to count and skip such events."
            )

    def _close(self, events: pl.DataFrame) -> Iterator[pl.DataFrame]:
        for key, snapshot in self._partition(events):
            self._last_closed = key
            self.n_closed += 1
            yield snapshot

    def _partition(self, events: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """Snapshots in order, each with its events in the order of their arrival, as they are pushed."""
        ordered = events.sort(_SNAPSHOT, maintain_order=True)
        shown = self._shown(ordered)
        if self.subject is not None:
            self.n_repeated += len(ordered) - len(ordered.select(_SNAPSHOT, _SUBJECT).unique())
        keys = ordered[_SNAPSHOT].to_numpy()
        starts = np.flatnonzero(np.diff(keys, prepend=_BEGINNING)) if len(keys) else np.zeros(0, dtype=np.int64)
        for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(keys)], strict=False):
            yield int(keys[start]), shown[start:end]

    def _shown(self, events: pl.DataFrame) -> pl.DataFrame:
        """Open events as they are pushed."""
        published = [*self.quasi, self.sensitive]
        shown = events.select(
            self.kind.published(events[_SNAPSHOT]).alias("time"),
            *(pl.col(f"c{i}") for i in range(len(published))),
            *(() if self.subject is None else (pl.col(_SUBJECT),)),
        )
        shown.columns = [self.time, *published, *(() if self.subject is None else (self.subject,))]
        return shown


def _one_spelling(subjects: pl.Series) -> pl.Series:
    """Subjects as text in canonical spelling, as when a whole table is read: a trailing space does not make another
    person."""
    texts = subjects.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())
    return pl.Series(pl.from_arrow(read_names(texts, Spellings("the subject")))).cast(pl.String).replace("", None)
