"""Whether a release still tells when rooms or persons come, go, and how long they stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel, Score
from shoal.utility.interest_loss import TIMES, complete_pair, refuse_above

Statistic = Literal["arrival", "departure", "occupied"]
Compared = Literal["mean", "histogram"]


@dataclass(frozen=True)
class OccupancyError:
    """Error of the mean, or of the histogram, of arrival, departure or time occupied.

    With s(x) the statistic of a series in instants and T instants: for "mean"
    |mean s(published) - mean s(original)| / mean s(original); for "histogram" the total variation
    ½ Σ over bins of |share of published series - share of original ones|, over `bins` equal bins of [0, T]. A day
    without anybody arrives at T, departs at 0 and is occupied for 0, as in `shoal.features.interests`. Where the
    original mean is 0 the error is 0 if the published one is too, else 1. With several channels, the mean over them.

    Only the statistics of the whole are compared, so series may change places: a release can score well here and
    still have every single day wrong. For that use `InterestLoss`. Missing values are refused.

    Parameters
    ----------
    statistic
        "arrival": the first instant above `above`. "departure": the one after the last. "occupied": how many are.
    compare
        "mean": a relative error, from 0. "histogram": a share of series, from 0 to 1, that sees lost variety too.
    bins
        Only "histogram": how many. More see smaller shifts, and more of chance.
    above
        From what value on somebody is there. 0.5 reads presence (0 or 1) and counts rightly also where means are
        published: there when half of the group is.

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
    judges: ClassVar[Literal["values", "groups", "models"]] = "values"

    statistic: Statistic = "arrival"
    compare: Compared = "mean"
    bins: int = 24
    above: float = 0.5

    def __post_init__(self) -> None:
        for name, kind in (("statistic", Statistic), ("compare", Compared)):
            if getattr(self, name) not in get_args(kind):
                raise ParameterError(f"{name} must be one of: {', '.join(get_args(kind))}.")
        if isinstance(self.bins, bool) or not isinstance(self.bins, int | np.integer) or self.bins < 2:
            raise ParameterError("bins must be a whole number of at least 2.")
        refuse_above(self.above)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        return {
            "statistic": self.statistic,
            "compare": self.compare,
            "bins": int(self.bins),
            "above": float(self.above),
        }

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare two panels of the same series."""
        before, after = (self._of(values) for values in complete_pair(original, published))
        if self.compare == "mean":
            return Score(float(np.mean(_relative_errors(before, after))), goal="lower", range=(0.0, float("inf")))
        shares = [self._shares(found, original.n_instants) for found in (before, after)]
        apart = np.abs(shares[0] - shares[1]).sum(axis=1) / 2
        return Score(min(float(np.mean(apart)), 1.0), goal="lower", range=(0.0, 1.0))

    def histogram(self, panel: Panel) -> NDArray[np.float64]:
        """The share of a panel's series in each bin; with several channels (channels, bins)."""
        shares = self._shares(self._of(panel.values), panel.n_instants)
        return shares[0] if panel.n_channels == 1 else shares

    def _of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The statistic (series, channels)."""
        return TIMES[self.statistic](self.above).of(values)

    def _shares(self, found: NDArray[np.float64], n_instants: int) -> NDArray[np.float64]:
        """Share of series in each bin (channels, bins)."""
        counts = [np.histogram(column, bins=self.bins, range=(0, n_instants))[0] for column in found.T]
        return np.array(counts, dtype=np.float64) / len(found)


def _relative_errors(before: NDArray[np.float64], after: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the mean of each column."""
    true, found = before.mean(axis=0), after.mean(axis=0)
    apart = np.abs(found - true)
    errors: NDArray[np.float64] = np.where(true > 0.0, apart / np.where(true > 0.0, true, 1.0), apart > 0.0)
    return errors
