"""Ranges and letters that were not published: estimated soundly, as an oracle does, or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.estimation import INF, naive_bounds
from shoal import KP, Panel, simulate
from shoal.errors import InputError, ParameterError
from shoal.features.sax import letters, parse, text
from shoal.model import Envelopes
from shoal.queries import (
    Combined,
    Difference,
    PatternRange,
    PatternSimilarity,
    RangeCount,
    complete,
    estimate,
    judge_estimation,
    prepare,
)
from strategies import panels_with_k

CASES = {  # which of six instants have ranges, and which letters
    "contained, ranges missing": ("0:3", None),
    "contained, letters missing": (None, "0,2,5"),
    "overlap": ("0:4", "2:6"),
    "one in common": ("0:3", "2:6"),
    "some in neither": ("0:3", "1:5"),
    "equal, some in neither": ("1:4", "1:4"),
}
EVERY_CASE = pytest.mark.parametrize(("ranges", "words"), CASES.values(), ids=list(CASES))


def walks(n, seed, length=6):
    return np.random.default_rng(seed).normal(size=(n, length)).cumsum(axis=1)


def few_shapes(n, seed, length=6):
    rng = np.random.default_rng(seed)
    shapes = rng.normal(size=(4, length))
    return rng.gamma(2.0, size=(n, 1)) * (shapes[rng.integers(4, size=n)] + 0.1 * rng.normal(size=(n, length)))


def few_values(n, seed, length=6):
    return np.random.default_rng(seed).integers(0, 3, size=(n, length)).astype(float)


def spikes(n, seed, length=6):
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n, length)) < 0.15, 100.0 * rng.random((n, length)), 0.0)


def far_away(n, seed, length=6):
    return 1e9 + walks(n, seed, length)


def own_words(x, published, rows):
    """Whether the published word is the series' own."""
    columns = np.searchsorted(np.arange(x.shape[1]), published.pattern_times)
    found = [letters(x[[row]], int(level))[0, columns] for row, level in zip(rows, published.levels, strict=True)]
    return np.array([text(word[None])[0] for word in found]) == np.array(published.patterns)


def published_of(x, k, p, ranges, words, algorithm="kapra"):
    method = KP(words="own", k=k, p=p, algorithm=algorithm, envelope_instants=ranges, pattern_instants=words)
    candidate = method.anonymize(Panel(x))
    rows = np.arange(len(x)) if candidate.private.rows is None else candidate.private.rows
    return candidate.published, rows


def assert_sound(x, published, rows):
    """Published parts stay, and values lie in their ranges unless an end was assumed or the word is another's."""
    found = estimate(published)
    whole = found.envelopes
    places = {time: place for place, time in enumerate(whole.times.tolist())}
    ranged, lettered = ([places[t] for t in times.tolist()] for times in (published.times, published.pattern_times))
    assert_array_equal(whole.low[:, ranged], published.low)
    assert_array_equal(whole.high[:, ranged], published.high)
    assert_array_equal(parse(whole.patterns)[:, lettered], parse(published.patterns))
    assert_array_equal(whole.levels, published.levels)
    assert (parse(whole.patterns) < whole.levels[:, None]).all()
    assert not found.assumed[:, ranged].any()
    own = own_words(x, published, rows)
    values = x[rows][:, whole.times]
    inside = (whole.low <= values) & (values <= whole.high)
    assert (inside | found.assumed)[own].all()
    return found, own


@EVERY_CASE
@pytest.mark.parametrize("kind", [walks, few_shapes, few_values, spikes, far_away])
def test_originals_lie_in_their_estimated_ranges(kind, ranges, words):
    n_told = 0
    for seed in range(6):
        x = kind(120, seed)
        published, rows = published_of(x, 4 + seed % 3, 2 + seed % 2, ranges, words)
        found, own = assert_sound(x, published, rows)
        assert own.all()  # kapra suppresses, so nobody gets another's word
        n_told += np.count_nonzero(~found.assumed[:, found.estimated_ranges])
    assert n_told or not found.estimated_ranges.any() or kind is few_values


