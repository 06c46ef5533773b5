from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.sequences import naive_sequence_crowds
from shoal import KAnonymity, Microaggregation, Panel, SequenceAnonymity, simulate
from shoal.errors import ParameterError

FEW = st.sampled_from([0.0, -0.0, 1.0, np.nan])


@st.composite
def sequences(draw, longest=4):
    """Releases as mappings from names to rows, and a subject for each name; of few values, so that rows are alike."""
    names = [f"n{i}" for i in range(draw(st.integers(2, 7)))]
    subjects = {name: draw(st.integers(0, len(names))) for name in names}
    releases = []
    for _ in range(draw(st.integers(1, longest))):
        there = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        width = draw(st.integers(1, 2))
        rows = draw(st.lists(st.lists(FEW, min_size=width, max_size=width), min_size=1, max_size=2))
        releases.append({name: draw(st.sampled_from(rows)) for name in there})
    return releases, subjects


def panels(releases, subjects=None):
    return [
        Panel(list(release.values()), ids=list(release), subjects=subjects and [subjects[name] for name in release])
        for release in releases
    ]


@given(case=sequences(), k=st.integers(2, 4))
def test_check_equals_enumeration(case, k):
    releases, subjects = case
    for known in (None, subjects):
        verdict = SequenceAnonymity(k).check(panels(releases, known))
        smallest = min(naive_sequence_crowds(releases, known).values())
        assert (verdict.holds, verdict.measured, verdict.required) == (smallest >= k, smallest, k)


@given(case=sequences(), k=st.integers(2, 3))
def test_the_witness_is_a_series_of_the_smallest_crowd(case, k):
    releases, _ = case
    verdict = SequenceAnonymity(k).check(panels(releases))
    if verdict.holds:
        assert verdict.witness is None
        return
    crowds = naive_sequence_crowds(releases)
    number, row = (0, verdict.witness) if len(releases) == 1 else (verdict.witness[w] for w in ("of release", "series"))
    name = list(releases[number])[row]
    assert crowds[name] == min(crowds.values())
    assert all(name not in release for release in releases[:number])


@given(case=sequences())
def test_whoever_sees_only_some_of_the_releases_finds_no_smaller_crowd(case):
    releases, subjects = case
    whole = naive_sequence_crowds(releases, subjects)
    k = max(2, min(whole.values()))
    holds = SequenceAnonymity(k).check(panels(releases, subjects)).holds
    for n in range(1, len(releases) + 1):
        for seen in combinations(releases, n):
            crowds = naive_sequence_crowds(seen, subjects)
            assert all(crowds[name] >= whole[name] for name in crowds)
            assert SequenceAnonymity(k).check(panels(seen, subjects)).holds or not holds


@given(case=sequences(longest=3))
def test_the_order_of_the_releases_does_not_matter(case):
    releases, subjects = case
    found = {SequenceAnonymity(2).check(panels(order, subjects)).measured for order in permutations(releases)}
    assert len(found) == 1


@given(case=sequences(longest=1), k=st.integers(2, 4))
def test_a_single_release_is_judged_as_by_k_anonymity(case, k):
    panel = panels(*case)[0]
    assert SequenceAnonymity(k).check(panel) == SequenceAnonymity(k).check([panel]) == KAnonymity(k).check(panel)


def test_two_releases_that_are_fine_alone_may_not_be_fine_together():
    monday = Panel(np.repeat([[1.0], [2.0]], 3, axis=0), ids="abcdef")
    tuesday = Panel([[1.0], [1.0], [2.0], [1.0], [2.0], [2.0]], ids="abcdef")
    assert all(SequenceAnonymity(3).check(release).holds for release in (monday, tuesday))
    verdict = SequenceAnonymity(3).check([monday, tuesday])
    assert (verdict.holds, verdict.measured, verdict.required) == (False, 1, 3)
    assert verdict.witness == {"series": 2, "of release": 0}


def test_who_begins_or_ends_alone_is_found_and_who_does_so_in_a_crowd_is_not():
    every = Panel(np.ones((4, 1)), ids="abcd")
    assert not SequenceAnonymity(2).check([every, Panel(np.ones((5, 1)), ids="abcde")]).holds
    assert not SequenceAnonymity(2).check([every, Panel(np.ones((3, 1)), ids="abc")]).holds
    assert SequenceAnonymity(2).check([every, Panel(np.ones((6, 1)), ids="abcdef")]).holds
    assert SequenceAnonymity(2).check([every, Panel(np.ones((2, 1)), ids="ab")]).holds


def test_absent_is_not_missing():
    present = Panel([[1.0], [1.0]], ids="ab")
    assert SequenceAnonymity(2).check([present, Panel([[np.nan], [np.nan]], ids="ab")]).holds
    assert not SequenceAnonymity(2).check([present, Panel([[np.nan]], ids="a")]).holds


@pytest.mark.parametrize("place", [(r, i, t) for r in range(3) for i in range(6) for t in range(2)])
def test_the_smallest_change_in_any_release_is_found(place):
    values = np.random.default_rng(1).random((3, 2, 2)).repeat(3, axis=1)
    assert SequenceAnonymity(3).check([Panel(v, ids="abcdef") for v in values]).holds
    values[place] = np.nextafter(values[place], np.inf)
    verdict = SequenceAnonymity(3).check([Panel(v, ids="abcdef") for v in values])
    assert verdict.measured == 1
    assert verdict.witness == {"series": place[1], "of release": 0}


def test_one_persons_own_series_are_no_crowd():
    releases = [Panel(np.full((4, 1), v), ids="abcd", subjects=["x", "x", "x", "y"]) for v in (1.0, 2.0)]
    assert SequenceAnonymity(2).check(releases).measured == 2
    assert not SequenceAnonymity(3).check(releases).holds


def test_a_series_that_changes_hands_does_not_hold():
    releases = [Panel(np.ones((2, 1)), ids="ab", subjects=subjects) for subjects in ("xy", "xz")]
    verdict = SequenceAnonymity(2).check(releases)
    assert not verdict.holds
    assert verdict.witness == {"series": 1, "of release": 0}
    assert verdict.note == "a series has another subject than in a release before"


def test_candidates_are_judged_as_well():
    days = [Microaggregation(k=3).anonymize(simulate.meters(12, days=1, seed=seed)) for seed in (1, 2)]
    assert all(SequenceAnonymity(3).check(day).holds for day in days)
    assert not SequenceAnonymity(3).check(days).holds
    assert SequenceAnonymity(3).check([days[0], days[0]]).holds


def test_nothing_is_no_sequence():
    with pytest.raises(ParameterError, match="A sequence needs at least one release"):
        SequenceAnonymity(2).check([])


def test_releases_without_names_are_refused():
    profiles = Microaggregation(k=3, form="profiles").anonymize(Panel(np.arange(12.0).reshape(6, 2)))
    with pytest.raises(ParameterError, match="judged by the names of its series, which profiles and envelopes lack"):
        SequenceAnonymity(3).check(profiles)


@pytest.mark.parametrize("k", [1, 0, 2.5, "3", True, None])
def test_k_below_two_or_not_whole_is_refused(k):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 2"):
        SequenceAnonymity(k)
