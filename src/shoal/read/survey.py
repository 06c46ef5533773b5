"""One pass over the readings of a table: what it contains, in counts.

    step         the most frequent difference between successive times of a series
    repeat       a row with the series, time and reading of another
    conflict     a row with the series and time of another, and a different reading
    gap two successive readings of a series further apart than its step; as long as their distance minus one step zero
    meter a series with readings, all of them 0 register a series of at least 20 readings that grow at least 10 times
    and almost never fall

Rows may come in any order. They are gathered by series in a `RowStore`, so memory is bounded however long the table
is; beyond that there are a few numbers per series and per instant. No reading and no identifier is kept.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.read.durations import DAY
from shoal.read.repeats import Duplicates, settle
from shoal.read.row_store import HELD_ROWS, RowStore

N_BINS = 96
"""Number of stretches of time in which the coverage of each series is counted."""

MOST_INSTANTS = 2_000_000
"""Largest number of different times that are counted one by one; if there are more, stretches of the span are."""

_PICTURED = 100_000
"""Number of series whose coverage is counted; if there are more, the first."""

_ENOUGH, _GROWS, _FALLS = 20, 10, 0.001
_BUCKET_BITS = 45
"""A float without its 45 last bits: sign, exponent and 7 bits, so 128 buckets from each power of two to the next."""


@dataclass(frozen=True, eq=False)
class Instants:
    """Figures for each different time of the table, or for each stretch of time if there are too many."""

    times: NDArray[np.int64]
    exact: bool
    """Whether these are the times of the table, rather than stretches."""
    rows: NDArray[np.int64]
    readings: NDArray[np.int64]
    sums: NDArray[np.float64]
    repeated: NDArray[np.int64]
    conflicting: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SeriesCounts:
    """Figures for each series, in the order in which the series first came."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    """Times of the first and last reading; 0 if there is none."""
    readings: NDArray[np.int64]
    zeros: NDArray[np.int64]
    negatives: NDArray[np.int64]
    sizes: NDArray[np.float64]
    """Mean size of the non-zero readings; NaN if there is none."""
    grows: NDArray[np.int64]
    falls: NDArray[np.int64]
    steps: NDArray[np.int64]
    """The step of each series; 0 if it has fewer than two instants."""
    gaps: NDArray[np.int64]
    longest: NDArray[np.int64]
    """The longest gap inside a series."""
    absent: NDArray[np.int64]
    """Readings missing inside a series, by its own step."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass found."""

    n_rows: int
    n_repeated: int
    n_conflicting: int
    step: int | None
    n_steps: int
    n_regular: int
    """Differences between successive times of a series, and how many of them are the step."""
    instants: Instants
    series: SeriesCounts
    coverage: NDArray[np.int32]
    """Readings of each series (some of very many) in each of 96 stretches of time."""
    sizes: NDArray[np.int64]
    """How many readings fall into each bucket; see `quantile`."""

    @property
    def n_series(self) -> int:
        """Series that came, with or without a reading."""
        return len(self.series.readings)

    @property
    def n_readings(self) -> int:
        """Readings present, one for each series and time."""
        return int(self.series.readings.sum())

    @property
    def n_missing(self) -> int:
        """Rows without a reading, not counting repeats."""
        return self.n_rows - self.n_repeated - self.n_conflicting - self.n_readings

    @property
    def ends(self) -> tuple[int, int]:
        """First and last time."""
        return int(self.instants.times[0]), int(self.instants.times[-1])

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which series have no reading."""
        return np.asarray(self.series.readings == 0)

    @property
    def zero(self) -> NDArray[np.bool_]:
        """Which series have readings, all of them 0."""
        return np.asarray(~self.empty & (self.series.zeros == self.series.readings))

    @property
    def registers(self) -> NDArray[np.bool_]:
        """Which series only grow."""
        found = self.series
        enough = (found.readings >= _ENOUGH) & (found.grows >= _GROWS)
        return np.asarray(enough & (found.falls <= _FALLS * found.grows))

    @property
    def gappy(self) -> NDArray[np.bool_]:
        """Which series lack readings: inside, or at the ends of the span."""
        return self.unfilled(0)

    def unfilled(self, longest: int) -> NDArray[np.bool_]:
        """Which series still lack readings after gaps up to that length are filled."""
        first, last = self.ends
        found = self.series
        at_ends = (found.first > first) | (found.last < last) | self.empty
        return np.asarray(at_ends | (found.longest > longest))

    def buckets(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Sizes of readings in ascending order, exact to 1 %, and how many readings have each."""
        known = np.flatnonzero(self.sizes)
        lower = (known.astype(np.uint64) << np.uint64(_BUCKET_BITS)).view(np.float64)
        order = np.argsort(lower, kind="stable")
        return lower[order], self.sizes[known[order]]

    def quantile(self, share: float) -> float:
        """A reading that about this share of all are at most; exact to 1 %."""
        values, counts = self.buckets()
        reached = np.cumsum(counts)
        if not len(reached):
            return float("nan")
        at = int(np.searchsorted(reached, share * reached[-1]))
        return float(values[min(at, len(values) - 1)])


