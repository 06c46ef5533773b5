"""Curves drawn from a release: like the groups they come from, and nobody's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from naive.scenarios import naive_quantile
from shoal import Microaggregation, Panel, Scenarios, simulate
from shoal.errors import ParameterError
from shoal.model.scenarios import scenario_bands

N_INSTANTS = 12


def one_group(lagged, spread=2.0, count=50):
    """One group with a skewed shape and given correlations."""
    shape = np.broadcast_to([-1.0, -0.6, -0.2, 0.2, 1.6], (N_INSTANTS, 5))
    mean = np.linspace(5.0, 6.0, N_INSTANTS)
    columns = [mean[:, None], np.full((N_INSTANTS, 1), spread), shape, np.asarray(lagged)[:, None]]
    values = np.concatenate(columns, axis=1)[None, :, None, :]
    return Scenarios(values, np.array([count]), scenario_bands(5), np.arange(N_INSTANTS), ("value",))


def test_curves_have_the_published_quantiles_and_correlations():
    lagged = 0.8 ** np.arange(N_INSTANTS)
    published = one_group(lagged)
    curves = simulate.from_release(published, n_series=20_000, seed=1).values
    for share in (0.05, 0.1, 0.3, 0.5, 0.9, 0.95):
        expected = 5.0 + 2.0 * naive_quantile([-1.0, -0.6, -0.2, 0.2, 1.6], share)
        assert_allclose(np.quantile(curves[:, 0], share), expected, atol=0.1)
        assert_allclose(published.quantiles([share])[0, 0, 0], expected)
    ranks = curves.argsort(axis=0).argsort(axis=0)
    found = np.corrcoef(ranks.T)
    for lag in (1, 2, 5):
        expected = 6.0 / np.pi * np.arcsin(lagged[lag] / 2.0)  # of ranks, where that of normal scores is this
        assert_allclose(np.diagonal(found, lag), expected, atol=0.03)


def test_correlations_that_no_process_has_are_brought_to_the_nearest():
    lagged = np.where(np.arange(N_INSTANTS) == 0, 1.0, -0.9)
    curves = simulate.from_release(one_group(lagged), n_series=5000, seed=2).values
    assert_allclose(np.quantile(curves[:, 3], 0.5), 5.0 + 3 / 11 - 0.4, atol=0.15)


def test_each_group_gets_as_many_curves_as_it_has_subjects_and_a_seed_repeats_them():
    panel = simulate.meters(60, days=1, seed=4)
    published = Microaggregation(k=6, form="scenarios", levels=3).anonymize(panel).published
    drawn = simulate.from_release(published, at_least=0.0, seed=7)
    assert drawn.values.shape == panel.values.shape
    assert drawn.values.min() >= 0.0
    assert_array_equal(drawn.values, simulate.from_release(published, at_least=0.0, seed=7).values)
    assert (drawn.values != simulate.from_release(published, at_least=0.0, seed=8).values).any()
    assert not np.isin(drawn.values[drawn.values > 0], panel.values).any()
    assert simulate.from_release(published, n_series=7).n_series == 7


def test_other_releases_are_refused():
    profiles = Microaggregation(k=6, form="profiles").anonymize(Panel(np.arange(24.0)[:, None])).published
    with pytest.raises(ParameterError, match="Publish with form='scenarios'"):
        simulate.from_release(profiles)
    with pytest.raises(ParameterError, match=r"give what shoal\.load_release returns"):
        simulate.from_release("folder")
    with pytest.raises(ParameterError, match="n_series must be a whole number of at least 1"):
        simulate.from_release(one_group(np.eye(1, N_INSTANTS)[0]), n_series=0)
    for wrong in (float("nan"), float("inf"), "0", True):
        with pytest.raises(ParameterError, match="at_least must be a finite number, such as 0, got"):
            simulate.from_release(one_group(np.eye(1, N_INSTANTS)[0]), at_least=wrong)
    with pytest.raises(ParameterError, match="seed must be a whole number of at least 0"):
        simulate.from_release(one_group(np.eye(1, N_INSTANTS)[0]), seed=-1)
