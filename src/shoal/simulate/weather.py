"""The outdoor temperature all households of a panel share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Floats
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Stream, generator

# °C, temperate Europe: 2 in January, 20 in July; the day swings less in winter than in summer.
YEARLY_MEAN = 11.0
YEARLY_SWING = 9.0
DAILY_SWING = 4.0
# Daily departures from the season: 4 °C and a correlation of 0.7 from day to day, as at the GEFCom 2012 stations.
DEPARTURE = 4.0
PERSISTENCE = 0.7
# Walls store about a day of heat.
INERTIA_HOURS = 24.0
_WARM_UP_DAYS = 14


@dataclass(frozen=True)
class Weather:
    """Temperature in °C in each cell of the grid, as it is outside and as thick walls feel it."""

    outside: Floats
    inert: Floats


def simulate_weather(clock: DayGrid, seed: int) -> Weather:
    """Season, time of day and an autoregressive departure per day.

    Drawn day by day, so the first days stay the same if more are simulated, and hourly at any step.
    """
    n_days = _WARM_UP_DAYS + clock.days + 1
    longer = DayGrid(clock.start - _WARM_UP_DAYS, n_days, 60)
    shocks = generator(seed, Stream.WEATHER).standard_normal(n_days) * np.sqrt(1 - PERSISTENCE**2)
    memory = PERSISTENCE ** np.arange(30)
    departures = DEPARTURE * np.convolve(shocks, memory)[:n_days]

    noons = 24.0 * np.arange(n_days) + 12.0
    hours = np.arange(24 * n_days) + 0.5
    season = YEARLY_MEAN - YEARLY_SWING * longer.winter
    # Warmest at four in the afternoon, coldest before dawn.
    swing = DAILY_SWING * (1 - 0.25 * longer.winter)
    day = swing[:, None] * np.cos(2 * np.pi * (longer.hours_of_day - 16.0) / 24)
    outside = np.interp(hours, noons, season + departures) + day.ravel()

    fading = np.exp(-np.arange(5 * INERTIA_HOURS) / INERTIA_HOURS)
    inert = np.convolve(outside, fading / fading.sum())[: len(outside)]

    cells = 24.0 * _WARM_UP_DAYS + (np.arange(clock.n_cells) + 0.5) * clock.cell_hours
    return Weather(np.interp(cells, hours, outside), np.interp(cells, hours, inert))
