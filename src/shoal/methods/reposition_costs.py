"""The cost of publishing an event late, and of not publishing it.

    mu(d)     cost of d snapshots late    (C1) mu(0) = 0   (C2) strictly increasing   (C3) convex
    beta_s    cost of suppressing an event with sensitive value s, above 0

Without (C3) it could pay to publish one event very late instead of two a little late, and the relays of
kernels.reposition would not be optimal.

Reference: K. Wang, Y. Xu, R. C.-W. Wong, A. W.-C. Fu, "Anonymizing temporal data", 2010, section II.C.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats

Delay = str | Callable[[int], float]

_NAMED: dict[str, Callable[[int], float]] = {"linear": lambda d: float(d), "quadratic": lambda d: float(d * d)}

# Multiples of 0.1 are convex, but not in floating point: this share of the largest cost may be missing.
_ROUNDING = 1e-12


def delay_costs(delay: Delay, window: int) -> Floats:
    """The cost of 0, 1, …, window - 1 snapshots late, by name ("linear", "quadratic") or by any function of a distance.

    Raises
    ------
    ParameterError
        The name is unknown, or the function gives something other than finite numbers, or it fails (C1), (C2) or (C3)
        within the window; the message says which and at which distance. What it does beyond the window does not matter.

    Examples
    --------
    >>> delay_costs("quadratic", 4).tolist()
    [0.0, 1.0, 4.0, 9.0]
    >>> delay_costs(lambda d: 2.5 * d, 3).tolist()
    [0.0, 2.5, 5.0]
    """
    function = _NAMED.get(delay) if isinstance(delay, str) else delay
    if not callable(function):
        raise ParameterError(f"The cost of delay must be one of: {', '.join(_NAMED)}; or a function of a distance.")
    cost = np.array([_number(function, d) for d in range(window)])
    if cost[0] != 0.0:
        raise ParameterError("(C1) fails: the cost of delay must be 0 at distance 0, where nothing was moved.")
    steps = np.diff(cost)
    if (falling := steps <= 0.0).any():
        d = int(falling.argmax()) + 1
        raise ParameterError(
            f"(C2) fails: the cost of delay must rise with the distance, but at distance {d} it is not above that at "
            f"distance {d - 1}."
        )
    if (bent := np.diff(steps) < -_ROUNDING * cost[-1]).any():
        d = int(bent.argmax()) + 2
        raise ParameterError(
            f"(C3) fails: the cost of delay must be convex, but the step to distance {d} is smaller than the one "
            f'before. Use "linear", "quadratic" or a function whose steps never shrink.'
        )
    return cost


def _number(function: Callable[[int], float], d: int) -> float:
    try:
        given = function(d)
    except Exception as error:  # user code: whatever it raises, one line says where
        raise ParameterError(
            f"The cost of delay raised {type(error).__name__} at distance {d}. Give a function of a whole number."
        ) from None
    if not _finite(given):
        raise ParameterError(f"The cost of delay must be a finite number, but at distance {d} it is not.")
    return float(given)


def _finite(given: Any) -> bool:
    """Whether it is a number that a float holds; True and False are none."""
    if isinstance(given, bool | np.bool_) or not isinstance(given, Real):
        return False
    try:
        return bool(np.isfinite(float(given)))
    except OverflowError:
        return False


def default_suppression(cost: Floats) -> float:
    """The default cost of suppression: mu(w - 1) plus its last step, a delay just beyond the window.

    A relay never costs more than mu(w - 1): each event that takes over is less late than the one before and moves on
    for less (C3). So with the default, every relay pays off, whatever can be published is published, and short delays
    are preferred. In a window of one snapshot, nothing moves, and any cost will do: it is 1.
    """
    return float(cost[-1] + (cost[-1] - cost[-2])) if len(cost) > 1 else 1.0


@dataclass(frozen=True)
class SuppressionCosts:
    """The cost of suppressing an event, by sensitive value.

    Build it with `suppression_costs`, which checks what it is given.
    """

    otherwise: float
    by_value: Mapping[Any, float]

    def of(self, values: Sequence[Any]) -> Floats:
        """The cost for each of these sensitive values."""
        return np.array([self.by_value.get(value, self.otherwise) for value in values], dtype=np.float64)


def suppression_costs(given: float | Mapping[Any, float] | None, cost: Floats) -> SuppressionCosts:
    """The requested costs of suppression: one number, or a mapping from sensitive values to numbers.

    Values that a mapping does not name cost default_suppression(cost). Only the size relative to the cost of delay
    matters. A cost below mu(1) means that an event of that value is never moved for its own sake, only if that lets
    others be published.

    Examples
    --------
    >>> linear = delay_costs("linear", 12)
    >>> suppression_costs(None, linear).of(["flu", "gout"]).tolist()
    [12.0, 12.0]
    >>> suppression_costs({"gout": 30.0}, linear).of(["flu", "gout"]).tolist()
    [12.0, 30.0]
    """
    otherwise = default_suppression(cost)
    if given is None:
        return SuppressionCosts(otherwise, {})
    if isinstance(given, Mapping):
        for position, number in enumerate(given.values()):
            if not _positive(number):
                raise ParameterError(
                    f"The cost of suppression must be a finite number above 0 for every value; the one at position "
                    f"{position} of {len(given)} is not."
                )
        return SuppressionCosts(otherwise, {value: float(number) for value, number in given.items()})
    if not _positive(given):
        raise ParameterError(
            "The cost of suppression must be a finite number above 0, or a mapping from sensitive values to such "
            "numbers."
        )
    return SuppressionCosts(float(given), {})


def _positive(given: Any) -> bool:
    return _finite(given) and float(given) > 0.0
