"""How well a release tells what a day looks like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.model import Panel, Score
from shoal.utility.curves import Of, check_of, relative, side_by_side
from shoal.utility.days import check_per_day, days_of, means_by


@dataclass(frozen=True)
class MeanDayError:
    """Error of the mean day: sum of its absolute changes as a share of the sum of its absolute values.

    The mean day of a curve is m[s] = the mean over days of its values at the time of the day s. The error is
    Σ |m[s] - published m[s]| / Σ |m[s]| over the times of the day, and over the series where each has a mean day. Times
    of the day are those of the clock on the wall, in the panel's time zone if it has one.

    Cells missing in either are left out of both. With several channels the mean of their errors. Where the mean day of
    a channel is 0 throughout, its error is 0 if it is published so, else 1. Panels of less than a day are refused.

    Parameters
    ----------
    of
        "series": the mean day of each series; rows must belong together. "all": the mean day of the mean of all series,
        which needs not know which series is which.
    per_day
        Only where times are numbers: how many instants a day has, from the first on.

    Examples
    --------
    >>> original, published = Panel([[1.0, 3.0, 3.0, 1.0]]), Panel([[2.0, 2.0, 3.0, 2.0]])
    >>> MeanDayError(per_day=2).measure(original, published).value
    0.125
    """

    name: ClassVar[str] = "mean-day-error"
    meaning: ClassVar[str] = "sum of absolute changes of the mean day, as a share of its values"
    judges: ClassVar[Literal["values", "groups", "models"]] = "values"
    goal: ClassVar[Literal["higher", "lower"]] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, float("inf"))

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
        """Compare the mean days."""
        days = days_of(original, self.per_day, name=self.name)
        changed, total = np.zeros(original.n_channels), np.zeros(original.n_channels)
        for before, after in side_by_side(original, published, self.of):
            one, other = means_by(days.slot, before), means_by(days.slot, after)
            changed += np.nansum(np.abs(one - other), axis=(0, 1))
            total += np.nansum(np.abs(one), axis=(0, 1))
        return Score(relative(changed, total), self.goal, self.range)
