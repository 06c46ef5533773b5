"""Realistic data that belongs to nobody: meters, occupancy days and streams of events.

Every generator takes a seed and gives the same bytes for the same arguments. Nothing is resampled from measured data:
published figures and aggregates set the constants, chance does the rest, so a simulated panel may be shown to anyone.
`from_release` draws from what a release publishes, and from nothing else.
"""

from shoal.simulate.events import events
from shoal.simulate.meters import meters
from shoal.simulate.occupancy import occupancy
from shoal.simulate.released import from_release

__all__ = ["events", "from_release", "meters", "occupancy"]


def __dir__() -> list[str]:
    return sorted(__all__)
