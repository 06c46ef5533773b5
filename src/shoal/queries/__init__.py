"""Queries on a panel or a release, with the same call: `query.count(data)`.

On originals, an answer is exact. On envelopes, a value is assumed to be uniform in its range, and a shape is what its
word says. To run many queries on the same data, `prepare` it once.
"""

from shoal.queries.combined import Combined
from shoal.queries.estimation import Estimation, complete, estimate
from shoal.queries.estimation_quality import EstimationQuality, judge_estimation
from shoal.queries.pattern_range import Difference, PatternRange, Ratio
from shoal.queries.pattern_similarity import PatternSimilarity
from shoal.queries.prepared import Data, Prepared, prepare
from shoal.queries.query import Query
from shoal.queries.random_queries import Kind, random_queries
from shoal.queries.random_windows import random_windows
from shoal.queries.range_count import RangeCount
from shoal.queries.tabular import count_in_table
from shoal.queries.window_count import Between, WindowCount

__all__ = [
    "Between",
    "Combined",
    "Data",
    "Difference",
    "Estimation",
    "EstimationQuality",
    "Kind",
    "PatternRange",
    "PatternSimilarity",
    "Prepared",
    "Query",
    "RangeCount",
    "Ratio",
    "WindowCount",
    "complete",
    "count_in_table",
    "estimate",
    "judge_estimation",
    "prepare",
    "random_queries",
    "random_windows",
]


def __dir__() -> list[str]:
    return sorted(__all__)
