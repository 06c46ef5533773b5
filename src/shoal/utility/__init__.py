"""Measures of what a release is still good for. Each says which way is better and its range.

A measure that `judges` "values" compares each published value with its original, and nothing can beat publishing the
originals. One that judges "groups" asks how well the series published alike belong together; the published values
matter only in that they show the groups. One that judges "envelopes" is for releases of envelopes and patterns, and one
that judges "events" for events.
"""

from shoal.utility.davies_bouldin import DaviesBouldin
from shoal.utility.deviation_shift import DeviationShift
from shoal.utility.divergence_classes import DivergenceClasses
from shoal.utility.euclidean_loss import EuclideanLoss
from shoal.utility.information_loss import InformationLoss
from shoal.utility.normalized_divergence import NormalizedDivergence
from shoal.utility.pattern_loss import PatternLoss
from shoal.utility.query_error import QueryError
from shoal.utility.silhouette import Silhouette
from shoal.utility.value_loss import ValueLoss
from shoal.utility.window_error import WindowError

__all__ = [
    "DaviesBouldin",
    "DeviationShift",
    "DivergenceClasses",
    "EuclideanLoss",
    "InformationLoss",
    "NormalizedDivergence",
    "PatternLoss",
    "QueryError",
    "Silhouette",
    "ValueLoss",
    "WindowError",
]
