"""Repositioning of events as they arrive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.guarantees.m_invariance import ShownSets
from shoal.methods import Reposition
from shoal.methods.event_parts import concat
from shoal.methods.reposition_window import Eligible
from shoal.model import EventTables, Verdict
from shoal.model.event_kinds import coarse_names, is_number
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.model.names import value_of


@dataclass(frozen=True, eq=False)
class PublishedSnapshot:
    """A snapshot that may be published now.

    Parameters
    ----------
    number
        Position of the snapshot in the stream, from 0.
    tables
        Its events as published; without records if all were moved on or suppressed.
    moved
        How many of its events were moved by how many snapshots; 0 for those that stayed.
    suppressed
        For the events that arrived with this snapshot and are never published, the count of each sensitive value, as
        text. For the publisher: it is in no published file.
    further
        Verdicts on guarantees that only the publisher can check, for these tables and all before.
    """

    number: int
    tables: EventTables
    moved: dict[int, int]
    suppressed: dict[str, int]
    further: tuple[Verdict, ...] = ()

    @property
    def n_suppressed(self) -> int:
        """How many events arrived with this snapshot and are never published."""
        return sum(self.suppressed.values())


class RepositionStream:
    """The method `Reposition` on events that arrive snapshot by snapshot.

    A snapshot leaves when `window` others have arrived after it, l-diverse, or at the end by `flush`.

    Parameters
    ----------
    method
        The method. Without a seed, one is drawn once and becomes part of the state.
    time, sensitive, quasi
        Columns of the snapshots.
    subject
        The column with the person behind an event, which a method with `m` needs.
    known
        All possible sensitive values. A snapshot with another is refused, and so is an `l` above their number.

    Examples
    --------
    >>> from shoal import simulate
    >>> events = simulate.events(days=10, seed=1)
    >>> stream = RepositionStream(
    ...     Reposition(l=3, window=4), time=events.time, sensitive=events.sensitive, quasi=events.quasi
    ... )
    >>> published = [out.number for snapshot in events.snapshots() for out in stream.push(snapshot)]
    >>> published, [out.number for out in stream.flush()]
    ([0, 1, 2, 3, 4, 5], [6, 7, 8, 9])
    """

    def __init__(
        self,
        method: Reposition,
        *,
        time: str,
        sensitive: str,
        quasi: Sequence[str],
        subject: str | None = None,
        known: Sequence[Any] | None = None,
    ) -> None:
        if known is not None and (n_known := len({value_of(str(value)) for value in known})) < method.l:
            raise ParameterError(
                f"l={method.l} needs at least {method.l} different sensitive values, {n_known} are known. Lower l."
            )
        self._method = method
        self._time, self._sensitive, self._quasi = time, sensitive, tuple(quasi)
        self._known = None if known is None else sorted({str(value) for value in known})
        self._subject = subject
        self._run = method.start(time=time, sensitive=sensitive, subject=subject)
        self._shown = [ShownSets(guarantee) for guarantee in method.further]
        self._finished = False

    @property
    def figures(self) -> dict[str, Any]:
        """How windows were planned, and what was suppressed for the sake of invariance: counts only."""
        return self._run.figures

    def push(self, *snapshots: pl.DataFrame) -> list[PublishedSnapshot]:
        """Add the events of one instant, later than all before, or of several in order; returns what may be published
        now.

        The result does not depend on how many are pushed at once, but pushing several takes less time for each.
        """
        if self._finished:
            raise InputError("The stream was flushed: nothing can arrive after its end.")
        return self._publish(self._run.push_each([self._checked(snapshot) for snapshot in snapshots]))

    def _checked(self, snapshot: pl.DataFrame) -> pl.DataFrame:
        named = [] if self._subject is None else [self._subject]
        events = snapshot[[self._time, *self._quasi, self._sensitive, *named]]
        if missing := events[self._time].null_count() + events[self._sensitive].null_count():
            raise InputError(f"{missing} times or sensitive values of a snapshot are missing. Drop those events.")
        if self._known is not None:
            strange = len(events) - int(events[self._sensitive].cast(pl.String).is_in(self._known).sum())
            if strange:
                raise InputError(f"{strange} of {len(events)} events of a snapshot have an unknown sensitive value.")
        return events

    def flush(self) -> list[PublishedSnapshot]:
        """Publish everything that is still pending. Nothing can arrive after it."""
        self._finished = True
        return self._publish(self._run.flush())

    def _publish(self, left: Iterable[Eligible]) -> list[PublishedSnapshot]:
        left = list(left)
        columns: dict[str, Any] = {"time": self._time, "quasi": self._quasi, "sensitive": self._sensitive}
        full = [eligible for eligible in left if len(eligible.events)]
        tables = self._method.tables(full, seed=self._run.seed, **columns) if full else []
        if tables and not self._method.aims_at.check(concat(tables)).holds:  # a bug; it must not be published
            raise GuaranteeNotMetError(
                f"A snapshot among those from position {full[0].number} on is not {self._method.l}-diverse. None of "
                "them was published."
            )
        made = {eligible.number: table for eligible, table in zip(full, tables, strict=True)}
        return [
            PublishedSnapshot(
                eligible.number,
                made.get(eligible.number) or self._nothing(eligible.events),
                eligible.moved if eligible.number in made else {},
                self._values(eligible),
                self._judged(eligible, made.get(eligible.number)),
            )
            for eligible in left
        ]

    def _judged(self, eligible: Eligible, tables: EventTables | None) -> tuple[Verdict, ...]:
        """The verdicts on what only the publisher can check; one that does not hold is a bug."""
        if tables is None or self._subject is None or eligible.groups is None:
            return ()
        times = eligible.time.new_from_index(0, len(eligible.events))
        verdicts = tuple(
            shown.judge(tables, eligible.events, self._subject, times=times, groups=eligible.groups)
            for shown in self._shown
        )
        if not all(verdict.holds for verdict in verdicts):
            raise GuaranteeNotMetError(
                f"The snapshot at position {eligible.number} shows a subject with other values than before, or with "
                "too few. It was not published."
            )
        return verdicts

    def _values(self, eligible: Eligible) -> dict[str, int]:
        return dict(Counter(eligible.suppressed[self._sensitive].cast(pl.String).to_list()).most_common())

    def _nothing(self, events: pl.DataFrame) -> EventTables:
        named = events.rename({self._time: TIME})
        if self._method.publish == "generalised":
            coarse = [
                pl.col(quasi).cast(kind if is_number(kind) else pl.String).alias(name)
                for quasi, kind in ((q, named.schema[q]) for q in self._quasi)
                for name in coarse_names(quasi, kind)
            ]
            return EventTables(named.select(TIME, *coarse, self._sensitive), None, self._quasi, self._sensitive)
        group, count = (pl.lit(0, dtype=pl.Int64).alias(name) for name in (GROUP, COUNT))
        return EventTables(
            named.select(TIME, group, *self._quasi),
            named.select(TIME, group, self._sensitive, count),
            self._quasi,
            self._sensitive,
        )

    def state(self) -> tuple[pl.DataFrame, dict[str, Any]]:
        """The pending events, and the rest as JSON: enough to continue elsewhere.

        Both are as private as the events themselves.
        """
        rows, facts = self._run.state()
        columns = {"time": self._time, "sensitive": self._sensitive, "quasi": list(self._quasi), "known": self._known}
        shown = [shown.facts() for shown in self._shown]
        return rows, {
            "columns": columns | {"subject": self._subject},
            "finished": self._finished,
            "run": facts,
            "shown": shown,
        }

    @classmethod
    def restored(
        cls, method: Reposition, rows: pl.DataFrame, facts: dict[str, Any], no_events: pl.DataFrame | None = None
    ) -> RepositionStream:
        """Restore the stream from its state; the method and the columns of snapshots must be those it had.

        A state that was changed is refused with ValueError: it could fail later, or publish who was published before.
        """
        stream = cls(method, **facts["columns"])
        named = [] if stream._subject is None else [stream._subject]
        columns = [stream._time, *stream._quasi, stream._sensitive, *named]
        if no_events is not None and columns != no_events.columns:
            raise ValueError("other columns")
        stream._finished = bool(facts["finished"])
        stream._run.restore(rows, facts["run"])
        if not stream._finished:
            stream._run.refuse_unsound(no_events)
        for shown, kept in zip(stream._shown, facts.get("shown", ()), strict=True):
            shown.restore(kept)
        return stream
