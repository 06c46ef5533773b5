"""At the meter: what leaves a device is already safe, by its own noise or within a sum; and the collector's side."""

from shoal.edge.aggregation import Member, SumRules
from shoal.edge.budget import Budget
from shoal.edge.collector import Collector
from shoal.edge.device import Device
from shoal.edge.fleet import Fleet, Plan
from shoal.edge.meter import Meter
from shoal.edge.response import Grid, RandomizedResponse
from shoal.edge.schemes import SCHEMES

__all__ = [
    "SCHEMES",
    "Budget",
    "Collector",
    "Device",
    "Fleet",
    "Grid",
    "Member",
    "Meter",
    "Plan",
    "RandomizedResponse",
    "SumRules",
]


def __dir__() -> list[str]:
    return sorted(__all__)
