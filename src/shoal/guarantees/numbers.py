"""Whole numbers as parameters of guarantees."""

from __future__ import annotations

from typing import Any

from shoal.errors import ParameterError
from shoal.model.parameters import check_whole

MOST = 2**31 - 1
"""Larger than the number of rows of any panel; kernels could not hold more."""


def refuse_unless_whole(name: str, value: Any, least: int, why: str) -> None:
    """Refuse what is not a whole number, is too small, or is beyond any panel."""
    check_whole(name, value, least, why.removesuffix("."))
    if value > MOST:
        raise ParameterError(f"{name} must be a whole number of at most {MOST}: no panel is larger.")
