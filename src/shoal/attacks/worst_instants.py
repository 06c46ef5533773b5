"""The instants at which knowing a target's readings exposes it most in one release."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from math import comb

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows, Truth
from shoal.attacks.links import Carried
from shoal.kernels.known_instants import best_instants, greedy_instants
from shoal.kernels.likeness import LEAST, most_alike

WORK = 2_000_000_000  # comparisons spent at most on trying every set of instants
N_SETS = 2_000  # sets of instants tried at most for each target, if every set is compared separately


def worst_instants(
    series: Floats, classes: Rows, truth: Truth, true: Floats, n: int, fullest: bool
) -> tuple[Rows, NDArray[np.bool_]]:
    """For each target, the instants that raise its chance most, and whether that is proven."""
    m = series.shape[2]
    sizes = np.bincount(classes, minlength=m)
    carried = Carried.of(classes, truth.owners)
    everyone = np.arange(m)
    tries = sum(comb(len(series), size) for size in range(1, n + 1)) * m
    left = WORK // max(len(true), 1)

    def look(i: int) -> tuple[Rows, bool]:
        own = carried.count(everyone, np.full(m, truth.of_targets[i]))
        # The nearest may be any mixture of classes, and a mixture has no larger share than its best part.
        most = float((own / sizes).max())
        places, chance = greedy_instants(true[i], series, sizes, own, most, n, fullest)
        if chance >= most or n == 1:
            return places, True
        if tries > left:
            return places, False
        for size in range(1, n + 1):
            others, better = best_instants(true[i], series, sizes, own, most, size, fullest)
            if better > chance:
                places, chance = np.pad(others, (0, n - size), constant_values=-1), better
        return places, True

    with ThreadPoolExecutor(get_num_threads()) as pool:
        found = list(pool.map(look, range(len(true))))
    return np.array([places for places, _ in found]), np.array([sure for _, sure in found])


def worst_by_fit(
    series: Floats, classes: Rows, truth: Truth, true: Floats, sets: Sequence[Rows], fullest: bool
) -> tuple[Rows, NDArray[np.bool_]]:
    """Like `worst_instants`, up to level and unit: for some sets (targets, n), and for all if they are few.

    Up to scale, single readings do not add up, so there is no greedy search: two readings say nothing.
    """
    n, n_instants, m = sets[0].shape[1], len(series), series.shape[2]
    sizes = np.bincount(classes, minlength=m)
    carried = Carried.of(classes, truth.owners)
    everyone = np.arange(m)
    n_sets = sum(comb(n_instants, size) for size in range(LEAST, n + 1))
    every = n_sets <= N_SETS and n_sets * m * len(true) <= WORK
    # Knowing too little to compare is also a choice: then all series are candidates.
    further = [(-1,) * n]
    if every:
        for size in range(LEAST, n + 1):
            further += [(*chosen, *(-1,) * (n - size)) for chosen in combinations(range(n_instants), size)]
    worst = np.empty((len(true), n), dtype=np.int64)
    sure = np.empty(len(true), dtype=np.bool_)
    for i in range(len(true)):
        own = carried.count(everyone, np.full(m, truth.of_targets[i]))
        places = np.array([*(tried[i] for tried in sets), *further])
        known = np.where(places[:, :, None] < 0, np.nan, true[i][places])
        _, start, which = most_alike(known, places, series, 0, fullest)
        chance = np.add.reduceat(own[which], start[:-1]) / np.add.reduceat(sizes[which], start[:-1])
        best = int(chance.argmax())
        worst[i] = places[best]
        sure[i] = every or chance[best] >= (own / sizes).max()
    return worst, sure
