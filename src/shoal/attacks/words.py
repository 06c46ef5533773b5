"""Parameters that several attacks share, checked, and their results in plain words."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Interval, Risk
from shoal.model.parameters import check_whole

Scale = Literal["any", "same"]


def check_amount(name: str, value: object) -> None:
    """Refuse what is not a number of at least 0."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not 0.0 <= float(value) < np.inf:  # type: ignore[arg-type]
        raise ParameterError(f"{name} must be a number of at least 0.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a word that is not one of a few."""
    if value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(choices)}.")


def check_scale(scale: object) -> None:
    """Refuse an unknown way to compare."""
    check_choice("scale", scale, get_args(Scale))


def check_targets(n_targets: int | None, seed: int) -> None:
    """Refuse a sample of nobody."""
    if n_targets is not None:
        check_whole("n_targets", n_targets, 1)
    check_whole("seed", seed, 0)


def percent(share: float) -> str:
    """A share in words."""
    return f"{100.0 * share:.3g} %"


def against_guessing(success: float, interval: Interval, guess: float) -> str:
    """How an attack compares with guessing, to follow its figure; it is better only if its whole interval is."""
    if interval.low > guess:
        return f"by guessing {percent(guess)}"
    how = "no better" if success <= guess else "not reliably better"
    return f"{how} than guessing ({percent(guess)})"


def between(interval: Interval) -> str:
    """An interval in words."""
    if interval.low == interval.high:
        return "exactly"
    return f"{100 * interval.level:.3g} % interval {100 * interval.low:.3g} to {percent(interval.high)}"


def beside_control(risk: Risk, n_outside: int) -> str:
    """What is found about people outside, and the excess over it, to follow a figure; empty without a control."""
    if risk.excess is None or risk.control is None:
        return ""
    more, low, high = (100.0 * share for share in risk.excess)
    return (
        f"; for {n_outside} subjects outside, {percent(risk.control)}, so the table accounts for {more:.3g} "
        f"percentage points (95 % interval {low:.3g} to {high:.3g})"
    )
