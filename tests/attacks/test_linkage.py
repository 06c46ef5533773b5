"""The linkage attack against an enumeration of every target and published series."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from kp_samples import INCOMES
from naive.linkage import naive_breach, naive_possible
from shoal import Panel
from shoal.attacks import Linkage, possible_sets
from shoal.errors import ParameterError
from shoal.features.sax import letters, text
from shoal.model import Envelopes

KNOWLEDGE = [Linkage(word="own"), Linkage(pattern=False), Linkage(values=False, word="own")]

# Table 3 of the paper: how the incomes of table 1 may be published.
GROUP = np.array([0, 0, 0, 1, 0, 1, 1, 1])
WORDS = ["aabbcc", "aabbcc", "ccbbaa", "abbbcc", "ccbbaa", "abbbcc", "bbbaaa", "bbbaaa"]


def envelopes_of(x, group, levels, words, **more):
    low, high = (np.array([f(x[group == g], axis=0) for g in group]) for f in (np.min, np.max))
    return Envelopes(low, high, levels=levels, patterns=words, times=np.arange(x.shape[1]), **more)


@st.composite
def releases(draw):
    """Series of few values in groups, with words that are their own or a neighbour's, some suppressed."""
    n, length = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    cells = st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.5, 2.0]), min_size=n * length, max_size=n * length)
    x = np.array(draw(cells)).reshape(n, length)
    kept = np.array(sorted(draw(st.sets(st.integers(0, n - 1), min_size=1))))
    m = len(kept)
    group = np.array(draw(st.lists(st.integers(0, 2), min_size=m, max_size=m)))
    levels = draw(st.lists(st.sampled_from([1, 2, 3, 7]), min_size=m, max_size=m))
    owner = kept if draw(st.booleans()) else kept[::-1]
    words = [text(letters(x[i : i + 1], level))[0] for i, level in zip(owner, levels, strict=True)]
    return x, kept, envelopes_of(x[kept], group, levels, words)


@pytest.mark.parametrize("attack", KNOWLEDGE)
class TestEqualsEnumeration:
    @given(release=releases())
    def test_when_every_series_has_a_value_of_its_own(self, attack, release):
        x, kept, published = release
        possible = enumerate_possible(attack, x, published)
        breach = naive_breach(possible, range(len(x)), kept)
        found = attack.find(Panel(x), published, rows=kept)
        assert found.sizes.tolist() == [len(rows) for rows in possible]
        assert_allclose(found.probabilities, breach)
        risk = attack.attack(Panel(x), published, rows=kept)
        assert risk.success == pytest.approx(np.mean(breach))
        assert risk.highest == pytest.approx(max(breach))
        assert risk.worst[0] == int(np.argmax(found.probabilities))
        assert risk.baseline == pytest.approx(1 / len(x))
        assert risk.n_suppressed == len(x) - len(kept)
        assert risk.n_missed == sum(r not in possible[q] for r, q in enumerate(kept))

    @given(release=releases(), data=st.data())
    def test_when_values_are_shared_or_were_changed(self, attack, release, data):
        x, kept, published = release
        values = st.sampled_from(["flu", "cold", "none"])
        true = data.draw(st.lists(values, min_size=len(x), max_size=len(x)))
        shown = data.draw(st.lists(values | st.just("other"), min_size=len(kept), max_size=len(kept)))
        attack = dataclasses.replace(attack, sensitive="illness")
        panel = Panel(x, sensitive={"illness": true})
        possible = enumerate_possible(attack, x, published)
        changed = attack.find(panel, published, rows=kept, sensitive=shown)
        assert_allclose(changed.probabilities, naive_breach(possible, true, shown))
        unchanged = attack.attack(panel, published, rows=kept)
        assert unchanged.highest == pytest.approx(max(naive_breach(possible, true, [true[i] for i in kept])))
        assert unchanged.baseline == pytest.approx(np.mean([true.count(v) / len(x) for v in true]))

    @given(release=releases())
    def test_blocks_change_nothing(self, attack, release):
        x, kept, published = release
        whole = attack.find(Panel(x), published, rows=kept)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(possible_sets, "CELLS", 2)
            parts = attack.find(Panel(x), published, rows=kept)
        assert_array_equal(parts.sizes, whole.sizes)
        assert_array_equal(parts.own, whole.own)


