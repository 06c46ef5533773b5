"""Plain words: numbers, times and settings as people write them."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from markupsafe import Markup, escape

from shoal.model.words import clipped, number, percent, plural, title


def attack_named(name: Any) -> Any | None:
    """Return the class of an attack, or None if there is none of this name."""
    return _named("attacks").get(str(name).partition(":")[0])


def measure_named(name: Any) -> Any | None:
    """Return the class of a measure, whatever its parameters, or None if there is none of this name."""
    return _named("utility").get(str(name).partition(":")[0])


def method_named(name: Any) -> Any | None:
    """Return the class of a method, or None if there is none of this name."""
    return _named("methods").get(str(name))


@cache
def _named(room: str) -> dict[str, Any]:
    # Late, because they load kernels.
    from shoal import attacks, methods, utility

    found = {"attacks": attacks, "methods": methods, "utility": utility}[room]
    return {cls.name: cls for cls in (getattr(found, name) for name in found.__all__) if hasattr(cls, "name")}


__all__ = [
    "HOW_TAKEN",
    "clipped",
    "clock",
    "day",
    "entry",
    "every",
    "file_size",
    "has_offset",
    "lower_case",
    "marked",
    "measure_name",
    "moment",
    "number",
    "percent",
    "plural",
    "sentence_case",
    "title",
    "together",
]

_UNITS = {
    "ms": "millisecond",
    "s": "second",
    "m": "minute",
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "mo": "month",
    "y": "year",
}


def file_size(n_bytes: Any) -> str:
    """Write a file size in the unit that fits."""
    if isinstance(n_bytes, bool) or not isinstance(n_bytes, int | float):
        return "–"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:,.1f} {unit}"
    return f"{number(n_bytes)} bytes"


def moment(text: Any) -> str:
    """Write a time of the certificate as people do; text that is not a date is shown as it is."""
    try:
        when = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return clipped(text, 40)
    clock = f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"
    return f"{when.day} {when:%B} {when.year:04d}, {clock}"


def day(text: Any) -> str:
    """Write the day of a time of the certificate; text that is not a date is shown as it is."""
    try:
        when = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return clipped(text, 40)
    return f"{when.day} {when:%B} {when.year:04d}"


def has_offset(text: Any) -> bool:
    """Return whether a time of the certificate states its offset from UTC."""
    try:
        return dt.datetime.fromisoformat(str(text)).tzinfo is not None
    except ValueError:
        return False


def every(step: Any) -> str:
    """Write the distance between two instants in words."""
    parts = re.fullmatch(r"(\d+)\s*([a-z]+)", str(step))
    if not parts or parts[2] not in _UNITS:
        return f"every {clipped(step, 40)}"
    noun = _UNITS[parts[2]]
    return f"every {noun}" if int(parts[1]) == 1 else f"every {plural(int(parts[1]), noun)}"


def clock(minutes: float) -> str:
    """Write minutes after midnight as a clock shows them."""
    seconds = round(minutes * 60)
    text = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


HOW_TAKEN = {
    "of=series": "series by series",
    "of=pooled": "all series in one",
    "of=all": "of the mean of all series",
    "period=week": "weekly",
    "between=mean": "with the mean of all series",
}
"""How a measure is taken, by its setting."""


def measure_name(name: Any) -> str:
    """Write a measure's name, and how it was taken if not in the usual way: `ramp-error:of=pooled` is Ramp error, all
    series in one."""
    plain, _, settings = clipped(name, 120).partition(":")
    taken = [HOW_TAKEN.get(one, one.replace("=", " ")) for one in settings.split(",") if one]
    return ", ".join([title(plain), *taken])


def sentence_case(text: Any) -> str:
    """Return the text with a capital first letter."""
    line = clipped(text)
    return line[:1].upper() + line[1:]


def lower_case(text: str) -> str:
    """Return the text with a small first letter."""
    return text[:1].lower() + text[1:]


def entry(value: Any) -> str:
    """Write anything in the certificate as one short text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value)
    if isinstance(value, str):
        return clipped(value)
    if isinstance(value, list | tuple) and not any(isinstance(part, list | tuple | dict) for part in value[:50]):
        return clipped(", ".join(entry(part) for part in value[:50]))
    # Nested settings are rare; JSON shows them without loss.
    return clipped(json.dumps(value, default=str, ensure_ascii=False))


def together(names: Sequence[str]) -> str:
    """Join several items in one clause: `a, b and c`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


def marked(text: str) -> Markup:
    """Render a sentence with `code` and **strong** words as HTML, everything else escaped."""
    safe = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", safe))
