"""What a learned metric is given of a series."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from shoal.features.inputs import count_inputs, haar_inputs, inputs_of, sum_inputs, time_inputs
from shoal.features.interests import Arrival, Departure, TimeOccupied


@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (6, 2)])
@pytest.mark.parametrize("inputs", ["values", "time", "haar", "sums"])
def test_each_row_is_for_itself_and_as_long_as_counted(rng, shape, inputs):
    x = rng.normal(size=(5, *shape))
    found = inputs_of(x, inputs)
    assert found.shape == (5, count_inputs(shape, inputs))
    assert_array_equal(np.concatenate([inputs_of(x[at : at + 1], inputs) for at in range(5)]), found)


def test_sums_of_zeros_and_ones_are_times(rng):
    x = (rng.random((30, 16)) < 0.2).astype(float)
    sums = sum_inputs(x) * np.sqrt(16)
    assert_allclose(16 - sums[:, 2:3], Arrival().of(x))
    assert_allclose(sums[:, 3:4], Departure().of(x))
    assert_allclose(sums[:, :1], TimeOccupied().of(x))


def test_sums_are_over_the_instants_of_each_channel(rng):
    x = rng.normal(size=(4, 6, 2))
    each = [time_inputs(x[:, :, channel]).reshape(4, 8, 6).sum(axis=2) / np.sqrt(6) for channel in (0, 1)]
    assert_allclose(sum_inputs(x), np.stack(each, axis=2).reshape(4, 16))


def test_haar_coefficients_keep_distances_and_the_first_is_the_total(rng):
    x = rng.normal(size=(9, 12))
    found = haar_inputs(x)
    assert_allclose(found[:, 0], x.sum(axis=1) / 4)
    assert_allclose(np.linalg.norm(found[1:] - found[:-1], axis=1), np.linalg.norm(x[1:] - x[:-1], axis=1))
    assert_allclose(haar_inputs(np.eye(4))[:, 1], [0.5, 0.5, -0.5, -0.5])
