"""From a name or a function to features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from shoal.errors import ParameterError
from shoal.features.auto_metric import AutoMetric
from shoal.features.custom import Custom
from shoal.features.deep_metric import DeepMetric
from shoal.features.haar import Haar
from shoal.features.kept import PREFIX, Kept, keep
from shoal.features.learned import Learned
from shoal.features.linear_metric import LinearMetric
from shoal.features.plain import Centred, Features, Raw
from shoal.features.standardized import Standardized
from shoal.model import Panel

FeatureName = Literal["raw", "standardized", "centred", "haar"]

METRIC_FILE = ".npz"
"""Suffix of a text that names a file with a learned metric."""

_KNOWN: dict[str, Features] = {features.name: features for features in (Raw(), Standardized(), Centred(), Haar())}


def find_features(spec: str | Callable[[Panel], Any]) -> Features:
    """The features that a name stands for, or a function of a panel with its result checked.

    Parameters
    ----------
    spec
        "raw", "standardized", "centred", "haar", what `keep` takes, such as "keep:peaks", a learned metric, the name of
        a file where one was saved, such as "metric.npz", or anything that takes a Panel and returns an array (series,
        features).

    Examples
    --------
    >>> find_features("haar").name
    'haar'
    >>> def peak(panel):
    ...     return panel.rows.max(axis=1, keepdims=True)
    >>> find_features(peak)(Panel([[1.0, 2.0], [5.0, 4.0]])).tolist()
    [[2.0], [5.0]]
    """
    known = ", ".join(_KNOWN)
    if isinstance(spec, str):
        if spec.endswith(METRIC_FILE):
            return Learned.load(spec)
        if spec.startswith(PREFIX):
            return keep(spec)
        if spec not in _KNOWN:
            raise ParameterError(
                f"Unknown features {spec!r}. Known: {known}; or give a function of a panel, or a learned metric in a "
                f"file *{METRIC_FILE}."
            )
        return _KNOWN[spec]
    if isinstance(spec, Raw | Standardized | Centred | Haar | Kept | Learned | Custom):
        return spec
    if isinstance(spec, AutoMetric | LinearMetric | DeepMetric):
        raise ParameterError(
            f"features got a {type(spec).__name__} that has learned nothing yet; give what its learn(left, right, "
            "similar) returns."
        )
    if isinstance(spec, type):
        raise ParameterError(f"features got the class {spec.__name__}; give an instance of it: {spec.__name__}().")
    if not callable(spec):
        raise ParameterError(
            f"features must be a name or a function of a panel, found {type(spec).__name__}. Known names: {known}."
        )
    return Custom(spec)


def describe_features(features: Features) -> str | dict[str, Any]:
    """What a recipe records: the name, and for a learned metric its digest and its scores on held-out pairs."""
    return features.entry if isinstance(features, Learned) else features.name
