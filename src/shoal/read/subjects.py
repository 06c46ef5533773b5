"""What a subject is in a table, said aloud; and whether the columns of a wide table may be taken for subjects.

Columns are subjects where the caller says so (layout "wide"), or where they look like one quantity of many subjects:

    pattern   their names differ in numbers only: meter_1, meter_2, ... meter_600
    unit      so what stands around the number, a unit included, is the same; and no word of it names a sensor, a
              channel or a measured quantity (`SENSOR_WORDS`)
    scale     the mean size of the readings of each column, zeros and gaps left aside, is at most ten times larger and
              ten times smaller than the median of these means

Otherwise the table is refused: the sensors of one room would pass for a crowd.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.read.columns import Layout, Plan

_WORDS = (
    "air angle battery ch channel circuit co co2 current damper dewpoint door feature flow frequency gas heat hum "
    "humidity lamp level light lux motion noise occupancy occupants ozone parameter particulate ph phase pir pm pm10 "
    "pm25 power ppm precipitation pressure probe radiation rain rh sensor setpoint signal smoke sound speed state "
    "status temp temperature v valve var variable vibration voc volt voltage water wind window x y z"
)
SENSOR_WORDS = frozenset(_WORDS.split())
"""Words that name a sensor, a channel or a measured quantity, in lower case."""

WIDEST = 10.0
"""How many times larger or smaller than the middle column a column may be."""


def tell_subjects(
    plan: Plan | None, n_rows: int, n_series: int, n_subjects: int, n_channels: int = 1, *, of: str = "row"
) -> str:
    """What was taken for a subject: counts and names of columns. Without a plan the rows are those of an array."""
    many = _plural(n_subjects, "subject")
    if plan is None:
        text = f"{_plural(n_rows, 'row')} of an array read as {many}"
    elif plan.layout is Layout.WIDE and plan.id is None:
        text = f"{_plural(n_series, 'column')} read as {many}"
    else:
        assert plan.id is not None
        text = f"{_plural(n_rows, of)} read as "
        if plan.subject is not None:
            text += f"{n_series} series of {many} (column {plan.subject.name!r})"
        elif plan.layout is Layout.LONG:
            text += f"{n_series} series of {many} (column {plan.id.name!r})"
        else:
            text += f"{many} (column {plan.id.name!r})"
    return text + (f", {n_channels} channels each" if n_channels > 1 else "")


def tell_events(n_rows: int) -> str:
    """What was taken for a subject where a row is an event."""
    return f"{_plural(n_rows, 'row')} read as {_plural(n_rows, 'event')}, each counted as a subject of its own"


def refuse_unlike(names: Sequence[str], sizes: NDArray[np.float64], time: str) -> None:
    """Refuse to take columns for subjects that do not look like one quantity.

    Parameters
    ----------
    names
        Names of the columns. They may name people, so a message holds words of `SENSOR_WORDS` alone.
    sizes
        Mean size of the readings of each column, NaN where there is none that is not zero; see `mean_sizes`.
    time
        Name of the time column, for the message.
    """
    n, seen = len(names), seen_unlike(names, sizes)
    if not seen:
        return
    raise InputError(
        f"The table has a time column {time!r} and {_plural(n, 'column')} with readings, and {seen}, so it is not "
        "clear that each column is a subject. If it is, say so with layout='wide'. If the columns are channels of one "
        "subject or more, write a row for each subject and instant, and name id= and every channel as value=."
    )


def mean_sizes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean size of the readings in each row, zeros and gaps left aside; NaN where nothing is left."""
    sizes = np.full(len(values), np.nan)
    for row, readings in enumerate(values):
        size = np.abs(readings[~np.isnan(readings)])
        size = size[size > 0]
        if len(size):
            sizes[row] = size.mean()
    return sizes


def seen_unlike(names: Sequence[str], sizes: NDArray[np.float64]) -> str:
    """What speaks against one quantity, in words; empty where nothing does."""
    patterns = {re.sub(r"\d+", "#", name) for name in names}
    words = {word for name in names for word in _words(name)} & SENSOR_WORDS
    if words:
        return f"some are called like sensors or measured quantities ({', '.join(sorted(words))})"
    if len(patterns) > 1:
        return f"their names follow {len(patterns)} patterns"
    if not any("#" in pattern for pattern in patterns):
        return "its name has no number to tell it from others"
    known = sizes[~np.isnan(sizes)]
    if not len(known):
        return ""
    middle = float(np.median(known))
    if n_apart := int(((known > WIDEST * middle) | (known * WIDEST < middle)).sum()):
        return (
            f"the readings of {n_apart} are more than {WIDEST:g} times larger or smaller than those of the middle one"
        )
    return ""


def _words(name: str) -> set[str]:
    """The words of a name without the digits at their ends, unless these belong to it: Temp2 has temp, CO2_1 co2."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    whole = {word.lower() for word in re.split(r"[^A-Za-z0-9]+", apart) if word}
    if re.search(r"\d{3}", name):
        # Z-1001 is no axis: nobody has as many.
        whole = {word for word in whole if len(word) > 1}
    return {word if word in SENSOR_WORDS else word.rstrip("0123456789") for word in whole}


def _plural(n: int, word: str) -> str:
    return f"{n} {word}{'s' * (n != 1)}"
