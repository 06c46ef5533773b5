"""The metric that does best on held-out labels, linear or deep."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from shoal.features.deep_metric import DeepMetric
from shoal.features.labelled import refuse_seed
from shoal.features.learned import Learned
from shoal.features.linear_metric import LinearMetric

DEEP_FROM = 1_000
"""The number of labelled pairs from which a network is also tried: with fewer, it loses more than a linear metric."""


@dataclass(frozen=True, kw_only=True)
class AutoMetric:
    """Learn a metric from pairs labelled similar or dissimilar, of the kind that does best on held-out pairs.

    `LinearMetric` with inputs, form, penalty and share of Euclidean distance chosen on the held-out pairs; from 1,000
    pairs, and if the extra `deep` is installed, also `DeepMetric`, which is used if it scores better on them. Only the
    labels decide. The result says what was chosen (`Learned.choice`).

    Parameters
    ----------
    seed
        Decides which series are held out, and seeds the network. The same pairs and seed give the same bytes on the
        same machine with the same extras.

    Examples
    --------
    >>> days = (np.random.default_rng(0).random((60, 24)) < 0.2).astype(float)
    >>> from shoal.features import interests
    >>> learned = AutoMetric().learn(*interests.label_pairs(days, interests.Departure(), n_pairs=300))
    >>> learned.choice
    'it is a linear metric, diagonal, given the values and what time adds to them'
    """

    seed: int = 0

    def __post_init__(self) -> None:
        refuse_seed(self.seed)

    def learn(self, left: Any, right: Any, similar: Any) -> Learned:
        """Learn from two arrays of series and a boolean for each pair of rows."""
        linear = LinearMetric(seed=self.seed).learn(left, right, similar)
        if linear.figures["n_pairs"] < DEEP_FROM or find_spec("torch") is None:
            return linear
        deep = DeepMetric(seed=self.seed).learn(left, right, similar)
        scores = [learned.figures["held_out_learned"] for learned in (linear, deep)]
        return (linear, deep)[int(np.argmax(scores))]
