"""Conditions on values and on the shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.queries.pattern_range import PatternRange
from shoal.queries.pattern_similarity import PatternSimilarity
from shoal.queries.prepared import Data, prepare
from shoal.queries.query import Query
from shoal.queries.range_count import RangeCount


@dataclass(frozen=True)
class Combined(Query):
    """How many series lie in ranges of values and have a given shape.

    For envelopes, the sum of the shares of the ranges over the series whose shape matches: values inside an envelope
    are assumed to be independent of the shape.

    Parameters
    ----------
    values
        The ranges.
    pattern
        The condition on the shape: `PatternRange` or `PatternSimilarity`.

    Examples
    --------
    >>> from shoal import Panel
    >>> rising = PatternSimilarity([0.0, 1.0], within=0.1)
    >>> Combined(RangeCount({0: (0.0, 2.0)}), rising).count(Panel([[1.0, 5.0], [2.0, 0.0], [3.0, 4.0]]))
    1.0

    References
    ----------
    The paper on (k, P)-anonymity, section 7.1 (complex queries).
    """

    values: RangeCount
    pattern: PatternRange | PatternSimilarity

    def __post_init__(self) -> None:
        if not isinstance(self.values, RangeCount) or not isinstance(self.pattern, PatternRange | PatternSimilarity):
            raise ParameterError("Combined needs a RangeCount and a PatternRange or PatternSimilarity, in this order.")

    def shares(self, data: Data) -> NDArray[np.float64]:
        """For each row, the probability that it meets both conditions."""
        ready = prepare(data)
        return self.values.shares(ready) * self.pattern.shares(ready)

    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row, whether it meets both conditions."""
        ready = prepare(data)
        return self.values.matches(ready) & self.pattern.matches(ready)
