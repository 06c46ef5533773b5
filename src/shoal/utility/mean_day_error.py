"""How well a release shows what a day looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.model.score import Unit
from shoal.utility.cells import Floats
from shoal.utility.curves import DayMeasure
from shoal.utility.days import Days, means_by


@dataclass(frozen=True)
class MeanDayError(DayMeasure):
    """Error of the mean day: sum of its absolute changes as a share of the sum of its absolute values.

    The mean day of a curve is m[s] = the mean over days of its values at the time of the day s. The error is Σ |m[s] -
    published m[s]| / Σ |m[s]| over the times of day, and over the series if each has its own mean day. Times of day are
    those of the local clock, in the panel's time zone if it has one.

    Cells missing in either are left out of both. With several channels, the mean of their errors. If the mean day of a
    channel is 0 throughout, its error is 0 if the published one is too, else 1. Panels of less than a day are refused.

    Parameters
    ----------
    of
        "series": the mean day of each series; rows must match. "all": the mean day of the mean of all series, which
        does not require matching series.
    per_day
        Only if times are numbers: the number of instants in a day, counted from the first.

    Examples
    --------
    >>> from shoal import Panel
    >>> original, published = Panel([[1.0, 3.0, 3.0, 1.0]]), Panel([[2.0, 2.0, 3.0, 2.0]])
    >>> MeanDayError(per_day=2).measure(original, published).value
    0.125
    """

    name: ClassVar[str] = "mean-day-error"
    meaning: ClassVar[str] = "sum of absolute changes of the mean day, as a share of its values"
    plain: ClassVar[str] = "Mean days are off by this share of their values"
    purpose: ClassVar[str] = "daily and weekly routine"
    unit: ClassVar[Unit] = "share"

    def of_days(self, curves: Floats, days: Days) -> Floats:
        """Mean days."""
        return means_by(days.slot, curves)
