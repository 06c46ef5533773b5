"""Tables whose columns express two things at once, turned into rows.

Dates next to times of day; months next to years; names over groups of columns, and the same quantities below each.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from shoal.read.blocks import per_day
from shoal.read.headings import groups_of, words_of
from shoal.read.stamps import StampForm, find_form, month_of
from shoal.read.tables import SourceTable
from shoal.read.text_rows import Rows, kind_of_cell


def unfold(rows: Rows) -> Rows:
    """Rows in which each thing has a column of its own; unchanged if they need none."""
    return _dates_across(rows) or _times_across(rows) or _months_across(rows) or _rows_of_days(rows) or rows


def _times_across(rows: Rows) -> Rows | None:
    """Tables side by side, each with times of its own: repeated pairs of time and value."""
    width = len(rows.cells[0]) if rows.cells else 0
    for upper, lower in itertools.pairwise([[], *rows.head]):
        bare = [re.sub(r"[._ ]\d+$", "", name) for name in lower]
        sizes = (n for n in range(2, width // 2 + 1) if width % n == 0 and len(set(bare[::n])) == 1)
        n_each = next(sizes, 0) if len(lower) == width and bare[0] else 0
        groups = [list(range(place, place + n_each)) for place in range(0, width, n_each)] if n_each else []
        if not groups or not all(_are_times([row[group[0]] for row in rows.cells]) for group in groups):
            continue
        below = {tuple(bare[place] for place in group[1:]) for group in groups}
        above = [upper[group[0]] if len(upper) > group[0] else "" for group in groups]
        if len(below) == 1:
            names = above if all(above) and len(set(above)) == len(groups) else list(map(str, range(len(groups))))
            quantities = bare[:n_each]
        elif n_each == 2 and len(below) == len(groups):
            names, quantities = bare[1::2], [bare[0], "value"]
        else:
            continue
        cells = [
            [name, *(row[place] for place in group)]
            for name, group in zip(names, groups, strict=True)
            for row in rows.cells
            if row[group[0]]
        ]
        return replace(rows, cells=cells, names=["meter", *quantities], section=[0] * len(cells), context=[{}])
    return None


def _months_across(rows: Rows) -> Rows | None:
    """A row for each year, or year and meter, and a column for each month by its name."""
    names = rows.names or []
    months = [place for place, name in enumerate(names) if name.isalpha() and month_of(name)]
    years = [name for name in names if set(words_of(name)) & {"year", "jahr", "annee", "ano", "anno", "jaar", "rok"}]
    if [month_of(names[place]) for place in months] != list(range(1, 13)) or len(years) != 1:
        return None
    beside = [place for place, name in enumerate(names) if place not in months and "total" not in groups_of(name)]
    cells = [[*(row[p] for p in beside), names[month], row[month]] for row in rows.cells for month in months]
    section = [place for place in rows.section for _ in months]
    return replace(rows, cells=cells, names=[*(names[p] for p in beside), "month", "value"], section=section)


def _are_times(cells: list[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and sum(kind_of_cell(cell) == "T" for cell in filled) > 0.9 * len(filled)


def _rows_of_days(rows: Rows) -> Rows | None:
    """Sections with a date and nothing but readings in order: the number of each within its day as a column."""
    width = len(rows.cells[0]) if rows.cells else 0
    dated = {key for told in rows.context for key, entry in told.items() if kind_of_cell(entry) == "T"}
    if len(rows.context) < 2 or not dated or any(_are_times([row[c] for row in rows.cells]) for c in range(width)):
        return None
    n_rows = Counter(rows.section)
    if len({per_day(n) for n in n_rows.values()}) > 1 or per_day(max(n_rows.values())) is None:
        return None
    seen: Counter[int] = Counter()
    cells = []
    for row, section in zip(rows.cells, rows.section, strict=True):
        seen[section] += 1
        cells.append([*row, str(seen[section])])
    return replace(rows, cells=cells, names=[*(rows.names or [""] * width), "period"])


def _dates_across(rows: Rows) -> Rows | None:
    """A row for each time of day, or for its number, and a column for each date."""
    names = rows.names or []
    if len(names) < 3 or not 20 <= len(rows.cells) <= 1500 or len(set(rows.section)) > 1:
        return None
    names = _days_of_a_month(rows) or names
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


def _days_of_a_month(rows: Rows) -> list[str] | None:
    """The dates of columns called 1 to 31 below a line that names their month; None if they are not dates."""
    names = rows.names or []
    days = [int(name) for name in names[1:] if name.isdecimal()]
    if not 28 <= len(days) <= 31 or days != list(range(1, len(days) + 1)):
        return None
    months = {month for line in rows.head for cell in line if (month := _month_in(cell))}
    if len(months) != 1:
        return None
    first = np.datetime64(months.pop(), "D")
    last = (first.astype("datetime64[M]") + 1).astype("datetime64[D]")
    dates = [first + int(name) - 1 if place and name.isdecimal() else None for place, name in enumerate(names)]
    # Columns for days that the month does not have get no name.
    return [name if date is None else str(date) if date < last else "" for name, date in zip(names, dates, strict=True)]


def _month_in(cell: str) -> str | None:
    """The month that a title names, such as "Month: January 2024", as 2024-01."""
    text = re.sub(r"^(\d{2})[/.](\d{4})$", r"$2-$1", cell.rpartition(":")[2].strip())
    for name in ("month_name", "named_month", "month"):
        found = StampForm(name).read(pl.Series([text]))
        if found.valid[0]:
            return str(found.printed.astype("datetime64[us]")[0].astype("datetime64[M]"))
    return None


@dataclass(frozen=True)
class ColumnGroups:
    """Columns of the same quantities, a group of them for each name."""

    names: tuple[str, ...]
    """Of the groups."""
    columns: tuple[tuple[int, ...], ...]
    """Positions of the columns of each group."""
    keys: tuple[str, ...]
    """Names of the columns left of them."""
    quantities: tuple[str, ...]


def find_groups(rows: Rows) -> ColumnGroups | None:
    """The groups that two lines above the first row define; None if they define none."""
    width = len(rows.cells[0]) if rows.cells else 0
    for upper, lower in itertools.pairwise(rows.head):
        if len(lower) != width or not 3 <= len(upper) <= width:
            continue
        names: list[str] = []
        for cell in upper + [""] * (width - len(upper)):
            names.append(cell or (names[-1] if names else ""))
        first = next((column for column in range(1, width) if upper[column : column + 1] > [""]), width)
        runs = [tuple(run) for _, run in itertools.groupby(range(first, width), key=names.__getitem__)]
        below = {tuple(lower[column] for column in run) for run in runs}
        told = tuple(names[run[0]] for run in runs)
        if len(below) > 1 or len(runs) < 2 or len(set(told)) < len(told):
            continue
        quantities = next(iter(below))
        if len(quantities) < 2 or len(set(quantities)) < len(quantities) or not all(quantities):
            continue
        keys = tuple(low or up for low, up in zip(lower[:first], upper[:first], strict=True))
        return ColumnGroups(told, tuple(runs), keys, quantities)
    return None


class GroupedTable(SourceTable):
    """A row for each group and row of a table, and a column with the name of the group."""

    def __init__(self, table: SourceTable, groups: ColumnGroups) -> None:
        self._table, self._groups = table, groups
        n_keys, width = len(groups.keys), groups.columns[-1][-1] + 1
        # Columns after the groups hold what the lines above the table say.
        beside = [*range(n_keys), *range(width, len(table.names))]
        names = [*groups.keys, *table.names[width:], "meter", *groups.quantities]
        self._beside = beside
        super().__init__(names, kind=table.kind, sha256=table.sha256, untyped=table.untyped)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """The rows of a batch group by group: those of one name stay in order."""
        n_beside = len(self._beside)
        places = [column - n_beside - 1 for column in columns if column > n_beside]
        wanted = {self._beside[column] for column in columns if column < n_beside}
        wanted |= {group[place] for group in self._groups.columns for place in places} or {0}
        order, own = sorted(wanted), pa.array(self._groups.names, pa.large_string())
        for batch in self._table.batches(order):
            held = dict(zip(order, batch, strict=True))
            names = pa.DictionaryArray.from_arrays(np.repeat(np.arange(len(self._groups.names)), len(batch[0])), own)
            yield [
                names.cast(pa.large_string())
                if column == n_beside
                else pa.concat_arrays(held[p] for p in self._sources(column))
                for column in columns
            ]

    def _sources(self, column: int) -> list[int]:
        """Where a column comes from, for each group."""
        if column < len(self._beside):
            return [self._beside[column]] * len(self._groups.names)
        return [group[column - len(self._beside) - 1] for group in self._groups.columns]

    def account(self) -> Mapping[str, int]:
        """The account of the table."""
        return self._table.account()

    def close(self) -> None:
        """Close the table."""
        self._table.close()
