"""How much narrower the distribution of values has become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Measure, Panel, Score, Tally
from shoal.model.score import Unit
from shoal.utility.cells import Floats, by_channel, tally_pairs


@dataclass(frozen=True)
class DeviationShift(Measure):
    """Change of the standard deviation of all values, as a share of the original one.

    |S(original) - S(published)| / S(original), with S over all series and instants around their common mean; cells
    missing in either are left out of both. With several channels, the mean of their shifts. If a channel had no spread,
    its shift is 0 if it still has none, else 1.

    Examples
    --------
    >>> original, published = Panel([[0.0], [2.0], [10.0], [12.0]]), Panel([[1.0], [1.0], [11.0], [11.0]])
    >>> round(DeviationShift().measure(original, published).value, 4)
    0.0194

    References
    ----------
    The paper on (n, l, k)-anonymity of time series, section 5.2.2.
    """

    name: ClassVar[str] = "deviation-shift"
    meaning: ClassVar[str] = "change of the standard deviation of all values, as a share of what it was"
    purpose: ClassVar[str] = "single values"
    unit: ClassVar[Unit] = "share"

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Values before and after, by channel."""

        def figures(before: Floats, after: Floats) -> dict[str, Floats]:
            return {"before": by_channel(before), "after": by_channel(after)}

        return tally_pairs(original, published, figures)

    def score(self, tally: Tally) -> Score:
        """The shift of their deviations."""
        sides = (tally["before"], tally["after"])
        return self.as_score(mean_shift(*(np.sqrt(side.deviations / np.maximum(side.counts, 1)) for side in sides)))


def mean_shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """The shift from deviations before and after, one for each channel."""
    had = before > 0.0
    shifts = np.abs(before - after) / np.where(had, before, 1.0)
    return float(np.where(had, shifts, after > 0.0).mean())
