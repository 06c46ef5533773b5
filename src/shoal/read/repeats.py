"""Several rows for one series and instant: exact repeats collapse, rows that differ are refused or merged.

They are never added up. Among rows x[1], ..., x[m] for one series and instant, in the order of the table, with d
different ones among them, m - d are repeats and d - 1 are merged: into x[1] (first), x[m] (last), or the mean of the d
different ones, channel by channel, of what is not missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError


class Duplicates(StrEnum):
    """What to do with rows that differ for one series and instant."""

    FAIL = "fail"
    FIRST = "first"
    LAST = "last"
    MEAN = "mean"


@dataclass(frozen=True, eq=False)
class Settled:
    """One row for each series and instant, and which rows were removed."""

    series: NDArray[np.int64]
    instants: NDArray[np.int64]
    readings: list[NDArray[np.float64]]
    repeated: NDArray[np.int64]
    """The series of each row that repeated another exactly."""
    repeated_at: NDArray[np.int64]
    """The instants of these."""
    merged: NDArray[np.int64]
    """The series of each row that differed from another and was removed."""
    merged_at: NDArray[np.int64]
    """The instants of these."""


def settle(
    series: NDArray[np.int64],
    instants: NDArray[np.int64],
    readings: Sequence[NDArray[np.float64]],
    duplicates: Duplicates,
) -> Settled:
    """Settle rows that are sorted by series and instant, those of one instant in the order of the table."""
    new = np.ones(len(series), dtype=np.bool_)
    new[1:] = (series[1:] != series[:-1]) | (instants[1:] != instants[:-1])
    nobody = np.empty(0, dtype=np.int64)
    if new.all():
        return Settled(series, instants, list(readings), nobody, nobody, nobody, nobody)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(series))
    kept = ends - 1 if duplicates is Duplicates.LAST else starts
    group = np.repeat(np.arange(len(starts)), ends - starts)
    rows = np.flatnonzero((ends - starts)[group] > 1)
    different = _different(group[rows], [numbers[rows] for numbers in readings])
    repeated, rows = rows[~different], rows[different]
    first = np.diff(group[rows], prepend=-1) != 0
    settled = [numbers[kept] for numbers in readings]
    for numbers in settled:
        numbers[ends - starts > 1] += 0.0  # zero has no sign, whichever row came first
    if duplicates is Duplicates.MEAN:
        for channel, numbers in enumerate(readings):
            own, found = group[rows], numbers[rows]
            own, found = own[~np.isnan(found)], found[~np.isnan(found)]
            order = np.lexsort((found, own))  # by value, so that the sum does not depend on the order of rows
            own, found = own[order], found[order]
            places = np.flatnonzero(np.diff(own, prepend=-1))
            if len(places):
                means = np.add.reduceat(found, places) / np.diff(np.append(places, len(own)))
                settled[channel][own[places]] = means
    gone = rows[~first]
    return Settled(
        series[starts],
        instants[starts],
        settled,
        series[repeated],
        instants[repeated],
        series[gone],
        instants[gone],
    )


def _different(group: NDArray[np.int64], readings: Sequence[NDArray[np.float64]]) -> NDArray[np.bool_]:
    """Which rows are the first of their group with these readings; a missing reading equals a missing one."""
    order = np.lexsort((*reversed(readings), group))
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.diff(group[order]) != 0
    for numbers in readings:
        here, before = numbers[order][1:], numbers[order][:-1]
        new[1:] |= ~((here == before) | (np.isnan(here) & np.isnan(before)))
    different = np.zeros(len(order), dtype=np.bool_)
    different[order[new]] = True
    return different


def refuse_conflicts(n_merged: int, n_repeated: int, n_doubtful: int, n_rows: int, duplicates: Duplicates) -> None:
    """Refuse rows that differ, or may be two hours that look alike, unless the caller said what to do with them."""
    if duplicates is not Duplicates.FAIL:
        return
    if n_merged:
        further = f" ({n_repeated} more repeat one exactly)" if n_repeated else ""
        raise InputError(
            f"{n_merged} of {n_rows} rows are duplicates that differ: they have the id and time of another row "
            f"but other readings{further}. If they lie in the hour that the clock shows twice at the end of "
            "summer time, give timezone=; otherwise choose one with duplicates='first', 'last' or 'mean'. They "
            "are never added up."
        )
    if n_doubtful:
        raise InputError(
            f"{n_doubtful} of {n_rows} rows repeat another exactly, but in an hour that clocks show twice at the "
            "end of summer time: they may be two hours that look alike. Give timezone=, which distinguishes them "
            "by their order, or declare with duplicates='mean' that they are one."
        )
