"""The interface of an engine: map over blocks, bring equal keys together, merge summaries. Nothing else.

Everything that runs on many machines is written once against this interface, and every engine gives the same rows. Work
must therefore depend only on the rows it gets: not on where blocks begin and end, on the clock or on randomness. Then a
part that is lost with its machine can simply be computed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import pyarrow as pa

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.model.panel_shards import PanelShards

Blocks = Iterator[pa.RecordBatch]
Work = Callable[[Blocks], Blocks]
"""Processes the blocks of one part in order. It must survive pickling: use a callable frozen dataclass, not a
closure."""

V = TypeVar("V")
V_co = TypeVar("V_co", covariant=True)

MOST_COLLECTED = 256 * 2**20
"""Bytes that may reach the driver at once: summaries, samples and plans, never a panel."""


class Shared(Protocol, Generic[V_co]):
    """A value that every worker can read: targets, prices, a plan."""

    @property
    def value(self) -> V_co:
        """The value itself."""
        ...


class Table(Protocol):
    """Rows stored somewhere, in parts; lazy until they are kept."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        ...


class Engine(Protocol):
    """Where the work runs. Use it as a context manager: at its end, scratch files are removed."""

    @property
    def name(self) -> str:
        """Its name in a policy file."""
        ...

    @property
    def cores(self) -> int:
        """Number of parts processed at once."""
        ...

    def read(self, path: str, columns: Sequence[str] | None = None) -> Table:
        """A Parquet file or a folder of them."""
        ...

    def scatter(self, rows: pa.Table, parts: int | None = None) -> Table:
        """Spread rows from the driver, such as file names, over parts; by default, one part for each row."""
        ...

    def map(self, table: Table, work: Work, schema: pa.Schema) -> Table:
        """Do the work on every part; it sees the blocks of a part in order."""
        ...

    def together(
        self, table: Table, keys: Sequence[str], work: Work, schema: pa.Schema, *, order: Sequence[str] = ()
    ) -> Table:
        """Like `map`, but with all rows of a key in one part, sorted by the keys and then by `order`. No key may be
        missing."""
        ...

    def concat(self, tables: Sequence[Table]) -> Table:
        """The rows of several tables that have the same columns."""
        ...

    def keep(self, table: Table) -> Table:
        """The same rows, computed once even if they are used several times."""
        ...

    def collect(self, table: Table, *, most: int = MOST_COLLECTED) -> pa.Table:
        """Bring all rows to the driver. Refused above `most` bytes: a panel does not fit there."""
        ...

    def share(self, value: V) -> Shared[V]:
        """Send a value to every worker once, not with every task."""
        ...

    def scratch(self) -> Path | None:
        """A new folder for files that all workers can read, removed at the end; None if they share no folder."""
        ...

    def close(self) -> None:
        """Remove the contents of scratch folders."""
        ...

    def read_panel(self, source: Any, *, shard_size: int | None = None, **settings: Any) -> PanelShards:
        """Series over common instants, as `shoal.read_panel` reads them, in shards."""
        ...


class PanelReading:
    """Reading a panel, the same on every engine."""

    def read_panel(self: Any, source: Any, *, shard_size: int | None = None, **settings: Any) -> PanelShards:
        """Series over common instants, as `shoal.read_panel` reads them, in shards."""
        from shoal.engines.reading import read_source

        shards: PanelShards = read_source(self, source, shard_size, **settings)
        return shards


def refuse_large(n_bytes: int, most: int) -> None:
    """Refuse to collect what is too large for a summary."""
    if n_bytes > most:
        raise ParameterError(
            f"More than {most // 2**20} MiB would be collected in one place. This step does not work on an engine."
        )
