"""Whether somebody is in a release at all."""

import numpy as np
import pytest

from attacks.releases import averaged, households, like
from shoal import Microaggregation, Panel
from shoal.attacks import Membership
from shoal.attacks.membership import _limit, _ranking, _surest, _traces
from shoal.errors import ParameterError

INSIDE = np.arange(0, 300, 2)


def half():
    panel = households()
    return panel, like(panel, panel.values[INSIDE])


def test_under_pseudonyms_everybody_inside_is_told_from_everybody_outside():
    panel, published = half()
    risk = Membership().attack(panel, published, rows=INSIDE)
    assert risk.success == risk.found == risk.ranking == risk.prosecutor == 1.0
    assert risk.control == 0.0
    assert risk.membership_advantage == 1.0
    assert risk.baseline == 0.5
    assert set(risk.worst) <= set(INSIDE.tolist())


def test_large_groups_leave_little_to_tell_by_totals_of_weeks():
    panel, published = half()
    means = Microaggregation(k=10).anonymize(published).published
    risk = Membership(step="week").attack(panel, means, rows=INSIDE)
    assert risk.interval.low <= 0.5 <= risk.interval.high
    assert abs(risk.membership_advantage) < 0.3
    assert risk.control > 0.1


def test_hundreds_of_readings_show_who_is_in_a_mean_of_ten():
    """No k-anonymity promises anything else: a mean keeps a tenth of every member, at every instant."""
    panel, published = half()
    means = Microaggregation(k=10).anonymize(published).published
    risk = Membership().attack(panel, means, rows=INSIDE)
    assert risk.interval.low > 0.8
    assert "every reading of the target" in risk.sentence


def test_the_trace_of_a_member_is_the_plain_correlation_of_changes():
    dice = np.random.default_rng(4)
    known, shown = dice.random((3, 8)), dice.random((4, 8))
    known[1, 2] = shown[2, 5] = np.nan
    level = np.nanmean(shown, axis=0)

    def changes(row):
        left = row - level
        left = np.where(np.isnan(left), 0.0, left - np.nanmean(left))
        return np.array([left[t + 1] - left[t] for t in range(7)])

    spread = np.std([changes(row) for row in shown], axis=0)
    best = []
    for x in known:
        alike = sorted(
            a @ b / np.sqrt((a @ a) * (b @ b)) for y in shown for a, b in [(changes(x) / spread, changes(y) / spread)]
        )
        best.append((1.0 - alike[-1], 1.0 - (alike[-1] - alike[-2])))
    found = _traces(known, shown, np.ones(4, dtype=int), np.zeros(8, dtype=int))
    assert np.transpose(found) == pytest.approx(np.array(best))


def test_a_release_of_other_subjects_tells_nothing():
    """The control of the attack itself: rows claim people who are not behind the published series."""
    panel = households()
    others = households(150, 14, 77)
    risk = Membership().attack(panel, like(panel, others.values), rows=INSIDE)
    assert risk.interval.low <= 0.5 <= risk.interval.high
    assert 0.35 < risk.ranking < 0.65


def test_subjects_outside_can_be_given():
    panel, others = households(), households(200, 14, 77)
    risk = Membership().attack(panel, panel, outside=others)
    assert risk.success == 1.0
    assert risk.n_targets == 200
    blurred = Membership(step="week").attack(panel, averaged(10), outside=others)
    assert blurred.success < 0.7


def test_nobody_who_serves_to_judge_serves_to_learn():
    panel, published = half()
    risk = Membership(n_targets=40).attack(panel, published, rows=INSIDE)
    assert risk.n_targets == 40  # of 40 on each side half served to learn
    # Where there is nothing to tell, a limit that is judged by those it was learned from looks good all the same.
    dice = np.random.default_rng(0)
    of_nobody = [
        Membership(step=1, seed=seed).attack(
            Panel(dice.random((16, 3))), Panel(dice.random((8, 3))), rows=np.arange(0, 16, 2)
        )
        for seed in range(60)
    ]
    assert 0.42 < np.mean([risk.success for risk in of_nobody]) < 0.58


@pytest.mark.parametrize(
    ("near", "far", "limit"),
    [([0.0, 0.0], [1.0, 2.0], 0.0), ([1.0, 2.0], [3.0, 4.0], 2.5), ([1.0], [1.0], 1.0), ([5.0], [1.0], 5.0)],
)
def test_the_limit_divides_best(near, far, limit):
    assert _limit(np.array(near), np.array(far)) == limit


def test_the_ranking_counts_pairs():
    near, far = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5])
    pairs = [1.0 if a < b else 0.5 if a == b else 0.0 for a in near for b in far]
    assert _ranking(near, far) == pytest.approx(np.mean(pairs))


def test_the_surest_answers_are_judged_twenty_at_a_time_unless_they_are_exact():
    near, far = np.arange(1.0, 41.0), np.arange(1.5, 41.5)
    assert _surest(near, far) == pytest.approx(11 / 21)  # not 1 of 1
    assert _surest(np.append(near, 0.0), far) == 1.0


@pytest.mark.parametrize("outside", [None, Panel([[3.0, 4.0]])])
def test_without_subjects_outside_it_is_refused(outside):
    panel = Panel([[1.0, 2.0], [2.0, 3.0]])
    with pytest.raises(ParameterError, match=r"2 subjects inside the release and 2 outside, it has 2 and [01]\. Hold"):
        Membership(step=1).attack(panel, panel, outside=outside)


def test_somebody_who_used_nothing_at_all_is_judged_like_others():
    panel = households()
    values = panel.values.copy()
    values[[1, 2]] = 0.0  # one outside and one inside the release
    empty = like(panel, values)
    risk = Membership().attack(empty, like(panel, values[INSIDE]), rows=INSIDE)
    assert risk.success > 0.95
    means = Microaggregation(k=10).anonymize(like(panel, values[INSIDE])).published
    assert 0.0 <= Membership().attack(empty, means, rows=INSIDE).success <= 1.0


def test_subjects_are_judged_not_their_series(rng):
    x, subjects = rng.random((400, 24)), np.repeat(np.arange(20), 20)
    rows = np.flatnonzero(subjects < 10)
    released = Panel(x[rows], subjects=subjects[rows])
    risk = Membership().attack(Panel(x, subjects=subjects), released, rows=rows)
    assert (risk.success, risk.n_targets) == (1.0, 10)  # five subjects inside and five outside
    assert "; 10 subjects)" in risk.sentence
    assert set(subjects[list(risk.worst)]) <= set(range(10))
    assert len(set(subjects[list(risk.worst)])) == len(risk.worst)
