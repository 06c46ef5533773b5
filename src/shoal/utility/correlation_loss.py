"""How well a release preserves which series move together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import ClassVar, Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Measure, Moments, Panel, Score, Tally
from shoal.model.parameters import check_choice, check_whole
from shoal.model.score import Unit
from shoal.utility.cells import FAIR_SAMPLE, Floats, paired_blocks, refuse_other_shapes, tally_pairs
from shoal.utility.groups import draw

Between = Literal["series", "mean", "instants"]

_NOTHING = 1e-13  # relative to the size: what rounding leaves of a constant


@dataclass(frozen=True)
class CorrelationLoss(Measure):
    """Mean absolute change of correlation coefficients.

    Σ |r - published r| / their number, with Pearson's r over instants: of every two series; of each series with the
    mean of all series; or of each series with itself some instants later. 0 keeps all correlations, 2 reverses them
    all. A constant curve correlates with nothing: r = 0. Series published alike correlate perfectly, so a grouped
    release loses here what it keeps of the whole.

    Cells missing in either panel are left out of both, and each r is over the instants that its two curves share. Each
    channel is correlated with itself; with several, the mean over all. With more than `sample` series, only pairs among
    `sample` random ones are used.

    Parameters
    ----------
    between
        "series": every two series. "mean": each series and the mean of all, for planning the whole. "instants": each
        series and itself 1, 2, … `lags` instants later (autocorrelation).
    lags
        Only "instants": up to how many instants later. Give a day or a week of them.
    sample
        Only "series": the largest number of series that are paired. Time and memory grow with its square.
    seed
        Only "series": decides which series are drawn.

    Examples
    --------
    >>> original, published = Panel([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]), Panel([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]])
    >>> round(CorrelationLoss().measure(original, published).value, 6)
    2.0
    """

    name: ClassVar[str] = "correlation-loss"
    meaning: ClassVar[str] = "mean absolute change of correlation coefficients"
    purpose: ClassVar[str] = "what goes together"
    unit: ClassVar[Unit] = "number"
    usual = ({}, {"between": "mean"})
    range: ClassVar[tuple[float, float]] = (0.0, 2.0)

    between: Between = "series"
    lags: int = 24
    sample: int = 500
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("between", self.between, Between)
        for name, least in (("lags", 1), ("sample", 2), ("seed", 0)):
            check_whole(name, getattr(self, name), least)

    @property
    def why_whole(self) -> str:
        """Only correlations of a series with itself are those of one series."""
        return "" if self.between == "instants" else f"with between={self.between!r} compares each series with others"

    @property
    def sampled(self) -> int | None:
        """The number of paired series; more for the mean of all."""
        return {"series": int(self.sample), "mean": FAIR_SAMPLE, "instants": None}[self.between]

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Changes of the correlations of each series with itself later."""
        if self.why_whole:
            return super().tally(original, published)
        self._refuse_short(original)
        return tally_pairs(original, published, lambda before, after: {"change": self._changes(before, after)})

    def score(self, tally: Tally) -> Score:
        """Their mean."""
        return self.as_score(tally["change"].means)

    def measure(self, original: Panel, published: Panel) -> Score:
        """Compare panels whose rows are in the same order."""
        if not self.why_whole:
            return super().measure(original, published)
        refuse_other_shapes(original, published)
        self._refuse_short(original)
        if self.between == "series":
            chosen = draw(original.n_series, self.sample, self.seed)
            pieces = list(paired_blocks(original.take(chosen), published.take(chosen)))
            before, after = (np.concatenate(side) for side in zip(*pieces, strict=True))
            return self.as_score(Moments.of(self._changes(before, after)).means)
        means = _means(original, published)
        changes = (self._changes(*piece, means) for piece in paired_blocks(original, published))
        return self.as_score(reduce(add, map(Moments.of, changes)).means)

    def note(self, published: Panel) -> str:
        """What a report must say about sampling; empty if every series was paired."""
        if self.between != "series" or published.n_series <= self.sample:
            return ""
        return f"estimated from {self.sample} of {published.n_series} series, drawn with seed {self.seed}"

    def _refuse_short(self, panel: Panel) -> None:
        later = self.lags if self.between == "instants" else 0
        if panel.n_instants < later + 2:
            raise ParameterError(
                f"correlation-loss needs at least {later + 2} instants; the panel has {panel.n_instants}. Read a "
                f"longer period{' or lower lags' if later else ''}."
            )

    def _changes(self, before: Floats, after: Floats, means: tuple[Floats, Floats] | None = None) -> Floats:
        """Changes of all coefficients of these series, and of their means if given."""
        sides = ((before, after), means or (before, after))
        changes = []
        for channel in range(before.shape[2]):
            one, other = (self._coefficients(x[:, :, channel], y[..., channel]) for x, y in zip(*sides, strict=True))
            changes.append(np.abs(one - other).ravel())
        return np.concatenate(changes)

    def _coefficients(self, x: Floats, y: Floats) -> Floats:
        """All coefficients of one channel (series, instants); y is the same series or the mean of all."""
        if self.between == "series":
            return correlations(x, y)[np.triu_indices(len(x), 1)]
        return correlations(x, y[None]) if self.between == "mean" else autocorrelations(x, self.lags)


def correlations(x: Floats, y: Floats) -> Floats:
    """Correlation of each row of x with each row of y, over the instants both have; 0 if one is constant there."""
    (x, x_has), (y, y_has) = _standardized(x), _standardized(y)
    n = x_has @ y_has.T
    return _coefficients(n, x @ y_has.T, x_has @ y.T, x @ y.T, x**2 @ y_has.T, x_has @ (y**2).T)


def autocorrelations(x: Floats, lags: int) -> Floats:
    """Correlation of each row with itself 1, 2, … instants later, (lags, rows)."""
    x, has = _standardized(x)
    squares = x**2
    result = np.empty((lags, len(x)))
    for lag in range(1, lags + 1):
        early, late = slice(None, -lag), slice(lag, None)
        products = ((has, has), (x, has), (has, x), (x, x), (squares, has), (has, squares))
        sums = (np.einsum("rt,rt->r", one[:, early], other[:, late]) for one, other in products)
        result[lag - 1] = _coefficients(*sums)
    return result


def _standardized(x: Floats) -> tuple[Floats, Floats]:
    """Rows with mean 0 and variance 1, 0 if missing; and 1 if observed, else 0. Constant rows are all 0."""
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
    # A row may vary as a whole but be constant where the other one is observed.
    varies = (x_varies > 1e-12 * n) & (y_varies > 1e-12 * n)
    spread = np.sqrt(np.where(varies, x_varies, 1.0)) * np.sqrt(np.where(varies, y_varies, 1.0))
    found: Floats = np.where(varies, (sxy - sx * sy / n) / spread, 0.0)
    return np.clip(found, -1.0, 1.0)


def _means(original: Panel, published: Panel) -> tuple[Floats, Floats]:
    """The mean of all series on both sides, (instants, channels), over the cells that both have."""
    tally = tally_pairs(original, published, lambda before, after: {"before": before, "after": after})
    before, after = (np.where(side.counts > 0, side.means, np.nan) for side in tally.figures.values())
    return before, after
