"""The yardsticks of experiments/: they keep what they promise, and do what their papers describe."""

import importlib.util
import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

from shoal import NLK, Events, LDiversity, Panel, simulate
from shoal.errors import ParameterError
from shoal.features.sax import letters, parse, text
from shoal.queries import WindowCount, random_windows
from shoal.utility import PatternLoss, QueryError, ValueLoss

pytestmark = pytest.mark.soak

EXPERIMENTS = Path(__file__).resolve().parents[1] / "experiments"


def load(name):
    spec = importlib.util.spec_from_file_location(f"yardstick_{name}", EXPERIMENTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TGA, BFP2KA, ENUMERATION = load("tga"), load("bfp2ka"), load("nlk_paper_enumeration")
GROWING = load("growing_panel")

KINDS = {
    "walks": lambda rng, n: rng.normal(size=(n, 10)).cumsum(axis=1),
    "uniform": lambda rng, n: rng.random((n, 10)),
    "skewed": lambda rng, n: np.exp(3.0 * rng.normal(size=(n, 10))),
    "ties": lambda rng, n: rng.integers(0, 2, size=(n, 4)).astype(float),
    "one instant": lambda rng, n: rng.normal(size=(n, 1)),
    "constant": lambda rng, n: np.full((n, 3), 7.0),
}


def random_panel(kind, seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 12))
    return Panel(KINDS[kind](rng, int(rng.integers(k, 120)))), k


# TGA


@pytest.mark.parametrize("kind", KINDS)
def test_tga_groups_k_and_publishes_within_their_envelopes(kind):
    for seed in range(60):
        panel, k = random_panel(kind, seed)
        made = TGA.tga(panel, k=k, seed=seed)
        sizes = np.bincount(made.labels)
        assert made.panel.values.shape == panel.values.shape
        assert sizes.min() >= k
        assert len(sizes) == panel.n_series // k
        for x in (made.panel.values, panel.values):
            assert ((made.low <= x) & (x <= made.high)).all()
        for label in range(len(sizes)):
            members = panel.values[made.labels == label]
            assert (made.low[made.labels == label] == members.min(axis=0)).all()
            assert (made.high[made.labels == label] == members.max(axis=0)).all()


def test_tga_repeats_itself_under_a_seed_and_not_under_another(rng):
    panel = Panel(KINDS["walks"](rng, 60))
    first, again, other = (TGA.tga(panel, k=4, seed=seed) for seed in (5, 5, 6))
    assert_array_equal(first.panel.values, again.panel.values)
    assert_array_equal(first.labels, again.labels)
    assert (first.panel.values != other.panel.values).any()


def test_tga_with_n_equal_k_makes_one_group(rng):
    panel = Panel(KINDS["walks"](rng, 6))
    made = TGA.tga(panel, k=6, seed=1)
    assert_array_equal(made.labels, np.zeros(6))
    assert_array_equal(made.low[3], panel.values.min(axis=0))


def test_tga_with_k_1_publishes_the_series_themselves(rng):
    panel = Panel(KINDS["walks"](rng, 9))
    assert_array_equal(TGA.tga(panel, k=1, seed=1).panel.values, panel.values)


def test_tga_finds_the_groups_that_anyone_sees():
    # Two bundles of three that cross: apart in every way but their mean.
    panel = Panel([[0.0, 9.0], [9.0, 0.0], [1.0, 9.0], [9.0, 1.0], [0.0, 8.0], [8.0, 0.0]])
    for seed in range(20):
        made = TGA.tga(panel, k=3, seed=seed)
        assert len(set(made.labels[[0, 2, 4]])) == len(set(made.labels[[1, 3, 5]])) == 1
        assert_array_equal(made.low[0], [0.0, 8.0])
        assert_array_equal(made.high[0], [1.0, 9.0])


def test_tga_gives_a_leftover_to_the_group_it_costs_least():
    # In the order 0, 10, 1, 11, 12 with k = 2 the groups are {0, 1} and {10, 11}; 12 is left.
    assert_array_equal(TGA.group_by_log_cost(np.array([[0.0], [10.0], [1.0], [11.0], [12.0]]), 2), [0, 1, 0, 1, 1])


