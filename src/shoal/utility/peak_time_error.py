"""How well a release preserves the time of daily peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.model import Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import Floats
from shoal.utility.curves import DayMeasure, mean_change
from shoal.utility.days import Days


@dataclass(frozen=True)
class PeakTimeError(DayMeasure):
    """Mean distance between the times of the daily peaks before and after, in hours.

    The time of a day's peak is the first instant at which its largest value is reached. The error is the mean over
    days, series and channels of |time - published time|, by the local clock in the panel's time zone if it has one.
    Guessing at random is about 8 hours off, a third of a day.

    Cells missing in either are left out of both, and so is a day with none left; without any day, the error is 0.
    Panels of less than a day are refused.

    Parameters
    ----------
    of
        "series": the peaks of each series; rows must match. "all": the peaks of the mean of all series, which does not
        require matching series.
    per_day
        Only if times are numbers: the number of instants in a day of 24 hours, counted from the first.

    Examples
    --------
    >>> from shoal import Panel
    >>> original, published = Panel([[1.0, 3.0, 0.0, 0.0, 5.0, 5.0]]), Panel([[1.0, 0.0, 2.0, 0.0, 5.0, 1.0]])
    >>> PeakTimeError(per_day=3).measure(original, published).value
    4.0
    """

    name: ClassVar[str] = "peak-time-error"
    meaning: ClassVar[str] = "mean distance between the times of daily peaks, in hours"
    plain: ClassVar[str] = "Daily peaks are off in time by"
    purpose: ClassVar[str] = "peaks"
    unit: ClassVar[Unit] = "hours"
    range: ClassVar[tuple[float, float]] = (0.0, 24.0)

    def of_days(self, curves: Floats, days: Days) -> Floats:
        """The hour of the peak for each curve, day and channel; NaN if nothing is observed."""
        starts = [*days.starts.tolist(), len(days.day)]
        found = np.empty((len(curves), days.n_days, curves.shape[2]))
        for place in range(days.n_days):
            of_day = slice(starts[place], starts[place + 1])
            x = curves[:, of_day]
            lacking = np.isnan(x)
            hours = days.hours[of_day][np.where(lacking, -np.inf, x).argmax(axis=1)]
            found[:, place] = np.where(lacking.all(axis=1), np.nan, hours)
        return found

    def score(self, tally: Tally) -> Score:
        """The mean distance."""
        return self.as_score(mean_change(self.of_curves(tally)))
