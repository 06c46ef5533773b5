import itertools
import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.nlk import marks_of, naive_inferred, naive_most_inferred, naive_nlk_anonymous
from naive.nlk_within import naive_inferred_within, naive_most_inferred_within
from nlk_paper_validation import passes_paper_validation
from shoal import Panel, SequenceNLKAnonymity
from shoal.errors import ParameterError
from shoal.guarantees.nlk_anonymity import NLKAnonymity
from shoal.model import Envelopes
from strategies import panels_with_subjects, small_panels

A, B, C, D, E, F = range(6)


def table(*columns):
    """A panel of six series a to f from the groups at each instant, written as strings."""
    x = np.array(
        [[next(g for g, group in enumerate(groups) if name in group) for groups in columns] for name in "abcdef"]
    )
    return Panel(x.astype(float))


ALL = ("abcdef",)
# Example 4 says that 10 at 09:00 and 8 at 10:00 leave e and f, and that six are indistinguishable at 11:00; example 5
# that 10 at 09:00 alone leaves them. Example 6 says two groups of three at 09:00, which does not go with the others.
EXAMPLE_4 = (("abcd", "ef"), ALL, ("abe", "cdf"))
EXAMPLE_6 = (("abc", "def"), ALL, ("abe", "cdf"))


# The paper's examples


def test_example_3_a_single_candidate_still_shares_its_values():
    cells = marks_of(np.array([[0.7, 0.7, 0.6, 0.5], [0.7, 0.7, 0.8, 0.9], [0.4, 0.3, 0.9, 0.5]]))
    # Whoever knows a at 11:00 has a alone as candidate, and still two series at each other instant.
    assert naive_inferred(cells, 0, [2], 2, range(3)) == []
    assert naive_inferred(cells, 0, [2], 3, range(3)) == [0, 1, 3]


def test_example_2_knowing_c_at_one_instant_tells_the_next():
    verdict = NLKAnonymity(n=1, l=2, k=2).check(Panel([[0.7, 0.7], [0.7, 0.7], [0.4, 0.3]]))
    assert verdict.witness == {"series": 2, "known": [0], "inferred": [1]}


@pytest.mark.parametrize("example", [EXAMPLE_4, EXAMPLE_6])
def test_examples_4_and_6_are_2_3_6_anonymous_though_they_have_smaller_groups(example):
    verdict = NLKAnonymity(n=2, l=3, k=6).check(table(*example))
    assert verdict.holds
    assert (verdict.measured, verdict.required, verdict.witness) == (0, 0, None)


def test_example_5_the_group_of_e_and_f_at_11_breaks_it():
    verdict = NLKAnonymity(n=2, l=3, k=6).check(table(("abcd", "ef"), ALL, ("abcd", "ef")))
    assert not verdict.holds
    assert verdict.witness["inferred"] in ([0], [2])
    # One known instant is enough for that: 09:00 tells 11:00.
    assert naive_inferred(marks_of(table(("abcd", "ef"), ALL, ("abcd", "ef")).values), E, [0], 6, range(6)) == [2]


def test_example_6_the_same_groups_at_two_instants_break_it_and_at_either_one_do_not():
    two, other = ("abc", "def"), ("abe", "cdf")
    guarantee = NLKAnonymity(n=2, l=3, k=6)
    assert not guarantee.check(table(two, two, other)).holds
    assert guarantee.check(table(two, ALL, other)).holds
    assert guarantee.check(table(ALL, two, other)).holds  # figure 5


def partitions(names):
    if not names:
        yield []
        return
    for rest in partitions(names[1:]):
        yield [names[0], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], names[0] + rest[i], *rest[i + 1 :]]


def test_no_table_of_six_is_as_examples_4_and_6_say_together():
    # Two groups of three at 09:00, {e, f} left by 09:00 and 10:00, and both groups at 11:00 make six.
    guarantee = NLKAnonymity(n=2, l=3, k=6)
    tables = 0
    for ten in partitions(["a", "b", "c", "d", "ef"]):
        if not any("d" in group and "ef" in group for group in ten):
            for with_e in itertools.chain.from_iterable(itertools.combinations("abcd", size) for size in range(5)):
                upper = "e" + "".join(with_e)
                lower = "".join(name for name in "abcdef" if name not in upper)
                tables += 1
                assert not guarantee.check(table(("abc", "def"), tuple(ten), (upper, lower))).holds
    assert tables == 37 * 16


