"""Which columns name the series of a row and its channel, and which hold its readings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.read.headings import groups_of, unit_of, words_of
from shoal.read.profiles import Profile
from shoal.read.stamps import share_with
from shoal.read.understanding import Guess, Part, TableShape, Wishes

FEW = 30
"""Largest number of different entries for a column that may name channels."""
_UNIQUE = 0.03
"""Share of rows that may share series and instant with another: repeats, and the hour that clocks show twice."""


def _n_rows(columns: Sequence[Profile], keys: Sequence[int]) -> tuple[int, int]:
    """The number of rows, and of different ones in these columns."""
    n = len(columns[0].texts)
    if not keys:
        return n, min(n, 1)
    frame = pl.DataFrame([columns[key].texts.alias(str(key)) for key in dict.fromkeys(keys)])
    return n, frame.n_unique()


def _shared(columns: Sequence[Profile], keys: Sequence[int]) -> float:
    """The share of rows that have the same entries in these columns as an earlier one."""
    n, n_different = _n_rows(columns, keys)
    return 1 - n_different / max(1, n)


def _id_score(column: Profile) -> float:
    """How much a column looks like an identifier, by its name and by what it holds."""
    words = column.groups
    score = 6.0 if "point" in words else 4.0 if "meter" in words else 3.5 if "owner" in words else 0.0
    if "id" in words:
        score = score + 0.5 if score else 3.0
    if "serial" in words_of(column.name):
        score -= 2.5  # of the device, which is exchanged; the point of supply stays
    if words_of(column.name) == ("name",):
        score -= 1.5  # belongs to the resident
    if words & {"record", "place"}:
        score -= 3
    if "account" in words:
        score -= 2  # who pays may do so for several meters
    if words & {"status", "unit", "cost", "total", "time"} and "point" not in words and not words & {"meter", "owner"}:
        score -= 3
    texts = column.texts.drop_nulls()
    texts = texts.filter(texts.str.len_chars() > 0).unique().head(200)
    lengths = texts.str.len_chars().to_numpy()
    n_digits = int(texts.str.count_matches(r"\d").to_numpy().min(initial=99))
    same, shortest = len(set(lengths.tolist())) == 1, int(lengths.min(initial=99))
    if share_with(texts, r"(?i)^[0-9a-f]{32}$|^[0-9a-f]{8}-[0-9a-f]{4}-") > 0.9:
        score += 0.5  # a hash is rather the key of a row
    elif same and n_digits >= 6 and shortest >= 13:
        score += 3
    elif n_digits >= 8 or (same and n_digits >= 6):
        score += 2 + (share_with(texts, r"^\d+$") == 1)
    elif n_digits:
        score += 0.5
    if column.is_whole and 1 < column.n_distinct == column.present.max() - column.present.min() + 1 < 100:
        score -= 0.5  # counted from 1, as parts of a file are
    return score - 0.01 * column.position


def is_static(columns: Sequence[Profile], id_: int, column: Profile) -> bool:
    """Whether a column has one entry for each series, and some series have several rows."""
    frame = pl.DataFrame({"id": columns[id_].texts, "entry": column.texts})
    n_ids = frame["id"].n_unique()
    return frame.n_unique() == n_ids and 2 * n_ids <= len(frame)


NAMING = frozenset({"point", "meter", "owner", "id"})
"""Groups of words in the names of columns that name series."""


def _names_quantities(column: Profile) -> bool:
    """Whether a column has only a few words for quantities, such as import and export."""
    entries = column.texts.drop_nulls().unique().to_list() if column.n_distinct <= FEW else [" "]
    return all("value" in groups_of(entry) or unit_of(entry) for entry in entries if entry)


def find_id(found: Guess, columns: Sequence[Profile], wishes: Wishes, taken: set[int]) -> None:
    """Find the column that names the series of a row."""
    if wishes.id is not None:
        found.id = wishes.id
        found.roles[wishes.id] = (Part.ID, "named by the caller")
        return
    keys = found.time.keys
    one_series = _shared(columns, keys) <= _UNIQUE
    fit = []
    for column in columns:
        if column.position in taken or column.kind not in ("word", "number", "stamp", "date"):
            continue
        if column.position in keys or column.share_filled < 0.9:
            continue
        if (
            column.kind in ("stamp", "date")
            and column.form is not None
            and not (column.form.is_counted or column.form.name == "compact")
        ):
            continue
        if column.kind == "number" and not column.is_whole:
            continue
        if "channel" in column.groups and not column.groups & NAMING and _names_quantities(column):
            continue
        score = _id_score(column)
        least = 3.0 if column.is_constant or one_series else 0.0
        naming = column.groups & {"point", "meter", "owner"} or (column.groups & {"id", "account"} == {"id"})
        if one_series and not naming and column.name:
            continue
        if "channel" in column.groups and not column.groups & NAMING:
            score -= 2
        if score >= least or not one_series:
            fit.append((score, column))
    fit = [
        (score, c)
        for score, c in fit
        if not (c.n_distinct > 0.6 * len(c.texts) > 30 and found.shape is TableShape.LONG)
    ]
    if not fit:
        return
    fit.sort(key=lambda pair: -pair[0])
    fit = fit[:8]
    shares = {}
    for _, column in fit:
        own = [*keys, column.position]
        shares[column.position] = _shared(columns, [*own, *_fitting_channel(columns, own, taken, pairs=False)])
    least_shared = min(shares.values())
    good = [(score, c) for score, c in fit if shares[c.position] <= max(_UNIQUE, least_shared + 0.01)]
    if one_series:
        good = [(score, c) for score, c in good if score >= 3]
    if not good:
        return
    score, best = good[0]
    if score < 0 and one_series:
        return
    if not best.is_constant and _shared(columns, [*keys, best.position]) > _UNIQUE:
        # An account or a site with several meters, and a column that names these.
        named = [c for _, c in fit if c is not best and c.groups & NAMING and "channel" not in c.groups]
        alone = [c for c in named if _shared(columns, [*keys, c.position]) <= _UNIQUE and not _names_quantities(c)]
        best = next((c for c in alone if is_static(columns, c.position, best)), best)
    if best.is_constant and not best.groups & NAMING:
        # A number above the table, where some column tells the rows of one time apart by itself.
        alone = [c for _, c in good if not c.is_constant and _shared(columns, [*keys, c.position]) <= _UNIQUE]
        best = next((c for c in alone if "channel" not in c.groups and not _names_quantities(c)), best)
    if best.is_constant:
        # One name for all, and others that tell rows of one time apart: these are the series.
        rivals = [c for _, c in good if not c.is_constant and c.groups & NAMING and "channel" not in c.groups]
        alone = [c for c in rivals if _shared(columns, [*keys, c.position]) <= _UNIQUE]
        best = best if one_series else next((c for c in alone if not _names_quantities(c)), best)
    found.id = best.position
    found.roles[best.position] = (Part.ID, _id_evidence(best))


def _id_evidence(column: Profile) -> str:
    words = "its name" if column.groups & NAMING else ""
    held = f"{column.n_distinct} different entries that distinguish rows of one time" if not column.is_constant else ""
    return " and ".join(part for part in (words, held) if part) or "the only column that may name a series"


def _fitting_channel(columns: Sequence[Profile], keys: list[int], taken: set[int], *, pairs: bool = True) -> list[int]:
    """Columns with few entries that make rows of one series and instant different; none if they already are."""
    before = _shared(columns, keys)
    if before <= _UNIQUE:
        return []
    few = [
        c
        for c in columns
        if c.position not in taken
        and c.position not in keys
        and 2 <= c.n_distinct <= FEW
        and (c.kind == "word" or (c.kind == "number" and c.is_whole))
        and not c.groups & {"cost", "total", "later"}
    ]
    shares = sorted(
        (
            _shared(columns, [*keys, c.position]),
            "channel" not in c.groups,
            "status" in c.groups,
            c.n_distinct,
            c.position,
        )
        for c in few
    )
    if shares and shares[0][0] <= max(_UNIQUE, before / 4):
        level = max(_UNIQUE, shares[0][0] + 0.005)
        good = [s for s in shares if s[0] <= level]
        return [min(good, key=lambda s: s[1:])[-1]]
    for first in few if pairs else ():
        for second in few:
            if first.position < second.position:
                pair = [first.position, second.position]
                if _shared(columns, [*keys, *pair]) <= max(_UNIQUE, before / 8):
                    return pair
    return []


_CODES = re.compile(
    r"(?i)[AR][IE]|[A-Z][0-9]{1,2}|[0-9]-[0-9]:[0-9.]+.*|import|export|consumption|generation|production"
)


def find_channel(found: Guess, columns: Sequence[Profile], wishes: Wishes, taken: set[int]) -> None:
    """Find the columns that say which quantity a row has, and the unit if a column states it."""
    if wishes.channel is not None:
        found.channel = (wishes.channel,)
        found.roles[wishes.channel] = (Part.CHANNEL, "named by the caller")
        return
    keys = found.time.keys + ([found.id] if found.id is not None else [])
    found.channel = tuple(_fitting_channel(columns, keys, taken | {found.id or -1}))
    for position in found.channel:
        column = columns[position]
        found.roles[position] = (
            Part.CHANNEL,
            f"{column.n_distinct} different entries that distinguish rows of one series and time",
        )
    if found.channel:
        return
    for column in columns:
        if column.position in taken or not column.is_constant or column.kind != "word":
            continue
        entry = column.texts.drop_nulls().filter(column.texts.drop_nulls().str.len_chars() > 0)[0]
        says_unit = unit_of(entry) is not None and len(entry) <= 6
        if "unit" in column.groups:
            found.roles[column.position] = (Part.UNIT, "its name")
            found.unit = found.unit or entry
        elif "channel" in column.groups and (says_unit or _CODES.fullmatch(entry)):
            found.only_channel = entry
            found.roles[column.position] = (Part.CHANNEL, "its name, and one entry that names a quantity")


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
