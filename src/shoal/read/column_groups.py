"""Two header lines: names over groups of columns, and the same quantities below each."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.read.tables import Table
from shoal.read.text_rows import Rows


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


class GroupedTable(Table):
    """A row for each group and row of a table, and a column with the name of the group."""

    def __init__(self, table: Table, groups: ColumnGroups) -> None:
        self._table, self._groups = table, groups
        n_keys, width = len(groups.keys), groups.columns[-1][-1] + 1
        # What lines above the table say is in columns behind the groups.
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

    def close(self) -> None:
        """Close the table."""
        self._table.close()
