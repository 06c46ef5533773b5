"""What several steps published, in terms of the series and instants of the first panel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.kernels.arrays import Ints
from shoal.model import Candidate, Panel


def working_panel(candidate: Candidate) -> Panel:
    """What would be published, as the next step gets it: with the attributes, which only grouping looks at."""
    published = candidate.published
    assert isinstance(published, Panel)
    rows = candidate.stands_for
    known = candidate.private.original.attributes if (rows >= 0).all() else {}
    return published.like(
        published.values,
        subjects=published.subject_codes,
        attributes={name: column[rows] for name, column in known.items()},
        origin=candidate.private.original.origin,
    )


def row_of_first(made: Sequence[Candidate]) -> Ints:
    """The series of the first panel that each published row stands for; -1 for a fictive one."""
    found = np.arange(made[0].private.original.n_series)
    for candidate in made:
        rows = candidate.stands_for
        found = np.where(rows >= 0, found[rows], -1)
    return found


def groups_of_first(made: Sequence[Candidate], stands_for: Ints) -> Ints:
    """The last step's group of each series of the first panel; -1 where it is not published.

    If slices of one series are in different groups, it has no group, and every series counts as its own group.
    """
    last, n_first = made[-1].private, made[0].private.original.n_series
    rows = made[-1].stands_for
    if np.array_equal(stands_for, np.arange(n_first)):
        return last.groups
    alone = np.where(np.isin(np.arange(n_first), stands_for), np.arange(n_first), -1)
    if last.groups.ndim > 1:
        return alone
    real = stands_for >= 0
    owners, groups = stands_for[real], last.groups[rows[real]]
    found = np.full(n_first, -1, dtype=np.int64)
    found[owners] = groups
    return found if np.array_equal(found[owners], groups) else alone


def curves_of_first(steps: Sequence[Any], made: Sequence[Candidate]) -> Panel:
    """For each series of the first panel, what is finally published of it, at the original instants."""
    last = made[-1]
    curves = _put(last.curves, last.private.rows, last.private.original)
    for step, candidate in zip(reversed(steps[:-1]), reversed(made[:-1]), strict=True):
        if hasattr(step, "unfold"):
            curves = step.unfold(candidate.private.original, curves)
            continue
        rows = candidate.stands_for
        real = rows >= 0
        everyone = candidate.private.stands_for is None and candidate.private.rows is None
        of_real = curves if everyone else curves.like(curves.values[real])
        curves = _put(of_real, None if everyone else rows[real], candidate.private.original)
    return curves


def _put(curves: Panel, rows: Ints | None, original: Panel) -> Panel:
    """Curves of some rows as curves of all, missing if there is none."""
    values = curves.values
    if rows is not None:
        values = np.full((original.n_series, *curves.values.shape[1:]), np.nan)
        values[rows] = curves.values
    return curves.like(values, subjects=original.subject_codes)
