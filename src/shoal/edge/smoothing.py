"""Figures smoothed over time. It uses published figures only, so it costs no budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def smooth(figures: Floats, variances: Floats) -> Floats:
    """The expected level at each instant, given all figures before and after it.

    The level moves by independent steps of one variance, and a figure is the level plus noise of its known variance
    (the local level model). The variance of the steps is the mean squared difference of successive figures minus the
    variance of their noise. A Kalman filter goes forward and the fixed-interval smoother of Rauch (1965) back. A
    missing figure, or one of infinite variance, is ignored.

    Parameters
    ----------
    figures
        One for each instant; NaN = missing.
    variances
        The variance of the noise of each figure.
    """
    known = np.isfinite(figures) & np.isfinite(variances)
    if not known.any():
        return np.full(len(figures), np.nan)
    z, v = figures[known], variances[known]
    gaps = np.diff(np.flatnonzero(known))
    moves = (np.diff(z) ** 2 - v[1:] - v[:-1]) / gaps
    step = max(float(moves.mean()), 1e-9 * float(v.mean())) if len(moves) else 1.0
    n = len(figures)
    level, spread = np.empty(n), np.empty(n)
    # Nothing is known before the first figure: start at its own level and spread.
    mean, uncertain = float(z[0]), float(v[0])
    for t in range(n):
        if t:
            uncertain += step
        if known[t] and t > np.flatnonzero(known)[0]:
            gain = uncertain / (uncertain + variances[t]) if uncertain + variances[t] > 0 else 1.0
            mean += gain * (figures[t] - mean)
            uncertain *= 1.0 - gain
        level[t], spread[t] = mean, uncertain
    smoothed = level.copy()
    for t in range(n - 2, -1, -1):
        back = spread[t] / (spread[t] + step) if spread[t] + step > 0 else 1.0
        smoothed[t] += back * (smoothed[t + 1] - level[t])
    return smoothed