def test_example_7_three_groups_of_two_give_three_candidate_sets_below_5():
    from nlk_paper_validation import _candidate_sets

    groups = [[frozenset({A, B}), frozenset({C, D}), frozenset({E, F})]]
    pairs = {g for g in _candidate_sets(groups, 1, 4) if len(g) == 4}
    assert pairs == {frozenset({A, B, C, D}), frozenset({A, B, E, F}), frozenset({C, D, E, F})}
    assert _candidate_sets(groups, 1, 4) - pairs == set(groups[0])  # the example leaves the single groups out


def test_example_8_both_validations_refuse_figure_6():
    figure_6 = table(("abcd", "ef"), ("abcd", "ef"), ("abe", "cdf"))
    assert not NLKAnonymity(n=2, l=3, k=6).check(figure_6).holds
    assert not passes_paper_validation(figure_6.values.astype(np.int32), 2, 3, 6, below=True)


# The paper's fast validation


def test_the_fast_validation_refuses_the_papers_own_example_because_knowing_an_instant_infers_it():
    labels = table(*EXAMPLE_4).values.astype(np.int32)
    assert NLKAnonymity(n=2, l=3, k=6).check(table(*EXAMPLE_4)).holds
    assert not passes_paper_validation(labels, 2, 3, 6)
    assert not passes_paper_validation(labels, 2, 3, 6, below=True)


def test_the_fast_validation_refuses_the_smallest_panel_it_can():
    labels = np.array([[1, 1], [0, 1]], dtype=np.int32)
    assert NLKAnonymity(n=1, l=2, k=2).check(Panel(labels)).holds
    assert not passes_paper_validation(labels, 1, 2, 2, below=True)


def test_the_listing_counts_groups_of_k_as_too_small_where_the_text_says_below_k():
    labels = np.repeat([[0, 0], [1, 1]], 2, axis=0).astype(np.int32)
    assert NLKAnonymity(n=1, l=2, k=2).check(Panel(labels)).holds
    assert passes_paper_validation(labels, 1, 2, 2, below=True)
    assert not passes_paper_validation(labels, 1, 2, 2)


def test_the_fast_validation_misses_a_breach():
    # A round over the instants removes one group at each, and there is no second round, for n = 2 is used up.
    at = ["0220012112101221120000", "0201201220022021001111", "0333310122121223101230", "0012301332231232021131"]
    labels = np.array([[int(digit) for digit in digits] for digits in at], dtype=np.int32).T.copy()
    verdict = NLKAnonymity(n=2, l=4, k=5).check(Panel(labels))
    assert verdict.witness == {"series": 0, "known": [0, 1], "inferred": [2, 3]}
    assert naive_inferred(labels.tolist(), 0, [0, 1], 5, range(22)) == [2, 3]
    assert passes_paper_validation(labels, 2, 4, 5)
    assert passes_paper_validation(labels, 2, 4, 5, below=True)


@given(x=small_panels(gaps=False, channels=False), k=st.integers(2, 5), data=st.data())
def test_the_fast_validation_misses_no_breach_by_a_single_known_instant(x, k, data):
    # It starts from what f's value at one instant leaves, so with n = 1 it sees at least what the definition sees.
    labels = np.unique(x[:8, :4], return_inverse=True)[1].reshape(x[:8, :4].shape).astype(np.int32)
    if labels.shape[1] > 1:
        l = data.draw(st.integers(2, labels.shape[1]))
        assert NLKAnonymity(n=1, l=l, k=k).check(Panel(labels)).holds or not passes_paper_validation(labels, 1, l, k)


# The check


@given(case=panels_with_subjects(), data=st.data())
def test_the_verdict_equals_enumeration_and_the_witness_is_a_breach(case, data):
    x, k, subjects = case
    if x.shape[1] < 2:
        return
    n = data.draw(st.integers(1, x.shape[1] - 1))
    l = data.draw(st.integers(n + 1, x.shape[1]))
    for per, who in (("subject", subjects.tolist()), ("series", None)):
        verdict = NLKAnonymity(n, l, k, per).check(Panel(x, subjects=subjects))
        assert verdict.holds == naive_nlk_anonymous(x, n, l, k, who)
        assert verdict.required == l - n - 1
        assert verdict.holds == (verdict.measured <= verdict.required)
        json.dumps(asdict(verdict))
        if not verdict.holds:
            w = verdict.witness
            assert len(set(w["known"])) == n
            assert w["inferred"] == naive_inferred(marks_of(x), w["series"], w["known"], k, who or range(len(x)))
            assert verdict.measured == len(w["inferred"])


