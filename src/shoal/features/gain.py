"""Whether a learned metric is better than none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.features.figures import LARGEST_SEED
from shoal.features.labelled import FEWEST_CURVES, HeldOut, Pairs, expected_gain, score


def conclude(pairs: Pairs, folds: Sequence[HeldOut]) -> dict[str, Any]:
    """The figures of a learned metric, from its distances on held-out pairs; it is used if its expected gain is
    positive.

    No margin is required: choosing between two metrics is a decision under uncertainty, and the one that scores better
    on held-out pairs is used, however uncertain. A margin of two standard errors does no better on public days, and
    forgoes the gain from label tasks with ten curves or more. With fewer curves, the score says little about the loss,
    which was 13 % larger with metrics chosen this way: none is used (docs/results/pad.md).
    """
    gain, error = expected_gain(pairs, folds)
    return {
        "used": bool(gain > 0.0 and len(pairs.series) >= FEWEST_CURVES),
        "n_curves": len(pairs.series),
        "n_pairs": pairs.n_pairs,
        "n_similar": int(pairs.similar.sum()),
        "n_held_out": len({pair for fold in folds for pair in zip(fold.held.left, fold.held.right, strict=True)}),
        "held_out_learned": round(float(np.mean([score(fold.learned, fold.held.similar) for fold in folds])), 6),
        "held_out_euclidean": round(float(np.mean([score(fold.euclidean, fold.held.similar) for fold in folds])), 6),
        "held_out_error": round(error, 6),
    }


def refuse_seed(seed: int) -> None:
    """Refuse seeds that are not whole numbers in the range the figures can hold."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < LARGEST_SEED:
        raise ParameterError("seed must be a whole number of at least 0 and below 2**128.")
