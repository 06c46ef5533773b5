"""The engine for this process, with everything in memory: what the other engines do, without a disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.engines.contract import MOST_COLLECTED, PanelReading, Shared, Table, Work, refuse_large
from shoal.engines.local import parquet_files
from shoal.engines.scatter import refuse_missing_keys
from shoal.engines.work_errors import guard
from shoal.errors import InputError
from shoal.model import PanelShards

V = TypeVar("V")


@dataclass(frozen=True)
class MemoryTable:
    """Rows in memory."""

    rows: pa.Table

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self.rows.schema


@dataclass(frozen=True)
class _Value:
    value: Any


class Memory(PanelReading):
    """Runs in this process, on rows that fit into its memory.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> from shoal.engines import Memory, in_shards
    >>> panel = in_shards(simulate.meters(400, days=1, seed=1), Memory(), size=100)
    >>> candidate = Microaggregation(k=5).anonymize(panel)
    >>> candidate.check().holds, candidate.n_shards > 1
    (True, True)
    """

    name: ClassVar[str] = "memory"

    @property
    def cores(self) -> int:
        """Number of parts processed at once."""
        return 1

    def read_panel(self, source: Any, *, shard_size: int | None = None, **settings: Any) -> PanelShards:
        """Anything that `shoal.read_panel` reads, in shards."""
        from shoal.engines.series import in_shards
        from shoal.read import read_panel

        return in_shards(read_panel(source, **settings), self, size=shard_size)

    def read(self, path: str, columns: Sequence[str] | None = None) -> MemoryTable:
        """A Parquet file or a folder of them."""
        files = parquet_files(Path(path))
        names = pq.read_schema(files[0]).names
        if absent := [name for name in columns or () if name not in names]:
            raise InputError(f"There is no column {absent[0]!r} in the table.")
        import pyarrow.dataset as ds  # late: it loads pandas, where that is installed

        rows = ds.dataset(files, format="parquet").to_table(columns=None if columns is None else list(columns))
        return MemoryTable(rows.replace_schema_metadata(None))

    def scatter(self, rows: pa.Table, parts: int | None = None) -> MemoryTable:
        """The rows themselves."""
        return MemoryTable(rows)

    def map(self, table: Table, work: Work, schema: pa.Schema) -> MemoryTable:
        """The work done at once."""
        return MemoryTable(_done(_mine(table).rows.to_batches(), work, schema))

    def together(
        self, table: Table, keys: Sequence[str], work: Work, schema: pa.Schema, *, order: Sequence[str] = ()
    ) -> MemoryTable:
        """The rows sorted, and the work done on them."""
        rows = _mine(table).rows
        for batch in rows.to_batches():
            refuse_missing_keys(batch, tuple(keys))
        rows = rows.sort_by([(name, "ascending") for name in (*keys, *order)])
        return MemoryTable(_done(rows.to_batches(), work, schema))

    def concat(self, tables: Sequence[Table]) -> MemoryTable:
        """Their rows, one after another."""
        return MemoryTable(pa.concat_tables([_mine(table).rows for table in tables]))

    def keep(self, table: Table) -> MemoryTable:
        """They are kept already."""
        return _mine(table)

    def collect(self, table: Table, *, most: int = MOST_COLLECTED) -> pa.Table:
        """All rows."""
        rows = _mine(table).rows
        refuse_large(rows.nbytes, most)
        return rows

    def share(self, value: V) -> Shared[V]:
        """The value itself."""
        return _Value(value)

    def scratch(self) -> None:
        """Rows stay in memory."""

    def close(self) -> None:
        """There is nothing to remove."""

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _done(blocks: list[pa.RecordBatch], work: Work, schema: pa.Schema) -> pa.Table:
    def cast_blocks() -> Iterator[pa.RecordBatch]:
        for block in guard(work(iter(blocks))):
            if block.num_rows:
                yield block.select(schema.names).cast(schema)

    return pa.Table.from_batches(cast_blocks(), schema)


def _mine(table: Table) -> MemoryTable:
    if not isinstance(table, MemoryTable):
        raise TypeError("This table belongs to another engine.")
    return table
