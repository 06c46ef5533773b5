"""Add random noise to every reading."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats
from shoal.methods.altered import AlteringMethod, candidate_of, of_distinct, shaped
from shoal.methods.randomness import stream
from shoal.model import Candidate, Moments, Panel, PanelShards, Progress
from shoal.model.parameters import check_choice, check_whole, is_number

Kind = Literal["gaussian", "laplace", "uniform", "coloured"]
Per = Literal["panel", "series"]

MOST_MEMORY = 0.99


@dataclass(frozen=True, kw_only=True)
class NoiseAddition(AlteringMethod):
    """Add noise of a given strength to every reading.

    y[i, t] = x[i, t] + s e[i, t], where e has mean 0 and variance 1, and s^2 = variance of the signal / snr. The signal
    is all readings of a channel around their mean, or with per="series" those of one series around its own. So snr is
    the ratio of the variances: 10 leaves readings recognisable, 1 adds as much noise as there was variation.

    Aims at no guarantee: noise of known strength can be filtered out (principal components, smoothing), more easily
    with more series and whiter noise. Judge it by attack.

    Equal series get equal noise, so a crowd published alike stays one: after microaggregation it keeps k-anonymity, and
    it defeats the exact search for the members behind a published mean. Missing readings stay missing. If nothing
    varies in a whole channel, there is no signal and no noise.

    Parameters
    ----------
    snr
        Signal-to-noise ratio of variances. Smaller hides better.
    kind
        "gaussian", "laplace" (heavier tails), "uniform" (bounded), or "coloured": Gaussian, each instant correlated
        with the one before, which is harder to smooth away.
    per
        "panel": the same strength for all series of a channel. "series": in proportion to the variance of each, which
        drowns no small series, but shows how much each varied; a constant series gets the strength of "panel".
    memory
        Only "coloured": the correlation of the noise with itself one instant later, from 0 to 0.99. Default: that of
        the readings themselves, because noise like the signal hides best.
    seed
        Seeds the random numbers, together with the readings; without those, nobody can draw the same again.

    Examples
    --------
    >>> panel = Panel([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0]])
    >>> candidate = NoiseAddition(snr=4.0).anonymize(panel)
    >>> bool((candidate.values != panel.values).all())
    True
    >>> candidate.check().note
    'nothing is promised; attack it and give the risks with a limit'

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 (signal-to-noise ratio, noise family).
    """

    name: ClassVar[str] = "noise-addition"
    keeps_equal: ClassVar[bool] = True
    keeps_apart: ClassVar[bool] = True
    takes_fictives: ClassVar[bool] = True
    _whole: ClassVar[_Spread | None] = None

    snr: float
    kind: Kind = "gaussian"
    per: Per = "panel"
    memory: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not is_number(self.snr) or not 0.0 < self.snr < float("inf"):
            raise ParameterError(
                "snr must be a number above 0: the variance of the signal divided by that of the noise."
            )
        check_choice("kind", self.kind, Kind)
        check_choice("per", self.per, Per)
        check_whole("seed", self.seed, 0)
        if self.memory is None:
            return
        if self.kind != "coloured":
            raise ParameterError(f"memory applies to kind='coloured', this is {self.kind!r}. Omit it.")
        if not is_number(self.memory) or not 0.0 <= self.memory <= MOST_MEMORY:
            raise ParameterError(f"memory must be a number from 0 to {MOST_MEMORY}.")

    def prepare(self, panel: PanelShards) -> Self:
        """The same strength and memory everywhere: those of all series."""
        prepared = replace(self)
        object.__setattr__(prepared, "_whole", panel.add_up(_spread_of))
        return prepared

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Draw the noise and add it."""
        rng = stream(panel, int(self.seed), self.name)
        spread = _Spread.of(panel) if self._whole is None else self._whole
        together = spread.deviation
        memory = spread.memory if self.memory is None else np.full(panel.n_channels, float(self.memory))

        def noisy(own: Floats) -> Floats:
            deviation = np.broadcast_to(together, (len(own), 1, own.shape[2]))
            if self.per == "series":
                alone = deviation_of(own, (1,))
                deviation = np.where(alone > 0.0, alone, deviation)
            drawn = self._draw(rng, own.shape, memory)
            changed: Floats = own + drawn * (deviation / np.sqrt(self.snr))
            return changed

        published = shaped(panel, of_distinct(panel, noisy))
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        return candidate_of(self, panel, published)

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], memory: Floats) -> Floats:
        """Noise of mean 0 and variance 1."""
        if self.kind == "laplace":
            return rng.laplace(scale=np.sqrt(0.5), size=shape)
        if self.kind == "uniform":
            return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size=shape)
        drawn = rng.standard_normal(shape)
        if self.kind == "coloured":
            # e[t] = m e[t-1] + sqrt(1 - m^2) z[t] keeps the variance at 1 from the first instant on.
            fresh = np.sqrt(1.0 - memory**2)
            for t in range(1, shape[1]):
                drawn[:, t] = memory * drawn[:, t - 1] + fresh * drawn[:, t]
        return drawn


def deviation_of(x: Floats, axes: tuple[int, ...]) -> Floats:
    """The standard deviation of the observed readings over these axes; 0 if there are none."""
    observed = ~np.isnan(x)
    counts = np.maximum(observed.sum(axis=axes, keepdims=True), 1)
    # Around the first readings, so that a large common offset costs no digits.
    filled = np.where(observed, x, 0.0)
    anchor = np.take_along_axis(filled, observed.argmax(axis=1, keepdims=True), axis=1)
    if 0 in axes:
        anchor = anchor[observed.any(axis=(1, 2)).argmax()][None]
    centred = np.where(observed, x - anchor, 0.0)
    mean = centred.sum(axis=axes, keepdims=True) / counts
    squares = np.where(observed, (centred - mean) ** 2, 0.0).sum(axis=axes, keepdims=True)
    deviation: Floats = np.sqrt(squares / counts)
    return deviation


@dataclass(frozen=True, eq=False)
class _Spread:
    """The spread of readings in each channel, and their correlation from one instant to the next."""

    moments: Moments
    total: Floats
    """Squared deviations of each series from its own mean."""
    together: Floats
    """The same between readings one instant apart."""

    @staticmethod
    def of(panel: Panel) -> _Spread:
        """Those of a panel."""
        x = panel.cube
        observed = ~np.isnan(x)
        counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
        mean = np.where(observed, x, 0.0).sum(axis=1, keepdims=True) / counts
        centred = np.where(observed, x - mean, 0.0)
        return _Spread(
            Moments.of(x.reshape(-1, panel.n_channels)),
            (centred**2).sum(axis=(0, 1)),
            (centred[:, 1:] * centred[:, :-1]).sum(axis=(0, 1)),
        )

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each channel, (1, 1, channels)."""
        deviations: Floats = np.sqrt(self.moments.deviations / np.maximum(self.moments.counts, 1))[None, None]
        return deviations

    @property
    def memory(self) -> Floats:
        """For each channel the correlation of readings one instant apart, each series around its own mean."""
        there = self.total > 0.0
        correlations: Floats = np.divide(self.together, self.total, out=np.zeros(len(self.total)), where=there)
        return np.clip(correlations, 0.0, MOST_MEMORY)

    def __add__(self, other: _Spread) -> _Spread:
        return _Spread(self.moments + other.moments, self.total + other.total, self.together + other.together)


def _spread_of(number: int, panel: Panel) -> _Spread:
    return _Spread.of(panel)
