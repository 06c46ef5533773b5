"""Checks of parameters that several rooms use, each with one message."""

from __future__ import annotations

from typing import Any, TypeGuard, get_args

import numpy as np

from shoal.errors import ParameterError


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; True and False do not count."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_whole(value: object, least: int) -> bool:
    """Whether it is a whole number of at least `least`; True and False do not count."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least


def check_whole(name: str, value: object, least: int, why: str = "") -> None:
    """Refuse what is not a whole number of at least `least`; `why` says what it counts."""
    if not is_whole(value, least):
        raise ParameterError(f"{name} must be a whole number of at least {least}{why and f': {why}'}.")


def check_choice(name: str, value: object, choices: Any) -> None:
    """Refuse a word that is not among the choices: a Literal, or some words."""
    words = get_args(choices) or choices
    if value not in words:
        raise ParameterError(f"{name} must be one of: {', '.join(words)}.")
