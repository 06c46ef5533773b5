"""(n, l, k)-anonymity over a sequence: releases side by side, against trying everyone and every set of instants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.ledger_instants import fine_by_instants
from naive.nlk import mark, naive_inferred, naive_most_inferred
from shoal import Microaggregation, NLKAnonymity, Panel, SequenceNLKAnonymity
from shoal.errors import ParameterError

FEW = st.sampled_from([0.0, -0.0, 1.0, np.nan])
N, L, K = 1, 3, 3


@st.composite
def sequences(draw, fewest=1):
    """Releases as mappings from names to rows of few values; whoever is in none is nobody."""
    names = [f"n{i}" for i in range(draw(st.integers(3, 7)))]
    releases = []
    for number in range(draw(st.integers(fewest, 3))):
        there = draw(st.lists(st.sampled_from(names), min_size=1 if number else 3, unique=True))
        width = 2 if number else 3
        rows = draw(st.lists(st.lists(FEW, min_size=width, max_size=width), min_size=1, max_size=3))
        releases.append({name: draw(st.sampled_from(rows)) for name in there})
    return releases


def panels(releases, subjects=None):
    return [
        Panel(list(release.values()), ids=list(release), subjects=subjects and [subjects[name] for name in release])
        for release in releases
    ]


def marked(releases):
    return [{name: [mark(value) or "missing" for value in row] for name, row in one.items()} for one in releases]


def side_by_side(releases):
    """One row per name, in the order in which they appear."""
    names = list(dict.fromkeys(name for release in releases for name in release))
    widths = [len(next(iter(release.values()))) for release in releases]
    return names, [
        [cell for one, width in zip(releases, widths, strict=True) for cell in one.get(name, [None] * width)]
        for name in names
    ]


@given(releases=sequences(), n=st.integers(1, 2), more=st.integers(1, 2), k=st.integers(2, 4))
def test_check_equals_enumeration(releases, n, more, k):
    l = min(n + more, 3)
    n = min(n, l - 1)
    verdict = SequenceNLKAnonymity(n, l, k).check(panels(releases))
    assert verdict.holds == fine_by_instants(marked(releases), n, l, k)


@given(releases=sequences(fewest=2), owners=st.lists(st.integers(0, 4), min_size=7, max_size=7))
def test_one_subjects_series_are_no_crowd(releases, owners):
    subjects = {f"n{i}": owner for i, owner in enumerate(owners)}
    names, cells = side_by_side(marked(releases))
    most = naive_most_inferred(cells, N, K, [subjects[name] for name in names])
    assert SequenceNLKAnonymity(N, L, K).check(panels(releases, subjects)).holds == (most < L - N)


@given(releases=sequences(fewest=2))
def test_the_witness_infers_what_it_says(releases):
    verdict = SequenceNLKAnonymity(N, L, K).check(panels(releases))
    if verdict.holds:
        assert verdict.witness is None
        return
    names, cells = side_by_side(marked(releases))
    name = list(releases[verdict.witness["of release"]])[verdict.witness["series"]]
    assert all(name not in release for release in releases[: verdict.witness["of release"]])
    known = tuple(verdict.witness["known"])
    assert naive_inferred(cells, names.index(name), known, K, range(len(names))) == verdict.witness["inferred"]
    assert len(verdict.witness["inferred"]) == verdict.measured >= L - N


@given(releases=sequences())
def test_every_release_of_a_sequence_that_holds_does_so_by_itself(releases):
    if SequenceNLKAnonymity(N, L, K).check(panels(releases)).holds:
        assert all(fine_by_instants([release], N, L, K) for release in marked(releases))


@given(releases=sequences(fewest=2), n=st.integers(1, 2))
def test_a_single_release_is_judged_as_by_nlk_anonymity(releases, n):
    panel = panels(releases)[0]
    expected = NLKAnonymity(n, 3, 2).check(panel)
    assert SequenceNLKAnonymity(n, 3, 2).check(panel) == SequenceNLKAnonymity(n, 3, 2).check([panel]) == expected


def test_who_is_absent_alone_is_found_and_who_is_absent_in_a_crowd_is_not():
    names, day = "abcdef", np.zeros((6, 2))
    both = [Panel(day, ids=names), Panel(day[:5], ids=names[:5])]
    assert not SequenceNLKAnonymity(1, 2, 2).check(both).holds
    assert SequenceNLKAnonymity(1, 2, 2).check([both[0], Panel(day[:4], ids=names[:4])]).holds


@pytest.mark.parametrize("place", [(i, t, u) for i in range(6) for t in range(2) for u in range(2)])
def test_two_tiny_changes_of_a_series_in_two_releases_are_found(place):
    values = np.random.default_rng(1).random((2, 2, 2)).repeat(3, axis=1)
    guarantee = SequenceNLKAnonymity(1, 2, 3)
    row, *instants = place
    for number, instant in enumerate(instants):  # one alone infers nothing: nobody else is narrowed down by it
        assert guarantee.check([Panel(v, ids="abcdef") for v in values]).holds
        values[number, row, instant] = np.nextafter(values[number, row, instant], np.inf)
    assert not guarantee.check([Panel(v, ids="abcdef") for v in values]).holds


def test_a_series_that_changes_hands_does_not_hold():
    releases = [Panel(np.ones((2, 2)), ids="ab", subjects=subjects) for subjects in ("xy", "xz")]
    verdict = SequenceNLKAnonymity(1, 2, 2).check(releases)
    assert not verdict.holds
    assert verdict.witness == {"series": 1, "of release": 0}
    assert verdict.note == "a series has another subject than in a release before"


def test_nothing_and_what_has_no_names_are_refused():
    with pytest.raises(ParameterError, match="A sequence needs at least one release"):
        SequenceNLKAnonymity(1, 2, 2).check([])
    profiles = Microaggregation(k=3, form="profiles").anonymize(Panel(np.arange(12.0).reshape(6, 2)))
    with pytest.raises(ParameterError, match="judged by the names of its series, which profiles and envelopes lack"):
        SequenceNLKAnonymity(1, 2, 3).check(profiles)


def test_what_nlk_anonymity_refuses_is_refused():
    with pytest.raises(ParameterError, match="n=3 known instants are not fewer than l=3 in all"):
        SequenceNLKAnonymity(3, 3, 2)


def test_the_statement_says_that_knowledge_counts_over_all_releases():
    assert SequenceNLKAnonymity(1, 2, 5).statement == (
        "Whoever knows 1 value of a series, in whichever releases of the sequence, can narrow down no other in all of "
        "them to fewer than 5 subjects each."
    )


def test_attributes_of_one_release_are_known_in_all():
    """Whoever knows a reading of the first day and the tariff, which is published on the second, infers the others."""
    names = [f"n{i}" for i in range(8)]
    first = Panel(np.zeros((8, 2)), ids=names)
    second = Panel(np.zeros((8, 2)), ids=names, attributes={"tariff": ["day"] * 2 + ["night"] * 6})
    guarantee = SequenceNLKAnonymity(1, 3, 3)
    assert guarantee.check([first, second]).witness["series"] in (0, 1)
    crowd = np.arange(2, 8)
    assert guarantee.check([first.take(crowd), second.take(crowd)]).holds