def enumerate_possible(attack, x, published):
    return naive_possible(
        x.tolist(),
        published.low.tolist(),
        published.high.tolist(),
        published.levels.tolist(),
        published.patterns,
        values=attack.values,
        pattern=attack.pattern,
    )


class TestThePapersExample:
    def test_values_alone_leave_at_least_four_and_the_pattern_two(self):
        panel = Panel(INCOMES)
        own = [text(letters(INCOMES[[first]], 3))[0] for first in (0, 0, 2, 3, 2, 3, 6, 6)]
        published = envelopes_of(INCOMES, GROUP, [3] * 8, own)
        assert Linkage(pattern=False).attack(panel, published).highest == 1 / 4
        assert Linkage().attack(panel, published).highest <= 1 / 2

    def test_words_that_are_not_the_series_own_are_reported_as_missed(self):
        # Table 3 prints words that its own definition of SAX does not give for some of the eight.
        risk = Linkage(word="own").attack(Panel(INCOMES), envelopes_of(INCOMES, GROUP, [3] * 8, WORDS))
        assert 0 < risk.n_missed < 8
        assert risk.highest <= 1 / 2
        told = Linkage().attack(Panel(INCOMES), envelopes_of(INCOMES, GROUP, [3] * 8, WORDS))
        assert (told.n_missed, told.highest) == (0, 1 / 2)
        assert f"{risk.n_missed} targets are published under another word than their own" in risk.sentence
        assert told.sentence.endswith("by guessing 12.5 %.")

    def test_publishing_everyones_own_fine_word_breaks_the_privacy_of_table_2(self):
        published = envelopes_of(INCOMES, np.array([0, 0, 0, 0, 1, 1, 1, 1]), [9] * 8, text(letters(INCOMES, 9)))
        assert Linkage().attack(Panel(INCOMES), published).highest == 1.0


@given(release=releases())
def test_whoever_was_told_the_published_word_looks_among_its_carriers(release):
    x, kept, published = release
    labels = list(zip(published.levels.tolist(), published.patterns, strict=True))
    by_values = enumerate_possible(Linkage(pattern=False), x, published)
    expected = [[] for _ in x]
    for r, q in enumerate(kept):
        expected[q] = [other for other in by_values[q] if labels[other] == labels[r]]
    found = Linkage().find(Panel(x), published, rows=kept)
    assert found.sizes.tolist() == [len(rows) for rows in expected]
    assert_allclose(found.probabilities, naive_breach(expected, range(len(x)), kept))
    assert Linkage().attack(Panel(x), published, rows=kept).n_missed == 0


def test_a_narrowed_envelope_and_a_changed_letter_are_noticed():
    x = np.repeat([[0.0, 1.0, 2.0]], 4, axis=0)
    published = envelopes_of(x, np.zeros(4, dtype=int), [3] * 4, ["abc"] * 4)
    assert Linkage(word="own").attack(Panel(x), published).highest == 1 / 4
    low = published.low.copy()
    low[3, 1] -= 1.0
    assert Linkage(word="own").find(Panel(x), dataclasses.replace(published, low=low)).sizes.tolist() == [4] * 4
    high = published.high.copy()
    high[:3] -= 1.0
    alone = dataclasses.replace(published, low=low - 1.0, high=high)
    assert Linkage(pattern=False).attack(Panel(x), alone).highest == 1.0
    other = dataclasses.replace(published, patterns=("abc", "cba", "cba", "cba"))
    risk = Linkage(word="own").attack(Panel(x), other)
    assert (risk.highest, risk.worst[0], risk.n_missed) == (1.0, 0, 3)


def test_several_series_of_one_subject_give_it_away():
    x = np.repeat([[0.0, 1.0]], 4, axis=0)
    published = envelopes_of(x, np.zeros(4, dtype=int), [1] * 4, ["aa"] * 4)
    risk = Linkage().attack(Panel(x, subjects=["u", "u", "u", "v"]), published)
    assert risk.highest == 3 / 4
    assert risk.success == risk.baseline == pytest.approx((3 * 3 / 4 + 1 / 4) / 4)
    assert risk.advantage == 0.0


