"""What a subject is in a table, stated explicitly; and what the columns next to a time are if no column names the
series.

One rule, however the table is written:

    subjects   their names differ in numbers only (meter_1, meter_2, ... meter_600), and no word of them names a sensor,
               a channel or a measured quantity (`SENSOR_WORDS`); the mean size of the readings of each column, zeros
               and gaps left aside, is at most ten times larger and ten times smaller than the median of these means
    channels   of one subject: most of their names tell a quantity, and most differ in more than a number
               (import_kwh, export_kwh); or there is only one column

Otherwise the table is refused: the sensors of one room would pass for a crowd, or people for quantities of one person.
The caller decides with layout "wide" (each column is a subject) or "long" (all are channels of one subject).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model.words import plural
from shoal.read.columns import Layout, Placement
from shoal.read.headings import groups_of, unit_of, words_of

_WORDS = (
    "aggregate air angle appliance appliances battery ch channel circuit co co2 current damper dewpoint door "
    "feature flow frequency gas heat hum humidity intensity l lamp level light lux motion noise occupancy occupants "
    "ozone parameter particulate ph phase pir pm pm10 pm25 power ppm precipitation pressure probe radiation rain "
    "rh sensor setpoint signal smoke sound speed state status temp temperature v valve var variable vibration voc "
    "volt voltage water wind window x y z"
)
SENSOR_WORDS = frozenset(_WORDS.split())
"""Words that name a sensor, a channel or a measured quantity, in lower case."""

_USES = (
    "forecast prevision prognose nuclear nucleaire eolien solar solaire pv hydro hydraulique thermal gaz coal charbon "
    "oil fioul biomass bioenergies grid mains hvac lights lighting heating cooling"
)
_KINDS = frozenset(_USES.split())
"""Words for kinds of generation and of use: they indicate a quantity, and may be part of the name of a meter."""

_DEGREES = "active reactive apparent global total net main sub phase avg mean max min tot act"
_QUALIFIERS = frozenset(_DEGREES.split())
"""Words that distinguish quantities."""

_OBIS = re.compile(r"(?:\d-\d{1,2}:)?\d{1,2}\.\d{1,2}(?:\.\d{1,3}(?:\*\d{1,3})?)?")
"""Codes of the registers of a meter: 1.8.0, 1-0:2.8.0*255."""

_TOTAL = re.compile(r"(?i)(?:grand |sub|all )?(?:totals?|sum|summe|gesamt|somme|totaal|totalt|meters)")
WIDEST = 10.0
"""How many times larger or smaller than the middle column a column may be."""


def tell_subjects(
    plan: Placement | None, n_rows: int, n_series: int, n_subjects: int, n_channels: int = 1, *, of: str = "row"
) -> str:
    """What was taken for a subject: counts and names of columns. Without a plan, the rows are those of an array."""
    many = plural(n_subjects, "subject")
    if plan is None:
        text = f"{plural(n_rows, 'row')} of an array read as {many}"
    elif plan.layout is Layout.WIDE and plan.id is None and n_channels > 1:
        return f"{plural(n_channels, 'column')} read as channels of {many}"
    elif of == "column" or (plan.layout is Layout.WIDE and plan.id is None):
        text = f"{plural(n_series, 'column')} read as {many}"
    else:
        assert plan.id is not None
        text = f"{plural(n_rows, of)} read as "
        if plan.subject is not None:
            text += f"{plural(n_series, 'series')} of {many} (column {plan.subject.name!r})"
        elif plan.layout is Layout.LONG:
            text += f"{plural(n_series, 'series')} of {many} (column {plan.id.name!r})"
        else:
            text += f"{many} (column {plan.id.name!r})"
    return text + (f", {n_channels} channels each" if n_channels > 1 else "")


def tell_totals(ids: Sequence[str] | None) -> tuple[str, ...]:
    """Series whose identifier merely says that it is a total: they would count as subjects."""
    n = sum(_TOTAL.fullmatch(name) is not None for name in ids or ())
    if not n:
        return ()
    is_called = "1 series is" if n == 1 else f"{n} series are"
    return (f"{is_called} named like a total of others and counted as a subject: leave totals out",)


def tell_events(n_rows: int, *, subject: bool = False) -> str:
    """What was taken for a subject if a row is an event."""
    whose = "of the subjects that a column names" if subject else "each counted as a subject of its own"
    return f"{plural(n_rows, 'row')} read as {plural(n_rows, 'event')}, {whose}"


def refuse_unlike(names: Sequence[str], sizes: NDArray[np.float64], time: str) -> None:
    """Refuse to take columns for subjects if they do not look like one quantity.

    Parameters
    ----------
    names
        Names of the columns. They may name people, so a message contains only words of `SENSOR_WORDS`.
    sizes
        Mean size of the readings of each column, NaN if all are zero; see `mean_sizes`.
    time
        Name of the time column, for the message.
    """
    n, seen = len(names), seen_unlike(names, sizes)
    if not seen:
        return
    raise InputError(
        f"The table has a time column {time!r} and {plural(n, 'column')} with readings, and {seen}, so it is not "
        "clear that each column is a subject. If it is, say so with layout='wide'. If the columns are channels of one "
        "subject, say so with layout='long'; if they are channels of several, write one row per subject and instant, "
        "and name id= and every channel as value=."
    )


def are_channels(names: Sequence[str]) -> bool:
    """Whether columns next to a time are quantities of one subject, by their names."""
    n_told = sum(map(tells_quantity, names))
    patterns = Counter(map(_pattern, names))
    differ = 2 * len(patterns) >= len(names) and min(patterns.values()) == 1
    return len(names) == 1 or (2 * n_told >= len(names) and differ)


def tells_quantity(name: str) -> bool:
    """Whether a name states what is measured: a word for it, a unit or a register of a meter.

    Examples
    --------
    >>> [tells_quantity(name) for name in ("import_kwh", "Temp2", "1-0:1.8.0", "Anna", "meter_7")]
    [True, True, True, False, False]
    """
    words = _words(name) & SENSOR_WORDS or _KINDS & set(words_of(name))
    told = bool(words) or "value" in groups_of(name) or unit_of(name) is not None
    return told or _OBIS.fullmatch(name.strip()) is not None


def is_printable(name: str) -> bool:
    """Whether every word of a name indicates a quantity, so that it names nobody.

    Examples
    --------
    >>> [is_printable(name) for name in ("Global_active_power", "Import kWh", "1-0:1.8.0", "Anna kWh", "Hall (kWh)")]
    [True, True, True, False, False]
    """
    words = [word for word in words_of(name) if not word.isdecimal()]
    known = all(_QUALIFIERS & {word} or tells_quantity(word) or groups_of(word) & {"total", "unit"} for word in words)
    return tells_quantity(name) and known


def mean_sizes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean size of the readings in each row, zeros and gaps left aside; NaN where nothing is left."""
    sizes = np.full(len(values), np.nan)
    for row, readings in enumerate(values):
        size = np.abs(readings[~np.isnan(readings)])
        size = size[size > 0]
        if len(size):
            sizes[row] = size.mean()
    return sizes


