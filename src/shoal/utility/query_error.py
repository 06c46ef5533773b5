"""How well a release answers random queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.shapes import shape_distances, unit_rows
from shoal.model import Envelopes, Panel, Score
from shoal.utility.pattern_loss import kept_rows, published_shapes, shape_times

Kind = Literal["range", "pattern-range", "pattern-similarity", "combined"]

MOST_CONDITIONS = 4
SELECTIVITY = 0.05
_COLUMNS_KEPT = 128  # sorted columns, so that short panels sort each one once


@dataclass(frozen=True, eq=False)
class Answers:
    """What each query found: among the originals, in the release (expected where values are uncertain), and in both."""

    actual: NDArray[np.float64]
    estimated: NDArray[np.float64]
    common: NDArray[np.float64]

    @property
    def relative_error(self) -> NDArray[np.float64]:
        """|actual - estimated| / actual; every query has an original that answers it."""
        error: NDArray[np.float64] = np.abs(self.actual - self.estimated) / self.actual
        return error

    @property
    def precision(self) -> NDArray[np.float64]:
        """Share of what the release found that is right; 0 where it found nothing, for there was something to find."""
        return np.divide(self.common, self.estimated, out=np.zeros(len(self.common)), where=self.estimated > 0.0)

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of what there was that the release found."""
        share: NDArray[np.float64] = self.common / self.actual
        return share


