"""What a release must keep, in words: series are similar if they are similar in that.

    peaks                 the height of each day's peak, and the time of the mean day's peak
    total                 the sum of all readings; total:17:00-20:00 of those between two times of day
    daily-totals          the sum of each day
    window:17:00-20:00    the readings between two times of day, on every day; window:34-40 by position
    arrival:0.5           on each day, the first instant above 0.5; departure:0.5 the one after the last
    shape                 the readings minus their own mean
    values                the readings themselves, with the weight 0.3 unless another is given

Days and times of day follow the panel's own clock; if its times are numbers, a series is one day. Let f be what matters
(peaks have two parts, heights and times), s its spread over the panel and w its weight:

    d(x, y)² = Σ over f of (w / s)² ‖f(x) - f(y)‖²    where s² = mean over series of ‖f(x) - mean of f‖²

so everything counts the same, whatever its unit, unless a weight says otherwise. The readings always count a little:
among series that are similar in what matters, those similar in the rest are grouped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.interests import (
    Arrival,
    Departure,
    Interest,
    PeakHeight,
    PeakTime,
    Segment,
    Shape,
    Totals,
    WindowTotal,
    minutes_of,
)
from shoal.features.labelled import as_series
from shoal.model import Moments, Panel

Floats = NDArray[np.float64]

PREFIX = "keep:"
"""Prefix of the names of such features."""

ABOVE = 0.5
"""The default reading above which someone counts as present: suits presence of 0 and 1."""

VALUES = 0.3
"""The default weight of the readings, chosen among six on a few samples. On 300 real meters over one day with k = 5, it
kept three quarters of what weight 0 gains for totals, at a third of its information loss."""

_DAY = 86_400_000_000  # microseconds
_WINDOWS = ("window", "total")
_THRESHOLDS = ("arrival", "departure")
WORDS = ("peaks", "total", "daily-totals", "window", "arrival", "departure", "shape", "values")
_EXAMPLES = "peaks, total, daily-totals, window:17:00-20:00, arrival:0.5, departure:0.5, shape, values"


@dataclass(frozen=True)
class KeptInterest:
    """One of the things to keep, with its weight.

    Examples
    --------
    >>> KeptInterest.parse("window:17:00-20:00=2")
    KeptInterest(word='window', detail='17:00-20:00', weight=2.0)
    """

    word: str
    detail: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.word not in WORDS:
            raise ParameterError(f"keep: {self.word!r} is not an interest. Interests are: {_EXAMPLES}.")
        if not 0.0 <= self.weight < float("inf") or (self.weight == 0.0 and self.word != "values"):
            raise ParameterError(f"keep: the weight of {self.word} must be a number above 0, as in {self.word}=2.")
        if self.word in _THRESHOLDS:
            object.__setattr__(self, "detail", _digits(_threshold(self.word, self.detail)))
        elif self.word == "window" or (self.word == "total" and self.detail):
            _ends(self.word, self.detail)
        elif self.detail:
            raise ParameterError(f"keep: {self.word} takes nothing after a colon. A weight is written {self.word}=2.")

    @classmethod
    def parse(cls, text: str) -> KeptInterest:
        """From `word`, `word:detail` or either with `=weight`."""
        what, equals, weight = text.strip().partition("=")
        word, _, detail = what.strip().partition(":")
        return cls(word.strip(), detail.strip(), _number(weight) if equals else 1.0)

    @classmethod
    def of_mapping(cls, given: Mapping[str, Any]) -> KeptInterest:
        """From a policy's `{window: 17:00-20:00}`, optionally with `weight`; `{peaks: 2}` is a weight too."""
        rest = {str(word): detail for word, detail in given.items()}
        weight = rest.pop("weight", None)
        if len(rest) != 1:
            raise ParameterError("keep: give one interest each, such as {window: 17:00-20:00, weight: 2}.")
        (word, detail), weights = next(iter(rest.items())), [w for w in (weight,) if w is not None]
        if word in WORDS and word not in (*_WINDOWS, *_THRESHOLDS) and detail is not None:
            weights, detail = [*weights, detail], None
        if len(weights) > 1:
            raise ParameterError(f"keep: {word} has two weights. Give one of them.")
        return cls(word, "" if detail is None else str(detail), _number(weights[0]) if weights else 1.0)

    @property
    def text(self) -> str:
        """As written, without its weight."""
        return f"{self.word}:{self.detail}" if self.detail else self.word

    def blocks(self, panel: Panel) -> list[Floats]:
        """What matters about each series, an array (series, numbers) for each of its units."""
        n = panel.n_instants
        if self.word in _WINDOWS and self.detail:
            inside = panel.values[:, self._within(panel)]
            return [(Segment if self.word == "window" else WindowTotal)(0, inside.shape[1]).of(inside)]
        whole: dict[str, Interest] = {"total": WindowTotal(0, n), "shape": Shape(), "values": Segment(0, n)}
        if self.word in whole:
            return [whole[self.word].of(panel.values)]
        starts = day_starts(panel)
        if self.word == "daily-totals":
            return [Totals(starts).of(panel.values)]
        daily: Interest = PeakHeight()
        if self.word in _THRESHOLDS:
            daily = (Arrival if self.word == "arrival" else Departure)(float(self.detail))
        days = [panel.values[:, first:end] for first, end in zip(starts, (*starts[1:], n), strict=True)]
        parts = [np.concatenate([daily.of(day) for day in days], axis=1)]
        # Peaks of single days occur at so many times that no group would share them.
        return [*parts, PeakTime().of(mean_day(panel))] if self.word == "peaks" else parts

    def of(self, panel: Panel) -> Floats:
        """All numbers of `blocks` side by side."""
        return np.concatenate(self.blocks(panel), axis=1)

    def _within(self, panel: Panel) -> NDArray[np.int64]:
        """The positions of a window's instants."""
        start, end = _ends(self.word, self.detail)
        if isinstance(start, int) and isinstance(end, int):
            if end > panel.n_instants:
                raise ParameterError(
                    f"keep: {self.text} ends at position {end}, the series have {panel.n_instants} instants."
                )
            return np.arange(start, end)
        if panel.times.dtype.kind != "M":
            raise ParameterError(
                f"keep: {self.text} uses clock times, but the times of this panel are numbers. Give positions, as in "
                f"{self.word}:34-40, or read the table with its timestamps."
            )
        minutes = local_clock(panel) % _DAY / 60e6
        first, last = minutes_of(start), minutes_of(end)
        inside = (minutes >= first) & (minutes < last) if first < last else (minutes >= first) | (minutes < last)
        if not inside.any():
            raise ParameterError(f"keep: no instant of the panel lies in {self.text}. Give another window.")
        return np.flatnonzero(inside)


