"""Tables whose cells hold arrays: the readings of a day, or times and readings side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.errors import InputError
from shoal.read.blocks import per_day
from shoal.read.headings import groups_of
from shoal.read.stamps import find_form
from shoal.read.tables import SourceTable, as_series


def spread(table: SourceTable) -> SourceTable:
    """The table with a column for each position of its arrays, or with a row for each if one of them holds times.

    The table itself if no cell holds as many entries as a day has.
    """
    for batch in table.batches(range(len(table.names))):
        lists = [place for place, array in enumerate(batch) if _is_list(array.type)]
        if any(_holds_time(batch[place]) for place in lists):
            return _RowsOfArrays(table, lists, batch)
        break
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


def _holds_time(array: Any) -> bool:
    """Whether the entries of arrays are times, or records with one."""
    kind = array.type.value_type
    if pa.types.is_struct(kind):
        return any(
            _is_time(kind.field(n).type) or "time" in groups_of(kind.field(n).name) for n in range(kind.num_fields)
        )
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return _is_time(kind)
    entries = _listed(array).explode().drop_nulls().unique().head(400)
    return len(entries) > 1 and find_form(entries) is not None


def _is_time(kind: Any) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


class _RowsOfArrays(SourceTable):
    """A row for each position of arrays that belong together, and a column for each part of their records."""

    def __init__(self, table: SourceTable, lists: list[int], batch: list[Any]) -> None:
        self._table, self._lists = table, lists
        super().__init__(self._rows(batch).columns, kind=table.kind, sha256=table.sha256, untyped=table.untyped)

    def _rows(self, batch: list[Any]) -> pl.DataFrame:
        columns = {
            f"{place}": _listed(array) if place in self._lists else as_series(array)
            for place, array in enumerate(batch)
        }
        counts = [columns[f"{place}"].list.len() for place in self._lists]
        if any((count != counts[0]).any() for count in counts):
            raise InputError("Arrays in the cells of one row differ in length. Write one row per reading.")
        frame = pl.DataFrame(columns).explode([f"{place}" for place in self._lists])
        parts: dict[str, pl.Series] = {}
        for place, name in enumerate(self._table.names):
            column = frame[f"{place}"]
            inner = column.struct.unnest() if isinstance(column.dtype, pl.Struct) else pl.DataFrame({name: column})
            for part in inner.columns:
                parts[part if part not in parts else f"{name}.{part}"] = inner[part]
        return pl.DataFrame(parts)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Rows of the arrays."""
        for batch in self._table.batches(range(len(self._table.names))):
            frame = self._rows(batch)
            yield [frame.to_series(column).to_arrow() for column in columns]


class _SpreadTable(SourceTable):
    def __init__(self, table: SourceTable, lengths: dict[int, int]) -> None:
        self._table = table
        self._places: list[tuple[int, int | None]] = []
        names = []
        for place, name in enumerate(table.names):
            for n in range(lengths[place]) if place in lengths else (None,):
                self._places.append((place, n))
                names.append(name if n is None else f"{name} {n + 1}")
        super().__init__(names, kind=table.kind, sha256=table.sha256, untyped=table.untyped)

    def batches(self, columns: Sequence[int]) -> Iterator[list[Any]]:
        """Cells of the table; those of arrays by position."""
        wanted = sorted({self._places[column][0] for column in columns})
        for batch in self._table.batches(wanted):
            held = dict(zip(wanted, batch, strict=True))
            yield [self._cell(held[place], n) for place, n in (self._places[column] for column in columns)]

    @staticmethod
    def _cell(array: Any, n: int | None) -> Any:
        if n is None:
            return array
        return _listed(array).list.get(n, null_on_oob=True).to_arrow()
