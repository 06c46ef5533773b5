"""How much the bound of "optimal" leaves out: all groupings of a few series, by enumeration (experiments/nlk_paper.py).

The bound is for groups that are runs of k to 2k - 1 neighbouring values of an instant, in which at most one place
between the ends is left out, whose series is alone. Here every grouping of few values into groups of k or more, with a
given number of series alone, is tried, and the best is compared with the best of those. Absolute loss around the mean.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from shoal import Panel

N_SERIES = 10
KS = (2, 3, 4)
ALONE = (0, 1, 2)
BETTER = 1e-9  # of the loss: more than sums round

Floats = NDArray[np.float64]
Group = tuple[int, ...]


@dataclass(frozen=True)
class Beyond:
    """Over many instants: how often the best of all groupings loses less than the best of runs, and how much."""

    n: int
    better: int
    mean: float
    """Of what runs lose in all, the part that other groupings would save."""
    largest: float
    """The same at the instant where it is most."""


def beyond_runs(panel: Panel, k: int, alone: int, n: int, seed: int) -> Beyond:
    """Draw a few series and an instant, n times, and try everything."""
    rng = np.random.default_rng([seed, k, alone])
    x = np.empty((n, N_SERIES))
    for draw in range(n):
        rows = rng.choice(panel.n_series, N_SERIES, replace=False)
        x[draw] = np.sort(panel.rows[rows, rng.integers(panel.n_instants)])
    best, runs = least_losses(x, k, alone)
    saved = np.where(best < runs * (1.0 - BETTER), runs - best, 0.0)
    shares = saved / np.where(runs > 0.0, runs, 1.0)
    total = float(saved.sum() / runs.sum()) if runs.any() else 0.0
    return Beyond(n, int((saved > 0.0).sum()), total, float(shares.max()))


def least_losses(x: Floats, k: int, alone: int) -> tuple[Floats, Floats]:
    """Of each row of ten sorted values: what the best of all groupings loses, and the best that the bound covers."""
    costs = np.stack([_loss(x[:, list(group)]) for group in _groups(k)] + [np.zeros(len(x))], axis=1)
    best, runs = (np.min([costs[:, one].sum(axis=1) for one in some], axis=0) for some in groupings(k, alone))
    return best, runs


def _loss(values: Floats) -> Floats:
    found: Floats = np.abs(values - values.mean(axis=1, keepdims=True)).sum(axis=1)
    return found


@cache
def groupings(k: int, alone: int) -> tuple[list[list[int]], list[list[int]]]:
    """All groupings of the ten places of an instant as numbers of groups, and those that the bound speaks of."""
    numbers = {group: number for number, group in enumerate(_groups(k))}
    every, in_runs = [], []
    for groups in _partitions(tuple(range(N_SERIES)), k, alone):
        listed = [numbers[group] for group in groups] or [len(numbers)]
        every.append(listed)
        placed = {place for group in groups for place in group}
        if all(_is_run(group, placed) and len(group) < 2 * k for group in groups):
            in_runs.append(listed)
    return every, in_runs


@cache
def _groups(k: int) -> list[Group]:
    places = range(N_SERIES)
    every = (tuple(p for p in places if mask >> p & 1) for mask in range(1 << N_SERIES))
    return [group for group in every if len(group) >= k]


def _partitions(places: Group, k: int, alone: int) -> Iterator[list[Group]]:
    """Groups of k or more of these places, of which so many, no more and no fewer, are in none."""
    if not places:
        if not alone:
            yield []
        return
    first, others = places[0], places[1:]
    if alone:
        yield from _partitions(others, k, alone - 1)
    for mask in range(1 << len(others)):
        group = (first, *(p for i, p in enumerate(others) if mask >> i & 1))
        if len(group) >= k:
            rest = tuple(p for p in others if p not in group)
            for further in _partitions(rest, k, alone):
                yield [group, *further]


def _is_run(group: Group, placed: set[int]) -> bool:
    """Neighbours, with at most one place left out, which is alone."""
    left_out = [place for place in range(group[0], group[-1]) if place not in group]
    return len(left_out) <= 1 and not placed & set(left_out)
