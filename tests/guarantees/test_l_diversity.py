"""l-diversity against the definition, on every possible set, and against sabotage."""

import dataclasses
import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from naive.diversity import naive_l_diverse, naive_largest_share, naive_possible_sets
from shoal import KPAnonymity, LDiversity, Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.guarantees import build_guarantee
from shoal.guarantees.l_diversity import largest_counts, value_codes
from shoal.model import Candidate, Envelopes, Private, Recipe

LETTERS = st.sampled_from(["flu", "cold", "none", None])
NUMBERS = st.sampled_from([0.0, -0.0, 1.5, 1e300, np.nan])


@st.composite
def columns(draw, n):
    entries = draw(st.one_of(*(st.lists(of, min_size=n, max_size=n) for of in (LETTERS, NUMBERS, st.booleans()))))
    column = np.empty(n, dtype=object)
    column[:] = entries
    return column if None in entries or isinstance(entries[0], str) else np.array(entries)


def as_listed(column):
    """Values as the oracle has them: None is missing, 0.0 and -0.0 are one."""
    return [None if v is None or v != v else v for v in column.tolist()]


def both_ways(values):
    """Missing as what may be any value, and as a value like any other."""
    return values, ["missing" if value is None else value for value in values]


@st.composite
def small_panels(draw):
    n = draw(st.integers(1, 10))
    x = draw(arrays(np.float64, (n, 2), elements=st.sampled_from([0.0, -0.0, 1.0, np.nan])))
    subjects = draw(st.one_of(st.just(list(range(n))), st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    return x, subjects, {f"c{i}": draw(columns(n)) for i in range(draw(st.integers(1, 2)))}


@st.composite
def small_envelopes(draw):
    n = draw(st.integers(1, 9))
    low = draw(arrays(np.float64, (n, 1), elements=st.sampled_from([0.0, 1.0])))
    words = draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n))
    levels = draw(st.lists(st.integers(2, 3), min_size=n, max_size=n))
    return low, levels, words, draw(columns(n))


def rows_as_labels(x):
    return [np.where(np.isnan(row), np.nan, row).tobytes() for row in x]


