"""Which columns hold the readings of a table with a row per series and instant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from shoal.read.guesses import Guess
from shoal.read.headings import groups_of, unit_of, words_of
from shoal.read.profiles import Profile
from shoal.read.series_columns import FEW, is_static
from shoal.read.understanding import Part


def plausible_values(candidates: Sequence[Profile]) -> list[Profile]:
    """Numbers that may be readings: not money, flags, totals or numbers that name something."""
    paid = [c for c in candidates if not c.groups & {"cost", "place"}]
    paid = [c for c in paid if not _counts_rows(c)] or paid
    fit = [c for c in paid if not _is_total(c, paid)] or paid
    fit = [c for c in fit if not (c.groups & {"status", "offset"} and set(np.unique(c.present)) <= {0.0, 1.0, 2.0})]
    sure = [c for c in fit if c.has_decimals or "value" in c.groups or unit_of(c.name)]
    if any(c.has_decimals for c in sure):
        patterns = {_pattern(c) for c in sure} - {""}
        return [c for c in fit if c in sure or _pattern(c) in patterns]
    # Several columns that differ in a number alone are series or channels, none of them names a series.
    alike = Counter(_pattern(c) for c in fit if not c.groups & {"status"})
    return [
        c
        for c in fit
        if not c.groups & {"point", "meter", "owner", "id", "status", "channel"} or alike[_pattern(c)] > 1
    ]


def _counts_rows(column: Profile) -> bool:
    """Whether numbers go up by one from row to row, as row numbers do."""
    found = column.numbers
    return column.is_whole and found is not None and len(found) > 20 and bool(np.all(np.diff(found) == 1))


def _is_total(column: Profile, others: Sequence[Profile]) -> bool:
    """Whether a column called a total has no other name, or is the sum of the others."""
    if "total" not in column.groups or all(groups_of(word) or unit_of(word) for word in words_of(column.name)):
        return "total" in column.groups
    rest = [c.numbers for c in others if "total" not in c.groups and c.numbers is not None and c.has_decimals]
    if not rest or column.numbers is None:
        return False
    return bool(np.allclose(np.sum(rest, axis=0), column.numbers, rtol=1e-3, atol=0.01, equal_nan=True))


def _pattern(column: Profile) -> str:
    """The name with its numbers left open: columns of one pattern are of one kind."""
    return re.sub(r"\d+", "#", column.name)


def choose_values(found: Guess, columns: Sequence[Profile], candidates: Sequence[Profile]) -> list[int]:
    """The columns with readings, among the candidates."""
    fit = [c for c in plausible_values(candidates) if c.position not in found.channel]
    if found.id is not None and len(fit) > 1:
        moving = [c for c in fit if not is_static(columns, found.id, c)]
        for column in fit:
            if column not in moving:
                found.roles[column.position] = (Part.STATIC, "one entry per series")
        fit = _without_copies(moving or fit)
    if len(fit) > 1:
        units = [c for c in fit if unit_of(c.name)]
        named = [c for c in fit if "value" in c.groups and not c.groups & {"status", "point", "meter", "id"}]
        sure = units or (named if len(named) == 1 else fit)
        # What varies beside them was measured too, in a unit that is not told.
        written = any(c.has_decimals for c in sure)
        kinds = {pattern for c in sure if "#" in (pattern := _pattern(c))}  # m3 is a unit, or the third of many
        fit = [c for c in fit if c in sure or _pattern(c) in kinds or _is_measured(c, written, alone=found.id is None)]
        patterns = {_pattern(c) for c in fit if not c.is_constant}
        fit = [c for c in fit if _pattern(c) in patterns] or fit
    return [c.position for c in fit]


def _without_copies(columns: list[Profile]) -> list[Profile]:
    """Columns without those that always repeat another; the one named like a reading stays."""
    kept: list[Profile] = []
    for column in sorted(columns, key=lambda c: ("value" not in c.groups, c.position)):
        if column.n_distinct < 10 or not any(column.texts.equals(other.texts) for other in kept):
            kept.append(column)
    return sorted(kept, key=lambda c: c.position)


def _is_measured(column: Profile, has_decimals: bool, *, alone: bool) -> bool:
    """Whether numbers next to a reading are readings too: written alike, with a name that says nothing else."""
    if column.is_constant or column.has_decimals != has_decimals or (not has_decimals and column.n_distinct <= FEW):
        return False
    return "id" not in column.groups if alone and has_decimals else not column.groups