def naive_groups(x, k):
    """The definition in the file's docstring, word for word."""

    def cost(rows):
        return sum(math.log(1.0 + max(column) - min(column)) for column in zip(*(x[i] for i in rows), strict=True))

    def take(place):
        left[place], left[-1] = left[-1], left[place]  # which one begins the next group hangs on it
        return left.pop()

    left, groups = list(range(len(x))), []
    for _ in range(len(x) // k):
        group = [take(0)]
        while len(group) < k:
            costs = [cost([*group, i]) for i in left]
            group.append(take(costs.index(min(costs))))
        groups.append(group)
    for i in left:

        def growth(group, i=i):
            return (len(group) + 1) * cost([*group, i]) - len(group) * cost(group)

        min(groups, key=growth).append(i)
    return {frozenset(group) for group in groups}


@pytest.mark.parametrize("n_instants", [1, 3, 11])  # also more than one block
def test_tga_groups_equal_naive_ones(n_instants):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 6))
        x = 20.0 * rng.random((int(rng.integers(k, 30)), n_instants))
        labels = TGA.group_by_log_cost(x, k)
        found = {frozenset(np.flatnonzero(labels == label).tolist()) for label in range(labels.max() + 1)}
        assert found == naive_groups(x, k)


def test_tga_draws_evenly_over_the_envelope():
    panel = Panel(np.tile([[0.0, 0.0], [1.0, 10.0]], (2000, 1)))
    made = TGA.tga(panel, k=4000, seed=3)
    counts = np.histogram(made.panel.values[:, 1], bins=10, range=(0.0, 10.0))[0]
    assert (np.abs(counts - 400) < 100).all()
    assert abs(np.corrcoef(made.panel.values.T)[0, 1]) < 0.1


def test_tga_refuses_what_it_cannot_do():
    panel = Panel(np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="k=4 needs at least 4 series, the panel has 3"):
        TGA.tga(panel, k=4, seed=0)
    with pytest.raises(ParameterError, match="k of at least 1 and a resolution above 0, got 0 and 1"):
        TGA.tga(panel, k=0, seed=0, resolution=1.0)
    with pytest.raises(ParameterError, match="1 channels, 1 gaps, and 2 series of 2 subjects"):
        TGA.tga(Panel([[1.0, np.nan], [1.0, 2.0]]), k=1, seed=0)
    with pytest.raises(ParameterError, match="0 gaps, and 3 series of 1 subjects"):
        TGA.tga(Panel(np.zeros((3, 2)), subjects=["a"] * 3), k=1, seed=0)


def test_tga_can_be_measured(rng):
    panel = Panel(KINDS["walks"](rng, 80))
    made = TGA.tga(panel, k=5, seed=1)
    assert 0.0 < PatternLoss().measure(panel, made.panel).value < 1.0
    assert ValueLoss().measure(panel, made.envelopes).value > 0.0
    for published in (made.panel, made.envelopes):
        assert QueryError("range", n_queries=50).measure(panel, published).value > 0.0


# BF-P2kA

small_words = arrays(np.uint8, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=st.integers(0, 2))


def naive_tree(words):
    """The support of every prefix."""
    return Counter(word[:depth] for word in words for depth in range(1, len(word) + 1))


def naive_pruning(words, k):
    """Cut infrequent branches, lower the supports above, and again until nothing is to be cut."""
    left = list(words)
    while True:
        tree = naive_tree(left)
        cut = [word for word in left if any(tree[word[:depth]] < k for depth in range(1, len(word) + 1))]
        if not cut:
            return Counter(left)
        left = [word for word in left if word not in cut]


def naive_common_length(a, b):
    for length in range(min(len(a), len(b)), 0, -1):
        if set(combinations(a, length)) & set(combinations(b, length)):
            return length
    return 0


