"""(k, P)-anonymity against the definition, the paper's tables of eight incomes, and sabotage."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import AggregateRule, KAnonymity, KPAnonymity, Microaggregation, NLKAnonymity, Panel, simulate
from shoal.errors import InputError, ParameterError
from shoal.model import Candidate, Envelopes, Private, Recipe

YEARS = np.arange(2005, 2011)
# Table 2: the envelopes of 4-anonymity, and to which each of the eight persons belongs.
TABLE_2 = (
    [(98, 176), (120, 181), (125, 188), (132, 197), (125, 213), (112, 221)],
    [(32, 117), (54, 107), (47, 87), (38, 74), (20, 96), (20, 101)],
)
# Table 3: groups, envelopes and words.
TABLE_3 = (
    [(117, 176), (107, 181), (87, 188), (74, 197), (51, 213), (56, 221)],
    [(32, 98), (54, 120), (47, 125), (38, 132), (20, 151), (20, 161)],
)
GROUPS_2 = (0, 0, 0, 0, 1, 1, 1, 1)
GROUPS_3 = (0, 0, 0, 1, 0, 1, 1, 1)
WORDS_3 = ("aabbcc", "aabbcc", "ccbbaa", "abbbcc", "ccbbaa", "abbbcc", "bbbaaa", "bbbaaa")


def envelopes(table, groups, words, levels=3, **options):
    ends = np.array([table[g] for g in groups], dtype=float)
    return Envelopes(ends[:, :, 0], ends[:, :, 1], np.full(len(groups), levels), words, YEARS, **options)


def naive_kp(published, k, p, subjects):
    """The definition, read out loud."""
    groups = defaultdict(set)
    subgroups = defaultdict(set)
    for i in range(published.n_series):
        envelope = (tuple(published.low[i]), tuple(published.high[i]))
        groups[envelope].add(subjects[i])
        subgroups[envelope, published.levels[i], published.patterns[i]].add(subjects[i])
    return all(len(g) >= k for g in groups.values()) and all(len(g) >= p for g in subgroups.values())


def test_table_3_is_4_2_anonymous():
    published = envelopes(TABLE_3, GROUPS_3, WORDS_3)
    verdict = KPAnonymity(k=4, p=2).check(published)
    assert verdict.holds
    assert verdict.measured == 2
    assert "of an envelope it is 4, required 4" in verdict.note
    assert not KPAnonymity(k=5, p=2).check(published).holds
    assert not KPAnonymity(k=4, p=3).check(published).holds


def test_table_2_with_patterns_is_4_anonymous_in_values_and_lacks_p():
    published = envelopes(TABLE_2, GROUPS_2, WORDS_3)
    verdict = KPAnonymity(k=4, p=2).check(published)
    assert not verdict.holds
    assert (verdict.measured, verdict.required, verdict.witness) == (
        1,
        2,
        2,
    )  # Cathy's shape is the only such one there
    assert verdict.note == "a pattern has too few subjects inside its envelope"


@st.composite
def small_envelopes(draw):
    n = draw(st.integers(2, 9))
    low = np.array(draw(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=n, max_size=n)))
    wide = np.array(draw(st.lists(st.lists(st.integers(0, 1), min_size=2, max_size=2), min_size=n, max_size=n)))
    words = tuple(draw(st.lists(st.sampled_from(["ab", "ba"]), min_size=n, max_size=n)))
    levels = np.array(draw(st.lists(st.integers(2, 3), min_size=n, max_size=n)))
    subjects = draw(st.lists(st.integers(0, n), min_size=n, max_size=n))
    return Envelopes(
        low.astype(float), (low + wide).astype(float), levels, words, np.arange(2), subjects=subjects
    ), subjects


@given(small_envelopes(), st.integers(2, 4), st.integers(2, 4))
def test_the_check_is_the_definition(case, k, p):
    published, subjects = case
    assert KPAnonymity(k=k, p=p).check(published).holds == naive_kp(published, k, p, subjects)


@pytest.mark.parametrize("what", ["low", "high", "letter", "level"])
def test_one_end_or_one_letter_changed_is_refused_with_its_witness(what):
    published = envelopes(TABLE_3, GROUPS_3, WORDS_3)
    low, high, levels, words = published.low.copy(), published.high.copy(), published.levels.copy(), list(WORDS_3)
    if what == "low":
        low[4, 3] = np.nextafter(low[4, 3], -np.inf)
    elif what == "high":
        high[4, 3] = np.nextafter(high[4, 3], np.inf)
    elif what == "letter":
        words[4] = "ccbbab"
    else:
        levels[4] = 4
    verdict = KPAnonymity(k=4, p=2).check(Envelopes(low, high, levels, tuple(words), YEARS))
    assert not verdict.holds
    # Without series 4 its group of four is too small as well; with another word, series 2 is left alone with its own.
    assert verdict.witness in ((4,) if what in ("low", "high") else (2, 4))


def test_one_persons_many_series_are_not_a_crowd():
    published = envelopes(TABLE_3, GROUPS_3, WORDS_3, subjects=[0, 0, 1, 4, 1, 5, 6, 7])
    assert not KPAnonymity(k=4, p=2).check(published).holds


def test_values_are_their_own_envelope_and_pattern():
    rows = Panel(np.repeat([[1.0, 2.0], [3.0, 4.0]], 3, axis=0))
    assert KPAnonymity(k=3, p=2).check(rows).holds
    assert not KPAnonymity(k=2, p=4).check(rows).holds
    profiles = Microaggregation(k=4, form="profiles").anonymize(Panel(np.random.default_rng(0).random((20, 3))))
    assert KPAnonymity(k=4, p=3).check(profiles).holds
    assert not KPAnonymity(k=4, p=6).check(profiles).holds


def test_other_guarantees_see_the_words_as_well():
    published = envelopes(TABLE_3, GROUPS_3, WORDS_3)
    assert KAnonymity(2).check(published).holds
    assert not KAnonymity(4).check(published).holds  # equal in envelope and word are only two
    assert NLKAnonymity(n=1, l=2, k=2).check(published).holds
    assert not NLKAnonymity(n=1, l=2, k=3).check(published).holds
    original = Panel(published.middles, times=YEARS)
    candidate = Candidate(published, KPAnonymity(4, 2), Recipe("kp", {}), Private(original, np.array(GROUPS_3)))
    verdict = AggregateRule(size=2, share=1.0).check(candidate)
    assert not verdict.holds
    assert "single members' values" in verdict.note


@pytest.mark.parametrize("value", [1, 0, True, 2.5, "2"])
def test_a_crowd_of_one_is_refused(value):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 2"):
        KPAnonymity(k=value, p=2)
    if value != 1 or value is True:
        with pytest.raises(ParameterError, match="p must be a whole number of at least 1"):
            KPAnonymity(k=2, p=value)


def test_with_p_of_1_only_envelopes_need_a_crowd():
    low, high = np.zeros((3, 2)), np.ones((3, 2))
    words = Envelopes(low, high, np.full(3, 2), ("ab", "ba", "bb"), np.arange(2))
    assert KPAnonymity(3, 1).check(words).holds
    assert not KPAnonymity(4, 1).check(words).holds
    assert not KPAnonymity(3, 2).check(words).holds
    assert "may be one subject's own" in KPAnonymity(3, 1).statement


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"high": np.zeros((2, 3))}, "the lower one first"),
        ({"high": np.full((2, 3), np.nan)}, "both ends"),
        ({"high": np.ones((2, 3, 1))}, "same shape"),
        ({"high": np.ones((2, 2))}, "2 instants but 3 times"),
        ({"levels": np.array([2, 0])}, "level of at least 1"),
        ({"patterns": ("ab", "abc")}, "one letter for each of its 3 instants"),
    ],
)
def test_what_is_no_envelope_is_refused(changes, message):
    arguments = {
        "low": np.full((2, 3), 0.5),
        "high": np.ones((2, 3)),
        "levels": np.array([2, 2]),
        "patterns": ("aab", "abb"),
    }
    with pytest.raises(InputError, match=message):
        Envelopes(**(arguments | changes), times=np.arange(3))


def test_a_level_of_a_distribution_is_a_figure_of_its_own_crowd():
    """Of the members of a pool, only a part stands behind each level."""
    panel = simulate.meters(30, days=1, step="1h", seed=3)
    published = Microaggregation(k=10, form="scenarios", levels=3).anonymize(panel).published.take([0, 1])
    assert (published.counts.tolist(), published.crowds.tolist()) == ([10, 10], [6, 6])
    for k, holds in ((6, True), (7, False)):
        for guarantee in (KAnonymity(k), KPAnonymity(k, k), NLKAnonymity(1, 2, k)):
            assert guarantee.check(published).holds is holds
