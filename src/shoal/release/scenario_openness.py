"""How much a release of scenarios leaves open: how many originals could certainly have led to the same figures.

At one instant, take two members of the same group who are in the same level of their pool. One reading may be higher
and the other lower by the same amount d as long as neither passes half the way to its neighbours in the pool, in units
of the spreads: the mean of the group, the levels and all ranks stay, and with these the rank correlations. The spread
keeps its last published digit as long as the squares of all its pairs together change by less than their distance from
the next rounding boundary:

    |2 d (x[j] - x[i])| + 2 d² <= margin / number of pairs of the group

In steps of the smallest difference between readings, or of the smallest that shows in a figure, these are different
originals, and pairs vary freely. Every instant gives a lower bound; the largest over some instants counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model import Scenarios
from shoal.model.scenarios import SHAPE_DECIMALS, SPREAD_DIGITS

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

MOST_INSTANTS = 24
"""Instants that are tried, evenly spaced."""


def scenario_bits(x: Floats, groups: Labels, published: Scenarios) -> float:
    """The binary logarithm of how many originals could certainly have led to what is published."""
    means, spreads, pools = published.means[groups], published.spreads[groups], published.pools[groups]
    margins = _margins(np.square(x - means).sum(axis=1), groups, published, x.shape[1])
    visible = float(np.sqrt(np.square(x - x.mean(axis=0)).mean(axis=0)).max(initial=0.0)) / 1000.0
    n_levels, most = published.n_levels, 0.0
    for column in np.unique(np.linspace(0, x.shape[1] - 1, MOST_INSTANTS).astype(np.int64)):
        different = np.unique(x[:, column])
        if len(different) < 2:
            continue
        step = max(float(np.diff(different).min()), visible)
        deviations = x[:, column] - means[:, column]
        standard = np.divide(deviations, spreads, out=np.zeros_like(spreads), where=spreads > 0.0)
        room, level = _places_in_pools(standard, pools, n_levels)
        sums = np.bincount(pools * n_levels + level, weights=standard, minlength=published.n_groups * n_levels)
        sizes = np.bincount(pools * n_levels + level, minlength=published.n_groups * n_levels)
        found = (sums / np.maximum(sizes, 1)).reshape(-1, n_levels)[published.pools]
        if (np.abs(found - published.shapes[:, column]) > 10.0**-SHAPE_DECIMALS).any():
            return 0.0  # part of a pool is missing here, so openness cannot be computed
        most = max(most, _bits_of_pairs(deviations, room * spreads, groups, level, margins, step))
    return most


def _margins(squares: Floats, groups: Labels, published: Scenarios, n_instants: int) -> Floats:
    """How much the squares of each group may change while its spread is rounded to the same digits."""
    spreads = published.spreads
    sums = np.bincount(groups, weights=squares)
    n = published.counts * n_instants
    half = np.array([0.5 * 10.0 ** (np.floor(np.log10(s)) - SPREAD_DIGITS + 1) if s > 0.0 else 0.0 for s in spreads])
    # At a power of ten the digits below are finer; a tenth is then the half of those.
    lower = spreads - np.where(spreads == 10.0 ** np.round(np.log10(np.maximum(spreads, 1e-300))), half / 10.0, half)
    margins: Floats = np.maximum(0.0, np.minimum(sums - n * np.square(lower), n * np.square(spreads + half) - sums))
    return margins


def _places_in_pools(standard: Floats, pools: Labels, n_levels: int) -> tuple[Floats, Labels]:
    """For each series, half the distance to its nearest neighbour in the pool, and its level."""
    order = np.lexsort((standard, pools))
    starts = np.flatnonzero(np.diff(pools[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    size = np.repeat(sizes, sizes)
    gaps = np.diff(standard[order])
    below, above = np.append(np.inf, gaps), np.append(gaps, np.inf)
    below[rank == 0], above[rank == size - 1] = np.inf, np.inf
    room, level = np.empty(len(order)), np.empty(len(order), dtype=np.int64)
    room[order] = np.minimum(below, above) / 2.0
    # The level whose part of the ranks, from level * size // n_levels on, has this rank in it.
    level[order] = ((rank + 1) * n_levels - 1) // size
    return room, level


def _bits_of_pairs(
    deviations: Floats, room: Floats, groups: Labels, level: Labels, margins: Floats, step: float
) -> float:
    """The bits of all pairs: neighbours by reading in the same group and level, each reading in one pair."""
    order = np.lexsort((deviations, level, groups))
    key = groups[order] * (int(level.max()) + 1) + level[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    first = np.flatnonzero((place[:-1] % 2 == 0) & (key[1:] == key[:-1]))
    i, j = order[first], order[first + 1]
    n_pairs = np.bincount(groups[i], minlength=len(margins))
    allowed = margins[groups[i]] / np.maximum(n_pairs[groups[i]], 1)
    apart = np.abs(deviations[j] - deviations[i])
    # The largest d with 2 d apart + 2 d² <= allowed.
    by_spread = (np.sqrt(np.square(apart) + 2.0 * allowed) - apart) / 2.0
    most = np.minimum(np.minimum(room[i], room[j]), by_spread)
    return float(np.log2(1.0 + np.floor(np.minimum(most / step, 2.0**40))).sum())
