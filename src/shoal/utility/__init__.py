"""Measures of what a release is still good for. Each says which way is better and its range.

A measure that `judges` "values" compares what is published with the originals, and nothing can beat publishing the
originals. One that judges "groups" measures how well the series published alike belong together; the published values
matter only because they show the groups. One that judges "models" measures how well a model learned from the release
predicts the originals; here a release may beat them. One that judges "envelopes" is for releases of envelopes and
patterns, one that judges "scenarios" for distributions, and one that judges "events" for events.
"""

from shoal.utility.correlation_loss import CorrelationLoss
from shoal.utility.coverage_error import CoverageError
from shoal.utility.crps import CRPS
from shoal.utility.davies_bouldin import DaviesBouldin
from shoal.utility.deviation_shift import DeviationShift
from shoal.utility.divergence_classes import DivergenceClasses
from shoal.utility.euclidean_loss import EuclideanLoss
from shoal.utility.forecast_error import ForecastError
from shoal.utility.information_loss import InformationLoss
from shoal.utility.interest_loss import InterestLoss
from shoal.utility.load_duration_error import LoadDurationError
from shoal.utility.mean_day_error import MeanDayError
from shoal.utility.normalized_divergence import NormalizedDivergence
from shoal.utility.occupancy_error import OccupancyError
from shoal.utility.pattern_loss import PatternLoss
from shoal.utility.peak_height_error import PeakHeightError
from shoal.utility.peak_time_error import PeakTimeError
from shoal.utility.prediction import Prediction
from shoal.utility.query_error import QueryError
from shoal.utility.ramp_error import RampError
from shoal.utility.seasonality_shift import SeasonalityShift
from shoal.utility.signal_to_noise import SignalToNoise
from shoal.utility.silhouette import Silhouette
from shoal.utility.value_loss import ValueLoss
from shoal.utility.window_error import WindowError

# By purpose: the order in which they are listed and measured.
__all__ = [  # noqa: RUF022
    "InformationLoss",
    "NormalizedDivergence",
    "DivergenceClasses",
    "EuclideanLoss",
    "DeviationShift",
    "SignalToNoise",
    "ForecastError",
    "LoadDurationError",
    "RampError",
    "PeakHeightError",
    "PeakTimeError",
    "MeanDayError",
    "SeasonalityShift",
    "CorrelationLoss",
    "Silhouette",
    "DaviesBouldin",
    "ValueLoss",
    "PatternLoss",
    "QueryError",
    "CRPS",
    "CoverageError",
    "InterestLoss",
    "OccupancyError",
    "Prediction",
    "WindowError",
]


def __dir__() -> list[str]:
    return sorted(__all__)
