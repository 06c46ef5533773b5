"""The shape of a series: what is left of it without level and size, and how far two shapes are apart."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def unit_rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with mean 0 and length 1. A constant row becomes 0; one with a gap is missing throughout."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    # To the middle of the range and scaled by it first: large offsets then round nothing away, small ones do not
    # vanish when squared. Constant is decided on the values, not on a mean that may have rounded.
    half = high / 2 - low / 2
    z: NDArray[np.float64] = (x - (low / 2 + high / 2)) / np.where(half > 0.0, half, 1.0)
    z[half[:, 0] == 0.0] = 0.0
    z -= z.mean(axis=1, keepdims=True)
    length = np.sqrt(np.sum(z * z, axis=1, keepdims=True))
    z /= np.where(length > 0.0, length, 1.0)
    return z


def shape_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - cosine of the pairwise differences of rows with mean 0 and length 1, or 0 throughout where constant."""
    # Half the squared distance: exactly 0 for equal rows, where 1 - cosine would round.
    apart = one - other
    distances: NDArray[np.float64] = np.minimum(np.einsum("it,it->i", apart, apart) / 2, 2.0)
    # Exactly one is constant: it is 0 throughout, so this is half the squared length of the other.
    if len(near := np.flatnonzero(np.abs(distances - 0.5) < 1e-6)):
        first, second = (np.broadcast_to(rows, apart.shape)[near].any(axis=1) for rows in (one, other))
        distances[near[first != second]] = 1.0
    return distances
