"""What links are worth, worked by hand."""

import numpy as np
import pytest

from shoal.attacks.ground import NO_LEVELS, Truth
from shoal.attacks.links import Carried, Chances, LinkFindings, Links, count_links, link_figures, surest


def chances(own, sizes, nearest, following):
    table = np.column_stack([nearest, following]).astype(float)
    return Chances(np.array(sizes), np.array(own), table)


def test_of_links_that_look_sure_twenty_are_judged_together():
    """Forty links, the surest right, all others wrong: one in twenty, not one in one."""
    own = [1] + [0] * 39
    found = chances(own, [1] * 40, np.arange(1.0, 41.0), np.full(40, 100.0))
    assert surest(found) == pytest.approx(1 / 20)


def test_links_are_sure_by_few_candidates_and_then_by_their_lead():
    own, sizes = [0] * 20 + [1] * 20 + [1] * 20, [1] * 40 + [2] * 20
    by_lead = chances(own, sizes, [9.0] * 20 + [1.0] * 20 + [0.5] * 20, [10.0] * 60)
    assert surest(by_lead) == 1.0
    assert surest(chances(own, sizes, [1.0] * 20 + [9.0] * 20 + [0.5] * 20, [10.0] * 60)) == pytest.approx(0.5)


def test_exact_matches_are_judged_by_their_number_of_candidates():
    alone = chances([1] + [0] * 40, [1] * 41, [0.0] + [5.0] * 40, [1.0] + [6.0] * 40)
    assert surest(alone) == 1.0
    with_a_wrong_one = chances([1] + [0] * 40, [1] * 41, [0.0, 0.0] + [5.0] * 39, [1.0] * 2 + [6.0] * 39)
    assert surest(with_a_wrong_one) == 0.5
    in_a_crowd = chances([1, 1] + [0] * 40, [4, 4] + [9] * 40, [0.0] * 2 + [5.0] * 40, [1.0] * 2 + [6.0] * 40)
    assert surest(in_a_crowd) == 0.25


def test_a_mean_of_equal_chances_does_not_exceed_them_by_rounding():
    found = chances([1] * 1000, [12] * 1000, np.ones(1000), np.full(1000, 2.0))
    assert surest(found) == 1 / 12
    truth = Truth(np.arange(1000), np.arange(1000), np.arange(1000), np.arange(1000), 0)
    findings = LinkFindings.of(truth, [(found,)], NO_LEVELS)
    assert link_figures(findings, "nothing")["success"] <= 1 / 12


def test_rows_of_a_subject_are_counted_class_by_class():
    classes, owners = np.array([0, 0, 1, 1, 1]), np.array([3, 3, 3, -1, 0])
    carried = Carried.of(classes, owners)
    assert carried.count(np.array([0, 1, 1, 0, 1]), np.array([3, 3, 0, 0, 2])).tolist() == [2, 1, 1, 0, 0]
    # A subject with a larger number than any owner must not be taken for another class's.
    assert Carried.of(classes, np.array([1, 1, 0, 0, 0])).count(np.array([0]), np.array([2])).tolist() == [0]
    assert Carried.of(classes, np.full(5, -1)).count(np.array([0]), np.array([0])).tolist() == [0]


def test_candidates_are_counted_as_rows_and_fictive_ones_count():
    truth = Truth(np.array([0, -1, 1]), np.array([0, -1, 1]), np.array([0, 1]), np.array([0, 1]), 0)
    links = Links(np.zeros((2, 2)), np.array([0, 1, 3]), np.array([0, 0, 1]))
    found = count_links(links, np.array([0, 0, 1]), truth)
    assert found.sizes.tolist() == [2, 3]
    assert found.own.tolist() == [1, 1]
    assert found.chance.tolist() == pytest.approx([1 / 2, 1 / 3])
    findings = LinkFindings.of(truth, [(found,)], NO_LEVELS)
    assert findings.own_rows.tolist() == [1, 1]
    assert link_figures(findings, "nothing")["baseline"] == pytest.approx(1 / 3)
    assert links.target().tolist() == [0, 1, 1]
