"""The findings of a look, as figures that may be shown: counts, column names and rounded quantiles, no reading, no
name.

Quantiles and the mean day cover at least 10 series, and have two digits.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.read.align import count_irregular
from shoal.read.clock_changes import ClockChanges
from shoal.read.column_survey import ColumnCounts, called_like_people
from shoal.read.durations import DAY, HOUR, write_duration
from shoal.read.headings import groups_of
from shoal.read.survey import N_BINS, Survey, mean_day
from shoal.read.understanding import Part, TableShape, Understanding
from shoal.read.zones import CHANGING, find_zone

CROWD = 10
"""Smallest number of series behind a quantile or a mean that is shown."""

FAR_OFF = 100.0
"""A series this many times larger or smaller than the middle one may have another unit."""

_LINES = 120
"""Number of lines of the coverage chart: with more series, each line is the mean of several similar ones."""

_SHARES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
_BARS = 32

_ACCOUNTS = re.compile(
    r"(?:^|[^a-z])(account|customer|client|household|dwelling|premise|property|subject|person|owner|konto|kunde|haushalt|"
    r"vertrag|klant|huishoud|abonn|foyer|titular|hogar|asiakas|hushall|odberat|zakazn|domacnost)"
)
"""Prefixes of words for the people behind meters, without accents."""


@dataclass(frozen=True, eq=False)
class TableFindings:
    """A table as it was understood, and as it was counted.

    Parameters
    ----------
    understanding
        What the table is taken to be.
    survey
        The counts of its series: one for each meter and channel.
    meters
        The meter of each series, numbered from 0.
    columns
        The counts of further columns.
    changes
        The clock that times without a zone follow.
    zone
        The zone of the times; None for times without one, and for whole numbers.
    on_clock
        Whether times are timestamps.
    unlike
        Reasons against taking columns for subjects, in words.
    words
        Words in place of readings, and how often; "" for all that do not usually mean missing.
    troubles
        What would stop a reading, in sentences.
    by_name
        Whether the names of the columns were enough to identify them.
    nameable
        Whether naming id, time and value reads the table in the same way.
    n_pairs_absent
        Channels that some meters have and others do not.
    n_beyond
        Readings of intervals that a day of 24 hours does not have.
    n_values
        Readings that a row of a long table may have.
    """

    understanding: Understanding
    survey: Survey
    meters: NDArray[np.int64]
    columns: tuple[ColumnCounts, ...]
    changes: ClockChanges | None
    zone: str | None
    on_clock: bool
    unlike: str = ""
    words: Mapping[str, int] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()
    by_name: bool = False
    nameable: bool = False
    n_pairs_absent: int = 0
    n_beyond: int = 0
    n_values: int = 1

    @property
    def n_rows(self) -> int:
        """Rows of a long table; cells of one in which a row has several meters or instants."""
        return self.survey.n_rows // self.n_values

    @property
    def size(self) -> str:
        """The number of rows or cells, in words."""
        return f"{self.n_rows:,} {'rows' if self.understanding.shape is TableShape.LONG else 'cells'}"

    @property
    def n_meters(self) -> int:
        """How many different meters there are."""
        return int(self.meters.max()) + 1 if len(self.meters) else 0

    def by_meter(self, which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which meters have only such series."""
        n_all = np.bincount(self.meters, minlength=self.n_meters)
        return np.asarray(np.bincount(self.meters[which], minlength=self.n_meters) == n_all)

    @property
    def finer(self) -> ColumnCounts | None:
        """A column that distinguishes contradicting rows: more entries than meters, each of one meter alone."""
        if not self.n_conflicting:
            return None
        fit = [c for c in self.columns if c.n_varying and not c.n_shared and c.n_entries > self.n_meters]
        return max(fit, key=lambda column: column.n_entries, default=None)

    @property
    def subject(self) -> ColumnCounts | None:
        """The column with the person behind several meters, by its name and its counts."""
        named = self.understanding.column(Part.SUBJECT)
        for column in self.columns:
            if named is not None and column.name == named.name:
                return column if column.static else None
        if named is not None:
            return None
        fit = [column for column in self.columns if _like_accounts(column)]
        return max(fit, key=lambda column: column.n_shared, default=None)

    @property
    def n_subjects(self) -> int:
        """Subjects, as far as the columns show."""
        subject = self.subject
        return self.n_meters if subject is None else subject.n_entries + self.n_meters - subject.n_series

    def far_off(self, *, larger: bool) -> NDArray[np.float64]:
        """Series far larger or smaller than the middle one of their channel: position, and how many times.

        A series is compared by the mean size of its readings that are not zero. Registers differ by their age, and
        where it is not known which channel a series is of, or fewer than `CROWD` series have readings, nothing is
        compared.
        """
        survey, n_channels = self.survey, max(1, len(channel_names(self.understanding)))
        each = np.arange(survey.n_series)
        if survey.registers.any() or (n_channels > 1 and not np.array_equal(self.meters, each // n_channels)):
            return np.empty((0, 2))
        found = []
        for channel in range(n_channels):
            own = each[each % n_channels == channel]
            own = own[~np.isnan(survey.series.sizes[own])]
            if len(own) < CROWD:
                continue
            sizes = survey.series.sizes[own]
            times = sizes / np.median(sizes) if larger else np.median(sizes) / sizes
            found += [pair for pair in zip(own.tolist(), times.tolist(), strict=True) if pair[1] >= FAR_OFF]
        return np.array(sorted(found), dtype=np.float64).reshape(-1, 2)

    @property
    def n_autumn(self) -> int:
        """Rows that are the second of two hours that a clock shows alike."""
        repeated, conflicting = self._in_autumn()
        return repeated + conflicting

    def _in_autumn(self) -> tuple[int, int]:
        at = self.survey.instants
        if self.changes is None or not self.changes.n_twice or self.survey.step is None:
            return 0, 0
        twice = find_zone(self.changes.zone).to_utc(at.times)[1]
        return int(at.repeated[twice].sum()), int(at.conflicting[twice].sum())

    @property
    def n_repeated(self) -> int:
        """Rows that repeat another exactly and are not a second hour."""
        return self.survey.n_repeated - self._in_autumn()[0]

    @property
    def n_conflicting(self) -> int:
        """Rows that contradict another and are not a second hour."""
        return self.survey.n_conflicting - self._in_autumn()[1]

    @property
    def n_absent(self) -> int:
        """Readings missing between the first and the last time of the table; hours that do not exist do not count."""
        survey = self.survey
        if survey.step is None:
            return survey.n_missing
        times = self.instants
        per_series = int((times[-1] - times[0]) // survey.step) + 1
        return max(0, per_series * survey.n_series - survey.n_readings - self.n_autumn)

    @property
    def long_days(self) -> str | None:
        """A zone whose clock goes back on a day of the table, if there are readings of a 25th hour.

        On the days on which it goes forward the table must have an hour less, and on no others.
        """
        at, step = self.survey.instants, self.survey.step
        if not self.n_beyond or not self.on_clock or not at.exact or step is None or DAY % step:
            return None
        days, place = np.unique(at.times // DAY, return_inverse=True)
        counts = np.bincount(place, weights=at.readings > 0)
        short = counts == (DAY - HOUR) // step
        for name in CHANGING:
            zone = find_zone(name)
            lengths = zone.start_of_day((days + 1) * DAY) - zone.start_of_day(days * DAY)
            if (lengths > DAY).any() and np.array_equal(lengths < DAY, short):
                return name
        return None

    @property
    def gappy(self) -> NDArray[np.bool_]:
        """Which series lack readings; the hour that a clock skips in spring does not count."""
        survey = self.survey
        if self.changes is None or survey.step is None:
            return survey.gappy
        first, last = survey.ends
        skipped = self.changes.n_skipped * HOUR // survey.step
        inside = survey.series.absent > skipped
        return np.asarray(inside | (survey.series.first > first) | (survey.series.last < last) | survey.empty)

    @property
    def instants(self) -> NDArray[np.int64]:
        """The different times: placed by a zone if a changing clock was found."""
        at = self.survey.instants
        if self.changes is None or not at.exact or self.survey.step is None:
            return at.times
        times, twice, never = find_zone(self.changes.zone).to_utc(at.times)
        return np.unique(np.concatenate([times[~never], times[twice] + HOUR]))

    @property
    def null_words(self) -> list[str]:
        """Words found that mean missing."""
        met = {word for word in self.words if word}
        return sorted(met | {w for w in self.understanding.null_words if w not in map(str.lower, met)}, key=str.lower)

    @property
    def n_undecided(self) -> int:
        """Instants of an hour that comes twice at which not every series has two rows."""
        at = self.survey.instants
        if self.changes is None or not at.exact:
            return 0
        twice = find_zone(self.changes.zone).to_utc(at.times)[1]
        return int((at.rows[twice] != 2 * self.survey.n_series).sum())

    @property
    def interval(self) -> tuple[str, str]:
        """Whether times start or end intervals, and why; by the first and last time if nothing else decides."""
        clock, step = self.understanding.clock, self.survey.step
        told = clock.interval != "printed" or self.zone is not None or clock.zone == "UTC"
        if told or not self.on_clock or step is None or step >= DAY:
            return clock.interval, clock.interval_evidence
        first, last = self.local[[0, -1]] % DAY
        if first == step and last != DAY - step:
            return "end", "the first time of the table is one step after midnight"
        if first == 0:
            return "start", "the first time of the table is midnight"
        return clock.interval, clock.interval_evidence or "nothing decides it; times are taken as printed"

    @property
    def n_irregular(self) -> int:
        """Steps between the times of the table that differ from the usual one."""
        zone = self.changes.zone if self.changes is not None else self.zone
        if not self.survey.instants.exact:
            return len(self.survey.instants.times)
        return count_irregular(self.instants, on_clock=self.on_clock, zone=None if zone is None else find_zone(zone))

    def length(self, step: int | None) -> str | None:
        """A step as people write it."""
        if step is None:
            return None
        return write_duration(step) if self.on_clock else str(step)

    @property
    def local(self) -> NDArray[np.int64]:
        """What the clock shows at each time of the table."""
        times = self.survey.instants.times
        return times if self.zone is None else find_zone(self.zone).to_local(times)


def _like_accounts(column: ColumnCounts) -> bool:
    """Whether a column names the people behind meters: called so, and as `may_be_accounts` says."""
    name = unicodedata.normalize("NFKD", column.name).encode("ascii", "ignore").decode().lower()
    return may_be_accounts(column) and _ACCOUNTS.search(name) is not None


def may_be_accounts(column: ColumnCounts) -> bool:
    """Whether the entries may be people: one for each meter, some with several meters, none with many."""
    few = column.n_shared > 0 and 4 * column.n_entries >= column.n_series
    return column.static and few and "unit" not in groups_of(column.name)


def identifies(column: ColumnCounts) -> str | None:
    """Why a column is taken to identify people; None if nothing says so."""
    if (kind := called_like_people(column.name)) is not None:
        return f"its name suggests {kind}"
    if column.shape is not None:
        return f"entries look like {column.shape}"
    return None


def span(found: TableFindings) -> dict[str, Any]:
    """First and last day, and how long."""
    local = found.local
    first, last = int(local[0]), int(local[-1])
    if not found.on_clock:
        return {"instants": len(local)}
    days = [str(np.datetime64(time, "us").astype("datetime64[D]")) for time in (first, last)]
    return {"from": days[0], "to": days[1], "days": (last - first) // DAY + 1}


def pictures(found: TableFindings) -> dict[str, Any]:
    """What the page draws."""
    drawn: dict[str, Any] = {"coverage": _coverage(found)}
    survey = found.survey
    enough = int((survey.series.readings > 0).sum()) >= CROWD
    registers = bool(survey.registers.sum() * 2 > survey.n_series)
    if not enough or registers or len(found.understanding.channels) > 1:
        return drawn
    drawn["quantiles"] = {f"{100 * share:g} %": _two_digits(survey.quantile(share)) for share in _SHARES}
    drawn["distribution"] = _bars(survey)
    if found.on_clock and survey.step is not None and survey.step <= 6 * HOUR:
        n_slots = int(min(96, max(4, DAY // survey.step)))
        curve = mean_day(survey, found.local, n_slots, CROWD)
        drawn["mean_day"] = [None if value is None else _two_digits(value) for value in curve]
    return drawn


def _coverage(found: TableFindings) -> list[list[float]]:
    """The share of readings present in each stretch of time; the fullest series first."""
    counts = found.survey.coverage.astype(np.float64)
    n_bins = min(N_BINS, len(found.survey.instants.times))
    if found.survey.instants.exact and n_bins < N_BINS:
        counts = counts[:, np.unique(np.arange(n_bins) * N_BINS // max(1, n_bins))]
    full = np.maximum(1.0, np.quantile(counts, 0.95, axis=0)) if len(counts) else np.ones(counts.shape[1])
    shares = np.minimum(1.0, counts / full)
    order = np.argsort(-shares.sum(axis=1), kind="stable")
    lines = np.array_split(shares[order], min(_LINES, max(1, len(order))))
    return [np.round(line.mean(axis=0), 2).tolist() for line in lines if len(line)]


def _bars(survey: Survey) -> dict[str, Any]:
    """How many readings lie in each of some steps between the 1 % and the 99 % quantile, as shares of two digits."""
    low, high = survey.quantile(0.01), survey.quantile(0.99)
    if not high > low:
        return {}
    ends = np.linspace(low, high, _BARS + 1)
    values, counts = survey.buckets()
    places = np.clip(np.searchsorted(ends, values, side="right") - 1, -1, _BARS)
    inside = (places >= 0) & (places < _BARS)
    bars = np.bincount(places[inside], weights=counts[inside], minlength=_BARS)
    return {"low": _two_digits(low), "high": _two_digits(high), "shares": [_two_digits(b) for b in bars / bars.sum()]}


def _two_digits(value: float) -> float:
    return float(f"{value:.2g}")


def channel_names(understanding: Understanding) -> Sequence[str]:
    """Names of channels; those of a table with a column per series are identifiers, and are not shown."""
    return () if understanding.shape is TableShape.COLUMN_PER_SERIES else understanding.channels


def column_parts(found: TableFindings) -> list[tuple[str, str, str]]:
    """What each column is taken to be, and why: by the sample, and by the counts of all rows if available."""
    counts = {column.name: column for column in found.columns}
    parts = []
    for column in found.understanding.columns:
        role, evidence, counted = str(column.role), column.evidence, counts.get(column.name)
        if column.role is Part.ID:
            evidence = f"{'its name, ' if evidence.startswith('its name') else ''}{found.n_meters:,} different entries"
        if counted is not None and counted.n_series:
            if found.subject is not None and found.subject.name == column.name:
                role, evidence = "subject", f"one entry for each meter, {counted.n_entries:,} in all"
            elif counted.static and counted.n_entries == 1:
                role, evidence = "constant", "one entry in all rows"
            elif counted.static:
                role, evidence = "static", f"one entry for each meter, {counted.n_entries:,} in all"
            elif role in ("static", "constant"):
                role, evidence = "other", "changes within a meter"
        parts.append((column.name, role, evidence))
    return parts
