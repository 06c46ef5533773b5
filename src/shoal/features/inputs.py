"""What a learned metric is given of a series: the values, or what time, scale or sums make of them."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from shoal.features.labelled import Floats

Inputs = Literal["values", "time", "haar", "sums"]

N_TIME_INPUTS = 8
"""What `time_inputs` makes of each value."""


def inputs_of(x: Floats, inputs: Inputs) -> Floats:
    """Series (series, instants[, channels]) as rows of inputs."""
    if inputs == "time":
        return time_inputs(x)
    if inputs == "haar":
        return haar_inputs(x)
    if inputs == "sums":
        return sum_inputs(x)
    return x.reshape(len(x), -1)


def count_inputs(shape: tuple[int, ...], inputs: Inputs) -> int:
    """How many inputs a series of so many instants, and channels where there are any, has."""
    n_channels = math.prod(shape[1:]) if shape[0] else 0
    if inputs == "time":
        return N_TIME_INPUTS * shape[0] * n_channels
    if inputs == "haar":
        return _power_of_two(shape[0]) * n_channels
    if inputs == "sums":
        return N_TIME_INPUTS * n_channels
    return shape[0] * n_channels


def time_inputs(x: Floats) -> Floats:
    """The values, their running total, and the highest value, rise and fall so far and still to come, side by side.

    u(x) = (x[t], Σ_{s ≤ t} x[s] / T, and for y = x, rise, fall: max of y[s] over s ≤ t, max of y[s] over s ≥ t)
    with rise[t] = max(0, x[t] - x[t - 1]) and fall[t] = max(0, x[t - 1] - x[t]), both 0 at the first t,

    so that what happens first or last is a sum over instants for a network and not a search through them: the time of
    arrival is T minus the sum of the highest so far, of a series of zeros and ones.
    """
    steps = np.diff(x, axis=1, prepend=x[:, :1])
    parts = [x, np.cumsum(x, axis=1) / x.shape[1]]
    for part in (x, np.maximum(steps, 0.0), np.maximum(-steps, 0.0)):
        parts += [np.maximum.accumulate(part, axis=1), np.maximum.accumulate(part[:, ::-1], axis=1)[:, ::-1]]
    return np.concatenate([part.reshape(len(x), -1) for part in parts], axis=1)


def sum_inputs(x: Floats) -> Floats:
    """The sum over the instants of each of `time_inputs`, over √T: eight numbers for each channel.

    Of zeros and ones they are times themselves: T minus the sum of the highest so far is the time of arrival, the sum
    of the highest still to come that of departure, the sum of the values the time spent there.
    """
    parts = time_inputs(x).reshape(len(x), N_TIME_INPUTS, x.shape[1], -1)
    # From the last running total: adding up along an axis may group its terms by how the array lies in memory.
    totals: Floats = np.cumsum(parts, axis=2)[:, :, -1] / np.sqrt(x.shape[1])
    return totals.reshape(len(x), -1)


def haar_inputs(x: Floats) -> Floats:
    """The orthonormal Haar coefficients, the slowest first, of the series with zeros up to a power of two.

    Their Euclidean distance is that of the values; one of them is what a stretch of the series has in total, or more
    than the stretch after it.
    """
    rest = np.zeros((len(x), _power_of_two(x.shape[1]), *x.shape[2:]))
    rest[:, : x.shape[1]] = x
    details: list[Floats] = []
    while rest.shape[1] > 1:
        one, other = rest[:, 0::2], rest[:, 1::2]
        details.append((one - other) / np.sqrt(2.0))
        rest = (one + other) / np.sqrt(2.0)
    return np.concatenate([part.reshape(len(x), -1) for part in (rest, *reversed(details))], axis=1)


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()
