"""Time zones: from local clock times to instants in UTC, and back. All in microseconds since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.read.durations import HOUR, SECOND

_FIXED = re.compile(r"([+-])(\d{2}):(\d{2})")
_UTC_NAMES = frozenset({"utc", "etc/utc", "z", "+00:00", "-00:00", "zulu", "etc/zulu", "uct", "etc/uct"})


@dataclass(frozen=True)
class Zone:
    """A time zone by its name in the IANA database, or a fixed offset such as +01:00."""

    name: str
    offset: int | None = None
    """Microseconds ahead of UTC, if the offset is fixed."""

    def to_local(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the local clock shows."""
        if self.offset is not None:
            return instants + self.offset
        shown = _datetimes(instants).dt.replace_time_zone("UTC").dt.convert_time_zone(self.name)
        return _integers(shown.dt.replace_time_zone(None))

    def to_utc(self, local: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Instants of local times, and which of these occur twice (the earlier is taken) or never (0 is put)."""
        if self.offset is not None:
            nowhere = np.zeros(len(local), dtype=bool)
            return local - self.offset, nowhere, nowhere
        clock = _datetimes(local)
        earliest = clock.dt.replace_time_zone(self.name, ambiguous="earliest", non_existent="null")
        certain = clock.dt.replace_time_zone(self.name, ambiguous="null", non_existent="null")
        never = earliest.is_null().to_numpy()
        twice = certain.is_null().to_numpy() & ~never
        return _integers(earliest.dt.convert_time_zone("UTC").dt.replace_time_zone(None)), twice, never

    def second_of(self, first: NDArray[np.int64]) -> NDArray[np.int64]:
        """The second of two instants at which the clock shows the same time, given the first."""
        clock = _datetimes(self.to_local(first))
        latest = clock.dt.replace_time_zone(self.name, ambiguous="latest", non_existent="null")
        return _integers(latest.dt.convert_time_zone("UTC").dt.replace_time_zone(None))

    def start_of_day(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Instants of local midnights; one hour later if the clock skips midnight."""
        instants, _, never = self.to_utc(local)
        if never.any():
            instants[never] = self.to_utc(local[never] + HOUR)[0]
        return instants


def local_times(times: NDArray[Any], timezone: str | None) -> NDArray[Any]:
    """Instants of a panel as its clock shows them; whole numbers, and times without a zone, unchanged."""
    if timezone is None or times.dtype.kind != "M":
        return times
    shown = find_zone(timezone).to_local(times.astype("datetime64[us]").astype(np.int64))
    return shown.astype("datetime64[us]")


def time_texts(times: NDArray[Any], timezone: str | None) -> list[str]:
    """Instants as people read them: local time with its offset, Z in UTC; without a zone, clock time.

    Examples
    --------
    >>> october = np.array(["2024-10-27T00:30", "2024-10-27T01:30"], dtype="datetime64[us]")
    >>> time_texts(october, "Europe/Dublin")
    ['2024-10-27T01:30:00+01:00', '2024-10-27T01:30:00+00:00']
    >>> time_texts(october[:1], "UTC"), time_texts(october[:1], None), time_texts(np.array([7]), None)
    (['2024-10-27T00:30:00Z'], ['2024-10-27T00:30:00'], ['7'])
    """
    if times.dtype.kind != "M":
        return [str(int(time)) for time in times]
    utc = times.astype("datetime64[us]").astype(np.int64)
    zone = None if timezone is None else find_zone(timezone)
    if zone is None or zone.name == "UTC":
        return [text + ("" if zone is None else "Z") for text in _iso(utc)]
    local = zone.to_local(utc)
    minutes, rest = np.divmod(local - utc, 60 * SECOND)
    # Before 1972 some clocks were ahead by odd seconds, which no offset writes: these instants are given in UTC.
    at = [f"{'-' if m < 0 else '+'}{abs(m) // 60:02d}:{abs(m) % 60:02d}" for m in minutes.tolist()]
    pairs = zip(_iso(local), at, _iso(utc), (rest != 0).tolist(), strict=True)
    return [f"{world}Z" if odd else f"{text}{offset}" for text, offset, world, odd in pairs]


_FARTHEST = 8 * 10**18
"""Microseconds from 1970, some 250 000 years: Polars panics beyond them."""


def _iso(microseconds: NDArray[np.int64]) -> list[str]:
    if bool(((microseconds > _FARTHEST) | (microseconds < -_FARTHEST)).any()):
        return [str(time) for time in microseconds.astype("datetime64[us]")]
    texts: list[str] = _datetimes(microseconds).dt.strftime("%Y-%m-%dT%H:%M:%S%.f").to_list()
    return texts


CHANGING = (
    "Europe/London",
    "Europe/Berlin",
    "Europe/Helsinki",
    "America/New_York",
    "America/Santiago",
    "America/St_Johns",
    "Asia/Jerusalem",
    "Australia/Sydney",
    "Pacific/Auckland",
)
"""One zone for each hour at which clocks go back today."""


def shown_twice(local: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which times on a clock of unknown zone lie in an hour that some clock shows twice."""
    twice = np.zeros(len(local), dtype=np.bool_)
    if len(local):
        distinct, back = np.unique(local, return_inverse=True)
        for name in CHANGING:
            twice |= Zone(name).to_utc(distinct)[1][back]
    return twice


def find_zone(name: str) -> Zone:
    """The zone of that name."""
    if not isinstance(name, str):
        raise ParameterError("timezone: give a name such as Europe/Bratislava or UTC.")
    if name.lower() in _UTC_NAMES:
        return Zone("UTC", 0)
    if found := _FIXED.fullmatch(name):
        minutes = int(found[2]) * 60 + int(found[3])
        return Zone(name, (-1 if found[1] == "-" else 1) * minutes * 60 * SECOND)
    try:
        pl.Series([0]).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(name)
    except pl.exceptions.PolarsError:
        raise ParameterError(
            f"timezone: {name!r} is not in the time zone database. Give a name such as Europe/Bratislava or UTC."
        ) from None
    return Zone(name)


def offset_name(minutes: int) -> str:
    """UTC, or the offset as +01:00."""
    if minutes == 0:
        return "UTC"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"


def _datetimes(microseconds: NDArray[np.int64]) -> pl.Series:
    return pl.Series(microseconds, dtype=pl.Int64).cast(pl.Datetime("us"))


def _integers(clock: pl.Series) -> NDArray[np.int64]:
    # A copy, since polars hands out read-only memory.
    return np.array(clock.cast(pl.Int64).fill_null(0).to_numpy(), dtype=np.int64)
