"""How well a release answers random queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Envelopes, Measure, Moments, Panel, Score, Tally
from shoal.model.measure import Goal
from shoal.model.score import Unit
from shoal.queries import Kind, Query, prepare, random_queries
from shoal.utility.cells import FAIR_SAMPLE
from shoal.utility.pattern_loss import PatternLoss, kept_rows

_COUNTED = ("actual", "estimated", "common")


@dataclass(frozen=True, eq=False)
class QueryAnswers:
    """What each query found: among the originals, in the release (an expected number if values are uncertain), and in
    both."""

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
        """Share of what the release found that is right; 0 if it found nothing, because there was something to find."""
        return np.divide(self.common, self.estimated, out=np.zeros(len(self.common)), where=self.estimated > 0.0)

    @property
    def recall(self) -> NDArray[np.float64]:
        """Share of the right answers that the release found."""
        share: NDArray[np.float64] = self.common / self.actual
        return share


@dataclass(frozen=True)
class QueryError(Measure):
    """Mean relative error, or mean precision, of random queries to the originals and to the release.

    For "range" and "combined" queries, the mean of |actual - estimated| / actual, lower is better; for "pattern-range"
    and "pattern-similarity" queries, the mean precision |A ∩ E| / |E| of the series found (A among the originals, E in
    the release), higher is better. Queries are those of `shoal.queries.random_queries` with the same kind, number, seed
    and tolerance: each is drawn around an original series, so A is never empty and the error needs no bound against
    division by 0. If E is empty, the precision is 0. Precision alone rewards a release that finds little; `answers`
    also has the recall.

    Values are assumed to be uniform within their envelope; ranges and letters that were not published are estimated,
    see `shoal.queries.complete`. Suppressed series count among the originals and cannot be found. Published values (a
    panel) can be measured too.

    Parameters
    ----------
    kind
        Conditions on values ("range"), on differences within the shape ("pattern-range"), on the distance from the
        shape of a series ("pattern-similarity"), or on values and shape ("combined").
    n_queries
        Number of queries. More take longer and make the mean more stable.
    seed
        The same seed asks the same queries.
    tolerance
        The distance that counts as similar, times a random factor from 1 to 10. Default: the pattern loss of the
        release, as in the paper, which asks a worse release easier questions: to compare releases, give the same for
        all.

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
    purpose: ClassVar[str] = "ranges, shapes and queries"
    unit: ClassVar[Unit] = "share"
    takes_rows: ClassVar[bool] = True
    why_whole: ClassVar[str] = "asks its queries of all series"
    sampled: ClassVar[int] = FAIR_SAMPLE

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
    def goal(self) -> Goal:
        """Errors are better lower, precision higher."""
        return "lower" if self.kind in ("range", "combined") else "higher"

    @property
    def range(self) -> tuple[float, float]:
        """From 0; a precision ends at 1."""
        return 0.0, float("inf") if self.goal == "lower" else 1.0

    def measure(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Score:
        """Query both; `rows` says which original each published series is if some were suppressed."""
        return self._concluded(self.answers(original, published, rows=rows))

    def fixed(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Measure:
        """Queries drawn around these series, put to all. Without a tolerance, that of the sample is used."""
        queries = self._queries(original, published, kept_rows(original, published, rows))
        return _AskedQueryError(self.kind, self.n_queries, self.seed, self.tolerance, queries)

    def answers(
        self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None
    ) -> QueryAnswers:
        """What each query found, in the order they were drawn."""
        kept = kept_rows(original, published, rows)
        return ask(self._queries(original, published, kept), original, published, rows=kept)

    def _queries(
        self, original: Panel, published: Envelopes | Panel, rows: NDArray[np.int64] | None
    ) -> tuple[Query, ...]:
        tolerance = self.tolerance
        if tolerance is None and self.kind in ("pattern-similarity", "combined"):
            tolerance = PatternLoss().measure(original, published, rows=rows).value
        return tuple(random_queries(original, self.n_queries, self.kind, self.seed, tolerance=tolerance))

    def _concluded(self, found: QueryAnswers) -> Score:
        return self.as_score((found.relative_error if self.goal == "lower" else found.precision).mean())


@dataclass(frozen=True)
class _AskedQueryError(QueryError):
    """Given queries, put to the series of all shards."""

    why_whole: ClassVar[str] = ""

    queries: tuple[Query, ...] = ()

    def tally(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Tally:
        """What each query finds in one shard."""
        answers = ask(self.queries, original, published, rows=rows)
        return Tally({name: Moments.of(getattr(answers, name)[None]) for name in _COUNTED})

    def score(self, tally: Tally) -> Score:
        """Their error over all shards."""
        return self._concluded(QueryAnswers(*(tally[name].sums for name in _COUNTED)))


def ask(
    queries: Sequence[Query], original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None
) -> QueryAnswers:
    """What each query finds among the originals and in the release.

    Examples
    --------
    >>> from shoal.queries import RangeCount
    >>> original = Panel([[1.0], [2.0], [5.0]])
    >>> published = Envelopes([[1.0]] * 3, [[5.0]] * 3, levels=[1] * 3, patterns=["a"] * 3, times=[0])
    >>> found = ask([RangeCount({0: (1.0, 3.0)})], original, published)
    >>> found.actual.tolist(), found.estimated.tolist()
    ([2.0], [1.5])
    """
    kept = kept_rows(original, published, rows)
    # Series published alike have the same answer: each such cell is queried once.
    cells, cell = _cells(published)
    before, after = prepare(original), prepare(cells)
    if lacking := len(set(original.times.tolist()).difference(after.all_times.tolist())):
        raise ParameterError(
            f"The release lacks {lacking} of the {original.n_instants} instants of the original. Remove them from the "
            "original."
        )
    members = np.bincount(cell).astype(np.float64)
    result = np.empty((3, len(queries)))
    for place, query in enumerate(queries):
        actual, shares = query.shares(before), query.shares(after)
        result[:, place] = actual.sum(), shares @ members, shares @ np.bincount(cell, weights=actual[kept])
    return QueryAnswers(*result)


def _cells(published: Envelopes | Panel) -> tuple[Envelopes | Panel, NDArray[np.int64]]:
    """One series of each kind, and the kind of each series."""
    if isinstance(published, Panel):
        _, one, cell = np.unique(published.rows, axis=0, return_index=True, return_inverse=True)
        return published.take(one), cell.reshape(-1)
    words = np.unique(np.array(published.patterns), return_inverse=True)[1].reshape(-1)
    everything = np.column_stack([published.ends, published.levels, words])
    _, one, cell = np.unique(everything, axis=0, return_index=True, return_inverse=True)
    return published.take(one), cell.reshape(-1)
