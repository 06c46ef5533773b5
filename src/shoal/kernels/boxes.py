"""The coarse record, or box, of its snapshot that each row lies in.

    row i lies in box b   iff   low[b, a] <= ranks[i, a] <= high[b, a]   for every attribute a, and
                                ranks[i, a] is in the list of b and a if there is one

All values are ranks among the different values, missing lowest, so that equality is equality of whole numbers.
"""

import numpy as np
from numba import njit

from shoal.kernels.arrays import Ints

NOWHERE, TWICE = -1, -2
"""Instead of a box: the row lies in none, or in several."""


@njit(cache=True)
def boxes_of_rows(
    ranks: Ints, first: Ints, last: Ints, low: Ints, high: Ints, lists: Ints, starts: Ints, items: Ints
) -> Ints:
    """For each row, its box among `first`, ..., `last` - 1; NOWHERE or TWICE instead.

    `items[starts[m] : starts[m + 1]]` is the list m, ascending; `lists[b, a]` is the list of a box, -1 for a range.
    """
    n, n_attributes = ranks.shape
    boxes = np.full(n, NOWHERE, dtype=np.int64)
    for i in range(n):
        for b in range(first[i], last[i]):
            inside = True
            for a in range(n_attributes):
                inside = low[b, a] <= ranks[i, a] <= high[b, a]
                if inside and lists[b, a] >= 0:
                    inside = _among(items, starts[lists[b, a]], starts[lists[b, a] + 1], ranks[i, a])
                if not inside:
                    break
            if inside:
                if boxes[i] != NOWHERE:
                    boxes[i] = TWICE
                    break
                boxes[i] = b
    return boxes


@njit(cache=True)
def _among(items: Ints, begin: int, end: int, item: int) -> bool:
    while begin < end:
        middle = (begin + end) // 2
        if items[middle] < item:
            begin = middle + 1
        elif items[middle] > item:
            end = middle
        else:
            return True
    return False
