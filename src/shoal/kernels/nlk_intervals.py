"""The best groups of every instant: runs of the sorted values, for four losses.

    loss(G) = sum over v in G of |v - r(G)|  (absolute)      or      sum over v in G of (v - r(G))^2  (squared)
    r(G)    = the mean of G, or its median (half the sum of the two middle values where their number is even)
    lowest(j) = min over sizes s = k, ..., 2k - 1 of  lowest(j - s) + loss(v[j - s:j]),   v sorted, lowest(0) = 0

Each instant is a problem of its own, O(N k) after sorting. For squared loss with the mean and for absolute loss with
the median no other groups of at least k have a lower loss (see `univariate`). For the other two this is the best
among runs of k to 2k - 1 of the sorted values; a larger group can be better there: of -10, 0, 0, 0, 0, 0, 0, 10 with
k = 4 the absolute loss about the mean is 20 for all eight and 30 for any two runs of four.

The loss of a run is updated value by value from its lowest one, in differences u to that one, so that neither a common
offset nor distant values cost digits. With `below` the values below the mean, and c the median:

    absolute, mean      2 (|below| mean - sum of u over below), as much above the mean as below it
    absolute, median    what the next value adds is its distance to the lower median of the run with it
    squared, mean       sum of u^2 - (sum of u)^2 / s
    squared, median     sum of u^2 - 2 c sum of u + s c^2

Equal values keep row order. Of partitions with equal loss the one with the smaller last group is taken, then the one
with the smaller last but one, and so on. Groups are numbered from the smallest values.
"""

from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats

Labels = NDArray[np.int32]
Loss = Literal["absolute", "squared"]
Representative = Literal["mean", "median"]

TOTAL, SQUARES, N_BELOW, SUM_BELOW = 0, 1, 2, 3  # the sums of a run, in differences to its lowest value


def sorted_instants(x: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """Values of each instant in order (instants, series), and the rows they belong to."""
    columns = np.ascontiguousarray(x.T)
    rows = np.argsort(columns, axis=1, kind="stable")
    return np.take_along_axis(columns, rows, axis=1), rows.astype(np.int32)


@njit(cache=True)
def run_losses(v: Floats, i: int, k: int, squared: bool, median: bool, losses: Floats, sums: Floats) -> None:
    """Losses of the runs of k, ..., 2k values from the i-th on, as far as there are enough values; and their `sums`."""
    total = squares = sum_below = loss = 0.0
    below = i  # the first value that is not below the mean; for the median, of the upper half
    for size in range(1, min(2 * k, v.shape[0] - i) + 1):
        last = i + size - 1
        u = v[last] - v[i]
        total += u
        squares += u * u
        mean = total / size
        if not squared and median:
            loss += v[last] - v[i + (size - 1) // 2]
            if size % 2 == 0:
                sum_below += v[below] - v[i]
                below += 1
        elif not squared:
            while below < last and v[below] - v[i] < mean:
                sum_below += v[below] - v[i]
                below += 1
        if size < k:
            continue
        if squared and median:
            c = 0.5 * ((v[i + (size - 1) // 2] - v[i]) + (v[i + size // 2] - v[i]))
            loss = squares - 2.0 * c * total + size * c * c
        elif squared:
            loss = squares - total * mean
        elif not median:
            loss = 2.0 * ((below - i) * mean - sum_below)
        losses[size - k] = max(0.0, loss)
        sums[size - k, TOTAL] = total
        sums[size - k, SQUARES] = squares
        sums[size - k, N_BELOW] = below - i
        sums[size - k, SUM_BELOW] = sum_below


@njit(cache=True, nogil=True)
def best_runs(v: Floats, rows: NDArray[np.int32], k: int, squared: bool, median: bool) -> tuple[Labels, Floats]:
    """Group labels (instants, series) and the loss of each instant."""
    n_instants, n = v.shape
    labels = np.empty((n_instants, n), dtype=np.int32)
    lowest = np.empty(n_instants)
    for t in range(n_instants):
        losses = np.empty((n, k + 1))
        sums = np.empty((k + 1, 4))
        for i in range(n):
            run_losses(v[t], i, k, squared, median, losses[i], sums)
        total = np.full(n + 1, np.inf)
        total[0] = 0.0
        last_size = np.zeros(n + 1, dtype=np.int64)
        for j in range(k, n + 1):
            for size in range(k, min(2 * k - 1, j) + 1):
                i = j - size
                if i == 0 or last_size[i] > 0:  # an infinite loss is still a partition
                    candidate = total[i] + losses[i, size - k]
                    if candidate < total[j] or last_size[j] == 0:
                        total[j], last_size[j] = candidate, size
        n_groups = 0
        j = n
        while j > 0:
            n_groups += 1
            j -= last_size[j]
        j = n
        while j > 0:
            n_groups -= 1
            for m in range(j - last_size[j], j):
                labels[t, rows[t, m]] = n_groups
            j -= last_size[j]
        lowest[t] = total[n]
    return labels, lowest


@njit(cache=True, nogil=True)
def _publish(columns: Floats, labels: Labels, median: bool) -> Floats:
    n_instants, n = columns.shape
    published = np.empty((n_instants, n))
    for t in range(n_instants):
        sizes = np.zeros(n + 1, dtype=np.int64)
        for i in range(n):
            sizes[labels[t, i] + 1] += 1
        ends = np.cumsum(sizes)[:-1]  # of the groups before; then moved to the end of each group
        members = np.empty(n, dtype=np.int64)
        for i in range(n):  # in row order
            members[ends[labels[t, i]]] = i
            ends[labels[t, i]] += 1
        start = 0
        while start < n:
            label = labels[t, members[start]]
            end = ends[label]
            value = columns[t, members[start]]
            if end - start == 1:
                pass  # its own bits, also those of -0.0
            elif median:
                for a in range(start + 1, end):
                    row = members[a]
                    b = a
                    while b > start and columns[t, members[b - 1]] > columns[t, row]:
                        members[b] = members[b - 1]
                        b -= 1
                    members[b] = row
                low = columns[t, members[start + (end - start - 1) // 2]]
                value = low + 0.5 * (columns[t, members[start + (end - start) // 2]] - low)
            else:
                total = 0.0
                for a in range(start + 1, end):
                    total += columns[t, members[a]] - value
                value += total / (end - start)
            for a in range(start, end):
                published[t, members[a]] = value
            start = end
    return published


def publish_labels(x: Floats, labels: Labels, representative: Representative) -> Floats:
    """Every value replaced by the mean or median of its group at that instant; labels count from 0 without holes.

    Members of a group get the same bits, and a series alone keeps its own. Means are summed in row order, in
    differences to the first member.
    """
    published: Floats = _publish(np.ascontiguousarray(x.T), np.ascontiguousarray(labels.T), representative == "median")
    return np.ascontiguousarray(published.T)


def loss_between(x: Floats, published: Floats, loss: Loss) -> float:
    """Sum of the distances, or of their squares: instant by instant, then over the instants."""
    distances = np.abs(x - published)
    if loss == "squared":
        distances *= distances
    return float(distances.sum(axis=0).sum())


def interval_groups(x: Floats, k: int, loss: Loss, representative: Representative) -> tuple[Labels, float]:
    """Group labels (series, instants) of the best runs of at least k values at every instant, and their loss.

    There are at least k series and no gaps.
    """
    v, rows = sorted_instants(x)
    labels: Labels = np.ascontiguousarray(best_runs(v, rows, k, loss == "squared", representative == "median")[0].T)
    return labels, loss_between(x, publish_labels(x, labels, representative), loss)
