"""The row farthest from a mean that moves little, without searching for it each time.

Rows only ever leave, and the mean of many moves little when a few leave. So the rows farthest from it are kept for a
while. If the mean has moved by m since, a row that was no farther than d is now no farther than d + m: as long as one
of the rows kept is farther than that, the farthest is among them. Otherwise they are searched again.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.leaves import select
from shoal.kernels.search_index import exact_distance, farthest_of, measure

_MOST = 128  # rows kept at most: more cost more to find and to measure, but last longer
_SHARE = 128  # remaining rows for each row kept


class Outskirts(NamedTuple):
    """The rows that were farthest from a mean, one of the farthest first; no other was farther than `others`."""

    mean: Floats
    rows: Ints
    distances: Floats
    others: float


@njit(cache=True)
def n_outskirts(n_left: int) -> int:
    """Number of rows to keep."""
    return min(_MOST, 1 + n_left // _SHARE)


@njit(cache=True)
def outskirts_of(x: Floats, rows: Ints, mean: Floats, n_kept: int) -> Outskirts:
    """Outskirts from rows that include the `n_kept` farthest; there are more if rounding cannot tell them apart."""
    rows, keys = rows.copy(), np.empty(rows.shape[0])
    measure(x, rows, mean, keys)
    for i in range(keys.shape[0]):
        keys[i] = -np.sqrt(keys[i])
    select(keys, rows, n_kept)
    others = -keys[:n_kept].max()
    select(keys, rows, 1)
    return Outskirts(mean, rows, -keys, others)


@njit(cache=True)
def farthest_from_mean(x: Floats, outskirts: Outskirts, others: float, labels: Ints, mean: Floats, error: float) -> int:
    """The row farthest from the mean of the remaining rows, summed in row order; `mean` may be off by `error`.

    -1 if a row outside of the outskirts could be farther, when none of those was farther than `others`.
    """
    rounding = 1e-12 + x.shape[1] * 2.0**-52
    moved = np.sqrt(exact_distance(mean, outskirts.mean))
    rows, distances = np.empty(outskirts.rows.shape[0], np.int64), np.empty(outskirts.rows.shape[0])
    n, limit = 0, -1.0
    for i in range(outskirts.rows.shape[0]):
        row = outskirts.rows[i]
        if labels[row] < 0 and (outskirts.distances[i] + moved) * (1.0 + rounding) >= limit:
            rows[n], distances[n] = row, np.sqrt(exact_distance(x[row], mean))
            limit = max(limit, distances[n] * (1.0 - rounding) - 2.0 * error)
            n += 1
    if (others + moved) * (1.0 + rounding) >= limit:
        return -1
    n_close = 0
    for i in range(n):
        rows[n_close] = rows[i]
        n_close += int(distances[i] >= limit)
    best = farthest_of(x, rows[:n_close], mean)
    for row in rows[:n_close]:
        if exact_distance(x[row], x[best]) > 0.0:
            return int(farthest_of(x, rows[:n_close], _mean_in_order(x, labels)))
    return int(best)


@njit(cache=True)
def _mean_in_order(x: Floats, labels: Ints) -> Floats:
    """The mean of the remaining rows, summed as in the definition."""
    total, n = np.zeros(x.shape[1]), 0
    for i in range(x.shape[0]):
        if labels[i] < 0:
            n += 1
            for c in range(x.shape[1]):
                total[c] += x[i, c]
    return total / n
