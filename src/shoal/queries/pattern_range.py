"""Which series have a shape whose features lie in given ranges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.queries.instants import Instant, as_instant, find_instants
from shoal.queries.prepared import Data, prepare
from shoal.queries.query import Query
from shoal.queries.range_count import as_range


@dataclass(frozen=True)
class Difference:
    """x[second] - x[first] lies in [low, high], ends included, for the normalised series x.

    Examples
    --------
    >>> Difference(0, 2, low=0.5, high=float("inf")).of(np.array([1.0]), np.array([3.0])).tolist()
    [2.0]
    """

    first: Instant
    second: Instant
    low: float
    high: float
    channel: str | None = None
    """The channel, if there are several."""

    def __post_init__(self) -> None:
        _settle(self)

    def of(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        """The feature of each series, from its values at both instants."""
        return second - first


@dataclass(frozen=True)
class Ratio:
    """x[second] / x[first] lies in [low, high], ends included, for the normalised series x; false if x[first] is 0.

    Examples
    --------
    >>> Ratio(0, 2, low=1.5, high=float("inf")).of(np.array([2.0, 0.0]), np.array([3.0, 1.0])).tolist()
    [1.5, nan]
    """

    first: Instant
    second: Instant
    low: float
    high: float
    channel: str | None = None
    """The channel, if there are several."""

    def __post_init__(self) -> None:
        _settle(self)

    def of(self, first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
        """The feature of each series, from its values at both instants."""
        quotient = np.full(len(first), np.nan)
        np.divide(second, first, out=quotient, where=first != 0.0)
        return quotient


Condition = Difference | Ratio
"""A feature of the shape (a correlation function of the paper) with the range it must lie in."""


def _settle(condition: Any) -> None:
    low, high = as_range(condition.low, condition.high)
    fields = {"first": as_instant(condition.first), "second": as_instant(condition.second), "low": low, "high": high}
    for name, value in fields.items():
        object.__setattr__(condition, name, value)


@dataclass(frozen=True)
class PatternRange(Query):
    """Which series have a shape whose features lie in given ranges, all of them.

    Features are functions of the series normalised to mean 0 and deviation 1: exact for a panel; for envelopes, of the
    values that the words stand for; for group profiles, of the mean curves. A constant series is 0 throughout; one with
    a gap has no shape and never matches.

    Parameters
    ----------
    conditions
        `Difference` or `Ratio`, at least one. A narrow range asks for more than a coarse word can express.

    Examples
    --------
    >>> from shoal.model import Envelopes, Panel
    >>> rising = PatternRange([Difference(0, 1, low=0.1, high=float("inf"))])
    >>> rising.matches(Panel([[1.0, 5.0], [5.0, 1.0], [2.0, 2.0]])).tolist()
    [True, False, False]
    >>> words = Envelopes([[0.0, 0.0]] * 2, [[9.0, 9.0]] * 2, levels=[2, 2], patterns=["ab", "ba"], times=[0, 1])
    >>> rising.count(words)
    1.0

    References
    ----------
    The paper on (k, P)-anonymity, section 3.2 (pattern matching range query, PRQ).
    """

    conditions: tuple[Condition, ...]

    def __init__(self, conditions: Iterable[Condition]) -> None:
        kept = tuple(conditions)
        if not kept or not all(isinstance(condition, Difference | Ratio) for condition in kept):
            raise ParameterError("PatternRange needs at least one condition, each a Difference or a Ratio.")
        object.__setattr__(self, "conditions", kept)

    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row, whether its shape meets all conditions."""
        whole = prepare(data)
        result = np.ones(len(whole.weights), dtype=np.bool_)
        for condition in self.conditions:
            ready = whole.channel(condition.channel)
            shapes = ready.shapes
            first, second = find_instants((condition.first, condition.second), ready.pattern_times, ready.timezone)
            feature = condition.of(shapes[:, first], shapes[:, second])
            result &= (condition.low <= feature) & (feature <= condition.high)
        return result

    def shares(self, data: Data) -> NDArray[np.float64]:
        """1 for each row that matches, else 0."""
        return self.matches(data).astype(np.float64)
