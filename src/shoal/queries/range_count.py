"""How many series lie between two values at some instants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Envelopes
from shoal.queries.instants import Instant, as_instant, find_instants
from shoal.queries.prepared import Data, prepare
from shoal.queries.query import Query


class InstantRange(NamedTuple):
    """The values between which a series lies at an instant, ends included; and its channel, if there are several."""

    instant: Instant
    low: float
    high: float
    channel: str | None = None


@dataclass(frozen=True)
class RangeCount(Query):
    """How many series lie in a range at each of some instants.

    For a panel, the number of series with lo <= x[t] <= hi for every given (t, lo, hi); a missing value lies in no
    range. For envelopes, where a value is assumed to be uniform in [low, high] and instants to be independent,

        Σ over series of Π over (t, lo, hi) of |[low[t], high[t]] ∩ [lo, hi]| / (high[t] - low[t])

    and if low[t] = high[t], the factor is 1 if that value lies in [lo, hi], else 0. For group profiles, the subjects of
    the groups whose mean lies in every range. Channels are taken to be independent, as instants are.

    Parameters
    ----------
    ranges
        From instant to (lo, hi), ends included; infinite ends are open. A sequence of (instant, lo, hi) also works,
        or of (instant, lo, hi, channel) if there are several channels. More ranges select fewer series and multiply the
        errors of the estimate.

    Examples
    --------
    >>> from shoal.model import Envelopes, Panel
    >>> asked = RangeCount({0: (1.0, 2.0)})
    >>> asked.count(Panel([[1.0], [1.5], [3.0], [4.0]]))
    2.0
    >>> low, high = [[1.0], [1.0], [3.0], [3.0]], [[3.0], [3.0], [4.0], [4.0]]
    >>> asked.count(Envelopes(low, high, levels=[1] * 4, patterns=["a"] * 4, times=[0]))
    1.0

    References
    ----------
    The paper on (k, P)-anonymity, section 7.1 (range queries); uniform values inside an envelope are the usual
    assumption, which it does not state.
    """

    ranges: tuple[InstantRange, ...]

    def __init__(self, ranges: Mapping[Any, tuple[float, float]] | Iterable[tuple[Any, ...]]) -> None:
        listed = [(time, *ends) for time, ends in ranges.items()] if isinstance(ranges, Mapping) else list(ranges)
        kept = tuple(InstantRange(as_instant(time), *as_range(lo, hi), *channel) for time, lo, hi, *channel in listed)
        if not kept:
            raise ParameterError("RangeCount needs a range for at least one instant.")
        if len({(one.instant, one.channel) for one in kept}) < len(kept):
            raise ParameterError("RangeCount takes one range for each instant and channel; some instant has several.")
        object.__setattr__(self, "ranges", kept)

    def shares(self, data: Data) -> NDArray[np.float64]:
        """For each row, the probability that its values lie in the ranges."""
        whole = prepare(data)
        result = np.ones(len(whole.weights))
        for channel in dict.fromkeys(one.channel for one in self.ranges):
            ready, asked = whole.channel(channel), [one for one in self.ranges if one.channel == channel]
            low, high = ready.bounds
            places = find_instants((one.instant for one in asked), ready.times, ready.timezone)
            for place, one in zip(places, asked, strict=True):
                column = low[:, place]
                result *= overlap_shares(column, column if low is high else high[:, place], one.low, one.high)
        return result

    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row, whether its values lie in the ranges."""
        ready = prepare(data)
        if isinstance(ready.data, Envelopes):
            raise ParameterError(
                "Envelopes do not show which values lie in a range, only how likely it is: ask for shares."
            )
        inside: NDArray[np.bool_] = self.shares(ready) > 0.0
        return inside


def overlap_shares(low: NDArray[np.float64], high: NDArray[np.float64], lo: float, hi: float) -> NDArray[np.float64]:
    """The share of each [low, high] that lies in [lo, hi]; 0 or 1 if it is a single value, 0 if it is missing."""
    single = ((lo <= low) & (low <= hi)).astype(np.float64)
    if low is high:
        return single
    width = high - low
    inside = np.maximum(np.minimum(high, hi) - np.maximum(low, lo), 0.0)
    np.divide(inside, width, out=single, where=width > 0.0)
    return single


def as_range(lo: float, hi: float) -> tuple[float, float]:
    """Both ends as numbers, the lower one first."""
    lower, upper = float(lo), float(hi)
    if not lower <= upper:
        raise ParameterError("A range of a query needs two numbers, the lower one first.")
    return lower, upper
