"""Times written as numbers: counted from an origin, or clock times without their marks."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.read.durations import DAY, HOUR, MINUTE, SECOND


@dataclass(frozen=True)
class Stamps:
    """What texts say: microseconds as printed, the offset printed with them in minutes, and which are not times."""

    printed: NDArray[np.int64]
    offset: NDArray[np.int64]
    has_offset: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    has_time: NDArray[np.bool_]

    def take(self, places: NDArray[np.int64]) -> Stamps:
        """Those at these places."""
        return Stamps(*(getattr(self, part.name)[places] for part in fields(self)))

    def __add__(self, other: Stamps) -> Stamps:
        """Both, one after the other."""
        both = ((getattr(self, part.name), getattr(other, part.name)) for part in fields(self))
        return Stamps(*map(np.concatenate, both))


@dataclass(frozen=True)
class EpochCount:
    """Instants in UTC as a number of equal units since an origin."""

    origin: int
    """Seconds from 1970 to the origin."""
    per_second: int
    words: str

    def may_be(self, numbers: pl.Series, *, is_named: bool) -> bool:
        """Whether numbers are such instants from 1995 to 2035: mostly whole seconds, unless a name says time."""
        low, high = numbers.min(), numbers.max()
        if not isinstance(low, int) or not isinstance(high, int) or len(numbers) < 2:
            return False
        if low < (7.9e8 - self.origin) * self.per_second or high > (2.05e9 - self.origin) * self.per_second:
            return False
        return is_named or 2 * int((numbers % self.per_second == 0).sum()) > len(numbers)

    def read(self, texts: pl.Series) -> Stamps:
        """Instants of texts."""
        whole = texts.cast(pl.Int64, strict=False)
        parts = texts.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        number = np.array(whole.fill_null(0).to_numpy(), dtype=np.int64)
        past = number // self.per_second * SECOND + number % self.per_second * SECOND // self.per_second
        valid = np.isfinite(parts) & (np.abs(parts / self.per_second + self.origin) < 1e12)
        fraction = whole.is_null().to_numpy() & valid
        past[fraction] = np.round(parts[fraction] / self.per_second * SECOND).astype(np.int64)
        instants = np.where(valid, past + self.origin * SECOND, 0)
        none = np.zeros(len(instants), dtype=np.int64)
        return Stamps(instants, none, np.ones(len(instants), dtype=bool), valid, valid)


COUNTS = {
    "epoch": EpochCount(0, 1, "seconds since 1970"),
    "epoch_ms": EpochCount(0, 1000, "milliseconds since 1970"),
    "epoch_us": EpochCount(0, 1_000_000, "microseconds since 1970"),
    "epoch_ns": EpochCount(0, 1_000_000_000, "nanoseconds since 1970"),
    "ticks": EpochCount(-62_135_596_800, 10_000_000, "100 nanoseconds since the year 1"),
    "filetime": EpochCount(-11_644_473_600, 10_000_000, "100 nanoseconds since 1601"),
}
DAY_COUNTS = {"serial": 25_569.0, "datenum": 719_529.0, "julian": 2_440_587.5}
"""Days from the origin to 1970: as spreadsheets count, from the year 0, and as astronomers do."""


def find_day_count(numbers: NDArray[np.float64]) -> str | None:
    """What the numbers in a column called a time count, if they are days from 1982 to 2064."""
    low, high = (numbers.min(), numbers.max()) if len(numbers) else (0.0, 0.0)
    return next((name for name, first in DAY_COUNTS.items() if low > first + 4431 and high < first + 34_431), None)


def read_days(texts: pl.Series, first: float) -> Stamps:
    """Days since an origin with a fraction, to the second."""
    numbers = texts.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    valid = np.abs(numbers - first - 24_431) < 30_000
    seconds = np.round(np.where(valid, numbers - first, 0) * 86_400).astype(np.int64)
    # Five or six decimals are a second or two off.
    minutes = np.round(seconds / 60).astype(np.int64) * 60
    close = np.abs(seconds - minutes) <= 2
    return plain_stamps(np.where(close, minutes, seconds) * SECOND, valid, valid)


def read_clock(texts: pl.Series, name: str) -> Stamps:
    """Times of day: hhmm, hhmmss, minutes or seconds since midnight, or the fraction of the day that has passed."""
    if name == "day_part":
        parts = texts.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).fill_null(-1).to_numpy()
        valid = (parts >= 0) & (parts <= 1)
        return plain_stamps(np.round(np.where(valid, parts, 0) * 1440).astype(np.int64) * MINUTE, valid, valid)
    numbers = to_integers(texts, -1)
    if name in ("minutes", "seconds"):
        past = numbers * (MINUTE if name == "minutes" else SECOND)
        valid = (past >= 0) & (past <= DAY)
        return plain_stamps(past, valid, valid)
    second = numbers % 100 if name == "hhmmss" else np.zeros_like(numbers)
    hour, minute = np.divmod(numbers // 100 if name == "hhmmss" else numbers, 100)
    valid = (numbers >= 0) & (second < 60) & (minute < 60) & ((hour < 24) | ((hour == 24) & (minute + second == 0)))
    return plain_stamps(hour * HOUR + minute * MINUTE + second * SECOND, valid, valid)


CLOCKS = ("hhmmss", "hhmm", "minutes", "seconds", "day_part")


def find_clock(texts: pl.Series) -> str | None:
    """What the different entries of a column next to a date are, if they divide the day evenly."""
    patterns = (r"^\d{6}$", r"^\d{1,4}$", r"^\d{1,4}$", r"^\d{1,5}$", r"^(?:[01]|[01]?[.,]\d+(?:[eE]-\d+)?)$")
    for name, pattern in zip(CLOCKS, patterns, strict=True):
        if not texts.str.contains(pattern).all():
            continue
        found = read_clock(texts, name)
        times = np.unique(found.printed)
        gaps = np.diff(times)
        even = len(gaps) and gaps.min() >= 300 * SECOND and np.all(gaps == gaps[0]) and times[0] in (0, gaps[0])
        if found.valid.all() and even and gaps[0] * len(times) == DAY:
            return name
    return None


def read_slots(texts: pl.Series) -> NDArray[np.float64]:
    """Numbers of intervals: 7, HH07, 7 of 48, or 6 - 7, which begins at the sixth."""
    numbers = texts.cast(pl.Float64, strict=False)
    if numbers.null_count() > texts.null_count():
        numbers = numbers.fill_null(texts.str.extract(r"^\D*(\d{1,4})(?:\D|$)", 1).cast(pl.Float64, strict=False))
    return np.array(numbers.fill_null(np.nan).to_numpy(), dtype=np.float64)


def to_integers(texts: pl.Series, default: int) -> NDArray[np.int64]:
    """Whole numbers of texts."""
    return np.array(texts.cast(pl.Int64, strict=False).fill_null(default).to_numpy(), dtype=np.int64)


def plain_stamps(printed: NDArray[np.int64], valid: NDArray[np.bool_], has_time: NDArray[np.bool_]) -> Stamps:
    """Stamps without an offset."""
    none = np.zeros(len(printed), dtype=np.int64)
    return Stamps(np.where(valid, printed, 0), none, np.zeros(len(printed), dtype=bool), valid, has_time)