def test_words_of_some_instants_are_cut_from_those_of_the_whole_series():
    x = np.array([[0.0, 1.0, 9.0], [0.0, 1.0, 1.5], [5.0, 1.0, 0.0]])
    whole = text(letters(x, 3))
    published = Envelopes(
        x[:, :2], x[:, :2], levels=[3] * 3, patterns=[w[1:] for w in whole], times=[0, 1], pattern_times=[1, 2]
    )
    for attack in KNOWLEDGE:
        assert attack.attack(Panel(x), published).n_missed == 0
    assert Linkage(pattern=False).find(Panel(x), published).sizes.tolist() == [2, 2, 1]


def test_a_release_of_thousands_is_attacked_within_seconds_and_twice_the_same(rng):
    x = np.cumsum(rng.normal(size=(3000, 10)), axis=1)
    group = np.empty(3000, dtype=int)
    group[np.argsort(x[:, 5])] = np.arange(3000) // 10
    low, high = (np.array([f(x[group == g], axis=0) for g in range(300)])[group] for f in (np.min, np.max))
    published = Envelopes(low, high, levels=[2] * 3000, patterns=text(letters(x, 2)), times=range(10))
    panel = Panel(x)
    before = panel.digest(), published.digest()
    first, second = (Linkage().attack(panel, published) for _ in range(2))
    assert first == second
    assert first.n_missed == 0
    assert first.interval.low == first.success == first.interval.high
    assert len(first.worst) == 10
    assert (panel.digest(), published.digest()) == before


class TestRefusals:
    panel, published = (
        Panel([[1.0, 2.0]] * 3),
        Envelopes([[1.0, 2.0]] * 2, [[1.0, 2.0]] * 2, [1] * 2, ["aa"] * 2, [0, 1]),
    )

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({}, "3 series were given and 2 published"),
            ({"rows": [0]}, "2 different positions"),
            ({"rows": [1, 1]}, "2 different positions"),
            ({"rows": [0, 3]}, "positions that the original does not have; it has 3"),
            ({"rows": [0, 1], "sensitive": [1, 2]}, "need the column they belong to"),
            ({"rows": [0, 1], "published": panel}, "other forms of release have no possible sets"),
            ({"rows": [0, 1], "original": Panel([[1.0, np.nan]] * 3)}, "3 gaps"),
            ({"rows": [0, 1], "original": Panel(np.ones((3, 2, 2)))}, "2 channels"),
            ({"rows": [0, 1], "original": Panel(np.ones((3, 1)))}, "1 of 2 instants that the original lacks"),
        ],
    )
    def test_what_cannot_be_attacked_is_refused(self, more, message):
        with pytest.raises(ParameterError, match=message):
            Linkage().attack(**({"original": self.panel, "published": self.published} | more))

    def test_sensitive_columns(self):
        with pytest.raises(ParameterError, match="no sensitive column 'illness'; it has 0"):
            Linkage(sensitive="illness").attack(self.panel, self.published, rows=[0, 1])
        panel = Panel(self.panel.values, sensitive={"illness": [1, 2, 3]})
        with pytest.raises(ParameterError, match="2 series were published; give a sensitive value for each"):
            Linkage(sensitive="illness").attack(panel, self.published, rows=[0, 1], sensitive=[1])

    def test_an_adversary_who_knows_nothing(self):
        with pytest.raises(ParameterError, match="needs an adversary who knows something"):
            Linkage(values=False, pattern=False)
        with pytest.raises(ParameterError, match="word must be 'own' or 'published'"):
            Linkage(word="guessed")


def test_what_the_adversary_holds_is_said_as_it_is_assumed():
    assert Linkage().knows == "Of every target the values at all published instants and the published word."
    assert Linkage(values=False, word="own").knows == "Of every target the shape."
    assert Linkage(pattern=False).knows == "Of every target the values at all published instants."
