"""Small businesses: almost no load when closed, and a nearly constant one while open.

Some close at noon. Each has its own hours and its own load.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.simulate.day_grid import DayGrid, throw_noise
from shoal.simulate.dice import Dice, between
from shoal.simulate.segments import mean_power
from shoal.simulate.weather import Weather

# W while open, median: a shop or a workshop; 22 kWh on a working day.
LEVEL = 2500.0
LEVEL_SPREAD = 0.7
# What stays on when closed, in parts of the level.
IDLE = (0.01, 0.05)
OPENS = (6.5, 10.0)
CLOSES = (16.0, 20.0)
# Share of businesses that close at noon, and for how many hours.
WITH_BREAK = 0.4
BREAK = (0.75, 2.0)
# Standard deviation of the doors' clock in hours, and of a day's and an hour's level in parts of it.
PUNCTUALITY = 0.12
DAY_NOISE = 0.05
HOUR_NOISE = 0.04


def simulate_small_businesses(dice: Dice, clock: DayGrid, weather: Weather) -> Floats:
    """Mean power in W per cell (subjects, cells)."""
    traits = dice.uniform(7, 1)
    level = LEVEL * np.exp(LEVEL_SPREAD * dice.normal(1))
    jitter = PUNCTUALITY * dice.normal(4, clock.days)
    day_level = level * (1 + DAY_NOISE * dice.normal(clock.days))

    idle = level * between(IDLE, traits[:, 0])
    opens, closes = between(OPENS, traits[:, 1]), between(CLOSES, traits[:, 2])
    pause = np.where(traits[:, 3] < WITH_BREAK, between(BREAK, traits[:, 4]), 0.0)
    noon = 12.0 + traits[:, 5]
    # The afternoon is busier or quieter than the morning: a second jump.
    afternoon = day_level * (0.75 + 0.5 * traits[:, 6])

    # Jitter of the break only where there is one: otherwise the day would get a notch or a double spot.
    edges = np.stack(
        [
            opens + jitter[:, 0],
            noon + np.where(pause > 0, jitter[:, 1], 0.0),
            noon + pause + np.where(pause > 0, jitter[:, 2], 0.0),
            closes + jitter[:, 3],
        ],
        axis=1,
    )
    edges += 24.0 * np.arange(clock.days)
    heights = np.stack([day_level, afternoon], axis=1) - idle[:, None]
    heights *= clock.day_types == 0
    n = len(dice)
    power = mean_power(
        edges[:, [0, 2]].reshape(n, -1),
        edges[:, [1, 3]].reshape(n, -1),
        np.maximum(heights, 0.0).reshape(n, -1),
        clock.n_cells,
        clock.cell_hours,
    )
    power += idle
    power *= 1 + HOUR_NOISE * throw_noise(dice, clock)
    return np.maximum(power, 0.0)
