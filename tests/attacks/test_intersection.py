"""Several releases compared, against sets of subjects worked out one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households
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
    told, totals = (Intersection(link).attack(panel, releases) for link in ("told", "totals"))
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
    with pytest.raises(ParameterError, match="link must be one of told, totals"):
        Intersection("guessed")
    with pytest.raises(ParameterError, match="attacks published series of values"):
        Intersection().attack(panel, ["out/"])


def test_what_is_known_is_said():
    assert Intersection().knows == "Which series is the target's in every release, and who is behind the others."
    assert Intersection("totals").knows == "The total of every day, and who is behind the others."
    assert "compares 2 releases" in Intersection().attack(households(), [averaged(4), averaged(10)]).sentence
