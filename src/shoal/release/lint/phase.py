"""Instants off the clock's grid: odd seconds name the logger that set them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model import Envelopes
from shoal.read.durations import write_duration
from shoal.release.lint.written import Finding, Written

NAME = "timestamp-phase"

_SECOND, _MINUTE, _HOUR = 1_000_000, 60_000_000, 3_600_000_000
_QUARTER = 15 * _MINUTE


def timestamp_phase(written: Written) -> Finding | None:
    """Every published instant must lie on its step, counted from midnight.

    The step is the difference that at least half of the neighbouring instants have; the grid is the greatest common
    divisor of that step and an hour, so that quarter-hourly readings lie on quarters, hourly ones on full hours, and
    daily ones at any full hour. With a time zone, quarters are the coarsest grid: some zones are shifted by them.
    Without a common step, instants at least ten minutes apart in the middle must be full minutes, those at least ten
    seconds apart full seconds; a single instant must be a full minute. Instants that are whole numbers have no clock.
    """
    published = written.published
    times: NDArray[np.generic] = published.times
    if isinstance(published, Envelopes):
        times = np.union1d(times, np.asarray(published.pattern_times))
    if times.dtype.kind != "M":
        return None
    clock = times.astype("datetime64[us]").astype(np.int64)
    grid = grid_of(clock)
    if published.timezone is not None:
        grid = int(np.gcd(grid, _QUARTER))
    odd = np.flatnonzero(clock % grid)
    if not len(odd):
        return None
    return Finding(
        NAME,
        f"{len(odd)} of {len(clock)} instants, the first at position {int(odd[0])}, do not lie on the clock's grid of "
        f"{grid / _SECOND:g} s.",
        f"Read the table on a common clock with align='resample:{_usual_step(clock)}'.",
    )


def _usual_step(clock: NDArray[np.int64]) -> str:
    """The most frequent step, as `align` takes it; for a single instant, an hour."""
    lengths, counts = np.unique(np.diff(clock), return_counts=True)
    return write_duration(int(lengths[counts.argmax()])) if len(lengths) else "1h"


def grid_of(clock: NDArray[np.int64]) -> int:
    """The grid, in microseconds, that instants in microseconds must lie on.

    Examples
    --------
    >>> grid_of(np.arange(4) * 900_000_000 + 7) // 1_000_000
    900
    """
    if len(clock) < 2:
        return _MINUTE
    steps, times = np.unique(np.diff(clock), return_counts=True)
    if 2 * times.max() >= times.sum():
        return int(np.gcd(steps[times.argmax()], _HOUR))
    middle = float(np.median(np.diff(clock)))
    return next((unit for unit in (_MINUTE, _SECOND) if middle >= 10 * unit), 1)
