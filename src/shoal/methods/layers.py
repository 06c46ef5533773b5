"""Subjects with several series: layers with at most one series per subject.

The first series of every subject are a layer, then the second ones, and so on while at least k subjects have one. In
each layer, a series is hidden among as many subjects as series. A series left over is published with the nearest one in
a layer: crowds only grow, so each keeps the subjects it had.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.nearest_rows import nearest_rows


class Layers(NamedTuple):
    """Rows by layer; the rows left over, and for each of these the row of a layer it goes with."""

    rows: tuple[NDArray[np.int64], ...]
    left: NDArray[np.int64]
    nearest: NDArray[np.int64]


def layers_of(x: NDArray[np.float64], subjects: NDArray[np.int64], k: int) -> Layers:
    """The layers of complete rows x; `subjects` are numbered from 0 without holes, at least k of them."""
    layer = _ordinals(subjects)
    n_full = int((np.bincount(layer) >= k).sum())  # sizes fall from layer to layer
    left, placed = np.flatnonzero(layer >= n_full), np.flatnonzero(layer < n_full)
    nearest = left
    if len(left):
        _, start, found = nearest_rows(x[left], x[placed])
        nearest = placed[found[start[:-1]]]  # of several equally near, the first
    return Layers(tuple(np.flatnonzero(layer == number) for number in range(n_full)), left, nearest)


def _ordinals(subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row, how many earlier rows belong to its subject."""
    order = np.argsort(subjects, kind="stable")
    sizes = np.bincount(subjects)
    ordinals = np.empty(len(subjects), dtype=np.int64)
    ordinals[order] = np.arange(len(subjects)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return ordinals
