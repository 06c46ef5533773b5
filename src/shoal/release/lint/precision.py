"""Decimals that only one logger writes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model import Candidate, Panel
from shoal.release.lint.finding import Finding
from shoal.release.lint.written import Written

NAME = "decimal-precision"

MOST = 9
"""Decimals that are told apart; a value with more counts as computed."""
_COMPUTED = MOST + 1
_NOTHING = -1

Numbers = NDArray[np.int64]


def decimal_precision(written: Written) -> Finding | None:
    """No series may keep a precision that too few have.

    The precision of a series is the largest number of decimals among its values, 0 to 9, or "more". It survives where
    a published series has the same as its original. A finding: some precision survives that fewer subjects than the
    asked crowd have, among the published series and among the originals. Where either crowd is large enough, decimals
    lead to nobody: either many published series look so, or many subjects could be behind one.

    Only published values are judged: a profile or an envelope is of a whole group, and quasi-identifiers of events are
    published as they are.
    """
    published, candidate = written.published, written.candidate
    if not isinstance(published, Panel) or not isinstance(candidate, Candidate):
        return None
    classes = written.classes
    firsts = np.unique(classes)
    found = np.full(published.n_series, _NOTHING)
    found[firsts] = precisions(published.rows[firsts])
    found = found[classes]
    rare = _rare(found, written.subjects, written.crowd.size)
    rows = written.rows
    known = np.flatnonzero(rare & (rows >= 0))
    known = known[candidate.stands_for[rows[known]] >= 0]
    if not len(known):
        return None
    original = candidate.private.original
    per_series = written.crowd.per == "series"
    before = precisions(original.rows)
    crowd = np.arange(original.n_series) if per_series else original.subject_codes
    source = candidate.stands_for[rows[known]]
    kept = known[(before[source] == found[known]) & _rare(before, crowd, written.crowd.size)[source]]
    if not len(kept):
        return None
    return Finding(
        NAME,
        f"{len(kept)} published series, the first at row {int(kept[0])} of {published.n_series}, have the number of "
        f"decimals of their original, which fewer than {written.crowd.size} subjects have.",
        "Bring all values to one resolution before publishing (round_to of a method, or when reading).",
    )


def precisions(rows: NDArray[np.float64]) -> Numbers:
    """The largest number of decimals in each row; 10 for more than nine, -1 for a row of gaps.

    A value has at most d decimals when the nearest multiple of 10^-d is the value itself.

    Examples
    --------
    >>> precisions(np.array([[1.0, 2.5], [3.0, np.nan], [0.125, 1.0], [1 / 3, 0.0], [np.nan, np.nan]])).tolist()
    [1, 0, 3, 10, -1]
    """
    found = np.full(len(rows), _COMPUTED)
    found[np.isnan(rows).all(axis=1)] = _NOTHING
    # First the most decimals: of means over groups hardly a row is left.
    left = np.flatnonzero((found != _NOTHING) & _fits(rows, MOST))
    for d in range(MOST + 1):
        fits = _fits(rows[left], d)
        found[left[fits]] = d
        left = left[~fits]
    return found


def _fits(rows: NDArray[np.float64], decimals: int) -> NDArray[np.bool_]:
    scale = 10.0**decimals
    fits: NDArray[np.bool_] = ((np.rint(rows * scale) / scale == rows) | np.isnan(rows)).all(axis=1)
    return fits


def _rare(found: Numbers, subjects: Numbers, crowd: int) -> NDArray[np.bool_]:
    """Which rows have a precision of fewer subjects than the crowd."""
    n_subjects = int(subjects.max()) + 1
    pairs = np.unique((found + 1) * n_subjects + subjects) // n_subjects - 1
    levels, sizes = np.unique(pairs, return_counts=True)
    few = levels[(sizes < crowd) & (levels != _NOTHING)]
    return np.isin(found, few)
