"""Whole numbers as parameters of guarantees."""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.errors import ParameterError

MOST = 2**31 - 1
"""Larger numbers than any panel has rows; kernels could not hold them all."""


def refuse_unless_whole(name: str, value: Any, least: int, why: str) -> None:
    """Refuse what is no whole number, too small, or beyond any panel."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}: {why}")
    if value > MOST:
        raise ParameterError(f"{name} must be a whole number of at most {MOST}: no panel is larger.")
