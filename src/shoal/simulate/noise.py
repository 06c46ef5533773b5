"""Noise that adds up to the same at every step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoal.simulate.day_grid import DayGrid
from shoal.simulate.dice import Dice


def throw_noise(dice: Dice, clock: DayGrid) -> NDArray[np.float64]:
    """Standard normal noise per hour, with more of it inside the hour where cells are finer (subjects, cells).

    The inner noise has mean 0 in each hour, so the hour is the same whatever the cell. Throw it last: how many numbers
    it takes depends on the cell.
    """
    noise = dice.normal(24 * clock.days, 1)
    if clock.cells_per_hour > 1:
        inner = dice.normal(24 * clock.days, clock.cells_per_hour)
        noise = noise + inner - inner.mean(axis=2, keepdims=True)
    return noise.reshape(len(dice), -1)
