"""The shared horizontal axis of the curves: clock times of a day, or bins of the whole period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel
from shoal.read.zones import local_times

MINUTE = 60_000_000  # microseconds, the unit of a panel's datetimes
DAY = 1440 * MINUTE
# Widths of a bin in minutes at which a clock face stays readable; all divide a day.
_WIDTHS = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60, 120, 180, 240, 360, 480, 720)


@dataclass(frozen=True, eq=False)
class Axis:
    """Positions of the points of a curve, and the instants each of them covers.

    Parameters
    ----------
    kind
        "clock": minutes after midnight. "time": datetimes. "index": integers. Clock and datetimes are those of the
        panel's time zone.
    at
        The start of each bin, ready for JSON.
    width
        Width of a bin in minutes ("clock", "time") or steps ("index"); None if each bin is one instant of the data.
    original, published
        The bin of each instant. None for `published` if its times are of another kind and cannot be compared.
    """

    kind: Literal["clock", "time", "index"]
    at: list[Any]
    width: float | None
    original: NDArray[np.int64]
    published: NDArray[np.int64] | None


def common_axis(original: Panel, published: Panel, points: int) -> Axis:
    """Find one axis of at most `points` bins for both panels; the coarser of the two sets the width."""
    if original.times.dtype.kind != published.times.dtype.kind:
        alone = common_axis(original, original, points)
        return Axis(alone.kind, alone.at, alone.width, alone.original, None)
    if _covers_a_day(original) and _covers_a_day(published):
        axis = _clock_axis(original, published, points)
        if axis is not None:
            return axis
    return _time_axis(original, published, points)


def same_times(original: Panel, published: Panel) -> bool:
    """Return whether both panels have exactly the same instants."""
    alike = original.times.dtype.kind == published.times.dtype.kind
    return alike and bool(np.array_equal(original.times, published.times))


def clock_times(panel: Panel) -> NDArray[np.int64]:
    """Return the microseconds after midnight that the clock showed at each instant, in the panel's time zone if it has
    one."""
    shown: NDArray[np.int64] = local_times(panel.times, panel.timezone).astype(np.int64) % DAY
    return shown


def _step(panel: Panel) -> int:
    """Return the usual distance between two instants, 0 for a single one."""
    distances = np.sort(np.diff(_since_start(panel.times, int(panel.times[:1].astype(np.int64)[0]))))
    return int(distances[len(distances) // 2]) if len(distances) else 0


def _since_start(times: NDArray[Any], start: int) -> NDArray[np.uint64]:
    # Unsigned, because two int64 may lie further apart than an int64 reaches.
    return times.astype(np.int64).view(np.uint64) - np.array([start], dtype=np.int64).view(np.uint64)


def _covers_a_day(panel: Panel) -> bool:
    if panel.times.dtype.kind != "M" or panel.n_instants < 2:
        return False
    step = _step(panel)
    first, last = (int(t) for t in panel.times[[0, -1]].astype(np.int64))
    return step < DAY and last - first + step >= DAY


def _clock_axis(original: Panel, published: Panel, points: int) -> Axis | None:
    clock = clock_times(original)
    if same_times(original, published) and original.timezone == published.timezone:
        shown, bins = np.unique(clock, return_inverse=True)
        if len(shown) <= points:
            return Axis("clock", [_short(t / MINUTE) for t in shown.tolist()], None, bins.astype(np.int64), bins)
    least = max(_step(original) / MINUTE, _step(published) / MINUTE, 1440 / points)
    width = next((w for w in _WIDTHS if w >= least), None)
    if width is None:
        return None
    bins = clock // (width * MINUTE)
    return Axis("clock", list(range(0, 1440, width)), width, bins, clock_times(published) // (width * MINUTE))


def _time_axis(original: Panel, published: Panel, points: int) -> Axis:
    is_datetime = original.times.dtype.kind == "M"
    kind: Literal["time", "index"] = "time" if is_datetime else "index"
    if original.n_instants <= points and same_times(original, published):
        bins = np.arange(original.n_instants)
        return Axis(kind, _labels(original.times.astype(np.int64), original), None, bins, bins)
    ends = [int(t) for panel in (original, published) for t in panel.times[[0, -1]].astype(np.int64)]
    start, span = min(ends), max(ends) - min(ends)
    width = max(_step(original), _step(published), -(-(span + 1) // points), 1)
    starts = [start + i * width for i in range(span // width + 1)]
    both = [(_since_start(p.times, start) // np.uint64(width)).astype(np.int64) for p in (original, published)]
    at = _labels(np.array(starts, dtype=np.int64), original)
    return Axis(kind, at, _short(width / MINUTE) if is_datetime else width, *both)


def _labels(starts: NDArray[np.int64], panel: Panel) -> list[Any]:
    """Return numbers, or what the clock of the panel showed: where it was put back, the same time comes twice."""
    if panel.times.dtype.kind != "M":
        return list(starts.tolist())
    unit: Literal["m", "s"] = "m" if not np.any(starts % MINUTE) else "s"
    shown = local_times(starts.astype("datetime64[us]"), panel.timezone)
    return np.datetime_as_string(shown, unit=unit).tolist()  # type: ignore[no-any-return]


def _short(number: float) -> float | int:
    return int(number) if number == int(number) else round(number, 4)
