"""Random queries for testing a release."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import ceil
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel
from shoal.queries.combined import Combined
from shoal.queries.instants import Instant
from shoal.queries.pattern_range import Difference, PatternRange
from shoal.queries.pattern_similarity import PatternSimilarity
from shoal.queries.prepared import prepare
from shoal.queries.query import Query
from shoal.queries.range_count import RangeCount

Kind = Literal["range", "pattern-range", "pattern-similarity", "combined"]

MOST_CONDITIONS = 4
SELECTIVITY = 0.05
_COLUMNS_KEPT = 128  # sorted columns, so that short panels sort each one once


def random_queries(
    panel: Panel,
    n: int,
    kind: Kind,
    seed: int = 0,
    *,
    tolerance: float | None = None,
    selectivity: float = SELECTIVITY,
    most_conditions: int = MOST_CONDITIONS,
) -> list[Query]:
    """Draw queries that at least one original series answers.

    Every query is drawn around a random series of the panel, so that no answer is empty and no relative error divides
    by 0. "range": 1 to `most_conditions` different instants, each number as likely; with w of them, each range covers a
    share selectivity^(1/w) of the series, by rank, and lies anywhere around the value of the drawn series.
    "pattern-range": the same on the differences of pairs of instants of the normalised series. "pattern-similarity":
    the drawn series itself, within λ times `tolerance`, λ uniform between 1 and 10. "combined": a "range" and one of
    the two kinds of pattern, chosen at random, around the same series. If there are several channels, each condition
    is about a random one.

    Parameters
    ----------
    panel
        The originals, without gaps.
    n, kind, seed
        How many of which kind; the same seed draws the same queries.
    tolerance
        The mean pattern loss of the release under test, for the kinds that ask for similarity.
    selectivity
        Share of the series that a query would find if instants were independent. Small values are hard on a release.
    most_conditions
        Largest number of ranges in a query.

    Examples
    --------
    >>> panel = Panel(np.random.default_rng(1).normal(size=(200, 6)))
    >>> asked = random_queries(panel, 50, "range")
    >>> min(query.count(panel) for query in asked) >= 1.0
    True

    References
    ----------
    The paper on (k, P)-anonymity, section 7.1. The paper draws the querying series and λ as here; for the number of
    instants and the width of ranges it cites a reference: here the share of the series is fixed, as is usual for range
    counts.
    """
    if kind not in get_args(Kind):
        raise ParameterError(f"kind must be one of {', '.join(get_args(Kind))}.")
    if n < 1 or most_conditions < 1 or not 0.0 < selectivity <= 1.0:
        raise ParameterError("random_queries needs n and most_conditions of at least 1 and a selectivity in (0, 1].")
    if panel.n_missing or (kind in ("pattern-range", "combined") and panel.n_instants < 2):
        raise ParameterError(
            "random_queries needs a panel without gaps, and two instants where patterns are asked for; the panel has "
            f"{panel.n_missing} gaps and {panel.n_instants} instants."
        )
    if kind in ("pattern-similarity", "combined") and (tolerance is None or not tolerance >= 0.0):
        raise ParameterError(
            f"kind={kind!r} needs tolerance, the mean pattern loss of the release under test (at least 0)."
        )
    draw = _Drawing(panel, np.random.default_rng(seed), selectivity, most_conditions, tolerance or 0.0)
    return [draw.query(kind) for _ in range(n)]


class _Drawing:
    """One stream of random queries."""

    def __init__(
        self, panel: Panel, rng: np.random.Generator, selectivity: float, most_conditions: int, tolerance: float
    ) -> None:
        whole = prepare(panel)
        channels = [whole.channel(name) for name in whole.channels]
        # One channel after another.
        self.values: NDArray[np.float64] = np.concatenate([ready.bounds[0] for ready in channels], axis=1)
        self.shapes: NDArray[np.float64] = np.concatenate([ready.shapes for ready in channels], axis=1)
        self.times: list[Instant] = list(panel.times)
        self.channels: tuple[str | None, ...] = whole.channels if len(channels) > 1 else (None,)
        self.first, self.second = (
            np.concatenate([place + panel.n_instants * number for number in range(len(channels))])
            for place in np.triu_indices(panel.n_instants, 1)
        )
        self.rng, self.selectivity, self.most, self.tolerance = rng, selectivity, most_conditions, tolerance
        self.value_column = lru_cache(_COLUMNS_KEPT)(lambda t: np.sort(self.values[:, t]))
        self.difference_column = lru_cache(_COLUMNS_KEPT)(lambda pair: np.sort(self.difference(pair)))

    def difference(self, pair: int) -> NDArray[np.float64]:
        return self.shapes[:, self.second[pair]] - self.shapes[:, self.first[pair]]

    def at(self, column: int) -> Instant:
        return self.times[column % len(self.times)]

    def channel(self, column: int) -> str | None:
        return self.channels[column // len(self.times)]

    def query(self, kind: Kind) -> Query:
        target = int(self.rng.integers(len(self.values)))
        if kind == "range":
            return self.ranges(target)
        if kind == "pattern-range":
            return self.differences(target)
        if kind == "pattern-similarity":
            return self.similar(target)
        ranges = self.ranges(target)
        return Combined(ranges, self.similar(target) if self.rng.random() < 0.5 else self.differences(target))

    def ranges(self, target: int) -> RangeCount:
        found = self.windows(self.values.shape[1], self.value_column, lambda t: float(self.values[target, t]))
        return RangeCount([(self.at(t), lo, hi, self.channel(t)) for t, lo, hi in found])

    def differences(self, target: int) -> PatternRange:
        own = self.shapes[target]
        found = self.windows(
            len(self.first), self.difference_column, lambda p: float(own[self.second[p]] - own[self.first[p]])
        )
        return PatternRange(
            Difference(self.at(self.first[p]), self.at(self.second[p]), lo, hi, self.channel(self.first[p]))
            for p, lo, hi in found
        )

    def similar(self, target: int) -> PatternSimilarity:
        number = int(self.rng.integers(len(self.channels))) if len(self.channels) > 1 else 0
        own = self.values[target, number * len(self.times) : (number + 1) * len(self.times)]
        return PatternSimilarity(own, self.rng.uniform(1.0, 10.0) * self.tolerance, self.channels[number])

    def windows(
        self, n_columns: int, column: Callable[[int], NDArray[np.float64]], own: Callable[[int], float]
    ) -> list[tuple[int, float, float]]:
        """Some columns, and for each a window of ranks around the value of the drawn series."""
        n_conditions = int(self.rng.integers(1, min(self.most, n_columns) + 1))
        chosen = self.rng.choice(n_columns, n_conditions, replace=False).tolist()
        n_series = len(self.values)
        size = max(1, ceil(self.selectivity ** (1.0 / n_conditions) * n_series))
        drawn_windows = []
        for place in chosen:
            ordered = column(place)
            rank = int(np.searchsorted(ordered, own(place)))
            start = int(self.rng.integers(max(0, rank - size + 1), min(rank, n_series - size) + 1))
            drawn_windows.append((place, float(ordered[start]), float(ordered[start + size - 1])))
        return drawn_windows