def seen_unlike(names: Sequence[str], sizes: NDArray[np.float64]) -> str:
    """What contradicts one quantity, in words; empty if nothing does."""
    patterns = {_pattern(name) for name in names}
    words = {word for name in names for word in _words(name)} & SENSOR_WORDS
    if not all(names):
        return "some have no names"
    if words:
        return f"some are named like sensors or measured quantities ({', '.join(sorted(words))})"
    if len(patterns) > 1:
        return f"their names follow {len(patterns)} patterns"
    if not any("#" in pattern for pattern in patterns):
        return "their names have no number to distinguish them"
    known = sizes[~np.isnan(sizes)]
    if not len(known):
        return ""
    middle = float(np.median(known))
    if n_apart := int(((known > WIDEST * middle) | (known * WIDEST < middle)).sum()):
        return (
            f"the readings of {n_apart} are more than {WIDEST:g} times larger or smaller than those of the middle one"
        )
    return ""


def _pattern(name: str) -> str:
    return name if _OBIS.fullmatch(name.strip()) else re.sub(r"\d+", "#", name)


def _words(name: str) -> set[str]:
    """The words of a name without the digits at their ends, unless these belong to it: Temp2 has temp, CO2_1 co2."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    whole = {word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word}
    if re.search(r"\d{3}", name):
        # Z-1001 is no axis: nobody has as many.
        whole = {word for word in whole if len(word) > 1}
    return {word if word in SENSOR_WORDS else word.rstrip("0123456789") for word in whole}
