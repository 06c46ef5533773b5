"""MDAV-generic: groups of k similar rows, built from the outside in.

    D <- all rows
    repeat
        d1 <- the row of D farthest from the mean of D;   A <- d1 and its k - 1 nearest in D
        if fewer than k subjects remain without A:         D is the last group; stop
        d2 <- the row of D \\ A farthest from d1;          B <- d2 and its k - 1 nearest in D \\ A
        if fewer than k subjects remain without A and B:   publish A, D <- D \\ A
        else:                                              publish A and B, D <- D \\ A \\ B

With one row per subject this is Algorithm 1 of "Data-driven anonymization process applied to time series": two groups
while |D| >= 3k, then one while |D| >= 2k, then the rest. A subject with many rows enters a group at most once, with
its nearest row, except in the last group, which takes all that is left.

Distance, squared, with gaps: the sum over the columns where both are observed, scaled by columns / observed columns;
infinite if nothing is observed in common. Ties break by row position. Sums run from left to right and means over rows
in row order, so that the result equals the naive one bit for bit: no fastmath. One thread: a step is too short to
share, and on a busy machine, threads that wait for each other at every step made it thirty times slower.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints


@njit(cache=True)
def squared_distance(a: Floats, b: Floats) -> np.float64:
    """Squared Euclidean distance over what both have observed, scaled to all columns."""
    total = np.float64(0.0)
    observed = 0
    for c in range(a.shape[0]):
        difference = a[c] - b[c]
        if difference == difference:  # not NaN
            total += difference * difference
            observed += 1
    if observed == a.shape[0]:
        return total
    if observed == 0:
        return np.float64(np.inf)
    scaled: np.float64 = total * (a.shape[0] / observed)
    return scaled


@njit(cache=True)
def _distances(x: Floats, rows: Ints, point: Floats) -> Floats:
    result = np.empty(rows.shape[0])
    for i in range(rows.shape[0]):
        result[i] = squared_distance(x[rows[i]], point)
    return result


@njit(cache=True)
def _mean(x: Floats, rows: Ints) -> Floats:
    total = np.zeros(x.shape[1])
    observed = np.zeros(x.shape[1], dtype=np.int64)
    for i in range(rows.shape[0]):
        row = rows[i]
        for c in range(x.shape[1]):
            value = x[row, c]
            here = value == value  # not NaN; no branch, so that columns go through vector instructions
            total[c] += value if here else 0.0
            observed[c] += here
    for c in range(x.shape[1]):
        total[c] = total[c] / observed[c] if observed[c] > 0 else np.nan
    return total


@njit(cache=True)
def _farthest(distances: Floats) -> int:
    best = 0
    for i in range(1, distances.shape[0]):
        if distances[i] > distances[best]:
            best = i
    return best


@njit(cache=True)
def _nearest(distances: Floats, rows: Ints, subjects: Ints, centre: int, k: int) -> Ints:
    """Positions in `rows` of the centre and of the k - 1 nearest rows of as many other subjects."""
    chosen = np.empty(k, dtype=np.int64)
    chosen[0] = centre
    n_chosen = 1  # chosen[1:n_chosen] is sorted by distance; an equal distance keeps the earlier row in front
    for i in range(rows.shape[0]):
        if n_chosen == k and (k == 1 or distances[i] >= distances[chosen[k - 1]]):
            continue
        subject = subjects[rows[i]]
        if subject == subjects[rows[centre]]:
            continue
        slot = n_chosen if n_chosen < k else k - 1
        known = False
        for p in range(1, n_chosen):
            if subjects[rows[chosen[p]]] == subject:
                known = True
                slot = p
                break
        if known and distances[i] >= distances[chosen[slot]]:
            continue
        if not known and n_chosen < k:
            n_chosen += 1
        while slot > 1 and distances[i] < distances[chosen[slot - 1]]:
            chosen[slot] = chosen[slot - 1]
            slot -= 1
        chosen[slot] = i
    return chosen


@njit(cache=True)
def _without(array: NDArray[Any], taken: Ints) -> NDArray[Any]:
    """The entries at all other places."""
    keep = np.ones(array.shape[0], dtype=np.bool_)
    for p in taken:
        keep[p] = False
    return array[keep]


@njit(cache=True)
def _take_out(rows: Ints, taken: Ints, subjects: Ints, left: Ints) -> int:
    """Lower the row count of each subject taken; return how many subjects have no row left afterwards."""
    gone = 0
    for p in taken:
        subject = subjects[rows[p]]
        left[subject] -= 1
        if left[subject] == 0:
            gone += 1
    return gone


@njit(cache=True, nogil=True)
def mdav_groups(x: Floats, subjects: Ints, k: int, done: Ints) -> Ints:
    """Group label of each row, groups numbered in the order they are formed.

    `subjects` holds numbers from 0 without holes, at least k of them. `done[0]` counts assigned rows, for a progress
    bar.
    """
    n = x.shape[0]
    labels = np.empty(n, dtype=np.int64)
    left = np.zeros(subjects.max() + 1, dtype=np.int64)
    for i in range(n):
        left[subjects[i]] += 1
    n_left = left.shape[0]
    rows = np.arange(n)
    label = 0
    while True:
        centre = _farthest(_distances(x, rows, _mean(x, rows)))
        from_centre = _distances(x, rows, x[rows[centre]])
        a = _nearest(from_centre, rows, subjects, centre, k)
        n_left -= _take_out(rows, a, subjects, left)
        if n_left < k:
            labels[rows] = label
            done[0] = n
            return labels
        labels[rows[a]] = label
        label += 1
        rest = _without(rows, a)
        opposite = _farthest(_without(from_centre, a))
        b = _nearest(_distances(x, rest, x[rest[opposite]]), rest, subjects, opposite, k)
        gone = _take_out(rest, b, subjects, left)
        if n_left - gone < k:
            for p in b:  # put B back: it would leave too few subjects behind
                left[subjects[rest[p]]] += 1
            rows = rest
        else:
            n_left -= gone
            labels[rest[b]] = label
            label += 1
            rows = _without(rest, b)
        done[0] = n - rows.shape[0]