@given(case=small_panels(), l=st.integers(2, 4))
def test_the_check_is_the_definition(case, l):
    x, subjects, sensitive = case
    verdict = LDiversity(l).check(Panel(x, subjects=subjects, sensitive=sensitive))
    labels = rows_as_labels(x)
    listed = [values for column in sensitive.values() for values in both_ways(as_listed(column))]
    assert verdict.holds == all(naive_l_diverse(labels, values, subjects, l) for values in listed)
    ways = (range(len(x)), subjects)
    largest = max(naive_largest_share(labels, values, members) for values in listed for members in ways)
    assert verdict.measured == (largest.denominator * 10_000 // largest.numerator) / 10_000
    if verdict.holds:
        assert verdict.witness is None
    else:
        alike = [i for i, label in enumerate(labels) if label == labels[verdict.witness]]
        assert any(
            not naive_l_diverse([0] * len(alike), [v[i] for i in alike], [subjects[i] for i in alike], l)
            for v in listed
        )


@given(case=small_envelopes(), l=st.integers(2, 3))
def test_what_holds_in_the_groups_holds_in_every_possible_set(case, l):
    low, levels, words, column = case
    n = len(low)
    verdict = LDiversity(l).check(Envelopes(low, low, levels, words, [0], sensitive={"c": column}))
    labels = list(zip(low[:, 0].tolist(), levels, words, strict=True))
    ways = both_ways(as_listed(column))
    assert verdict.holds == all(naive_l_diverse(labels, values, range(n), l) for values in ways)
    assert verdict.holds == all(
        naive_l_diverse([0] * len(s), [values[i] for i in s], range(len(s)), l)
        for s in naive_possible_sets(labels)
        for values in ways
    )


def test_groups_are_told_apart_by_envelope_level_and_word():
    column = {"illness": ["flu", "cold", "flu", "cold"]}
    alike = Envelopes(np.zeros((4, 1)), np.ones((4, 1)), [2] * 4, ["a"] * 4, [0], sensitive=column)
    assert LDiversity(2).check(alike).holds
    for change in (
        {"high": [[1.0], [2.0], [1.0], [2.0]]},
        {"levels": [2, 3, 2, 3]},
        {"patterns": ("a", "b", "a", "b")},
    ):
        verdict = LDiversity(2).check(dataclasses.replace(alike, **change))
        assert (verdict.holds, verdict.measured, verdict.witness) == (False, 1.0, 0)
        assert verdict.note == "one value of column 'illness' has too large a share of a group"


def test_the_witness_carries_the_frequent_value():
    panel = Panel(np.zeros((5, 2)), sensitive={"illness": ["none", "flu", "cold", "flu", "flu"]})
    verdict = LDiversity(2).check(panel)
    assert (verdict.holds, verdict.measured, verdict.witness) == (False, 1.6666, 1)


def test_the_measured_figure_is_never_rounded_up():
    values = ["flu"] * 1001 + [f"v{i}" for i in range(1001)]
    verdict = LDiversity(2).check(Panel(np.zeros((2002, 1)), sensitive=values))
    assert (verdict.holds, verdict.measured) == (True, 2.0)
    verdict = LDiversity(2).check(Panel(np.zeros((2001, 1)), sensitive=values[:-1]))
    assert (verdict.holds, verdict.measured) == (False, 1.999)


def test_missing_entries_may_be_anything():
    x = np.zeros((4, 1))
    assert LDiversity(2).check(Panel(x, sensitive=["flu", "flu", "cold", "cold"])).holds
    assert not LDiversity(2).check(Panel(x, sensitive=np.array(["flu", "flu", "cold", None], dtype=object))).holds
    assert LDiversity(2).check(Panel(x, sensitive=[1.0, 2.0, 3.0, np.nan])).holds


def test_missing_is_a_value_like_any_other():
    x = [[0.0]] * 2 + [[1.0]] * 2
    verdict = LDiversity(2).check(Panel(x, sensitive=np.array(["flu", "cold", None, None], dtype=object)))
    assert (verdict.outcome, verdict.measured, verdict.witness) == ("does not hold", 1.0, 2)
    # One of the two columns is as good as none, and still has one value only.
    columns = {"illness": ["flu", "cold", "flu", "cold"], "untold": [np.nan] * 4}
    verdict = LDiversity(2).check(Panel(x, sensitive=columns))
    assert (verdict.outcome, verdict.measured, verdict.witness) == ("does not hold", 1.0, 0)
    assert "'untold'" in verdict.note


def test_a_group_without_entries_that_would_break_what_it_joins_does_not_hold_alone():
    def column(*entries):
        return np.array(entries, dtype=object)

    told = Panel([[0.0], [0.0]], sensitive=column("flu", "cold"))
    untold = Panel([[0.0], [0.0], [1.0], [1.0]], sensitive=column(None, None, "flu", "cold"))
    joined = Panel([[0.0]] * 4 + [[1.0]] * 2, sensitive=column("flu", "cold", None, None, "flu", "cold"))
    assert LDiversity(2).check(told).holds
    assert not LDiversity(2).check(joined).holds
    assert not LDiversity(2).check(untold).holds


def test_one_persons_many_series_are_one_member_and_many():
    x = np.zeros((4, 1))
    values = ["flu", "cold", "flu", "cold"]
    assert LDiversity(2).check(Panel(x, sensitive=values)).holds
    assert LDiversity(2).check(Panel(x, subjects="uvuv", sensitive=values)).holds
    assert not LDiversity(2).check(Panel(x, subjects="uuvv", sensitive=values)).holds  # everyone has the flu once
    # In subjects flu is one of two, but three of four series show it.
    assert not LDiversity(2).check(Panel(x, subjects="uuuv", sensitive=["flu", "flu", "flu", "cold"])).holds


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (np.array([3, 1, 3]), [1, 0, 1]),
        (np.array([0.0, -0.0, np.nan, 0.5]), [0, 0, -1, 1]),
        (np.array([True, False]), [1, 0]),
        (np.array(["b", "a", "b"]), [0, 1, 0]),
        (np.array([1, 1.0, "1", None], dtype=object), [0, 0, 0, -1]),
        (np.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], dtype=object), [0, 1]),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"), [0, -1]),
    ],
)
def test_values_as_numbers(column, codes):
    assert value_codes(column).tolist() == codes


