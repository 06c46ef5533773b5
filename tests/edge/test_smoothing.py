"""Smoothing: what it gives, on series of which the answer is known."""

import numpy as np

from shoal.edge.smoothing import smooth


def test_figures_without_noise_stay_as_they_are():
    figures = np.array([1.0, 5.0, 2.0, 8.0])
    np.testing.assert_allclose(smooth(figures, np.zeros(4)), figures)


def test_a_constant_level_becomes_the_mean():
    rng = np.random.default_rng(0)
    figures = 3.0 + rng.normal(0, 1.0, 400)
    found = smooth(figures, np.ones(400))
    assert np.abs(found - 3.0).max() < 0.5
    assert found.std() < 0.2 * figures.std()


def test_a_moving_level_is_followed_more_closely_than_the_figures_do():
    rng = np.random.default_rng(1)
    level = np.cumsum(rng.normal(0, 0.3, 500))
    figures = level + rng.normal(0, 1.0, 500)
    found = smooth(figures, np.ones(500))
    assert np.mean((found - level) ** 2) < 0.5 * np.mean((figures - level) ** 2)


def test_it_is_the_exact_expectation_of_the_local_level_model():
    """Against the joint normal distribution of levels and figures, written out."""
    figures, variances = np.array([1.0, 4.0, 2.0, 3.0]), np.array([0.5, 1.0, 0.2, 2.0])
    step = max(float(np.mean(np.diff(figures) ** 2 - variances[1:] - variances[:-1])), 1e-9 * variances.mean())
    precision = np.diag(1 / variances)
    moves = np.diff(np.eye(4), axis=0)
    exact = np.linalg.solve(precision + moves.T @ moves / step, precision @ figures)
    np.testing.assert_allclose(smooth(figures, variances), exact, rtol=1e-9)


def test_gaps_are_bridged_and_nothing_known_stays_unknown():
    found = smooth(np.array([np.nan, 1.0, np.nan, 3.0, np.nan]), np.array([1.0, 1e-6, 1.0, 1e-6, np.inf]))
    assert np.isfinite(found).all()
    assert found[2] == np.clip(found[2], 1.0, 3.0)
    assert np.isnan(smooth(np.full(3, np.nan), np.ones(3))).all()


def test_equal_figures_without_noise_stay_equal():
    assert (smooth(np.full(5, 2.0), np.zeros(5)) == 2.0).all()
