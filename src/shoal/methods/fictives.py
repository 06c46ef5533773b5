"""Series that look like others but belong to nobody.

With x the given series as rows, m their mean and x - m = S V their principal components (scores S, components V):

    fictive = m + s V,    s[k] = sqrt(1 - h^2) S[i(k), k] + h sd(S[., k]) z[k],    h = 1/2

where i(k) is drawn separately for every component and z is standard normal: mean, variance and correlation over time
are those of the given series, and no fictive one is made of one person's parts. It is rounded to the digits of the
given series and kept at or above zero if they are. It is drawn again if it is closer to some given series than half the
distance between the two distinct ones that are closest to each other.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats

SMOOTHING = 0.5
ROUNDS = 50
"""How often series that came too close to someone are drawn again."""

_YARDSTICKS = 1000  # series whose distances define what is near; all pairs of a large panel would take too long
_MOST_DECIMALS = 9
_ROWS = 2000


def make_fictives(x: Floats, n_fictives: int, rng: np.random.Generator) -> Floats:
    """This many series that equal none of the rows of x, and are close to none."""
    mean = x.mean(axis=0)
    scores, components = _components(x - mean)
    spread = scores.std(axis=0)
    near = 0.5 * _smallest_distance(x)
    made = np.empty((n_fictives, x.shape[1]))
    wanted = np.arange(n_fictives)
    for _ in range(ROUNDS):
        donors = rng.integers(len(x), size=(len(wanted), scores.shape[1]))
        own = np.take_along_axis(scores, donors, axis=0) * np.sqrt(1.0 - SMOOTHING**2)
        own += SMOOTHING * spread * rng.standard_normal(own.shape)
        with threadpool_limits(limits=1):
            made[wanted] = _like_readings(mean + own @ components, x)
        wanted = wanted[_nearest(made[wanted], x) < near]
        if not len(wanted):
            return made
    raise ParameterError(
        f"{len(wanted)} of {n_fictives} fictive series came too close to a real one, {ROUNDS} times. Ask for fewer "
        "fictives, draw a larger share, or read more series."
    )


def _components(centred: Floats) -> tuple[Floats, Floats]:
    """Scores and principal components, on one thread: the same bits on any number of cores."""
    with threadpool_limits(limits=1):
        left, sizes, right = np.linalg.svd(centred, full_matrices=False)
    return left * sizes, right


def _smallest_distance(x: Floats) -> float:
    """The distance between the two different series nearest to each other; 0 if all are the same."""
    from scipy.spatial.distance import cdist  # late: half a second in every process that loads the methods

    some = x[np.linspace(0, len(x) - 1, min(len(x), _YARDSTICKS)).astype(np.int64)]
    distances = cdist(some, some)
    apart = distances[distances > 0.0]
    return float(apart.min()) if len(apart) else 0.0


def _nearest(made: Floats, x: Floats) -> Floats:
    """The distance of each to the nearest row of x."""
    from scipy.spatial.distance import cdist

    nearest = np.full(len(made), np.inf)
    for start in range(0, len(x), _ROWS):
        np.minimum(nearest, cdist(made, x[start : start + _ROWS]).min(axis=1), out=nearest)
    return nearest


def _like_readings(values: Floats, x: Floats) -> Floats:
    """Rounded to the decimals of the readings, and not below zero if no reading is: else anyone could recognise
    them."""
    for decimals in range(_MOST_DECIMALS + 1):
        if np.array_equal(np.round(x, decimals), x):
            values = np.round(values, decimals)
            break
    return np.maximum(values, 0.0) + 0.0 if (x >= 0.0).all() else values + 0.0
