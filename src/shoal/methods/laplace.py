"""Whole numbers with noise that keeps differential privacy, drawn by OpenDP.

Whole numbers, because sums of floating-point numbers depend on their order and noise on them has gaps: both have been
used to remove the noise.
"""

from __future__ import annotations

import importlib.metadata
from typing import Any

import numpy as np

from shoal.guarantees.differential_privacy import Spent
from shoal.kernels.arrays import Ints


def noisy_integers(
    values: Ints,
    *,
    sensitivity: int,
    epsilon: float,
    query: str,
    bounds: tuple[float, float] | None = None,
    insecure_seed: int | None = None,
) -> tuple[Ints, Spent]:
    """The values plus discrete Laplace noise, and its cost: at most epsilon.

    Parameters
    ----------
    values
        True answers.
    sensitivity
        How much one unit can change them, summed over all of them.
    epsilon
        What may be spent.
    query, bounds
        For the accounting: what was asked, and the clipping bounds behind the sensitivity.
    insecure_seed
        Noise that can be drawn again, for tests; the accounting says so, and the guarantee does not hold.
    """
    mechanism, scale, cost = _mechanism(sensitivity, epsilon)
    if insecure_seed is None:
        version = importlib.metadata.version("opendp")
        noisy = np.array(mechanism(values.ravel().tolist()), dtype=np.int64).reshape(values.shape)
        drawn = f"discrete Laplace (OpenDP {version})"
    else:
        rng = np.random.default_rng(insecure_seed)
        # The difference of two geometric numbers is a discrete Laplace one.
        p = -np.expm1(-1.0 / scale)
        noisy = values + rng.geometric(p, size=values.shape) - rng.geometric(p, size=values.shape)
        drawn = "discrete Laplace from a fixed seed, for tests"
    lower, upper = bounds if bounds is not None else (None, None)
    return noisy, Spent(
        query=query,
        mechanism=drawn,
        sensitivity=int(sensitivity),
        scale=scale,
        epsilon=cost,
        lower=lower,
        upper=upper,
        fresh=insecure_seed is None,
    )


def _mechanism(sensitivity: int, epsilon: float) -> tuple[Any, float, float]:
    """The mechanism with the least noise that costs no more than epsilon, with its scale and cost."""
    # Imported here, because it takes two seconds to load and few need it.
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    scale = float(sensitivity) / epsilon
    while True:
        mechanism = dp.m.make_laplace(*space, scale=scale)
        cost = float(mechanism.map(int(sensitivity)))  # type: ignore[no-untyped-call] # rounded up by OpenDP
        if cost <= epsilon:
            return mechanism, scale, cost
        scale *= 1.0 + 2.0**-50
