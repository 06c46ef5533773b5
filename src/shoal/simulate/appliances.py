"""Appliances of households: bursts of power at habitual hours, so that a load is not a smooth curve.

On each day, an appliance runs with its probability, around the household's own hour, with the household's own power.
Energies are those of common European appliances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Bools, Floats
from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Dice
from shoal.simulate.segments import mean_power


@dataclass(frozen=True)
class Appliance:
    """One kind of burst.

    Power in W and duration in hours are drawn between two limits; the hour and the probability of a day are given for
    working days and for weekends; `spread` is the standard deviation of the hour from day to day.
    """

    name: str
    watts: tuple[float, float]
    hours: tuple[float, float]
    at: tuple[float, float]
    spread: float
    chance: tuple[float, float]
    owned: float = 1.0
    timer: bool = False
    """Whether a clock and not a person switches it on."""


APPLIANCES = (
    Appliance("kettle, breakfast", (1800, 2400), (0.05, 0.12), (7.1, 9.0), 0.4, (0.85, 0.85)),
    Appliance("toaster, hair dryer", (1000, 2000), (0.1, 0.35), (7.5, 9.4), 0.4, (0.75, 0.7)),
    Appliance("kettle, noon", (1800, 2400), (0.05, 0.12), (13.0, 13.2), 1.2, (0.45, 0.6)),
    Appliance("kettle, afternoon", (1800, 2400), (0.05, 0.12), (16.5, 16.0), 1.2, (0.5, 0.6)),
    Appliance("kettle, evening", (1800, 2400), (0.05, 0.12), (20.7, 20.7), 1.0, (0.4, 0.4)),
    Appliance("hob, lunch", (1000, 2000), (0.2, 0.6), (12.2, 12.5), 0.5, (0.3, 0.55)),
    Appliance("oven, dinner", (1200, 2600), (0.3, 1.0), (18.4, 18.4), 0.9, (0.6, 0.65)),
    Appliance("washing machine", (1800, 2200), (0.3, 0.6), (10.5, 10.5), 2.5, (0.3, 0.5), 0.95),
    Appliance("dishwasher", (1800, 2200), (0.4, 0.7), (20.3, 14.5), 1.5, (0.4, 0.5), 0.6),
    Appliance("tumble dryer", (1500, 2500), (0.8, 1.4), (12.5, 13.0), 3.0, (0.15, 0.3), 0.4),
    Appliance("iron or heater", (800, 1600), (0.3, 1.5), (13.0, 13.0), 3.5, (0.25, 0.35)),
    Appliance("television", (80, 220), (2.0, 4.5), (19.6, 19.3), 0.9, (0.9, 0.95)),
    Appliance("computer", (60, 220), (1.0, 5.0), (15.5, 14.0), 3.0, (0.5, 0.65), 0.85),
    # Off-peak tariff: the same minute every night, a different one for each household.
    Appliance("water heater", (1200, 2400), (0.8, 2.2), (25.0, 25.0), 0.05, (0.95, 0.95), 0.16, timer=True),
)
# Standard deviation, in hours, of a household's habit around the common hour, and of what a timer is set to.
HABIT = 0.7
TIMER_SETTING = 1.6


def simulate_bursts(dice: Dice, clock: DayGrid, shift: Floats, use: Floats, at_home: Bools) -> Floats:
    """Mean power in W per cell (subjects, cells).

    `shift` moves the household's clock (hours), `use` multiplies how often things run, both (subjects, 1); nothing
    runs on the days (subjects, days) nobody is at home.
    """
    kinds, n = len(APPLIANCES), len(dice)
    owner = dice.uniform(3, kinds)
    habit = dice.normal(kinds)
    luck = dice.uniform(2, clock.days, kinds)
    wander = dice.normal(clock.days, kinds)

    timer = np.array([kind.timer for kind in APPLIANCES])
    watts = np.array([kind.watts for kind in APPLIANCES])
    hours = np.array([kind.hours for kind in APPLIANCES])
    weekend = (clock.day_types > 0).astype(np.int64)
    at = np.array([kind.at for kind in APPLIANCES]).T[weekend]
    chance = np.array([kind.chance for kind in APPLIANCES]).T[weekend]
    spread = np.array([kind.spread for kind in APPLIANCES])

    owned = owner[:, 0] < np.array([kind.owned for kind in APPLIANCES])
    power = owned * (watts[:, 0] + (watts[:, 1] - watts[:, 0]) * owner[:, 1])
    # Some bake every day, some never: each household has its own factor, from nearly 0 to twice the usual.
    liking = use * (0.1 + 1.8 * owner[:, 2])
    often = np.where(timer, chance, np.minimum(chance * liking[:, None], 0.97))
    runs = (luck[:, 0] < often) & at_home[:, :, None]
    own_hour = np.where(timer, TIMER_SETTING * habit, HABIT * habit + shift)
    begin = 24.0 * np.arange(clock.days)[:, None] + at + own_hour[:, None] + spread * wander
    end = begin + hours[:, 0] + (hours[:, 1] - hours[:, 0]) * luck[:, 1]
    return mean_power(
        begin.reshape(n, -1),
        end.reshape(n, -1),
        np.where(runs, power[:, None], 0.0).reshape(n, -1),
        clock.n_cells,
        clock.cell_hours,
    )
