"""The day and time of day of each instant: shared by the measures of daily life."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.model.parameters import check_whole
from shoal.read.zones import find_zone

_DAY = 86_400_000_000  # microseconds
_MONDAY = 3  # 1970-01-01 was a Thursday


@dataclass(frozen=True, eq=False)
class Days:
    """The instants of a panel by day and time of day, as the local clock showed them.

    When the clock is set back, two instants of a day have the same time of day; when it is set forward, one is missing.
    If times are numbers, a day is `per_day` steps counted from the first instant, and a week seven such days.
    """

    day: NDArray[np.int64]
    """The day of each instant, as a position among the days that occur."""
    slot: NDArray[np.int64]
    """The time of day of each instant, as a position among those that occur."""
    hours: NDArray[np.float64]
    """The time of day of each instant in hours."""
    numbers: NDArray[np.int64]
    """The number of each day that occurs: neighbours differ by 1."""
    per_day: int
    """Steps of a day."""
    by_clock: bool
    """Whether Saturday and Sunday are known."""

    @property
    def n_days(self) -> int:
        """Days that occur, whole or not."""
        return len(self.numbers)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first instant of each day."""
        return np.flatnonzero(np.diff(self.day, prepend=-1))

    @property
    def n_slots(self) -> int:
        """Times of the day that occur."""
        return int(self.slot.max()) + 1

    @property
    def weekday(self) -> NDArray[np.int64]:
        """The place of each day in the week: from Monday, or from the first day if times are numbers."""
        weekdays: NDArray[np.int64] = (self.numbers + (_MONDAY if self.by_clock else 0)) % 7
        return weekdays


def days_of(panel: Panel, per_day: int | None, *, name: str, least: int = 1) -> Days:
    """The days of a panel that spans at least `least` of them; `name` is the measure that needs them."""
    by_clock = panel.times.dtype.kind == "M"
    if by_clock and per_day is not None:
        raise ParameterError(f"per_day applies to times that are numbers; this panel has a clock. Omit it from {name}.")
    if not by_clock and per_day is None:
        raise ParameterError(
            f"{name} needs to know how long a day is, but the times of this panel are numbers. Give per_day, the "
            "number of instants in a day, or read the table with its timestamps."
        )
    times = panel.times.astype(np.int64)
    step = int(np.diff(times).min()) if len(times) > 1 else 0
    length = _DAY if per_day is None else per_day * step
    if not step:
        raise ParameterError(f"{name} needs at least {_days(least)}; the panel has one instant. Read a longer period.")
    if length % step or step == length:
        raise ParameterError(
            f"{name} needs readings several times a day, in steps that divide it; the smallest step of this panel "
            "does not. If the table has finer readings, resample them with align='resample:1h'."
        )
    local = times if panel.timezone is None else find_zone(panel.timezone).to_local(times)
    span = int(local[-1] - local[0]) + step  # by the clock: a day of 23 hours counts as a day
    if span < least * length:
        raise ParameterError(
            f"{name} needs at least {_days(least)}; the panel spans {100 * span // length / 100:g}. Read a longer "
            "period."
        )
    since = local if by_clock else times - times[0]
    numbers, day = np.unique(since // length, return_inverse=True)
    slot = np.unique(since % length // step, return_inverse=True)[1]
    hours: NDArray[np.float64] = (since % length).astype(np.float64) * (24.0 / length)
    days = Days(day, slot, hours, numbers, length // step, by_clock)
    if days.n_days * days.n_slots > 4 * len(times):
        raise ParameterError(
            f"{name} needs even steps, and this panel has uneven ones. Read it with align='resample:1h'."
        )
    return days


def check_per_day(per_day: int | None) -> None:
    """Refuse days with a single instant: they have no time of day."""
    if per_day is not None:
        check_whole("per_day", per_day, 2, "how many instants a day has")


def means_by(labels: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means of observed values over instants with the same label: (series, labels, channels), NaN if there are none."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    x = x[:, order]
    observed = ~np.isnan(x)
    counts = np.add.reduceat(observed, starts, axis=1, dtype=np.int64)
    sums = np.add.reduceat(np.where(observed, x, 0.0), starts, axis=1)
    means: NDArray[np.float64] = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def _days(n: int) -> str:
    return "one whole day" if n == 1 else f"{n} whole days"
