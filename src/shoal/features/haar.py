"""How the variation of a series is distributed over slow and fast changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Panel

# Shares are kept this far from 0 and 1, where the logit is infinite: features lie between -13.8 and 13.8. With less, an
# empty level, or rounding of the input, would outweigh every difference between levels with energy.
SMALLEST_SHARE = 1e-6
_CELLS = 2_000_000  # processed at a time, about 16 MB and as much again for the coefficients


@dataclass(frozen=True)
class Haar:
    """Energy share of each level of a Haar decomposition: similar if slow and fast changes have the same weight.

    f = c0 + Σ_j Σ_k d[j, k] ψ[j, k], E_j = Σ_k d[j, k]², p_j = E_j / Σ_i E_i, feature_j = ln(p_j / (1 - p_j)), for each
    channel separately, from the slowest level to the fastest; the mean level c0 is left out. Neither the level nor the
    amplitude of a series matters, nor when a change happens: the features are much shorter than the series, and blind
    to the time of a peak.

    Any length T of at least 2 gives J = ceil(log2 T) levels. If a level has an odd number of coefficients, the last one
    is repeated (PyWavelets' mode "symmetric"), so that the repetition adds no energy, a constant series has none, and a
    power of two is decomposed exactly as defined. Shares are clipped to [1e-6, 1 - 1e-6]. A constant series has share 0
    on every level, so all its features are ln(1e-6 / (1 - 1e-6)). With two instants there is one level, and the feature
    only says whether the series is constant.

    A series with gaps has no decomposition; read it with `missing` set to drop or interpolate.

    Examples
    --------
    >>> Haar()(Panel([[0.0, 0.0, 2.0, 4.0], [5.0, 5.0, 5.0, 5.0]])).round(2).tolist()
    [[1.5, -1.5], [-13.82, -13.82]]

    References
    ----------
    "Data-driven anonymization process applied to time series", section 5.2; J. Cugliari, Y. Goude and J.-M. Poggi,
    "Disaggregated electricity forecasting using wavelet-based clustering of individual consumers", 2016.
    """

    name: ClassVar[str] = "haar"

    def __call__(self, panel: Panel) -> NDArray[np.float64]:
        """Decompose every series and channel."""
        if panel.n_instants < 2:
            raise ParameterError(
                "Haar features need at least 2 instants, the panel has 1: one value has no ups and downs. "
                "Use the features 'raw' or 'standardized'."
            )
        with_gaps = np.isnan(panel.rows).any(axis=1)
        if n_gaps := int(with_gaps.sum()):
            raise ParameterError(
                f"Haar features need complete series; {n_gaps} of {panel.n_series} series have missing values, the "
                f"first at position {int(with_gaps.argmax())}. Read the panel with `missing` set to 'drop-series', "
                "'drop-instants' or 'interpolate:2h', or use the features 'raw', 'standardized' or 'centred'."
            )
        n_levels = (panel.n_instants - 1).bit_length()
        x = panel.cube
        result = np.empty((panel.n_series, n_levels, x.shape[2]))
        height = max(1, _CELLS // (x.shape[1] * x.shape[2]))
        for first in range(0, panel.n_series, height):
            rows = slice(first, first + height)
            result[rows] = _logits(_shares(_energies(x[rows], n_levels)))
        return result.reshape(panel.n_series, -1)


def _energies(x: NDArray[np.float64], n_levels: int) -> NDArray[np.float64]:
    """Energy of each level up to a factor per series and channel: (series, levels, channels), slowest first."""
    import pywt

    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    half = high / 2 - low / 2
    # Shares do not depend on level and amplitude, but rounding does: a large offset would cost digits, and a square may
    # overflow.
    mean_levels = (x - (low / 2 + high / 2)) / np.where(half > 0.0, half, 1.0)
    mean_levels *= half > 0.0
    energies = np.empty((x.shape[0], n_levels, x.shape[2]))
    for level in reversed(range(n_levels)):
        # One step at a time instead of wavedec: the coefficients of all levels are never held together, and wavedec
        # stops at floor(log2 T), which leaves two mean levels if T is not a power of two.
        mean_levels, details = pywt.dwt(mean_levels, "haar", mode="symmetric", axis=1)
        energies[:, level] = np.sum(np.square(details, out=details), axis=1)
    return energies


def _shares(energies: NDArray[np.float64]) -> NDArray[np.float64]:
    totals = energies.sum(axis=1, keepdims=True)
    shares: NDArray[np.float64] = energies / np.where(totals > 0.0, totals, 1.0)
    return shares


def _logits(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    p = np.clip(shares, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
    logits: NDArray[np.float64] = np.log(p) - np.log1p(-p)
    return logits
