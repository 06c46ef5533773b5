"""The days, hours and seasons a panel is simulated for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Ints
from shoal.simulate.arguments import MINUTES_PER_DAY
from shoal.simulate.dice import Dice

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class DayGrid:
    """Whole days from a midnight on, read every `step` minutes.

    Subjects are simulated on a grid of cells that divides both the step and the hour, and summed to the step
    afterwards. What they draw per hour or per day is therefore the same for every step.
    """

    start: np.datetime64
    days: int
    step: int

    @property
    def cell_minutes(self) -> int:
        """Length of a cell of the grid."""
        return math.gcd(self.step, 60)

    @property
    def cell_hours(self) -> float:
        """The same in hours."""
        return self.cell_minutes / 60

    @property
    def cells_per_hour(self) -> int:
        """Cells in an hour."""
        return 60 // self.cell_minutes

    @property
    def cells_per_day(self) -> int:
        """Cells in a day."""
        return MINUTES_PER_DAY // self.cell_minutes

    @property
    def n_cells(self) -> int:
        """Cells in all."""
        return self.days * self.cells_per_day

    @property
    def steps_per_day(self) -> int:
        """Readings in a day."""
        return MINUTES_PER_DAY // self.step

    @property
    def n_instants(self) -> int:
        """Readings in all."""
        return self.days * self.steps_per_day

    @cached_property
    def times(self) -> NDArray[np.datetime64]:
        """The beginning of each step."""
        offsets = np.arange(self.n_instants) * np.timedelta64(self.step * 60_000_000, "us")
        return np.asarray(self.start.astype("datetime64[us]") + offsets)

    @cached_property
    def weekdays(self) -> Ints:
        """0 = Monday … 6 = Sunday, one per day. The epoch was a Thursday."""
        return (self.start.astype(np.int64) + np.arange(self.days) + 3) % 7

    @cached_property
    def day_types(self) -> Ints:
        """0 = working day, 1 = Saturday, 2 = Sunday, one per day."""
        return np.maximum(self.weekdays - 4, 0)

    @cached_property
    def winter(self) -> Floats:
        """From -1 in mid-July to 1 in mid-January, one per day."""
        dates = self.start + np.arange(self.days)
        day_of_year = (dates - dates.astype("datetime64[Y]").astype("datetime64[D]")).astype(np.int64)
        return np.asarray(np.cos(2 * np.pi * (day_of_year - 15) / 365.25))

    @cached_property
    def hours_of_day(self) -> Floats:
        """The middle of each cell of one day."""
        return np.asarray((np.arange(self.cells_per_day) + 0.5) * self.cell_hours, dtype=np.float64)


def throw_noise(dice: Dice, clock: DayGrid) -> Floats:
    """Standard normal noise per hour, with more of it inside the hour where cells are finer (subjects, cells).

    The inner noise has mean 0 in each hour, so the hour is the same for any cell. Draw it last: how many numbers
    it takes depends on the cell.
    """
    noise = dice.normal(24 * clock.days, 1)
    if clock.cells_per_hour > 1:
        inner = dice.normal(24 * clock.days, clock.cells_per_hour)
        noise = noise + inner - inner.mean(axis=2, keepdims=True)
    return noise.reshape(len(dice), -1)
