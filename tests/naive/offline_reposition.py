"""The least loss of a whole stream by trying everything, for a handful of events.

The program that stands for it on longer streams is experiments/offline_reposition.py.
"""

from itertools import combinations_with_replacement, product

import numpy as np


def offline_by_enumeration(counts, w, l, cost, beta, *, both=False):
    """Try all places of all events, up to w - 1 snapshots late, or as early as well; None is suppressed."""
    n_snapshots, n_values = np.shape(counts)
    homes = [(i, s) for i in range(n_snapshots) for s in range(n_values)]
    reach = [range(max(i - w + 1, 0) if both else i, min(i + w, n_snapshots)) for i in range(n_snapshots)]
    ways = [list(combinations_with_replacement([None, *reach[i]], int(counts[i][s]))) for i, s in homes]
    best = np.inf
    for way in product(*ways):
        numbers, loss = np.zeros((n_snapshots, n_values), dtype=int), 0.0
        for (i, s), places in zip(homes, way, strict=True):
            for place in places:
                if place is None:
                    loss += beta[s]
                else:
                    loss += cost[abs(place - i)]
                    numbers[place, s] += 1
        if (numbers.max(axis=1) * l <= numbers.sum(axis=1)).all():
            best = min(best, loss)
    return best
