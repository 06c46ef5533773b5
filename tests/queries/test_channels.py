"""Queries on several channels: every condition names one, and all must be met."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.queries import naive_normalize, naive_range_shares, naive_reconstruct, naive_shape_distance
from shoal import KP, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.model import Envelopes
from shoal.queries import (
    Combined,
    Difference,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    Ratio,
    prepare,
    random_queries,
)
from shoal.utility import QueryError

CHANNELS = ("kwh", "degrees")
VALUES = st.sampled_from([0.0, 1.0, 2.0, 3.5, np.nan])
ENDS = st.tuples(st.sampled_from([-1.0, 0.5, 1.0]), st.sampled_from([1.0, 2.5, 9.0]))
KINDS = ("range", "pattern-range", "pattern-similarity", "combined")


@st.composite
def conditions(draw, n_instants):
    """Ranges of some instants and channels, as (instant, low, high, channel)."""
    places = draw(
        st.lists(st.tuples(st.integers(0, n_instants - 1), st.sampled_from(CHANNELS)), min_size=1, unique=True)
    )
    return [(t, *draw(ENDS), channel) for t, channel in places]


def columns(asked, n_instants):
    """The same over columns of one channel after another."""
    return [(t + n_instants * CHANNELS.index(channel), low, high) for t, low, high, channel in asked]


def beside(x):
    """One channel after another, (series, channels x instants)."""
    return np.moveaxis(x, 2, 1).reshape(len(x), -1)


@given(data=st.data(), n=st.integers(1, 4), n_instants=st.integers(1, 3))
def test_ranges_of_a_panel_equal_the_naive_count(data, n, n_instants):
    x = np.array(data.draw(st.lists(VALUES, min_size=2 * n * n_instants, max_size=2 * n * n_instants)))
    x = x.reshape(n, n_instants, 2)
    asked = data.draw(conditions(n_instants))
    found = RangeCount(asked).shares(Panel(x, channels=CHANNELS))
    assert_array_equal(found, naive_range_shares(beside(x), beside(x), columns(asked, n_instants)))


@given(data=st.data(), n_instants=st.integers(1, 3))
def test_ranges_of_envelopes_equal_the_naive_share(data, n_instants):
    dice = np.random.default_rng(data.draw(st.integers(0, 99)))
    low = dice.integers(0, 3, (4, n_instants, 2)).astype(float)
    high = low + dice.integers(0, 3, low.shape)
    words = ["a" * 2 * n_instants] * 4
    published = Envelopes(low, high, [1] * 4, words, times=np.arange(n_instants), channels=CHANNELS)
    asked = data.draw(conditions(n_instants))
    expected = naive_range_shares(beside(low), beside(high), columns(asked, n_instants))
    assert_allclose(RangeCount(asked).shares(published), expected, rtol=1e-12)


def two_channels(n=40, n_instants=5, seed=1):
    values = np.random.default_rng(seed).normal(size=(n, n_instants, 2)) * [1.0, 100.0]
    return Panel(values, channels=CHANNELS)


def released(panel):
    published = KP(k=6, p=3).anonymize(panel).published
    assert isinstance(published, Envelopes)
    return published


@pytest.mark.parametrize("channel", CHANNELS)
def test_shapes_are_those_of_the_channel_asked_for(channel):
    panel = two_channels()
    place = CHANNELS.index(channel)
    rows = panel.values[:, :, place]
    like = PatternSimilarity(rows[3], within=0.3, channel=channel)
    near = [naive_shape_distance(row, rows[3]) <= 0.3 for row in rows]
    assert 1 < sum(near) < len(near)
    assert like.matches(panel).tolist() == near
    shapes = np.array([naive_normalize(row) for row in rows])
    change = PatternRange([Difference(0, 3, 0.5, 9.0, channel=channel), Ratio(1, 2, -2.0, 1.0, channel=channel)])
    expected = (shapes[:, 3] - shapes[:, 0] >= 0.5) & (np.abs(shapes[:, 2] / shapes[:, 1] + 0.5) <= 1.5)
    assert_array_equal(change.matches(panel), expected)
    published = released(panel)
    words = [naive_reconstruct(w[5 * place : 5 * place + 5], 20) for w in published.patterns]
    assert (published.levels == 20).all()
    found = like.distances(published)
    assert_allclose(found, [naive_shape_distance(word, rows[3]) for word in words], atol=1e-6)


def test_a_combined_query_may_ask_for_values_of_one_channel_and_the_shape_of_another():
    panel = two_channels()
    values, shape = RangeCount([(0, 0.0, 9.0, "kwh")]), PatternSimilarity(panel.values[0, :, 1], 0.6, "degrees")
    both = Combined(values, shape)
    for data in (panel, released(panel)):
        assert_array_equal(both.shares(data), values.shares(data) * shape.shares(data))
    assert both.count(panel) > 0


def test_group_profiles_are_asked_by_their_means():
    panel = two_channels()
    profiles = Microaggregation(k=4, form="profiles").anonymize(panel).published
    for place, channel in enumerate(CHANNELS):
        above = profiles.values[:, 0, place, 0] >= 0.0
        assert RangeCount([(0, 0.0, np.inf, channel)]).count(profiles) == profiles.counts[above].sum()


def test_what_was_not_published_of_a_channel_is_estimated():
    published = KP(k=6, p=3, envelope_instants="0:3", pattern_instants="1:5").anonymize(two_channels()).published
    for channel in CHANNELS:
        own = RangeCount({4: (0.0, 1.0)}).shares(published.channel(channel))
        assert_array_equal(RangeCount([(4, 0.0, 1.0, channel)]).shares(published), own)
    assert prepare(published).all_times.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_random_queries_ask_for_every_channel_and_some_original_answers(kind):
    panel = two_channels()
    asked = random_queries(panel, 60, kind, tolerance=0.1)
    assert min(query.count(panel) for query in asked) >= 1.0
    assert {channel for query in asked for channel in channels_of(query)} == set(CHANNELS)


def channels_of(query):
    if isinstance(query, Combined):
        return {*channels_of(query.values), *channels_of(query.pattern)}
    if isinstance(query, RangeCount):
        return {one.channel for one in query.ranges}
    return {query.channel} if isinstance(query, PatternSimilarity) else {one.channel for one in query.conditions}


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_queries_is_that_of_asking_one_by_one(kind):
    panel = two_channels()
    measure = QueryError(kind, n_queries=40, tolerance=0.1)
    for published in (released(panel), Microaggregation(k=4).anonymize(panel).published):
        answers = measure.answers(panel, published)
        for place, query in enumerate(random_queries(panel, 40, kind, tolerance=0.1)):
            shares, actual = query.shares(published), query.shares(panel)
            assert answers.actual[place] == actual.sum()
            assert answers.estimated[place] == pytest.approx(shares.sum())
            assert answers.common[place] == pytest.approx((shares * actual).sum())
    assert measure.measure(panel, panel).value == (0.0 if measure.goal == "lower" else 1.0)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (RangeCount({0: (0.0, 1.0)}), "the data has 2 channels. Name one: kwh, degrees"),
        (PatternSimilarity([1.0] * 5, 0.1), "the data has 2 channels. Name one: kwh, degrees"),
        (PatternRange([Difference(0, 1, 0.0, 1.0)]), "the data has 2 channels. Name one: kwh, degrees"),
        (RangeCount([(0, 0.0, 1.0, "heat")]), "no channel 'heat'"),
    ],
)
def test_a_condition_names_a_channel_that_there_is(query, words):
    with pytest.raises(ParameterError, match=words):
        query.count(two_channels())


def test_a_channel_that_is_not_there_is_refused_of_one_channel_too():
    with pytest.raises(ParameterError, match="no channel 'heat'"):
        RangeCount([(0, 0.0, 1.0, "heat")]).count(Panel([[1.0]]))


def test_an_instant_has_one_range_in_each_channel():
    RangeCount([(0, 0.0, 1.0, "kwh"), (0, 0.0, 1.0, "degrees")])
    with pytest.raises(ParameterError, match="one range for each instant and channel; some instant has several"):
        RangeCount([(0, 0.0, 1.0, "kwh"), (0, 2.0, 3.0, "kwh")])
