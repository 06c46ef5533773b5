"""Realistic data that belongs to nobody: meters, occupancy days and streams of events.

Every generator takes a seed and gives the same bytes for the same arguments. Nothing is resampled from measured data:
published figures and aggregates set the constants, and the rest is random, so a simulated panel may be shown to anyone.
`from_release` draws from what a release publishes, and from nothing else; `trained_households` follows loads that you
give it.
"""

from shoal.simulate.events import events
from shoal.simulate.meters import meters
from shoal.simulate.occupancy import occupancy
from shoal.simulate.released import from_release
from shoal.simulate.trained import trained_households

__all__ = ["events", "from_release", "meters", "occupancy", "trained_households"]


def __dir__() -> list[str]:
    return sorted(__all__)
