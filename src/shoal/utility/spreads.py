"""The distance between two collections of numbers, each sorted."""

from __future__ import annotations

import numpy as np

from shoal.model import Panel, Score
from shoal.utility.cells import FAIR_SAMPLE, Floats, blocks, refuse_other_instants
from shoal.utility.curves import CurveMeasure, Taken, relative


class SpreadMeasure(CurveMeasure):
    """A measure of how sorted numbers have changed: those of each curve, or with "pooled" those of all series together.

    A cell missing in either curve is left out of both, so that sorting puts the same number of missing values last.
    With "pooled", each side counts what it has.
    """

    @property
    def why_whole(self) -> str:
        """Pooled numbers must be sorted together."""
        return "with of='pooled' sorts the values of all series in one place" if self.of == "pooled" else ""

    @property
    def sampled(self) -> int | None:
        """A sample does not flatter: on average, sorted numbers of some series are no closer than those of all."""
        return FAIR_SAMPLE if self.of == "pooled" else None

    def measure(self, original: Panel, published: Panel) -> Score:
        """Mean distance of the sorted numbers as a share of the mean absolute original, averaged over channels."""
        if self.of != "pooled":
            return super().measure(original, published)
        refuse_other_instants(original, published)
        taken = self.taken(original)
        changed, total = np.zeros(original.n_channels), np.zeros(original.n_channels)
        for channel in range(original.n_channels):
            before, after = (_pooled(panel, channel, taken) for panel in (original, published))
            changed[channel] = sorted_distance(before, after)
            total[channel] = np.abs(before).mean() if len(before) else 0.0
        return self.as_score(relative(changed, total))


def sorted_distance(before: Floats, after: Floats) -> float:
    """The area between two sorted curves over the share of numbers (Wasserstein-1); 0 if one is empty.

    Examples
    --------
    >>> sorted_distance(np.array([3.0, 1.0]), np.array([1.0, 2.0]))
    0.5
    >>> sorted_distance(np.array([0.0]), np.array([1.0, 3.0]))
    2.0
    """
    if not len(before) or not len(after):
        return 0.0
    before, after = np.sort(before), np.sort(after)
    if len(before) == len(after):
        return float(np.abs(before - after).mean())
    every = np.sort(np.concatenate([before, after]))
    below = [np.searchsorted(side, every[:-1], side="right") / len(side) for side in (before, after)]
    return float(np.sum(np.abs(below[0] - below[1]) * np.diff(every)))


def _pooled(panel: Panel, channel: int, taken: Taken) -> Floats:
    """The numbers of all series of a channel together."""
    numbers = np.concatenate([taken(block[:, :, channel : channel + 1]).ravel() for block in blocks(panel)])
    observed: Floats = numbers[~np.isnan(numbers)]
    return observed