@given(case=panels_with_k(gaps=False, channels=False, largest_k=4), data=st.data())
def test_originals_lie_in_their_estimated_ranges_on_hard_panels(case, data):
    x, k = case
    x = np.abs(x)
    instants = range(x.shape[1])
    ranges = data.draw(st.sets(st.sampled_from(instants), min_size=1))
    words = data.draw(st.sets(st.sampled_from(sorted(ranges)), min_size=1)) | data.draw(
        st.sets(st.sampled_from(instants))
    )
    for algorithm in ("kapra", "naive"):
        published, rows = published_of(x, k, 2, sorted(ranges), sorted(words), algorithm)
        assert_sound(x, published, rows)


def facts_of(published, times):
    """Per series the ranges and letters at all instants, None where there is none, for the oracle."""
    ranged, lettered = published.times.tolist(), published.pattern_times.tolist()
    words = parse(published.patterns).tolist()
    for row in range(len(published)):
        ends = dict(zip(ranged, zip(published.low[row], published.high[row], strict=True), strict=True))
        own = dict(zip(lettered, words[row], strict=True))
        yield [ends.get(t) for t in times.tolist()], [own.get(t) for t in times.tolist()]


@EVERY_CASE
@pytest.mark.parametrize("n", [40, 300])
def test_estimates_are_those_of_the_oracle(ranges, words, n):
    for seed in range(3):
        published, _ = published_of(few_shapes(n, seed), 4, 2, ranges, words)
        found = estimate(published)
        whole, hull = found.envelopes, (published.low.min(), published.high.max())
        facts = list(facts_of(published, whole.times))
        near = 1e-4 * (hull[1] - hull[0])
        for row in np.random.default_rng(seed).choice(len(published), 12, replace=False):
            level = int(published.levels[row])
            ends, own = facts[row]
            bounds = [naive_bounds(ends, own, level, published.word_instants, letter) for letter in range(level)]
            closed = [
                (min(hull[0], high) if low == -INF else low, max(hull[1], low) if high == INF else high)
                for low, high in bounds
            ]
            for t in np.flatnonzero(found.estimated_ranges):
                assert found.assumed[row, t] == (-INF in bounds[own[t]] or INF in bounds[own[t]])
                assert_allclose([whole.low[row, t], whole.high[row, t]], closed[own[t]], rtol=1e-3, atol=near)
            chosen = parse([whole.patterns[row]])[0]
            for t in np.flatnonzero(found.estimated_letters):
                common = [min(ends[t][1], high) - max(ends[t][0], low) for low, high in closed]
                assert common[chosen[t]] == pytest.approx(max(common), abs=near)


def one(low, high, level, word, times, pattern_times, **more):
    return Envelopes([low], [high], levels=[level], patterns=[word], times=times, pattern_times=pattern_times, **more)