@dataclass(frozen=True)
class QueryError:
    """Mean relative error, or mean precision, of random queries asked of the originals and of the release.

    Of "range" and "combined" queries the mean of |actual - estimated| / actual, where lower is better; of
    "pattern-range" and "pattern-similarity" queries the mean precision |A ∩ E| / |E| of the series found (A among the
    originals, E in the release), where higher is better. Queries are those of `shoal.queries.random_queries` with the
    same kind, number, seed and tolerance: each is drawn around an original series, so A is never empty and the error
    needs no bound against division by 0. Where E is empty the precision is 0. Precision alone rewards a release that
    finds little: `answers` has the recall too.

    Values are taken to lie anywhere in their envelope with the same chance. Suppressed series count among the
    originals and cannot be found. Published values (a panel) are measured as well.

    Parameters
    ----------
    kind
        Conditions on values ("range"), on differences within the shape ("pattern-range"), on the distance from the
        shape of a series ("pattern-similarity"), or on values and shape ("combined").
    n_queries
        How many. More take longer and make the mean steadier.
    seed
        The same seed asks the same queries.
    tolerance
        How near is similar, times a random factor from 1 to 10. Default: the pattern loss of the release, as in the
        paper, which then asks a worse release easier questions: to compare releases, give the same for all.

    Examples
    --------
    >>> original = Panel(np.random.default_rng(1).normal(size=(40, 5)))
    >>> QueryError("range", n_queries=100).measure(original, original).value
    0.0
    >>> QueryError("pattern-range", n_queries=100).measure(original, original).value
    1.0

    References
    ----------
    The paper on (k, P)-anonymity, section 7.1 (queries and metrics).
    """

    name: ClassVar[str] = "query-error"
    meaning: ClassVar[str] = "mean relative error of random counts, or mean precision of random pattern queries"
    judges: ClassVar[Literal["envelopes"]] = "envelopes"

    kind: Kind = "range"
    n_queries: int = 10_000
    seed: int = 0
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ParameterError(f"kind must be one of {', '.join(get_args(Kind))}.")
        if self.n_queries < 1 or self.seed < 0:
            raise ParameterError("QueryError needs n_queries of at least 1 and a seed of at least 0.")
        if self.tolerance is not None and not 0.0 <= self.tolerance < float("inf"):
            raise ParameterError("tolerance must be a distance of at least 0, such as 0.05.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        tolerance = None if self.tolerance is None else float(self.tolerance)
        return {"kind": self.kind, "n_queries": int(self.n_queries), "seed": int(self.seed), "tolerance": tolerance}

    def measure(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Score:
        """Ask both; `rows` says which original each published series is where some were suppressed."""
        found = self.answers(original, published, rows=rows)
        if self.kind in ("range", "combined"):
            return Score(float(found.relative_error.mean()), goal="lower", range=(0.0, float("inf")))
        return Score(float(found.precision.mean()), goal="higher", range=(0.0, 1.0))

    def answers(
        self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None
    ) -> Answers:
        """What each query found, in the order they were drawn."""
        kept = kept_rows(original, published, rows)
        if self.kind in ("pattern-range", "combined") and original.n_instants < 2:
            raise ParameterError(f"kind={self.kind!r} needs at least two instants, the panel has 1.")
        before, after = _Columns.of(original), _Columns.of(published, original.times)
        tolerance = self.tolerance
        if tolerance is None:
            tolerance = float(shape_distances(before.directions[kept], after.directions).mean())
        # Series published alike answer alike: each such cell is asked once.
        after, cell = after.distinct()
        members = np.bincount(cell).astype(np.float64)
        result = np.empty((3, self.n_queries))
        for place, question in enumerate(_questions(self.kind, before, self.n_queries, self.seed, tolerance)):
            actual, shares = question.shares(before, before), question.shares(after, before)
            result[:, place] = actual.sum(), shares @ members, shares @ np.bincount(cell, weights=actual[kept])
        return Answers(*result)


@dataclass(frozen=True, eq=False)
class _Columns:
    """Originals or a release as queries read them: by instant, (instants, series), but for the directions."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    shapes: NDArray[np.float64]
    directions: NDArray[np.float64]
    flat: NDArray[np.bool_]

    @staticmethod
    def of(data: Envelopes | Panel, times: NDArray[Any] | None = None) -> _Columns:
        """The columns of the data, in the order of the times of the original."""
        values, shape = (
            [slice(None)] * 2 if times is None else [_columns(own, times) for own in (data.times, shape_times(data))]
        )
        shapes = published_shapes(data)[:, shape]
        directions = unit_rows(shapes)
        if isinstance(data, Panel):
            low = high = np.ascontiguousarray(data.rows[:, values].T)
            shapes = directions * np.sqrt(directions.shape[1])
        else:
            low, high = (np.ascontiguousarray(bound[:, values].T) for bound in (data.low, data.high))
        return _Columns(low, high, np.ascontiguousarray(shapes.T), directions, np.logical_not(directions.any(axis=1)))

    def distinct(self) -> tuple[_Columns, NDArray[np.int64]]:
        """One of each kind of series, and which kind each series is."""
        everything = np.concatenate([self.low, self.high, self.shapes]).T
        _, one, cell = np.unique(everything, axis=0, return_index=True, return_inverse=True)
        single = self.low is self.high
        low = np.ascontiguousarray(self.low[:, one])
        high = low if single else np.ascontiguousarray(self.high[:, one])
        shapes = np.ascontiguousarray(self.shapes[:, one])
        return _Columns(low, high, shapes, self.directions[one], self.flat[one]), cell.reshape(-1)


@dataclass(frozen=True)
class _Question:
    """Conditions (instant, lo, hi) on values and (first, second, lo, hi) on shapes, or a series and a distance."""

    ranges: list[tuple[int, float, float]] = field(default_factory=list)
    differences: list[tuple[int, int, float, float]] = field(default_factory=list)
    similar: tuple[int, float] | None = None

    def shares(self, data: _Columns, originals: _Columns) -> NDArray[np.float64]:
        """For each series how likely it meets all conditions."""
        share = np.ones(data.low.shape[1])
        for instant, lo, hi in self.ranges:
            low, high = data.low[instant], data.high[instant]
            single = (lo <= low) & (low <= hi)
            if data.low is data.high:
                share *= single
                continue
            width = high - low
            inside = np.maximum(np.minimum(high, hi) - np.maximum(low, lo), 0.0)
            share *= np.divide(inside, width, out=single.astype(np.float64), where=width > 0.0)
        for first, second, lo, hi in self.differences:
            feature = data.shapes[second] - data.shapes[first]
            share *= (lo <= feature) & (feature <= hi)
        if self.similar is not None:
            row, within = self.similar
            apart = data.directions - originals.directions[row]
            near = np.einsum("it,it->i", apart, apart) / 2 <= within
            near[data.flat != originals.flat[row]] = within >= 1.0
            share *= near
        return share


def _columns(published: NDArray[Any], times: NDArray[Any]) -> list[int]:
    """Where the instants of the original are in the release: queries may ask for any."""
    places = {time: place for place, time in enumerate(published.tolist())}
    if lacking := sum(time not in places for time in times.tolist()):
        raise ParameterError(
            f"The release lacks {lacking} of the {len(times)} instants of the original. Estimate the missing ranges "
            "and letters first, or take these instants out of the original."
        )
    return [places[time] for time in times.tolist()]


def _questions(kind: Kind, data: _Columns, n: int, seed: int, tolerance: float) -> Iterator[_Question]:
    """The stream that `shoal.queries.random_queries` draws, as arrays. A test holds the two together."""
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(len(data.low), 1)
    n_series = data.low.shape[1]
    value_column = lru_cache(_COLUMNS_KEPT)(lambda t: np.sort(data.low[t]))
    difference_column = lru_cache(_COLUMNS_KEPT)(lambda p: np.sort(data.shapes[second[p]] - data.shapes[first[p]]))

    def windows(
        n_columns: int, column: Callable[[int], NDArray[np.float64]], own: Callable[[int], float]
    ) -> list[tuple[int, float, float]]:
        n_conditions = int(rng.integers(1, min(MOST_CONDITIONS, n_columns) + 1))
        chosen = rng.choice(n_columns, n_conditions, replace=False).tolist()
        size = max(1, ceil(SELECTIVITY ** (1.0 / n_conditions) * n_series))
        found = []
        for place in chosen:
            ordered = column(place)
            rank = int(np.searchsorted(ordered, own(place)))
            start = int(rng.integers(max(0, rank - size + 1), min(rank, n_series - size) + 1))
            found.append((place, float(ordered[start]), float(ordered[start + size - 1])))
        return found

    def on_values(row: int) -> list[tuple[int, float, float]]:
        return windows(len(data.low), value_column, lambda t: float(data.low[t, row]))

    def on_differences(row: int) -> list[tuple[int, int, float, float]]:
        shape = data.shapes[:, row]
        found = windows(len(first), difference_column, lambda p: float(shape[second[p]] - shape[first[p]]))
        return [(int(first[p]), int(second[p]), lo, hi) for p, lo, hi in found]

    for _ in range(n):
        row = int(rng.integers(n_series))
        ranges = []
        if kind in ("range", "combined"):
            ranges = on_values(row)
        if kind == "range":
            yield _Question(ranges)
        elif kind == "pattern-similarity" or (kind == "combined" and rng.random() < 0.5):
            yield _Question(ranges, similar=(row, rng.uniform(1.0, 10.0) * tolerance))
        else:
            yield _Question(ranges, on_differences(row))
