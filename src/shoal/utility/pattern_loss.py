"""How much of the shape of each series its published word has lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.sax import parse, reconstruct
from shoal.features.shapes import channel_distances, unit_channels
from shoal.model import Envelopes, Measure, Moments, Panel, Score, Tally
from shoal.model.rows import columns_of, published_rows
from shoal.model.score import Unit


@dataclass(frozen=True)
class PatternLoss(Measure):
    """Mean over the published series of the cosine distance between original and published shape.

    PL(Q) = 1 - cos(p(Q), p*(Q)), between 0 and 2, where p(Q) contains the differences x[j] - x[i] of all pairs of
    instants of the normalised original and p*(Q) those of the shape that the published word stands for. It equals 1
    minus the correlation of original and shape (n Σ x y is the inner product of the differences of series with mean 0),
    so the pairs are never formed. A constant shape has distance 0 from another constant one and 1 from the rest: a word
    of level 1 loses everything, unless the original was constant. The paper sums over the series; the mean makes
    releases of different size comparable. Suppressed series have no word and do not count.

    With several channels, it is the mean over the channels, each with its own shape.

    Published values (a panel) can be measured too, by the shape of each published series, so that methods that publish
    values can be compared.

    Examples
    --------
    >>> original = Panel([[1.0, 2.0, 6.0], [5.0, 4.0, 3.0]])
    >>> published = Envelopes(original.values, original.values, levels=[1, 3], patterns=["aaa", "cba"], times=[0, 1, 2])
    >>> PatternLoss().per_series(original, published).round(6).tolist()
    [1.0, 0.0]

    References
    ----------
    The paper on (k, P)-anonymity, sections 4.2.3 (formula 3) and 7.1 (all differences of pairs of instants).
    """

    name: ClassVar[str] = "pattern-loss"
    meaning: ClassVar[str] = "mean cosine distance between the differences within original and published shapes"
    judges: ClassVar[Literal["envelopes"]] = "envelopes"
    purpose: ClassVar[str] = "ranges, shapes and queries"
    unit: ClassVar[Unit] = "number"
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    takes_rows: ClassVar[bool] = True

    def measure(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Score:
        """Compare each published series with its original; `rows` says which it is if some were suppressed."""
        return self.score(self.tally(original, published, rows=rows))

    def tally(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Tally:
        """The losses."""
        return Tally({"loss": Moments.of(self.per_series(original, published, rows=rows))})

    def score(self, tally: Tally) -> Score:
        """The mean over the published series."""
        return self.as_score(tally["loss"].means)

    def per_series(
        self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """The loss of each published series."""
        kept = kept_rows(original, published, rows)
        columns = columns_of(original.times, shape_times(published))
        own, n_channels = _one_after_another(original.values[kept][:, columns]), original.n_channels
        shapes = unit_channels(published_shapes(published), n_channels)
        return channel_distances(unit_channels(own, n_channels), shapes, n_channels)


def kept_rows(original: Panel, published: Envelopes | Panel, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The position of each published series in the original; refuses other forms and gaps."""
    if not isinstance(published, Envelopes | Panel):
        raise ParameterError("This measure needs envelopes or published values, one row per series.")
    wanted = published.n_channels
    for data in (original, published):
        n_missing = data.n_missing if isinstance(data, Panel) else 0
        if data.n_channels != wanted or n_missing:
            needs = "one channel" if wanted == 1 else f"the {wanted} channels of the release"
            raise ParameterError(
                f"This measure needs {needs} without gaps; the panel has {data.n_channels} channels and "
                f"{n_missing} gaps."
            )
    return published_rows(original.n_series, published.n_series, rows)


def shape_times(published: Envelopes | Panel) -> NDArray[Any]:
    """The instants of the published shapes."""
    if isinstance(published, Envelopes) and published.pattern_times is not None:
        return published.pattern_times
    return published.times


def published_shapes(published: Envelopes | Panel) -> NDArray[np.float64]:
    """The shapes that words stand for, or published values themselves; one channel after another."""
    if isinstance(published, Panel):
        return _one_after_another(published.values)
    return reconstruct(parse(published.patterns), published.levels)


def _one_after_another(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values (series, instants, channels) with the channels of a series in one row."""
    return values if values.ndim == 2 else values.transpose(0, 2, 1).reshape(len(values), -1)