@dataclass(frozen=True)
class Kept:
    """Features that keep what matters; see `keep`, which makes them."""

    interests: tuple[KeptInterest, ...]
    spreads: tuple[float, ...] | None = field(default=None, repr=False, compare=False)
    """For a shard: the spread of each interest over the whole panel, which replaces the shard's own."""

    @property
    def name(self) -> str:
        """All that is kept, as `find_features` reads it again."""
        weights = (f"={_digits(one.weight)}" if one.weight != 1.0 else "" for one in self.interests)
        return PREFIX + ",".join(one.text + weight for one, weight in zip(self.interests, weights, strict=True))

    @property
    def _all(self) -> tuple[KeptInterest, ...]:
        """What is kept, and the readings."""
        named = any(one.word == "values" for one in self.interests)
        every = self.interests if named else (*self.interests, KeptInterest("values", weight=VALUES))
        return tuple(one for one in every if one.weight)

    def moments(self, panel: Panel) -> tuple[Moments, ...]:
        """The sums that spreads are computed from; those of shards add up."""
        return tuple(_moments(block) for one in self._all for block in one.blocks(panel))

    def scaled(self, shards: Sequence[tuple[Moments, ...]]) -> Kept:
        """The same features with the spreads of all shards together."""
        whole = (reduce(add, several) for several in zip(*shards, strict=True))
        return replace(self, spreads=tuple(_spread(one) for one in whole))

    def __call__(self, panel: Panel) -> Floats:
        """What matters about each series, side by side."""
        blocks = [(one.weight, block) for one in self._all for block in one.blocks(panel)]
        spreads = self.spreads or tuple(_spread(_moments(block)) for _, block in blocks)
        scaled = [block * (weight / spread) for (weight, block), spread in zip(blocks, spreads, strict=True)]
        return np.concatenate(scaled, axis=1)


