"""Whole numbers as parameters of guarantees."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import ParameterError

MOST = 2**31 - 1
"""Larger than the number of rows of any panel; kernels could not hold more."""


def refuse_unless_whole(name: str, value: Any, least: int, why: str) -> None:
    """Refuse what is not a whole number, is too small, or is beyond any panel."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}: {why}")
    if value > MOST:
        raise ParameterError(f"{name} must be a whole number of at most {MOST}: no panel is larger.")
