"""What stays the same about a subject from one period to another: the mean day or week, and a few statistics."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows
from shoal.errors import ParameterError
from shoal.model.parameters import is_whole

Cycle = str | int

_LENGTHS = {"day": np.timedelta64(1, "D"), "week": np.timedelta64(7, "D")}
_MONDAY = np.datetime64("1970-01-05", "us")
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def check_cycle(cycle: object) -> None:
    """Refuse a cycle that is neither a known word nor a number of instants."""
    if cycle not in _LENGTHS and not is_whole(cycle, 1):
        raise ParameterError(f"cycle must be one of {', '.join(_LENGTHS)}, or a whole number of instants.")


def find_slots(times: NDArray[Any], cycle: Cycle) -> Rows:
    """The position of each instant in its cycle; a week begins on Monday."""
    if not isinstance(cycle, str):
        if times.dtype.kind == "M":
            return np.arange(len(times)) % cycle
        return times % cycle
    if times.dtype.kind != "M":
        raise ParameterError(
            f"cycle={cycle!r} needs instants with dates; these are numbers. Give cycle as a number of instants."
        )
    return ((times - _MONDAY) % _LENGTHS[cycle]).astype(np.int64)


def mean_cycles(values: Floats, slots: Rows, common: Rows) -> Floats:
    """The mean at each of the common slots, (series, slots x channels), over the readings present."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a slot without a reading stays missing
        parts = [np.nanmean(values[:, slots == slot], axis=1) for slot in common]
    return np.stack(parts, axis=1).reshape(len(values), -1)


def describe(values: Floats, slots: Rows, common: Rows) -> Floats:
    """Statistics of each series: level, spread, quantiles, persistence, and the shape of the mean cycle in quarters."""
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a series without a reading has no statistics
        mean, spread = np.nanmean(values, axis=1), np.nanstd(values, axis=1)
        parts += [mean, spread, *np.nanquantile(values, QUANTILES, axis=1)]
        centred = values - mean[:, None]
        around = np.nanmean(centred[:, 1:] * centred[:, :-1], axis=1) if values.shape[1] > 1 else np.zeros_like(mean)
        parts.append(np.divide(around, spread**2, out=np.zeros_like(mean), where=spread > 0))
        cycles = mean_cycles(values, slots, common).reshape(len(values), len(common), -1)
        quarters = np.array_split(np.arange(len(common)), min(4, len(common)))
        shape = [np.nanmean(cycles[:, quarter], axis=1) for quarter in quarters]
        parts += [np.divide(part, mean, out=np.zeros_like(mean), where=mean != 0) for part in shape]
    return np.stack(parts, axis=1).reshape(len(values), -1)


def alike_scaled(known: Floats, shown: Floats) -> tuple[Floats, Floats]:
    """Both with every column in units of its spread among the published series; constant columns are dropped."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        spread = np.nanstd(shown, axis=0)
    use = spread > 0
    if not use.any():
        return known * 0.0, shown * 0.0
    return known[:, use] / spread[use], shown[:, use] / spread[use]
