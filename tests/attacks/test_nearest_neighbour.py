"""Links across periods."""

import numpy as np
import pytest

from attacks.releases import averaged, households, like, pseudonymised
from shoal import Panel
from shoal.attacks import NearestNeighbour
from shoal.attacks.habits import describe, find_slots, mean_cycles
from shoal.errors import ParameterError

DISTANCES = ("euclidean", "dtw", "features")


@pytest.mark.parametrize("distance", DISTANCES)
def test_another_period_finds_far_more_than_guessing(distance):
    panel = households()
    published, rows = pseudonymised(panel)
    risk = NearestNeighbour(distance).attack(panel, published, rows=rows)
    assert risk.interval.low > 20 * risk.baseline
    assert risk.prosecutor > risk.success


@pytest.mark.parametrize("distance", DISTANCES)
def test_means_of_k_give_at_most_one_in_k(distance):
    risk = NearestNeighbour(distance).attack(households(), averaged(4))
    assert risk.success <= risk.prosecutor <= 0.25


def test_a_release_of_part_of_the_time_is_attacked_by_the_rest():
    panel = households()
    later = Panel(panel.values[:, 168:], times=panel.times[168:])
    earlier = Panel(panel.values[:, :168], times=panel.times[:168])
    risks = [NearestNeighbour().attack(known, later) for known in (panel, earlier)]
    assert risks[0] == risks[1] == NearestNeighbour().attack(panel, panel)


def test_the_half_that_is_known_is_not_looked_at_in_the_release():
    panel = households(60, 4)
    changed = panel.values.copy()
    changed[:, :48] = 0.0
    assert NearestNeighbour().attack(panel, like(panel, changed)) == NearestNeighbour().attack(panel, panel)


def test_habits_that_moved_by_an_hour_are_found_by_warping():
    dice = np.random.default_rng(0)
    known = dice.gamma(1.0, size=(50, 24))
    moved = np.stack([np.roll(row, dice.integers(-1, 2)) for row in known])
    original = Panel(np.hstack([known, moved]))
    success = {d: NearestNeighbour(d, cycle=24).attack(original, original).success for d in ("euclidean", "dtw")}
    assert success["euclidean"] < 0.6 < 0.8 < success["dtw"]


def test_mean_cycles_are_means_of_the_same_hour():
    times = np.arange("2024-01-01T12", "2024-01-03T12", 12, dtype="datetime64[h]").astype("datetime64[us]")
    slots = find_slots(times, "day")
    assert (slots // 3_600_000_000).tolist() == [12, 0, 12, 0]
    x = np.array([[[1.0], [2.0], [5.0], [np.nan]]])
    assert mean_cycles(x, slots, np.unique(slots)).tolist() == [[2.0, 3.0]]
    week = find_slots(np.array(["2024-01-01", "2024-01-08", "2024-01-14"], dtype="datetime64[us]"), "week")
    assert (week // 86_400_000_000).tolist() == [0, 0, 6]
    assert find_slots(np.array([3, 4, 9]), 5).tolist() == [3, 4, 4]


def test_statistics_of_a_constant_series_are_finite():
    x = np.full((2, 6, 1), 3.0)
    assert np.isfinite(describe(x, np.arange(6) % 3, np.arange(3))).all()
    constant = Panel(np.full((3, 6), 2.0))
    assert NearestNeighbour("features", cycle=3).attack(constant, constant).success == pytest.approx(1 / 3)


def test_gaps_are_left_out_of_the_mean_day():
    panel = households(60, 4)
    gaps = panel.values.copy()
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.1] = np.nan
    risk = NearestNeighbour().attack(panel, like(panel, gaps))
    assert risk.success > 10 * risk.baseline


@pytest.mark.parametrize(
    ("attack", "panel", "message"),
    [
        (NearestNeighbour(), Panel([[1.0, 2.0]]), "cycle='day' needs instants with dates; these are numbers"),
        (NearestNeighbour(cycle=2), Panel([[1.0]]), "needs at least two instants"),
        (NearestNeighbour(cycle=4), Panel([[1.0, 2.0, 3.0, 4.0]]), "the two periods share none"),
        (NearestNeighbour("dtw", cycle=1), Panel(np.ones((2, 4, 2))), "needs one channel, the panels have 2"),
        (NearestNeighbour("dtw", cycle=1), Panel([[np.nan, 1.0]]), "needs mean cycles without gaps, 1 have some"),
    ],
)
def test_what_cannot_be_compared_is_refused(attack, panel, message):
    with pytest.raises(ParameterError, match=message):
        attack.attack(panel, panel)


def test_what_is_no_parameter_is_refused():
    with pytest.raises(ParameterError, match="distance must be one of euclidean, dtw, features"):
        NearestNeighbour("manhattan")
    with pytest.raises(ParameterError, match="cycle must be one of day, week, or a whole number of instants"):
        NearestNeighbour(cycle="year")
    with pytest.raises(ParameterError, match="band must be a number of at least 0"):
        NearestNeighbour(band=-0.1)
