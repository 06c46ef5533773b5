"""What repositioning is compared with, under the same l: suppression alone, and merged snapshots.

Suppression alone publishes every snapshot at its own time, without the events of its most frequent values that are too
many: a reposition window of one snapshot.

Merging publishes the union of consecutive snapshots with an interval instead of a time. Three rules say where an
interval ends:

    as they come        Snapshots join until their union is l-eligible. What is left at the end of the stream and is not
                        eligible joins the interval before it, and that one the interval before, until it is.
    with hindsight      The stream is cut where the sum over events of the length of their interval, less 1, is least,
                        all intervals being eligible. Nobody could do that while the stream goes on; it is the best
                        that merging alone can do for times.
    at most `longest`   As they come, but an interval of `longest` snapshots ends, eligible or not, and events that are
                        too many are suppressed. So is what is left at the end. This waits no longer than a reposition
                        window of `longest` snapshots does.

The first two suppress nothing, and are impossible where the whole stream is not eligible. Intervals are bucketised as
snapshots are. A count over a window takes of each interval the share of its snapshots that lie in the window. Readers
are told which instants have events; without it they would have to spread events over empty days, too.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.methods import Reposition
from shoal.model import Events, EventsCandidate, EventTables
from shoal.queries import WindowCount

Counts = NDArray[np.int64]
Intervals = list[tuple[int, int]]
"""First and last position among the snapshots, both included, of each interval in order."""


def counts_of(events: Events) -> Counts:
    """How many events each snapshot has of each sensitive value: a row per snapshot, a column per value."""
    frame = events.frame
    row = frame[events.time].rank("dense").to_numpy().astype(np.int64) - 1
    column = frame[events.sensitive].rank("dense").to_numpy().astype(np.int64) - 1
    counts = np.zeros((row.max() + 1, column.max() + 1), dtype=np.int64)
    np.add.at(counts, (row, column), 1)
    return counts


def eligible(counts: Counts, l: int) -> NDArray[np.bool_]:
    """Whether no value has more than a share of 1/l; values along the last axis."""
    return np.asarray(l * counts.max(axis=-1) <= counts.sum(axis=-1))


def suppression_alone(events: Events, l: int, seed: int) -> EventsCandidate:
    """Every snapshot without what is too many in it."""
    return in_one_piece(Reposition(l=l, window=1, plan="paper", seed=seed).anonymize(events))


def in_one_piece(candidate: EventsCandidate) -> EventsCandidate:
    """The same with tables that are not in a piece per snapshot: hundreds of questions are then asked far faster."""
    tables = candidate.published
    counts = None if tables.counts is None else tables.counts.rechunk()
    whole = EventTables(tables.records.rechunk(), counts, tables.quasi, tables.sensitive)
    return replace(candidate, published=whole)


def as_they_come(counts: Counts, l: int) -> Intervals:
    """Each interval ends as soon as it is eligible."""
    refuse_unless_eligible(counts, l)
    found: Intervals = []
    first = 0
    for last in range(len(counts)):
        if eligible(counts[first : last + 1].sum(axis=0), l):
            found.append((first, last))
            first = last + 1
    if first < len(counts):
        while not eligible(counts[first:].sum(axis=0), l):
            first = found.pop()[0]
        found.append((first, len(counts) - 1))
    return found


def with_hindsight(counts: Counts, l: int) -> Intervals:
    """The least sum over events of the length of their interval, less 1."""
    refuse_unless_eligible(counts, l)
    n = len(counts)
    until = np.vstack([np.zeros_like(counts[:1]), np.cumsum(counts, axis=0)])
    least, begin = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64)
    least[0] = 0.0
    for end in range(1, n + 1):
        union = until[end] - until[:end]
        waits = union.sum(axis=1) * np.arange(end - 1, -1, -1)
        loss = np.where(eligible(union, l), least[:end] + waits, np.inf)
        begin[end] = loss.argmin()
        least[end] = loss[begin[end]]
    found: Intervals = []
    end = n
    while end:
        found.append((int(begin[end]), end - 1))
        end = int(begin[end])
    return found[::-1]


def at_most(counts: Counts, l: int, longest: int) -> Intervals:
    """Each interval ends as soon as it is eligible or has `longest` snapshots."""
    found: Intervals = []
    first = 0
    for last in range(len(counts)):
        if eligible(counts[first : last + 1].sum(axis=0), l) or last - first + 1 == longest or last == len(counts) - 1:
            found.append((first, last))
            first = last + 1
    return found


def refuse_unless_eligible(counts: Counts, l: int) -> None:
    """Merging alone makes nothing eligible if the whole is not."""
    if not eligible(counts.sum(axis=0), l):
        raise ParameterError(f"All {counts.sum()} events together are not eligible for l={l}: merging alone cannot do.")


@dataclass(frozen=True, eq=False)
class Merged:
    """Events published in intervals.

    Parameters
    ----------
    candidate
        Bucketised, with the first instant of its interval as the time of each event.
    intervals
        Positions among the original instants.
    instants
        The original instants that have events, in order.
    """

    candidate: EventsCandidate
    intervals: Intervals
    instants: pl.Series

    @property
    def published(self) -> EventTables:
        """What is published but for the last instant of each interval."""
        return self.candidate.published

    @property
    def coarse(self) -> Events:
        """The original events as somebody sees them who knows their interval only."""
        return self.candidate.private.original

    @property
    def mean_length(self) -> float:
        """Snapshots of the interval of an event, on average over all original events."""
        starts = self.instants.gather([first for first, _ in self.intervals])
        lengths = np.array([last - first + 1 for first, last in self.intervals])
        own = starts.search_sorted(self.coarse.frame[self.coarse.time]).to_numpy()
        return float(lengths[own].mean())

    def count(self, query: WindowCount) -> float:
        """The expected number of events that meet a query, spread evenly over the snapshots of their interval."""
        start, end = (int(_place(self.instants, moment)) for moment in (query.start, query.end))
        total = 0.0
        whole: list[Any] = []
        for first, last in self.intervals:
            inside = min(last, end) - max(first, start) + 1
            if inside <= 0:
                continue
            if inside == last - first + 1:
                whole.append(self.instants[first])
            else:
                share = inside / (last - first + 1)
                moment = self.instants[first]
                total += share * WindowCount(moment, moment, query.where).count(self.published)
        # Intervals that are inside follow one another: one question is enough for them.
        return total + (WindowCount(whole[0], whole[-1], query.where).count(self.published) if whole else 0.0)


def merge(events: Events, l: int, intervals: Intervals, seed: int) -> Merged:
    """Publish each interval as one snapshot, suppressing what is too many in it."""
    frame = events.frame
    instants = frame[events.time].unique().sort()
    firsts = np.concatenate([np.full(last - first + 1, first) for first, last in intervals])
    home = instants.search_sorted(frame[events.time]).to_numpy()
    coarse = frame.with_columns(instants.gather(firsts[home]).alias(events.time))
    merged = Events(coarse, time=events.time, sensitive=events.sensitive, quasi=events.quasi)
    return Merged(suppression_alone(merged, l, seed), intervals, instants)


def _place(instants: pl.Series, moment: Any) -> int:
    """The position of one of the instants."""
    return int(instants.search_sorted(moment))
