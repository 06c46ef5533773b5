"""MDAV-generic by index: the groups of `mdav_groups`, bit for bit, without measuring most distances.

For complete rows, one per subject. Three things are exact although they are cheap:

- the nearest and the farthest row come from `leaves`, which measures every row its bounds cannot rule out; - the mean
of what is left is a running sum, off by a known error; where that could decide which row is farthest, the mean is
  summed again in row order, as the definition does it;
- when two fifths of an index are gone it is built anew around the rest, and the last rows go through `mdav_groups`
itself.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.leaves import (
    Frame,
    Leaves,
    build_leaves,
    drop_row,
    farthest,
    nearest,
    place_of_point,
    place_of_row,
)
from shoal.kernels.mdav import mdav_groups

SMALL = 2000  # rows for which an index does not pay
_ROUNDING = 2.0**-52


def fast_mdav_groups(x: NDArray[np.float64], k: int, done: NDArray[np.int64]) -> NDArray[np.int64]:
    """Group label of each row, groups numbered in the order they are formed."""
    labels = np.full(len(x), -1)
    n_groups = 0
    left = np.arange(len(x))
    while len(left) > max(SMALL, 6 * k):
        leaves, frame = build_leaves(x, left)
        stop = max(SMALL, 6 * k, 3 * len(left) // 5)
        sums, sizes = x[left].sum(axis=0), np.abs(x[left]).sum(axis=0)
        n_groups = _take_pairs(x, leaves, frame, k, labels, n_groups, len(left), stop, sums, sizes, done)
        left = np.flatnonzero(labels < 0)
    rest = np.ascontiguousarray(x[left])
    labels[left] = n_groups + mdav_groups(rest, np.arange(len(left)), k, np.zeros(1, dtype=np.int64))
    done[0] = len(x)
    return labels


@njit(cache=True, nogil=True)
def _take_pairs(
    x: NDArray[np.float64],
    leaves: Leaves,
    frame: Frame,
    k: int,
    labels: NDArray[np.int64],
    label: int,
    n_left: int,
    stop: int,
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    done: NDArray[np.int64],
) -> int:
    """Form pairs of groups until at most `stop` rows are left; return the next label."""
    group = np.empty(k - 1, dtype=np.int64)
    n_start = n_left
    while n_left > stop:
        mean = sums / n_left
        # How far this mean may lie from one summed in row order: both sums round once per row and column.
        error = 0.0
        for c in range(sizes.shape[0]):
            error += (2.0 * n_start * _ROUNDING * sizes[c] / n_left) ** 2
        error = np.sqrt(error)
        centre, best, second = farthest(x, leaves, mean, place_of_point(frame, mean), frame.error + 2.0 * error)
        if second >= 0.0 and np.sqrt(second) + 2.0 * error >= np.sqrt(best) * (1.0 - 1e-12):
            mean = _mean_in_row_order(x, labels, n_left)
            centre, best, second = farthest(x, leaves, mean, place_of_point(frame, mean), frame.error)
        for _ in range(2):
            at = place_of_row(leaves, centre)
            nearest(x, leaves, centre, at, frame.error, group)
            labels[centre] = label
            drop_row(leaves, centre)
            sums -= x[centre]
            for i in range(k - 1):
                row = int(group[i])
                labels[row] = label
                drop_row(leaves, row)
                sums -= x[row]
            label += 1
            n_left -= k
            # The second group grows around the row farthest from the first centre.
            centre = farthest(x, leaves, x[centre], at, frame.error)[0]
        done[0] += 2 * k
    return label


@njit(cache=True)
def _mean_in_row_order(x: NDArray[np.float64], labels: NDArray[np.int64], n_left: int) -> NDArray[np.float64]:
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        if labels[i] < 0:
            total += x[i]
    return total / n_left
