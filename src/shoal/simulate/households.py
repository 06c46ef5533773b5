"""Households: calendar, temperature and appliances.

    power(t) = standby + activity(type of day, hour, season) · noise + heating + cooling + bursts
    heating  = slope · max(0, threshold − felt temperature(t)),  cooling the same above a threshold

An additive model as in the paper, written down instead of trained: its clock is moved by up to two hours and its
temperature by up to three degrees per household, levels differ, and appliances add the peaks the paper's own curves
lack. Constants were set against aggregates of 91 Australian households (half-hourly) and of the 20 GEFCom 2012 zones;
the figures are next to the constants.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels.arrays import Bools, Floats
from shoal.simulate.appliances import simulate_bursts
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Dice, between
from shoal.simulate.weather import Weather

# Log-scale spread of household size: the 5th and the 95th percentile of mean consumption differ by a
# factor of 7 in winter and 4.5 in spring; in the Australian sample by 11, empty houses included.
SIZE_SPREAD = 0.65
# W, median: refrigerator, router, standby.
STANDBY = 50.0
# W, mean over a working day of what people use without a burst of its own: light, screens, small things.
ACTIVITY = 105.0
# Bumps of activity at breakfast, noon and evening: hour and width in hours, on working days, Saturdays and Sundays.
BUMPS = (
    ((7.3, 1.1), (12.6, 2.0), (19.4, 2.3)),
    ((9.0, 1.8), (13.0, 2.4), (19.4, 2.5)),
    ((9.6, 1.9), (13.0, 2.4), (19.2, 2.5)),
)
# Activity of a day by its type: weekends 8 % above working days in the Australian sample, bursts included.
DAY_LEVEL = np.array([1.0, 1.08, 1.12])
# W/K below about 16 °C. All households have the first (pumps, longer hours in), some electric heating. On average
# 9 W/K or 2.5 % of a mean day per degree; the GEFCom zones show 2.8 %, with their lowest load near 17 °C as here.
HEATING = (1.0, 6.0)
ELECTRIC_HEATING = (20.0, 60.0)
WITH_ELECTRIC_HEATING = 0.12
HEATS_BELOW = 15.5
# W/K above about 22 °C with air conditioning, rarer in European homes than in the GEFCom zones (5 % per degree).
COOLING = (15.0, 55.0)
WITH_COOLING = 0.3
COOLS_ABOVE = 22.0
# Log-scale noise of a day, of an hour, and of a cell inside its hour.
DAY_NOISE = 0.3
HOUR_NOISE = (0.3, 0.7)
CELL_NOISE = 0.25
# Trips: chance per day that one begins, and its longest length in days.
TRIP_CHANCE = 0.02
LONGEST_TRIP = 7


def simulate_households(dice: Dice, clock: DayGrid, weather: Weather) -> Floats:
    """Mean power in W per cell (subjects, cells)."""
    traits = dice.uniform(12, 1)
    normal = dice.normal(7, 1)
    size = np.exp(SIZE_SPREAD * normal[:, 0])
    shift = np.clip(normal[:, 1], -2.0, 2.0)
    at_home = _at_home(dice, clock)

    levels = _daily_profile(traits[:, :4], shift, clock)[:, clock.day_types]
    days = np.exp(DAY_NOISE * dice.normal(clock.days) - DAY_NOISE**2 / 2)
    # Lamps: a sixth more in mid-winter, a sixth less in mid-summer.
    days *= ACTIVITY * size * np.exp(0.2 * normal[:, 2]) * (1 + 0.16 * clock.winter)
    days *= np.where(at_home, 1.0, 0.1)
    power = (levels * days[:, :, None]).reshape(len(dice), -1)

    sigma = between(HOUR_NOISE, traits[:, 4])
    hours = np.exp(sigma * dice.normal(24 * clock.days) - sigma**2 / 2)
    noise = np.repeat(hours, clock.cells_per_hour, axis=1)
    power *= noise
    presence = np.repeat(np.where(at_home, 1.0, 0.5), clock.cells_per_day, axis=1)
    # A thermostat cycles, but less than people do.
    power += _thermal(traits[:, 5:10], normal[:, 3:6], size, clock, weather) * presence * (0.6 + 0.4 * noise)

    power += STANDBY * np.sqrt(size) * np.exp(0.35 * normal[:, 6])
    # Long evenings at home run more appliances, but a family of four does not own four ovens.
    bursts = simulate_bursts(dice, clock, shift, size**0.7, at_home)
    if clock.cells_per_hour > 1:
        # Drawn last, so that the hours are the same at every step; mean 1 inside each hour for the same reason.
        cells = np.exp(CELL_NOISE * dice.normal(24 * clock.days, clock.cells_per_hour))
        power *= (cells / cells.mean(axis=2, keepdims=True)).reshape(power.shape)
    power += bursts
    return power


def _daily_profile(traits: Floats, shift: Floats, clock: DayGrid) -> Floats:
    """Activity per type of day and cell of the day (subjects, 3, cells), mean 1 on a working day."""
    # Some leave early and come home late, some are in at noon.
    weights = np.stack([0.6 + 1.6 * traits[:, 0], 0.2 + 1.3 * traits[:, 1], 0.9 + 1.2 * traits[:, 2]], axis=1)
    night = 0.25 + 0.35 * traits[:, 3]
    profile = np.empty((len(traits), 3, clock.cells_per_day))
    for day_type, bumps in enumerate(BUMPS):
        shape = np.repeat(night, clock.cells_per_day, axis=1)
        for bump, (hour, width) in enumerate(bumps):
            away = (clock.hours_of_day - hour - shift + 12.0) % 24.0 - 12.0
            # At weekends, more people are in at noon.
            at_noon = 1.5 if bump == 1 and day_type > 0 else 1.0
            shape += at_noon * weights[:, bump] * np.exp(-0.5 * (away / width) ** 2)
        profile[:, day_type] = DAY_LEVEL[day_type] * shape / shape.mean(axis=1, keepdims=True)
    return profile


def _thermal(traits: Floats, normal: Floats, size: Floats, clock: DayGrid, weather: Weather) -> Floats:
    """Heating and cooling in W per cell (subjects, cells)."""
    warmer = np.clip(normal[:, 0], -3.0, 3.0)
    raw = traits[:, 0]
    felt = raw * weather.outside + (1 - raw) * weather.inert + warmer
    heating = between(HEATING, traits[:, 1]) * size
    electric = traits[:, 2] < WITH_ELECTRIC_HEATING
    # The same draw, rescaled to [0, 1) among those who have it.
    heating += np.where(electric, between(ELECTRIC_HEATING, traits[:, 2] / WITH_ELECTRIC_HEATING), 0.0)
    cooled = traits[:, 3] < WITH_COOLING
    cooling = np.where(cooled, between(COOLING, traits[:, 3] / WITH_COOLING), 0.0)
    power = heating * np.maximum(HEATS_BELOW + normal[:, 1] - felt, 0.0)
    # Set back at night, strongest at seven in the evening.
    power *= np.tile(1 + (0.1 + 0.2 * traits[:, 4]) * np.cos(2 * np.pi * (clock.hours_of_day - 19.0) / 24), clock.days)
    power += cooling * np.maximum(weather.outside + warmer - COOLS_ABOVE - normal[:, 2], 0.0)
    return power


def _at_home(dice: Dice, clock: DayGrid) -> Bools:
    """Whether anyone is in (subjects, days)."""
    throws = dice.uniform(2, clock.days)
    lengths = np.where(throws[:, 0] < TRIP_CHANCE, np.ceil(LONGEST_TRIP * throws[:, 1] ** 2), 0.0)
    away = lengths > 0
    for later in range(1, min(LONGEST_TRIP, clock.days)):
        away[:, later:] |= lengths[:, :-later] > later
    return ~away
