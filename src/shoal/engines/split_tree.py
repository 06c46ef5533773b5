"""A split plan: which leaf a subject belongs to, learned on a sample and repaired from exact counts.

A node is halved at the median, along the direction in which its sample is spread most, as long as both halves keep the
number of subjects that a leaf should have: leaves have between one and two times that. If nearly all of a node is
alike, no cut can halve it. Then a number drawn from the name decides: it does not matter which equals are together.

A plan is a few arrays, much smaller than the sample. Where a subject goes depends only on its own series and the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.split_walk import project_rows, walk_down

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

N_COORDINATES = 24
"""Directions considered for cuts; beyond the leading ones there is little but noise."""

_LEAST_SHARE = 0.05  # of a node's sample, on either side of a cut
_FEWEST = 8  # rows: fewer say little about a direction


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Features projected onto their leading directions.

    Parameters
    ----------
    centre
        What is subtracted, one number per feature.
    basis
        Directions (features, coordinates), orthonormal.
    """

    centre: Floats
    basis: Floats

    @classmethod
    def learn(cls, features: Floats, n_coordinates: int = N_COORDINATES) -> Coordinates:
        """Learn the directions in which a sample is spread most; missing counts as the mean."""
        observed = ~np.isnan(features)
        centre = np.sum(features, axis=0, where=observed) / np.maximum(observed.sum(axis=0), 1)
        x = np.where(observed, features - centre, 0.0)
        # Use the smaller matrix: of long series, there are fewer rows than features.
        if x.shape[1] <= x.shape[0]:
            _, vectors = np.linalg.eigh(x.T @ x)
            basis = vectors[:, ::-1][:, :n_coordinates]
        else:
            basis = np.linalg.svd(x, full_matrices=False)[2][:n_coordinates].T
        return cls(centre, np.ascontiguousarray(basis))

    def of(self, features: Floats) -> Floats:
        """Coordinates (rows, coordinates) of features."""
        coordinates: Floats = project_rows(np.ascontiguousarray(features), self.centre, self.basis)
        return coordinates


@dataclass(frozen=True, eq=False)
class SplitTree:
    """A tree of cuts as arrays, one entry for each node; the first is the root. Without nodes there is one leaf.

    Parameters
    ----------
    directions, thresholds
        A row goes below if its coordinate along the direction is less than the threshold.
    by_chance
        Nodes that use the number drawn for the subject instead of the coordinates.
    below, above
        The next node, or -1 - leaf.
    """

    directions: Floats
    by_chance: NDArray[np.bool_]
    thresholds: Floats
    below: Counts
    above: Counts

    @property
    def n_leaves(self) -> int:
        """Leaves are numbered from 0, from below to above."""
        return len(self.thresholds) + 1

    def assign(self, coordinates: Floats, drawn: Floats) -> Counts:
        """The leaf of each row, from its coordinates and the number in [0, 1) that is drawn for its subject."""
        leaves: Counts = walk_down(
            coordinates, drawn, self.directions, self.by_chance, self.thresholds, self.below, self.above
        )
        return leaves

    def repaired(self, counts: Counts, least: int) -> SplitTree:
        """Remove cuts that leave fewer than `least` on one side: those rows go with the others.

        Counts are of all rows, not of a sample. No other leaf loses rows, so afterwards every leaf has at least
        `least`, or there is only one.
        """
        return _planted(_joined(_grown(self), counts, least)[0], self.directions.shape[1])

    def divided(self, counts: Counts, most: int) -> SplitTree:
        """Halve leaves with more than `most` rows by chance, until they should have no more."""
        return _planted(_halved(_grown(self), counts, most, (0.0, 1.0)), self.directions.shape[1])


def learn_tree(coordinates: Floats, n_subjects: int, leaf: int) -> SplitTree:
    """Learn a plan for `n_subjects` subjects from the coordinates of a sample of them.

    Parameters
    ----------
    coordinates
        One row for each subject of the sample.
    n_subjects
        Number of all subjects.
    leaf
        The fewest subjects that a leaf should have.
    """
    share = n_subjects / max(1, len(coordinates))
    root = _cut(coordinates, np.arange(len(coordinates)), share, leaf, (0.0, 1.0))
    return _planted(root, coordinates.shape[1])


@dataclass(frozen=True, eq=False)
class _Node:
    """A cut and its two sides: nodes, or numbers of leaves."""

    direction: Floats | None
    threshold: float
    below: _Node | int
    above: _Node | int


