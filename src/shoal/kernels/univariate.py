"""The best partition of one column into groups of at least k values, for squared or absolute loss.

    loss(G) = sum over v in G of (v - mean(G))^2      or      sum over v in G of |v - median(G)|
    lowest(j) = min over sizes s = k, ..., 2k - 1 of  lowest(j - s) + loss(v[j - s:j]),   v sorted, lowest(0) = 0

Some best partition consists of runs of the sorted values (a swap across a gap never pays), none of which has 2k values
or more (cutting it in two never costs), so this finds the optimum, in O(n k): Hansen and Mukherjee (2003) for the
squared loss. The loss of a run grows by one value at its lower end:

    squared     with u = v - v[j-1]:  sum of u^2 - (sum of u)^2 / s;  u is never larger than the run is wide, so neither
                a common offset nor distant values cost digits
    absolute    + median of the run so far (the lower middle value) - the new value

Equal values keep row order. Of partitions with equal loss the one with the smaller last group is taken, then the one
with the smaller last but one, and so on. Groups are numbered from the smallest values.
"""

from typing import Literal

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints


def optimal_groups(values: Floats, k: int, loss: Literal["squared", "absolute"]) -> Ints:
    """Group label of each value; there are at least k of them and no gaps."""
    order = np.argsort(values, kind="stable")
    last_sizes = _last_sizes(values[order], k, loss == "absolute")
    sizes = []
    end = values.shape[0]
    while end > 0:
        sizes.append(last_sizes[end])
        end -= last_sizes[end]
    labels = np.empty(values.shape[0], dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(sizes)), sizes[::-1])
    return labels


@njit(cache=True)
def _last_sizes(v: Floats, k: int, absolute: bool) -> Ints:
    """Size of the last group in the best partition of the first j sorted values, for each j that has a partition."""
    n = v.shape[0]
    lowest = np.full(n + 1, np.inf)
    lowest[0] = 0.0
    last_sizes = np.zeros(n + 1, dtype=np.int64)
    for j in range(k, n + 1):
        loss = 0.0
        total = 0.0
        squares = 0.0
        for size in range(1, min(2 * k - 1, j) + 1):
            i = j - size
            if absolute:
                loss += v[i + size // 2] - v[i]  # of the size - 1 values after i, the lower middle one
            else:
                u = v[i] - v[j - 1]
                total += u
                squares += u * u
                loss = max(0.0, squares - total * total / size)
            # An infinite loss, from values near the end of the range, is still a partition.
            if size >= k and (i == 0 or last_sizes[i] > 0):
                candidate = lowest[i] + loss
                if candidate < lowest[j] or last_sizes[j] == 0:
                    lowest[j], last_sizes[j] = candidate, size
    return last_sizes
