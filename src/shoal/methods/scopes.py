"""Groups of subjects that keep the 15/15 rule: merge those that break it, or leave them out.

With a[s, c] the sum of the absolute readings of subject s in channel c, a group G keeps the rule when

    |G| >= size    and    a[s, c] <= share * (sum of a[., c] over G)    for all s in G and all c

With more subjects, a share only falls, so joining groups helps, and a subject above the limit among all subjects fits
in no group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shoal.kernels.arrays import Bools, Floats, Ints
from shoal.model import Panel


@dataclass(frozen=True, eq=False)
class Scopes:
    """The group of each series, -1 if it is withheld, and what had to be done."""

    labels: Ints
    n_subjects: Ints
    """Different subjects in each group."""
    merged: int
    withheld: int
    too_large: int

    def figures(self, panel: Panel, means: Floats) -> dict[str, Any]:
        """Counts for the recipe."""
        return {
            "groups": len(self.n_subjects),
            "groups_merged": self.merged,
            "groups_withheld": self.withheld,
            "subjects_too_large": self.too_large,
            "series_withheld": int((self.labels < 0).sum()),
            "cells_withheld": int(np.isnan(means).sum()),
        }


def keep_the_rule(
    panel: Panel, labels: Ints, size: int, share: float, otherwise: Literal["merge", "withhold"]
) -> Scopes:
    """Change the groups until every one that is left keeps the rule."""
    too_large = _too_large(panel, size, share)
    free = ~np.isin(panel.subject_codes, too_large)
    # The rows of each group, in a list because joining is rare.
    groups = [np.flatnonzero(free & (labels == label)) for label in np.unique(labels[free])]
    sizes = [_n_subjects(panel, rows) for rows in groups]
    broken = [not _keeps(panel, rows, size, share) for rows in groups]
    n_merged = 0
    while otherwise == "merge" and any(broken) and len(groups) > 1:
        one = broken.index(True)
        other = min((i for i in range(len(groups)) if i != one), key=lambda i: (sizes[i], int(groups[i][0])))
        rows = np.sort(np.concatenate([groups[one], groups[other]]))
        for at in sorted((one, other), reverse=True):
            del groups[at], sizes[at], broken[at]
        groups.append(rows)
        sizes.append(_n_subjects(panel, rows))
        broken.append(not _keeps(panel, rows, size, share))
        n_merged += 1
    n_withheld = sum(broken)
    groups = [rows for rows, bad in zip(groups, broken, strict=True) if not bad]
    groups.sort(key=lambda rows: int(rows[0]))
    groups_of_series = np.full(panel.n_series, -1, dtype=np.int64)
    for label, rows in enumerate(groups):
        groups_of_series[rows] = label
    counts = np.array([_n_subjects(panel, rows) for rows in groups], dtype=np.int64)
    return Scopes(groups_of_series, counts, n_merged, n_withheld, len(too_large))


def _amounts(panel: Panel, rows: Ints, size: int) -> Floats:
    """What each subject of these rows adds to the published total, (subjects, channels).

    An instant at which fewer than `size` of them were observed is not published and adds nothing.
    """
    gaps = np.isnan(panel.values[rows]).any()
    return amounts_of(panel, rows, subjects_seen(panel, rows) >= size if gaps else None)


def subjects_seen(panel: Panel, rows: Ints) -> Ints:
    """How many subjects of these rows were observed, (instants, channels)."""
    observed = ~np.isnan(panel.values[rows].reshape(len(rows), panel.n_instants, panel.n_channels))
    subjects, places = np.unique(panel.subject_codes[rows], return_inverse=True)
    seen = np.zeros((len(subjects), *observed.shape[1:]), dtype=bool)
    np.logical_or.at(seen, places.reshape(-1), observed)
    return np.asarray(seen.sum(axis=0))


def amounts_of(panel: Panel, rows: Ints, published: Bools | None) -> Floats:
    """What each subject of these rows has of what is published, (subjects, channels); None: all of it is."""
    readings = np.abs(panel.values[rows].reshape(len(rows), panel.n_instants, panel.n_channels))
    if published is not None:
        readings = np.where(published, readings, np.nan)
    subjects, places = np.unique(panel.subject_codes[rows], return_inverse=True)
    amounts = np.zeros((len(subjects), panel.n_channels))
    np.add.at(amounts, places.reshape(-1), np.nansum(readings, axis=1))
    return amounts


def _keeps(panel: Panel, rows: Ints, size: int, share: float) -> bool:
    if _n_subjects(panel, rows) < size:
        return False
    amounts = _amounts(panel, rows, size)
    return bool((amounts.max(axis=0) <= share * amounts.sum(axis=0)).all())


def _too_large(panel: Panel, size: int, share: float) -> Ints:
    """Subjects above the limit among all that are left, the largest first, until there is none."""
    amounts = _amounts(panel, np.arange(panel.n_series), size)
    return above_limit(amounts, np.zeros(panel.n_channels), share, len(amounts))


def above_limit(amounts: Floats, others: Floats, share: float, most: int) -> Ints:
    """Positions of those with more than a share of the total, theirs and that of `others`; the largest first, each
    without those before it; no more than `most`."""
    amounts = amounts.copy()
    gone: list[int] = []
    while len(gone) < most:
        over = amounts - share * (amounts.sum(axis=0) + others)
        if (over <= 0.0).all():
            break
        subject = int(np.unravel_index(over.argmax(), over.shape)[0])
        amounts[subject] = 0.0
        gone.append(subject)
    return np.array(gone, dtype=np.int64)


def _n_subjects(panel: Panel, rows: Ints) -> int:
    return len(np.unique(panel.subject_codes[rows]))
