"""How far two collections of numbers are apart when each is sorted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shoal.model import Panel
from shoal.utility.curves import Floats, blocks, refuse_other_instants, relative, side_by_side

Taken = Callable[[Floats], Floats]
"""From curves (curves, instants, channels) to the numbers of each (curves, numbers, channels)."""


def relative_distance(original: Panel, published: Panel, of: str, taken: Taken) -> float:
    """Mean distance of the sorted numbers as a share of the mean absolute original one; the mean over channels."""
    changed, total = np.zeros(original.n_channels), np.zeros(original.n_channels)
    if of == "pooled":
        refuse_other_instants(original, published)
        for channel in range(original.n_channels):
            before, after = (_pooled(panel, channel, taken) for panel in (original, published))
            changed[channel] = sorted_distance(before, after)
            total[channel] = np.abs(before).mean() if len(before) else 0.0
        return relative(changed, total)
    for before, after in side_by_side(original, published, of):
        # What either lacks both lack, so that sorting puts as many missing numbers last in both.
        one, other = (np.sort(taken(side), axis=1) for side in (before, after))
        changed += np.nansum(np.abs(one - other), axis=(0, 1))
        total += np.nansum(np.abs(one), axis=(0, 1))
    return relative(changed, total)


def sorted_distance(before: Floats, after: Floats) -> float:
    """The area between two sorted curves drawn over the share of numbers (Wasserstein-1); 0 where one is empty.

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