def crossing_panel():
    """25 series in groups of five at instants 0 and 1, which together tell everybody apart; all alike at 2."""
    series = np.arange(25)
    return np.stack([series // 5, series % 5, np.zeros(25)], axis=1)


def test_a_release_with_one_group_split_too_far_is_refused_with_the_right_witness():
    x = crossing_panel()
    assert NLKAnonymity(n=2, l=3, k=5).check(Panel(x)).holds
    x[7, 2] = 1.0
    verdict = NLKAnonymity(n=2, l=3, k=5).check(Panel(x))
    assert not verdict.holds
    assert (verdict.measured, verdict.required) == (1, 0)
    assert verdict.witness == {"series": 7, "known": [0, 1], "inferred": [2]}
    # Somebody who knows one instant has five candidates, who are in both groups.
    assert NLKAnonymity(n=1, l=2, k=5).check(Panel(x)).holds


def test_one_subjects_own_days_are_no_crowd_unless_asked_by_name():
    panel = Panel(np.ones((4, 3)), subjects=["a", "a", "a", "b"])
    assert not NLKAnonymity(1, 3, 3).check(panel).holds
    assert NLKAnonymity(1, 3, 4, per="series").check(panel).holds


def test_the_smallest_change_zero_and_minus_zero_and_gaps_are_told_apart():
    x = crossing_panel()
    for other in (np.nextafter(0.0, 1.0), -0.0, np.nan):
        x[7, 2] = other
        assert NLKAnonymity(n=2, l=3, k=5).check(Panel(x)).witness["series"] == 7
    x[:, 2] = np.nan
    assert NLKAnonymity(n=2, l=3, k=5).check(Panel(x)).holds
    both = np.stack([crossing_panel(), np.zeros((25, 3))], axis=2)
    both[7, 2, 1] = 1.0
    assert NLKAnonymity(n=2, l=3, k=5).check(Panel(both)).witness["series"] == 7


def test_fewer_than_k_subjects_never_hold():
    verdict = NLKAnonymity(n=1, l=3, k=5).check(Panel(np.ones((4, 3))))
    assert not verdict.holds
    assert verdict.measured == 2


@given(x=small_panels(), k=st.integers(2, 4))
def test_in_the_worst_case_crowds_of_k_everywhere_are_enough(x, k):
    if x.shape[1] > 1:
        cells = marks_of(x)
        columns = [[row[t] for row in cells] for t in range(x.shape[1])]
        if all(column.count(cell) >= k for column in columns for cell in column):
            assert NLKAnonymity(x.shape[1] - 1, x.shape[1], k).check(Panel(x)).holds


def test_in_the_worst_case_crowds_of_k_everywhere_are_not_necessary():
    # Section 3.5.1 says that the results are clusters of size k. By the definition candidates in two groups of two
    # leave four, whoever of them is known at the other instant.
    x = [[1.0, 5.0], [1.0, 6.0], [2.0, 5.0], [2.0, 6.0]]
    assert NLKAnonymity(n=1, l=2, k=4).check(Panel(x)).holds
    assert naive_nlk_anonymous(np.array(x), 1, 2, 4)


def test_a_limit_that_runs_out_does_not_hold_and_says_that_no_breach_was_found():
    panel = table(*EXAMPLE_4)
    verdict = NLKAnonymity(n=2, l=3, k=6).check(panel, limit=0)
    assert not verdict.holds
    assert verdict.witness is None
    assert verdict.measured > verdict.required
    assert verdict.note.startswith("undecided: the search used up its limit of 0 steps and found no breach")


# The sampled adversary


@given(case=panels_with_subjects(), n=st.integers(1, 4), k=st.integers(2, 5))
def test_a_sample_never_infers_more_than_can_be_inferred(case, n, k):
    x, _, subjects = case
    if x.shape[1] <= n:
        return
    sample = NLKAnonymity(n, n + 1, k).sample(Panel(x, subjects=subjects), draws=3)
    assert sample.inferred <= naive_most_inferred(marks_of(x), n, k, subjects.tolist())
    assert sample.breached == (sample.inferred > 0)
    if sample.witness:
        w = sample.witness
        assert len(w["known"]) == n
        assert w["inferred"] == naive_inferred(marks_of(x), w["series"], w["known"], k, subjects.tolist())
        assert len(w["inferred"]) == sample.inferred
    else:
        assert sample.inferred == 0


def test_a_sample_is_repeatable_finds_the_planted_breach_and_is_no_verdict():
    x = crossing_panel()
    x[7, 2] = 1.0
    first, second = (NLKAnonymity(n=2, l=3, k=5).sample(Panel(x), draws=0, seed=4) for _ in range(2))
    assert first == second
    assert first.breached
    assert first.witness == {"series": 7, "known": [0, 1], "inferred": [2]}
    assert not hasattr(first, "holds")


def test_a_sample_knows_as_much_as_it_is_told():
    rng = np.random.default_rng(1)
    panel = Panel(rng.integers(0, 3, size=(40, 60)).astype(float))
    sample = NLKAnonymity(n=50, l=55, k=20).sample(panel, draws=5)
    assert len(sample.witness["known"]) == 50
    assert sample.inferred == 10  # everything else


# Refusals


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "3", True, None])
@pytest.mark.parametrize(("name", "least"), [("n", 1), ("l", 2), ("k", 2)])
def test_what_is_not_a_whole_number_or_too_small_is_refused(name, least, wrong):
    with pytest.raises(ParameterError, match=f"^{name} must be a whole number of at least {least}: "):
        NLKAnonymity(**({"n": 1, "l": 4, "k": 3} | {name: wrong}))


