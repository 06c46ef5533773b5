"""How well a release preserves the height of daily peaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.model.score import Unit
from shoal.utility.cells import Floats
from shoal.utility.curves import DayMeasure
from shoal.utility.days import Days


@dataclass(frozen=True)
class PeakHeightError(DayMeasure):
    """Error of the daily peaks: sum of their absolute changes as a share of the sum of their absolute heights.

    The peak of a day is its largest value, p[d] = max over the instants t of day d of x[t]. The error is Σ |p[d] -
    published p[d]| / Σ |p[d]| over days and series. Days follow the panel's time zone if it has one; a partial first or
    last day counts as it is.

    Cells missing in either are left out of both, and so is a day with none left. With several channels, the mean of
    their errors. If all peaks of a channel are 0, its error is 0 if the published ones are too, else 1. Panels of less
    than a day are refused.

    Parameters
    ----------
    of
        "series": the peaks of each series; rows must match. "all": the peaks of the mean of all series, which does not
        require matching series.
    per_day
        Only if times are numbers: the number of instants in a day, counted from the first.

    Examples
    --------
    >>> from shoal import Panel
    >>> original, published = Panel([[1.0, 3.0, 1.0, 5.0]]), Panel([[1.0, 2.0, 4.0, 1.0]])
    >>> PeakHeightError(per_day=2).measure(original, published).value
    0.25
    """

    name: ClassVar[str] = "peak-height-error"
    meaning: ClassVar[str] = "sum of absolute changes of the daily peaks, as a share of their heights"
    plain: ClassVar[str] = "Daily peaks are off by this share of their height"
    purpose: ClassVar[str] = "peaks"
    unit: ClassVar[Unit] = "share"

    def of_days(self, curves: Floats, days: Days) -> Floats:
        """Peaks of days."""
        return np.fmax.reduceat(curves, days.starts, axis=1)