class SurveyCounter:
    """Sees every reading once, and counts at the end.

    Parameters
    ----------
    held
        Rows in memory before they are written to disk.

    Examples
    --------
    >>> with SurveyCounter() as counter:
    ...     counter.add(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.5, 0.5, 0.0]))
    ...     survey = counter.finish()
    >>> survey.n_series, survey.step, int(survey.zero.sum())
    (2, 1, 1)
    """

    def __init__(self, held: int = HELD_ROWS) -> None:
        self._store = RowStore(held)
        self._times = _DistinctTimes()
        self._n_series = 0

    def add(self, series: NDArray[np.integer], times: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        """See some rows: the number of each one's series, its time, and its reading, NaN where it is missing."""
        if not len(series):
            return
        self._times.add(times)
        self._n_series = max(self._n_series, int(series.max()) + 1)
        self._store.add(series.astype(np.int32, copy=False), times, values)

    def finish(self) -> Survey:
        """Count."""
        tally = _Tally(self._n_series, self._times.sorted())
        for series, times, values in self._store.parts():
            tally.add(series, times, values)
        return tally.survey(self._store.n_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()


class _DistinctTimes:
    """The different times of a table; only first and last if there are too many."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.int64]] = []
        self._n_held = 0
        self._many = False

    def add(self, times: NDArray[np.int64]) -> None:
        if self._many:
            self._parts.append(np.array([times.min(), times.max()]))
            return
        self._parts.append(pc.unique(pa.array(times)).to_numpy())
        self._n_held += len(self._parts[-1])
        if self._n_held > 2 * MOST_INSTANTS:
            merged = self.sorted()
            self._parts, self._n_held = [merged], len(merged)
            self._many = len(merged) > MOST_INSTANTS

    def sorted(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate(self._parts)) if self._parts else np.zeros(0, dtype=np.int64)


class _Tally:
    """Adds up what is found in rows of whole series, sorted by series and time."""

    def __init__(self, n_series: int, times: NDArray[np.int64]) -> None:
        self._exact = len(times) <= MOST_INSTANTS
        if not self._exact:
            times = np.linspace(times[0], times[-1], MOST_INSTANTS // 4).astype(np.int64)
        n = len(times)
        self._instants = Instants(
            times, self._exact, *(np.zeros(n, dtype=kind) for kind in (int, int, float, int, int))
        )
        grid = np.unique(np.diff(times[: 1 << 12])).tolist() if n > 1 else []
        even = len(grid) == 1 and bool(np.all(np.diff(times) == grid[0]))
        self._grid = grid[0] if even else 0
        self._bins = (np.arange(n) * N_BINS // max(1, n)).astype(np.int64)
        whole = ("first", "last", "readings", "zeros", "negatives", "grows", "falls", "steps", "gaps", "longest")
        counts = {name: np.zeros(n_series, dtype=np.int64) for name in (*whole, "absent")}
        self._series = SeriesCounts(sizes=np.full(n_series, np.nan), **counts)
        self._coverage = np.zeros((min(n_series, _PICTURED), N_BINS), dtype=np.int32)
        self._sizes = np.zeros(1 << (64 - _BUCKET_BITS), dtype=np.int64)
        self._steps: Counter[int] = Counter()
        self._step = 0

    def add(self, series: NDArray[np.int32], times: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        at = self._instants
        n = len(at.times)
        settled = settle(series.astype(np.int64), times, [values], Duplicates.FIRST)
        at.rows[:] += np.bincount(self._places(times), minlength=n)
        at.repeated[:] += np.bincount(self._places(settled.repeated_at), minlength=n)
        at.conflicting[:] += np.bincount(self._places(settled.merged_at), minlength=n)
        who, times, (values,) = settled.series, settled.instants, settled.readings
        self._add_steps(_Runs.of(who), times)
        there = ~np.isnan(values)
        if not there.all():
            who, times, values = who[there], times[there], values[there]
        if not len(who):
            return
        places, runs = self._places(times), _Runs.of(who)
        at.readings[:] += np.bincount(places, minlength=n)
        at.sums[:] += np.bincount(places, weights=values, minlength=n)
        self._sizes += np.bincount(values.view(np.uint64) >> np.uint64(_BUCKET_BITS), minlength=len(self._sizes))
        self._add_series(runs, times, values)
        n_pictured = int(np.searchsorted(runs.who, len(self._coverage)))
        cells = runs.spread(np.arange(len(runs.who)) * N_BINS) + self._bins[places]
        counts = np.bincount(cells, minlength=len(runs.who) * N_BINS).reshape(-1, N_BINS)
        self._coverage[runs.who[:n_pictured]] = counts[:n_pictured]

    def _places(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        known = self._instants.times
        if self._grid:
            return np.asarray((times - known[0]) // self._grid)
        return np.asarray(np.searchsorted(known, times, side="right") - 1)

    def _add_steps(self, runs: _Runs, times: NDArray[np.int64]) -> None:
        """Steps between the rows of a series, whether or not their readings are missing."""
        lengths = runs.differences(times)
        inside = np.ones(len(times), dtype=bool)
        inside[runs.starts] = False
        if not inside.any():
            return
        if not self._step:
            self._step = _most_frequent(lengths[inside])
        usual = inside & (lengths == self._step)
        n_all, n_usual = runs.lengths - 1, runs.sums(usual)
        self._steps[self._step] += int(n_usual.sum())
        self._series.steps[runs.who[(2 * n_usual >= n_all) & (n_all > 0)]] = self._step
        # Most series have the step of the table; what is left is little.
        rest = lengths[inside & ~usual]
        for length, count in zip(*(found.tolist() for found in np.unique(rest, return_counts=True)), strict=True):
            self._steps[length] += count
        for place in np.flatnonzero(2 * n_usual < n_all).tolist():
            start = int(runs.starts[place])
            own = lengths[start + 1 : start + int(runs.lengths[place])]
            self._series.steps[runs.who[place]] = _most_frequent(own)

    def _add_series(self, runs: _Runs, times: NDArray[np.int64], values: NDArray[np.float64]) -> None:
        found, who, last = self._series, runs.who, runs.starts + runs.lengths - 1
        found.first[who], found.last[who] = times[runs.starts], times[last]
        found.readings[who] = runs.lengths
        found.zeros[who] = runs.sums(values == 0)
        found.negatives[who] = runs.sums(values < 0)
        n_other = runs.lengths - found.zeros[who]
        sizes = np.add.reduceat(np.abs(values), runs.starts)
        found.sizes[who] = np.divide(sizes, n_other, out=np.full(len(who), np.nan), where=n_other > 0)
        change = runs.differences(values)
        found.grows[who] = runs.sums(change > 0)
        found.falls[who] = runs.sums(change < 0)
        step = found.steps[who]
        apart = runs.differences(times)
        furthest = np.maximum.reduceat(apart, runs.starts)
        found.gaps[who] = runs.sums(apart > runs.spread(step)) * (step > 0)
        found.longest[who] = np.maximum(0, furthest - step) * (step > 0)
        span = found.last[who] - found.first[who]
        due = np.floor_divide(span, step, out=np.zeros(len(who), dtype=np.int64), where=step > 0) + 1
        found.absent[who] = np.maximum(0, due - runs.lengths)

    def survey(self, n_rows: int) -> Survey:
        steps = self._steps
        step = min(steps, key=lambda length: (-steps[length], length)) if steps else None
        return Survey(
            n_rows=n_rows,
            n_repeated=int(self._instants.repeated.sum()),
            n_conflicting=int(self._instants.conflicting.sum()),
            step=step,
            n_steps=sum(steps.values()),
            n_regular=0 if step is None else steps[step],
            instants=self._instants,
            series=self._series,
            coverage=self._coverage,
            sizes=self._sizes,
        )


@dataclass(frozen=True, eq=False)
class _Runs:
    """Where each series begins in sorted rows, and how many rows it has."""

    who: NDArray[np.int64]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, series: NDArray[np.int64]) -> _Runs:
        starts = np.flatnonzero(np.diff(series, prepend=-1))
        return cls(series[starts], starts, np.diff(np.append(starts, len(series))))

    def spread(self, each: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number of each series, for every row of it."""
        return np.repeat(each, self.lengths)

    def sums(self, which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.add.reduceat(which, self.starts, dtype=np.int64)

    def differences(self, column: NDArray[Any]) -> NDArray[Any]:
        """What each row differs by from the one before; 0 in the first of a series."""
        found = np.diff(column, prepend=column[:1])
        found[self.starts] = 0
        return found


def _most_frequent(lengths: NDArray[np.int64]) -> int:
    """The most frequent length; in a tie, the shorter."""
    found, counts = np.unique(lengths[: 1 << 20], return_counts=True)
    return int(found[counts.argmax()])


def mean_day(survey: Survey, local: NDArray[np.int64], n_slots: int, crowd: int) -> list[float | None]:
    """The mean reading at each time of day, over all instants with a crowd of readings; None if there is none.

    `local` is what the clock shows at each instant.
    """
    at = survey.instants
    enough = at.readings >= crowd
    slots = (local % DAY * n_slots // DAY)[enough]
    counts = np.bincount(slots, weights=at.readings[enough], minlength=n_slots).tolist()
    sums = np.bincount(slots, weights=at.sums[enough], minlength=n_slots).tolist()
    return [total / count if count else None for total, count in zip(sums, counts, strict=True)]
