"""Noise filtered out of a release."""

import numpy as np
import pytest

from attacks.releases import averaged, households, like, noisy
from shoal import Panel
from shoal.attacks import Denoising, KnownPoints
from shoal.attacks.components import denoise
from shoal.errors import ParameterError


@pytest.mark.parametrize("snr", [1.0, 0.25])
@pytest.mark.parametrize("told", [True, False])
def test_filtering_visibly_beats_plain_links_on_a_release_with_noise_only(snr, told):
    panel = households()
    risk = Denoising(20, snr=snr if told else None).attack(panel, noisy(panel, snr))
    assert risk.interval.low > risk.plain_interval.high > 0.0
    assert risk.n_components > 0


def test_the_plain_figure_is_that_of_known_points():
    panel = households(60, 4)
    published = noisy(panel, 1.0)
    assert Denoising(10).attack(panel, published).plain == KnownPoints(10).attack(panel, published).success


def test_filtered_readings_are_nearer_to_the_true_ones():
    panel = households()
    published = noisy(panel, 1.0)
    filtered, _ = denoise(published.values[:, :, None], None)
    error, before = (np.mean((x - panel.values) ** 2) for x in (filtered[:, :, 0], published.values))
    assert error < 0.5 * before


def test_means_of_k_stay_alike_and_give_at_most_one_in_k():
    panel = households()
    risk = Denoising(20).attack(panel, averaged(4))
    assert risk.success <= 0.25
    assert risk.control == 1.0
    assert risk.confidence <= 0.25


def test_equal_series_stay_equal_bit_by_bit():
    x = np.repeat(np.random.default_rng(0).normal(size=(10, 30)), 3, axis=0)[:, :, None]
    filtered, _ = denoise(x, 1.0)
    assert (filtered[::3] == filtered[1::3]).all()
    assert (filtered != x).any()


@pytest.mark.parametrize(
    "x",
    [np.ones((5, 4, 1)), np.ones((1, 4, 1)), np.arange(6.0).reshape(3, 2, 1), np.arange(3.0).reshape(3, 1, 1)],
)
def test_where_there_is_no_noise_to_be_seen_nothing_is_changed(x):
    filtered, n_components = denoise(x, None)
    assert filtered.tolist() == x.tolist()
    assert n_components == 0


def test_gaps_stay_gaps_and_channels_are_filtered_apart():
    panel = households(60, 4)
    x = np.stack([noisy(panel, 1.0).values, noisy(panel, 0.5, seed=2).values], axis=2)
    x[3, 5] = np.nan
    filtered, _ = denoise(x, None)
    assert np.isnan(filtered).sum() == 2
    assert np.isnan(filtered[3, 5]).all()
    alone, _ = denoise(x[:, :, 1:], None)
    assert (filtered[~np.isnan(filtered).any(axis=2)][:, 1] == alone[~np.isnan(alone).any(axis=2)][:, 0]).all()


def test_refusals():
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        Denoising(0)
    with pytest.raises(ParameterError, match="snr must be a number of at least 0"):
        Denoising(snr=-1.0)
    with pytest.raises(ParameterError, match="needs published readings, but there are none"):
        Denoising().attack(Panel([[1.0]]), Panel([[np.nan]]))


def test_the_sentence_has_both_figures():
    panel = households(60, 4)
    risk = Denoising(10).attack(panel, like(panel, panel.values))
    assert "without filtering" in risk.sentence