@pytest.mark.parametrize(("n", "l"), [(4, 4), (5, 4)])
def test_n_not_below_l_is_refused(n, l):
    with pytest.raises(
        ParameterError, match=rf"n={n} known instants are not fewer than l={l} in all.*Raise l or lower n"
    ):
        NLKAnonymity(n, l, 3)


def test_unknown_per_is_refused():
    with pytest.raises(ParameterError, match="per must be 'subject' or 'series'"):
        NLKAnonymity(1, 2, 3, per="day")


def test_l_above_the_number_of_instants_is_refused():
    panel = Panel(np.ones((4, 3)))
    for ask in (NLKAnonymity(1, 4, 2).check, NLKAnonymity(1, 4, 2).sample):
        with pytest.raises(
            ParameterError, match=r"l=4 needs at least 4 instants, the panel has 3\. Lower l or publish"
        ):
            ask(panel)


@pytest.mark.parametrize("draws", [-1, 1.5, True])
def test_draws_that_are_no_count_are_refused(draws):
    with pytest.raises(ParameterError, match="draws must be a whole number, at least 0"):
        NLKAnonymity(1, 2, 2).sample(Panel(np.ones((4, 3))), draws=draws)


def test_the_statement_says_it_in_words():
    assert NLKAnonymity(5, 9, 8).statement == (
        "Whoever knows 5 values of a published series can narrow down "
        "fewer than 4 others to fewer than 8 subjects each."
    )
    assert "knows 1 value of" in NLKAnonymity(1, 2, 8, per="series").statement
    assert NLKAnonymity(1, 2, 8, per="series").statement.endswith("no other to fewer than 8 series each.")


# Knowledge to within an error


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 3),
    more=st.integers(1, 2),
    k=st.integers(2, 5),
    within=st.sampled_from([0.75, 1.25, 2.25]),
    n_subjects=st.sampled_from([None, 4]),
    n_channels=st.sampled_from([1, 1, 2]),
)
def test_the_check_of_vague_knowledge_is_that_of_trying_everything(seed, n, more, k, within, n_subjects, n_channels):
    rng = np.random.default_rng(seed)
    n_series, n_instants = int(rng.integers(3, 9)), int(rng.integers(n + more, 6))
    x = rng.integers(0, 6, size=(n_series, n_instants, n_channels)) / 1.0
    x[rng.random(x.shape) < 0.1] = np.nan
    subjects = np.arange(len(x)) if n_subjects is None else rng.integers(0, n_subjects, size=len(x))
    verdict = NLKAnonymity(n, n + more, k, within=within).check(Panel(x, subjects=subjects))
    most = naive_most_inferred_within(x, n, k, within, subjects.tolist())
    assert verdict.holds == (most < more)
    if not verdict.holds:
        series, known, inferred = verdict.witness.values()
        assert tuple(inferred) in naive_inferred_within(x, series, known, k, within, subjects.tolist())
        assert len(known) == n
        assert len(inferred) >= more


