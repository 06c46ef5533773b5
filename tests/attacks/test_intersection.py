"""Several releases compared, against sets of subjects worked out one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households, like, noisy
from shoal import KAnonymity, Panel
from shoal.attacks import Intersection
from shoal.errors import ParameterError


@st.composite
def groupings(draw):
    """Several ways to put subjects into groups, rows in any order, some left out."""
    n = draw(st.integers(2, 7))
    releases = []
    for _ in range(draw(st.integers(1, 3))):
        kept = draw(st.permutations(range(n)))[: draw(st.integers(2, n))]
        releases.append((kept, draw(st.lists(st.integers(0, 2), min_size=len(kept), max_size=len(kept)))))
    return n, releases


@given(case=groupings())
def test_subjects_left_equal_the_intersection_of_groups(case):
    n, releases = case
    original = Panel(np.arange(n, dtype=float)[:, None])
    published = [Panel(np.array(group, dtype=float)[:, None]) for _, group in releases]
    rows = [np.array(kept) for kept, _ in releases]
    everywhere = sorted(set.intersection(*(set(kept) for kept, _ in releases)))
    if not everywhere:
        with pytest.raises(ParameterError, match="None of the targets is in the release"):
            Intersection().attack(original, published, rows=rows)
        return
    crowds = [
        [{j for j, g in zip(kept, group, strict=True) if g == group[kept.index(i)]} for kept, group in releases]
        for i in everywhere
    ]
    left = [len(set.intersection(*crowd)) for crowd in crowds]
    targets, found = Intersection().subjects_left(original, published, rows=rows)
    assert targets.tolist() == everywhere
    assert found.tolist() == left
    risk = Intersection().attack(original, published, rows=rows)
    assert risk.success == pytest.approx(np.mean([1 / size for size in left]))
    assert risk.fewest == min(left)
    assert risk.alone == pytest.approx([np.mean([1 / len(c[r]) for c in crowds]) for r in range(len(releases))])
    assert risk.prosecutor == pytest.approx(1 / min(left))
    assert risk.worst[0] == everywhere[int(np.argmin(left))]


@st.composite
def series_of_subjects(draw):
    """Subjects with several series, and releases that put series into groups and leave some out."""
    subjects = draw(st.lists(st.integers(0, 3), min_size=2, max_size=7))
    group = st.one_of(st.none(), st.integers(0, 1))
    releases = draw(
        st.lists(
            st.lists(group, min_size=len(subjects), max_size=len(subjects)).filter(lambda g: set(g) != {None}),
            min_size=1,
            max_size=3,
        )
    )
    return subjects, releases


@given(case=series_of_subjects())
def test_keyed_releases_are_joined_series_by_series(case):
    subjects, releases = case
    n = len(subjects)
    original = Panel(np.arange(n, dtype=float)[:, None], subjects=subjects)
    rows = [np.array([i for i in range(n) if groups[i] is not None]) for groups in releases]
    published = [
        Panel(np.array([groups[i] for i in own], dtype=float)[:, None])
        for groups, own in zip(releases, rows, strict=True)
    ]
    followed = [tuple(groups[i] for groups in releases) for i in range(n)]
    everywhere = [i for i in range(n) if None not in followed[i]]
    if not everywhere:
        with pytest.raises(ParameterError, match="None of the targets is in the release"):
            Intersection(names="keyed").attack(original, published, rows=rows)
        return
    left = [len({subjects[j] for j in range(n) if followed[j] == followed[i]}) for i in everywhere]
    targets, found = Intersection(names="keyed").subjects_left(original, published, rows=rows)
    assert targets.tolist() == everywhere
    assert found.tolist() == left
    # Names tell at least as much as knowing people does.
    fresh = dict(zip(*(x.tolist() for x in Intersection().subjects_left(original, published, rows=rows)), strict=True))
    assert all(size <= fresh[i] for i, size in zip(everywhere, left, strict=True))


def test_names_tell_series_apart_that_their_subjects_share():
    # Two meters of each of four households: every group is of two households or more, and each series goes its own way.
    original = Panel(np.arange(8.0)[:, None], subjects=[0, 1, 2, 3] * 2)
    january = Panel(np.array([0, 0, 1, 1, 2, 2, 3, 3.0])[:, None])
    february = Panel(np.array([0, 1, 0, 1, 1, 0, 1, 0.0])[:, None])
    fresh, keyed = (Intersection(names=names).attack(original, [january, february]) for names in ("fresh", "keyed"))
    assert (fresh.fewest, fresh.success) == (2, 0.5)
    assert (keyed.fewest, keyed.success) == (1, 1.0)


def test_totals_of_joined_releases_are_compared_over_all_of_them():
    panel = households()
    days = panel.n_instants // 2
    halves = [
        Panel(averaged(4).values[:, part], times=panel.times[part]) for part in (slice(None, days), slice(days, None))
    ]
    keyed = Intersection("totals", names="keyed").attack(panel, halves)
    whole = Intersection("totals", names="keyed").attack(panel, averaged(4))
    assert keyed.success == pytest.approx(whole.success, abs=0.02)


def test_two_releases_that_are_fine_alone_break_together():
    panel = households()
    one, other = averaged(4), averaged(4, features="standardized")
    assert KAnonymity(4).check(one).holds
    assert KAnonymity(4).check(other).holds
    risk = Intersection().attack(panel, [one, other])
    assert risk.success > 0.5
    assert risk.fewest == 1
    assert max(risk.alone) <= 0.25 == pytest.approx(risk.control)
    targets, left = Intersection().subjects_left(panel, [one, other])
    assert left[targets.tolist().index(risk.worst[0])] == 1


def test_the_same_groups_twice_tell_nothing_new():
    panel = households()
    risk = Intersection().attack(panel, [averaged(4), averaged(4)])
    assert risk.success == pytest.approx(max(risk.alone))
    assert risk.fewest == 4


def test_looking_by_totals_finds_less_than_being_told():
    panel = households()
    releases = [averaged(4), averaged(4, features="standardized")]
    told, totals = (Intersection(link).attack(panel, releases) for link in ("known", "totals"))
    assert totals.baseline < totals.success < told.success
    assert totals.success > max(totals.alone)


def test_one_release_is_what_it_is_alone():
    panel = households()
    assert Intersection().attack(panel, averaged(4)).alone == pytest.approx([0.25])


def test_only_targets_are_sampled():
    panel = households()
    risk = Intersection(n_targets=30).attack(panel, [averaged(4), averaged(10)])
    assert risk.n_targets == 30
    assert risk.baseline == pytest.approx(1 / 300)


def test_refusals():
    panel = Panel([[1.0], [2.0]])
    with pytest.raises(ParameterError, match="needs at least one release"):
        Intersection().attack(panel, [])
    with pytest.raises(ParameterError, match="one entry for each of the 2 releases"):
        Intersection().attack(panel, [panel, panel], rows=[[0, 1]])
    with pytest.raises(ParameterError, match="link must be one of known, totals"):
        Intersection("guessed")
    with pytest.raises(ParameterError, match="names must be one of fresh, keyed"):
        Intersection(names="random")
    with pytest.raises(ParameterError, match="Keyed names need releases with one row for each series"):
        Intersection(names="keyed").attack(panel, [Panel([[1.0], [2.0], [2.0]])], rows=[[0, 1, 1]])
    with pytest.raises(ParameterError, match="attacks published series of values"):
        Intersection().attack(panel, ["out/"])


def test_what_is_known_is_said():
    assert Intersection().knows == "Which series is the target's in every release, and who is behind the others."
    assert Intersection("totals").knows == "The total of every day, and who is behind the others."
    assert "compares 2 releases" in Intersection().attack(households(), [averaged(4), averaged(10)]).sentence
    keyed = Intersection(names="keyed")
    assert keyed.knows == (
        "Which series is the target's in one release, and by its name in all, and who is behind the others."
    )
    assert "joins 2 releases" in keyed.attack(households(), [averaged(4), averaged(10)]).sentence


@pytest.mark.parametrize("names", ["fresh", "keyed"])
def test_gaps_do_not_hide_noisy_totals(rng, names):
    panel = households()
    holed = like(panel, np.where(rng.random(panel.values.shape) < 0.03, np.nan, panel.values))
    releases = [noisy(holed, 5.0, seed) for seed in (1, 2)]
    assert Intersection(link="totals", names=names).attack(holed, releases).success > 0.8