class TestRanges:
    def test_lemma_1_bounds_a_value_by_those_with_lower_and_higher_letters(self):
        whole = complete(one([1.0, 9.0], [2.0, 10.0], 3, "acb", [0, 1], [0, 1, 2]))
        assert 1.0 <= whole.low[0, 2] < whole.high[0, 2] <= 10.0

    def test_the_programs_bound_what_the_lemma_leaves_open(self):
        # Letters c and a of level 3 at exact values: 2 * 0.43 deviations are at most 8.
        found = estimate(one([1.0, 9.0], [1.0, 9.0], 3, "aca", [0, 1], [0, 1, 2]))
        assert not found.assumed.any()
        deviation = 8.0 / (2 * 0.4307273)
        # The outermost letter of three instants goes down to -√2 deviations.
        assert found.envelopes.low[0, 2] >= 9.0 - deviation * (0.4307273 + 2**0.5)
        assert found.envelopes.high[0, 2] <= 9.0

    def test_what_nothing_bounds_is_taken_from_everything_published(self):
        low, high = [[3.0], [7.0]], [[4.0], [8.0]]
        published = Envelopes(low, high, levels=[1, 1], patterns=["aa", "aa"], times=[0], pattern_times=[0, 1])
        found = estimate(published)
        assert found.assumed.tolist() == [[False, True], [False, True]]
        assert found.envelopes.low.tolist() == [[3.0, 3.0], [7.0, 3.0]]
        assert found.envelopes.high.tolist() == [[4.0, 8.0], [8.0, 8.0]]

    def test_or_from_what_is_published_of_the_series(self):
        low, high = [[3.0], [7.0]], [[4.0], [8.0]]
        published = Envelopes(low, high, levels=[1, 1], patterns=["aa", "aa"], times=[0], pattern_times=[0, 1])
        found = estimate(published, open_ends="series")
        assert found.assumed.tolist() == [[False, True], [False, True]]
        assert found.envelopes.low.tolist() == [[3.0, 3.0], [7.0, 7.0]]
        assert found.envelopes.high.tolist() == [[4.0, 4.0], [8.0, 8.0]]
        with pytest.raises(ParameterError, match="open_ends must be one of: release, series"):
            complete(published, open_ends="nothing")

    def test_more_instants_behind_a_word_make_its_outermost_letters_reach_further(self):
        few, many = (
            complete(one([1.0, 9.0], [1.0, 9.0], 3, "aca", [0, 1], [0, 1, 2], word_instants=n)) for n in (3, 30)
        )
        assert many.low[0, 2] < few.low[0, 2]

    def test_where_ranges_and_word_contradict_each_other_nothing_is_concluded(self):
        honest = few_shapes(200, 1)
        published, _ = published_of(honest, 4, 2, "0:4", None)
        low, high = published.low.copy(), published.high.copy()
        words = list(published.patterns)
        low[7], high[7], words[7] = [5.0, 4.0, 3.0, 2.0], [5.0, 4.0, 3.0, 2.0], "abcdef"  # falls, and says it rises
        levels = published.levels.copy()
        levels[7] = 6
        spoilt = Envelopes(low, high, levels, tuple(words), published.times, published.pattern_times)
        found, before = estimate(spoilt), estimate(published)
        assert found.assumed[7, 4:].all()
        others = np.arange(len(published)) != 7
        sure = ~(found.assumed | before.assumed)[others]
        assert_allclose(found.envelopes.low[others][sure], before.envelopes.low[others][sure], atol=1e-6)

    def test_a_constant_series_is_possible_at_its_value(self):
        x = np.vstack([np.full((6, 4), 5.0), walks(30, 1, 4)])
        published, rows = published_of(x, 3, 3, "0:2", None)
        assert_sound(x, published, rows)

    def test_one_class_is_estimated_once_and_alike(self):
        published, _ = published_of(few_shapes(300, 2), 6, 3, "0:4", "2:6")
        whole = complete(published)
        keys = [
            (*low, *high, level, word)
            for low, high, level, word in zip(
                published.low.tolist(), published.high.tolist(), published.levels, published.patterns, strict=True
            )
        ]
        after = [(*low, *high, word) for low, high, word in zip(whole.low, whole.high, whole.patterns, strict=True)]
        assert len(set(keys)) == len(set(after)) < len(keys)


class TestLetters:
    def test_the_letter_whose_range_overlaps_most_is_taken(self):
        # One is low and one is high; the third is like the first, the fourth like the second.
        published = one([1.0, 9.0, 1.0, 9.5], [1.5, 9.5, 1.5, 10.0], 2, "ab", [0, 1, 2, 3], [0, 1])
        assert complete(published).patterns == ("abab",)

    def test_level_1_has_one_letter(self):
        assert complete(one([1.0, 2.0], [3.0, 4.0], 1, "a", [0, 1], [0])).patterns == ("aa",)

    def test_of_equal_overlaps_the_lower_letter_is_taken(self):
        assert complete(one([1.0, 1.0], [2.0, 2.0], 2, "b", [0, 1], [0])).patterns == ("ba",)

    def test_ranges_of_one_value_get_the_letter_they_lie_in(self):
        x = np.repeat(walks(1, 3), 8, axis=0)
        published, _ = published_of(x, 4, 4, None, "0:5")
        assert complete(published).patterns[0][-1] in "abcdefghijklmnopqrst"


def test_what_has_both_everywhere_is_returned_as_it_is():
    published, _ = published_of(walks(60, 1), 4, 2, None, None)
    assert complete(published) is published


