"""What a column measures, by its name and unit, and how to combine such readings: energy adds up, the rest averages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from shoal.read.options import parse_choice


class By(StrEnum):
    """How to combine the readings of a bucket."""

    MEAN = "mean"
    SUM = "sum"
    FIRST = "first"
    LAST = "last"
    MIN = "min"
    MAX = "max"


class Quantity(StrEnum):
    """What is measured: energy adds up over time, power and everything else averages."""

    ENERGY = "energy"
    POWER = "power"
    OTHER = "other"

    @property
    def by(self) -> By:
        """The aggregate that keeps its meaning."""
        return By.SUM if self is Quantity.ENERGY else By.MEAN


# The later words decide: `power_kwh` is energy, since a unit says more than a name.
_WORDS = {
    Quantity.OTHER: (
        "temp temperature temperatures celsius fahrenheit kelvin degc degf humidity rh co2 ppm pressure hpa pa voltage "
        "volt volts current ampere amperes amps lux illuminance occupancy speed"
    ),
    Quantity.POWER: "power demand watt watts w kw mw gw kva va kvar",
    Quantity.ENERGY: "energy consumption wh kwh mwh gwh kvarh kvah joule joules kj mj gj btu kbtu mmbtu therm therms",
}
_OF_WORD = {word: quantity for quantity, words in _WORDS.items() for word in words.split()}
_RANK = list(_WORDS)
_WORD = re.compile(r"[a-z]+[0-9]*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z][a-z])")


def parse_quantity(given: Any) -> Quantity | None:
    """Read "energy", "power" or "other"; None leaves it to the names."""
    return None if given is None else parse_choice(Quantity, given, "quantity")


def guess_quantity(name: str) -> Quantity | None:
    """The quantity that a column's name or unit indicates; None if it indicates none.

    Examples
    --------
    >>> [str(guess_quantity(name)) for name in ("kWh", "load (kW)", "roomTemperature", "value")]
    ['energy', 'power', 'other', 'None']
    """
    words = _WORD.findall(_CAMEL.sub(" ", name).lower())
    found = {_OF_WORD[word] for word in words if word in _OF_WORD}
    return max(found, key=_RANK.index, default=None)


def quantities_of(names: Sequence[str] | None, given: Quantity | None, n_channels: int) -> tuple[Quantity | None, ...]:
    """The quantity of each channel; names is None if columns are named by instants or series."""
    if given is not None or names is None:
        return (given,) * n_channels
    return tuple(guess_quantity(name) for name in names)
