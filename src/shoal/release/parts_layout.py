"""What the rows of a part look like: how bytes of an engine become rows of a table, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.engines.blocks import BlockForm, Clock
from shoal.engines.rows import pack, unpack
from shoal.release.envelopes import WORD_COLUMNS
from shoal.release.files import NotAPanelError, column_times, time_array
from shoal.release.values import long_table, value_columns

_ROWS_AT_ONCE = 1 << 18

WORDS = pa.schema(list(WORD_COLUMNS.items()))
"""The table of patterns."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The columns of a table in parts, and its instants.

    Parameters
    ----------
    form
        "values": `id,time,value`, or a column for each channel. "envelopes": `id,time,low,high`.
    times, timezone, channels
        As of a panel.
    """

    form: BlockForm
    times: NDArray[Any]
    timezone: str | None
    channels: tuple[str, ...]

    @classmethod
    def of(cls, form: BlockForm, clock: Clock) -> Layout:
        """That of something with this clock."""
        return cls(form, clock.times, clock.timezone, clock.channels)

    @property
    def columns(self) -> list[str]:
        """The columns with numbers."""
        return ["low", "high"] if self.form == "envelopes" else value_columns(self.channels)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of all columns."""
        clock = time_array(self.times[:0], self.timezone).type
        return pa.schema(
            [("id", pa.string()), ("time", clock), *((name, pa.float64()) for name in self.columns)],
        )

    @property
    def series_at_once(self) -> int:
        """How many series are written as one row group: the same on every engine, so that files are, too."""
        return max(1, _ROWS_AT_ONCE // max(1, len(self.times)))

    @property
    def clock(self) -> Clock:
        """Instants and channels."""
        return Clock(self.times, ("low", "high") if self.form == "envelopes" else self.channels, self.timezone)

    def table(self, names: pa.Array, published: pa.Array | pa.ChunkedArray) -> pa.Table:
        """Series of these names as rows of the published table."""
        return long_table(names, unpack(published), self.times, self.timezone, self.columns)

    def series(self, rows: pa.Table) -> tuple[pa.Array, pa.Array, int]:
        """Names and bytes of the series in rows of a published table, and how many values are missing.

        Raises NotAPanelError, with a position in these rows, unless they are whole series at the instants.
        """
        n_instants = len(self.times)
        if rows.num_rows % n_instants:
            raise NotAPanelError("is no longer a whole panel: rows are missing, added or out of order")
        codes = rows["id"].combine_chunks().dictionary_encode()
        numbers = codes.indices.to_numpy(zero_copy_only=False).reshape(-1, n_instants)
        if (numbers != numbers[:, :1]).any():
            raise NotAPanelError("is no longer a whole panel: rows are missing, added or out of order")
        names = codes.dictionary.take(pa.array(numbers[:, 0]))
        odd = (column_times(rows).reshape(-1, n_instants) != self.times).any(axis=1)
        if odd.any():
            raise PositionError("series {} is not at the instants of the first one", int(odd.argmax()))
        numbers = np.stack([rows[name].to_numpy().astype(np.float64, copy=False) for name in self.columns], axis=-1)
        if np.isinf(numbers).any():
            row = int(np.isinf(numbers).any(axis=1).argmax())
            raise PositionError("series {} holds an infinite value", row // n_instants)
        n_missing = int(np.isnan(numbers).sum())
        if self.form == "envelopes" and (n_missing or (numbers[:, 0] > numbers[:, 1]).any()):
            wrong = int((np.isnan(numbers).any(axis=1) | (numbers[:, 0] > numbers[:, 1])).argmax())
            raise PositionError("series {} has an envelope without ends, or upside down", wrong // n_instants)
        return names, pack(numbers.reshape(len(names), -1)), n_missing


class PositionError(NotAPanelError):
    """A series of a part is not what was released; its position in the part is to be filled in."""

    def __init__(self, text: str, position: int) -> None:
        super().__init__(text.format(position))
        self.text, self.position = text, position

    def moved(self, by: int) -> PositionError:
        """The same, counted from so many series earlier."""
        return PositionError(self.text, self.position + by)
