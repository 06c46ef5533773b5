"""Time zones: from what a local clock showed to instants in UTC, and back. All in microseconds since 1970."""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    """Microseconds ahead of UTC, where the offset is fixed."""

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

    def start_of_day(self, local: NDArray[np.int64]) -> NDArray[np.int64]:
        """Instants of local midnights; where the clock skips midnight, one hour later."""
        instants, _, never = self.to_utc(local)
        if never.any():
            instants[never] = self.to_utc(local[never] + HOUR)[0]
        return instants


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
