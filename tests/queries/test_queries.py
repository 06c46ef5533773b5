"""Queries over originals and releases against answers worked out series by series."""

import math
from datetime import UTC, date, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.queries import (
    naive_differences,
    naive_normalize,
    naive_range_shares,
    naive_reconstruct,
    naive_shape_distance,
)
from shoal import Panel
from shoal.errors import ParameterError
from shoal.features.sax import Sax, letters, text
from shoal.model import Envelopes, Profiles
from shoal.queries import (
    Combined,
    Difference,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    Ratio,
    prepare,
)

INF = math.inf
FEW = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0])
PLAIN = st.integers(-40, 40).map(lambda i: i / 8)


ONE_TO_FIVE = st.integers(1, 5)


def series(elements, n=ONE_TO_FIVE, length=ONE_TO_FIVE):
    return st.tuples(n, length).flatmap(
        lambda shape: st.lists(
            st.lists(elements, min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
        )
    )


@st.composite
def envelopes(draw):
    """Envelopes of few values, so that ends touch and single values occur, with words of some level."""
    one = np.array(draw(series(FEW)))
    other = one + np.array(
        draw(st.lists(st.sampled_from([0.0, 0.5, 2.0]), min_size=one.size, max_size=one.size))
    ).reshape(one.shape)
    levels = draw(st.lists(st.integers(1, 20), min_size=len(one), max_size=len(one)))
    words = [text(letters(row[None], level))[0] for row, level in zip(one, levels, strict=True)]
    return Envelopes(one, other, levels=np.array(levels), patterns=tuple(words), times=np.arange(one.shape[1]))


@st.composite
def ranges(draw, n_instants):
    chosen = draw(st.lists(st.integers(0, n_instants - 1), min_size=1, unique=True))
    ends = st.tuples(st.one_of(FEW, st.just(-INF)), st.one_of(FEW, st.just(INF))).map(sorted)
    return [(t, *draw(ends)) for t in chosen]


class TestRangeCount:
    @given(st.data())
    def test_over_envelopes_it_equals_naive(self, data):
        published = data.draw(envelopes())
        asked = data.draw(ranges(published.n_instants))
        expected = naive_range_shares(published.low.tolist(), published.high.tolist(), asked)
        assert_allclose(RangeCount(asked).shares(published), expected, rtol=1e-14)
        assert RangeCount(asked).count(published) == pytest.approx(sum(expected))

    @given(st.data())
    def test_over_a_panel_it_is_exact_and_gaps_lie_in_no_range(self, data):
        x = data.draw(series(st.one_of(FEW, st.just(math.nan))))
        asked = data.draw(ranges(len(x[0])))
        expected = [all(lo <= row[t] <= hi for t, lo, hi in asked) for row in x]
        assert RangeCount(asked).matches(Panel(x)).tolist() == expected
        assert RangeCount(asked).count(Panel(x)) == sum(expected)

    def test_over_profiles_it_counts_the_subjects_of_groups_whose_mean_is_inside(self):
        means = np.array([[1.0, 5.0], [2.0, np.nan], [9.0, 5.0]])[:, :, None, None]
        groups = Profiles(means, counts=np.array([10, 20, 40]), bands=("mean",), times=[0, 1], channels=("value",))
        assert RangeCount({0: (0.0, 3.0)}).count(groups) == 30.0
        assert RangeCount({0: (0.0, 3.0), 1: (0.0, INF)}).count(groups) == 10.0
        assert PatternRange([Difference(0, 1, 0.0, INF)]).count(groups) == 10.0

    def test_nothing_is_found_where_nothing_is(self):
        assert RangeCount({0: (7.0, 8.0)}).count(Panel([[1.0], [2.0]])) == 0.0

    def test_the_papers_incomes_are_estimated_inside_table_3(self):
        # 2005 of table 3: four series in [117, 176] and four in [32, 98].
        low, high = [[117.0]] * 4 + [[32.0]] * 4, [[176.0]] * 4 + [[98.0]] * 4
        published = Envelopes(low, high, levels=[1] * 8, patterns=["a"] * 8, times=[2005])
        assert RangeCount({2005: (150.0, 200.0)}).count(published) == pytest.approx(4 * 26 / 59)
        incomes = Panel([[170.0], [145.0], [176.0], [98.0], [117.0], [32.0], [88.0], [71.0]], times=[2005])
        assert RangeCount({2005: (150.0, 200.0)}).count(incomes) == 2.0

    def test_one_channel_as_a_third_dimension_is_the_same(self):
        x = np.arange(6.0).reshape(3, 2)
        asked = RangeCount({1: (1.0, 3.0)})
        assert asked.count(Panel(x[:, :, None])) == asked.count(Panel(x)) == 2.0


@pytest.mark.parametrize(
    ("instant", "zone"),
    [
        ("2024-01-01T12:00", None),
        (datetime(2024, 1, 1, 12), None),
        (np.datetime64("2024-01-01T12:00", "ns"), None),
        ("2024-01-01T13:00+01:00", "Europe/Bratislava"),
        ("2024-01-01T13:00", "Europe/Bratislava"),
        (datetime(2024, 1, 1, 12, tzinfo=UTC), "Europe/Bratislava"),
        (np.datetime64("2024-01-01T12:00", "us"), "Europe/Bratislava"),
    ],
)
def test_instants_are_those_of_the_clock_of_the_data_or_elements_of_its_times(instant, zone):
    times = np.array(["2024-01-01T12:00", "2024-01-01T13:00"], dtype="M8[us]")
    assert RangeCount({instant: (0.0, 1.5)}).count(Panel([[1.0, 2.0]], times=times, timezone=zone)) == 1.0


def test_an_offset_says_nothing_to_data_without_a_zone():
    panel = Panel([[1.0]], times=np.array(["2024-01-01T12:00"], dtype="M8[us]"))
    with pytest.raises(ParameterError, match="The data has no time zone, only clock times"):
        RangeCount({"2024-01-01T13:00+01:00": (0.0, 1.5)}).count(panel)


def test_a_date_is_its_midnight():
    panel = Panel([[1.0]], times=np.array(["2024-01-01"], dtype="M8[us]"))
    assert RangeCount({date(2024, 1, 1): (0.0, 1.5)}).count(panel) == 1.0


class TestPatternRange:
    @given(series(PLAIN, length=st.integers(2, 5)), st.data())
    def test_over_a_panel_it_equals_naive(self, x, data):
        i, j = data.draw(st.permutations(range(len(x[0]))))[:2]
        lo, hi = sorted(data.draw(st.tuples(*[st.integers(-30, 30).map(lambda v: v / 7)] * 2)))
        features = [z[j] - z[i] for z in map(naive_normalize, x)]
        # On the edge of the range rounding may decide; that is not what is asked here.
        near = [min(abs(f - lo), abs(f - hi)) < 1e-9 for f in features]
        found = PatternRange([Difference(i, j, lo, hi)]).matches(Panel(x))
        assert all(edge or got == (lo <= f <= hi) for edge, got, f in zip(near, found, features, strict=True))

    @given(envelopes())
    def test_over_envelopes_it_reads_what_the_words_stand_for(self, published):
        shapes = [naive_reconstruct(w, level) for w, level in zip(published.patterns, published.levels, strict=True)]
        last = published.n_instants - 1
        expected = [-1.0 <= shape[last] - shape[0] <= 0.3 for shape in shapes]
        asked = PatternRange([Difference(0, last, -1.0, 0.3)])
        assert asked.matches(published).tolist() == expected
        assert asked.count(published) == sum(expected)

    def test_ratios_are_of_normalised_values_and_none_where_the_first_is_0(self):
        x = Panel([[0.0, 1.0, 2.0], [1.0, 0.0, 5.0], [3.0, 3.0, 3.0]])
        assert PatternRange([Ratio(0, 2, -1.0 - 1e-12, -1.0 + 1e-12)]).matches(x).tolist() == [True, False, False]
        assert PatternRange([Ratio(1, 2, -INF, INF)]).matches(x).tolist() == [False, True, False]

    def test_all_conditions_must_hold(self):
        x = Panel([[0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
        up, down = Difference(0, 1, 0.1, INF), Difference(1, 2, -INF, -0.1)
        assert PatternRange([up]).count(x) == 2.0
        assert PatternRange([up, down]).matches(x).tolist() == [True, False]

    def test_a_constant_series_is_0_and_one_with_a_gap_has_no_shape(self):
        x = Panel([[0.1, 0.1, 0.1], [1.0, np.nan, 2.0]])
        assert PatternRange([Difference(0, 2, 0.0, 0.0)]).matches(x).tolist() == [True, False]
        assert PatternRange([Difference(0, 2, -INF, INF)]).matches(x).tolist() == [True, False]

    def test_patterns_of_some_instants_are_asked_at_those(self):
        published = Envelopes(
            np.zeros((2, 2)), np.ones((2, 2)), levels=[2, 2], patterns=["ab", "ba"], times=[0, 1], pattern_times=[1, 5]
        )
        assert PatternRange([Difference(1, 5, 0.1, INF)]).matches(published).tolist() == [True, False]
        assert PatternRange([Difference(0, 5, -INF, INF)]).matches(published).tolist() == [True, True]  # estimated
        with pytest.raises(ParameterError, match="1 of its 2 instants that the data does not have"):
            PatternRange([Difference(3, 5, 0.1, INF)]).matches(published)


class TestPatternSimilarity:
    @given(series(PLAIN, n=st.integers(2, 6)))
    def test_distances_are_those_of_all_pairwise_differences(self, x):
        expected = [naive_shape_distance(row, x[0]) for row in x]
        assert_allclose(PatternSimilarity(x[0], within=0.1).distances(Panel(x)), expected, atol=1e-12)

    @given(series(PLAIN, n=st.just(2), length=st.integers(2, 6)))
    def test_the_inner_product_of_differences_is_n_times_that_of_centred_series(self, x):
        a, b = (np.array(row) - np.mean(row) for row in x)
        pairs = np.dot(naive_differences(a.tolist()), naive_differences(b.tolist()))
        assert pairs == pytest.approx(len(a) * np.dot(a, b), abs=1e-9)

    @given(envelopes())
    def test_over_envelopes_it_compares_with_what_the_words_stand_for(self, published):
        shapes = [naive_reconstruct(w, level) for w, level in zip(published.patterns, published.levels, strict=True)]
        asked = PatternSimilarity(published.low[0], within=0.25)
        expected = [naive_shape_distance(shape, published.low[0].tolist()) for shape in shapes]
        assert_allclose(asked.distances(published), expected, atol=1e-12)
        near = [abs(d - 0.25) < 1e-9 for d in expected]
        assert all(n or m == (d <= 0.25) for n, m, d in zip(near, asked.matches(published), expected, strict=True))

    def test_equal_series_are_at_exactly_0(self, rng):
        x = rng.normal(size=(50, 7))
        asked = [PatternSimilarity(row, within=0.0) for row in x]
        ready = prepare(Panel(x))
        assert_array_equal([query.matches(ready) for query in asked], np.eye(50, dtype=bool))

    def test_neither_unit_nor_offset_matters(self, rng):
        x = rng.normal(size=(20, 6))
        asked = PatternSimilarity(x[0], within=0.3)
        for scaled in (3.0 * x + 7.0, 1e130 * x, 1e-200 * x, x + 1e6):
            assert_allclose(asked.distances(Panel(scaled)), asked.distances(Panel(x)), atol=1e-8)

    def test_it_agrees_with_the_similarity_of_words(self, rng):
        x, q = rng.normal(size=(30, 6)), rng.normal(size=6)
        expected = 1.0 - Sax().similarity(x, np.repeat(q[None], 30, axis=0))
        assert_allclose(PatternSimilarity(q, within=1.0).distances(Panel(x)), expected, atol=1e-12)

    def test_constant_series_are_like_each_other_and_halfway_from_the_rest(self):
        x = Panel([[0.1, 0.1, 0.1], [1.0, 2.0, 3.0], [1.0, np.nan, 3.0]])
        assert_array_equal(PatternSimilarity([5.0] * 3, within=0.0).distances(x), [0.0, 1.0, np.nan])
        assert_allclose(PatternSimilarity([1.0, 2.0, 3.0], within=0.0).distances(x), [1.0, 0.0, np.nan])
        assert PatternSimilarity([5.0] * 3, within=2.0).matches(x).tolist() == [True, True, False]

    def test_a_difference_below_the_smallest_normal_number_is_none(self):
        assert PatternSimilarity([1.0, 2.0], within=0.0).distances(Panel([[0.0, 5e-324]])) == 1.0

    def test_the_opposite_shape_is_at_2(self):
        assert PatternSimilarity([1.0, 2.0, 4.0], within=0.0).distances(Panel([[4.0, 3.0, 1.0]])) == pytest.approx(2.0)


class TestCombined:
    @given(envelopes())
    def test_over_envelopes_shares_count_where_the_shape_matches(self, published):
        values = RangeCount({0: (-1.0, 1.0)})
        pattern = PatternSimilarity(published.low[0], within=0.4)
        found = Combined(values, pattern).shares(published)
        assert_array_equal(found, np.where(pattern.matches(published), values.shares(published), 0.0))

    def test_over_a_panel_both_hold(self, rng):
        panel = Panel(rng.normal(size=(60, 4)))
        values, pattern = RangeCount({1: (-1.0, 0.5)}), PatternRange([Difference(0, 3, 0.0, INF)])
        both = values.matches(panel) & pattern.matches(panel)
        assert 0 < both.sum() < 60
        assert_array_equal(Combined(values, pattern).matches(panel), both)
        assert Combined(values, pattern).count(panel) == both.sum()


def test_envelopes_of_no_width_with_exact_words_answer_like_the_panel(rng):
    x = rng.normal(size=(40, 5))
    published = Envelopes(x, x, levels=[20] * 40, patterns=text(letters(x, 20)), times=range(5))
    asked = RangeCount({0: (-0.5, 1.0), 3: (-1.0, 1.0)})
    assert asked.count(published) == asked.count(Panel(x)) > 0


def test_prepared_data_answers_the_same(rng):
    panel = Panel(rng.normal(size=(30, 4)))
    ready = prepare(panel)
    assert prepare(ready) is ready
    for query in (RangeCount({0: (-1.0, 1.0)}), PatternSimilarity(range(4), within=0.5)):
        assert query.count(ready) == query.count(panel)


def test_queries_are_values():
    assert RangeCount({0: (1, 2)}) == RangeCount([(0, 1.0, 2.0)])
    asked = [RangeCount({0: (1, 2)}), PatternRange([Difference(0, 1, 0, 1)]), PatternSimilarity([1, 2], within=1)]
    assert len({*asked, *asked}) == 3


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: RangeCount({}), "at least one instant"),
        (lambda: RangeCount([(0, 1.0, 2.0), (0, 2.0, 3.0)]), "some instant has several"),
        (lambda: RangeCount({0: (2.0, 1.0)}), "the lower one first"),
        (lambda: RangeCount({0: (math.nan, 1.0)}), "the lower one first"),
        (lambda: RangeCount({0.5: (0.0, 1.0)}), "whole number, a datetime or its ISO text"),
        (lambda: RangeCount({"noon": (0.0, 1.0)}), "whole number, a datetime or its ISO text"),
        (lambda: RangeCount({np.datetime64("NaT"): (0.0, 1.0)}), "whole number, a datetime or its ISO text"),
        (lambda: PatternRange([]), "at least one condition"),
        (lambda: PatternRange([(0, 1, 0.0, 1.0)]), "each a Difference or a Ratio"),
        (lambda: Difference(0, 1, 1.0, 0.0), "the lower one first"),
        (lambda: PatternSimilarity([], within=1.0), "sequence of finite numbers"),
        (lambda: PatternSimilarity([1.0, math.inf], within=1.0), "sequence of finite numbers"),
        (lambda: PatternSimilarity([1.0], within=-0.1), "within must be a distance of at least 0"),
        (lambda: PatternSimilarity([1.0], within=math.nan), "within must be a distance of at least 0"),
        (lambda: Combined(PatternSimilarity([1.0], within=1.0), RangeCount({0: (0, 1)})), "in this order"),
        (lambda: RangeCount({9: (0.0, 1.0)}).count(Panel([[1.0]])), "asks for 1 of its 1 instants"),
        (lambda: PatternSimilarity([1.0], within=1.0).count(Panel([[1.0, 2.0]])), "1 values, the shapes .* 2 instants"),
        (lambda: RangeCount({0: (0.0, 1.0)}).count(Panel(np.ones((2, 2, 2)))), "the data has 2 channels"),
        (lambda: RangeCount({0: (0.0, 1.0)}).count(np.ones((2, 2))), "needs a Panel, Envelopes or Profiles"),
        (
            lambda: RangeCount({0: (0.0, 1.0)}).matches(Envelopes([[0.0]], [[1.0]], [1], ["a"], [0])),
            "only how likely it is: ask for shares",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
