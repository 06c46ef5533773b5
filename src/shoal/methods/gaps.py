"""Groups of series with gaps: large enough that few cells are withheld.

A cell of a group is published if at least k members were observed there. A group of exactly k members loses every cell
in which one of them has a gap; with gaps in 5 % of all cells and k = 10, that is 40 % of the cells. So several sizes of
groups are tried, and the groups that lose least are kept:

    loss(groups) = sum over observed i, t of (x[i, t] - p[i, t])^2,    p the published value or, where it is withheld,
                                                                       the mean of the column

Sizes start at k, go on at the size that leaves k observed on average, in steps of one standard deviation of the number
observed, and end when three times in a row nothing was gained.

Distances need complete rows: for them alone, gaps are filled, first from the rest of the row, then with the means of
large groups that this gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.group_means import group_means

PATIENCE = 3  # sizes tried without a gain
LARGE = 3  # times k: groups whose means fill gaps


def groups_with_gaps(x: Floats, values: Floats, k: int, form: Callable[[Floats, int], Ints]) -> Ints:
    """The groups of least loss among those that `form(complete features, size)` gives, one series per subject.

    The loss is that of the features if they have the gaps of the values; otherwise that of the values.
    """
    gaps = np.isnan(values)
    judged = x if x.shape == values.shape and np.array_equal(np.isnan(x), gaps) else values
    filled = fill_gaps(x)
    means = group_means(x, form(filled, max(k, min(LARGE * k, len(x) // 2))), np.arange(len(x)), 1)
    filled = np.where(np.isnan(x) & ~np.isnan(means), means, filled)
    best, least, in_vain = np.zeros(0, dtype=np.int64), math.inf, 0
    for size in _sizes(k, float(gaps.mean()), len(x)):
        labels = form(filled, size)
        loss = loss_with_gaps(judged, labels, k)
        if loss < least or not best.size:
            best, least, in_vain = labels, loss, 0
        elif (in_vain := in_vain + 1) == PATIENCE:
            break
    return best


def fill_gaps(x: Floats) -> Floats:
    """Every gap at its column's mean, moved by as many mean deviations as its row lies above the means elsewhere."""
    gaps = np.isnan(x)
    observed = np.maximum(np.count_nonzero(~gaps, axis=0), 1)
    centre = np.where(gaps, 0.0, x).sum(axis=0) / observed
    apart = np.where(gaps, 0.0, x - centre)
    spread = np.abs(apart).sum(axis=0) / observed
    in_spreads = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0.0)
    above = in_spreads.sum(axis=1) / np.maximum(np.count_nonzero(~gaps, axis=1), 1)
    filled: Floats = np.where(gaps, centre + above[:, None] * spread, x)
    return filled


def loss_with_gaps(x: Floats, labels: Ints, k: int) -> float:
    """Squared differences of all readings from what is published or, where that is withheld, from the column mean."""
    published = group_means(x, labels, np.arange(len(x)), k)
    gaps = np.isnan(x)
    centre = np.where(gaps, 0.0, x).sum(axis=0) / np.maximum(np.count_nonzero(~gaps, axis=0), 1)
    apart = np.where(gaps, 0.0, x - np.where(np.isnan(published), centre, published))
    with np.errstate(over="ignore"):  # an infinite loss is no gain
        return float(np.einsum("it,it->", apart, apart))


def _sizes(k: int, missing: float, n: int) -> Iterator[int]:
    """Sizes of groups to try, from k on; those above n / 2 leave one group, so one of them is enough."""
    yield k
    size = max(k + 1, math.ceil(k / max(1.0 - missing, 1.0 / n)))
    while size <= n // 2:
        yield size
        size += max(1, round(math.sqrt(size * missing * (1.0 - missing))))
    if n // 2 < size <= n and k <= n // 2:
        yield size
