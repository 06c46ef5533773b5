"""Find the rows that are published alike.

    class(i) = min { j : x[j, c] has the same bits as x[i, c] for all c }

Rows are compared bit by bit, so the caller passes the float64 values viewed as uint64: 0.0 and -0.0 differ, and a
missing value (one bit pattern inside Shoal) matches only a missing value. A hash only decides which rows are worth
comparing.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal.kernels.arrays import Ints


@njit(cache=True)
def _hash_rows(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    n, n_columns = bits.shape
    hashes = np.empty(n, dtype=np.uint64)
    for i in range(n):
        state = np.uint64(0x9E3779B97F4A7C15)
        for c in range(n_columns):
            state = (state ^ bits[i, c]) * np.uint64(0xFF51AFD7ED558CCD)
            state ^= state >> np.uint64(32)
        hashes[i] = state
    return hashes


@njit(cache=True)
def _same(bits: NDArray[np.uint64], i: int, j: int) -> bool:
    for c in range(bits.shape[1]):  # noqa: SIM110 - numba compiles the loop, not the generator
        if bits[i, c] != bits[j, c]:
            return False
    return True


@njit(cache=True)
def _classes_from_hashes(bits: NDArray[np.uint64], hashes: NDArray[np.uint64], order: Ints) -> Ints:
    n = bits.shape[0]
    classes = np.empty(n, dtype=np.int64)
    start = 0
    while start < n:
        stop = start + 1
        while stop < n and hashes[order[stop]] == hashes[order[start]]:
            stop += 1
        for p in range(start, stop):
            row = order[p]
            classes[row] = row
            for q in range(start, p):
                # Only first rows of a class need to be compared: the others equal one of them.
                if classes[order[q]] == order[q] and _same(bits, row, order[q]):
                    classes[row] = order[q]
                    break
        start = stop
    return classes


def row_classes(bits: NDArray[np.uint64]) -> Ints:
    """For each row, the position of the first row equal to it."""
    hashes = _hash_rows(bits)
    order = np.argsort(hashes, kind="stable")  # inside a run of equal hashes rows stay in row order
    classes: Ints = _classes_from_hashes(bits, hashes, order)
    return classes
