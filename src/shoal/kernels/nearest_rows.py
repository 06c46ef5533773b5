"""The rows nearest to each of some others, all of them where several are equally near.

    d(i, j) = mean of (x[i, c] - y[j, c])^2 over the columns c that both have;  infinite if there is none

Next to it the distance of the next row that is further away, infinite if there is none. Sums run in the same order
for every j, so equal rows are equally near to the last bit. Ties come by row position.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import get_num_threads, njit
from numpy.typing import NDArray

from shoal.kernels.nearest_groups import distance

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

BLOCK = 32  # columns between two looks at whether a row is already too far
CHUNK = 64  # targets one thread takes at a time


@njit(cache=True, nogil=True)
def append(flat: Rows, used: int, found: Rows, n_found: int) -> Rows:
    """The list with the found rows at its end, moved to a larger one where it is full."""
    if used + n_found > flat.shape[0]:
        larger = np.empty(max(2 * flat.shape[0], used + n_found), dtype=np.int64)
        larger[:used] = flat[:used]
        flat = larger
    flat[used : used + n_found] = found[:n_found]
    return flat


@njit(cache=True, nogil=True)
def _mean_square(a: Floats, b: Floats) -> float:
    total = 0.0
    n_both = 0
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        if not np.isnan(difference):
            total += difference * difference
            n_both += 1
    return total / n_both if n_both > 0 else np.inf


@njit(cache=True, nogil=True)
def _nearest(
    x: Floats, y: Floats, of_x: Rows, of_y: Rows, gaps: bool, start: int, stop: int
) -> tuple[Floats, Rows, Rows]:
    m, width = y.shape
    distances = np.empty((stop - start, 2))
    counts = np.empty(stop - start, dtype=np.int64)
    flat = np.empty(4 * (stop - start), dtype=np.int64)
    used = 0
    near = np.empty(m, dtype=np.int64)
    for i in range(start, stop):
        best = np.inf
        second = np.inf
        n_near = 0
        for j in range(m):
            if of_x[i] == of_y[j]:
                continue
            if gaps:
                total = _mean_square(x[i], y[j])
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
    x: Floats, y: Floats, of_x: Rows | None = None, of_y: Rows | None = None, gaps: bool | None = None
) -> tuple[Floats, Rows, Rows]:
    """For each row of x the two distances (rows, 2); where its nearest rows begin in the list; and this list.

    Rows of y with the same number as the row of x, in `of_y` and `of_x`, are passed over. Where y is only a block of
    more, `gaps` says whether any of all rows has some: sums are then rounded in another order, the same for all.
    """
    if gaps is None:
        gaps = bool(np.isnan(x).any() or np.isnan(y).any())
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    of_x = np.full(len(x), -1, dtype=np.int64) if of_x is None else of_x
    of_y = np.zeros(len(y), dtype=np.int64) if of_y is None else of_y
    # Threads over a compiled loop: a parallel one would take three more seconds to compile.
    with ThreadPoolExecutor(get_num_threads()) as pool:
        parts = [
            pool.submit(_nearest, x, y, of_x, of_y, gaps, first, min(first + CHUNK, len(x)))
            for first in range(0, len(x), CHUNK)
        ]
    return join([part.result() for part in parts])


def join(parts: list[tuple[Floats, Rows, Rows]]) -> tuple[Floats, Rows, Rows]:
    """Results of several chunks as one."""
    distances = np.concatenate([part[0] for part in parts])
    start = np.concatenate([[0], np.cumsum(np.concatenate([part[1] for part in parts]))])
    return distances, start, np.concatenate([part[2] for part in parts])
