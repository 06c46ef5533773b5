"""m-invariance of events whose subjects recur."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.guarantees.event_groups import counted_texts
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import EventsCandidate, EventTables, Guarantee, Judged, Verdict
from shoal.model.event_codes import as_numbers, count_rows, sort_rows, take_rows
from shoal.model.event_tables import COUNT, GROUP, TIME

_OTHER = "published groups are not those of the original events as they are, so whose they are is not known"


@dataclass(frozen=True)
class MInvariance(Guarantee):
    """Over all snapshots the published groups of one subject show the same set of at least m values.

    For a subject with published events in the groups G1, G2, … let V(G) be the sensitive values published with G:

        V(G1) = V(G2) = …   and   #V(G1) >= m

    So someone who intersects the groups of a subject over time is left with as many values as one of them shows. A
    subject has at most one event in a snapshot: with two in one group, both values would be its own. Values are the
    same as in l-diversity; each event without a subject is a subject of its own.

    A disjoint union of subjects keeps it: each subject is judged by its own groups alone, and groups of two parts stay
    two. Only the publisher can check it, because who is in which group is not published. Which values a group shows is
    read from the published tables, and these must be those of the original events, row by row; otherwise, and for
    generalised events, which have no groups, it is not judged.

    Parameters
    ----------
    m
        The smallest number of values in every published group of a subject. Larger hides better and suppresses more.

    Examples
    --------
    >>> MInvariance(3).statement
    'The published groups of one subject show the same set of at least 3 sensitive values in every snapshot.'

    References
    ----------
    X. Xiao, Y. Tao, "m-invariance: towards privacy preserving re-publication of dynamic datasets", 2007, section 3.
    """

    name: ClassVar[str] = "m-invariance"
    needs_originals: ClassVar[bool] = True

    m: int

    def __post_init__(self) -> None:
        refuse_unless_whole("m", self.m, 2, "with 1 a group may show one value only.")

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        return (
            f"The published groups of one subject show the same set of at least {self.m} sensitive values in every "
            "snapshot."
        )

    def check(self, published: Judged) -> Verdict:
        """Compare the groups of every subject; measured is the smallest set, 0 if one subject has two.

        The witness is the position of an original event, in the order of time.
        """
        if not isinstance(published, EventsCandidate):
            return self._unknown("it needs original events with their groups, which only the publisher has")
        private, tables = published.private, published.published
        original = private.original
        if original.subject is None:
            return self._unknown("the events have no column for the subject; name it when reading them")
        if private.groups is None or tables.counts is None:
            return self._unknown("it is about groups with their values apart; publish bucketised events")
        inside = np.flatnonzero(private.snapshots >= 0)
        clock = as_numbers(original.frame[original.time])  # in order
        first = np.flatnonzero(np.concatenate([[True], clock[1:] != clock[:-1]]))
        events = take_rows(original.frame, inside)
        times = take_rows(original.frame[[original.time]], first[private.snapshots[inside]]).to_series()
        return ShownSets(self).judge(
            tables, events, original.subject, times=times, groups=private.groups[inside], rows=inside.tolist()
        )

    def _unknown(self, why: str) -> Verdict:
        return Verdict("not judged", None, int(self.m), None, why)


class ShownSets:
    """The set of values that each subject was published with: what the check remembers from snapshot to snapshot.

    Snapshots may be judged one after another, each with the tables published of it, or all at once.

    Parameters
    ----------
    guarantee
        What to judge.
    """

    def __init__(self, guarantee: MInvariance) -> None:
        self._m = int(guarantee.m)
        self._sets: dict[frozenset[str | None], int] = {}
        self._of_subject: dict[str, int] = {}

    def judge(
        self,
        tables: EventTables,
        events: pl.DataFrame,
        subject: str,
        *,
        times: pl.Series,
        groups: NDArray[np.int64],
        rows: Sequence[int] | None = None,
    ) -> Verdict:
        """Whether snapshots that come after all judged before keep the promise.

        Parameters
        ----------
        tables
            What is published of them, bucketised.
        events
            The original events that are published with them.
        subject
            The column of the subject.
        times, groups
            The snapshot and the group that each event is published with.
        rows
            The position of each event, for the witness; by default its place in `events`.
        """
        assert tables.counts is not None
        columns = [times.alias(TIME), pl.Series(GROUP, groups), *events[[*tables.quasi, tables.sensitive]]]
        schema = {**tables.records.schema, tables.sensitive: tables.counts.schema[tables.sensitive]}
        mine = pl.DataFrame([_cast(column, schema[column.name]) for column in columns])
        if not _same(mine, tables):
            return Verdict("not judged", None, self._m, None, _OTHER)
        shown = self._shown(tables.counts, tables.sensitive)
        seen: set[tuple[str, object]] = set()
        fewest, witness = None, None
        names = _cast(events[subject], pl.String()).to_list()
        for place, (name, key) in enumerate(zip(names, _keys(mine), strict=True)):
            row = place if rows is None else rows[place]
            here = shown[key]
            if name is not None:
                if (name, key[0]) in seen:
                    return self._fails(0, row, "a subject has two events in one snapshot")
                seen.add((name, key[0]))
                number = self._sets.setdefault(here, len(self._sets))
                if self._of_subject.setdefault(name, number) != number:
                    return self._fails(0, row, "the groups of one subject show different values")
            if fewest is None or len(here) < fewest:
                fewest, witness = len(here), row
        if fewest is None:
            return Verdict("not judged", None, self._m, None, "no event is published")
        if fewest < self._m:
            return self._fails(fewest, witness, "a group shows too few values")
        return Verdict("holds", fewest, self._m, None, "values that a group of a subject shows, at the least")

    def _shown(self, counts: pl.DataFrame, sensitive: str) -> dict[tuple[object, ...], frozenset[str | None]]:
        """The values of each time and group."""
        shown: dict[tuple[object, ...], set[str | None]] = {}
        for key, value in zip(_keys(counts), counted_texts(counts[sensitive]), strict=True):
            shown.setdefault(key, set()).add(value)
        return {key: frozenset(some) for key, some in shown.items()}

    def _fails(self, measured: int, row: int | None, why: str) -> Verdict:
        return Verdict("does not hold", measured, self._m, row, why)

    def facts(self) -> dict[str, Any]:
        """Everything, as JSON knows it. As private as the events."""
        return {"sets": [sorted(some) for some in self._sets], "subjects": self._of_subject}

    def restore(self, facts: Mapping[str, Any]) -> None:
        """Restore what the facts were taken from."""
        self._sets = {frozenset(some): number for number, some in enumerate(facts["sets"])}
        self._of_subject = {name: int(number) for name, number in facts["subjects"].items()}
        if not all(0 <= number < len(facts["sets"]) == len(self._sets) for number in self._of_subject.values()):
            raise ValueError("a subject with a set that is not there")


def _same(mine: pl.DataFrame, tables: EventTables) -> bool:
    """Whether the original events, with their groups, are what is published: records, and counts of values."""
    assert tables.counts is not None
    if not _sorted(mine[tables.records.columns]).equals(_sorted(tables.records)):
        return False
    counts = count_rows(mine[[TIME, GROUP, tables.sensitive]], COUNT)
    if (kind := tables.counts.schema[COUNT]) != pl.Int64:
        counts = counts.cast({COUNT: kind})
    return counts.equals(_sorted(tables.counts))


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    return sort_rows(frame, frame.columns)


def _cast(column: pl.Series, kind: pl.DataType) -> pl.Series:
    return column if column.dtype == kind else column.cast(kind)


def _keys(frame: pl.DataFrame) -> Iterator[tuple[object, object]]:
    """The time and the group of each row."""
    return zip(frame[TIME].to_list(), frame[GROUP].to_list(), strict=True)
