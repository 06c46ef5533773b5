"""How well a release tells which series go together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Panel, Score
from shoal.utility.cells import refuse_other_shapes
from shoal.utility.curves import Floats, side_by_side
from shoal.utility.groups import draw

Between = Literal["series", "mean", "instants"]

_NOTHING = 1e-13  # of the size: what is left of a constant by rounding


@dataclass(frozen=True)
class CorrelationLoss:
    """Mean absolute change of correlation coefficients.

    Σ |r - published r| / their number, with Pearson's r over instants: of every two series; of each series with the
    mean of all series; or of each series with itself some instants later. 0 keeps all correlations, 2 turns them all
    around. A curve that does not vary correlates with nothing: r = 0. Series published alike correlate perfectly, so
    a release in groups loses here what it keeps of the whole.

    Cells missing in either panel are left out of both, and each r is over the instants that its two curves share. Each
    channel is correlated with itself; with several, the mean over all. Above `sample` series the pairs are those of
    `sample` series drawn at random.

    Parameters
    ----------
    between
        "series": every two series. "mean": each series and the mean of all, as somebody asks who plans for the whole.
        "instants": each series and itself 1, 2, … `lags` instants later (autocorrelation).
    lags
        Only "instants": up to how many instants later. Give a day or a week of them.
    sample
        Only "series": most series that are paired. Time and memory grow with its square.
    seed
        Only "series": which series are drawn, where they are.

    Examples
    --------
    >>> original, published = Panel([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), Panel([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]])
    >>> round(CorrelationLoss().measure(original, published).value, 6)
    2.0
    """

    name: ClassVar[str] = "correlation-loss"
    meaning: ClassVar[str] = "mean absolute change of correlation coefficients"
    judges: ClassVar[Literal["values", "groups", "models"]] = "values"
    goal: ClassVar[Literal["higher", "lower"]] = "lower"
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)
    matched: ClassVar[bool] = True

    between: Between = "series"
    lags: int = 24
    sample: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        if self.between not in get_args(Between):
            raise ParameterError(f"between must be one of: {', '.join(get_args(Between))}.")
        for name, least in (("lags", 1), ("sample", 2), ("seed", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
                raise ParameterError(f"{name} must be a whole number of at least {least}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to measure the same again."""
        numbers = {name: int(getattr(self, name)) for name in ("lags", "sample", "seed")}
        return {"between": self.between, **numbers}

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        refuse_other_shapes(original, published)
        later = self.lags if self.between == "instants" else 0
        if original.n_instants < later + 2:
            raise ParameterError(
                f"correlation-loss needs at least {later + 2} instants; the panel has {original.n_instants}. Read a "
                f"longer stretch{' or lower lags' if later else ''}."
            )
        if self.between == "series":
            chosen = draw(original.n_series, self.sample, self.seed)
            original, published = original.take(chosen), published.take(chosen)
        return Score(self._mean_loss(original, published), self.goal, self.range)

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty when every series was paired."""
        if self.between != "series" or published.n_series <= self.sample:
            return ""
        return f"estimated from {self.sample} of {published.n_series} series, drawn with seed {self.seed}"

    def _mean_loss(self, original: Panel, published: Panel) -> float:
        lost, n = 0.0, 0
        for before, after in self._blocks(original, published):
            for channel in range(original.n_channels):
                one, other = (self._coefficients_of(side[:, :, channel]) for side in (before, after))
                lost += float(np.abs(one - other).sum())
                n += one.size
        return lost / max(n, 1)

    def _blocks(self, original: Panel, published: Panel) -> Iterator[tuple[Floats, Floats]]:
        """Curves before and after; for pairs all at once; for the mean it comes first."""
        pieces = side_by_side(original, published, "series")
        if self.between == "series":
            before, after = zip(*pieces, strict=True)
            yield np.concatenate(before), np.concatenate(after)
        elif self.between == "mean":
            means = _means(original, published)
            for piece in pieces:
                one, other = (np.concatenate([mean[None], side]) for mean, side in zip(means, piece, strict=True))
                yield one, other
        else:
            yield from pieces

    def _coefficients_of(self, x: Floats) -> Floats:
        """All that are compared, of one channel (series, instants)."""
        if self.between == "series":
            return correlations(x, x)[np.triu_indices(len(x), 1)]
        if self.between == "mean":
            return correlations(x[1:], x[:1])[:, 0]
        return autocorrelations(x, self.lags)


def correlations(x: Floats, y: Floats) -> Floats:
    """Correlation of each row of x with each row of y, over the instants both have; 0 where one does not vary there."""
    (x, x_has), (y, y_has) = _standardized(x), _standardized(y)
    n = x_has @ y_has.T
    return _coefficients(n, x @ y_has.T, x_has @ y.T, x @ y.T, x**2 @ y_has.T, x_has @ (y**2).T)


def autocorrelations(x: Floats, lags: int) -> Floats:
    """Correlation of each row with itself 1, 2, … instants later, (lags, rows)."""
    x, has = _standardized(x)
    squares = x**2
    found = np.empty((lags, len(x)))
    for lag in range(1, lags + 1):
        early, late = slice(None, -lag), slice(lag, None)
        products = ((has, has), (x, has), (has, x), (x, x), (squares, has), (has, squares))
        sums = (np.einsum("rt,rt->r", one[:, early], other[:, late]) for one, other in products)
        found[lag - 1] = _coefficients(*sums)
    return found


def _standardized(x: Floats) -> tuple[Floats, Floats]:
    """Rows with mean 0 and variance 1, 0 where missing; and 1 where observed, else 0. Constant rows are all 0."""
    observed = ~np.isnan(x)
    counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    size = np.max(np.abs(x), axis=1, keepdims=True, where=observed, initial=0.0)
    centred = np.where(observed, x - np.sum(x, axis=1, keepdims=True, where=observed) / counts, 0.0)
    deviation = np.sqrt(np.sum(centred**2, axis=1, keepdims=True) / counts)
    varies = deviation > _NOTHING * size
    scaled = np.divide(centred, deviation, out=np.zeros_like(centred), where=varies)
    return scaled, observed.astype(np.float64)


def _coefficients(n: Floats, sx: Floats, sy: Floats, sxy: Floats, sxx: Floats, syy: Floats) -> Floats:
    """Pearson's r from counts, sums, products and squares."""
    n = np.maximum(n, 1.0)
    x_varies, y_varies = sxx - sx**2 / n, syy - sy**2 / n
    # A row may vary as a whole and not where the other one is observed.
    varies = (x_varies > 1e-12 * n) & (y_varies > 1e-12 * n)
    spread = np.sqrt(np.where(varies, x_varies, 1.0)) * np.sqrt(np.where(varies, y_varies, 1.0))
    found: Floats = np.where(varies, (sxy - sx * sy / n) / spread, 0.0)
    return np.clip(found, -1.0, 1.0)


def _means(original: Panel, published: Panel) -> tuple[Floats, Floats]:
    """The mean of all series on both sides, over the cells that both have."""
    sums, counts = np.zeros((2, original.n_instants, original.n_channels)), 0
    for piece in side_by_side(original, published, "series"):
        sums += [np.nansum(side, axis=0) for side in piece]
        counts = counts + (~np.isnan(piece[0])).sum(axis=0)
    before, after = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return before, after