def test_what_has_nothing_in_common_is_refused():
    disjoint = one([1.0], [2.0], 2, "ab", [0], [1, 2])
    with pytest.raises(
        ParameterError, match=r"no instant in common: nothing ties letters to values.*Ask the publisher"
    ):
        complete(disjoint)
    with pytest.raises(ParameterError, match="no instant in common"):
        RangeCount({0: (0.0, 1.0)}).count(disjoint)


@pytest.mark.parametrize(("level", "word"), [(2, "ac"), (21, "ab")])
def test_letters_beyond_their_level_are_refused(level, word):
    with pytest.raises(InputError, match="a letter beyond its level, or a level above 20"):
        complete(one([1.0], [2.0], level, word, [0], [0, 1]))


def test_words_of_fewer_instants_than_are_published_are_refused():
    with pytest.raises(InputError, match="Words cannot be formed over 2 instants if 3 are published"):
        one([1.0], [2.0], 2, "aab", [0], [0, 1, 2], word_instants=2)


def test_everything_else_of_a_release_is_kept():
    times = np.datetime64("2024-01-01") + np.arange(6) * np.timedelta64(1, "h")
    panel = Panel(walks(40, 2), times=times, timezone="Europe/Paris")
    published = KP(words="own", k=4, p=2, envelope_instants="0:4", pattern_instants="3:6").anonymize(panel).published
    whole = complete(published)
    assert_array_equal(whole.times, panel.times)
    assert whole.timezone == "Europe/Paris"
    assert_array_equal(whole.ids, published.ids)
    assert_array_equal(whole.subject_codes, published.subject_codes)
    assert complete(whole) is whole


@pytest.mark.parametrize("algorithm", ["kapra", "naive"])
def test_queries_of_all_kinds_are_answered_for_all_instants(algorithm):
    x = few_shapes(400, 5)
    published, _ = published_of(x, 6, 3, "0:4", "2:6", algorithm)
    whole = complete(published, open_ends="series")
    values, shape = RangeCount({5: (0.0, 1.0), 1: (-9.0, 9.0)}), PatternRange([Difference(0, 5, 0.0, INF)])
    like = PatternSimilarity(x[0], within=0.5)
    for query in (values, shape, like, Combined(values, shape)):
        assert query.count(published) == query.count(whole) == query.count(prepare(published))
    with pytest.raises(ParameterError, match="Ask for published instants"):
        RangeCount({9: (0.0, 1.0)}).count(published)


def test_an_instant_of_which_nothing_is_published_is_refused():
    published, _ = published_of(few_shapes(60, 5), 6, 3, "0:3", "2:5")
    with pytest.raises(ParameterError, match="asks for 1 of its 2 instants that the data does not have"):
        RangeCount({4: (0.0, 1.0), 5: (0.0, 1.0)}).count(published)


class TestQuality:
    def test_letters_are_better_than_chance_and_values_inside(self):
        panel = simulate.meters(300, days=1, step="3h", start="2024-01-08", seed=7)
        method = KP(words="own", k=6, p=3, envelope_instants="0:5", pattern_instants="2:8")
        candidate = method.anonymize(panel)
        found = judge_estimation(panel, candidate.published, rows=candidate.private.rows)
        assert (found.ranges, found.letters) == (3 * len(candidate.published), 2 * len(candidate.published))
        assert found.right > found.by_chance
        assert found.inside > 0.9
        assert 0.0 <= found.assumed <= 1.0
        assert found.width > 0.0

    def test_where_nothing_is_estimated_there_is_nothing_to_judge(self):
        x = walks(60, 1)
        published, rows = published_of(x, 4, 2, None, None)
        found = judge_estimation(Panel(x), published, rows=rows)
        assert (found.ranges, found.letters) == (0, 0)
        assert np.isnan([found.inside, found.assumed, found.width, found.right, found.by_chance]).all()

    def test_originals_with_gaps_are_refused(self):
        published, _ = published_of(walks(60, 1), 4, 2, None, None)
        with pytest.raises(ParameterError, match="one channel without gaps"):
            judge_estimation(Panel([[1.0, np.nan]]), published)
