"""The rows nearest to each target row; all of them if several are equally near.

    d(i, j) = mean of (x[i, c] - y[j, c])^2 over the columns c that both have;  infinite if there is none

The distance of the next row that is farther away is returned as well, infinite if there is none. Sums run in the same
order for every j, so equal rows are equally near to the last bit. Ties are in row order. A row with few columns may be
nearest by chance; so there is a second way, `fullest`: rows that have fewer columns in common with the target than
others are infinitely far.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import get_num_threads, njit

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.nearest_groups import distance

BLOCK = 32  # columns between two checks whether a row is already too far
CHUNK = 64  # targets one thread takes at a time


@njit(cache=True, nogil=True)
def append(flat: Ints, used: int, found: Ints, n_found: int) -> Ints:
    """Append the found rows to the list, in a larger array if it is full."""
    if used + n_found > flat.shape[0]:
        larger = np.empty(max(2 * flat.shape[0], used + n_found), dtype=np.int64)
        larger[:used] = flat[:used]
        flat = larger
    flat[used : used + n_found] = found[:n_found]
    return flat


@njit(cache=True, nogil=True)
def nearest_of(least: Floats, tolerance: float, near: Ints) -> tuple[float, float, int]:
    """The smallest distance, the smallest beyond a tolerance of it, and how many rows within it are put into `near`."""
    best = least.min()
    second = np.inf
    n_near = 0
    for j in range(least.shape[0]):
        if least[j] <= best + tolerance:
            near[n_near] = j
            n_near += 1
        else:
            second = min(second, least[j])
    return best, second, n_near


@njit(cache=True, nogil=True)
def _mean_square(a: Floats, b: Floats) -> tuple[float, int]:
    total = 0.0
    n_both = 0
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        if not np.isnan(difference):
            total += difference * difference
            n_both += 1
    return total / n_both if n_both > 0 else np.inf, n_both


@njit(cache=True, nogil=True)
def _nearest(
    x: Floats, y: Floats, of_x: Ints, of_y: Ints, gaps: bool, fullest: bool, start: int, stop: int
) -> tuple[Floats, Ints, Ints]:
    m, width = y.shape
    distances = np.empty((stop - start, 2))
    counts = np.empty(stop - start, dtype=np.int64)
    flat = np.empty(4 * (stop - start), dtype=np.int64)
    used = 0
    near = np.empty(m, dtype=np.int64)
    for i in range(start, stop):
        best = np.inf
        second = np.inf
        n_near, most = 0, 0
        for j in range(m):
            if of_x[i] == of_y[j]:
                continue
            if gaps:
                total, n_both = _mean_square(x[i], y[j])
                if fullest and n_both > most:
                    best, second, n_near, most = np.inf, np.inf, 0, n_both
                elif fullest and n_both < most:
                    continue
            else:
                total = 0.0
                first = 0
                while first < width and total <= second:
                    last = min(first + BLOCK, width)
                    total += distance(x[i, first:last], y[j, first:last])
                    first = last
            if total < best:
                second = best
                best = total
                n_near = 0
            if total == best:
                near[n_near] = j
                n_near += 1
            elif total < second:
                second = total
        distances[i - start, 0] = best if gaps else best / width
        distances[i - start, 1] = second if gaps else second / width
        counts[i - start] = n_near
        flat = append(flat, used, near, n_near)
        used += n_near
    return distances, counts, flat[:used]


def nearest_rows(
    x: Floats,
    y: Floats,
    of_x: Ints | None = None,
    of_y: Ints | None = None,
    gaps: bool | None = None,
    fullest: bool = False,
) -> tuple[Floats, Ints, Ints]:
    """For each row of x: its nearest and next distance (rows, 2), where its nearest rows begin in a list, and the list.

    Rows of y whose number in `of_y` is that of the row of x in `of_x` are skipped. If y is only one block of several,
    `gaps` says whether any row of all blocks has gaps: sums are then rounded in another order, the same for all.
    """
    if gaps is None:
        gaps = bool(np.isnan(x).any() or np.isnan(y).any())
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    of_x = np.full(len(x), -1, dtype=np.int64) if of_x is None else of_x
    of_y = np.zeros(len(y), dtype=np.int64) if of_y is None else of_y
    return in_chunks(len(x), _nearest, x, y, of_x, of_y, gaps, fullest)


def in_chunks(n: int, search: Callable[..., Any], *given: Any, chunk: int = CHUNK) -> tuple[Floats, Ints, Ints]:
    """Results of a compiled search for n targets, which takes `given` and where a chunk of targets starts and stops.

    Threads run a compiled loop: a parallel one would cost the first user three seconds.
    """
    with ThreadPoolExecutor(get_num_threads()) as pool:
        parts = [pool.submit(search, *given, first, min(first + chunk, n)) for first in range(0, n, chunk)]
    distances, counts, rows = (np.concatenate(part) for part in zip(*(part.result() for part in parts), strict=True))
    return distances, np.concatenate([[0], np.cumsum(counts)]), rows
