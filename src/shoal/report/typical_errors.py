"""The distance between the originals and what had to be kept, as the typical error of one of its figures.

Interest loss is a Euclidean distance over all d figures of a series: the readings of a window, the totals of the days.
Divided by the square root of d, it is their root mean square error, averaged over the series. It has the unit of one
reading and does not grow with the period.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from shoal.release.facts import Facts, is_finite
from shoal.report.units import step_hours

MOST_INSTANTS = 1_000_000
_KEPT = re.compile(r"interest-loss:interest=(total|daily-totals|window|arrival|departure)(?::([^,=]+))?")
_CLOCK = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")


class TypicalError(NamedTuple):
    """What a figure is the error of, and the divisor that turns a distance into it."""

    what: str
    divisor: float


def typical_error(name: str, facts: Facts) -> TypicalError | None:
    """Say how to present a score of this name; None if it is not a distance over several figures of one kind."""
    found, n_channels = _KEPT.fullmatch(name), facts.counts.get("channels")
    if found is None or not is_finite(n_channels) or n_channels < 1:
        return None
    word, detail = found.groups()
    window = _CLOCK.fullmatch(detail or "")
    if word == "total":
        between = f" from {window[1]} to {window[2]}" if window else ""
        n_figures = 1 if window or not detail else 0
        what = f"a series' total{between} over the whole period"
    elif word == "window":
        n_figures = _count_inside(facts, window[1], window[2]) if window else 0
        what = f"a reading from {window[1]} to {window[2]}" if window else ""
    else:
        n_figures = len({when.date() for when in _clock(facts)})
        what = "a daily total" if word == "daily-totals" else f"the time of {word}"
    return TypicalError(f"Typical error of {what}", math.sqrt(n_figures * n_channels)) if n_figures else None


def _count_inside(facts: Facts, start: str, end: str) -> int:
    times = [f"{when:%H:%M}" for when in _clock(facts)]
    return sum((start <= at < end) if start < end else not end <= at < start for at in times)


def _clock(facts: Facts) -> Iterator[dt.datetime]:
    """Return what the release's own clock shows at its instants; nothing if it has none, or no even steps."""
    n, step = facts.counts.get("instants"), step_hours(facts)
    if step is None or not isinstance(n, int) or not 0 < n <= MOST_INSTANTS:
        return
    try:
        first = dt.datetime.fromisoformat(str(facts.time.get("first")))
        zone = ZoneInfo(str(facts.time["timezone"])) if facts.time.get("timezone") and first.tzinfo else first.tzinfo
    except (ValueError, ZoneInfoNotFoundError, OSError):
        return
    start = first if zone is None else first.astimezone(dt.UTC)
    for place in range(n):
        try:
            when = start + dt.timedelta(hours=place * step)
        except OverflowError:
            return
        yield when if zone is None else when.astimezone(zone)
