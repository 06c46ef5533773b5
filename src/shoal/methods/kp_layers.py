"""Groups for subjects with several series: layer by layer, each with one series of a subject at most.

The first series of every subject are grouped, then the second ones, and so on while at least k subjects have one.
Every series left over joins the group and the subgroup of the nearest series of another layer: crowds only grow, so
every group has at least the subjects it had before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.nearest_rows import nearest_rows


class Partition(NamedTuple):
    """The group of each row, -1 for a suppressed one, and its leaf; of each leaf its word; the others' subgroups."""

    groups: NDArray[np.int64]
    leaf: NDArray[np.int64]
    letters: NDArray[np.uint8]
    levels: NDArray[np.int64]
    subgroups: NDArray[np.int64]


def in_layers(
    x: NDArray[np.float64],
    subjects: NDArray[np.int64],
    k: int,
    form: Callable[[NDArray[np.float64]], Partition],
) -> Partition:
    """The partition of all rows; `form` is given k rows or more, of as many subjects, and suppresses none of them."""
    layer = _layers(subjects)
    n_full = int((np.bincount(layer) >= k).sum())  # sizes fall from layer to layer
    groups, leaf, subgroups = (np.full(len(x), -1) for _ in range(3))
    letters, levels = [], []
    n_leaves = 0
    for number in range(n_full):
        rows = np.flatnonzero(layer == number)
        part = form(np.ascontiguousarray(x[rows]))
        groups[rows] = part.groups + groups.max() + 1
        leaf[rows] = part.leaf + n_leaves
        subgroups[rows] = part.subgroups + subgroups.max() + 1
        letters.append(part.letters)
        levels.append(part.levels)
        n_leaves += len(part.levels)
    if len(left := np.flatnonzero(layer >= n_full)):
        placed = np.flatnonzero(layer < n_full)
        nearest = placed[_first_nearest(x[left], np.ascontiguousarray(x[placed]))]
        for column in (groups, leaf, subgroups):
            column[left] = column[nearest]
    return Partition(groups, leaf, np.concatenate(letters), np.concatenate(levels), subgroups)


def _layers(subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row, how many earlier rows are of its subject."""
    order = np.argsort(subjects, kind="stable")
    sizes = np.bincount(subjects)
    found = np.empty(len(subjects), dtype=np.int64)
    found[order] = np.arange(len(subjects)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return found


def _first_nearest(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.int64]:
    """The nearest row of each point; of several equally near, the first."""
    _, start, nearest = nearest_rows(points, rows)
    return nearest[start[:-1]]
