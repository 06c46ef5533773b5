"""How well a release tells when daily peaks are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.model import Panel, Score
from shoal.utility.curves import Floats, Of, check_of, side_by_side
from shoal.utility.days import Days, check_per_day, days_of


@dataclass(frozen=True)
class PeakTimeError:
    """Mean distance between the times of the daily peaks before and after, in hours.

    The time of a day's peak is the first instant at which its largest value is reached. The error is the mean over
    days, series and channels of |time - published time|, by the clock on the wall in the panel's time zone if it has
    one. Guessing at random is about 8 hours off, a third of a day.

    Cells missing in either are left out of both, and a day without any left is left out; without any day the error is
    0. Panels of less than a day are refused.

    Parameters
    ----------
    of
        "series": the peaks of each series; rows must belong together. "all": the peaks of the mean of all series, which
        needs not know which series is which.
    per_day
        Only where times are numbers: how many instants a day of 24 hours has, from the first on.

    Examples
    --------
    >>> original, published = Panel([[1.0, 3.0, 0.0, 0.0, 5.0, 5.0]]), Panel([[1.0, 0.0, 2.0, 0.0, 5.0, 1.0]])
    >>> PeakTimeError(per_day=3).measure(original, published).value
    4.0
    """

    name: ClassVar[str] = "peak-time-error"
    meaning: ClassVar[str] = "mean distance between the times of daily peaks, in hours"
    judges: ClassVar[Literal["values", "groups", "models"]] = "values"
    goal: ClassVar[Literal["higher", "lower"]] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, 24.0)

    of: Of = "series"
    per_day: int | None = None

    def __post_init__(self) -> None:
        check_of(self.of, Of)
        check_per_day(self.per_day)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        return {"of": self.of, "per_day": self.per_day}

    @property
    def matched(self) -> bool:
        """Whether rows must belong together."""
        return self.of == "series"

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare the times of the peaks."""
        days = days_of(original, self.per_day, name=self.name)
        apart, n_peaks = 0.0, 0
        for before, after in side_by_side(original, published, self.of):
            one, other = peak_times(before, days), peak_times(after, days)
            apart += float(np.nansum(np.abs(one - other)))
            n_peaks += int(np.sum(~np.isnan(one)))
        return Score(apart / max(n_peaks, 1), self.goal, self.range)


def peak_times(curves: Floats, days: Days) -> Floats:
    """Of each curve, day and channel the hour of the peak; NaN where nothing is observed."""
    starts = [*np.flatnonzero(np.diff(days.day, prepend=-1)).tolist(), len(days.day)]
    found = np.empty((len(curves), days.n_days, curves.shape[2]))
    for place in range(days.n_days):
        of_day = slice(starts[place], starts[place + 1])
        x = curves[:, of_day]
        lacking = np.isnan(x)
        hours = days.hours[of_day][np.where(lacking, -np.inf, x).argmax(axis=1)]
        found[:, place] = np.where(lacking.all(axis=1), np.nan, hours)
    return found
