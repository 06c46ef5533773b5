"""Add random noise to every reading."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.methods.altered import Floats, candidate_of, check_choice, cube, of_distinct, shaped
from shoal.methods.randomness import check_seed, stream
from shoal.methods.watch import Progress
from shoal.model import Candidate, Panel

Kind = Literal["gaussian", "laplace", "uniform", "coloured"]
Per = Literal["panel", "series"]

MOST_MEMORY = 0.99


@dataclass(frozen=True, kw_only=True)
class NoiseAddition:
    """Add noise of a given strength to every reading.

    y[i, t] = x[i, t] + s e[i, t], where e has mean 0 and variance 1, and s^2 = variance of the signal / snr. The signal
    is all readings of a channel around their mean, or with per="series" those of one series around its own. So snr is
    the ratio of the variances: 10 leaves readings recognisable, 1 adds as much noise as there was variation.

    Aims at nothing: noise of known strength can be filtered out (principal components, smoothing), the better the more
    series there are and the whiter the noise. Judge it by attack.

    Equal series get equal noise, so that a crowd published alike stays one: after microaggregation it keeps
    k-anonymity, and ends the exact search for the members whose mean was published. Missing readings stay missing.
    Where nothing varies in a whole channel there is no signal and no noise.

    Parameters
    ----------
    snr
        Signal-to-noise ratio, of the variances. Smaller hides better.
    kind
        "gaussian", "laplace" (heavier tails), "uniform" (bounded), or "coloured": Gaussian, each instant correlated
        with the one before, which is harder to smooth away.
    per
        "panel": the same strength for all series of a channel. "series": in proportion to the variance of each, which
        drowns no small one, and shows how much each varied; a series that does not vary gets the strength of "panel".
    memory
        Only "coloured": the correlation of the noise with itself one instant later, from 0 to 0.99. Left out, that of
        the readings themselves: noise like the signal hides best.
    seed
        Where the random numbers start, together with the readings; without them nobody can draw the same again.

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
    each_alone: ClassVar[bool] = False
    keeps_apart: ClassVar[bool] = True

    snr: float
    kind: Kind = "gaussian"
    per: Per = "panel"
    memory: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.snr, bool) or not isinstance(self.snr, int | float) or not 0.0 < self.snr < float("inf"):
            raise ParameterError("snr must be a number above 0: the variance of the signal over that of the noise.")
        check_choice("kind", self.kind, get_args(Kind))
        check_choice("per", self.per, get_args(Per))
        check_seed(self.seed)
        if self.memory is None:
            return
        if self.kind != "coloured":
            raise ParameterError(f"memory is for kind='coloured', this is {self.kind!r}. Leave it out.")
        number = isinstance(self.memory, int | float) and not isinstance(self.memory, bool)
        if not number or not 0.0 <= self.memory <= MOST_MEMORY:
            raise ParameterError(f"memory must be a number from 0 to {MOST_MEMORY}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same method again."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"snr": float(self.snr), "seed": int(self.seed)}

    @property
    def aims_at(self) -> NoGuarantee:
        """Nothing: judged by attack only."""
        return NoGuarantee()

    def anonymize(self, panel: Panel, *, progress: Progress | None = None) -> Candidate:
        """Draw the noise and add it."""
        x = cube(panel)
        rng = stream(panel, int(self.seed), self.name)
        together = deviation_of(x, (0, 1))
        memory = _memory(x) if self.memory is None else np.full(panel.n_channels, float(self.memory))

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

    def _draw(self, rng: np.random.Generator, shape: tuple[int, ...], memory: NDArray[np.float64]) -> Floats:
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
    """The standard deviation of the observed readings over these axes; 0 where there are none."""
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


def _memory(x: Floats) -> NDArray[np.float64]:
    """For each channel the correlation of readings one instant apart, each series around its own mean."""
    observed = ~np.isnan(x)
    counts = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    mean = np.where(observed, x, 0.0).sum(axis=1, keepdims=True) / counts
    centred = np.where(observed, x - mean, 0.0)
    total = (centred**2).sum(axis=(0, 1))
    together = (centred[:, 1:] * centred[:, :-1]).sum(axis=(0, 1))
    found: NDArray[np.float64] = np.divide(together, total, out=np.zeros(len(total)), where=total > 0.0)
    return np.clip(found, 0.0, MOST_MEMORY)
