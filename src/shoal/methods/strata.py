"""Series that must not share a group: those that differ in a static attribute."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.kernels.arrays import Ints
from shoal.model import Panel


def strata_of(
    panel: Panel, columns: Sequence[str], k: int, *, merge_small: bool, shown: Ints | None = None
) -> list[Ints]:
    """The rows of each stratum, strata in order of their first row; within each of the groups that were shown, if any.

    A stratum with fewer than k subjects is refused. With `merge_small`, such strata are merged, smallest first, into
    one, which absorbs the next larger strata until it has k subjects.
    """
    if shown is not None:
        return _within_shown(panel, columns, k, merge_small, shown)
    if not columns:
        return [np.arange(panel.n_series)]
    for column in columns:
        if column not in panel.attributes:
            raise ParameterError(
                f"within={column!r} is not among the {len(panel.attributes)} attributes of the panel. "
                "Name it as quasi when reading."
            )
    listed = [[None if entry != entry else entry for entry in panel.attributes[name].tolist()] for name in columns]
    entries = list(zip(*listed, strict=True))
    numbers: dict[object, int] = {}
    codes = np.array([numbers.setdefault(entry, len(numbers)) for entry in entries])
    strata = [np.flatnonzero(codes == code) for code in range(len(numbers))]
    sizes = [len(np.unique(panel.subject_codes[rows])) for rows in strata]
    small = [i for i, size in enumerate(sizes) if size < k]
    if not small:
        return strata
    if not merge_small:
        named = " and ".join(repr(name) for name in columns)
        raise ParameterError(
            f"{len(small)} of {len(strata)} strata of {named} have fewer than k={k} subjects, the smallest "
            f"{min(sizes)}. Lower k, drop these series, or merge them with merge_small=True."
        )
    order = sorted(range(len(strata)), key=lambda i: (sizes[i], strata[i][0]))
    joined: list[int] = []
    rows = np.empty(0, dtype=np.int64)
    while order and (sizes[order[0]] < k or len(np.unique(panel.subject_codes[rows])) < k):
        joined.append(order.pop(0))
        rows = np.sort(np.concatenate([strata[i] for i in joined]))
    merged = [rows, *(strata[i] for i in order)]
    return sorted(merged, key=lambda part: int(part[0]))


def _within_shown(panel: Panel, columns: Sequence[str], k: int, merge_small: bool, shown: Ints) -> list[Ints]:
    """Strata that do not cross what analysts were shown; subjects who were not shown form a separate group."""
    parts = [np.flatnonzero(shown == group) for group in np.unique(shown).tolist()]
    sizes = [len(np.unique(panel.subject_codes[rows])) for rows in parts]
    if min(sizes) < k:
        raise GuaranteeNotMetError(
            f"{sum(size < k for size in sizes)} of {len(parts)} groups that analysts were shown, or were not shown, "
            f"have fewer than k={k} subjects here, the smallest {min(sizes)}; groups of the release must stay within "
            "them. Lower k, release all subjects that were shown and at least k others or none, or show larger groups."
        )
    strata = [
        rows[inner] for rows in parts for inner in strata_of(panel.take(rows), columns, k, merge_small=merge_small)
    ]
    return sorted(strata, key=lambda part: int(part[0]))
