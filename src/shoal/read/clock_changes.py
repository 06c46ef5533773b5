"""Whether times without a zone follow a clock that changes: which hours are missing in spring and doubled in autumn.

At each change of a zone's clock within the span, the rows in the hour it skips or shows twice are compared with those
around it (the median over six hours before and after):

    spring   skipped if at most a twentieth of the rows are there, kept if at least nine tenths
    autumn   twice if at least 1.8 times the rows are there, once if between 0.8 and 1.2 times

A zone explains the times if at least one change shows and none contradicts it. Many zones have the same changes; the
one named stands for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.read.durations import HOUR
from shoal.read.survey import Instants
from shoal.read.zones import CHANGING, Zone

_SIDE = 6 * HOUR


@dataclass(frozen=True)
class ClockChanges:
    """How a local clock shows in the times of a table."""

    zone: str
    n_skipped: int
    """Springs in which the hour is missing."""
    n_twice: int
    """Autumns in which the hour comes twice."""
    n_once: int
    """Autumns in which the hour comes once, so one of the two is lost."""


def find_clock_changes(instants: Instants, step: int | None) -> ClockChanges | None:
    """The clock that the times follow; None if no change shows."""
    if step is None or not instants.exact or step > HOUR or HOUR % step or len(instants.times) < 3:
        return None
    first, last = int(instants.times[0]), int(instants.times[-1])
    if (last - first) // step > 4_000_000:
        return None
    grid = np.arange(first, last + 1, step, dtype=np.int64)
    rows = np.zeros(len(grid), dtype=np.int64)
    places, late = np.divmod(instants.times - first, step)
    np.add.at(rows, places[late == 0], instants.rows[late == 0])
    found = [changes for name in CHANGING if (changes := _changes(name, grid, rows, step)) is not None]
    return max(found, key=lambda each: each.n_skipped + each.n_twice, default=None)


def _changes(name: str, grid: NDArray[np.int64], rows: NDArray[np.int64], step: int) -> ClockChanges | None:
    _, twice, never = Zone(name).to_utc(grid)
    counts = {"skipped": 0, "twice": 0, "once": 0}
    for start, end in _runs(never):
        level = _level(rows, start, end, step)
        share = rows[start:end].mean() / level if level else 0.5
        if share >= 0.9:
            return None
        counts["skipped"] += bool(share <= 0.05)
    for start, end in _runs(twice):
        level = _level(rows, start, end, step)
        share = rows[start:end].mean() / level if level else 0.0
        counts["twice"] += bool(share >= 1.8)
        counts["once"] += bool(0.8 <= share <= 1.2)
    if not counts["skipped"] and not counts["twice"]:
        return None
    return ClockChanges(name, counts["skipped"], counts["twice"], counts["once"])


def _runs(which: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], which.view(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _level(rows: NDArray[np.int64], start: int, end: int, step: int) -> float:
    """The usual number of rows around a change; 0 if the span does not reach both sides."""
    n = _SIDE // step
    before, after = rows[max(0, start - n) : start], rows[end : end + n]
    return float(np.median(np.concatenate([before, after]))) if len(before) and len(after) else 0.0
