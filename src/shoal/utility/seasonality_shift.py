"""How well a release preserves how much of a series is daily or weekly routine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel, Score, Tally
from shoal.model.parameters import check_choice
from shoal.model.score import Unit
from shoal.utility.cells import Floats
from shoal.utility.curves import CurveMeasure, Of, Taken, mean_change
from shoal.utility.days import Days, check_per_day, days_of, means_by

Period = Literal["day", "week"]

_NOTHING = 1e-24  # relative to the squared size: what rounding leaves of a constant


@dataclass(frozen=True)
class SeasonalityShift(CurveMeasure):
    """Mean change of the share of the variance that the time of the day, or of the week, explains.

    The seasonality of a curve is s = 1 - Σ (x[t] - m[p(t)])² / Σ (x[t] - mean x)², where p(t) is the time of the day,
    or the day of the week and time of the day, of the instant t by the local clock, and m[p] the mean over the instants
    at that time: 1 if every day is the same, 0 if the time of day explains nothing. A constant curve has 0. The shift
    is the mean over curves and channels of |s - published s|. Means of many series are more regular than single series,
    and noise makes them less regular; both shift it.

    Cells missing in either are left out of both. Panels of less than two periods are refused: a single day explains
    itself.

    Parameters
    ----------
    period
        "day", or "week": then a Sunday may differ from a Monday.
    of
        "series": each series; rows must match. "all": the mean of all series, which does not require matching series.
    per_day
        Only if times are numbers: the number of instants in a day, counted from the first.

    Examples
    --------
    >>> original, published = Panel([[1.0, 3.0, 1.0, 3.0]]), Panel([[1.0, 3.0, 3.0, 1.0]])
    >>> SeasonalityShift(per_day=2).measure(original, published).value
    1.0
    """

    name: ClassVar[str] = "seasonality-shift"
    meaning: ClassVar[str] = "mean change of the share of variance that the time of the day or week explains"
    purpose: ClassVar[str] = "daily and weekly routine"
    unit: ClassVar[Unit] = "share"
    usual = ({}, {"of": "all"}, {"period": "week"})
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    period: Period = "day"
    of: Of = "series"
    per_day: int | None = None

    def __post_init__(self) -> None:
        check_choice("period", self.period, Period)
        check_choice("of", self.of, Of)
        check_per_day(self.per_day)

    def taken(self, panel: Panel) -> Taken:
        """The seasonality of each curve."""
        days = days_of(panel, self.per_day, name=self.name, least=2 if self.period == "day" else 14)
        labels = season_labels(days, self.period)
        return lambda curves: seasonality(curves, labels)

    def score(self, tally: Tally) -> Score:
        """The mean shift."""
        return self.as_score(mean_change(self.of_curves(tally)))


def season_labels(days: Days, period: Period) -> NDArray[np.int64]:
    """The time of day, or of the week, of each instant, as a number."""
    if period == "day":
        return days.slot
    labels: NDArray[np.int64] = np.unique(days.weekday[days.day] * days.n_slots + days.slot, return_inverse=True)[1]
    return labels


def seasonality(curves: Floats, labels: NDArray[np.int64]) -> Floats:
    """The share of the variance of each curve (curves, channels) that the labels of the instants explain."""
    everything = means_by(np.zeros_like(labels), curves)
    total = np.nansum((curves - everything) ** 2, axis=1)
    left = np.nansum((curves - means_by(labels, curves)[:, labels]) ** 2, axis=1)
    varies = total > _NOTHING * np.nansum(curves**2, axis=1)
    shares: Floats = np.where(varies, 1.0 - left / np.where(varies, total, 1.0), 0.0)
    return np.clip(shares, 0.0, 1.0)
