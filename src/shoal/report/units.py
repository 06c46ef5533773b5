"""Figures with their unit, as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.release.facts import Facts, is_finite, listed
from shoal.report import words

ROUNDING = 1e-9
"""A figure below this share of its scale counts as 0 up to rounding."""

IN_UNIT_OF_DATA = "in the unit of the data"

_NAMED = ("Wh", "kWh", "MWh", "GWh", "kW", "MW", "GW", "kVA", "kvar", "kvarh", "kJ", "MJ", "GJ", "ppm", "hPa", "lux")
_SPELT = {"watt": "W", "watts": "W", "celsius": "°C", "degc": "°C", "fahrenheit": "°F", "m3": "m³"}
_COLUMN_UNITS = {name.lower(): name for name in _NAMED} | _SPELT
_WORD = re.compile(r"[a-z]+[0-9]*")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_STEP = re.compile(r"(\d+)(us|s|min|h|d)")
_HOURS = {"us": 1 / 3.6e9, "s": 1 / 3600, "min": 1 / 60, "h": 1.0, "d": 24.0}


def unit_of(column: Any) -> str:
    """Return the unit in a column's name; empty if there is none, or more than one.

    Examples
    --------
    >>> [unit_of(name) for name in ("kwh", "load (kW)", "roomTemperatureCelsius", "value")]
    ['kWh', 'kW', '°C', '']
    """
    held = _WORD.findall(_CAMEL.sub(" ", str(column)).lower())
    found = {_COLUMN_UNITS[word] for word in held if word in _COLUMN_UNITS}
    return found.pop() if len(found) == 1 else ""


def data_unit(facts: Facts) -> str:
    """Return the unit of the readings, if all channels have the same."""
    units = {unit_of(name) for name in listed(facts.columns.get("channels"))[:20]}
    return units.pop() if len(units) == 1 else ""


def is_zero(value: float, span: float | None = None) -> bool:
    """Return whether a figure is 0 up to rounding, on a scale of this length."""
    return abs(value) < ROUNDING * (span or 1.0)


def amount(value: Any, unit: str) -> str:
    """Write a reading with its unit; if it is unknown, the page says once that it is that of the data."""
    text = words.number(float(f"{value:.3g}") if is_finite(value) else value)
    return f"{text} {unit}" if unit and is_finite(value) else text


def duration(hours: float) -> str:
    """Write a length of time: minutes below two hours."""
    if abs(hours) < 2:
        return f"{words.number(float(f'{60 * hours:.2g}'))} min"
    return f"{words.number(float(f'{hours:.2g}'))} hours"


def score_text(score: Mapping[str, Any], facts: Facts) -> str:
    """Write a utility figure in its own unit."""
    value, unit = score.get("value"), score.get("unit")
    if not is_finite(value):
        return words.number(value)
    low, high = [*listed(score.get("range")), None, None][:2]
    if is_zero(value, high - low if is_finite(low) and is_finite(high) else None):
        value = 0.0
    if unit == "share":
        return words.percent(value)
    if unit == "hours":
        return duration(value)
    if unit == "instants" and (step := step_hours(facts)) is not None:
        return duration(value * step)
    text = words.number(float(f"{value:.3g}"))
    after = {"instants": "instants", "decibel": "dB", "times": "times", "data": data_unit(facts) or IN_UNIT_OF_DATA}
    return f"{text} {after[unit]}" if unit in after else text


def step_hours(facts: Facts) -> float | None:
    """Return the distance between two instants, if the panel has a constant one and it is a time."""
    parts = _STEP.fullmatch(str(facts.time.get("step")))
    return int(parts[1]) * _HOURS[parts[2]] if parts else None
