"""How well known readings fit what a release of scenarios says of each group: its means, its spread and its levels.

    s[g, t]       spread[g] times the root mean square of the levels z[t] of its pool
    misfit(x, g)  mean over the t known of  ((x[t] - mean[g, t]) / s[g, t])² + 2 ln s[g, t]

which is, up to constants, minus the logarithm of the likelihood of x among normal readings as wide as those published.
A group in which all readings are alike is taken to be a thousandth as wide as groups usually are.
"""

from __future__ import annotations

import numpy as np

from shoal.attacks.ground import Floats
from shoal.attacks.links import Links
from shoal.features.labelled import one_thread
from shoal.model import Panel, Scenarios

BLOCK = 512  # series compared at once
NARROWEST = 1e-3  # of the median width


def widths_of(scenarios: Scenarios) -> Panel:
    """How wide readings spread around the mean of each row at each instant."""
    widths = scenarios.spreads[:, None] * np.sqrt(np.square(scenarios.shapes).mean(axis=2))
    usual = float(np.median(widths[widths > 0.0])) if (widths > 0.0).any() else 1.0
    return Panel(np.maximum(widths, NARROWEST * usual), times=scenarios.times, timezone=scenarios.timezone)


def misfits(known: Floats, means: Floats, widths: Floats) -> Floats:
    """The misfit of each known series (rows) with each group (columns), over the readings that are known."""
    there = ~np.isnan(known)
    x, weights = np.where(there, known, 0.0), 1.0 / np.square(widths)
    result = np.empty((len(known), len(means)))
    with one_thread():
        for first in range(0, len(known), BLOCK):
            own, seen = x[first : first + BLOCK], there[first : first + BLOCK].astype(np.float64)
            squares = np.square(own) @ weights.T - 2.0 * own @ (means * weights).T
            squares += seen @ (np.square(means) * weights + 2.0 * np.log(widths)).T
            result[first : first + BLOCK] = squares / np.maximum(seen.sum(axis=1), 1.0)[:, None]
    return result


def best_fits(known: Floats, means: Floats, widths: Floats) -> Links:
    """The groups that each known series fits best; a distance is the inverse of a likelihood per reading."""
    found = misfits(known, means, widths)
    ordered = np.sort(found, axis=1)[:, :2] if found.shape[1] > 1 else np.repeat(found, 2, axis=1)
    target, which = np.nonzero(found == found.min(axis=1, keepdims=True))
    start = np.searchsorted(target, np.arange(len(known) + 1))
    return Links(np.exp(np.clip(0.5 * ordered, -300.0, 300.0)), start, which)
