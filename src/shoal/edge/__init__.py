"""At the meter: what leaves a device is already safe, by its own noise or inside a sum; and the collector's side."""

from shoal.edge.budget import Budget
from shoal.edge.meter import Meter
from shoal.edge.response import Grid, RandomizedResponse
from shoal.edge.schemes import SCHEMES

__all__ = ["SCHEMES", "Budget", "Grid", "Meter", "RandomizedResponse"]


def __dir__() -> list[str]:
    return sorted(__all__)
