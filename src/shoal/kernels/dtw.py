"""The rows nearest to each target row by dynamic time warping; all of them if several are equally near.

    D(0, 0) = (a[0] - b[0])^2,   D(i, j) = (a[i] - b[j])^2 + min(D(i-1, j), D(i, j-1), D(i-1, j-1)),   |i - j| <= band

The distance of two rows of length n is D(n - 1, n - 1); all rows have the same length and no gaps. A comparison stops
as soon as every path so far costs more than the second smallest distance; a row is skipped if its distance to the
other's envelope (Keogh's bound) already does. Neither changes the result.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.nearest_rows import append, in_chunks

CHUNK = 16  # targets one thread takes at a time


@njit(cache=True, nogil=True)
def warped(a: Floats, b: Floats, band: int, limit: float, before: Floats, now: Floats) -> float:
    """The distance, or infinity if it certainly exceeds the limit; `before` and `now` are work space."""
    n = a.shape[0]
    before[:] = np.inf
    for i in range(n):
        now[:] = np.inf
        least = np.inf
        for j in range(max(0, i - band), min(n, i + band + 1)):
            way = 0.0 if i == 0 and j == 0 else before[j]
            if j > 0:
                way = min(way, now[j - 1], before[j - 1])
            difference = a[i] - b[j]
            now[j] = difference * difference + way
            least = min(least, now[j])
        if least > limit:
            return np.inf
        before, now = now, before
    return float(before[n - 1])


@njit(cache=True, nogil=True)
def _envelope(a: Floats, band: int, low: Floats, high: Floats) -> None:
    n = a.shape[0]
    for i in range(n):
        low[i] = np.inf
        high[i] = -np.inf
        for j in range(max(0, i - band), min(n, i + band + 1)):
            low[i] = min(low[i], a[j])
            high[i] = max(high[i], a[j])


@njit(cache=True, nogil=True)
def _outside(b: Floats, low: Floats, high: Floats) -> float:
    total = 0.0
    for i in range(b.shape[0]):
        if b[i] > high[i]:
            total += (b[i] - high[i]) ** 2
        elif b[i] < low[i]:
            total += (b[i] - low[i]) ** 2
    return total


@njit(cache=True, nogil=True)
def _nearest(x: Floats, y: Floats, band: int, start: int, stop: int) -> tuple[Floats, Ints, Ints]:
    m, width = y.shape
    distances = np.empty((stop - start, 2))
    counts = np.empty(stop - start, dtype=np.int64)
    flat = np.empty(4 * (stop - start), dtype=np.int64)
    used = 0
    near = np.empty(m, dtype=np.int64)
    before, now, low, high = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    bounds = np.empty(m)
    for i in range(start, stop):
        _envelope(x[i], band, low, high)
        for j in range(m):
            bounds[j] = _outside(y[j], low, high)
        best, second = np.inf, np.inf
        n_near = 0
        # Promising rows first, so that the others are abandoned early; ties are put in order afterwards.
        for j in np.argsort(bounds, kind="mergesort"):
            # The bound is summed in another order than the distance: leave room for rounding.
            if bounds[j] * (1.0 - 1e-9) > second:
                break
            total = warped(x[i], y[j], band, second, before, now)
            if total < best:
                second = best
                best = total
                n_near = 0
            if total == best:
                near[n_near] = j
                n_near += 1
            elif total < second:
                second = total
        near[:n_near].sort()
        distances[i - start, 0] = best
        distances[i - start, 1] = second
        counts[i - start] = n_near
        flat = append(flat, used, near, n_near)
        used += n_near
    return distances, counts, flat[:used]


def nearest_by_warping(x: Floats, y: Floats, band: int) -> tuple[Floats, Ints, Ints]:
    """For each row of x: its nearest and next distance (rows, 2), where its nearest rows begin in a list, and the
    list."""
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    return in_chunks(len(x), _nearest, x, y, band, chunk=CHUNK)
