"""Curves drawn from a release of scenarios: they belong to nobody, but behave like the readings of a group.

    z  ~ a stationary normal process with the published rank correlations
    x[t] = mean[g, t] + spread[g] * Z[g, t](Φ(z[t]))

The correlations define a process if their spectrum is not negative. Where rounding has made it negative, it is set to 0
(Davies and Harte).
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
from scipy import special

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.model import Panel, Release, Scenarios
from shoal.model.parameters import is_number
from shoal.simulate.arguments import as_count

_CELLS = 2_000_000
"""Readings drawn at a time, about 16 MB an array."""


def from_release(
    release: Release | Scenarios, *, n_series: int | None = None, at_least: float | None = None, seed: int = 0
) -> Panel:
    """Draw curves from a release of scenarios.

    Parameters
    ----------
    release
        A release made with form="scenarios", by `shoal.load_release`; or what it publishes.
    n_series
        How many curves; each comes from a group drawn in proportion to its subjects. Default: each group gets as many
        as it has subjects.
    at_least
        Lower bound of every reading, such as 0 for consumption: lower values are set to it. The release does not state
        it, because the lowest reading is someone's.
    seed
        The same seed gives the same curves.

    Examples
    --------
    >>> from shoal import Microaggregation, simulate
    >>> candidate = Microaggregation(k=10, form="scenarios").anonymize(simulate.meters(100, days=1, seed=1))
    >>> simulate.from_release(candidate.published, n_series=3, at_least=0.0, seed=2)
    Panel(3 series, 24 instants, 3 subjects)

    References
    ----------
    "Data-driven anonymization process applied to time series", section 6. R. B. Davies and D. S. Harte, "Tests for
    Hurst effect", 1987.
    """
    if isinstance(release, str | Path):
        raise ParameterError("Curves are drawn from a release that was read: give what shoal.load_release returns.")
    published = release.published if isinstance(release, Release) else release
    if not isinstance(published, Scenarios):
        raise ParameterError(
            "Curves are drawn from a release of scenarios, and this one has another form. Publish with "
            "form='scenarios'."
        )
    if at_least is not None and not (is_number(at_least) and math.isfinite(at_least)):
        raise ParameterError(f"at_least must be a finite number, such as 0, got {at_least!r}.")
    rng = np.random.default_rng(as_count("seed", seed, 0))
    if n_series is None:
        groups = np.repeat(np.arange(published.n_groups), published.counts)
    else:
        shares = published.counts / published.counts.sum()
        groups = np.sort(rng.choice(published.n_groups, size=as_count("n_series", n_series), p=shares))
    values = np.empty((len(groups), published.n_instants))
    height = max(1, _CELLS // published.n_instants)
    for first in range(0, len(groups), height):
        part = groups[first : first + height]
        values[first : first + height] = _draw(published, part, rng)
    if at_least is not None:
        np.maximum(values, at_least, out=values)
    return Panel(values, times=published.times, channels=published.channels, timezone=published.timezone, copy=False)


def _draw(published: Scenarios, groups: Ints, rng: np.random.Generator) -> Floats:
    """A curve for each of some groups."""
    amplitudes = _amplitudes(published.lagged[groups])
    n_instants, n_around = published.n_instants, 2 * (amplitudes.shape[1] - 1) or 1
    noise = np.fft.rfft(rng.standard_normal((len(groups), n_around)), axis=1)
    z = np.fft.irfft(amplitudes * noise, n=n_around, axis=1)[:, :n_instants]
    shares = special.ndtr(z)
    drawn = published.take(groups)
    found: Floats = drawn.quantiles(shares[:, :, None])[:, :, 0]
    return found


def _amplitudes(lagged: Floats) -> Floats:
    """Factors of white noise, by frequency, that give it these correlations and variance 1."""
    around = np.concatenate([lagged, lagged[:, -2:0:-1]], axis=1)
    power = np.clip(np.fft.rfft(around, axis=1).real, 0.0, None)
    variance = np.fft.irfft(power, n=around.shape[1], axis=1)[:, :1]
    found: Floats = np.sqrt(power / np.where(variance > 0.0, variance, 1.0))
    return found
