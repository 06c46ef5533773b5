"""Convert a caller's arguments to numbers, or say what is wrong with them."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shoal.errors import ParameterError

MINUTES_PER_DAY = 1440
_MINUTES = {"min": 1, "h": 60, "d": MINUTES_PER_DAY}

Start = str | dt.date | np.datetime64


def as_count(name: str, value: Any, at_least: int = 1) -> int:
    """A whole number, `at_least` or more."""
    try:
        # True is an int to Python; as a number of days it is a mistake.
        number = operator.index(value) if not isinstance(value, bool | np.bool_) else at_least - 1
    except TypeError:
        number = at_least - 1
    if number < at_least:
        raise ParameterError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return number


def as_missing(value: Any) -> float:
    """A share from 0 up to but not including 1."""
    share = _as_number(value)
    if share is None or not 0.0 <= share < 1.0:
        raise ParameterError(
            f"missing is the share of readings left out and must satisfy 0 <= missing < 1, got {value!r}. "
            "For 5 % write 0.05."
        )
    return share


def as_start(value: Any) -> np.datetime64:
    """The midnight at which the simulated clock starts, as a day."""
    moment: dt.date | None = None
    if isinstance(value, str):
        try:
            moment = dt.datetime.fromisoformat(value)
        except ValueError:
            moment = None
    elif isinstance(value, np.datetime64) and not np.isnat(value):
        # numpy answers with a plain integer for years outside 1 to 9999 and for nanoseconds.
        found = value.astype("datetime64[us]").item()
        moment = found if isinstance(found, dt.date) else None
    elif isinstance(value, dt.date):
        moment = value
    if moment is None:
        raise ParameterError(f"start must be a date such as '2024-01-01', got {value!r}.")
    if isinstance(moment, dt.datetime):
        if moment.tzinfo is not None:
            raise ParameterError("start has a time zone; simulated clocks are local and have none. Give the bare date.")
        if moment.time() != dt.time():
            raise ParameterError(f"start must be a midnight, because whole days are simulated; got {value!r}.")
        moment = moment.date()
    return np.datetime64(moment, "D")


def as_step(value: Any) -> int:
    """The minutes between two readings: from "15min", "1h" or a number of minutes."""
    minutes = 0
    if isinstance(value, str):
        if found := re.fullmatch(r"\s*(\d+)\s*(min|h|d)\s*", value):
            minutes = int(found[1]) * _MINUTES[found[2]]
    elif not isinstance(value, bool | np.bool_):
        try:
            minutes = operator.index(value)
        except TypeError:
            minutes = 0
    if minutes < 1:
        raise ParameterError(f"step must look like '15min', '1h' or '1d', or be whole minutes; got {value!r}.")
    if MINUTES_PER_DAY % minutes:
        raise ParameterError(
            f"step must divide a day of {MINUTES_PER_DAY} minutes, got {minutes} minutes. "
            "Try 1, 5, 10, 15, 30 or 60 minutes."
        )
    return minutes


def as_shares(families: Any, known: Sequence[str], default: Mapping[str, float]) -> dict[str, float]:
    """Shares of all known families, in their order and scaled to sum to 1."""
    given = default if families is None else families
    if not isinstance(given, Mapping):
        raise ParameterError(
            f"families must map names to shares, such as {{'household': 1.0}}; got {type(given).__name__}."
        )
    shares = dict.fromkeys(known, 0.0)
    for name, value in given.items():
        if name not in shares:
            raise ParameterError(f"families has no {name!r}. Families are: {', '.join(known)}.")
        share = _as_number(value)
        if share is None or not math.isfinite(share) or share < 0.0:
            raise ParameterError(f"families: the share of {name!r} must be a number of at least 0, got {value!r}.")
        shares[name] = share
    largest = max(shares.values())
    if largest <= 0.0:
        raise ParameterError("families: all shares are zero. Give at least one family a positive share.")
    # By the largest first: shares may be any numbers, and their sum must not overflow.
    total = math.fsum(share / largest for share in shares.values())
    return {name: share / largest / total for name, share in shares.items()}


def by_largest_remainder(shares: Mapping[str, float], total: int) -> dict[str, int]:
    """Whole counts that sum to `total`: each share rounded down, the largest remainders up; ties in order."""
    exact = {name: share * total for name, share in shares.items()}
    counts = {name: math.floor(value) for name, value in exact.items()}
    left = total - sum(counts.values())
    for name in sorted(exact, key=lambda name: counts[name] - exact[name])[:left]:
        counts[name] += 1
    return counts


def _as_number(value: Any) -> float | None:
    if isinstance(value, bool | np.bool_ | str):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
