"""Figures in words, the same in a notebook and in the report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST = 240
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def clipped(text: Any, longest: int = _LONGEST) -> str:
    """The text, cut if it would fill the page."""
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
        leading, power = f"{float(value):.3e}".split("e")
        return f"{leading.rstrip('0').rstrip('.')} × 10{str(int(power)).translate(_RAISED)}".replace("-", "−")
    if float(value).is_integer():
        return f"{int(value):,}".replace("-", "−")
    digits = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text).replace("-", "−")


def setting(parameters: Mapping[str, Any]) -> str:
    """Method and parameters that a search tried; empty if nothing was open.

    Examples
    --------
    >>> setting({"k": 4}), setting({"method": "kp", "k": 4, "p": 2})
    ('k = 4', 'kp, k = 4, p = 2')
    """
    return ", ".join(str(value) if name == "method" else f"{name} = {value}" for name, value in parameters.items())


def names_apart(promises: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """The name of each guarantee, with the parameters in which it differs from others of that name.

    Examples
    --------
    >>> names_apart([("k-anonymity", {"k": 5}), ("l-diversity", {"l": 2}), ("l-diversity", {"l": 3})])
    ['k-anonymity', 'l-diversity l=2', 'l-diversity l=3']
    """
    names = []
    for name, given in promises:
        others = [parameters for other, parameters in promises if other == name]
        differing = [f"{key}={value}" for key, value in given.items() if any(o.get(key) != value for o in others)]
        names.append(" ".join([name, ", ".join(differing)]).rstrip())
    return names


def percent(share: float) -> str:
    """A share in per cent."""
    return "less than 0.1 %" if 0 < share < 0.001 else f"{number(float(f'{100 * share:.3g}'))} %"


def plural(count: Any, noun: str, many: str = "") -> str:
    """The count with its noun, and the noun of several where an s does not make it."""
    if count == 1:
        return f"1 {noun}"
    return f"{number(count)} {many or (noun if noun == 'series' else noun + 's')}"


def title(name: Any) -> str:
    """The word of the command line as a heading: `information-loss` is Information loss."""
    words = clipped(name, 80).replace("_", " ")
    if not words.startswith(("k-", "l-", "(", "15")):
        words = words.replace("-", " ")
        words = words[:1].upper() + words[1:]
    return words
