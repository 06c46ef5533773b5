import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from shoal import Panel
from shoal.errors import ParameterError
from shoal.features import Haar
from shoal.features.haar import SMALLEST_SHARE

NOTHING = math.log(SMALLEST_SHARE / (1 - SMALLEST_SHARE))


def logit_of_share(energy, total):
    share = energy / total if total > 0.0 else 0.0
    share = min(max(share, SMALLEST_SHARE), 1 - SMALLEST_SHARE)
    return math.log(share / (1 - share))


def naive_haar_by_definition(series):
    """Inner products with ψ[j, k], which is +1 and -1 on two halves of piece k of 2^j, divided by its norm."""
    length = len(series)
    n_levels = length.bit_length() - 1
    assert length == 2**n_levels
    energies = []
    for level in range(n_levels):
        piece = length // 2**level
        energy = 0.0
        for start in range(0, length, piece):
            middle, stop = start + piece // 2, start + piece
            coefficient = sum(series[start:middle]) - sum(series[middle:stop])
            energy += coefficient**2 / piece
        energies.append(energy)
    return [logit_of_share(energy, sum(energies)) for energy in energies]


def naive_haar_of_any_length(series):
    """Pairs become a mean and a difference, again and again; the last of an odd number is its own partner."""
    energies = []
    level = list(series)
    while len(level) > 1:
        if len(level) % 2:
            level.append(level[-1])
        pairs = list(zip(level[::2], level[1::2], strict=True))
        energies.insert(0, sum((a - b) ** 2 / 2 for a, b in pairs))
        level = [(a + b) / math.sqrt(2) for a, b in pairs]
    return [logit_of_share(energy, sum(energies)) for energy in energies]


@pytest.mark.parametrize("length", [2, 4, 8, 64])
def test_powers_of_two_are_decomposed_as_the_paper_defines_it(rng, length):
    x = rng.normal(size=(12, length)).cumsum(axis=1)
    assert_allclose(Haar()(Panel(x)), [naive_haar_by_definition(row) for row in x], rtol=1e-9)


@given(data=st.data(), length=st.integers(2, 33))
def test_any_length_equals_naive(data, length):
    elements = st.integers(-50, 50).map(float)
    x = data.draw(arrays(np.float64, (3, length), elements=elements))
    found = Haar()(Panel(x))
    assert found.shape == (3, math.ceil(math.log2(length)))
    assert_allclose(found, [naive_haar_of_any_length(row) for row in x], rtol=1e-7, atol=1e-7)


def test_channels_are_decomposed_apart_levels_first(rng):
    x = rng.normal(size=(6, 8, 2))
    found = Haar()(Panel(x)).reshape(6, 3, 2)
    for channel in (0, 1):
        assert_array_equal(found[:, :, channel], Haar()(Panel(x[:, :, channel])))


def test_an_example_worked_out_by_hand():
    # 0 0 2 4: slow (0 + 0 - 2 - 4)² / 4 = 9, fast (0 - 0)² / 2 + (2 - 4)² / 2 = 2; shares 9/11 and 2/11.
    assert_allclose(Haar()(Panel([[0.0, 0.0, 2.0, 4.0]])), [[math.log(9 / 2), math.log(2 / 9)]], rtol=1e-12)


@pytest.mark.parametrize("length", [2, 3, 5, 8, 48])
@pytest.mark.parametrize("level", [0.0, 0.1, -7.3, 1e15, 1e139, 5e-324])
def test_a_constant_series_has_finite_equal_features(length, level):
    assert_allclose(Haar()(Panel(np.full((3, length), level))), NOTHING, rtol=1e-12)


def test_one_level_only_says_whether_a_series_is_constant():
    found = Haar()(Panel([[1.0, 2.0], [5.0, -1.0], [3.0, 3.0]]))
    assert_allclose(found.ravel(), [-NOTHING, -NOTHING, NOTHING], rtol=1e-9)


def test_an_empty_level_is_clipped():
    found = Haar()(Panel([[1.0, 1.0, 2.0, 2.0]]))
    assert_allclose(found, [[-NOTHING, NOTHING]], rtol=1e-9)


@pytest.mark.parametrize("length", [16, 21])
def test_level_and_amplitude_do_not_matter(rng, length):
    x = rng.integers(0, 100, size=(20, length)).astype(float)
    found = Haar()(Panel(x))
    assert_array_equal(Haar()(Panel(x + 1e8)), found)
    for factor in (2.0**-700, 2.0**400):  # the squares of the small ones are 0
        assert_array_equal(Haar()(Panel(x * factor)), found)
    assert_allclose(Haar()(Panel(-x)), found, rtol=1e-9, atol=1e-9)


def test_blocks_change_nothing(rng, monkeypatch):
    x = rng.normal(size=(25, 10))
    whole = Haar()(Panel(x))
    monkeypatch.setattr("shoal.features.haar._CELLS", 70)
    assert_array_equal(Haar()(Panel(x)), whole)


def test_one_instant_is_refused():
    with pytest.raises(ParameterError, match=r"at least 2 instants, the panel has 1.*'raw' or 'standardized'"):
        Haar()(Panel([[1.0], [2.0]]))


def test_gaps_are_refused_and_the_setting_named():
    x = np.ones((5, 4))
    x[[2, 4], 1] = np.nan
    with pytest.raises(
        ParameterError,
        match=r"2 of 5 series have missing values, the first at position 2.*`missing` set to 'drop-series'",
    ):
        Haar()(Panel(x))
