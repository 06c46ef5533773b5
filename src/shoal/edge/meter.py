"""A meter that sends nothing but randomised answers, within its budget."""

from __future__ import annotations

import math
from pathlib import Path

from shoal.edge.budget import Budget
from shoal.edge.chance import Chance
from shoal.edge.response import Grid, RandomizedResponse, units


class Meter:
    """The device's side of local differential privacy.

    It answers questions about the reading that was measured last, and about no other. An answer is drawn after its cost
    is on disk. A question that would overspend, concerns another instant, or finds no reading gets no answer. Whether a
    meter answers does not depend on its readings, except that a missing reading cannot be answered.

    Parameters
    ----------
    grid
        The grid of answers.
    budget
        What may be spent.
    chance
        The source of randomness.

    Examples
    --------
    >>> meter = Meter(Grid(0.0, 8.0), Budget(units(1.0), w=48))
    >>> meter.measure(0, 1.25)
    >>> meter.answer(0, units(1.0)) in (0, 1), meter.answer(0, units(1.0))
    (True, None)
    """

    def __init__(self, grid: Grid, budget: Budget, chance: Chance | None = None) -> None:
        self.grid, self.budget, self.chance = grid, budget, chance or Chance()
        self._reading: tuple[int, float] | None = None

    @classmethod
    def open(cls, folder: Path, grid: Grid, epsilon: float, w: int) -> Meter:
        """The meter whose budget is stored in a folder."""
        return cls(grid, Budget(units(epsilon), w, folder))

    def measure(self, instant: int, reading: float) -> None:
        """Take the next reading, at an instant by the device's clock; the one before is forgotten."""
        self.budget.tick()
        self._reading = (instant, reading) if math.isfinite(reading) else None

    def answer(self, instant: int, cost: int) -> int | None:
        """A point of the grid for this many units, or nothing."""
        if self._reading is None or self._reading[0] != instant or not self.budget.spend(label=instant, cost=cost):
            return None
        point = self.grid.place(self._reading[1], self.chance)
        return RandomizedResponse.costing(cost, self.grid.points).respond(point, self.chance)

    def close(self) -> None:
        """Close the budget's files."""
        self.budget.close()
