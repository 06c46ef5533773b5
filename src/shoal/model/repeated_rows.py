"""Equal rows, stored once: what hides in a crowd of k takes a k-th of the space on its way between workers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_COLUMNS = 8
"""Columns in which most rows differ already, where few are equal."""

_AT_ONCE = 64
"""Rows that are compared at once."""


class RepeatedRows:
    """An array with many equal rows, in the form in which it is pickled.

    Examples
    --------
    >>> import pickle
    >>> packed = once(np.repeat([[1.0, 2.0], [3.0, np.nan]], 3, axis=0))
    >>> type(packed).__name__, unpacked(pickle.loads(pickle.dumps(packed))).tolist()[2:4]
    ('RepeatedRows', [[1.0, 2.0], [3.0, nan]])
    """

    def __init__(self, rows: NDArray[Any], which: NDArray[np.int64]) -> None:
        self.rows = rows
        self.which = which


def once(values: NDArray[np.float64]) -> NDArray[np.float64] | RepeatedRows:
    """The array itself, unless at least half of its rows are equal to others; equal means equal in every bit."""
    n = len(values)
    bits = np.ascontiguousarray(values).reshape(n, -1).view(np.uint64)
    some = np.linspace(0, bits.shape[1] - 1, min(_COLUMNS, bits.shape[1])).astype(np.int64)
    if 2 * len(np.unique(_mixed(bits[:, some]))) > n:
        return values
    _, first, which = np.unique(_mixed(bits), return_index=True, return_inverse=True)
    which = which.reshape(-1)
    if 2 * len(first) > n:
        return values
    for start in range(0, n, _AT_ONCE):  # very rarely, two different rows have one hash
        if not np.array_equal(bits[first[which[start : start + _AT_ONCE]]], bits[start : start + _AT_ONCE]):
            return values
    return RepeatedRows(values[first], which)


def unpacked(values: NDArray[np.float64] | RepeatedRows) -> NDArray[np.float64]:
    """The array that `once` was given."""
    return values.rows[values.which] if isinstance(values, RepeatedRows) else values


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A hash of each row: a sum with odd weights, modulo 2^64."""
    weights = np.random.default_rng(0).integers(2**64, size=bits.shape[1], dtype=np.uint64) | np.uint64(1)
    hashes = np.empty(len(bits), dtype=np.uint64)
    for start in range(0, len(bits), _AT_ONCE):
        block = bits[start : start + _AT_ONCE]
        # Round numbers differ in their upper bits alone, of which a product modulo 2^64 would keep little.
        hashes[start : start + _AT_ONCE] = np.einsum("ij,j->i", block ^ (block >> np.uint64(32)), weights)
    return hashes
