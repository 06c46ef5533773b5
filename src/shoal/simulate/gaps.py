"""Leave readings out, the way meters do: half of them one by one, half in outages.

A reading falls into an outage with probability missing/2, and otherwise is lost on its own, with the probability
that makes the total `missing`. Outages begin at random, even before the first instant. They last at least two readings,
about six hours more on average, and at most two days.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Bools
from shoal.simulate.arguments import MINUTES_PER_DAY

MEAN_OUTAGE_HOURS = 6.0
LONGEST_OUTAGE_DAYS = 2


def missing_readings(source: np.random.Generator, n_series: int, n_instants: int, step: int, missing: float) -> Bools:
    """Which readings (series, instants) are missing."""
    longest = max(2, LONGEST_OUTAGE_DAYS * MINUTES_PER_DAY // step)
    lengths = np.arange(2, longest + 1)
    weights = np.exp(-(lengths - 2) * step / (60 * MEAN_OUTAGE_HOURS))
    weights /= weights.sum()
    in_outage = missing / 2
    # A reading is spared when no outage reaches it, which has probability exp(-rate · mean length).
    rate = -np.log1p(-in_outage) / float(lengths @ weights)

    places = n_instants + longest
    n_outages = source.poisson(rate * places, size=n_series)
    rows = np.repeat(np.arange(n_series), n_outages)
    begin = source.integers(-longest, n_instants, size=len(rows))
    end = np.clip(begin + source.choice(lengths, p=weights, size=len(rows)), 0, n_instants)
    depth = np.zeros((n_series, n_instants + 1), dtype=np.int32)
    np.add.at(depth, (rows, np.maximum(begin, 0)), 1)
    np.add.at(depth, (rows, end), -1)
    gaps = np.cumsum(depth, axis=1)[:, :n_instants] > 0
    gaps |= source.random((n_series, n_instants)) < (missing - in_outage) / (1 - in_outage)
    return np.asarray(gaps)
