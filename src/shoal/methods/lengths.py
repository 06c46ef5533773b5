"""How many instants of a panel a length of time has."""

from __future__ import annotations

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.read.durations import Duration, parse_duration, write_duration

Length = str | int
"""A length of time such as "15min", "2h" or "1d", or a bare number of instants."""


def check_length(given: object, setting: str) -> None:
    """Refuse what is not a length."""
    parse_duration(given, setting)


def instants_in(given: Length, panel: Panel, setting: str) -> int:
    """The number of instants in a length; a bare number is already one, even if the panel has a clock."""
    duration = parse_duration(given, setting)
    if not duration.on_clock:
        return duration.length
    if panel.times.dtype.kind != "M":
        raise ParameterError(
            f"{setting}={given!r} needs timestamps, and the panel's times are whole numbers. "
            "Give a bare number of instants."
        )
    if panel.n_instants == 1:
        return 1
    step = _even_step(given, panel, setting)
    if duration.length % step:
        raise ParameterError(
            f"{setting}={given!r} is not a multiple of the step between instants. Give one, or a bare number of "
            "instants."
        )
    return duration.length // step


def length_of(given: Length, panel: Panel, setting: str) -> Duration:
    """A length of time on the panel's own clock; a bare number is that many of its instants."""
    duration = parse_duration(given, setting)
    on_clock = panel.times.dtype.kind == "M"
    if not on_clock or duration.on_clock:
        duration.needs(clock=on_clock, setting=setting)
        return duration
    step = _even_step(given, panel, setting) if panel.n_instants > 1 else 1
    return Duration(duration.length * step, on_clock=True)


def _even_step(given: Length, panel: Panel, setting: str) -> int:
    """The one step between instants, in microseconds."""
    steps, counts = np.unique(np.diff(panel.times).astype(np.int64), return_counts=True)
    if len(steps) > 1:
        raise ParameterError(
            f"{setting}={given!r} needs evenly spaced instants; here are {len(steps)} different steps between them. "
            f"Read with align='resample:{write_duration(int(steps[counts.argmax()]))}'."
        )
    return int(steps[0])
