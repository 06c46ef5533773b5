"""Small releases of simulated households, made by a few lines of numpy."""

from functools import cache

import numpy as np

from shoal import Microaggregation, Panel
from shoal.simulate import meters


@cache
def households(n=300, days=14, seed=5):
    return meters(n, days=days, families={"household": 1.0}, seed=seed)


def like(panel, values):
    return Panel(values, times=panel.times)


def pseudonymised(panel, seed=1):
    """The same series in another order, and whose each is."""
    order = np.random.default_rng(seed).permutation(panel.n_series)
    return like(panel, panel.values[order]), order


@cache
def averaged(k, n=300, days=14, features="raw"):
    return Microaggregation(k=k, features=features).anonymize(households(n, days)).published


def noisy(panel, snr, seed=1):
    x = panel.values
    return like(panel, x + np.random.default_rng(seed).normal(size=x.shape) * np.nanstd(x) / np.sqrt(snr))


def exchanged(panel, length, share=1.0, seed=1):
    """In every stretch a share of the series gets the stretch of another."""
    dice = np.random.default_rng(seed)
    x = panel.values.copy()
    for start in range(0, panel.n_instants, length):
        drawn = dice.permutation(panel.n_series)[: int(share * panel.n_series)]
        x[drawn, start : start + length] = panel.values[np.roll(drawn, 1), start : start + length]
    return like(panel, x)


def sliced(panel, length, *, dates):
    """Slices of every series, with or without dates, and whose each is."""
    n, n_slices = panel.n_series, panel.n_instants // length
    cut = panel.values[:, : n_slices * length].reshape(n, n_slices, length)
    rows = np.repeat(np.arange(n), n_slices)
    if not dates:
        return Panel(cut.reshape(-1, length)), rows
    x = np.full((n, n_slices, panel.n_instants), np.nan)
    for at in range(n_slices):
        x[:, at, at * length : (at + 1) * length] = cut[:, at]
    return like(panel, x.reshape(n * n_slices, -1)), rows
