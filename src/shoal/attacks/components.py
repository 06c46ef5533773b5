"""Filtering additive noise out of published series by what they have in common.

    y = x + e,   e of variance s^2,   x around its mean = what few components explain + a rest of its own

Components are kept while their variance exceeds what noise alone would produce (Marchenko and Pastur), and are weighted
by their share of signal. The rest r(t) of a series is weighted by (v(t) - s^2) / v(t), where v(t) is its variance at
instant t: what exceeds the noise counts as signal. Both are Wiener filters.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from shoal.attacks.ground import Floats, find_classes

_CALM = 0.1  # the share of series that vary least, by which noise of unknown strength is judged


def denoise(values: Floats, snr: float | None) -> tuple[Floats, int]:
    """Published values (series, instants, channels) with noise filtered out as far as possible, and the number of
    components.

    Equal series stay equal. Gaps stay gaps; during the decomposition they take the mean of their instant.
    """
    result = np.empty(values.shape)
    kept = 0
    for c in range(values.shape[2]):
        result[:, :, c], n_components = _denoise_channel(values[:, :, c], snr)
        kept += n_components
    return result, kept


def _denoise_channel(y: Floats, snr: float | None) -> tuple[Floats, int]:
    gaps = np.isnan(y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an instant without a reading
        mean = np.nan_to_num(np.nanmean(y, axis=0))
    centred = np.where(gaps, 0.0, y - mean)
    noise = _noise(y, snr)
    if noise == 0.0 or min(y.shape) < 2:
        return np.where(gaps, np.nan, y), 0
    axes, weights = _components(centred)
    distinct, classes = find_classes(np.where(gaps, np.nan, y))
    own = np.nan_to_num(distinct - mean)
    with threadpool_limits(limits=1):
        common = ((own @ axes.T) * weights) @ axes
    rest = own - common
    variance = np.average(rest**2, axis=0, weights=np.bincount(classes))
    share = np.divide(variance - noise, variance, out=np.zeros(len(mean)), where=variance > noise)
    found = (mean + common + share * rest)[classes]
    return np.where(gaps, np.nan, found), len(axes)


def _components(centred: Floats) -> tuple[Floats, NDArray[np.float64]]:
    """Directions with more variance than noise alone, and the share of signal in each."""
    n, width = centred.shape
    # The smaller matrix of products has the same eigenvalues, in a third of the time of a full decomposition. With one
    # thread, the result does not depend on the machine.
    with threadpool_limits(limits=1):
        if n <= width:
            energy, sides = np.linalg.eigh(centred @ centred.T)
            axes = (sides.T @ centred) / np.sqrt(np.maximum(energy, np.finfo(np.float64).tiny))[:, None]
        else:
            energy, sides = np.linalg.eigh(centred.T @ centred)
            axes = np.ascontiguousarray(sides.T)
    energy, axes = np.maximum(energy[::-1], 0.0), axes[::-1]
    long, ratio = max(n, width), min(n, width) / max(n, width)
    floor = float(np.median(energy)) / (long * _median(ratio))
    kept = energy > floor * long * (1.0 + np.sqrt(ratio)) ** 2
    return axes[kept], 1.0 - floor * n / energy[kept]


def _median(ratio: float) -> float:
    """The median of the law of Marchenko and Pastur for matrices of this shape, with noise of variance 1."""
    low, high = (1.0 - np.sqrt(ratio)) ** 2, (1.0 + np.sqrt(ratio)) ** 2
    x = np.linspace(low, high, 10_001)[1:-1]
    mass = np.cumsum(np.sqrt((high - x) * (x - low)) / x)
    return float(x[np.searchsorted(mass, mass[-1] / 2.0)])


def _noise(y: Floats, snr: float | None) -> float:
    """The variance of the noise: from the ratio that the release states, else from the changes in the smoothest
    series."""
    if snr is not None:
        return float(np.nanvar(y)) / (1.0 + snr)
    if y.shape[1] < 3:
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a series with too many gaps says nothing
        steps = np.nanmedian(np.abs(np.diff(y, axis=1)), axis=1)
    steps = steps[~np.isnan(steps)]
    if not len(steps):
        return 0.0
    # The median size of a normal number is 0.6745 of its deviation; a difference has twice the variance.
    return float((np.quantile(steps, _CALM) / 0.6745) ** 2 / 2.0)
