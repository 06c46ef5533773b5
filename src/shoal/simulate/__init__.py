"""Realistic data that belongs to nobody: meters, occupancy days and streams of events.

Every generator takes a seed and gives the same bytes for the same arguments. Nothing is resampled from measured data:
published figures and aggregates set the constants, chance does the rest, so a simulated panel may be shown to anyone.
"""

from shoal.simulate.events import events
from shoal.simulate.meters import meters
from shoal.simulate.occupancy import occupancy

__all__ = ["events", "meters", "occupancy"]


def __dir__() -> list[str]:
    return sorted(__all__)
