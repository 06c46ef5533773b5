"""Ways to anonymize. Each is a frozen dataclass with the property `aims_at` and one verb, anonymize() -> Candidate.

To add one, write a file here and export it below. The contract tests, `shoal methods` and the options of `shoal
anonymize` pick it up. Its attributes (`keeps_equal`, `each_alone`, `keeps_apart`, `takes_fictives`, `publishes_groups`,
`why_alone`) say what it does as one of several `Steps`, and it has `unfold` if what it publishes has other rows or
instants. `Steps` itself aims at what its steps leave.
"""

from typing import Any

from shoal.methods.kp import KP
from shoal.methods.microaggregation import Microaggregation
from shoal.methods.nlk import NLK
from shoal.methods.noise_addition import NoiseAddition
from shoal.methods.noisy_aggregates import NoisyAggregates
from shoal.methods.permutation import Permutation
from shoal.methods.reposition import Reposition
from shoal.methods.sampling_with_fictives import SamplingWithFictives
from shoal.methods.scope_aggregation import ScopeAggregation
from shoal.methods.steps import Steps
from shoal.methods.time_aggregation import TimeAggregation
from shoal.methods.time_slicing import TimeSlicing
from shoal.methods.transformation import Transformation
from shoal.model import Panel
from shoal.model.method import read_with

__all__ = [
    "KP",
    "NLK",
    "Microaggregation",
    "NoiseAddition",
    "NoisyAggregates",
    "Permutation",
    "Reposition",
    "SamplingWithFictives",
    "ScopeAggregation",
    "Steps",
    "TimeAggregation",
    "TimeSlicing",
    "Transformation",
]


def _read(data: Any) -> Panel:
    from shoal.read import read_panel  # late: most methods get a panel

    return read_panel(data)


read_with(_read)


def __dir__() -> list[str]:
    return sorted(__all__)
