"""New names for series, given where the series lie.

    name(series) = the first 64 bits of HMAC-SHA256(key, id)

These are the keyed pseudonyms of releases in memory: the same series has the same name under the same key on every
engine, on whichever worker, and however often its part is computed. Random names are such names under a key that is
drawn from the operating system, used once and never written.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from shoal.engines.contract import Blocks, Engine, Table
from shoal.engines.rows import ID
from shoal.engines.work import starts_of_keys, whole_keys
from shoal.errors import ParameterError, ReleaseError
from shoal.model.keyed_names import keyed_names

NAME = "name"
"""The column with the new names."""

_SHORTEST = 16
_ROWS = 1 << 14


def fresh_key() -> bytes:
    """A key from the operating system. Whoever keeps it can undo the names, so nobody should."""
    return secrets.token_bytes(32)


def rename(engine: Engine, table: Table, key: bytes) -> Table:
    """The table with a further column `name`: text of 16 hexadecimal digits from the key and the column `id`.

    Names of different series may be equal, with odds of 1 in 30 000 among 35 million series: see `refuse_repeated`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from shoal.engines import Local
    >>> with Local() as engine:
    ...     table = engine.scatter(pa.table({"id": ["a", "b"]}), parts=2)
    ...     named = engine.collect(rename(engine, table, b"sixteen bytes ok"))
    >>> named.column_names, len(named["name"][0].as_py())
    (['id', 'name'], 16)
    """
    if not isinstance(key, bytes) or len(key) < _SHORTEST:
        raise ParameterError(
            f"Keyed pseudonyms need a key of at least {_SHORTEST} bytes; it is kept in the private folder."
        )
    if ID not in table.schema.names or NAME in table.schema.names:
        raise ParameterError(f"A table to rename has a column {ID!r} and no column {NAME!r} yet.")
    return engine.map(table, Rename(key), table.schema.append(pa.field(NAME, pa.string())))


@dataclass(frozen=True)
class Rename:
    """Work that adds the names."""

    key: bytes = field(repr=False)

    def __call__(self, blocks: Blocks) -> Blocks:
        """The blocks with one more column."""
        for block in blocks:
            names = keyed_names(self.key, block.column(ID).to_pylist())
            yield block.append_column(NAME, pa.array(names, pa.string()))


def refuse_repeated(engine: Engine, table: Table) -> None:
    """Say no to a table in which two series have the same name."""
    repeated = engine.together(table, [NAME], _CountRepeated(), _COUNT)
    if sum(engine.collect(repeated)["n"].to_pylist()):
        raise ReleaseError("Two series got the same pseudonym. Run again, or use another key.")


_COUNT = pa.schema([("n", pa.int64())])


@dataclass(frozen=True)
class _CountRepeated:
    def __call__(self, blocks: Blocks) -> Blocks:
        for rows in whole_keys((block.select([NAME]) for block in blocks), [NAME], rows=_ROWS):
            n_again = rows.num_rows - int(np.count_nonzero(starts_of_keys(rows, [NAME])))
            if n_again:
                yield pa.record_batch([pa.array([n_again], pa.int64())], schema=_COUNT)
