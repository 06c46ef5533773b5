"""The cheapest way to place a window anew, by trying every place of every event; for a handful of events."""

from itertools import product

import numpy as np


def cheapest_window_by_enumeration(supply, n_left, n_places, l, cost, beta, share):
    """supply[h, s] events of home h - n_left; a place is at most len(cost) - 1 after the home, and l-eligible.

    An event without a place costs beta[s], or the delay until the first snapshot after the window and a share of
    beta[s], if that is in its reach and less.
    """
    events = [(h - n_left, s) for h, s in np.argwhere(supply) for _ in range(supply[h, s])]
    ways = []
    for home, s in events:
        until = n_places - home
        unplaced = min(beta[s], cost[until] + share * beta[s]) if until < len(cost) else beta[s]
        reach = [(j, cost[j - home]) for j in range(max(home, 0), n_places) if j - home < len(cost)]
        ways.append([(None, unplaced), *reach])
    best = np.inf
    for way in product(*ways):
        price = sum(part for _, part in way)
        if price < best:
            counts = np.zeros((n_places, supply.shape[1]), dtype=int)
            for (_, s), (place, _) in zip(events, way, strict=True):
                if place is not None:
                    counts[place, s] += 1
            if (counts.max(axis=1) * l <= counts.sum(axis=1)).all():
                best = price
    return best
