"""What a table is, and why Shoal thinks so: the one account that reading follows and `shoal look` explains.

An understanding is made from a sample of the table and from what the caller named. It holds names of columns, counts
and words of the format, never a reading or an identifier: the names of columns that are series are not in it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from shoal.read.blocks import QuantityBlock
from shoal.read.profiles import NumberForm
from shoal.read.stamps import StampForm
from shoal.read.subjects import is_printable


class TableShape(StrEnum):
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

    shape: TableShape
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


@dataclass(frozen=True)
class Wishes:
    """Columns that the caller named, by position."""

    id: int | None = None
    time: int | None = None
    value: tuple[int, ...] | None = None
    channel: int | None = None
    other: frozenset[int] = frozenset()
    """Columns with a role of their own: subject, quasi-identifiers and the like."""
    columns: str | None = None
    """What columns next to a time are: "series", "channels", or None to decide by what they look like."""


@dataclass
class TimeGuess:
    """Where the time of a row is."""

    stamp: int | None = None
    """A column with date and time, or the date of a row."""
    form: StampForm | None = None
    clock: int | None = None
    """A column with the time of day next to a date."""
    clock_form: StampForm | None = None
    slot: int | None = None
    """A column with the number of the interval."""
    slot_base: int = 1
    slot_step: int = 0
    slot_from: str = "midnight"
    """Origin of interval numbers: "midnight" as time passes, "clock" by what it shows, "stamp" from the stamp."""
    day_code: int | None = None
    """A column of day numbers followed by two digits for the interval."""
    end: int | None = None
    """A column with the end of the interval."""
    offset: int | None = None
    """A column with the offset from UTC next to a local time."""
    offset_unit: int = 0
    """Microseconds of one unit if that column has numbers; 0 if it has texts such as +01:00."""
    parts: dict[str, int] = field(default_factory=dict)
    """Separate columns with year, month, day or day of the year, hour and minute."""
    used: dict[int, tuple[Part, str]] = field(default_factory=dict)
    interval: str = "auto"
    interval_evidence: str = ""
    doubts: list[str] = field(default_factory=list)

    @property
    def keys(self) -> list[int]:
        """Columns that distinguish instants."""
        single = (self.stamp, self.clock, self.slot, self.day_code, self.offset)
        return [*(c for c in single if c is not None), *self.parts.values()]


@dataclass
class Guess:
    """Everything needed to bring a table into its canonical form."""

    shape: TableShape
    time: TimeGuess
    numbers: NumberForm
    id: int | None = None
    channel: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    blocks: tuple[QuantityBlock, ...] = ()
    instants: tuple[int, ...] = ()
    """With a row per series: the instant of each value column, microseconds as printed."""
    series: tuple[str, ...] = ()
    """With a column per series: their identifiers."""
    asked: bool = False
    """Whether the caller says what columns next to a time are."""
    channels: tuple[str, ...] = ()
    """Names of the channels that columns or blocks stand for."""
    only_channel: str | None = None
    only_id: str | None = None
    unit: str | None = None
    zone: str | None = None
    zone_evidence: str = ""
    roles: dict[int, tuple[Part, str]] = field(default_factory=dict)
    doubts: list[str] = field(default_factory=list)

    def shown(self, name: str, position: int) -> str:
        """How messages name a column of readings. Next to a time alone, a name that indicates no quantity may be a
        person's."""
        known = self.shape is TableShape.LONG and (self.id is not None or len(self.values) == 1)
        return name if known or is_printable(name) else f"number {position + 1}"
