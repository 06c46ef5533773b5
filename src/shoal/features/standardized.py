"""Every instant and channel on the same scale."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.model import Moments, Panel

_CELLS = 2_000_000  # processed at a time, about 16 MB per copy


@dataclass(frozen=True)
class Standardized:
    """Every instant and channel with mean 0 and standard deviation 1: none outweighs another.

    z[i, c] = (x[i, c] - mean of column c) / standard deviation of column c, both over the observed series, the
    deviation with divisor n. A column with only one value becomes 0; missing stays missing. Use it if channels have
    different units. It gives quiet hours the same weight as busy ones.

    Adding the same large number to all values changes nothing but what that addition itself rounds away: columns are
    moved to the middle of their range and scaled by it before anything is summed, and summed in order of size, so that
    the order of the rows does not matter to the last bit.

    Examples
    --------
    >>> Standardized()(Panel([[1.0, 7.0], [3.0, 7.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    name: ClassVar[str] = "standardized"

    whole: Moments | None = field(default=None, repr=False, compare=False)
    """For a shard: the moments of all columns over the whole panel, which replace the shard's own."""

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """Standardise column by column."""
        if self.whole is not None:
            deviation = np.sqrt(self.whole.deviations / np.maximum(self.whole.counts, 1))
            scaled: NDArray[np.float64] = (panel.rows - self.whole.means) / np.where(deviation > 0.0, deviation, 1.0)
            scaled[:, deviation == 0.0] *= 0.0
            return scaled
        result = np.empty(panel.rows.shape)
        width = max(1, _CELLS // panel.n_series)
        for first in range(0, panel.rows.shape[1], width):
            columns = slice(first, first + width)
            result[:, columns] = _standardize(panel.rows[:, columns])
        return result


def _standardize(x: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)  # NaN only where nothing is observed
    half = high / 2 - low / 2  # halved first: the difference of two large values may overflow
    z: NDArray[np.float64] = (x - (low / 2 + high / 2)) / np.where(half > 0.0, half, 1.0)
    # A constant column is 0 exactly; so is one whose spread is below the smallest float.
    z[:, half == 0.0] *= 0.0
    z -= _means(z)
    deviations = np.sqrt(_means(z * z))
    z /= np.where(deviations > 0.0, deviations, 1.0)
    return z


def _means(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means over the observed rows that are the same bits in any order of the rows."""
    by_size = np.array(z.T, order="C", copy=True)
    by_size.sort(axis=1)  # missing last
    observed = ~np.isnan(by_size)
    sums = np.sum(by_size, axis=1, where=observed)
    means: NDArray[np.float64] = sums / np.maximum(observed.sum(axis=1), 1)
    return means
