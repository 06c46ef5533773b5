"""The instants a query names, found among those of the data."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError

Instant = int | np.datetime64
"""A whole number, or a moment to the microsecond: UTC where the data has a time zone, else what the clock showed."""


def as_instant(time: Any) -> Instant:
    """A whole number as it is; a datetime, a date or its text as a moment. With a zone it is turned to UTC."""
    if isinstance(time, int | np.integer) and not isinstance(time, bool):
        return int(time)
    try:
        if isinstance(time, str):
            time = datetime.fromisoformat(time)
        if isinstance(time, datetime) and time.tzinfo is not None:
            time = time.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(time, "us")
    except (TypeError, ValueError):
        raise ParameterError("An instant of a query must be a whole number, a datetime or its ISO text.") from None
    if np.isnat(moment):
        raise ParameterError("An instant of a query must be a whole number, a datetime or its ISO text.")
    return moment


def find_instants(wanted: Iterable[Instant], times: NDArray[Any]) -> list[int]:
    """The position of each wanted instant among the times of the data."""
    places = {time: place for place, time in enumerate(times.tolist())}
    keys = [time if isinstance(time, int) else time.item() for time in wanted]
    if lacking := sum(key not in places for key in keys):
        raise ParameterError(
            f"The query asks for {lacking} of its {len(keys)} instants that the data does not have. "
            "Ask for instants of which something is published."
        )
    return [places[key] for key in keys]
