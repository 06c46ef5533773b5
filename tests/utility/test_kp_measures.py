"""The measures of the paper on (k, P)-anonymity: value loss, pattern loss, answers to random queries."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.queries import naive_reconstruct, naive_shape_distance, naive_value_loss
from shoal import Panel
from shoal.errors import ParameterError
from shoal.features.sax import letters, text
from shoal.model import Envelopes, Profiles
from shoal.queries import prepare, random_queries
from shoal.utility.pattern_loss import PatternLoss
from shoal.utility.query_error import QueryError
from shoal.utility.value_loss import ValueLoss

KINDS = ["range", "pattern-range", "pattern-similarity", "combined"]


def release(x, size=4, level=4, coarse=()):
    """Envelopes of neighbours in the order of the first instant, with the word of the first of each two.

    Rows in `coarse` have the word of level 1, which says nothing.
    """
    order = np.argsort(x[:, 0], kind="stable")
    group = np.empty(len(x), dtype=int)
    group[order] = np.arange(len(x)) // size
    low, high = (np.array([f(x[group == g], axis=0) for g in group]) for f in (np.min, np.max))
    levels = [1 if i in coarse else level for i in range(len(x))]
    words = [text(letters(x[[i - i % 2]], levels[i]))[0] for i in range(len(x))]
    return Envelopes(low, high, levels=levels, patterns=words, times=np.arange(x.shape[1]))


@pytest.fixture
def panel(rng):
    return Panel(np.cumsum(rng.normal(size=(60, 6)), axis=1))


@st.composite
def rows(draw):
    n, length = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    values = st.one_of(st.sampled_from([0.0, 0.1, 1.0]), st.integers(-30, 30).map(lambda i: i / 8))
    return np.array(draw(st.lists(values, min_size=n * length, max_size=n * length))).reshape(n, length)


class TestValueLoss:
    @given(rows(), rows())
    def test_it_equals_naive(self, x, y):
        n, length = min(len(x), len(y)), min(x.shape[1], y.shape[1])
        low, high = (f(x[:n, :length], y[:n, :length]) for f in (np.minimum, np.maximum))
        published = Envelopes(low, high, levels=[1] * n, patterns=["a" * length] * n, times=range(length))
        expected = [naive_value_loss(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        assert_allclose(ValueLoss().per_series(published), expected)
        score = ValueLoss().measure(Panel(low), published)
        assert score.value == pytest.approx(sum(expected) / n)
        assert (score.goal, score.range) == ("lower", (0.0, math.inf))

    def test_ranges_of_no_width_lose_nothing(self, panel):
        published = Envelopes(panel.values, panel.values, [1] * 60, ["a" * 6] * 60, range(6))
        assert ValueLoss().measure(panel, published).value == 0.0

    def test_other_forms_are_refused(self, panel):
        with pytest.raises(ParameterError, match="measures the width of envelopes"):
            ValueLoss().measure(panel, panel)


class TestPatternLoss:
    @given(rows(), st.sampled_from([1, 2, 3, 5, 20]))
    def test_it_equals_naive(self, x, level):
        words = text(letters(x, level))[::-1]
        published = Envelopes(x, x, levels=[level] * len(x), patterns=words, times=range(x.shape[1]))
        shapes = [naive_reconstruct(word, level) for word in words]
        expected = [naive_shape_distance(a, b) for a, b in zip(x.tolist(), shapes, strict=True)]
        assert_allclose(PatternLoss().per_series(Panel(x), published), expected, atol=1e-12)
        score = PatternLoss().measure(Panel(x), published)
        assert score.value == pytest.approx(sum(expected) / len(x), abs=1e-12)
        assert 0.0 <= score.value <= 2.0

    def test_finer_words_lose_less(self, panel):
        loss = [PatternLoss().measure(panel, release(panel.values, level=level)).value for level in (1, 2, 20)]
        assert loss[0] == 1.0
        assert loss[0] > loss[1] > loss[2]

    def test_a_constant_series_loses_nothing_with_any_word_that_says_so(self):
        x = np.full((2, 3), 0.1)
        published = Envelopes(x, x, levels=[1, 5], patterns=["aaa", "ccc"], times=range(3))
        assert PatternLoss().per_series(Panel(x), published).tolist() == [0.0, 0.0]
        moving = Envelopes(x, x, levels=[1, 5], patterns=["aaa", "cca"], times=range(3))
        assert PatternLoss().per_series(Panel(x), moving).tolist() == [0.0, 1.0]

    def test_a_difference_below_the_smallest_normal_number_is_none(self):
        assert PatternLoss().measure(Panel([[0.0, 5e-324]]), Panel([[1.0, 2.0]])).value == 1.0

    def test_words_of_some_instants_are_compared_there(self):
        x = np.array([[0.0, 1.0, 9.0, 2.0]])
        published = Envelopes(x[:, :2], x[:, :2], [3], ["bca"], times=[0, 1], pattern_times=[1, 2, 3])
        expected = naive_shape_distance([1.0, 9.0, 2.0], naive_reconstruct("bca", 3))
        assert PatternLoss().measure(Panel(x), published).value == pytest.approx(expected)

    def test_rows_say_which_original_each_published_series_is(self, panel):
        order = np.random.default_rng(2).permutation(60)[:40]
        assert PatternLoss().per_series(panel, Panel(panel.values[order]), rows=order).tolist() == [0.0] * 40

    def test_published_values_are_measured_by_their_shape(self, panel, rng):
        values = panel.values + rng.normal(size=panel.values.shape)
        expected = [naive_shape_distance(a, b) for a, b in zip(panel.values.tolist(), values.tolist(), strict=True)]
        assert_allclose(PatternLoss().per_series(panel, Panel(values)), expected, atol=1e-12)
        assert PatternLoss().measure(panel, Panel(3.0 * panel.values)).value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
class TestQueryError:
    def test_series_published_alike_are_asked_once_and_all_counted(self, panel, kind):
        x = panel.values.copy()
        x[::7] = 0.1
        published = release(x, level=20, coarse=range(0, 60, 5))
        tolerance = PatternLoss().measure(Panel(x), published).value
        before, after = prepare(Panel(x)), prepare(published)
        asked = random_queries(Panel(x), 300, kind, seed=5, tolerance=tolerance)
        found = QueryError(kind, n_queries=300, seed=5).answers(Panel(x), published)
        assert_array_equal(found.actual, [query.count(before) for query in asked])
        assert_allclose(found.estimated, [query.count(after) for query in asked])
        assert_allclose(found.common, [np.sum(query.matches(before) * query.shares(after)) for query in asked])

    def test_the_score_is_the_papers_mean(self, panel, kind):
        published = release(panel.values)
        found = QueryError(kind, n_queries=80).answers(panel, published)
        score = QueryError(kind, n_queries=80).measure(panel, published)
        triples = zip(found.actual.tolist(), found.estimated.tolist(), found.common.tolist(), strict=True)
        if kind in ("range", "combined"):
            expected, goal = [abs(actual - estimated) / actual for actual, estimated, _ in triples], "lower"
        else:
            expected, goal = [common / estimated if estimated else 0.0 for _, estimated, common in triples], "higher"
        assert score.value == pytest.approx(sum(expected) / 80)
        assert score.goal == goal
        assert score.range[0] <= score.value <= score.range[1]
        assert (found.recall <= 1.0).all()

    def test_the_originals_answer_perfectly(self, panel, kind):
        measure = QueryError(kind, n_queries=60)
        perfect = 0.0 if kind in ("range", "combined") else 1.0
        assert measure.measure(panel, panel).value == perfect
        assert measure.measure(panel, release(panel.values)).value != perfect
        assert (measure.answers(panel, panel).recall == 1.0).all()

    def test_suppressed_series_count_among_the_originals_and_are_not_found(self, panel, kind):
        kept = np.arange(0, 60, 3)
        found = QueryError(kind, n_queries=60).answers(panel, Panel(panel.values[kept]), rows=kept)
        everyone = QueryError(kind, n_queries=60).answers(panel, panel)
        assert_array_equal(found.common, found.estimated)
        assert (found.estimated <= found.actual).all()
        assert found.estimated.sum() < found.actual.sum()
        if kind in ("range", "pattern-range"):
            assert_array_equal(found.actual, everyone.actual)

    def test_order_of_rows_and_times_in_the_release_do_not_matter(self, panel, kind):
        published = release(panel.values)
        order = np.random.default_rng(8).permutation(60)
        shuffled = Envelopes(
            published.low[order],
            published.high[order],
            published.levels[order],
            tuple(published.patterns[i] for i in order),
            published.times,
        )
        measure = QueryError(kind, n_queries=40)
        expected = measure.measure(panel, published).value
        assert measure.measure(panel, shuffled, rows=order).value == pytest.approx(expected)

    def test_ranges_and_letters_that_were_not_published_are_estimated(self, panel, kind):
        whole = release(panel.values)
        words = [word[2:] for word in whole.patterns]
        ends = whole.low[:, :4], whole.high[:, :4]
        part = Envelopes(*ends, whole.levels, words, times=range(4), pattern_times=range(2, 6))
        measure = QueryError(kind, n_queries=40, tolerance=0.05)
        assert measure.measure(panel, part) == measure.measure(panel, prepare(part).data)
        assert measure.measure(panel, part) != measure.measure(panel, whole)

    def test_constant_and_few_series_are_no_obstacle(self, kind):
        for x in (np.full((6, 3), 0.1), np.array([[1.0, 2.0]]), np.repeat([[0.0, 1.0], [1.0, 0.0]], 4, axis=0)):
            score = QueryError(kind, n_queries=20).measure(Panel(x), release(x))
            assert score.range[0] <= score.value <= score.range[1]

    def test_releases_are_asked_the_same_under_the_same_tolerance(self, panel, kind):
        fine, coarse = release(panel.values, level=20), release(panel.values, size=20, level=2)
        first, second = (QueryError(kind, n_queries=50, tolerance=0.03).answers(panel, p) for p in (fine, coarse))
        assert_array_equal(first.actual, second.actual)


def test_an_answer_that_finds_nothing_has_a_precision_of_0():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 3.0]])
    published = Envelopes(x, x, levels=[2] * 3, patterns=["ba", "ba", "ab"], times=[0, 1])
    found = QueryError("pattern-range", n_queries=30).answers(Panel(x), published)
    assert (found.precision == 0.0).all()
    assert (found.estimated == 0.0).any()


def test_one_instant_has_ranges_and_similar_shapes_only():
    x = Panel([[1.0], [2.0]])
    for kind in ("range", "pattern-similarity"):
        assert QueryError(kind, n_queries=5).measure(x, x).value in (0.0, 1.0)
    for kind in ("pattern-range", "combined"):
        with pytest.raises(ParameterError, match=r"two instants where patterns are asked for; .* and 1 instants"):
            QueryError(kind, n_queries=5).measure(x, x)


@pytest.mark.parametrize("measure", [PatternLoss(), QueryError(n_queries=5)])
class TestRefusals:
    x = Panel([[1.0, 2.0]] * 3)

    @pytest.mark.parametrize(
        ("original", "published", "kept", "message"),
        [
            (x, Panel([[1.0, 2.0]] * 2), None, "3 series were given and 2 published"),
            (x, Panel([[1.0, 2.0]] * 2), [0, 0], "2 different positions"),
            (x, Panel([[1.0, 2.0]] * 2), [0, 3], "positions that the original does not have; it has 3"),
            (x, Panel([[1.0, np.nan]] * 3), None, "3 gaps"),
            (Panel(np.ones((3, 2, 2))), x, None, "2 channels"),
            (
                x,
                Profiles(np.ones((3, 2, 1, 1)), np.array([3] * 3), ("mean",), [0, 1], ("value",)),
                None,
                "needs envelopes or published values",
            ),
        ],
    )
    def test_what_cannot_be_compared_is_refused(self, measure, original, published, kept, message):
        with pytest.raises(ParameterError, match=message):
            measure.measure(original, published, rows=kept)


def test_instants_that_one_has_and_the_other_lacks_are_refused():
    x, other = Panel([[1.0, 2.0]] * 3), Panel([[1.0, 2.0]] * 3, times=[0, 7])
    with pytest.raises(ParameterError, match="The release has 1 of 2 instants that the original lacks"):
        PatternLoss().measure(x, other)
    with pytest.raises(ParameterError, match="The release lacks 1 of the 2 instants of the original"):
        QueryError(n_queries=5).measure(x, other)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "magic"}, "kind must be one of range, pattern-range"),
        ({"n_queries": 0}, "n_queries of at least 1"),
        ({"seed": -1}, "seed of at least 0"),
        ({"tolerance": -0.1}, "tolerance must be a distance of at least 0"),
    ],
)
def test_impossible_parameters_are_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        QueryError(**arguments)
