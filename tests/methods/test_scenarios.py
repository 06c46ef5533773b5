"""Groups published as distributions: what their figures are, and how many stand behind each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.scenarios import naive_crowd, naive_pool
from shoal import AggregateRule, KAnonymity, Microaggregation, Panel, Scenarios, simulate
from shoal.engines import Memory, in_shards
from shoal.errors import InputError, ParameterError
from shoal.methods.scenarios import pool_shape
from shoal.utility import CRPS

METERS = Panel(np.random.default_rng(5).gamma(2.0, size=(90, 7)))


def scenarios(panel=METERS, k=6, **parameters):
    return Microaggregation(k=k, form="scenarios", **parameters).anonymize(panel)


@given(st.integers(0, 10_000), st.integers(3, 5), st.sampled_from([0, 1, 6]))
def test_figures_of_a_pool_equal_naive(seed, n_levels, decimals):
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_levels), 6)
    x = np.round(rng.gamma(2.0, size=(len(groups), 4)), decimals)  # with ties where there are few decimals
    means = np.stack([x[groups == g].mean(axis=0) for g in range(n_levels)])[groups]
    levels, lagged, spreads = naive_pool(x.tolist(), groups.tolist(), n_levels)
    found = pool_shape(x, means, np.array([spreads[g] for g in groups.tolist()]), n_levels)
    assert_allclose(found[:, :-1], levels, atol=0.00051)
    # Sums in another order may part ties of deviations, and with them a few ranks.
    assert_allclose(found[:, -1], lagged, atol=0.0051 if decimals == 6 else 0.15)


def test_a_group_is_a_mean_a_spread_and_what_its_pool_shares():
    candidate = scenarios(k=6, levels=3)
    published = candidate.published
    assert published.bands == ("mean", "spread", "z17", "z50", "z83", "lagged")
    assert published.faults() == []
    assert published.pool_counts.min() >= 18
    groups = candidate.private.groups
    assert_array_equal(published.counts, np.bincount(groups))
    for pool in np.unique(published.pools):
        own = np.flatnonzero(published.pools[groups] == pool)
        levels, lagged, spreads = naive_pool(METERS.values[own].tolist(), groups[own].tolist(), 3)
        assert_allclose(published.shapes[pool], levels, atol=0.00051)
        assert_allclose(published.lagged[pool], lagged, atol=0.0051)
        assert {g: published.spreads[g] for g in spreads} == spreads
    assert_allclose(candidate.curves.values, published.means[groups])


@given(st.integers(0, 1000))
def test_k_anonymity_of_scenarios_equals_naive(seed):
    rng = np.random.default_rng(seed)
    n, pools = int(rng.integers(1, 7)), rng.integers(0, 3, 7)
    shared = rng.normal(size=(3, 2, 4))[pools[:n]]
    values = np.concatenate([rng.normal(size=(n, 2, 2)), shared], axis=2)[:, :, None, :]
    counts = rng.integers(1, 12, n)
    bands = ("mean", "spread", "z17", "z50", "z83", "lagged")
    found = Scenarios(values, counts, bands, np.arange(2), ("value",))
    verdict = KAnonymity(3).check(found)
    expected = naive_crowd(counts.tolist(), pools[:n].tolist(), 3)
    assert verdict.measured == expected
    assert verdict.holds == (expected >= 3)


def test_one_changed_level_or_count_breaks_the_guarantee():
    published = scenarios().published
    assert KAnonymity(6).check(published).measured == 6
    for band in range(2, len(published.bands)):
        values = published.values.copy()
        values[4, 3, 0, band] += 0.001  # its own level now stands on its own group alone
        changed = Scenarios(values, published.counts, published.bands, published.times, published.channels)
        verdict = KAnonymity(6).check(changed)
        assert not verdict.holds
        assert verdict.measured < 6
        assert verdict.witness is not None


def test_a_level_of_fewer_than_k_is_forbidden_in_every_way():
    with pytest.raises(
        ParameterError, match="5 levels of at least k=20 subjects each need 100 subjects, the panel has"
    ):
        scenarios(k=20)
    with pytest.raises(ParameterError, match="levels must be a whole number from 3 to 20; k must be at least 6, got 5"):
        Microaggregation(k=5, form="scenarios", levels=2)
    with pytest.raises(ParameterError, match="aggregate must be 'mean', got 'median'; round_to is for values"):
        Microaggregation(k=9, form="scenarios", aggregate="median", round_to=0.1)
    with pytest.raises(ParameterError, match="scenarios have no table of attributes"):
        Microaggregation(k=9, form="scenarios", attributes="tariff")
    twice = Panel(np.ones((80, 2, 2)), subjects=np.arange(80) // 2)
    with pytest.raises(ParameterError, match=r"subjects have several series; give one each\. there are 2 channels"):
        scenarios(twice)
    gaps = METERS.values.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(ParameterError, match="1 readings are missing; read the table with"):
        scenarios(Panel(gaps))


def test_scenarios_that_are_none_are_refused():
    published = scenarios().published
    with pytest.raises(InputError, match="a mean, a spread, levels and lagged"):
        Scenarios(published.values, published.counts, ("mean", *"abcdefg"), published.times, published.channels)
    values = published.values.copy()
    values[0, 0, 0, 0] = np.nan
    with pytest.raises(InputError, match="one channel, and every figure"):
        Scenarios(values, published.counts, published.bands, published.times, published.channels)


@pytest.mark.parametrize(
    ("band", "value", "fault"),
    [
        (1, 0.5, "not the same at all instants"),
        (2, 9.0, "ascending"),
        (3, 0.12345, "more than 3 decimals"),
        (6, 4.0, "do not add up to the mean"),
        (7, 1.5, "outside -1 to 1"),
        (7, 0.123, "more than 2 decimals"),
    ],
)
def test_faults_name_what_is_wrong(band, value, fault):
    published = scenarios().published
    values = published.values.copy()
    values[published.pools == published.pools[0], 2, 0, band] = value
    changed = Scenarios(values, published.counts, published.bands, published.times, published.channels)
    assert any(fault in found for found in changed.faults())


def test_spreads_have_three_digits():
    published = scenarios().published
    values = published.values.copy()
    values[0, :, 0, 1] += 1e-9
    changed = Scenarios(values, published.counts, published.bands, published.times, published.channels)
    assert changed.faults() == ["spreads have more than 3 digits"]


def test_constant_series_have_no_spread_and_one_instant_is_enough():
    candidate = scenarios(Panel(np.repeat(np.arange(40.0) // 10, 3).reshape(40, 3)), levels=3)
    assert candidate.published.faults() == []
    assert candidate.check().holds
    one = scenarios(Panel(np.arange(40.0)[:, None]), levels=3)
    assert one.published.faults() == []
    assert simulate.from_release(one.published).values.shape == (40, 1)


@pytest.mark.parametrize("reading", [0.1, 1e6 / 7, -1e-9 / 3])
def test_series_alike_have_no_spread_and_leave_the_levels_of_others_as_they_are(reading):
    x = np.full((60, 8), reading)
    x[40:] += reading * METERS.values[:20, :1] * np.linspace(1.0, 2.0, 8)
    x[:, 3] = reading  # at night all are alike
    candidate = scenarios(Panel(x), levels=3)
    published, groups = candidate.published, candidate.private.groups
    alike = groups[:40]
    assert not set(alike.tolist()) & set(groups[40:].tolist())
    assert_array_equal(published.spreads == 0.0, np.isin(np.arange(published.n_groups), alike))
    for pool in np.unique(published.pools):
        own = np.flatnonzero(published.pools[groups] == pool)
        levels, lagged, _ = naive_pool(x[own].tolist(), groups[own].tolist(), 3)
        assert_allclose(published.shapes[pool], levels, atol=0.00051)
        assert_allclose(published.lagged[pool], lagged, atol=0.0051)
    assert not published.shapes[:, 3].any()


def test_shards_have_pools_of_their_own():
    panel = simulate.meters(240, days=1, seed=2)
    method = Microaggregation(k=6, form="scenarios", levels=3)
    shards = method.anonymize(in_shards(panel, Memory(), size=60))
    assert shards.n_shards > 1
    assert shards.check().holds
    assert shards.has_scenarios
    assert shards.measure(CRPS()).value < method.anonymize(panel).measure(CRPS()).value * 1.2
    assert method.shard_plan.least == 18


def test_an_aggregate_rule_does_not_judge_levels():
    verdict = AggregateRule(size=6, share=0.9).check(scenarios())
    assert verdict.outcome == "not judged"
    assert "bands are means over a part" in verdict.note


def test_distributions_are_sharper_than_the_means_alone():
    panel = simulate.meters(120, days=1, seed=3)
    distributions = Microaggregation(k=6, form="scenarios").anonymize(panel).measure(CRPS()).value
    means = Microaggregation(k=6).anonymize(panel).measure(CRPS()).value
    assert distributions < 0.85 * means
