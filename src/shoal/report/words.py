"""Plain words: numbers as people write them, and what the guarantees let a reader conclude."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Mapping
from typing import Any

_LONGEST = 240
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


def clipped(text: Any, longest: int = _LONGEST) -> str:
    """The text, cut where it would fill the page."""
    line = str(text)
    return line if len(line) <= longest else line[: longest - 1] + "…"


def number(value: Any) -> str:
    """A figure with thousands separators and at most four significant digits after a decimal point begins to matter."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "–" if value is None else clipped(value)
    if isinstance(value, int) and abs(value) > 10**300:
        return "∞" if value > 0 else "−∞"
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    if abs(value) >= 1e15 or 0 < abs(value) < 1e-4:
        return f"{float(value):.4g}".replace("-", "−")
    if float(value).is_integer():
        return f"{int(value):,}".replace("-", "−")
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def percent(share: float) -> str:
    """A share in per cent."""
    return "less than 0.1 %" if 0 < share < 0.001 else f"{number(float(f'{100 * share:.3g}'))} %"


def plural(count: Any, noun: str) -> str:
    """The count with its noun."""
    if count == 1:
        return f"1 {noun}"
    return f"{number(count)} {noun if noun == 'series' else noun + 's'}"


def file_size(n_bytes: Any) -> str:
    """A file size in the unit that fits."""
    if isinstance(n_bytes, bool) or not isinstance(n_bytes, int | float):
        return "–"
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:,.1f} {unit}"
    return f"{number(n_bytes)} bytes"


def moment(text: Any) -> str:
    """A time of the certificate as people write it; what is no date is shown as it is."""
    try:
        when = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return clipped(text, 40)
    clock = f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"
    return f"{when.day} {when:%B} {when.year:04d}, {clock}"


def every(step: Any) -> str:
    """The distance of two instants in words."""
    parts = re.fullmatch(r"(\d+)\s*([a-z]+)", str(step))
    if not parts or parts[2] not in _UNITS:
        return f"every {clipped(step, 40)}"
    noun = _UNITS[parts[2]]
    return f"every {noun}" if int(parts[1]) == 1 else f"every {plural(int(parts[1]), noun)}"


def clock(minutes: float) -> str:
    """Minutes after midnight as a clock shows them."""
    seconds = round(minutes * 60)
    text = f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d}"
    return f"{text}:{seconds % 60:02d}" if seconds % 60 else text


def title(name: Any) -> str:
    """The word of the command line as a heading: `information-loss` is Information loss."""
    words = clipped(name, 80).replace("_", " ")
    if not words.startswith(("k-", "l-", "(", "15")):
        words = words.replace("-", " ")
        words = words[:1].upper() + words[1:]
    return words


def entry(value: Any) -> str:
    """Anything of the certificate as one short text."""
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


def may_conclude(guarantee: Mapping[str, Any]) -> list[str]:
    """What a guarantee that holds lets a reader rely on."""
    parameters = guarantee.get("parameters")
    settings: Mapping[str, Any] = parameters if isinstance(parameters, Mapping) else {}
    k = number(settings.get("k", "k"))
    crowd = f"{k} subjects that look exactly alike. Somebody who knows all original readings of one subject still "
    crowd += "cannot tell which of them is that subject."
    if settings.get("per") == "series":
        crowd = f"{k} series that look exactly alike. Several of them may belong to one subject."
    known = {
        "k-anonymity": [f"Behind every published series stand at least {crowd}"],
        "sequence-anonymity": [
            f"Somebody who compares it with all other releases of its sequence still finds nobody in a crowd below {k}."
        ],
        "nlk-anonymity": [
            f"Somebody who knows {plural(settings.get('n', 'n'), 'reading')} of a subject cannot pin down "
            f"{number(settings.get('l', 'l'))} of them or more in a crowd below {k}."
        ],
        "kp-anonymity": [
            f"Every published range is shared by at least {k} series, and every pattern inside it by at least "
            f"{number(settings.get('p', 'P'))}."
        ],
        "l-diversity": [
            f"In no published group does one sensitive value make up more than 1 in {number(settings.get('l', 'l'))}."
        ],
        "aggregate-rule": [
            "Every published figure is a sum or mean over many subjects, and no single subject dominates it."
        ],
        "differential-privacy": [
            "The readings of any one subject change the odds of every published result by no more than the stated "
            "factor, whatever else anybody knows."
        ],
        "none": ["That the attacks named here, run by the publisher, succeeded no more often than the figures say."],
    }
    return known.get(_plain(guarantee.get("name")), ["The statement of the guarantee above, word for word."])


def may_not_conclude(guarantee: Mapping[str, Any]) -> list[str]:
    """What a guarantee leaves open even when it holds."""
    known = {
        "k-anonymity": [
            "That a published series is the reading of any one subject. It is common to a whole group.",
            "That nothing can be learned about a subject. k-anonymity hides who is who in a group, not what all its "
            "members have in common.",
            "That it withstands somebody who already knows nearly all members of a group. It is not differential "
            "privacy.",
        ],
        "sequence-anonymity": [
            "That every series is of somebody who was there: who has no readings, or has left, is published as his "
            "group.",
            "That nothing can be learned from other releases of the same people, outside the sequence.",
        ],
        "nlk-anonymity": [
            "That no reading is published as it was measured: a few of every series are, and where a group had equal "
            "readings, these are.",
            "That it withstands somebody who knows more readings of a subject than the guarantee assumes.",
        ],
        "kp-anonymity": [
            "That a reading lay anywhere particular inside a published range.",
            "That nothing can be learned about a subject: what all series of a range have in common is published.",
        ],
        "l-diversity": [
            "That a sensitive value belongs to any one record of its group.",
            "That the members of a group differ much: values count as different however near they are, so about how "
            "large a number is, or what its values have in common, may be the same for all of them.",
            "That it withstands somebody who can rule out sensitive values from knowledge of their own.",
        ],
        "aggregate-rule": [
            "Anything about one subject inside an aggregate.",
            "That two aggregates may safely be subtracted from each other where their members overlap.",
        ],
        "none": [
            "That anything is promised. Somebody who knows more, or tries something else, may achieve more.",
            "That the figures can be checked from the release: they are the publisher's.",
        ],
        "differential-privacy": [
            "That a published figure is exact: noise was added on purpose.",
            "That nothing can be learned about people in general. It limits what is learned from one subject's data.",
        ],
    }
    return known.get(_plain(guarantee.get("name")), ["Anything the statement of the guarantee does not say."])


def _plain(name: Any) -> str:
    """Guarantees by one spelling: `(n, l, k)-anonymity` is `nlk-anonymity`."""
    return {"15/15": "aggregate-rule"}.get(str(name), re.sub(r"[(), ]", "", str(name).lower()))
