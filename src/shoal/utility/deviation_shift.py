"""How much narrower the distribution of values has become."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel, Score
from shoal.utility.cells import paired_blocks


@dataclass(frozen=True)
class DeviationShift:
    """Change of the standard deviation of all values, as a share of what it was.

    |S(original) - S(published)| / S(original), with S over all series and instants around their common mean; cells
    missing in either are left out of both. With several channels the mean of their shifts. Where a channel had no
    spread its shift is 0 if it still has none, else 1.

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
    judges: ClassVar[Literal["values", "groups"]] = "values"

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: there is one way to measure it."""
        return {}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        counts, sums = np.zeros(original.n_channels), np.zeros((2, original.n_channels))
        for before, after, both in paired_blocks(original, published):
            counts += both.sum(axis=(0, 1))
            sums += [np.sum(side, axis=(0, 1), where=both) for side in (before, after)]
        means = sums / np.maximum(counts, 1)
        squares = np.zeros_like(sums)
        for before, after, both in paired_blocks(original, published):
            squares += [
                np.sum((side - mean) ** 2, axis=(0, 1), where=both)
                for side, mean in zip((before, after), means, strict=True)
            ]
        return Score(mean_shift(*np.sqrt(squares / np.maximum(counts, 1))), goal="lower", range=(0.0, float("inf")))


def mean_shift(before: NDArray[np.float64], after: NDArray[np.float64]) -> float:
    """Of deviations before and after, one for each channel."""
    had = before > 0.0
    shifts = np.abs(before - after) / np.where(had, before, 1.0)
    return float(np.where(had, shifts, after > 0.0).mean())
