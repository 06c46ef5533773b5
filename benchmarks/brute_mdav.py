"""A plain brute-force MDAV in numba, as fast as a plain one gets: the baseline of mdav_index.py.

It measures every distance and keeps no index: for two groups three passes over the rows left, which lie together in
memory; the mean comes from running sums, the farthest row from the same pass as the distances. Sums may be reordered
(fastmath) and rows may be float32, so that groups can differ from the definition where distances tie up to rounding;
`mdav_index.py` prints the share of rows in identical groups. With more than one thread a pass is cut into one piece
per thread. For rows without gaps, each its own subject.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import njit, prange
from numpy.typing import NDArray


@njit(fastmath=True)
def _measure(y, rows, first, last, point, distances):  # type: ignore[no-untyped-def]
    """Distances of some rows to a point; the position of the largest, ties to the lowest row."""
    best = first
    for i in range(first, last):
        total = y[i, 0] - y[i, 0]  # zero of the right type
        for c in range(point.shape[0]):
            difference = y[i, c] - point[c]
            total += difference * difference
        distances[i] = total
        if total >= distances[best] and (total > distances[best] or rows[i] < rows[best]):
            best = i
    return best


@njit
def _measure_alone(y, rows, n, point, distances, n_threads):  # type: ignore[no-untyped-def]
    return _measure(y, rows, 0, n, point, distances)


@njit(parallel=True)
def _measure_together(y, rows, n, point, distances, n_threads):  # type: ignore[no-untyped-def]
    best = np.empty(n_threads, np.int64)
    for t in prange(n_threads):
        best[t] = _measure(y, rows, n * t // n_threads, n * (t + 1) // n_threads, point, distances)
    top = best[0]
    for i in best[1:]:
        if distances[i] > distances[top] or (distances[i] == distances[top] and rows[i] < rows[top]):
            top = i
    return top


@njit
def _farthest(rows, n, distances):  # type: ignore[no-untyped-def]
    best = 0
    for i in range(1, n):
        if distances[i] >= distances[best] and (distances[i] > distances[best] or rows[i] < rows[best]):
            best = i
    return best


@njit
def _nearest(rows, n, distances, centre, k):  # type: ignore[no-untyped-def]
    """Positions of the centre and its k - 1 nearest, by (distance, row)."""
    chosen = np.empty(k, np.int64)
    chosen[0] = centre
    found = 1
    limit = np.inf
    for i in range(n):
        if distances[i] > limit or i == centre:
            continue
        if found == k and distances[i] == limit and rows[i] > rows[chosen[k - 1]]:
            continue
        p = min(found, k - 1)
        found = p + 1
        while p > 1:
            before = chosen[p - 1]
            if distances[i] > distances[before] or (distances[i] == distances[before] and rows[i] > rows[before]):
                break
            chosen[p] = before
            p -= 1
        chosen[p] = i
        if found == k:
            limit = distances[chosen[k - 1]]
    return chosen


@njit
def _remove(y, rows, n, distances, chosen, sums):  # type: ignore[no-untyped-def]
    """Fill the places of the chosen rows with the last ones; return how many rows are left."""
    for p in np.sort(chosen)[::-1]:
        n -= 1
        for c in range(sums.shape[0]):
            sums[c] -= y[p, c]
            y[p, c] = y[n, c]
        rows[p], distances[p] = rows[n], distances[n]
    return n


def _mdav_with(measure: Callable[..., Any]) -> Callable[..., Any]:
    @njit
    def groups(y, k, n_threads):  # type: ignore[no-untyped-def]
        n = y.shape[0]
        labels, rows = np.empty(n, np.int64), np.arange(n)
        distances, point = np.empty(n, y.dtype), np.empty(y.shape[1], y.dtype)
        sums = np.zeros(y.shape[1])
        for i in range(n):
            for c in range(y.shape[1]):
                sums[c] += y[i, c]
        label = 0
        while n >= 2 * k:
            two = n >= 3 * k
            for c in range(point.shape[0]):
                point[c] = sums[c] / n
            centre = measure(y, rows, n, point, distances, n_threads)
            for turn in range(2 if two else 1):
                if turn == 1:
                    centre = _farthest(rows, n, distances)
                point[:] = y[centre]
                measure(y, rows, n, point, distances, n_threads)
                chosen = _nearest(rows, n, distances, centre, k)
                for p in chosen:
                    labels[rows[p]] = label
                label += 1
                n = _remove(y, rows, n, distances, chosen, sums)
        for i in range(n):
            labels[rows[i]] = label
        return labels

    return groups


_alone, _together = _mdav_with(_measure_alone), _mdav_with(_measure_together)


def brute_mdav(
    x: NDArray[np.float64], k: int, threads: int = 1, dtype: type[np.floating[Any]] = np.float64
) -> NDArray[np.int64]:
    """Group label of each row."""
    y = np.array(x, dtype=dtype)
    if threads == 1:
        return np.asarray(_alone(y, k, 1))
    before = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        return np.asarray(_together(y, k, threads))
    finally:
        numba.set_num_threads(before)