def test_counts_of_groups_given_as_numbers():
    sizes, largest = largest_counts(np.array([0, 0, 1, 1, 2]), np.array([4, 4, 0, -1, -1]), np.arange(5))
    assert (sizes.tolist(), largest.tolist()) == ([2, 2, 1], [2, 2, 1])


@pytest.mark.parametrize("kind", ["plain", "attributes", "envelopes", "profiles"])
def test_where_nothing_sensitive_is_published_it_does_not_hold_and_says_why(kind):
    if kind == "profiles":
        published = Microaggregation(k=2, form="profiles").anonymize(Panel(np.zeros((4, 1)), sensitive=range(4)))
    elif kind == "envelopes":
        published = Envelopes(np.zeros((4, 1)), np.ones((4, 1)), [2] * 4, ["a"] * 4, [0])
    else:
        published = Panel(np.zeros((4, 1)), attributes={"zip": range(4)} if kind == "attributes" else None)
    verdict = LDiversity(2).check(published)
    assert (verdict.holds, verdict.measured, verdict.witness) == (False, None, None)
    assert verdict.note == "no sensitive column is published, so there is none to judge"


def test_one_changed_entry_is_refused():
    values = ["flu", "cold", "none"] * 4
    x = np.repeat(np.arange(4.0), 3)[:, None]
    assert LDiversity(3).check(Panel(x, sensitive=values)).holds
    values[7] = values[6]
    verdict = LDiversity(3).check(Panel(x, sensitive=values))
    assert (verdict.holds, verdict.measured, verdict.witness) == (False, 1.5, 6)


@pytest.mark.parametrize("value", [1, 0, True, 2.5, "2"])
def test_an_impossible_l_is_refused(value):
    with pytest.raises(ParameterError, match="l must be a whole number of at least 2: with 1 a group"):
        LDiversity(value)


def test_the_statement_and_the_parameters():
    assert LDiversity(3).statement.endswith("each sensitive value belongs to at most one in 3 members.")
    assert build_guarantee("l-diversity", {"l": 3}) == LDiversity(3)
    assert not LDiversity(3).needs_originals


def test_a_candidate_with_several_guarantees_holds_when_all_do():
    published = Envelopes(
        np.zeros((4, 1)), np.ones((4, 1)), [2] * 4, ["a"] * 4, [0], sensitive={"c": ["x", "x", "y", "z"]}
    )
    private = Private(Panel(np.zeros((4, 1))), np.zeros(4, dtype=np.int64))
    candidate = Candidate(published, KPAnonymity(4, 4), Recipe("kp", {}), private)
    assert candidate.guarantees == (KPAnonymity(4, 4),)
    both = dataclasses.replace(candidate, further=(LDiversity(2),))
    assert both.guarantees == (KPAnonymity(4, 4), LDiversity(2))
    assert both.check() == candidate.check()
    assert both.check().holds
    verdict = dataclasses.replace(candidate, further=(LDiversity(2), LDiversity(3))).check()
    assert (verdict.holds, verdict.measured, verdict.required) == (False, 2.0, 3)
    first = dataclasses.replace(candidate, guarantee=KPAnonymity(5, 4), further=(LDiversity(3),)).check()
    assert (first.holds, first.required) == (False, 5)


SPELLINGS = ["flu", "Flu ", "f\u200blu", "FLU"]


def test_spellings_of_a_text_are_one_value():
    alike = np.ones((4, 2))
    verdict = LDiversity(2).check(Panel(alike, sensitive={"ill": SPELLINGS}))
    assert (verdict.outcome, verdict.measured) == ("does not hold", 1.0)
    assert LDiversity(2).check(Panel(alike, sensitive={"ill": [*SPELLINGS[:2], "gout", "none"]})).measured == 2.0
