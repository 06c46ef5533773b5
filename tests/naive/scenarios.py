"""What scenarios of groups must be, in plain Python; and the subjects behind each published figure."""

import math
from itertools import pairwise
from statistics import NormalDist, fmean, mean


def naive_pool(rows, groups, n_levels):
    """Levels by instant, lagged correlations, and spreads by group, of one pool: unrounded but for the spreads."""
    n_instants = len(rows[0])
    members = {g: [row for row, own in zip(rows, groups, strict=True) if own == g] for g in set(groups)}
    means = {g: [mean(row[t] for row in own) for t in range(n_instants)] for g, own in members.items()}
    spreads = {}
    for g, own in members.items():
        squares = [(row[t] - means[g][t]) ** 2 for row in own for t in range(n_instants)]
        spreads[g] = float(f"{math.sqrt(fmean(squares)):.3g}")
    apart = [
        [(row[t] - means[g][t]) / spreads[g] if spreads[g] else 0.0 for t in range(n_instants)]
        for row, g in zip(rows, groups, strict=True)
    ]
    levels = []
    for t in range(n_instants):
        ordered = sorted(row[t] for row in apart)
        cuts = [level * len(rows) // n_levels for level in range(n_levels + 1)]
        levels.append([fmean(ordered[a:b]) for a, b in pairwise(cuts)])
    scores = [[_score(apart, i, t) for t in range(n_instants)] for i in range(len(rows))]
    products = [
        [scores[i][t] * scores[i][t + lag] for i in range(len(rows)) for t in range(n_instants - lag)]
        for lag in range(n_instants)
    ]
    variance = fmean(products[0])
    lagged = [max(-1.0, min(1.0, fmean(p) / variance)) if variance else 0.0**lag for lag, p in enumerate(products)]
    return levels, lagged, spreads


def _score(apart, i, t):
    below = sum(row[t] < apart[i][t] for row in apart)
    alike = sum(row[t] == apart[i][t] for row in apart)
    return NormalDist().inv_cdf((below + (alike + 1) / 2 - 0.5) / len(apart))


def naive_crowd(counts, shared, n_levels):
    """The fewest subjects behind a figure: a group's count, or an equal part of all groups with the same `shared`."""
    behind = [sum(c for c, other in zip(counts, shared, strict=True) if other == own) for own in shared]
    return min(min(counts), min(behind) // n_levels)


def naive_quantile(levels, share):
    """A quantile from the levels of one instant: straight lines through the middles of equal shares."""
    n = len(levels)
    place = share * n - 0.5
    lower = min(max(math.floor(place), 0), n - 2)
    return levels[lower] + (place - lower) * (levels[lower + 1] - levels[lower])


def naive_crps(readings, quantiles, shares):
    """Mean over readings of twice the mean pinball loss of their quantiles."""
    losses = [
        2.0 * fmean((p if x >= q else p - 1.0) * (x - q) for p, q in zip(shares, own, strict=True))
        for x, own in zip(readings, quantiles, strict=True)
    ]
    return fmean(losses)
