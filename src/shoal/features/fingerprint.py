"""What stays the same about a household from week to week, as numbers.

A stretch of readings is cut into windows of a week, or of a day if it is shorter. For every window:

    profile       mean and spread at each time of day, on weekdays and at weekends separately
    values        60 quantiles of the readings
    changes       60 quantiles of the absolute differences of successive readings
    spectrum      log amplitudes in bands that widen with frequency
    resolution    how many different readings there are, how often the commonest occurs, how far apart neighbours are:
                  meters count in their own units, which rounding does not hide

all but the last computed from arcsinh(reading / (0.02 scale)), which is a logarithm for large readings of either sign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DAYS = 7
"""Days of a window, if there are enough."""

N_QUANTILES = 60
N_BANDS = 80
MOST_SLOTS = 96
"""Times of day of a profile; finer readings are averaged."""

LEAST_FILLED = 0.5
"""The share of readings that a window must have for most series in order to be used."""

_MONDAY = np.datetime64("1970-01-05", "us")
_DAY = np.timedelta64(1, "D")


@dataclass(frozen=True)
class WindowShape:
    """What the windows of two stretches must have in common to be compared."""

    per_day: int
    """Readings of a day, or of what repeats."""
    n_days: int
    has_weekend: bool
    n_channels: int


@dataclass(frozen=True, eq=False, repr=False)
class Calendar:
    """Day, time of day and weekday of every instant."""

    days: NDArray[np.int64]
    slots: NDArray[np.int64]
    per_day: int
    dated: bool

    @classmethod
    def of(cls, times: NDArray[Any], cycle: int | None = None) -> Calendar | None:
        """From local times, or from numbers with a cycle of that many; None if there is no step to count in."""
        if times.dtype.kind != "M":
            if cycle is None:
                return None
            return cls(times // cycle, times % cycle, cycle, dated=False)
        if len(times) < 2:
            return None
        steps = np.diff(times).astype("timedelta64[us]").astype(np.int64)
        step = float(np.median(steps[steps > 0])) if (steps > 0).any() else 0.0
        if not 0 < step <= 86_400_000_000:
            return None
        since = (times - _MONDAY).astype(np.int64)
        day = 86_400_000_000
        return cls(since // day, ((since % day) // step).astype(np.int64), int(np.ceil(day / step)), dated=True)

    @property
    def n_full_days(self) -> int:
        """Days with at least half of their readings."""
        counts = np.bincount(self.days - self.days.min())
        return int((counts >= LEAST_FILLED * self.per_day).sum())

    def shape(self, n_days: int, n_channels: int) -> WindowShape:
        """Positions of windows of this many days."""
        return WindowShape(self.per_day, n_days, self.dated and n_days >= DAYS, n_channels)


def windows(values: Floats, calendar: Calendar, shape: WindowShape) -> Iterator[tuple[Floats, NDArray[np.bool_]]]:
    """Every window of (series, instants, channels) as (series, days, times of day, channels), with its weekend days.

    The first window begins with the first day that has half of its readings. Windows in which most series lack half of
    the readings are left out.
    """
    counts = np.bincount(calendar.days - calendar.days.min())
    full = np.flatnonzero(counts >= LEAST_FILLED * calendar.per_day)
    if not len(full):
        return
    first, last = int(full[0] + calendar.days.min()), int(full[-1] + calendar.days.min())
    for start in range(first, last - shape.n_days + 2, shape.n_days):
        here = np.flatnonzero((calendar.days >= start) & (calendar.days < start + shape.n_days))
        grid = np.full((len(values), shape.n_days, shape.per_day, values.shape[2]), np.nan)
        grid[:, calendar.days[here] - start, calendar.slots[here]] = values[:, here]
        if np.median(np.mean(np.isfinite(grid), axis=(1, 2, 3))) >= LEAST_FILLED:
            yield grid, (np.arange(start, start + shape.n_days) % 7 >= 5) & shape.has_weekend


def fingerprint(grid: Floats, weekend: NDArray[np.bool_], scale: Floats) -> Floats:
    """The numbers of one window, (series, numbers); `scale` is that of each channel."""
    parts = [_of_channel(_filled(grid[..., c]), weekend, scale[c]) for c in range(grid.shape[3])]
    return np.concatenate(parts, axis=1)


def scale_of(values: Floats) -> Floats:
    """The median size of the readings of each channel that are not 0."""
    found = []
    for c in range(values.shape[2]):
        sizes = np.abs(values[..., c])
        sizes = sizes[np.isfinite(sizes) & (sizes > 0.0)]
        found.append(float(np.median(sizes)) if sizes.size else 1.0)
    return np.array(found)


def _filled(grid: Floats) -> Floats:
    """Fill gaps with the mean at the same time on other days, else with the mean of the series."""
    known = np.isfinite(grid)
    if known.all():
        return grid
    readings = np.where(known, grid, 0.0)
    for axis in ((1,), (1, 2)):
        count = known.sum(axis=axis, keepdims=True)
        mean = readings.sum(axis=axis, keepdims=True) / np.maximum(count, 1)
        readings = np.where(known, readings, mean)
        known = known | (count > 0)
    return np.asarray(readings)


def _of_channel(grid: Floats, weekend: NDArray[np.bool_], scale: float) -> Floats:
    n = len(grid)
    x = np.arcsinh(grid / (0.02 * scale))
    flat = x.reshape(n, -1)
    kinds = [~weekend, weekend] if weekend.any() else [~weekend]
    days = _coarse(x)
    parts = [days[:, kind].mean(axis=1) for kind in kinds]
    if len(weekend) > 1:
        parts += [days[:, kind].std(axis=1) for kind in kinds]
    parts.append(_quantiles(flat))
    parts.append(_quantiles(np.abs(np.diff(flat, axis=1))))
    parts.append(_spectrum(flat))
    parts.append(_resolution(np.sort(grid.reshape(n, -1), axis=1)))
    return np.concatenate(parts, axis=1)


def _coarse(x: Floats) -> Floats:
    """Reduce to at most this many times of day, each the mean of those it covers."""
    per_day = x.shape[2]
    if per_day <= MOST_SLOTS:
        return x
    edges = np.linspace(0, per_day, MOST_SLOTS + 1).astype(int)
    return np.add.reduceat(x, edges[:-1], axis=2) / np.diff(edges)


def _quantiles(x: Floats) -> Floats:
    if not x.shape[1]:
        return np.zeros((len(x), 0))
    places = np.unique(np.linspace(0, x.shape[1] - 1, N_QUANTILES).astype(int))
    return np.asarray(np.sort(x, axis=1)[:, places])


def _spectrum(x: Floats) -> Floats:
    amplitudes = np.log(np.abs(np.fft.rfft(x - x.mean(axis=1, keepdims=True), axis=1)) + 1e-3)[:, 1:]
    width = amplitudes.shape[1]
    if not width:
        return np.zeros((len(x), 0))
    edges = np.unique(np.geomspace(1, width + 1, N_BANDS + 1).astype(int) - 1)
    return np.asarray(np.add.reduceat(amplitudes, edges[:-1], axis=1) / np.diff(edges))


def _resolution(ordered: Floats) -> Floats:
    """The resolution of each series, from its sorted readings."""
    n, width = ordered.shape
    steps = np.diff(ordered, axis=1)
    n_equal = (steps == 0.0).sum(axis=1)
    n_steps = width - 1 - n_equal  # between different readings
    steps = np.sort(steps, axis=1)
    gaps = []
    for share in (0.1, 0.5):
        place = np.minimum(n_equal + (share * n_steps).astype(int), max(width - 2, 0))
        gap = np.take_along_axis(steps, place[:, None], axis=1)[:, 0] if width > 1 else np.zeros(n)
        gaps.append(np.log(np.where(gap > 0.0, gap, 1e-9)))
    new = np.concatenate([np.ones((n, 1), dtype=bool), ordered[:, 1:] != ordered[:, :-1]], axis=1)
    starts = np.maximum.accumulate(np.where(new, np.arange(width), 0), axis=1)
    longest = (np.arange(width) - starts + 1).max(axis=1)
    single = (new & np.concatenate([new[:, 1:], np.ones((n, 1), dtype=bool)], axis=1)).sum(axis=1)
    return np.stack([np.log(n_steps + 1.0), longest / width, *gaps, single / width], axis=1)
