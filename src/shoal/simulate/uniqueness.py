"""No two households have the same weekly signature.

    signature(i) = daily totals of the first week in Wh, rounded to the thousand
    signature(i) ≠ signature(j) for i ≠ j

Households come in order of their number; one whose signature an earlier one has is drawn again, on its own, until it
differs from all before it. So a household never depends on those after it. A panel shorter than a week has no weekly
signature and is left as drawn: a single day has only about thirty different totals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints

ROUNDED_TO = 1000.0
WEEK = 7
MAX_REDRAWS = 100


class TakenSignatures:
    """The signatures taken so far."""

    def __init__(self, steps_per_day: int) -> None:
        self._steps_per_day = steps_per_day
        self._taken: set[bytes] = set()

    def settle(self, energy: Floats, first: int, redraw: Callable[[int, int], Floats]) -> None:
        """Make the rows (subjects, instants) differ from each other and from all earlier ones, in place.

        Rows are the households `first`, `first` + 1, …; `redraw(number, attempt)` gives another row for one of them.
        """
        signatures = self._of(energy)
        for row, drawn in enumerate(signatures):
            signature, attempt = drawn.tobytes(), 0
            while signature in self._taken:
                attempt += 1
                if attempt > MAX_REDRAWS:
                    self._give_up()
                energy[row] = redraw(first + row, attempt)[0]
                signature = self._of(energy[row : row + 1]).tobytes()
            self._taken.add(signature)

    def _of(self, energy: Floats) -> Ints:
        totals = energy[:, : WEEK * self._steps_per_day].reshape(len(energy), WEEK, -1).sum(axis=2)
        return np.asarray(np.rint(totals / ROUNDED_TO), dtype=np.int64)

    def _give_up(self) -> NoReturn:
        raise ParameterError(
            f"Household {len(self._taken) + 1} could not be distinguished from the {len(self._taken)} before it in "
            f"{MAX_REDRAWS} redraws: the daily totals of the first week, rounded to {ROUNDED_TO / 1000:g} kWh, must "
            "differ between any two households. Simulate fewer households."
        )
