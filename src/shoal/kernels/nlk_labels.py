"""The classes of series that are published alike at each instant.

    label(i, t) = number of the class of series i at instant t: x[i, t, c] has the same bits for all channels c

Classes are numbered 0, 1, 2, ... at each instant, by the first series in them. Values come as bits (float64 viewed as
uint64): 0.0 and -0.0 differ, a missing value (one bit pattern inside Shoal) equals only a missing value.

`Groups` holds the same partition in the form that searches need, instant by instant: the members of a group are a run
of `order[t]`, and the group's number is the position where the run begins. Cutting a run in two is a small change.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from shoal.kernels.arrays import Bools, Ints


class Groups(NamedTuple):
    """A partition of the series at every instant; arrays are (instants, series) but for the last two."""

    start: NDArray[np.int32]  # of each series: where its group begins in order[t]
    order: NDArray[np.int32]  # series, group after group
    stop: NDArray[np.int32]  # at the start of a group: where it ends
    crowd: NDArray[np.int32]  # at the start of a group: its number of different subjects
    subject: Ints  # of each series, 0, 1, 2, ...
    most: int  # the largest number of series that one subject has


def instant_labels(bits: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Class number of each series at each instant, (series, instants), from bits (series, instants, channels)."""
    labels: NDArray[np.int32] = _instant_labels(bits)
    return labels


def make_groups(labels: NDArray[np.int32], subjects: Ints) -> Groups:
    """The partition of labels (series, instants); inside a group series stay in row order."""
    shape = labels.shape[1], labels.shape[0]
    start, order, stop, crowd = (np.zeros(shape, dtype=np.int32) for _ in range(4))
    # A copy, because numba compiles everything again for a read-only array.
    own = np.array(subjects, dtype=np.int64)
    groups = Groups(start, order, stop, crowd, own, int(np.bincount(own).max()))
    _fill(labels, groups)
    return groups


@njit(parallel=True, cache=True)
def _instant_labels(bits: NDArray[np.uint64]) -> NDArray[np.int32]:
    n, n_instants, n_channels = bits.shape
    labels = np.empty((n, n_instants), dtype=np.int32)
    room = 2
    while room < 2 * n:
        room *= 2
    for t in prange(n_instants):
        first = np.full(room, -1, dtype=np.int32)  # a hash table of the first series of each class
        n_classes = 0
        for i in range(n):
            state = np.uint64(0x9E3779B97F4A7C15)
            for c in range(n_channels):
                state = (state ^ bits[i, t, c]) * np.uint64(0xFF51AFD7ED558CCD)
                state ^= state >> np.uint64(32)
            slot = np.int64(state & np.uint64(room - 1))
            while True:
                j = first[slot]
                if j < 0:
                    first[slot] = i
                    labels[i, t] = n_classes
                    n_classes += 1
                    break
                same = True
                for c in range(n_channels):
                    same = same and bits[i, t, c] == bits[j, t, c]
                if same:
                    labels[i, t] = labels[j, t]
                    break
                slot = (slot + 1) & (room - 1)
    return labels


@njit(cache=True)
def _fill(labels: NDArray[np.int32], groups: Groups) -> None:
    n, n_instants = labels.shape
    seen = np.full(n, -1, dtype=np.int64)
    begins = np.empty(n + 1, dtype=np.int64)
    for t in range(n_instants):
        begins[:] = 0
        for i in range(n):
            begins[labels[i, t] + 1] += 1
        for g in range(n):
            begins[g + 1] += begins[g]
        for i in range(n):
            groups.start[t, i] = begins[labels[i, t]]
            groups.stop[t, begins[labels[i, t]]] += 1
        for i in range(n):
            s = groups.start[t, i]
            groups.order[t, s + groups.crowd[t, s]] = i
            groups.crowd[t, s] += 1
        begin = 0
        while begin < n:
            end = begin + groups.stop[t, begin]
            groups.stop[t, begin] = end
            if groups.most > 1:
                mark = t * n + begin
                groups.crowd[t, begin] = distinct_subjects(groups.order[t], begin, end, groups.subject, seen, mark)
            begin = end


@njit(cache=True)
def distinct_subjects(order: NDArray[np.int32], begin: int, end: int, subject: Ints, seen: Ints, mark: int) -> int:
    """Number of different subjects in a run; `mark` must not have been used in `seen` before."""
    count = 0
    for p in range(begin, end):
        s = subject[order[p]]
        if seen[s] != mark:
            seen[s] = mark
            count += 1
    return count


@njit(cache=True)
def small_instants(groups: Groups, k: int) -> Bools:
    """For each series the instants at which its own group is below k, (series, instants)."""
    n_instants, n = groups.order.shape
    small = np.empty((n, n_instants), dtype=np.bool_)
    for t in range(n_instants):
        for i in range(n):
            small[i, t] = groups.crowd[t, groups.start[t, i]] < k
    return small
