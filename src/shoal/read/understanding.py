"""What a table is, and why Shoal thinks so: the one account that reading follows and `shoal look` explains.

An understanding is made from a sample of the table and from what the caller named. It holds names of columns, counts
and words of the format, never a reading or an identifier: the names of columns that are series are not in it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Shape(StrEnum):
    """How series and instants lie in a table."""

    LONG = "long"
    """A row per series and instant."""
    DAY_ROWS = "day-rows"
    """A row per series and day, with a column for each interval of the day."""
    ROW_PER_SERIES = "row-per-series"
    """A row per series, with a column for each instant."""
    COLUMN_PER_SERIES = "column-per-series"
    """A row per instant, with a column for each series."""


class Part(StrEnum):
    """What a column is."""

    ID = "id"
    SUBJECT = "subject"
    TIME = "time"
    END = "end"
    """The end of the interval, if another column has its start."""
    SLOT = "slot"
    """The number of the interval within the day."""
    VALUE = "value"
    CHANNEL = "channel"
    STATUS = "status"
    UNIT = "unit"
    COST = "cost"
    TOTAL = "total"
    STATIC = "static"
    """One entry per series."""
    CONSTANT = "constant"
    EMPTY = "empty"
    OTHER = "other"


@dataclass(frozen=True)
class ColumnGuess:
    """What a column is taken to be."""

    name: str
    position: int
    role: Part
    evidence: str


@dataclass(frozen=True)
class TextGuess:
    """How a text file is written; all None if the source has types of its own."""

    encoding: str
    separator: str
    decimal: str
    thousands: str
    header: bool
    """Whether a line names the columns."""
    n_before: int
    """Lines above the first row."""
    n_skipped: int
    """Lines among and below the rows that hold no readings: titles, repeated headers, footers."""


@dataclass(frozen=True)
class ClockGuess:
    """How times are written, and what they say."""

    form: str
    """In words, such as "day-month-year hour:minute"."""
    zone: str | None
    zone_evidence: str
    step: int | None
    """Microseconds between successive instants of a series, the most frequent."""
    interval: str
    """"start", "end", or "printed" if nothing decides it."""
    interval_evidence: str


@dataclass(frozen=True)
class Understanding:
    """What a table is taken to be."""

    shape: Shape
    columns: tuple[ColumnGuess, ...]
    """Columns that are instants or series are counted in `n_value_columns`, not listed."""
    n_value_columns: int
    clock: ClockGuess
    text: TextGuess | None = None
    null_words: tuple[str, ...] = ()
    unit: str | None = None
    quantity: str | None = None
    channels: tuple[str, ...] = ()
    register: bool = False
    """Whether readings only grow, like those of a meter's register."""
    n_sections: int = 1
    doubts: tuple[str, ...] = ()
    """What the table leaves open, in sentences, with the setting that decides it."""

    def column(self, role: Part) -> ColumnGuess | None:
        """The first column with that role."""
        return next((column for column in self.columns if column.role is role), None)

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)