def naive_words(words, k):
    kept = naive_pruning(words, k)

    def nearness(word, other):
        apart = sum((ord(a) - ord(b)) ** 2 for a, b in zip(word, other, strict=True))
        return -naive_common_length(word, other), apart, -kept[other], other

    return [word if word in kept else min(kept, key=lambda other: nearness(word, other)) for word in words]


@given(words=small_words)
def test_supports_equal_naive_ones(words):
    tree = naive_tree(text(words))
    expected = [[tree[word[: depth + 1]] for depth in range(len(word))] for word in text(words)]
    assert_array_equal(BFP2KA.supports(words), expected)


@given(words=small_words, k=st.integers(1, 5))
def test_published_words_equal_naive_ones(words, k):
    published, own = BFP2KA.anonymize_words(words, k)
    kept = naive_pruning(text(words), k)
    assert own.tolist() == [word in kept for word in text(words)]
    if kept:
        assert list(text(published)) == naive_words(text(words), k)
    else:
        assert len(published) == 0


@given(words=small_words)
def test_common_length_equals_naive_one(words):
    a, b = words[0], words[-1]
    assert BFP2KA.common_length(a, b) == naive_common_length(a.tolist(), b.tolist())


@pytest.mark.parametrize("kind", KINDS)
def test_bfp2ka_publishes_words_of_k_series_or_nothing(kind):
    for seed in range(60):
        panel, k = random_panel(kind, seed)
        level = 1 + seed % 6
        made = BFP2KA.bfp2ka(panel, k=k, level=level)
        most = max(Counter(text(letters(panel.rows, level))).values())
        assert (made.words is None) == (most < k)
        if made.words is None:
            assert made.n_cut == panel.n_series
            assert made.letters is made.shapes is None
        else:
            assert len(made.words) == panel.n_series
            assert min(Counter(made.words).values()) >= k
            assert made.letters.values.max() < level
            assert_array_equal(made.letters.values, parse(made.words))
            assert BFP2KA.bfp2ka(panel, k=k, level=level).words == made.words


def test_bfp2ka_by_hand():
    # With k = 2 the tree keeps aab (3) and cba (2). abb shares ab, two letters, with aab; ccb shares cb with cba and
    # one letter with aab; bca shares ba with cba.
    words = ["aab", "aab", "cba", "abb", "aab", "cba", "ccb", "bca"]
    published, own = BFP2KA.anonymize_words(parse(words), 2)
    assert text(published) == ("aab", "aab", "cba", "aab", "aab", "cba", "cba", "cba")
    assert own.tolist() == [True, True, True, False, True, True, False, False]


def test_bfp2ka_breaks_ties_by_letters_then_support_then_alphabet():
    # All kept words share nothing with the last one: b is nearest to c, before the more frequent a.
    assert text(BFP2KA.anonymize_words(parse(["a", "a", "a", "b", "b", "c"]), 2)[0])[-1] == "b"
    # a and c are equally near to b: the more frequent one, and of equals the first.
    assert text(BFP2KA.anonymize_words(parse(["a", "a", "c", "c", "c", "b"]), 2)[0])[-1] == "c"
    assert text(BFP2KA.anonymize_words(parse(["c", "c", "a", "a", "b"]), 2)[0])[-1] == "a"


def test_bfp2ka_with_n_equal_k():
    same = Panel(np.tile([[1.0, 2.0, 4.0]], (5, 1)))
    assert len(set(BFP2KA.bfp2ka(same, k=5, level=3).words)) == 1
    assert BFP2KA.bfp2ka(same, k=6, level=3).words is None


def test_bfp2ka_prunes_the_whole_tree_of_fine_letters(rng):
    panel = Panel(KINDS["walks"](rng, 300))
    assert BFP2KA.bfp2ka(panel, k=10, level=20).words is None
    level = BFP2KA.best_level(panel, k=10)
    made = BFP2KA.bfp2ka(panel, k=10, level=level)
    losses = [BFP2KA.bfp2ka(panel, k=10, level=other).shapes for other in range(1, 21)]
    known = [PatternLoss().measure(panel, shapes).value for shapes in losses if shapes is not None]
    assert PatternLoss().measure(panel, made.shapes).value == min(known) < 1.0