BETWEEN = Panel([[1.0, 5.0]] * 3 + [[2.0, 6.0]] * 2 + [[3.0, 7.0]] * 3)
"""Two series in the middle, which others are near to on both sides."""


def test_vague_knowledge_infers_less_and_the_statement_says_how_vague():
    assert not NLKAnonymity(1, 2, 3).check(BETWEEN).holds
    assert not NLKAnonymity(1, 2, 3, within=0.9).check(BETWEEN).holds
    assert NLKAnonymity(1, 2, 3, within=1.1).check(BETWEEN).holds
    assert "knows 1 value, each to within 1.1, of a published series" in NLKAnonymity(1, 2, 3, within=1.1).statement
    assert not NLKAnonymity(1, 2, 3, within=1.1).check(BETWEEN, limit=0).holds  # undecided is not held


def test_an_estimate_need_not_be_the_value_itself():
    # 0.5, give or take 1, is right about 1, and rules out everybody else; that 1 itself would not does not matter.
    pairs = Panel([[1.0, 5.0]] * 2 + [[2.0, 6.0]] * 2 + [[3.0, 7.0]] * 2)
    for within in (1.1, 100.0):
        assert NLKAnonymity(1, 2, 3, within=within).check(pairs).witness["series"] in (0, 1, 4, 5)


def test_a_pattern_word_is_known_exactly_whatever_the_error():
    # Everyone has the same ranges. Two have a word of their own, between the words of others in the alphabet.
    words = ("aa", "aa", "aa", "ab", "ab", "ba", "ba", "ba")
    shared = np.zeros((8, 2))
    envelopes = Envelopes(shared, shared + 1.0, np.full(8, 2), words, np.arange(2))
    for within in (0.0, 0.5, 50.0):
        assert NLKAnonymity(1, 2, 3, within=within).check(envelopes).witness["series"] == 3
    alike = replace(envelopes, patterns=("aa", "aa", "aa", "ba", "ba", "ba", "ba", "ba"))
    assert NLKAnonymity(1, 2, 3, within=50.0).check(alike).holds


def test_impossible_errors_are_refused_and_samples_are_of_exact_knowledge():
    panel = Panel([[1.0, 5.0], [1.0, 5.0], [2.0, 6.0], [2.0, 6.0]])
    for within in (-1.0, float("nan"), True, "1", None, float("inf"), 10**400):
        with pytest.raises(ParameterError, match="within must be a number, at least 0"):
            NLKAnonymity(1, 2, 3, within=within)
    with pytest.raises(ParameterError, match="A sample is drawn for exact knowledge"):
        NLKAnonymity(1, 2, 3, within=1.0).sample(panel)


# Published attributes


@given(seed=st.integers(0, 10_000), within=st.sampled_from([0.0, 0.75, 2.25]), n_subjects=st.sampled_from([None, 4]))
def test_published_attributes_are_known_everywhere(seed, within, n_subjects):
    """As if they were a further channel, whose values are too far apart for any error."""
    rng = np.random.default_rng(seed)
    n_series = int(rng.integers(4, 9))
    x = rng.integers(0, 3, size=(n_series, 4, 1)) / 1.0
    kinds = rng.integers(0, 2, size=n_series)
    subjects = np.arange(n_series) if n_subjects is None else rng.integers(0, n_subjects, size=n_series)
    panel = Panel(x, subjects=subjects, attributes={"tariff": np.array(["day", "night"])[kinds]})
    known = np.concatenate([x, np.broadcast_to(1000.0 * kinds[:, None, None], x.shape)], axis=2)
    verdict = NLKAnonymity(1, 2, 3, within=within).check(panel)
    if within:
        assert verdict.holds == (naive_most_inferred_within(known, 1, 3, within, subjects.tolist()) < 1)
    else:
        assert verdict.holds == naive_nlk_anonymous(known, 1, 2, 3, subjects)


def test_an_attribute_that_singles_somebody_out_is_a_breach():
    same = np.zeros((6, 4))
    same[:3, 0] = 1.0
    assert NLKAnonymity(1, 2, 3).check(Panel(same)).holds
    alone = Panel(same, ids=list("abcdef"), attributes={"tariff": ["day"] + 5 * ["night"]})
    for guarantee in (NLKAnonymity(1, 2, 3), NLKAnonymity(1, 2, 3, within=9.0), SequenceNLKAnonymity(1, 2, 3)):
        assert not guarantee.check(alone).holds
    assert not SequenceNLKAnonymity(1, 2, 3).check([alone, alone]).holds
