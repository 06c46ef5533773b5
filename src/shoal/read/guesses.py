"""What is guessed about a table, and what the caller says about it."""

from __future__ import annotations

from dataclasses import dataclass, field

from shoal.read.blocks import Block
from shoal.read.profiles import NumberForm
from shoal.read.stamps import StampForm
from shoal.read.subjects import is_printable
from shoal.read.understanding import Part, Shape


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
    """What columns next to a time are: "series", "channels", or None to decide by their look."""


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
        """Columns that tell instants apart."""
        single = (self.stamp, self.clock, self.slot, self.day_code, self.offset)
        return [*(c for c in single if c is not None), *self.parts.values()]


@dataclass
class Guess:
    """Everything needed to bring a table into its canonical form."""

    shape: Shape
    time: TimeGuess
    numbers: NumberForm
    id: int | None = None
    channel: tuple[int, ...] = ()
    values: tuple[int, ...] = ()
    blocks: tuple[Block, ...] = ()
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
        known = self.shape is Shape.LONG and (self.id is not None or len(self.values) == 1)
        return name if known or is_printable(name) else f"number {position + 1}"
