"""Tables whose columns say two things at once, as rows: meters over quantities, dates beside times of day."""

from __future__ import annotations

import itertools
from dataclasses import replace

import polars as pl

from shoal.read.blocks import per_day
from shoal.read.stamps import find_form
from shoal.read.text_rows import Rows


def unfold(rows: Rows) -> Rows:
    """Rows in which each thing has a column of its own; as they are where they need none."""
    return _dates_across(rows) or _groups_across(rows) or rows


def _groups_across(rows: Rows) -> Rows | None:
    """Two lines of header: names over the columns that belong to them, and the same names below each."""
    width = len(rows.cells[0]) if rows.cells else 0
    for upper, lower in itertools.pairwise(rows.head):
        if len(lower) != width or not 3 <= len(upper) <= width:
            continue
        names: list[str] = []
        for cell in upper + [""] * (width - len(upper)):
            names.append(cell or (names[-1] if names else ""))
        first = next((column for column in range(1, width) if upper[column : column + 1] > [""]), width)
        runs = [list(run) for _, run in itertools.groupby(range(first, width), key=names.__getitem__)]
        below = {tuple(lower[column] for column in run) for run in runs}
        told = [names[run[0]] for run in runs]
        if len(below) > 1 or len(runs) < 2 or len(set(told)) < len(told):
            continue
        quantities = next(iter(below))
        if len(quantities) < 2 or len(set(quantities)) < len(quantities) or not all(quantities):
            continue
        keys = [low or up for low, up in zip(lower[:first], upper[:first], strict=True)]
        cells = [
            [*row[:first], name, *(row[column] for column in run)]
            for row in rows.cells
            for name, run in zip(told, runs, strict=True)
        ]
        section = [place for place in rows.section for _ in runs]
        return replace(rows, cells=cells, names=[*keys, "meter", *quantities], section=section)
    return None


def _dates_across(rows: Rows) -> Rows | None:
    """A row for each time of day, or for its number, and a column for each date."""
    names = rows.names or []
    if len(names) < 3 or not 20 <= len(rows.cells) <= 1500 or len(set(rows.section)) > 1:
        return None
    filled = [place for place, name in enumerate(names) if place and name]
    dates = find_form(pl.Series([names[place] for place in filled], dtype=pl.String)) if len(filled) > 1 else None
    if dates is None or dates[0].is_range:
        return None
    found = dates[0].read(pl.Series([names[place] for place in filled]))
    clocks = [row[0] for row in rows.cells]
    if not found.valid.all() or found.has_time.any() or len(set(clocks)) < 0.9 * len(clocks) or not all(clocks):
        return None
    clock = find_form(pl.Series(clocks))
    numbered = (
        all(text.isdecimal() for text in clocks) and per_day(len(clocks)) is not None and int(clocks[0]) in (0, 1)
    )
    if not numbered and (clock is None or clock[0].name != "time"):
        return None
    cells = [[names[place], row[0], row[place]] for place in filled for row in rows.cells]
    return replace(rows, cells=cells, names=["Date", names[0] or "Time", "value"], section=[0] * len(cells))
