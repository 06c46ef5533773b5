"""What a group is published as under form="scenarios": its mean and spread, and the shape that its pool shares.

    spread[g]   = root of the mean over members i of g and instants t of (x[i, t] - mean[g, t])²
    d[i, t]     = (x[i, t] - mean[g, t]) / spread[g], 0 where the spread is 0
                  differences that are rounding of the mean count as 0
    z[t, level] = mean of d[., t] over one of `levels` equal parts of the pool, cut in the order of d[., t]
    lagged[h]   = correlation of s[i, t] and s[i, t + h] over members i and instants t, with s the normal score of the
                  rank of d[i, t] in the pool

A quantile of a small group is one member's reading. A pool therefore has at least `levels` times k subjects: every
level is based on at least k, like every mean. The rank correlations have two decimals, and depend only on order.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from shoal.methods.aggregates import groups_of
from shoal.methods.algorithms import Grouping
from shoal.model import Panel, Scenarios
from shoal.model.scenarios import LAGGED_DECIMALS, SHAPE_DECIMALS, round_spreads, scenario_bands

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

LEAST_FOR_SCENARIOS = 6
"""Members a group needs for a mean and a spread: three for each figure of their own."""

ROUNDING = 1e-12
"""The share of a mean that rounding may be off: in units of a spread of rounding alone, it would look like readings."""


def describe_groups(panel: Panel, groups: Labels, means: Floats, n_levels: int) -> Scenarios:
    """The distributions of groups of series without gaps; `means` has a row for each series."""
    firsts = [int(members[0]) for members in groups_of(groups)]
    sizes = np.bincount(groups)
    spreads = group_spreads(panel.rows, groups, means)
    pools = pool_groups(means[firsts], n_levels)
    while True:
        shapes = np.empty((len(firsts), panel.n_instants, n_levels + 1))
        for own in groups_of(pools):
            members = np.flatnonzero(np.isin(groups, own))
            shapes[own] = pool_shape(panel.rows[members], means[members], spreads[groups[members]], n_levels)
        # Pools that look alike by chance are one to every reader, and so become one.
        alike = np.unique(shapes.reshape(len(shapes), -1), axis=0, return_inverse=True)[1].reshape(-1)
        if alike.max() == pools.max():
            break
        pools = alike.astype(np.int64)
    widths = np.broadcast_to(spreads[:, None, None], (*shapes.shape[:2], 1))
    values = np.concatenate([means[firsts][:, :, None], widths, shapes], axis=2)
    return Scenarios.of(panel, values[:, :, None, :], sizes, scenario_bands(n_levels))


def group_spreads(x: Floats, groups: Labels, means: Floats) -> Floats:
    """The spread of each group, to the digits that are published."""
    squares = np.mean(np.square(_deviations(x, means)), axis=1)
    return round_spreads(np.sqrt(np.bincount(groups, weights=squares) / np.bincount(groups)))


def _deviations(x: Floats, means: Floats) -> Floats:
    """Differences from the means; 0 where readings are alike and only their mean is rounded."""
    apart = x - means
    apart[np.abs(apart) <= ROUNDING * np.abs(means)] = 0.0
    return apart


def pool_groups(means: Floats, n_levels: int) -> Labels:
    """A pool for each group: at least `n_levels` groups with similar means, or all groups."""
    if len(means) < 2 * n_levels:
        return np.zeros(len(means), dtype=np.int64)
    grouping = Grouping(n_levels, "mdav", refine=False, gain=0.0, proposals=1, seed=0, loss="squared")
    return grouping.form(means, means, np.arange(len(means)), None)


def pool_shape(x: Floats, means: Floats, spreads: Floats, n_levels: int) -> Floats:
    """The levels of a pool next to its lagged correlations, (instants, levels + 1)."""
    wide = spreads > 0.0
    deviations = np.divide(_deviations(x, means), spreads[:, None], out=np.zeros_like(x), where=wide[:, None])
    ordered = np.sort(deviations, axis=0)
    ends = np.arange(n_levels + 1) * len(x) // n_levels
    levels = np.stack([ordered[a:b].mean(axis=0) for a, b in pairwise(ends)], axis=1)
    # Means of equal readings may differ in their last digits.
    rounded = np.maximum.accumulate(np.round(levels, SHAPE_DECIMALS), axis=1) + 0.0  # no negative zero
    return np.concatenate([rounded, lagged_correlations(deviations)[:, None]], axis=1)


def lagged_correlations(deviations: Floats) -> Floats:
    """The correlation of normal scores 0, 1, 2, ... instants apart, over all rows and instants."""
    from scipy import stats  # late: 0.4 s in every process that loads the methods

    n, n_instants = deviations.shape
    scores = stats.norm.ppf((stats.rankdata(deviations, axis=0) - 0.5) / n)
    spectrum = np.square(np.abs(np.fft.rfft(scores, n=2 * n_instants, axis=1))).sum(axis=0)
    sums = np.fft.irfft(spectrum, n=2 * n_instants)[:n_instants]
    if sums[0] <= 1e-9 * n * n_instants:  # all readings are alike
        return np.where(np.arange(n_instants) == 0, 1.0, 0.0)
    covariances = sums / np.arange(n_instants, 0, -1)
    rounded: Floats = np.round(np.clip(covariances / covariances[0], -1.0, 1.0), LAGGED_DECIMALS) + 0.0
    return rounded
