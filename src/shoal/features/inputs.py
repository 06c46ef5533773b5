"""The inputs of a learned metric: the values, or transforms by time, scale or sums."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from shoal.features.labelled import Floats

Inputs = Literal["values", "time", "haar", "sums"]

N_TIME_INPUTS = 8
"""The number of inputs that `time_inputs` makes from each value."""


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
    """The number of inputs of a series with this shape."""
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

    so that what happens first or last becomes a sum over instants instead of a search: for a series of zeros and ones,
    the time of arrival is T minus the sum of the highest so far.
    """
    steps = np.diff(x, axis=1, prepend=x[:, :1])
    parts = [x, np.cumsum(x, axis=1) / x.shape[1]]
    for part in (x, np.maximum(steps, 0.0), np.maximum(-steps, 0.0)):
        parts += [np.maximum.accumulate(part, axis=1), np.maximum.accumulate(part[:, ::-1], axis=1)[:, ::-1]]
    return np.concatenate([part.reshape(len(x), -1) for part in parts], axis=1)


def sum_inputs(x: Floats) -> Floats:
    """The sum of each of `time_inputs` over the instants, divided by √T: eight numbers for each channel.

    For zeros and ones, they are times: T minus the sum of the highest so far is the time of arrival, the sum of the
    highest still to come is the time of departure, and the sum of the values is the time spent there.
    """
    parts = time_inputs(x).reshape(len(x), N_TIME_INPUTS, x.shape[1], -1)
    # From the last running total: a sum along an axis may depend on the memory layout of the array.
    totals: Floats = np.cumsum(parts, axis=2)[:, :, -1] / np.sqrt(x.shape[1])
    return totals.reshape(len(x), -1)


def haar_inputs(x: Floats) -> Floats:
    """The orthonormal Haar coefficients, slowest first, of the series padded with zeros to a power of two.

    Their Euclidean distance equals that of the values; each is the total of a stretch, or its excess over the next
    stretch.
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
