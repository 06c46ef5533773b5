"""Cells for newcomers to a growing panel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from shoal.methods import Microaggregation
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
