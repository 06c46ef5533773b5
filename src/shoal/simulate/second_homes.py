"""Second homes: almost constant, with noise.

    power(t) = level · (1 + noise · z(t))

A refrigerator and a few appliances on standby, nobody in.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.simulate.day_grid import DayGrid, throw_noise
from shoal.simulate.dice import Dice, between
from shoal.simulate.weather import Weather

# W, median; half of the homes lie between 55 and 115.
LEVEL = 80.0
LEVEL_SPREAD = 0.55
# Standard deviation of an hour in parts of the level.
NOISE = (0.03, 0.08)


def simulate_second_homes(dice: Dice, clock: DayGrid, weather: Weather) -> Floats:
    """Mean power in W per cell (subjects, cells)."""
    level = LEVEL * np.exp(LEVEL_SPREAD * dice.normal(1))
    noise = between(NOISE, dice.uniform(1))
    return np.maximum(level * (1 + noise * throw_noise(dice, clock)), 0.0)
