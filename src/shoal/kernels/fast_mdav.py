"""MDAV-generic with an index: the groups of `mdav_groups`, bit for bit, without measuring most distances.

For complete rows, one per subject. The shortcuts are exact:

- the nearest and the farthest rows come from `search_index`, which measures every row that its bounds cannot rule out;
- the mean of the remaining rows is a running sum with a known error; if the error could decide which row is farthest,
  the mean is summed again in row order, as in the definition;
- the row farthest from the mean is taken from the `outskirts` as long as these must contain it;
- when three tenths of a large index are gone, or the remaining rows lie much closer together, it is rebuilt around the
  rest; the last rows go through `mdav_groups` itself, as do rows whose squares would leave the range of float64.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.leaves import (
    Frame,
    Leaves,
    Place,
    build_leaves,
    drop_row,
    empty_place,
    frame_of,
    place_of_point,
    place_of_row,
)
from shoal.kernels.mdav import mdav_groups
from shoal.kernels.outskirts import Outskirts, farthest_from_mean, n_outskirts, outskirts_of
from shoal.kernels.search_index import (
    Candidates,
    exact_distance,
    farthest_of,
    find_candidates,
    keep_far,
    keep_near,
    nearest_of,
    room_for,
)

SMALL = 600  # rows up to which an index does not pay, least of all if it has to be compiled first
_FEW = 60  # rows up to which an existing index does not pay
_LASTING = 4096  # rows up to which it is not rebuilt
_COARSE = 4.0  # when all rows are this much shorter than the longest once was, the steps of the index are too coarse
_PAYING = 8  # pairs of groups that take about as long as building an index
_ROUNDING = 2.0**-52
_RANGE = (1e-140, 1e140)  # lengths whose squares are safe


def fast_mdav_groups(x: Floats, k: int, done: Ints, threads: int = 1) -> Ints:
    """Group label of each row, groups numbered in the order they are formed.

    Only the building of an index uses `threads`: other steps are too short. The groups do not depend on their number.
    """
    labels = np.full(len(x), -1)
    n_groups = 0
    left = np.arange(len(x))
    while len(left) > max(SMALL, 6 * k):
        sums, sizes = _sums(x, left)
        frame = frame_of(x, left) if sizes.max() < _RANGE[1] else None
        if frame is None or not (frame.largest == 0.0 or _RANGE[0] < frame.largest < _RANGE[1]):
            break
        leaves = build_leaves(x, left, frame, threads)
        large = len(left) > _LASTING
        stop = max(min(SMALL, _FEW), 6 * k, 7 * len(left) // 10 if large else 0)
        coarse = frame.largest / _COARSE if large else 0.0
        room = room_for(leaves)
        n_groups = _take_pairs(
            x, leaves, frame, empty_place(frame), room, k, labels, n_groups, stop, coarse, sums, sizes, done
        )
        left = np.flatnonzero(labels < 0)
    rest = np.ascontiguousarray(x[left])
    labels[left] = n_groups + mdav_groups(rest, np.arange(len(left)), k, np.zeros(1, dtype=np.int64))
    done[0] = len(x)
    return labels


@njit(cache=True, nogil=True)
def _take_pairs(
    x: Floats,
    leaves: Leaves,
    frame: Frame,
    at: Place,
    room: Candidates,
    k: int,
    labels: Ints,
    label: int,
    stop: int,
    coarse: float,
    sums: Floats,
    sizes: Floats,
    done: Ints,
) -> int:
    """Form pairs of groups until `stop` rows are left or all are closer than `coarse`; return the next label."""
    group = np.empty(k - 1, dtype=np.int64)
    none, one, nobody = int(np.int64(0)), int(np.int64(1)), int(np.int64(-1))  # numba compiles again for constants
    n_start = n_left = room.near.shape[0]
    size = 0.0
    for c in range(sizes.shape[0]):
        size += sizes[c] * sizes[c]
    size = np.sqrt(size)
    outskirts = Outskirts(sums / n_left, np.empty(0, np.int64), np.empty(0), np.inf)
    n_pairs = 0
    while n_left > stop:
        mean = sums / n_left
        # How far this mean may lie from one summed in row order: both sums round once per row and column.
        error = 2.0 * n_start * _ROUNDING * size / n_left
        centre = farthest_from_mean(x, outskirts, outskirts.others, labels, mean, error)
        if centre < 0:
            place_of_point(frame, mean, at)
            wide, last_wide = frame.error + error * frame.scale, frame.last_error + error * frame.scale
            n_kept = n_outskirts(n_left)
            n_far = find_candidates(leaves, at, nobody, none, n_kept, wide, last_wide, room)[1]
            outskirts = outskirts_of(x, room.far[:n_far], mean, n_kept)
            centre = farthest_from_mean(x, outskirts, -np.inf, labels, mean, error)
        if n_pairs >= _PAYING and np.sqrt(exact_distance(x[centre], mean)) < coarse:
            break
        n_pairs += 1
        for turn in range(2):
            place_of_row(leaves, centre, at)
            n_near, n_far = find_candidates(leaves, at, centre, k - 1, 1 - turn, leaves.error, leaves.last_error, room)
            n_near = keep_near(x, room, n_near, centre, k - 1, frame.scale, leaves.last_error)
            nearest_of(x, room.near[:n_near], centre, group)
            _take(x, leaves, labels, label, centre, sums)
            for row in group:
                _take(x, leaves, labels, label, int(row), sums)
            label += 1
            n_left -= k
            if turn == 0:
                # The second group grows around the row farthest from the first centre.
                n_far = keep_far(x, room, n_far, centre, frame.scale, leaves.last_error)
                opposite = farthest_of(x, room.far[:n_far], x[centre])
                if labels[opposite] >= 0:  # only if all are equally far
                    n_far = find_candidates(leaves, at, centre, none, one, leaves.error, leaves.last_error, room)[1]
                    opposite = farthest_of(x, room.far[:n_far], x[centre])
                centre = opposite
        done[0] += 2 * k
    return label


@njit(cache=True)
def _take(x: Floats, leaves: Leaves, labels: Ints, label: int, row: int, sums: Floats) -> None:
    labels[row] = label
    drop_row(leaves, row)
    for c in range(sums.shape[0]):
        sums[c] -= x[row, c]


@njit(cache=True, nogil=True)
def _sums(x: Floats, rows: Ints) -> tuple[Floats, Floats]:
    """Sum of each column, and of its absolute values."""
    sums, sizes = np.zeros(x.shape[1]), np.zeros(x.shape[1])
    for row in rows:
        for c in range(x.shape[1]):
            sums[c] += x[row, c]
            sizes[c] += abs(x[row, c])
    return sums, sizes
