"""Triples of rows whose prices together exceed the loss of the triple.

    c(T) = (d[i, j] + d[i, l] + d[j, l]) / 3,    the loss of the group T = {i, j, l}; d are squared distances
    violated:  u[i] + u[j] + u[l] > c(T)

All triples are examined except those that cannot be violated: for rows in falling order of u, c(T) >= d[i, j] / 2,
because d[i, l] + d[j, l] >= d[i, j] / 2, and u(T) <= u[i] + 2 u[j].
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints


@njit(cache=True, nogil=True)
def violated_triples(distances: Floats, prices: Floats, least: float) -> tuple[Ints, float]:
    """For each row, the worst triple violated by more than `least` in which its price is highest; and by how much at
    most."""
    n = distances.shape[0]
    order = np.argsort(-prices)
    triples = np.empty((n, 3), dtype=np.int64)
    n_found = 0
    worst = 0.0
    for a in range(n):
        i = order[a]
        most = least
        second = third = -1
        for b in range(a + 1, n):
            j = order[b]
            if 0.5 * distances[i, j] >= prices[i] + 2.0 * prices[j] - least:
                continue
            both = prices[i] + prices[j] - distances[i, j] / 3.0
            for c in range(b + 1, n):
                row = order[c]
                excess = both + prices[row] - (distances[i, row] + distances[j, row]) / 3.0
                if excess > most:
                    most = excess
                    second = j
                    third = row
        if second >= 0:
            triples[n_found, 0] = i
            triples[n_found, 1] = second
            triples[n_found, 2] = third
            n_found += 1
            worst = max(worst, most)
    return triples[:n_found], worst
