"""How much of the shape of each series its published word has lost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.sax import parse, reconstruct
from shoal.model import Envelopes, Panel, Score


@dataclass(frozen=True)
class PatternLoss:
    """Mean over the published series of the cosine distance between original and published shape.

    PL(Q) = 1 - cos(p(Q), p*(Q)), between 0 and 2, where p(Q) holds the differences x[j] - x[i] of all pairs of instants
    of the normalised original and p*(Q) those of the shape that the published word stands for. It equals 1 minus the
    correlation of original and shape (n Σ x y is the inner product of the differences of series with mean 0), so the
    pairs are never formed. A shape without differences is at 0 from another such and at 1 from the rest: a word of
    level 1 loses everything, unless the original was constant. The paper sums over the series; the mean compares
    releases of different size. Suppressed series have no word and do not count.

    Published values (a panel) are measured as well, by the shape of each published series: so methods that publish
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

    @property
    def parameters(self) -> dict[str, Any]:
        """Nothing: there is one way to measure it."""
        return {}

    def measure(self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None) -> Score:
        """Compare each published series with its original; `rows` says which it is where some were suppressed."""
        loss = self.per_series(original, published, rows=rows)
        return Score(float(loss.mean()), goal="lower", range=(0.0, 2.0))

    def per_series(
        self, original: Panel, published: Envelopes | Panel, *, rows: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """The loss of each published series."""
        kept = published_rows(original, published, rows)
        columns = columns_of(original.times, shape_times(published))
        return shape_distances(unit_rows(original.rows[kept][:, columns]), unit_rows(published_shapes(published)))


def published_rows(original: Panel, published: Envelopes | Panel, rows: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The position in the original of each published series. All in the same order unless `rows` says otherwise."""
    if not isinstance(published, Envelopes | Panel):
        raise ParameterError("This measure needs envelopes or published values, one row per series.")
    for panel in (original, published):
        if isinstance(panel, Panel) and (panel.n_channels != 1 or panel.n_missing):
            raise ParameterError(
                f"This measure needs one channel without gaps; the panel has {panel.n_channels} channels and "
                f"{panel.n_missing} gaps."
            )
    if rows is None:
        if published.n_series != original.n_series:
            raise ParameterError(
                f"{original.n_series} series were given and {published.n_series} published. Say with `rows` which "
                "original each published one is."
            )
        return np.arange(original.n_series)
    kept = np.asarray(rows, dtype=np.int64)
    if kept.shape != (published.n_series,) or len(set(kept.tolist())) < len(kept):
        raise ParameterError(f"rows needs {published.n_series} different positions, one for each published series.")
    if (kept < 0).any() or (kept >= original.n_series).any():
        raise ParameterError(f"rows names positions that the original does not have; it has {original.n_series}.")
    return kept


def columns_of(times: NDArray[Any], wanted: NDArray[Any]) -> list[int]:
    """The columns of the original at the instants of a release."""
    places = {time: place for place, time in enumerate(times.tolist())}
    if lacking := sum(time not in places for time in wanted.tolist()):
        raise ParameterError(f"The release has {lacking} of {len(wanted)} instants that the original does not have.")
    return [places[time] for time in wanted.tolist()]


def shape_times(published: Envelopes | Panel) -> NDArray[Any]:
    """The instants of the published shapes."""
    if isinstance(published, Envelopes) and published.pattern_times is not None:
        return published.pattern_times
    return published.times


def published_shapes(published: Envelopes | Panel) -> NDArray[np.float64]:
    """What the words stand for; of published values, the values."""
    return published.rows if isinstance(published, Panel) else reconstruct(parse(published.patterns), published.levels)


def unit_rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows with mean 0 and length 1; a constant row becomes 0."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    # Scaled by its range first, so that neither large offsets nor small amplitudes are lost. Constant is decided on
    # the values, not on a mean that may have rounded. The room of queries does the same, and a test says so: rooms on
    # one line share no code.
    half = high / 2 - low / 2
    z: NDArray[np.float64] = (x - (low / 2 + high / 2)) / np.where(half > 0.0, half, 1.0)
    z[half[:, 0] == 0.0] = 0.0
    z -= z.mean(axis=1, keepdims=True)
    length = np.sqrt(np.sum(z * z, axis=1, keepdims=True))
    z /= np.where(length > 0.0, length, 1.0)
    return z


def shape_distances(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - cosine of the pairwise differences of rows with mean 0 and length 1, or 0 throughout where constant."""
    # Half the squared distance: exactly 0 for equal rows, where 1 - cosine would round.
    apart = one - other
    distances: NDArray[np.float64] = np.minimum(np.einsum("it,it->i", apart, apart) / 2, 2.0)
    distances[one.any(axis=1) != other.any(axis=1)] = 1.0
    return distances
