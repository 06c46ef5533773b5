"""Decimals that only one logger writes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.model import Candidate, Panel
from shoal.release.lint.written import Finding, Written

NAME = "decimal-precision"

MOST = 9
"""Number of decimals that are distinguished; a value with more counts as computed."""
COMPUTED = MOST + 1
"""The precision of a row with more."""
NOTHING = -1
"""The precision of a row of gaps."""
_SURE = 6.0
"""A chance below one in 10^6 tables is not counted as chance."""

Numbers = NDArray[np.int64]


def decimal_precision(written: Written) -> Finding | None:
    """No series may keep a precision that singles out too few subjects.

    The precision of a series is the largest number of decimals among its values, 0 to 9, or "more". Its logger has at
    least as many, and may have more: an empty flat reads 0 with any logger. `rare` says whose precision leads to fewer
    subjects than the required crowd. A precision survives if a published series has the same as its original. It is a
    finding if some precision survives that is rare both among the published series and among the originals. If either
    crowd is large enough, decimals identify nobody: either many published series have them, or many subjects could be
    behind one.

    Only published values are judged: a profile or an envelope belongs to a whole group, and quasi-identifiers of events
    are published as they are.
    """
    published, candidate = written.published, written.candidate
    if not isinstance(published, Panel) or not isinstance(candidate, Candidate):
        return None
    classes = written.classes
    firsts = np.unique(classes)
    found = np.full(published.n_series, NOTHING)
    found[firsts] = precisions(published.rows[firsts])
    found = found[classes]
    is_rare = rare(published.rows, found, written.subjects, written.crowd.size)
    rows = written.rows
    known = np.flatnonzero(is_rare & (rows >= 0))
    known = known[candidate.stands_for[rows[known]] >= 0]
    if not len(known):
        return None
    original = candidate.private.original
    per_series = written.crowd.per == "series"
    before = precisions(original.rows)
    crowd = np.arange(original.n_series) if per_series else original.subject_codes
    source = candidate.stands_for[rows[known]]
    kept = known[(before[source] == found[known]) & rare(original.rows, before, crowd, written.crowd.size)[source]]
    if not len(kept):
        return None
    where = f", the first at row {int(kept[0])} of {published.n_series},"
    return Finding(
        NAME,
        f"{len(kept)} published series{where} have the number of decimals of their original, which leads to fewer than "
        f"{written.crowd.size} subjects.",
        "Round all values of the table to as few decimals as the coarsest logger writes, or drop these series.",
    )


def precisions(rows: NDArray[np.float64]) -> Numbers:
    """The largest number of decimals in each row; 10 for more than nine, -1 for a row of gaps.

    A value has at most d decimals when the nearest multiple of 10^-d is the value itself.

    Examples
    --------
    >>> precisions(np.array([[1.0, 2.5], [3.0, np.nan], [0.125, 1.0], [1 / 3, 0.0], [np.nan, np.nan]])).tolist()
    [1, 0, 3, 10, -1]
    """
    decimals_of_rows = np.full(len(rows), COMPUTED)
    decimals_of_rows[np.isnan(rows).all(axis=1)] = NOTHING
    # Most decimals first: for means over groups, hardly a row remains.
    left = np.flatnonzero((decimals_of_rows != NOTHING) & _fits(rows, MOST))
    for d in range(MOST + 1):
        fits = _fits(rows[left], d)
        decimals_of_rows[left[fits]] = d
        left = left[~fits]
    return decimals_of_rows


def _fits(rows: NDArray[np.float64], decimals: int) -> NDArray[np.bool_]:
    scale = 10.0**decimals
    fits: NDArray[np.bool_] = ((np.rint(rows * scale) / scale == rows) | np.isnan(rows)).all(axis=1)
    return fits


def rare(rows: NDArray[np.float64], found: Numbers, subjects: Numbers, crowd: int) -> NDArray[np.bool_]:
    """Which rows have a precision, given by `found`, that leads to fewer subjects than the crowd.

    A logger of r decimals writes a value of only p < r with a chance of 10^(p - r), and m different ones with 10^(m (p
    - r)); zero looks the same with any and is not counted. A series *may have* r decimals, r not below its precision p,
    if that chance is not below a millionth for all n series together:

        m (r - p) <= 6 + log10(n)

    Its precision leads to too few if fewer subjects than the crowd have series of p decimals or more (a fine logger
    among coarse ones), or if there is no r that both it and a crowd of subjects may have (a coarse logger among fine
    ones). An empty flat among loggers of any kind is neither. Rows of gaps have no decimals.

    Examples
    --------
    Thirty loggers with three decimals, an empty flat, and a logger that writes whole numbers.

    >>> values = np.vstack([np.arange(240.0).reshape(30, 8) + 0.125, np.zeros(8), np.arange(8.0)])
    >>> np.flatnonzero(rare(values, precisions(values), np.arange(32), crowd=2)).tolist()
    []
    >>> np.flatnonzero(rare(values, precisions(values), np.arange(32), crowd=3)).tolist()
    [31]
    """
    told = np.zeros(len(found))
    some = np.flatnonzero((found != NOTHING) & (found < found.max(initial=NOTHING)))
    told[some] = different(rows[some])
    levels = np.unique(found[found != NOTHING])
    exact = {int(p): _count(subjects[found == p]) for p in levels}
    if all(n >= crowd for n in exact.values()):
        return np.zeros(len(found), dtype=np.bool_)
    sure = _SURE + np.log10(len(found))
    hides = np.zeros(len(found), dtype=np.bool_)
    for r in levels:
        may_be = (found != NOTHING) & (found <= r) & (told * (r - found) <= sure)
        if _count(subjects[may_be]) >= crowd:
            hides |= may_be
    too_fine = [p for p in levels if _count(subjects[found >= p]) < crowd]
    answer: NDArray[np.bool_] = (found != NOTHING) & (~hides | np.isin(found, too_fine))
    return answer


def _count(subjects: Numbers) -> int:
    return len(np.unique(subjects))


def different(rows: NDArray[np.float64]) -> Numbers:
    """Number of different values in each row, without zero and gaps."""
    ordered = np.sort(rows, axis=1)
    is_new = np.ones(rows.shape, dtype=np.bool_)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    counts: Numbers = (is_new & (ordered != 0) & ~np.isnan(ordered)).sum(axis=1)
    return counts
