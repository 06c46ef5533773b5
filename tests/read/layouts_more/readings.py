"""Invented readings, and how layouts are put together from them.

A `Book` knows every reading by its id, its channel and the UTC instant at which its interval starts. A layout prints
a book in one spelling; the correct reading of the file follows from the book, not from the text.
"""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from zoneinfo import ZoneInfo

MISSING = float("nan")
# What is used in each hour of a day, in tenths of the level.
DAY = (4, 4, 4, 4, 4, 5, 7, 9, 9, 7, 5, 4, 4, 4, 5, 7, 9, 12, 14, 13, 11, 8, 6, 5)


class Book:
    """Readings of some meters over whole local days, every `minutes` minutes; a day has as many as its clock allows."""

    def __init__(
        self,
        name: str,
        zone: str,
        days: Sequence[date],
        minutes: int,
        ids: Sequence[str],
        channels: Sequence[str] = ("",),
        decimals: int = 3,
        level: float = 0.4,
    ):
        rng = random.Random(name)
        self.zone = ZoneInfo(zone)
        self.step = timedelta(minutes=minutes)
        self.ids, self.channels, self.decimals = list(ids), list(channels), decimals
        self.days = {day: self._starts(day) for day in days}
        self.starts = [start for starts in self.days.values() for start in starts]
        self.values: dict[tuple[str, str, datetime], float] = {}
        for name_of_meter in self.ids:
            for channel in self.channels:
                size = level * rng.uniform(0.06, 0.18)
                for start in self.starts:
                    value = size * DAY[self.local(start).hour] * rng.uniform(0.6, 1.5)
                    self.values[name_of_meter, channel, start] = round(value, decimals)

    def _starts(self, day: date) -> list[datetime]:
        first = datetime(day.year, day.month, day.day, tzinfo=self.zone).astimezone(UTC)
        following = day + timedelta(days=1)
        last = datetime(following.year, following.month, following.day, tzinfo=self.zone).astimezone(UTC)
        return [first + i * self.step for i in range((last - first) // self.step)]

    def local(self, start: datetime) -> datetime:
        """The wall clock at a UTC instant, with its offset."""
        return start.astimezone(self.zone)

    def wall(self, start: datetime) -> datetime:
        """The wall clock at a UTC instant, bare."""
        return self.local(start).replace(tzinfo=None)

    def end(self, start: datetime) -> datetime:
        """The wall clock at the end of an interval, bare."""
        return self.wall(start + self.step)

    def get(self, name: str, start: datetime, channel: str = "") -> float:
        return self.values[name, channel, start]

    def drop(self, name: str, positions: Sequence[int], channel: str = "") -> None:
        """The file does not print these."""
        for position in positions:
            del self.values[name, channel, self.starts[position]]

    def blank(self, name: str, positions: Sequence[int], channel: str = "") -> None:
        """The file prints these without a value."""
        for position in positions:
            self.values[name, channel, self.starts[position]] = MISSING

    def rows(self) -> list[tuple[str, datetime]]:
        """Id and start of each reading of the first channel, meter by meter."""
        return [(name, start) for name, channel, start in self.values if channel == self.channels[0]]

    def text(self, value: float, decimal: str = ".", thousands: str = "", missing: str = "") -> str:
        """A value as a file prints it."""
        if math.isnan(value):
            return missing
        return f"{value:,.{self.decimals}f}".replace(",", "\0").replace(".", decimal).replace("\0", thousands)


@dataclass(frozen=True)
class Layout:
    """A layout: how its file is written, and what a test must know to judge a reading of it."""

    file: str
    why: str
    write: Callable[[str], tuple[Book, bytes | dict[str, bytes]]]
    basis: str
    """Of the correct reading: "UTC" where stamps carry a zone or `timezone` tells it, else "local"."""
    timezone: str | None
    """What a reader has to be told."""
    names: str
    """"printed", or "any" where the file does not settle what series are called."""
    layout: str
    """"wide" or "long" where a reader has to be told what columns next to a time are."""

    def write_to(self, folder: Path) -> Book:
        """Write the file, or the folder of that name; what it prints is in the book."""
        book, content = self.write(self.file)
        for name, data in (content if isinstance(content, dict) else {self.file: content}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return book

    def rows(self, book: Book) -> list[dict[str, object]]:
        """The correct reading in long form: id, start of the interval, value or None, channel."""
        return [
            {
                "id": name,
                "time": start.astimezone(UTC).replace(tzinfo=None) if self.basis == "UTC" else book.wall(start),
                "value": None if math.isnan(value) else value,
                "channel": channel or None,
            }
            for (name, channel, start), value in book.values.items()
        ]


LAYOUTS: list[Layout] = []


def layout(
    file: str,
    why: str,
    *,
    timezone: str | None = None,
    basis: str | None = None,
    names: str = "printed",
    layout: str = "auto",
) -> Callable[..., None]:
    """Add a layout; the decorated function gets the name of the file and returns a book and what to write."""

    def add(write: Callable[[str], tuple[Book, bytes | dict[str, bytes]]]) -> None:
        LAYOUTS.append(Layout(file, why, write, basis or ("UTC" if timezone else "local"), timezone, names, layout))

    return add


def table(header: Sequence[str] | None, rows: Sequence[Sequence[str]], separator: str = ",") -> str:
    """Lines of fields. Fields come quoted where they need it."""
    return "".join(separator.join(row) + "\n" for row in ([header] if header else []) + list(rows))


def day_range(first: date, n: int) -> list[date]:
    return [first + timedelta(days=i) for i in range(n)]


def as_registers(book, first=1000):
    """Turn what was used into what a register showed: numbers that only grow."""
    for n, (name, channel) in enumerate(sorted({key[:2] for key in book.values})):
        keys = [key for key in book.values if key[:2] == (name, channel)]
        start = float(first * (1 + n % 7) + 13 * n)
        for key, total in zip(keys, accumulate([start, *(book.values[k] for k in keys[1:])]), strict=True):
            book.values[key] = round(total, book.decimals)
    return book


def at_odd_times(book, every=1, seconds=4000):
    """Move each reading by some seconds of its own, and keep every n-th, as readings by hand or by radio come."""
    keys = list(book.values)[::every]
    moved = {}
    for n, (name, channel, start) in enumerate(keys):
        moved[name, channel, start + timedelta(seconds=(n * 7919 + 31) % seconds)] = book.values[name, channel, start]
    book.values = moved
    return book


def epoch(start):
    return int(start.timestamp())
