"""m-invariance of events whose subjects recur."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shoal.guarantees.event_groups import counted_as
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.model import EventsCandidate, Guarantee, Judged, Verdict
from shoal.model.event_tables import COUNT, GROUP, TIME

_OTHER = "published groups are not those of the original events as they are, so whose they are is not known"


@dataclass(frozen=True)
class MInvariance(Guarantee):
    """Over all snapshots the published groups of one subject show the same set of at least m values.

    For a subject with published events in the groups G1, G2, … let V(G) be the sensitive values published with G:

        V(G1) = V(G2) = …   and   #V(G1) >= m

    So someone who intersects the groups of a subject over time is left with as many values as one of them shows. A
    subject has at most one event in a snapshot: with two in one group, both values would be its own.Values are the same
    as in l-diversity; each event without a subject is a subject of its own.

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
        frame = original.frame[inside]
        instants = original.frame[original.time].unique().sort()
        keys = {TIME: instants.gather(private.snapshots[inside]), GROUP: pl.Series(private.groups[inside])}
        mine = frame.select(*original.quasi, pl.col(original.sensitive)).with_columns(
            **{name: column.cast(tables.records.schema[name]) for name, column in keys.items()}
        )
        if not _same(mine, published):
            return self._unknown(_OTHER)
        return self._judge(published, mine, frame[original.subject], inside.tolist())

    def _judge(self, published: EventsCandidate, mine: pl.DataFrame, subjects: pl.Series, rows: list[int]) -> Verdict:
        counts, sensitive = published.published.counts, published.published.sensitive
        assert counts is not None
        sets: dict[tuple[object, object], set[object]] = {}
        values = counted_as(counts[sensitive]).to_list()
        for key, value in zip(counts.select(TIME, GROUP).iter_rows(), values, strict=True):
            sets.setdefault((key[0], key[1]), set()).add(value)
        first: dict[object, tuple[object, object]] = {}
        seen: set[tuple[object, object]] = set()
        fewest, witness = None, None
        for row, subject, key in zip(rows, subjects.to_list(), mine.select(TIME, GROUP).iter_rows(), strict=True):
            here = sets[key[0], key[1]]
            if subject is not None:
                if (subject, key[0]) in seen:
                    return self._fails(0, row, "a subject has two events in one snapshot")
                seen.add((subject, key[0]))
                if sets[first.setdefault(subject, (key[0], key[1]))] != here:
                    return self._fails(0, row, "the groups of one subject show different values")
            if fewest is None or len(here) < fewest:
                fewest, witness = len(here), row
        if fewest is None:
            return self._unknown("no event is published")
        if fewest < self.m:
            return self._fails(fewest, witness, "a group shows too few values")
        return Verdict("holds", fewest, int(self.m), None, "values that a group of a subject shows, at the least")

    def _fails(self, measured: int, row: int | None, why: str) -> Verdict:
        return Verdict("does not hold", measured, int(self.m), row, why)

    def _unknown(self, why: str) -> Verdict:
        return Verdict("not judged", None, int(self.m), None, why)


def _same(mine: pl.DataFrame, published: EventsCandidate) -> bool:
    """Whether the original events, with their groups, are what is published: records, and counts of values."""
    tables = published.published
    assert tables.counts is not None
    records = mine.select(tables.records.columns).cast(tables.records.schema)
    counts = mine.group_by(TIME, GROUP, tables.sensitive).agg(pl.len().alias(COUNT))
    counts = counts.select(tables.counts.columns).cast(tables.counts.schema)
    return _sorted(records).equals(_sorted(tables.records)) and _sorted(counts).equals(_sorted(tables.counts))


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.sort(frame.columns)
