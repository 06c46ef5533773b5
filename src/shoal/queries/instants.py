"""The instants that a query names, located in the data."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.read.zones import find_zone

Instant = int | np.datetime64 | datetime
"""A whole number; a datetime, in the time zone of the data unless it has its own; or an element of a panel's times."""


def as_instant(time: Any) -> Instant:
    """A whole number or an element of a panel's times as it is; a datetime, a date or the ISO text of one."""
    if isinstance(time, int | np.integer) and not isinstance(time, bool):
        return int(time)
    try:
        if isinstance(time, str):
            time = datetime.fromisoformat(time)
        if isinstance(time, date):
            return time if isinstance(time, datetime) else datetime(time.year, time.month, time.day)
        moment = np.datetime64(time, "us")
    except (TypeError, ValueError):
        raise ParameterError("An instant of a query must be a whole number, a datetime or its ISO text.") from None
    if np.isnat(moment):
        raise ParameterError("An instant of a query must be a whole number, a datetime or its ISO text.")
    return moment


def as_stored(time: Instant, timezone: str | None) -> int | np.datetime64:
    """The instant as stored in data of that time zone: in UTC if it has one, else the clock time.

    Examples
    --------
    >>> as_stored(datetime(2024, 7, 1, 18), "Europe/Dublin")
    np.datetime64('2024-07-01T17:00:00.000000')
    """
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is not None:
        if timezone is None:
            raise ParameterError(
                "The data has no time zone, only clock times. Give the time of a query without an offset."
            )
        return np.datetime64(time.astimezone(UTC).replace(tzinfo=None), "us")
    moment = np.datetime64(time, "us")
    if timezone is None:
        return moment
    found, twice, never = find_zone(timezone).to_utc(moment.astype(np.int64).reshape(1))
    if twice[0]:
        raise ParameterError(
            f"The clock of {timezone} shows the time of a query twice, because it is put back. Give it with its offset."
        )
    if never[0]:
        raise ParameterError(f"The clock of {timezone} skips the time of a query, because it is put forward.")
    return np.datetime64(int(found[0]), "us")


def find_instants(wanted: Iterable[Instant], times: NDArray[Any], timezone: str | None = None) -> list[int]:
    """The position of each wanted instant among the times of the data."""
    places = {time: place for place, time in enumerate(times.tolist())}
    keys = [as_stored(time, timezone) for time in wanted]
    plain = [key if isinstance(key, int) else key.item() for key in keys]
    if lacking := sum(key not in places for key in plain):
        raise ParameterError(
            f"The query asks for {lacking} of its {len(keys)} instants that the data does not have. Ask for published "
            "instants."
        )
    return [places[key] for key in plain]
