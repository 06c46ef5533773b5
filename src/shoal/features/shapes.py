"""The shape of a series, without level and size, and the distance between two shapes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.float64, np.uint8)


def by_channel(x: NDArray[Number], n_channels: int) -> NDArray[Number]:
    """Split rows with several channels into one row per channel."""
    return x if n_channels == 1 else np.ascontiguousarray(x).reshape(len(x) * n_channels, -1)


def unit_channels(x: NDArray[np.float64], n_channels: int) -> NDArray[np.float64]:
    """Rows in which every channel has mean 0 and length 1, or is 0 throughout if it is constant."""
    return unit_rows(by_channel(x, n_channels)).reshape(x.shape)


def channel_distances(one: NDArray[np.float64], other: NDArray[np.float64], n_channels: int) -> NDArray[np.float64]:
    """The mean over the channels of `shape_distances`; rows of `unit_channels`."""
    distances = shape_distances(by_channel(one, n_channels), by_channel(other, n_channels))
    mean: NDArray[np.float64] = distances if n_channels == 1 else distances.reshape(-1, n_channels).mean(axis=1)
    return mean


def unit_rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with mean 0 and length 1. A constant row becomes 0; one with a gap is missing throughout."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    # Centred on the middle of the range and scaled by it first, so that large offsets lose no digits and small values
    # do not vanish when squared. Whether a row is constant is decided on the values, not on a rounded mean.
    half = high / 2 - low / 2
    z: NDArray[np.float64] = (x - (low / 2 + high / 2)) / np.where(half > 0.0, half, 1.0)
    z[half[:, 0] == 0.0] = 0.0
    z -= z.mean(axis=1, keepdims=True)
    length = np.sqrt(np.sum(z * z, axis=1, keepdims=True))
    z /= np.where(length > 0.0, length, 1.0)
    return z


def shape_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - cosine of the pairwise differences of rows with mean 0 and length 1, or 0 throughout if constant."""
    # Half the squared distance: exactly 0 for equal rows, where 1 - cosine would round.
    apart = one - other
    distances: NDArray[np.float64] = np.minimum(np.einsum("it,it->i", apart, apart) / 2, 2.0)
    # Exactly one is constant: it is 0 throughout, so this is half the squared length of the other.
    if len(near := np.flatnonzero(np.abs(distances - 0.5) < 1e-6)):
        first, second = (np.broadcast_to(rows, apart.shape)[near].any(axis=1) for rows in (one, other))
        distances[near[first != second]] = 1.0
    return distances
