"""Noise of a stated strength: its variance, its shape, its memory, and who can draw it again."""

import re

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from shoal import KAnonymity, Microaggregation, NoiseAddition, Panel
from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from strategies import small_panels

rng = np.random.default_rng(4)
METERS = Panel(rng.gamma(2.0, size=(300, 200)) + rng.normal(size=(300, 1)) * 3.0)
KINDS = ["gaussian", "laplace", "uniform", "coloured"]


def noise_of(panel, **parameters):
    return NoiseAddition(**parameters).anonymize(panel).values - panel.values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("snr", [0.5, 10.0])
def test_the_variance_of_the_noise_is_that_of_the_signal_over_the_ratio(kind, snr):
    noise = noise_of(METERS, kind=kind, snr=snr)
    # 60 000 numbers: the standard error of the variance is below 1 %, with memory a few times that.
    assert noise.var() == pytest.approx(METERS.values.var() / snr, rel=0.08)
    assert abs(noise.mean()) < 0.05 * noise.std()


@pytest.mark.parametrize("kind", KINDS)
def test_per_series_the_strength_follows_each_series(kind):
    panel = Panel(METERS.values * np.geomspace(0.1, 100.0, 300)[:, None])
    noise = noise_of(panel, kind=kind, snr=2.0, per="series")
    ratio = panel.values.var(axis=1) / noise.var(axis=1)
    assert np.median(ratio) == pytest.approx(2.0, rel=0.1)
    assert ratio.min() > 0.5
    assert ratio.max() < 8.0


def test_kinds_have_the_tails_of_their_family():
    kurtosis = {
        kind: float(((z := noise_of(METERS, kind=kind, snr=1.0).ravel() / METERS.values.std()) ** 4).mean())
        for kind in ("gaussian", "laplace", "uniform")
    }
    assert kurtosis["gaussian"] == pytest.approx(3.0, abs=0.2)
    assert kurtosis["laplace"] == pytest.approx(6.0, abs=0.8)
    assert kurtosis["uniform"] == pytest.approx(1.8, abs=0.1)
    assert np.abs(z).max() <= np.sqrt(3.0) + 1e-9  # uniform noise is bounded


def test_coloured_noise_remembers_and_white_noise_does_not():
    def after_one(noise):
        return float((noise[:, 1:] * noise[:, :-1]).mean() / (noise**2).mean())

    assert after_one(noise_of(METERS, snr=1.0, kind="coloured", memory=0.8)) == pytest.approx(0.8, abs=0.03)
    assert after_one(noise_of(METERS, snr=1.0)) == pytest.approx(0.0, abs=0.03)
    slow = Panel(np.cumsum(rng.normal(size=(50, 300)), axis=1))
    assert after_one(noise_of(slow, snr=1.0, kind="coloured")) > 0.9  # left out, it is that of the readings


@given(x=small_panels())
def test_gaps_stay_where_they_are_and_equal_series_stay_equal(x):
    panel = Panel(x)
    published = NoiseAddition(snr=1.0).anonymize(panel).published
    assert_array_equal(np.isnan(published.values), np.isnan(x))
    before, after = published_classes(panel), published_classes(published)
    assert_array_equal(after[before == before[0]], after[0])
    assert all(len(set(after[before == c].tolist())) == 1 for c in set(before.tolist()))


def test_a_crowd_of_means_stays_a_crowd_and_is_no_longer_its_mean():
    means = Microaggregation(k=4).anonymize(Panel(rng.normal(size=(40, 6))))
    noisy = NoiseAddition(snr=1000.0).anonymize(means.published)
    assert KAnonymity(4).check(noisy.published).holds
    assert (noisy.values != means.values).all()
    assert_allclose(noisy.values, means.values, atol=1.0)


def test_where_nothing_varies_there_is_no_noise_and_a_constant_series_is_not_left_out():
    assert_array_equal(noise_of(Panel(np.full((4, 5), 7.0)), snr=1.0), 0.0)
    mixed = Panel(np.concatenate([np.full((1, 200), 5.0), METERS.values[:50]]))
    for per in ("panel", "series"):
        noise = noise_of(mixed, snr=2.0, per=per)
        assert noise[0].var() == pytest.approx(mixed.values.var() / 2.0, rel=0.5)


def test_channels_get_noise_of_their_own_strength():
    values = np.stack([METERS.values[:100], 1000.0 * METERS.values[:100]], axis=2)
    noise = noise_of(Panel(values), snr=4.0)
    assert noise[:, :, 1].std() / noise[:, :, 0].std() == pytest.approx(1000.0, rel=0.05)


def test_a_large_offset_changes_no_strength():
    offset = Panel(METERS.values[:50] + 1e9)
    assert noise_of(offset, snr=3.0).std() == pytest.approx(METERS.values[:50].std() / np.sqrt(3.0), rel=0.1)


def test_the_noise_repeats_with_panel_and_seed_and_for_nobody_without_the_panel():
    panel = Panel(METERS.values[:20])
    first, again, other = (noise_of(panel, snr=1.0, seed=seed) for seed in (3, 3, 4))
    assert_array_equal(first, again)
    assert not np.isclose(first, other).any()
    nearly = panel.values.copy()
    nearly[7, 11] = np.nextafter(nearly[7, 11], np.inf)
    # One bit of one reading away, and the numbers have nothing in common: so the seed alone gives nothing away.
    assert abs(np.corrcoef(noise_of(Panel(nearly), snr=1.0, seed=3).ravel(), first.ravel())[0, 1]) < 0.1


def test_the_seed_is_kept_from_the_recipe():
    candidate = NoiseAddition(snr=1.0, seed=12345).anonymize(METERS)
    assert "seed" not in candidate.recipe.parameters
    assert candidate.private.secrets == {"seed": 12345}
    assert "12345" not in repr(candidate)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"snr": 0.0}, "snr must be a number above 0"),
        ({"snr": True}, "snr must be a number above 0"),
        ({"snr": float("inf")}, "snr must be a number above 0"),
        ({"snr": 1.0, "kind": "pink"}, "kind must be one of: gaussian, laplace, uniform, coloured"),
        ({"snr": 1.0, "per": "day"}, "per must be one of: panel, series"),
        ({"snr": 1.0, "memory": 0.5}, "memory applies to kind='coloured', this is 'gaussian'"),
        ({"snr": 1.0, "kind": "coloured", "memory": 1.0}, "memory must be a number from 0 to 0.99"),
        ({"snr": 1.0, "seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_impossible_parameters_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        NoiseAddition(**parameters)
