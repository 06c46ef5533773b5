"""Positions from what a user writes between the brackets of a panel."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.names import text_of

Positions = NDArray[np.int64]


def select_series(key: Any, ids: NDArray[np.object_]) -> Positions:
    """Series by position, slice, mask, identifier or a list of identifiers."""
    names = [key] if isinstance(key, str) else key
    if not isinstance(names, list | tuple | np.ndarray) or not len(names) or not isinstance(names[0], str):
        return _positions(key, len(ids), "series")
    places = {text_of(name): place for place, name in enumerate(ids)}
    at = [places.get(text_of(name), -1) for name in names]
    if n_unknown := at.count(-1):
        raise InputError(f"{n_unknown} of {len(at)} names are not ids of this panel. Its names are in panel.ids.")
    return np.array(at, dtype=np.int64)


def select_instants(key: Any, times: NDArray[Any], timezone: str | None) -> Positions:
    """Instants by position, slice, mask, time or a slice of times, including its end."""
    ends = (key.start, key.stop) if isinstance(key, slice) else (key, key)
    if not any(isinstance(end, str | datetime | np.datetime64) for end in ends):
        return _positions(key, len(times), "instants")
    if times.dtype.kind != "M":
        raise InputError("The instants of this panel are numbers. Choose them by position, such as panel[:, :24].")
    if isinstance(key, slice) and key.step is not None:
        raise InputError("A slice of times cannot have a step. Choose by position, such as panel[:, ::2].")
    start = times[0] if ends[0] is None else _span(ends[0], timezone)[0]
    stop = times[-1] if ends[1] is None else _span(ends[1], timezone)[1]
    positions = np.flatnonzero((times >= start) & (times <= stop))
    if not len(positions):
        raise InputError("No instant of this panel lies in that span. The first and the last are panel.times[[0, -1]].")
    return positions


def _positions(key: Any, n: int, what: str) -> Positions:
    if isinstance(key, slice) and all(
        end is None or isinstance(end, int | np.integer) for end in (key.start, key.stop)
    ):
        positions = np.arange(n)[key]
    else:
        wanted = np.atleast_1d(np.asarray(key))
        if wanted.dtype == np.bool_:
            if wanted.shape != (n,):
                raise InputError(f"A mask of {wanted.size} does not fit {n} {what}. Give one truth value for each.")
            wanted = np.flatnonzero(wanted)
        if wanted.dtype.kind not in "iu" or wanted.ndim != 1:
            raise InputError(
                f"Choose {what} by position, slice or mask; series also by identifier, instants by time. "
                'Examples: panel[:10], panel["a"], panel[:, 0:24], panel[:, "2024-01-01"].'
            )
        if wanted.size and not -n <= int(wanted.min()) <= int(wanted.max()) < n:
            raise InputError(f"The panel has {n} {what}; positions run from 0 to {n - 1}.")
        positions = wanted.astype(np.int64) % n
    if not len(positions):
        raise InputError(f"Nothing is left: the selection has none of the {n} {what}.")
    return positions


def _span(when: Any, timezone: str | None) -> tuple[Any, Any]:
    """The first and the last microsecond that a time may mean, on the panel's clock."""
    if isinstance(when, datetime) and when.tzinfo is not None:
        if timezone is None:
            raise InputError("The panel has no time zone, but the time given has one. Omit its zone.")
        at = np.datetime64(when.astimezone(UTC).replace(tzinfo=None), "us")
        return at, at
    if not isinstance(when, str):
        at = _in_utc(np.datetime64(when).astype("datetime64[us]"), timezone)
        return at, at
    try:
        named = np.datetime64(when)
    except ValueError:
        raise InputError("That is not a time. Write 2024-05-31, 2024-05 or 2024-05-31T14:30.") from None
    first, after = named.astype("datetime64[us]"), (named + 1).astype("datetime64[us]")
    return _in_utc(first, timezone), _in_utc(after, timezone) - np.timedelta64(1, "us")


def _in_utc(local: Any, timezone: str | None) -> Any:
    """What the clock of the panel showed, as an instant."""
    if timezone is None or timezone == "UTC":
        return local
    zone = datetime.fromisoformat(f"2000-01-01T00:00{timezone}").tzinfo if timezone[0] in "+-" else ZoneInfo(timezone)
    return np.datetime64(local.item().replace(tzinfo=zone).astimezone(UTC).replace(tzinfo=None), "us")