def _cut(z: Floats, rows: Counts, share: float, leaf: int, drawn: tuple[float, float]) -> _Node | int:
    n = len(rows)
    if n * share < 2 * leaf or n < 2:
        return 0
    cut = _best_cut(z[rows])
    if cut is None:
        middle = (drawn[0] + drawn[1]) / 2
        first, second = rows[: n // 2], rows[n // 2 :]
        return _Node(
            None,
            middle,
            _cut(z, first, share, leaf, (drawn[0], middle)),
            _cut(z, second, share, leaf, (middle, drawn[1])),
        )
    direction, threshold, is_below = cut
    if min(is_below.sum(), n - is_below.sum()) * share < leaf / 2 and n * share < 4 * leaf:
        return 0  # too lopsided for the few subjects there are
    return _Node(
        direction,
        threshold,
        _cut(z, rows[is_below], share, leaf, drawn),
        _cut(z, rows[~is_below], share, leaf, drawn),
    )


def _best_cut(z: Floats) -> tuple[Floats, float, NDArray[np.bool_]] | None:
    """Direction, threshold and the rows below it; None if nearly all rows are alike."""
    if len(z) < _FEWEST:
        return None
    centred = z - z.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    direction = np.ascontiguousarray(vectors[:, -1])
    # Added in the order of the walk, so that rows at the threshold fall on the side they are planned for.
    at = np.zeros(len(z))
    for c in range(z.shape[1]):
        at += z[:, c] * direction[c]
    values, counts = np.unique(at, return_counts=True)
    if len(values) < 2:
        return None
    smaller = np.cumsum(counts)[:-1]
    best = int(np.abs(smaller - len(z) / 2).argmin())
    if min(smaller[best], len(z) - smaller[best]) < _LEAST_SHARE * len(z):
        return None
    threshold = float(values[best] / 2 + values[best + 1] / 2)
    if not values[best] < threshold <= values[best + 1]:
        threshold = float(values[best + 1])  # no float lies between the two
    return direction, threshold, at < threshold


def _planted(root: _Node | int, n_coordinates: int) -> SplitTree:
    """The arrays of a tree; leaves get new numbers."""
    nodes: list[tuple[Floats | None, float]] = []
    below: list[int] = []
    above: list[int] = []
    n_leaves = 0

    def place(node: _Node | int) -> int:
        nonlocal n_leaves
        if isinstance(node, int):
            n_leaves += 1
            return -n_leaves
        number = len(nodes)
        nodes.append((node.direction, node.threshold))
        below.append(0)
        above.append(0)
        below[number] = place(node.below)
        above[number] = place(node.above)
        return number

    place(root)
    directions = np.zeros((len(nodes), n_coordinates))
    for number, (direction, _) in enumerate(nodes):
        if direction is not None:
            directions[number] = direction
    return SplitTree(
        directions=directions,
        by_chance=np.array([direction is None for direction, _ in nodes], dtype=np.bool_),
        thresholds=np.array([threshold for _, threshold in nodes], dtype=np.float64),
        below=np.array(below, dtype=np.int64),
        above=np.array(above, dtype=np.int64),
    )


def _grown(plan: SplitTree) -> _Node | int:
    """The tree of a plan's arrays, with the leaves' own numbers."""

    def grow(number: int) -> _Node | int:
        if number < 0:
            return -1 - number
        direction = None if plan.by_chance[number] else plan.directions[number]
        below, above = grow(int(plan.below[number])), grow(int(plan.above[number]))
        return _Node(direction, float(plan.thresholds[number]), below, above)

    return grow(0) if len(plan.thresholds) else 0


def _joined(node: _Node | int, counts: Counts, least: int) -> tuple[_Node | int, int]:
    """The tree without cuts that leave too few on one side, and its number of rows."""
    if isinstance(node, int):
        return node, int(counts[node])
    below, n_below = _joined(node.below, counts, least)
    above, n_above = _joined(node.above, counts, least)
    if n_below < least:
        return above, n_below + n_above
    if n_above < least:
        return below, n_below + n_above
    return replace(node, below=below, above=above), n_below + n_above


def _halved(node: _Node | int, counts: Counts, most: int, drawn: tuple[float, float]) -> _Node | int:
    if isinstance(node, _Node):
        middle = node.threshold if node.direction is None else None
        low, high = drawn
        return replace(
            node,
            below=_halved(node.below, counts, most, (low, middle if middle is not None else high)),
            above=_halved(node.above, counts, most, (middle if middle is not None else low, high)),
        )

    def halve(n: float, low: float, high: float) -> _Node | int:
        middle = (low + high) / 2
        return _Node(None, middle, halve(n / 2, low, middle), halve(n / 2, middle, high)) if n > most else 0

    return halve(float(counts[node]), *drawn)