def keep(*wanted: str | Mapping[str, Any] | Kept | Iterable[str | Mapping[str, Any]]) -> Kept:
    """Features that keep what matters: `Microaggregation(k=10, features=keep("peaks"))`.

    Parameters
    ----------
    wanted
        Words such as "peaks", "total", "daily-totals", "window:17:00-20:00", "arrival:0.5", "departure:0.5", "shape" or
        "values", several with commas; a weight follows an equals sign, as in "peaks=2". Or as in a policy,
        {"window": "17:00-20:00", "weight": 2}. The values themselves always count a little, with the weight 0.3; more
        with "values=1", not at all with "values=0".

    Examples
    --------
    >>> keep("peaks=2", "total").name
    'keep:peaks=2,total'
    >>> keep("total", "values=0")(Panel([[1.0, 2.0], [5.0, 4.0]])).tolist()
    [[1.0], [3.0]]
    """
    found: list[KeptInterest] = []
    for one in wanted:
        if isinstance(one, Kept):
            found += one.interests
        elif isinstance(one, str):
            listed = one.removeprefix(PREFIX).split(",")
            found += [KeptInterest.parse(text) for text in listed if text.strip()]
        elif isinstance(one, Mapping):
            found.append(KeptInterest.of_mapping(one))
        elif isinstance(one, Iterable):
            found += keep(*one).interests
        else:
            raise ParameterError(f"keep takes words, found {type(one).__name__}. They are: {_EXAMPLES}.")
    if not any(one.weight for one in found):
        raise ParameterError(f"keep: nothing is named. Give one or more of: {_EXAMPLES}.")
    if len({one.text for one in found}) < len(found):
        raise ParameterError("keep names an interest twice. Give it once, with a weight such as peaks=2.")
    return Kept(tuple(found))


def local_clock(panel: Panel) -> NDArray[np.int64]:
    """What the panel's own clock shows at its instants, in microseconds."""
    times = panel.times.astype("datetime64[us]").astype(np.int64)
    if panel.timezone is None:
        return times
    if fixed := re.fullmatch(r"([+-])(\d{2}):(\d{2})", panel.timezone):
        minutes = (-1 if fixed[1] == "-" else 1) * (60 * int(fixed[2]) + int(fixed[3]))
        return times + minutes * 60_000_000
    shown = pl.Series(times).cast(pl.Datetime("us", "UTC")).dt.convert_time_zone(panel.timezone)
    return np.asarray(shown.dt.replace_time_zone(None).cast(pl.Int64).to_numpy(), dtype=np.int64)


def day_starts(panel: Panel) -> tuple[int, ...]:
    """The starts of days on the panel's own clock; if its times are numbers, there is one day."""
    if panel.times.dtype.kind != "M":
        return (0,)
    return tuple(np.flatnonzero(np.diff(local_clock(panel) // _DAY, prepend=-(1 << 40))).tolist())


def mean_day(panel: Panel) -> Floats:
    """The mean of each series at each time of the day, for each channel: (series, times of the day, channels)."""
    if panel.times.dtype.kind != "M":
        return as_series(panel.values)
    slots = local_clock(panel) % _DAY
    order = np.argsort(slots, kind="stable")
    starts = np.flatnonzero(np.diff(slots[order], prepend=-1))
    counts = np.diff([*starts, len(slots)])
    sums = np.add.reduceat(as_series(panel.values)[:, order], starts, axis=1)
    means: Floats = sums / counts.reshape(1, -1, *[1] * (sums.ndim - 2))
    return means


def _moments(block: Floats) -> Moments:
    """Summed in order of size, so that the order of the rows does not matter to the last bit."""
    return Moments.of(np.sort(block, axis=0))


def _spread(moments: Moments) -> float:
    """The root mean squared distance from the mean; 1 if all are the same."""
    n = int(moments.counts.max(initial=1))
    return float(np.sqrt(moments.deviations.sum() / n)) or 1.0


def _ends(word: str, detail: str) -> tuple[int | str, int | str]:
    """Both ends of a window: times of the day, or positions."""
    start, dash, end = (part.strip() for part in detail.partition("-"))
    if dash and start.isdecimal() and end.isdecimal() and int(start) < int(end):
        return int(start), int(end)
    if not dash or ":" not in start or ":" not in end:
        raise ParameterError(f"keep: a window is written {word}:17:00-20:00, or by position as in {word}:34-40.")
    if minutes_of(start) == minutes_of(end):
        raise ParameterError("keep: a window must not end when it starts.")
    return start, end


def _threshold(word: str, detail: str) -> float:
    try:
        above = float(detail or ABOVE)
    except ValueError:
        above = float("nan")
    if not np.isfinite(above):
        raise ParameterError(f"keep: {word} is written {word}:0.5, with the reading above which someone is present.")
    return above


def _digits(number: float) -> str:
    return f"{number:.15g}"


def _number(given: Any) -> float:
    try:
        return float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        return float("nan")  # refused with the message for weights
