"""Bands of groups, and groups published as one row each."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal import AggregateRule, KAnonymity, Microaggregation, Panel
from shoal.errors import InputError, ParameterError
from shoal.methods.aggregates import group_thirds
from shoal.model import Profiles

rng = np.random.default_rng(3)
METERS = Panel(rng.gamma(2.0, size=(60, 7)))


def naive_thirds(column):
    """Members sorted and dealt into three blocks whose sizes differ by at most one."""
    seen = sorted(v for v in column if v == v)
    cuts = [0, len(seen) // 3, 2 * len(seen) // 3, len(seen)]
    return [sum(seen[a:b]) / (b - a) for a, b in itertools.pairwise(cuts)]


@given(
    st.lists(st.lists(st.integers(-4, 4), min_size=2, max_size=2), min_size=9, max_size=20),
    st.integers(0, 1000),
)
def test_thirds_equal_naive_and_share_out_every_member_once(rows, seed):
    x = np.array(rows, dtype=float)
    holes = np.random.default_rng(seed)
    x[holes.random(x.shape) < 0.1] = np.nan
    seen = (~np.isnan(x)).sum(axis=0)
    means = np.tile(np.where(seen >= 9, np.nanmean(x, axis=0), np.nan), (len(x), 1))
    bands = group_thirds(x, np.zeros(len(x), dtype=np.int64), means)[0]
    for c in range(2):
        if seen[c] < 9:
            assert np.isnan(bands[c]).all()
            continue
        assert_allclose(bands[c], naive_thirds(x[:, c].tolist()), atol=1e-12)
        assert bands[c][0] <= bands[c][1] <= bands[c][2]
        sizes = np.diff([0, seen[c] // 3, 2 * seen[c] // 3, seen[c]])
        assert sizes.min() >= 3
        assert_allclose((sizes * bands[c]).sum(), seen[c] * means[0, c], atol=1e-9)


def test_quantiles_are_published_as_three_curves_of_every_series():
    candidate = Microaggregation(k=10, aggregate="quantiles").anonymize(METERS)
    assert candidate.values.shape == (60, 7, 3)
    assert candidate.published.channels == ("q17", "q50", "q83")
    assert candidate.check().holds
    assert_array_equal(candidate.curves.values, candidate.values[:, :, 1])
    label = candidate.private.groups == candidate.private.groups[0]
    assert_allclose(candidate.values[0, 4], naive_thirds(METERS.values[label, 4].tolist()))


def test_quantiles_of_several_channels_keep_their_names():
    panel = Panel(rng.gamma(2.0, size=(20, 4, 2)), channels=["kw", "celsius"])
    candidate = Microaggregation(k=9, aggregate="quantiles").anonymize(panel)
    assert candidate.published.channels == ("kw_q17", "kw_q50", "kw_q83", "celsius_q17", "celsius_q50", "celsius_q83")
    assert candidate.curves.values.shape == panel.values.shape
    assert_array_equal(candidate.curves.values[:, :, 1], candidate.values[:, :, 4])


@pytest.mark.parametrize("channels", [1, 2])
def test_profiles_say_of_each_group_what_its_series_would(channels):
    panel = Panel(rng.gamma(2.0, size=(30, 5, channels)) if channels > 1 else rng.gamma(2.0, size=(30, 5)))
    by_series = Microaggregation(k=4).anonymize(panel)
    by_group = Microaggregation(k=4, form="profiles").anonymize(panel)
    profiles = by_group.published
    assert isinstance(profiles, Profiles)
    assert profiles.bands == ("mean",)
    assert profiles.counts.sum() == 30
    assert_array_equal(by_group.curves.values, by_series.values)
    assert by_group.check().holds
    assert by_group.check() == KAnonymity(4).check(profiles)
    assert profiles.digest() == Microaggregation(k=4, form="profiles").anonymize(panel).published.digest()


def test_a_profile_counts_subjects_not_series():
    panel = Panel(rng.normal(size=(24, 5)), subjects=np.repeat(np.arange(8), 3))
    candidate = Microaggregation(k=3, form="profiles").anonymize(panel)
    for label, count in enumerate(candidate.published.counts):
        assert count == len(set(panel.subject_codes[candidate.private.groups == label]))
    assert candidate.check().measured == candidate.published.counts.min()


def test_k_anonymity_asks_every_profile_for_its_own_crowd():
    values = np.ones((2, 3, 1, 1))
    alike = Profiles(values, np.array([3, 3]), ("mean",), np.arange(3), ("value",))
    assert KAnonymity(3).check(alike).holds
    assert not KAnonymity(4).check(alike).holds
    lone = Profiles(values, np.array([5, 2]), ("mean",), np.arange(3), ("value",))
    verdict = KAnonymity(3).check(lone)
    assert (verdict.holds, verdict.measured, verdict.witness) == (False, 2, 1)


def test_the_aggregate_rule_judges_profiles_as_it_judges_series():
    panel = Panel(rng.gamma(2.0, size=(60, 7)))
    for rule in (AggregateRule(size=15, share=0.3), AggregateRule(size=15, share=0.01), AggregateRule(size=20)):
        series, groups = (Microaggregation(k=15, form=form).anonymize(panel) for form in ("values", "profiles"))
        assert rule.check(series) == rule.check(groups)
    assert AggregateRule(size=15, share=0.3).check(groups).holds


@pytest.mark.parametrize("form", ["values", "profiles"])
def test_the_aggregate_rule_does_not_hold_for_bands(form):
    candidate = Microaggregation(k=15, form=form, aggregate="quantiles").anonymize(METERS)
    verdict = AggregateRule(size=2, share=1.0).check(candidate)
    assert not verdict.holds
    assert "bands are means over a part of a group" in verdict.note


def test_profiles_are_withheld_where_too_few_are_observed():
    values = rng.normal(size=(9, 4))
    values[:2, 1] = np.nan
    candidate = Microaggregation(k=9, form="profiles", aggregate="quantiles").anonymize(Panel(values))
    assert np.isnan(candidate.values[0, 1]).all()
    assert not np.isnan(candidate.values[0, [0, 2, 3]]).any()


def test_rounding_keeps_equal_what_was_equal_in_every_form():
    for form in ("values", "profiles"):
        candidate = Microaggregation(k=9, form=form, aggregate="quantiles", round_to=0.5).anonymize(METERS)
        assert_array_equal(candidate.values * 2, np.rint(candidate.values * 2))
        assert candidate.check().holds


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 8, "aggregate": "quantiles"}, "needs k of at least 9, got 8"),
        ({"k": 9, "aggregate": "median", "form": "profiles"}, "aggregate='median' is for form='values'"),
        ({"k": 9, "form": "rows"}, "form must be one of: values, profiles"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Microaggregation(**parameters)


def test_quantiles_need_one_series_per_subject():
    panel = Panel(rng.normal(size=(24, 5)), subjects=np.repeat(np.arange(12), 2))
    with pytest.raises(ParameterError, match="a third might be one subject's"):
        Microaggregation(k=9, aggregate="quantiles").anonymize(panel)


def test_profiles_refuse_what_they_are_not():
    with pytest.raises(InputError, match="first band is the mean"):
        Profiles(np.ones((2, 3, 1, 1)), np.array([3, 3]), ("q50",), np.arange(3), ("value",))
    with pytest.raises(InputError, match="count of at least 1"):
        Profiles(np.ones((2, 3, 1, 1)), np.array([3, 0]), ("mean",), np.arange(3), ("value",))
    profiles = Profiles(np.ones((2, 3, 1, 1)), np.array([3, 4]), ("mean",), np.arange(3), ("value",))
    with pytest.raises(ValueError, match="read-only"):
        profiles.values[0] = 2.0
