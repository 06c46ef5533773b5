"""Groups of one record of each of l values: Anatomy (Xiao and Tao 2006, figure 3) for one l-eligible snapshot.

    while at least l values have records left
        a new group takes one record of each of the l values with most records left, ties by value
    each record that is left joins a group without its value

Let n = q·l + r with r < l, and no value have more than q records, which is what l-eligible means. Then

(a) exactly q groups are formed. Say q is the number of groups still to come and n the records left. No value ever has
    more than q + 1 left, and the set E of those with q + 1 has at most r values: at first it is empty. While q >= 1,
    values have at least n - |E| >= q·l records if no more than q are counted of each, so at least l values have some.
    All of E are taken, being the largest. If F values have q left and more than l - |E| of them, then
    q·l + r >= (|E| + |F|)·q + |E|, so |E| + (|E| + |F| - l) <= r: again at most r values have more than the q - 1
    groups to come. At the end q = 0, so that
(b) each value has at most one record left, and r are left in all;
(c) such a value is in at most q - 1 of the q groups, so one is free, and no group takes a value twice.

Every group has l or more records, all of different values. The choice of the record of a value, and of the free group,
is random; the randomness is passed in. Values are kept in a heap: O(n log values).
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Floats, Ints


@njit(cache=True)
def anatomy_groups(codes: Ints, n_values: int, l: int, order: Ints, luck: Floats) -> Ints:
    """The group of each record, numbered as they are formed.

    `codes` are the values, from 0 to n_values - 1. For each value, the last record in `order`, a permutation, is taken
    first. `luck` has l - 1 numbers in [0, 1): the i-th leftover record joins the group at that share of the free ones.
    """
    n = codes.shape[0]
    groups = np.full(n, -1, dtype=np.int64)
    starts = np.zeros(n_values + 1, dtype=np.int64)
    for i in range(n):
        starts[codes[i] + 1] += 1
    for v in range(n_values):
        starts[v + 1] += starts[v]
    members = np.empty(n, dtype=np.int64)
    ends = starts[:-1].copy()
    for p in range(n):
        v = codes[order[p]]
        members[ends[v]] = order[p]
        ends[v] += 1

    # A key is (records left, smaller value first) in one number.
    heap = np.empty(n_values, dtype=np.int64)
    size = 0
    for v in range(n_values):
        if ends[v] > starts[v]:
            heap[size] = (ends[v] - starts[v]) * n_values + (n_values - 1 - v)
            _rise(heap, size)
            size += 1
    n_groups = 0
    taken = np.empty(l, dtype=np.int64)
    while size >= l:
        for i in range(l):
            taken[i] = heap[0]
            size -= 1
            heap[0] = heap[size]
            _sink(heap, size)
        for i in range(l):
            v = n_values - 1 - taken[i] % n_values
            ends[v] -= 1
            groups[members[ends[v]]] = n_groups
            if taken[i] >= 2 * n_values:
                heap[size] = taken[i] - n_values
                _rise(heap, size)
                size += 1
        n_groups += 1

    has_value = np.full(n_groups, -1, dtype=np.int64)
    leftover = 0
    for v in range(n_values):
        if ends[v] == starts[v]:
            continue
        for p in range(ends[v], starts[v + 1]):
            has_value[groups[members[p]]] = v
        n_free = n_groups - (starts[v + 1] - ends[v])
        place = min(int(luck[leftover] * n_free), n_free - 1)
        for g in range(n_groups):
            if has_value[g] != v:
                if place == 0:
                    groups[members[starts[v]]] = g
                    break
                place -= 1
        leftover += 1
    return groups


@njit(cache=True)
def _rise(heap: Ints, at: int) -> None:
    key = heap[at]
    while at > 0 and heap[(at - 1) // 2] < key:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = key


@njit(cache=True)
def _sink(heap: Ints, size: int) -> None:
    key = heap[0]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = key
