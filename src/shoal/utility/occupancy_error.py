"""Whether a release still shows when people arrive, leave, and how long they stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from shoal.model import Measure, Moments, Panel, Score, Tally
from shoal.model.parameters import check_choice, check_whole
from shoal.model.score import Unit
from shoal.utility.cells import Floats
from shoal.utility.curves import relative
from shoal.utility.interest_loss import TIMES, complete_pair, refuse_above

Statistic = Literal["arrival", "departure", "occupied"]
Compared = Literal["mean", "histogram"]


@dataclass(frozen=True)
class OccupancyError(Measure):
    """Error of the mean, or of the histogram, of arrival, departure or time occupied.

    With s(x) the statistic of a series in instants and T instants: for "mean"
    |mean s(published) - mean s(original)| / mean s(original); for "histogram" the total variation
    ½ Σ over bins of |share of published series - share of original ones|, over `bins` equal bins of [0, T]. A day with
    nobody present arrives at T, departs at 0 and is occupied for 0, as in `shoal.features.interests`. If the original
    mean is 0, the error is 0 if the published one is too, else 1. With several channels, the mean over them.

    Only overall statistics are compared, so series may be exchanged: a release can score well here with every single
    day wrong. To compare single days, use `InterestLoss`. Missing values are refused.

    Parameters
    ----------
    statistic
        "arrival": the first instant above `above`. "departure": the one after the last. "occupied": how many are.
    compare
        "mean": a relative error, from 0. "histogram": a share of series, from 0 to 1, that also detects lost variety.
    bins
        Only "histogram": the number of bins. More bins detect smaller shifts, but also more chance.
    above
        The value above which someone is present. 0.5 suits presence (0 or 1), and also published means: someone is
        there if half of the group is.

    Examples
    --------
    >>> original = Panel([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    >>> published = Panel([[0.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0]])
    >>> OccupancyError("arrival").measure(original, published).value
    0.5
    >>> OccupancyError("arrival", compare="histogram", bins=4).measure(original, published).value
    0.5

    References
    ----------
    "PAD: learned metric", section 7.2.2, figures 6 and 7.
    """

    name: ClassVar[str] = "occupancy-error"
    meaning: ClassVar[str] = "error of the mean, or of the histogram, of arrival, departure or time occupied"
    plain: ClassVar[str] = "Arrivals, departures or presence are off by"
    purpose: ClassVar[str] = "presence and special interests"
    unit: ClassVar[Unit] = "share"
    matched: ClassVar[bool] = False
    # The threshold for presence must be stated.
    usual = ()

    statistic: Statistic = "arrival"
    compare: Compared = "mean"
    bins: int = 24
    above: float = 0.5

    def __post_init__(self) -> None:
        check_choice("statistic", self.statistic, Statistic)
        check_choice("compare", self.compare, Compared)
        check_whole("bins", self.bins, 2)
        refuse_above(self.above)

    @property
    def range(self) -> tuple[float, float]:
        """From 0; a share of series ends at 1."""
        return 0.0, float("inf") if self.compare == "mean" else 1.0

    def tally(self, original: Panel, published: Panel) -> Tally:
        """The statistic of each series by channel, or 1 in its bin and 0 elsewhere."""
        sides = (self._of(values) for values in complete_pair(original, published))
        if self.compare == "histogram":
            sides = (self._bins(side, original.n_instants) for side in sides)
        return Tally(dict(zip(("before", "after"), map(Moments.of, sides), strict=True)))

    def score(self, tally: Tally) -> Score:
        """The error of the means; shares of series are the means of their bins."""
        # Whole numbers: their means do not depend on the order of the series, to the last bit.
        before, after = (np.rint(side.sums) / side.counts for side in (tally["before"], tally["after"]))
        apart = np.abs(after - before)
        if self.compare == "mean":
            return self.as_score(relative(apart, before))
        return self.as_score(min(float(np.mean(apart.sum(axis=1) / 2)), 1.0))

    def histogram(self, panel: Panel) -> Floats:
        """The share of a panel's series in each bin; with several channels (channels, bins)."""
        shares: Floats = self._bins(self._of(panel.values), panel.n_instants).mean(axis=0)
        return shares[0] if panel.n_channels == 1 else shares

    def _of(self, values: Floats) -> Floats:
        """The statistic (series, channels)."""
        return np.asarray(TIMES[self.statistic](self.above).of(values), dtype=np.float64)

    def _bins(self, statistic: Floats, n_instants: int) -> Floats:
        """1 in the bin of each series and channel, 0 in the others (series, channels, bins)."""
        ends = np.linspace(0, n_instants, int(self.bins) + 1)
        place = np.clip(np.searchsorted(ends, statistic, side="right") - 1, 0, self.bins - 1)
        return np.asarray(place[..., None] == np.arange(self.bins), dtype=np.float64)
