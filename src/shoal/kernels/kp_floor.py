"""How wide every group around a box must be, whoever forms it.

Boxes have a low and a high end at each instant and a size in rows. For a box S and another one e

    width(S, e) = Σ_t (max of both highs - min of both lows)²

A group that holds S and k rows in all, made of whole boxes, is at least as wide as S with each of its members. So it is
at least as wide as the least w for which the boxes with width(S, e) <= w have k rows between them, S among them.

`nearest` keeps, for each S, the boxes up to that width, in order; lists of different parts of the boxes are merged by
`floors`. Once a sum is above the width that was found last it cannot matter any more, and is left.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True, nogil=True)
def nearest(
    targets: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    sizes: NDArray[np.int64],
    k: int,
    widths: NDArray[np.float64],
    rows: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    """Add boxes to the lists of targets (targets, 2, instants): widths and rows are (targets, k), counts (targets)."""
    n_instants = low.shape[1]
    for s in range(len(targets)):
        n = counts[s]
        total = 0
        for j in range(n):
            total += rows[s, j]
        limit = widths[s, n - 1] if total >= k else np.inf
        for e in range(len(sizes)):
            w = 0.0
            for t in range(n_instants):
                d = max(targets[s, 1, t], high[e, t]) - min(targets[s, 0, t], low[e, t])
                w += d * d
                if w >= limit:
                    break
            if w >= limit:
                continue
            # Room for it: what lies beyond k rows goes first, so that the list never needs more than k places.
            at = n
            while at > 0 and widths[s, at - 1] > w:
                at -= 1
            total += sizes[e]
            while n > at and total - rows[s, n - 1] >= k:
                n -= 1
                total -= rows[s, n]
            for j in range(n, at, -1):
                widths[s, j], rows[s, j] = widths[s, j - 1], rows[s, j - 1]
            widths[s, at], rows[s, at] = w, sizes[e]
            n += 1
            limit = widths[s, n - 1] if total >= k else np.inf
        counts[s] = n


def floors(
    target: NDArray[np.int64], widths: NDArray[np.float64], rows: NDArray[np.int64], k: int, n_targets: int
) -> NDArray[np.float64]:
    """The least width of each target, from all entries of all lists; there are k rows for each."""
    order = np.lexsort((widths, target))
    target, widths = target[order], widths[order]
    so_far = np.cumsum(rows[order])
    starts = np.searchsorted(target, np.arange(n_targets))
    before = np.concatenate([[0], so_far])[starts]
    # Sums only grow, so that the first entry with k rows behind it is found by halving.
    return widths[np.searchsorted(so_far, before + k)]
