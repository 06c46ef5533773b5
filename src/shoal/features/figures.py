"""What the figures of a learned metric may contain: counts, scores and settings, and no free text.

They appear in certificates and reports, so a metric file must not be a way to smuggle anything else in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

LARGEST_COUNT = 2**63
LARGEST_SEED = 2**128


def is_count(value: object, below: int = LARGEST_COUNT) -> bool:
    """A whole number of at least 0; True and False do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below


def _is_score(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value <= 1.0


def _is_number(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value >= 0.0


def _are_widths(value: object) -> bool:
    return isinstance(value, list) and all(is_count(width) for width in value)


KNOWN: dict[str, Callable[[Any], bool]] = {
    "used": lambda value: isinstance(value, bool),
    "n_curves": is_count,
    "n_pairs": is_count,
    "n_similar": is_count,
    "n_held_out": is_count,
    "held_out_learned": _is_score,
    "held_out_euclidean": _is_score,
    "held_out_error": _is_number,
    "seed": lambda value: is_count(value, LARGEST_SEED),
    "form": lambda value: isinstance(value, str) and value in ("diagonal", "full"),
    "objective": lambda value: isinstance(value, str) and value in ("logistic", "contrastive", "xing"),
    "penalty": _is_number,
    "euclidean_share": _is_score,
    "n_tried": is_count,
    "hidden": _are_widths,
    "margin": _is_number,
    "passes": is_count,
}


def are_figures(figures: object) -> bool:
    """Whether these are figures that learning writes, each of the right type."""
    return isinstance(figures, Mapping) and all(name in KNOWN and KNOWN[name](figures[name]) for name in figures)
