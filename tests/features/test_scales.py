"""Raw, standardized and centred values."""

import math

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from shoal import Panel
from shoal.features import Centred, Raw, Standardized
from strategies import small_panels


def naive_standardized(x):
    result = [[math.nan] * x.shape[1] for _ in x]
    for c in range(x.shape[1]):
        seen = [v for v in x[:, c].tolist() if v == v]
        if not seen:
            continue
        mean = math.fsum(seen) / len(seen)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in seen) / len(seen))
        for i, v in enumerate(x[:, c].tolist()):
            if v == v:
                result[i][c] = 0.0 if min(seen) == max(seen) else (v - mean) / deviation
    return result


def naive_centred(x):
    result = np.full(x.shape, np.nan)
    for i in range(x.shape[0]):
        for c in range(x.shape[2]):
            seen = [v for v in x[i, :, c].tolist() if v == v]
            for t, v in enumerate(x[i, :, c].tolist()):
                if v == v:
                    result[i, t, c] = v - math.fsum(seen) / len(seen)
    return result.reshape(len(x), -1)


def spread_of(x):
    seen = x[~np.isnan(x)]
    return max(1e-300, float(np.abs(seen).max())) if seen.size else 1.0


@given(x=small_panels())
def test_raw_is_what_the_panel_holds(x):
    assert_array_equal(Raw()(Panel(x)), x.reshape(len(x), -1))


@given(x=small_panels())
def test_centred_equals_naive(x):
    found = Centred()(Panel(x))
    naive = naive_centred(x.reshape(len(x), x.shape[1], -1))
    assert_array_equal(np.isnan(found), np.isnan(naive))
    assert_allclose(found, naive, rtol=1e-9, atol=1e-14 * spread_of(x))


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_standardized_equals_naive(rng, gaps):
    x = rng.normal(size=(40, 6)) * [1, 1e-8, 1e8, 3, 1, 1] + [0, 5, 1e9, -7, 0, 0]
    x[:, 4] = 0.1
    x[rng.random(x.shape) < gaps] = np.nan
    x[:, 5] = np.nan
    found = Standardized()(Panel(x))
    assert_allclose(found, naive_standardized(x), rtol=1e-6, atol=1e-6)


@given(x=small_panels())
def test_standardized_columns_have_mean_zero_and_deviation_one_or_are_zero(x):
    rows = Panel(x).rows
    found = Standardized()(Panel(x))
    assert_array_equal(np.isnan(found), np.isnan(rows))
    for c in range(rows.shape[1]):
        seen, original = found[~np.isnan(rows[:, c]), c], rows[~np.isnan(rows[:, c]), c]
        if not seen.size:
            continue
        if original.min() == original.max():
            assert_array_equal(seen, 0.0)
        else:
            assert seen.mean() == pytest.approx(0.0, abs=1e-12)
            assert seen.std() == pytest.approx(1.0)


@pytest.mark.parametrize("features", [Standardized(), Centred()])
def test_a_large_common_offset_changes_nothing(rng, features):
    x = rng.integers(0, 100, size=(50, 6)).astype(float)
    assert_array_equal(features(Panel(x + 1e8)), features(Panel(x)))


@pytest.mark.parametrize("features", [Standardized(), Centred()])
@pytest.mark.parametrize("level", [0.1, -3.7, 1e15, 1e139])
def test_what_is_constant_becomes_exactly_zero(features, level):
    assert_array_equal(features(Panel(np.full((7, 5), level))), 0.0)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e130, 1e139])
def test_standardized_survives_tiny_and_huge_values(scale):
    found = Standardized()(Panel(np.array([[-scale], [scale]])))
    assert_allclose(found, [[-1.0], [1.0]], rtol=1e-3)


def test_standardized_in_blocks_is_the_same(rng, monkeypatch):
    x = rng.normal(size=(30, 7))
    whole = Standardized()(Panel(x))
    monkeypatch.setattr("shoal.features.standardized._CELLS", 70)
    assert_array_equal(Standardized()(Panel(x)), whole)
