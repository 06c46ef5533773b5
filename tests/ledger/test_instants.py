"""Releases under (n, l, k)-anonymity beside each other: against enumeration, and as the ledger takes them."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger_examples import publish
from naive.ledger_instants import fine_by_instants
from shoal import KAnonymity, NLKAnonymity, Panel
from shoal.errors import GuaranteeNotMetError
from shoal.ledger import groups as membership
from shoal.ledger.conflicts import judge_entries
from shoal.ledger.file import read_ledger
from shoal.ledger.instants import InstantGroups, judge_together
from shoal.model import Candidate, Private, Recipe

HALVES = [[0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]]
"""Two instants of six people in two groups of three."""


def release_of(people, columns, place, n=1, l=2, k=2, within=0.0):
    order = np.argsort(people)
    groups = np.array(columns).T[order]
    subjects = np.array(people, dtype=np.uint64)[order]
    return InstantGroups(subjects, groups, n, l, k, within, 10 * place, 10 * place + len(columns) - 1, "number")


@st.composite
def releases(draw):
    """Two or three releases of up to six people, some of them absent from some."""
    found = []
    for _ in range(draw(st.integers(2, 3))):
        people = draw(st.lists(st.integers(0, 5), min_size=3, max_size=6, unique=True))
        group = st.lists(st.integers(0, 1), min_size=len(people), max_size=len(people))
        found.append((people, draw(st.lists(group, min_size=1, max_size=2))))
    return found


@given(releases(), st.integers(1, 2), st.integers(1, 2), st.integers(2, 3))
def test_releases_together_are_judged_as_by_enumeration(several, n, more, k):
    l = n + more
    if l > sum(len(columns) for _, columns in several):
        return
    listed = [dict(zip(people, np.array(columns).T.tolist(), strict=True)) for people, columns in several]
    found = judge_together([release_of(*one, place, n, l, k) for place, one in enumerate(several)])
    assert found.unknown == ""
    assert (found.broken == "") == fine_by_instants(listed, n, l, k)


@given(releases())
def test_every_promise_is_kept(several):
    promises = [(1, 2, 2), (1, 3, 3), (2, 3, 2)]
    if sum(len(columns) for _, columns in several) < 3:
        return
    listed = [dict(zip(people, np.array(columns).T.tolist(), strict=True)) for people, columns in several]
    made = [(n, l, k) for (n, l, k), _ in zip(promises, several, strict=False)]
    found = judge_together([release_of(*one, place, *made[place]) for place, one in enumerate(several)])
    assert (found.broken == "") == all(fine_by_instants(listed, *promise) for promise in made)


def test_what_exact_knowledge_does_not_infer_vague_knowledge_does_not():
    people = list(range(6))
    same = [[0, 0, 0, 1, 1, 1]] * 2
    fine = [release_of(people, same, place, k=3, within=0.5) for place in range(2)]
    assert judge_together(fine).unknown == judge_together(fine).broken == ""
    tight = [release_of(people, [[0, 0, 1, 1, 2, 2]] * 2, place, k=3, within=0.5) for place in range(2)]
    assert "to within 0.5 could is not known without the values" in judge_together(tight).unknown
    assert judge_together([dataclasses.replace(one, within=0.0) for one in tight]).broken


def test_common_instants_and_other_clocks_are_not_judged():
    one, two = (release_of(range(6), HALVES, place, k=3) for place in range(2))
    for other in (dataclasses.replace(two, first=1, last=2), dataclasses.replace(two, clock="datetime64[us]")):
        assert "where their periods do not overlap" in judge_together([one, other]).unknown


def candidate(columns, month, within=0.0, guarantee=None, n_people=6, l=2):
    """Published in given groups at each instant; the readings are those of the groups."""
    groups = np.array(columns).T
    times = np.datetime64(f"2024-{month:02}-01T00:00") + np.arange(len(columns)) * np.timedelta64(1, "h")
    original = Panel(groups + 0.01 * np.arange(n_people)[:, None], ids=[f"h{i}" for i in range(n_people)], times=times)
    guarantee = guarantee or NLKAnonymity(1, l, 3, within=within)
    return Candidate(Panel(groups * 1.0, times=times), guarantee, Recipe("nlk", {}), Private(original, groups))


class TestLedger:
    def test_a_second_period_passes_where_both_hold_together(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        for month in (1, 2, 3):
            publish(candidate(HALVES, month), tmp_path / str(month), ledger=book)
        verdict = judge_entries(read_ledger(book))
        assert verdict.outcome == "holds"
        assert [entry.format for entry in read_ledger(book)] == [6] * 3

    def test_a_second_period_that_tells_more_is_refused(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        pairs = [[0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]]  # two in a group, and no reading leads to one group
        publish(candidate(pairs, 1), tmp_path / "a", ledger=book)
        with pytest.raises(
            GuaranteeNotMetError,
            match=r"Together with 1 earlier release\(s\) .* knows 1 reading\(s\) in all infers 1 other\(s\) to fewer",
        ):
            publish(candidate(pairs, 2), tmp_path / "b", ledger=book)
        assert not (tmp_path / "b").exists()
        assert judge_entries(read_ledger(book)).outcome == "holds"

    def test_check_finds_what_was_recorded_all_the_same(self, tmp_path, monkeypatch):
        book = tmp_path / "ledger.jsonl"
        pairs = [[0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]]
        monkeypatch.setattr("shoal.ledger.file.refuse_together", lambda earlier, added: None)
        for month in (1, 2):
            publish(candidate(pairs, month), tmp_path / str(month), ledger=book)
        verdict = judge_entries(read_ledger(book))
        assert verdict.outcome == "does not hold"
        assert verdict.findings[0].startswith("release 2, with those before it of the same subjects: someone who knows")

    def test_other_kinds_beside_it_are_not_judged(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(candidate(HALVES, 1), tmp_path / "a", ledger=book)
        alike = candidate([HALVES[0]] * 2, 2, guarantee=KAnonymity(3))
        with pytest.raises(GuaranteeNotMetError, match=r"\(release 1: nlk-anonymity promises no crowd"):
            publish(alike, tmp_path / "b", ledger=book)

    def test_larger_releases_are_refused_as_not_judged(self, tmp_path, monkeypatch):
        monkeypatch.setattr(membership, "MOST_CELLS", 10)
        book = tmp_path / "ledger.jsonl"
        publish(candidate(HALVES, 1), tmp_path / "a", ledger=book)
        with pytest.raises(GuaranteeNotMetError, match=r"\(this one: nlk-anonymity promises no crowd"):
            publish(candidate(HALVES, 2), tmp_path / "b", ledger=book)
        assert judge_entries(read_ledger(book)).outcome == "not judged"

    def test_every_n_l_k_promise_of_a_release_is_judged(self, tmp_path):
        """A method's own promise, and one for vaguer knowledge beside it."""
        book = tmp_path / "ledger.jsonl"
        vague = NLKAnonymity(1, 2, 3, within=0.5)
        for month in (1, 2):
            publish(candidate(HALVES, month), tmp_path / f"{month}", ledger=book, require=[vague])
        assert read_ledger(book)[0].members.unpacked().instants.promises == ((1, 2, 3, 0.0), (1, 2, 3, 0.5))
        assert judge_entries(read_ledger(book)).outcome == "holds"

    def test_a_further_promise_is_kept_too(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        pairs = [[0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]]
        few = NLKAnonymity(1, 2, 2)
        publish(candidate(pairs, 1, guarantee=few), tmp_path / "a", ledger=book, require=[NLKAnonymity(1, 2, 3)])
        with pytest.raises(GuaranteeNotMetError, match="infers 1 other"):
            publish(candidate(pairs, 2, guarantee=few), tmp_path / "b", ledger=book, require=[NLKAnonymity(1, 2, 3)])

    def test_crowds_below_the_k_of_n_l_k_do_not_stand_for_it(self, tmp_path):
        """Published in crowds of three; only all six together keep the promise of five."""
        book = tmp_path / "ledger.jsonl"
        alike = [[0, 0, 0, 0, 0, 0]] * 2
        for month, k in ((1, 3), (2, 3)):
            publish(
                candidate(alike, month, guarantee=KAnonymity(3)),
                tmp_path / f"{month}",
                ledger=book,
                require=[NLKAnonymity(1, 2, k)],
            )
        assert judge_entries(read_ledger(book)).outcome == "holds"
        with pytest.raises(GuaranteeNotMetError, match="nlk-anonymity promises more subjects than are published alike"):
            publish(
                candidate(alike, 3, guarantee=KAnonymity(3)),
                tmp_path / "c",
                ledger=book,
                require=[NLKAnonymity(1, 2, 5)],
            )
