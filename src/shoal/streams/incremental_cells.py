"""Cells of a growing panel: new ones for newcomers, and thin ones, of which too few are left, joined with others.

    present(c)   the subjects of cell c that have a reading in the stretch
    thin(c)      0 < present(c) < k

A thin cell is joined with the one whose mean curve is nearest, over the instants both have, until none is thin. Only
whole cells are joined: a union of cells distinguishes nobody who was not distinguished already.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.methods import Microaggregation
from shoal.methods.aggregates import groups_of
from shoal.methods.strata import strata_of
from shoal.model import Panel


def form_cells(method: Microaggregation, newcomers: Panel, spare: int) -> NDArray[np.int64]:
    """The cell of each newcomer, from 0 without holes; -1 for those who are too few to form one.

    Cells get `spare` members beyond k, or fewer if there are no more. With `within` cells do not cross strata, and
    those of each stratum wait for each other.

    Examples
    --------
    >>> panel = Panel([[1.0], [9.0], [2.0], [8.0], [5.0]], attributes={"tariff": ["a", "b", "a", "b", "c"]})
    >>> form_cells(Microaggregation(k=2, within="tariff"), panel, spare=0).tolist()
    [0, 1, 0, 1, -1]
    """
    # A stratum that is too small is not refused, it waits; unless it may be joined with others.
    least = method.k if method.merge_small else 1
    cells = np.full(newcomers.n_series, -1, dtype=np.int64)
    for rows in strata_of(newcomers, method.apart, least, merge_small=method.merge_small):
        part = newcomers.take(rows)
        if part.n_subjects >= method.k:
            size = min(method.k + spare, part.n_subjects)
            groups = replace(method, k=size, within=None).anonymize(part).private.groups
            cells[rows] = int(cells.max()) + 1 + groups
    return cells


Numbers = NDArray[np.int64]


def join_thin(cells: Numbers, rows: NDArray[np.float64], subjects: Numbers, k: int) -> Numbers:
    """The group of each row, from 0 without holes; ties go to the first cell.

    Examples
    --------
    Of the second cell only one has a reading; it is nearer to the third.

    >>> readings = np.array([[1.0], [1.0], [7.0], [np.nan], [9.0], [9.0]])
    >>> join_thin(np.array([0, 0, 1, 1, 2, 2]), readings, np.arange(6), k=2).tolist()
    [0, 0, 1, 1, 1, 1]
    """
    observed = ~np.isnan(rows)
    is_present = np.asarray(observed.any(axis=1))
    counts = np.zeros((int(cells.max()) + 1, rows.shape[1]))
    totals = np.zeros(counts.shape)
    np.add.at(counts, cells, observed)
    np.add.at(totals, cells, np.where(observed, rows, 0.0))
    means = totals / np.maximum(counts, 1)
    present = [set(subjects[own[is_present[own]]].tolist()) for own in groups_of(cells)]
    sizes = np.array([len(people) for people in present])
    goes_to = np.arange(len(counts))
    is_open = sizes > 0  # not joined with an earlier one, and someone is present
    while len(thin := np.flatnonzero(is_open & (sizes < k))) and is_open.sum() > 1:
        distances = _distances(int(thin[0]), means, counts)
        distances[~is_open | (np.arange(len(sizes)) == thin[0])] = np.inf
        # If no cell has an instant in common with it, all are infinitely far: take the first open one.
        nearest = int(np.flatnonzero(is_open & (np.arange(len(sizes)) != thin[0]))[0])
        if np.isfinite(distances.min()):
            nearest = int(distances.argmin())
        into, joined = sorted((int(thin[0]), nearest))
        counts[into] += counts[joined]
        totals[into] += totals[joined]
        means[into] = totals[into] / np.maximum(counts[into], 1)
        present[into] |= present[joined]
        sizes[into] = len(present[into])
        is_open[joined] = False
        goes_to[goes_to == joined] = into
    groups: Numbers = np.unique(goes_to[cells], return_inverse=True)[1].reshape(-1).astype(np.int64)
    return groups


def _distances(cell: int, means: NDArray[np.float64], counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean squared distance of all mean curves from one; infinite if they have no instant in common."""
    both = (counts > 0) & (counts[cell] > 0)
    apart = means - means[cell]
    n_both = both.sum(axis=1)
    squared = np.einsum("ij,ij,ij->i", apart, apart, both)
    distances: NDArray[np.float64] = np.where(n_both > 0, squared / np.maximum(n_both, 1), np.inf)
    return distances
