"""Consistency of one analyst and agreement of several."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from shoal.labels import Label, Labels, agreement, consistency
from shoal.labels.agreement import wilson

WORDS = {1: "similar", 0: "dissimilar", None: "undecided"}


def given_by(**answers):
    """Labels of analysts about the same pairs (0, 1), (0, 2), …: 1 similar, 0 dissimilar, None undecided."""
    return Labels(
        tuple(
            Label(analyst, at, *((0, at + 1) if at % 2 else (at + 1, 0)), WORDS[answer])
            for analyst, row in answers.items()
            for at, answer in enumerate(row)
        )
    )


def naive_alpha(rows):
    """1 minus the share of unlike answers within pairs over that among all answers that can be compared."""
    units = [[answer for answer in unit if answer is not None] for unit in zip(*rows, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    everything = [answer for unit in units for answer in unit]
    n = len(everything)
    within = sum(sum(a != b for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units) / n
    among = sum(a != b for a, b in permutations(everything, 2)) / (n * (n - 1))
    return 1.0 - within / among if among else 1.0


def test_krippendorffs_own_example():
    """Computing Krippendorff's alpha-reliability, 2011, section A: two observers, two values, ten units."""
    found = agreement(given_by(meg=[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], owen=[1, 1, 1, 0, 0, 1, 0, 0, 0, 0]))
    assert found.alpha == pytest.approx(0.095, abs=5e-4)
    assert found.n_pairs == 10
    assert found.pairwise == {("meg", "owen"): (0.6, 10)}


@given(rows=st.lists(st.lists(st.sampled_from([0, 1, None]), min_size=6, max_size=6), min_size=2, max_size=4))
def test_alpha_is_what_a_loop_finds(rows):
    found = agreement(given_by(**{f"analyst{at}": row for at, row in enumerate(rows)}))
    comparable = [sum(a is not None for a in unit) > 1 for unit in zip(*rows, strict=True)]
    if not any(comparable):
        assert found is None
        return
    assert found.n_pairs == sum(comparable)
    assert found.alpha == pytest.approx(naive_alpha(rows))


def test_those_with_nothing_in_common_are_left_out():
    found = agreement(given_by(anna=[1, 1, None, None], bob=[1, 0, 1, None], carl=[None, None, 0, 1]))
    assert found.pairwise == {("anna", "bob"): (0.5, 2), ("bob", "carl"): (0.0, 1)}


def test_alone_nobody_agrees():
    assert agreement(given_by(anna=[1, 0])) is None
    assert agreement(Labels()) is None
    assert agreement(given_by(anna=[1, 1], bob=[1, 1])).alpha == 1.0


def test_of_a_repeated_question_the_first_answer_counts():
    labels = Labels(
        (
            Label("anna", 0, 0, 1, "similar"),
            Label("anna", 1, 1, 0, "dissimilar", repeat_of=0),
            Label("bob", 0, 1, 0, "similar"),
        )
    )
    assert agreement(labels).pairwise == {("anna", "bob"): (1.0, 1)}


def test_consistency_counts_questions_decided_twice():
    labels = Labels(
        (
            Label("anna", 0, 0, 1, "similar"),
            Label("anna", 1, 0, 2, "similar"),
            Label("anna", 2, 0, 3, "undecided"),
            Label("anna", 3, 0, 4, "dissimilar"),
            Label("anna", 10, 1, 0, "similar", repeat_of=0),
            Label("anna", 11, 2, 0, "dissimilar", repeat_of=1),
            Label("anna", 12, 3, 0, "similar", repeat_of=2),
            Label("anna", 13, 4, 0, "undecided", repeat_of=3),
            Label("anna", 14, 5, 0, "similar", repeat_of=77),
            Label("bob", 0, 0, 1, "dissimilar"),
            Label("bob", 10, 1, 0, "dissimilar", repeat_of=0),
        )
    )
    found = consistency(labels)
    assert (found.value, found.n) == (2 / 3, 3)
    assert (consistency(labels.of("bob")).value, consistency(labels.of("bob")).n) == (1.0, 1)


def test_without_repetitions_there_is_no_consistency():
    assert consistency(Labels()) is None
    assert consistency(given_by(anna=[1, 0, 1])) is None


@pytest.mark.parametrize(("alike", "n"), [(0, 1), (1, 1), (3, 7), (19, 20), (20, 20), (500, 1000)])
def test_the_interval_is_wilsons(alike, n):
    found = wilson(alike, n)
    wanted = binomtest(alike, n).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose([found.low, found.high], [wanted.low, wanted.high], atol=1e-12)
