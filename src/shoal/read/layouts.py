"""How series and instants are arranged in a table, from the content, names and stated roles of its columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.read.blocks import QuantityBlock, find_block_by_number, find_blocks
from shoal.read.headings import unit_of
from shoal.read.profiles import NumberForm, Profile
from shoal.read.series_columns import FEW, choose_values, find_channel, find_id, is_static, plausible_values
from shoal.read.stamps import StampForm, find_form, share_with
from shoal.read.subjects import are_channels, refuse_unlike
from shoal.read.time_columns import find_offset, find_time, find_zone_name, is_daily
from shoal.read.time_parts import has_months
from shoal.read.understanding import Guess, Part, TableShape, TimeGuess, Wishes


def guess(columns: Sequence[Profile], numbers: NumberForm, wishes: Wishes) -> Guess | None:
    """What the columns are; None if no time or no reading is found."""
    blocks = find_blocks(columns) if wishes.value is None else []
    blocks = [block for block in blocks if not block.is_monthly or has_months(columns)]
    time = find_time(columns, wishes, blocks)
    if time is None:
        return _row_per_series(columns, numbers, wishes)
    find_offset(time, columns)
    found = Guess(TableShape.LONG, time, numbers, doubts=list(time.doubts))
    found.roles |= time.used
    find_zone_name(found, columns)
    if not blocks and wishes.value is None and is_daily(columns, time):
        blocks = find_block_by_number(columns)
    if blocks and is_daily(columns, time):
        return _day_rows(found, columns, blocks, wishes)
    return _long(found, columns, wishes)


def _long(found: Guess, columns: Sequence[Profile], wishes: Wishes) -> Guess | None:
    taken = set(found.roles) | set(wishes.other)
    found.values = wishes.value or ()
    candidates = [
        c
        for c in columns
        if c.position not in taken and c.kind == "number" and c.position not in (wishes.id, wishes.channel)
    ]
    if wishes.value is None:
        plausible = plausible_values(candidates)
        find_id(found, columns, wishes, taken | {c.position for c in plausible})
        if found.id is None and not plausible:
            return None
        candidates = [c for c in candidates if c.position != found.id]
        find_channel(found, columns, wishes, taken | {c.position for c in plausible_values(candidates)})
        found.values = tuple(choose_values(found, columns, candidates))
    else:
        find_id(found, columns, wishes, taken | set(wishes.value))
        find_channel(found, columns, wishes, taken | set(wishes.value))
    if not found.values:
        return None
    for position in found.values:
        found.roles[position] = (Part.VALUE, "numbers that change from row to row")
    found.unit = found.unit or next((u for p in found.values if (u := unit_of(columns[p].name))), None)
    names = [columns[p].name for p in found.values]
    if found.id is None and not found.channel and (len(names) > 1 or wishes.columns == "series"):
        _columns_as_series_or_channels(found, names, wishes.columns)
    elif len(names) > 1:
        names = [columns[p].name or f"column {p + 1}" for p in found.values]
        found.channels = tuple(_different(names))
    _tell_rest(found, columns)
    return found


def _columns_as_series_or_channels(found: Guess, names: list[str], asked: str | None) -> None:
    """Columns of one quantity are series, others are channels of one series; see `shoal.read.subjects`."""
    found.asked = asked is not None
    if not all(names):
        if asked is None:
            refuse_unlike(names, np.empty(0), "time")
        names = [name or f"column {p + 1}" for name, p in zip(names, found.values, strict=True)]
    if asked == "series" or (asked is None and not are_channels(names)):
        found.shape = TableShape.COLUMN_PER_SERIES
        found.series = tuple(names)
        for position in found.values:
            found.roles.pop(position, None)
        return
    parts = [name.rpartition(" - ") for name in names]
    if len({part[2] for part in parts}) == 1 and all(part[1] for part in parts):
        # Quantity - place, with one place.
        found.only_id = parts[0][2]
        names = [part[0] for part in parts]
    found.channels = tuple(_different(names))


def _different(names: list[str]) -> list[str]:
    seen: dict[str, int] = {}
    told = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        told.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return told


def _day_rows(
    found: Guess, columns: Sequence[Profile], blocks: Sequence[QuantityBlock], wishes: Wishes
) -> Guess | None:
    found.shape = TableShape.DAY_ROWS
    found.blocks = tuple(blocks)
    inside = {p for block in blocks for p in block.positions}
    taken = set(found.roles) | set(wishes.other) | inside
    # Flags between the readings, and totals, are no part of what tells rows apart.
    taken |= {c.position for c in columns if c.position > min(inside) and c.position < max(inside)}
    taken |= {c.position for c in columns if c.kind == "number" and not c.is_whole}
    taken |= {c.position for c in columns if c.groups & {"total", "cost"}}
    find_id(found, columns, wishes, taken)
    find_channel(found, columns, wishes, taken)
    if len(blocks) > 1:
        found.channels = tuple(_different([block.name or f"block {n}" for n, block in enumerate(blocks, 1)]))
    units = [u for block in blocks if (u := unit_of(block.name))]
    found.unit = found.unit or (units[0] if units else None)
    labelled = blocks[0].labelled
    found.time.interval = "start"
    found.time.interval_evidence = {
        "start": "the columns begin at 00:00",
        "end": "the columns go from the first step to midnight at the end of the day",
        "number": "the columns are numbered from the start of the day",
    }[labelled]
    _tell_rest(found, columns, inside)
    return found


def _row_per_series(columns: Sequence[Profile], numbers: NumberForm, wishes: Wishes) -> Guess | None:
    """Columns named by dates, or by dates and times."""
    if wishes.value is not None or wishes.time is not None:
        return None
    fit = [c for c in columns if c.kind in ("number", "empty") and c.name and c.position not in wishes.other]
    if len(fit) < 2:
        return None
    labels = pl.Series([c.name for c in fit])
    marked = share_with(labels, r"^\d+$") < 0.5  # 202401 may be a number of anything
    for form in (
        "ymd",
        "dmy",
        "named",
        "words",
        "compact",
        "month_name",
        "named_month",
        *(["month"] if marked else []),
    ):
        named = [c for c, ok in zip(fit, StampForm(form).read(labels).valid, strict=True) if ok]
        if len(named) >= max(2, 0.5 * len(fit)):
            break
    else:
        return None
    names = pl.Series([c.name for c in named])
    stamp = find_form(names)
    if stamp is None:
        return None
    instants = stamp[0].read(names)
    found = Guess(TableShape.ROW_PER_SERIES, TimeGuess(form=stamp[0]), numbers)
    found.time.interval_evidence = ""
    found.values = tuple(c.position for c in named)
    found.instants = tuple((instants.printed - instants.offset * 60_000_000).tolist())
    inside = set(found.values)
    taken = inside | set(wishes.other) | {c.position for c in columns if c.kind == "number" and not c.is_whole}
    find_id(found, columns, wishes, taken)
    if found.id is None:
        rest = [c for c in columns if c.position not in taken and c.kind in ("word", "number") and c.share_filled == 1]
        if not rest:
            return None
        found.id = rest[0].position
        found.roles[found.id] = (Part.ID, "the first column that is not a reading")
    find_channel(found, columns, wishes, taken)
    _tell_rest(found, columns, inside)
    return found


def _tell_rest(found: Guess, columns: Sequence[Profile], inside: set[int] | None = None) -> None:
    """Roles of the columns that reading does not use."""
    skipped = (inside or set()) | (set(found.values) if found.series else set())
    for column in columns:
        if column.position in found.roles or column.position in skipped:
            continue
        words = column.groups
        if column.kind == "empty":
            role = (Part.EMPTY, "no entries")
        elif "cost" in words:
            role = (Part.COST, "its name")
        elif "total" in words and column.kind == "number":
            role = (Part.TOTAL, "its name")
        elif "unit" in words:
            role = (Part.UNIT, "its name")
        elif "status" in words:
            role = (Part.STATUS, "its name")
        elif column.is_constant:
            role = (Part.CONSTANT, "one entry in all rows looked at")
        elif found.id is not None and is_static(columns, found.id, column):
            role = (Part.STATIC, "one entry per series")
        elif column.kind == "word" and column.n_distinct <= FEW:
            role = (Part.STATUS, f"{column.n_distinct} different words")
        else:
            role = (Part.OTHER, "")
        found.roles[column.position] = role
