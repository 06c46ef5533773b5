"""Lengths of time as people write them: 90s, 15min, 2h, 1d; or a bare number of instants if times are integers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from shoal.errors import ParameterError

SECOND = 1_000_000
"""Microseconds, the unit of every instant in this package."""
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_UNITS = {"s": SECOND, "min": MINUTE, "h": HOUR, "d": DAY}
_FORM = re.compile(r"\s*(\d{1,9})\s*(s|min|h|d)?\s*")


@dataclass(frozen=True)
class Duration:
    """A length of time: microseconds on a clock, or a number if times are integers."""

    length: int
    on_clock: bool

    def needs(self, *, clock: bool, setting: str) -> int:
        """The length, once it is known whether the data has a clock."""
        if clock and not self.on_clock:
            raise ParameterError(f"{setting}: the data has timestamps, so give a length such as 90s, 15min, 2h or 1d.")
        if not clock and self.on_clock:
            raise ParameterError(f"{setting}: the data has no timestamps, so give a bare number of instants such as 3.")
        return self.length


def parse_duration(given: object, setting: str) -> Duration:
    """Read "90s", "15min", "2h", "1d" or a bare number; `setting` names the parameter in the message."""
    found = _FORM.fullmatch(str(given)) if isinstance(given, str | int) and not isinstance(given, bool) else None
    if found is None or int(found[1]) == 0:
        raise ParameterError(
            f"{setting}: give a positive length such as 90s, 15min, 2h or 1d, or a bare number of instants if times "
            "are integers."
        )
    if found[2] is None:
        return Duration(int(found[1]), on_clock=False)
    return Duration(int(found[1]) * _UNITS[found[2]], on_clock=True)


def write_duration(microseconds: int) -> str:
    """The length in the largest unit that divides it, at least a second."""
    unit = max((u for u, length in _UNITS.items() if microseconds % length == 0), key=_UNITS.__getitem__, default="s")
    return f"{max(1, microseconds // _UNITS[unit])}{unit}"
