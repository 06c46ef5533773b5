"""Which series have a shape like a given one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.shapes import shape_distances, unit_rows
from shoal.queries.prepared import Data, prepare
from shoal.queries.query import Query


@dataclass(frozen=True)
class PatternSimilarity(Query):
    """Which series have a shape at a distance of at most `within` from that of a sequence.

    The feature vector p(x) contains the differences x[j] - x[i] of all pairs i < j of the normalised series; the
    distance is D(x, q) = 1 - cos(p(x), p(q)), between 0 and 2. The n (n - 1) / 2 differences are never formed: for x
    and q of mean 0

        Σ over i < j of (x[j] - x[i]) (q[j] - q[i]) = n Σ x[i] q[i]

    so that D is 1 minus the correlation of both series, and half the squared distance of the two when each is brought
    to mean 0 and length 1, which is how it is computed: series of equal values are at exactly 0. A constant series
    has differences of 0 only: it is at 0 from another constant one and at 1 from the rest. A series with a gap has no
    shape and never matches.

    Parameters
    ----------
    sequence
        One number for each instant of the shapes, in any unit.
    within
        The largest distance that counts as similar. Below the pattern loss of a release, its answers are random.
    channel
        The channel whose shape is meant, if there are several.

    Examples
    --------
    >>> from shoal import Panel
    >>> like = PatternSimilarity([1.0, 2.0, 4.0], within=0.1)
    >>> like.matches(Panel([[10.0, 20.0, 40.0], [1.0, 3.0, 4.0], [4.0, 2.0, 1.0]])).tolist()
    [True, True, False]

    References
    ----------
    The paper on (k, P)-anonymity, sections 3.2 (pattern matching similarity query, PSQ) and 4.2.3 (cosine distance).
    """

    sequence: tuple[float, ...]
    within: float
    channel: str | None

    def __init__(self, sequence: Iterable[float], within: float, channel: str | None = None) -> None:
        kept, limit = tuple(float(value) for value in sequence), float(within)
        if not kept or not np.isfinite(kept).all():
            raise ParameterError("PatternSimilarity needs a sequence of finite numbers, one for each instant.")
        if not limit >= 0.0:
            raise ParameterError("within must be a distance of at least 0, such as 0.05.")
        object.__setattr__(self, "sequence", kept)
        object.__setattr__(self, "within", limit)
        object.__setattr__(self, "channel", channel)

    def distances(self, data: Data) -> NDArray[np.float64]:
        """The distance of each row's shape from that of the sequence."""
        ready = prepare(data).channel(self.channel)
        if len(self.sequence) != len(ready.pattern_times):
            raise ParameterError(
                f"The sequence has {len(self.sequence)} values, the shapes of the data have "
                f"{len(ready.pattern_times)} instants. Give one value for each."
            )
        return shape_distances(ready.directions, self._direction)

    @cached_property
    def _direction(self) -> NDArray[np.float64]:
        return unit_rows(np.array([self.sequence]))

    def matches(self, data: Data) -> NDArray[np.bool_]:
        """For each row, whether its shape is similar enough."""
        near: NDArray[np.bool_] = self.distances(data) <= self.within
        return near

    def shares(self, data: Data) -> NDArray[np.float64]:
        """1 for each row that matches, else 0."""
        return self.matches(data).astype(np.float64)
