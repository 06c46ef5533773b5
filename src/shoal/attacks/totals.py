"""Totals over hours, days, weeks or months."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows
from shoal.errors import ParameterError
from shoal.model.parameters import is_whole

Step = str | int

NAMES = ("hour", "day", "week", "month", "all")


def check_step(step: object) -> None:
    """Refuse a step that is neither a known word nor a number of instants."""
    if step not in NAMES and not is_whole(step, 1):
        raise ParameterError(f"step must be one of {', '.join(NAMES)}, or a whole number of instants.")


def step_words(step: Step) -> str:
    """The step in words: the total of every ..."""
    if step == "all":
        return "the total of all readings"
    return f"the total of every {step}" if isinstance(step, str) else f"the totals of every {step} readings"


def find_steps(times: NDArray[Any], step: Step) -> Rows:
    """Where each step begins. Days, weeks (from Monday) and months follow the times, which are local."""
    if step == "all":
        return np.zeros(1, dtype=np.int64)
    if not isinstance(step, str):
        return np.arange(0, len(times), step)
    if times.dtype.kind != "M":
        raise ParameterError(
            f"step={step!r} needs instants with dates; these are numbers. Give step as a number of instants."
        )
    if step == "week":
        number = (times.astype("datetime64[D]").astype(np.int64) + 3) // 7  # 1970 began on a Thursday
    else:
        number = times.astype(f"datetime64[{ {'hour': 'h', 'day': 'D', 'month': 'M'}[step] }]").astype(np.int64)
    return np.flatnonzero(np.diff(number, prepend=number[0] - 1))


def sum_steps(values: Floats, starts: Rows) -> Floats:
    """Totals (series, steps x channels) of values (series, instants, channels); missing where a reading is."""
    totals: Floats = np.add.reduceat(np.ascontiguousarray(values), starts, axis=1)
    return totals.reshape(len(values), -1)