def test_bfp2ka_can_be_measured_on_strings():
    rng = np.random.default_rng(4)
    panel = Panel(np.repeat(rng.normal(size=(12, 6)).cumsum(axis=1), 6, axis=0) + 0.02 * rng.normal(size=(72, 6)))
    string, made = BFP2KA.string_panel(panel, 5), BFP2KA.bfp2ka(panel, k=4, level=5)
    assert set(np.unique(string.values)) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    assert 0 < made.n_cut < 72
    assert 0.0 <= PatternLoss().measure(string, made.letters).value < 1.0
    for kind in ("range", "pattern-range", "pattern-similarity", "combined"):
        assert np.isfinite(QueryError(kind, n_queries=50, tolerance=0.05).measure(string, made.letters).value)


def test_bfp2ka_refuses_what_it_cannot_do():
    with pytest.raises(ParameterError, match="k of at least 1, got 0"):
        BFP2KA.bfp2ka(Panel(np.zeros((3, 2))), k=0, level=3)
    with pytest.raises(ParameterError, match="1 channels, 2 gaps, and 2 series of 2 subjects"):
        BFP2KA.bfp2ka(Panel([[1.0, np.nan], [np.nan, 2.0]]), k=1, level=3)


MERGING = load("reposition_yardsticks")
COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), min_size=1, max_size=8)


def is_eligible(counts, l):
    totals = np.sum(counts, axis=0)
    return totals.max() * l <= totals.sum()


def cuts(n):
    """All ways to cut n snapshots into intervals."""
    for chosen in range(2 ** (n - 1)):
        ends = [place for place in range(n - 1) if chosen >> place & 1] + [n - 1]
        yield list(zip([0] + [end + 1 for end in ends[:-1]], ends, strict=True))


@given(counts=COUNTS, l=st.integers(2, 3), longest=st.integers(1, 4))
def test_merged_snapshots_are_eligible_and_with_hindsight_events_wait_least(counts, l, longest):
    counts = np.array(counts)
    limited = MERGING.at_most(counts, l, longest)
    assert [place for a, b in limited for place in range(a, b + 1)] == list(range(len(counts)))
    for first, last in limited[:-1]:
        assert is_eligible(counts[first : last + 1], l) or last - first + 1 == longest
        assert not any(is_eligible(counts[first:end], l) for end in range(first + 1, last + 1))
    if not is_eligible(counts, l):
        for rule in (MERGING.as_they_come, MERGING.with_hindsight):
            with pytest.raises(ParameterError, match=f"not eligible for l={l}: merging alone cannot do"):
                rule(counts, l)
        return
    come, hindsight = MERGING.as_they_come(counts, l), MERGING.with_hindsight(counts, l)
    for intervals in (come, hindsight):
        assert [place for a, b in intervals for place in range(a, b + 1)] == list(range(len(counts)))
        assert all(is_eligible(counts[a : b + 1], l) for a, b in intervals)

    def waits(intervals):
        return sum((b - a) * counts[a : b + 1].sum() for a, b in intervals)

    possible = [way for way in cuts(len(counts)) if all(is_eligible(counts[a : b + 1], l) for a, b in way)]
    assert waits(hindsight) == min(map(waits, possible)) <= waits(come)


def test_what_is_left_at_the_end_joins_the_interval_before():
    assert MERGING.as_they_come(np.array([[1, 1, 1], [1, 0, 0]]), 2) == [(0, 1)]
    assert MERGING.as_they_come(np.array([[1, 1, 0], [1, 1, 1], [1, 0, 0]]), 2) == [(0, 0), (1, 2)]


