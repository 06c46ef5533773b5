"""Common instants: keep them as they are, or gather readings into even buckets. Energy is summed, the rest averaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.read.autumn import Dst
from shoal.read.durations import DAY, HOUR, Duration, parse_duration, write_duration
from shoal.read.options import parse_choice
from shoal.read.repeats import Duplicates
from shoal.read.zones import Zone


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
        """The aggregate that preserves its meaning."""
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


@dataclass(frozen=True)
class Exact:
    """The distinct times in the table are the instants; they must be evenly spaced."""


@dataclass(frozen=True)
class Resample:
    """Readings are gathered into buckets of one length, counted from midnight."""

    step: Duration
    by: By | None = None
    """None: chosen by the quantity."""


@dataclass(frozen=True)
class Rules:
    """How rows become readings of a panel."""

    align: Exact | Resample = Exact()
    duplicates: Duplicates = Duplicates.FAIL
    complete: Fraction | None = Fraction(1)
    """The share of its readings that a bucket must have; None accepts every bucket that has a reading."""
    quantity: Quantity | None = None
    dst: Dst = Dst.INFER
    uneven: bool = False
    """Whether the instants of a panel that keeps its gaps may be arbitrary."""

    def by(self, names: Sequence[str] | None, n_channels: int) -> tuple[By, ...]:
        """The aggregate of each channel."""
        if isinstance(self.align, Resample) and self.align.by is not None:
            return (self.align.by,) * n_channels
        found = quantities_of(names, self.quantity, n_channels)
        return tuple(By.MEAN if quantity is None else quantity.by for quantity in found)

    def settings(self, names: Sequence[str] | None, n_channels: int) -> dict[str, str]:
        """What a certificate says about them, with the aggregate and the quantity as they were understood."""
        told = {"align": "exact", "duplicates": str(self.duplicates)}
        if isinstance(self.align, Exact):
            return told
        step = self.align.step
        length = write_duration(step.length) if step.on_clock else str(step.length)
        found = quantities_of(names, self.quantity, n_channels)
        told["align"] = f"resample:{length}:{_joined(self.by(names, n_channels))}"
        told["complete"] = "any" if self.complete is None else f"{float(self.complete):g}"
        told["quantity"] = _joined(tuple("unknown" if quantity is None else quantity for quantity in found))
        told["quantity_from"] = "setting" if self.quantity else "name" if any(found) else "nothing"
        return told


def _joined(words: Sequence[str]) -> str:
    """Each word, or one word if they are all the same."""
    return ",".join(words if len(set(words)) > 1 else words[:1])


def parse_rules(
    *, align: Any, duplicates: Any, complete: Any, quantity: Any, dst: Any = "infer", uneven: bool = False
) -> Rules:
    """Read the settings of that name."""
    rules = Rules(
        parse_align(align),
        parse_choice(Duplicates, duplicates, "duplicates"),
        _parse_complete(complete),
        parse_quantity(quantity),
        parse_choice(Dst, dst, "dst"),
        uneven,
    )
    if rules.complete != 1 and isinstance(rules.align, Exact):
        raise ParameterError("complete: only buckets can be incomplete. Give align='resample:1h' or another step too.")
    return rules


def _parse_complete(given: Any) -> Fraction | None:
    """Read a share above 0 and up to 1, exactly as it is written, or "any"."""
    if given == "any":
        return None
    try:
        share = Fraction(str(given))
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if isinstance(given, bool) or not 0 < share <= 1:
        raise ParameterError("complete: give a share above 0 and up to 1, such as 0.75, or 'any'.")
    return share


_FORMS = "'exact', 'resample:1h' or 'resample:1h:sum' (mean, sum, first, last, min, max)"


def parse_align(given: Any) -> Exact | Resample:
    """Read "exact", "resample:1h", "resample:1h:sum" or {"resample": "1h", "by": "sum"}."""
    if given == "exact":
        return Exact()
    if isinstance(given, str):
        word, _, rest = given.partition(":")
        length, _, aggregate = rest.partition(":")
        given = {word: length} | ({"by": aggregate} if aggregate else {})
    if not isinstance(given, Mapping) or "resample" not in given or not set(given) <= {"resample", "by"}:
        raise ParameterError(f"align: give {_FORMS}.")
    try:
        by = By(given["by"]) if "by" in given else None
    except ValueError:
        raise ParameterError(f"align: give {_FORMS}.") from None
    return Resample(parse_duration(given["resample"], "align resample"), by)


def require_even(
    times: NDArray[np.int64],
    *,
    on_clock: bool,
    zone: Zone | None,
    n_series: int,
    n_filled: int,
    by: By,
    own_step: Callable[[], int | None] | None = None,
) -> None:
    """Refuse instants that are not evenly spaced: by a fixed length, by whole days of the local clock, or by months.

    `own_step` finds the most frequent step within series, if these have instants of their own.
    """
    n_irregular = count_irregular(times, on_clock=on_clock, zone=zone)
    if not n_irregular:
        return
    n_steps = len(times) - 1
    gaps = np.diff(times)
    usual = (None if own_step is None else own_step()) or _usual(gaps)
    setting = f"align='resample:{write_step(usual, on_clock=on_clock)}:{by}'"
    if n_series > 1 and 2 * n_filled < n_series * len(times):
        raise InputError(
            f"The times of the series do not line up: {n_series} series have {len(times)} different, unevenly spaced "
            f"times between them, and fill {100 * n_filled // (n_series * len(times))} % of the cells. Resample them "
            f"with {setting}, which is their own step, or a multiple of it."
        )
    if on_clock and zone is None and np.any(gaps == usual + HOUR) and not np.any((gaps < usual) & (gaps % usual != 0)):
        way_out = (
            "One step is longer by an hour, as when summer time begins: give timezone=, for example "
            f"timezone='Europe/Bratislava', or mark the gap with {setting}."
        )
    else:
        way_out = f"Resample with {setting}, which marks gaps as missing, or a multiple of that step."
    raise InputError(
        f"The instants are not evenly spaced: {n_irregular} of {n_steps} steps differ from the usual one. {way_out}"
    )


def write_step(step: int, *, on_clock: bool) -> str:
    """A step as `align` takes it."""
    return write_duration(step) if on_clock else str(step)


def count_irregular(times: NDArray[np.int64], *, on_clock: bool, zone: Zone | None) -> int:
    """How many steps differ from the usual one; 0 if the instants are even on some calendar."""
    if len(times) <= 2:
        return 0
    gaps = np.diff(times)
    if np.all(gaps == gaps[0]):
        return 0
    if on_clock:
        local = times if zone is None else zone.to_local(times)
        days = np.diff(local)
        if days[0] % DAY == 0 and np.all(days == days[0]):
            return 0
        if _rounded(times) or _monthly(local):
            return 0
    return int((gaps != _usual(gaps)).sum())


def _usual(gaps: NDArray[np.int64]) -> int:
    lengths, counts = np.unique(gaps, return_counts=True)
    return int(lengths[counts.argmax()])


def _rounded(times: NDArray[np.int64]) -> bool:
    """Whether a step such as 1/30 s was rounded to the resolution of the clock, milliseconds or microseconds."""
    grain = 1000 if not np.any(times % 1000) else 1
    even = np.linspace(0.0, float(times[-1] - times[0]), len(times))
    return not np.all(times % 1_000_000 == 0) and bool(np.all(np.abs(times - times[0] - even) <= grain))


def _monthly(local: NDArray[np.int64]) -> bool:
    """Whether every instant is the same time on the same day of the month, or on the last, some months apart."""
    days, clock = np.divmod(local, DAY)
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    day_of_month = (dates - months.astype("datetime64[D]")).astype(np.int64)
    is_last = (dates + 1).astype("datetime64[M]") != months
    steps = np.diff(months.astype(np.int64))
    same_day = np.all(day_of_month == day_of_month[0]) or np.all(is_last)
    return bool(same_day and np.all(clock == clock[0]) and steps[0] > 0 and np.all(steps == steps[0]))


@dataclass(frozen=True)
class Buckets:
    """An even grid of buckets from the first reading to the last; each reading belongs to the bucket it lies in."""

    start: int
    """Start of the first bucket: local clock if `days` is set, else like the instants."""
    step: int
    n_buckets: int
    days: Zone | None
    """The zone whose days are counted, since one may have 23 or 25 hours."""

    def positions(self, instants: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket of each instant."""
        shown = instants if self.days is None else self.days.to_local(instants)
        places: NDArray[np.int64] = (shown - self.start) // self.step
        return places

    def times(self) -> NDArray[np.int64]:
        """The start of each bucket."""
        return self._bounds()[:-1]

    def lengths(self) -> NDArray[np.int64]:
        """How long each bucket lasts: a local day may have 23 or 25 hours."""
        return np.diff(self._bounds())

    def _bounds(self) -> NDArray[np.int64]:
        starts = self.start + self.step * np.arange(self.n_buckets + 1, dtype=np.int64)
        return starts if self.days is None else self.days.start_of_day(starts)


def make_buckets(first: int, last: int, step: Duration, *, on_clock: bool, zone: Zone | None) -> Buckets:
    """Buckets from midnight before the first instant (UTC or local clock), or from a multiple of the step."""
    length = step.needs(clock=on_clock, setting="align resample")
    if not on_clock:
        start = first // length * length
        return Buckets(start, length, (last - start) // length + 1, None)
    if zone is None:
        start = first // DAY * DAY + (first % DAY) // length * length
        return Buckets(start, length, (last - start) // length + 1, None)
    shown = zone.to_local(np.array([first, last]))
    midnight = int(shown[0]) // DAY * DAY
    if length % DAY == 0:
        return Buckets(midnight, length, (int(shown[1]) - midnight) // length + 1, zone)
    start = int(zone.start_of_day(np.array([midnight]))[0])
    start += (first - start) // length * length
    return Buckets(start, length, (last - start) // length + 1, None)
