"""Tables whose cells hold the readings of a day as an array: each place of the array becomes a column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.read.blocks import per_day
from shoal.read.tables import Table


def spread(table: Table) -> Table:
    """The table with a column for each place of its arrays; itself where no cell holds as many as a day has."""
    lengths: dict[int, int] = {}
    for batch in table.batches(range(len(table.names))):
        found = [place for place, array in enumerate(batch) if _is_list(array.type)]
        if not found:
            break
        for place in found:
            counts = _listed(batch[place]).list.len().fill_null(0).to_numpy()
            lengths[place] = max(lengths.get(place, 0), int(counts.max(initial=0)))
    wanted = {place: length for place, length in lengths.items() if per_day(length) is not None}
    return _SpreadTable(table, wanted) if wanted else table


def _listed(array: Any) -> pl.Series:
    series = pl.Series(pl.from_arrow(array))
    return series.arr.to_list() if isinstance(series.dtype, pl.Array) else series


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


class _SpreadTable(Table):
    def __init__(self, table: Table, lengths: dict[int, int]) -> None:
        self._table = table
        self._places: list[tuple[int, int | None]] = []
        names = []
        for place, name in enumerate(table.names):
            for n in range(lengths[place]) if place in lengths else (None,):
                self._places.append((place, n))
                names.append(name if n is None else f"{name} {n + 1}")
        super().__init__(names, kind=table.kind, sha256=table.sha256, untyped=table.untyped)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Cells of the table, those of arrays by their place."""
        wanted = sorted({self._places[column][0] for column in columns})
        for batch in self._table.batches(wanted):
            held = dict(zip(wanted, batch, strict=True))
            yield [self._cell(held[place], n) for place, n in (self._places[column] for column in columns)]

    @staticmethod
    def _cell(array: Any, n: int | None) -> Any:
        if n is None:
            return array
        return _listed(array).list.get(n, null_on_oob=True).to_arrow()