def test_a_window_counts_whole_intervals_and_shares_of_those_it_cuts():
    table = {"time": [0, 0, 0, 1, 3, 3, 4, 4, 7, 8], "x": list("aabbabaabb")}
    events = Events(pl.DataFrame(table), sensitive="x")
    counts = MERGING.counts_of(events)
    assert counts.tolist() == [[2, 1], [0, 1], [1, 1], [2, 0], [0, 1], [0, 1]]
    merged = MERGING.merge(events, 2, MERGING.as_they_come(counts, 2), seed=1)
    assert merged.intervals == [(0, 1), (2, 2), (3, 5)]
    assert merged.candidate.recipe.figures["suppressed"] == 0
    assert merged.mean_length == (4 * 2 + 2 * 1 + 4 * 3) / 10
    assert merged.count(WindowCount(1, 4, {"x": "a"})) == pytest.approx(2 / 2 + 1 + 2 / 3)
    assert merged.count(WindowCount(7, 7, {"x": "b"})) == pytest.approx(2 / 3)
    assert merged.count(WindowCount(0, 8, {"x": "b"})) == 5.0


def test_merged_releases_are_diverse_and_without_merging_answer_as_suppression_alone():
    events = simulate.events(days=40, per_day=8, seed=3)
    counts = MERGING.counts_of(events)
    for intervals in (MERGING.as_they_come(counts, 2), MERGING.with_hindsight(counts, 2)):
        merged = MERGING.merge(events, 2, intervals, seed=1)
        assert merged.candidate.recipe.figures["suppressed"] == 0
        assert LDiversity(2).check(merged.published).holds
    limited = MERGING.merge(events, 3, MERGING.at_most(counts, 3, 2), seed=1)
    assert LDiversity(3).check(limited.published).holds
    assert 0 < limited.candidate.recipe.figures["suppressed"] < len(events)
    alone = MERGING.suppression_alone(events, 3, seed=1)
    single = MERGING.merge(events, 3, MERGING.at_most(counts, 3, 1), seed=1)
    for query in random_windows(events, 50):
        assert single.count(query) == pytest.approx(query.count(alone.published))


@pytest.mark.parametrize(("k", "n_groupings", "n_runs"), [(2, 17_722, 7), (3, 2_557, 4), (4, 337, 3)])
def test_enumeration_tries_every_grouping_of_ten(k, n_groupings, n_runs):
    every, in_runs = ENUMERATION.groupings(k, 0)  # the numbers of partitions into blocks of k or more are known
    assert len(every) == len({frozenset(one) for one in every}) == n_groupings
    assert len(in_runs) == n_runs
    places = ENUMERATION._groups(k)
    assert all(sorted(place for number in one for place in places[number]) == list(range(10)) for one in every)


def test_enumeration_covers_what_optimal_finds_and_shows_what_it_misses():
    x = np.sort(np.random.default_rng(1).lognormal(sigma=1.5, size=(60, 10)), axis=1)
    best, runs = ENUMERATION.least_losses(x, 3, 0)
    published = NLK(n=3, l=4, k=3).anonymize(Panel(x.T)).values.T  # nobody may be alone
    lost = np.abs(x - published).sum(axis=1)
    assert (lost <= runs * (1 + 1e-12)).all()  # below the best of runs where the paper's clusters are
    assert (best <= lost * (1 + 1e-12)).all()
    assert (best < 0.999 * runs).any()


def test_cells_of_k_are_called_best_only_where_they_lose_least_over_all_days():
    plain, larger = [13.0, 18.0, 20.0, 20.0], [15.0, 16.0, 19.0, 19.0]
    told = GROWING.verdict_on_splits({"k": plain, "2 k": [20.0, 16.0, 19.5, 19.5]})
    assert "cells of k lose least. So Shoal does not split cells." in told
    assert "2.0 to 2.0 less on the second" in told  # the gain is told as well as the price
    assert told.endswith("larger ones would draw level: 2 k after 12 days.")  # 7 - 2 are won back at 0.5 a day
    told = GROWING.verdict_on_splits({"k": plain, "2 k": larger})
    assert told.endswith("Over these 4 days cells of 2 k lose least.")
