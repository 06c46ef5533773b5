"""The same instants on both sides, and who is behind what is published."""

import numpy as np
import pytest

from attacks.releases import households
from shoal import Panel
from shoal.attacks import KnownPoints, KnownTotals
from shoal.attacks.ground import find_classes, find_ground, find_truth
from shoal.errors import ParameterError
from shoal.model import Profiles


def daily(panel, how):
    cut = panel.values.reshape(panel.n_series, -1, 24)
    return Panel(how(cut), times=panel.times[::24])


WAYS = {
    "the sum": lambda cut: cut.sum(axis=2),
    "the mean": lambda cut: cut.mean(axis=2),
    "the first reading": lambda cut: cut[:, :, 0],
}


@pytest.mark.parametrize("way", WAYS)
def test_of_a_coarser_release_the_adversary_works_out_what_it_shows(way):
    panel = households(60, 4)
    published = daily(panel, WAYS[way])
    ground = find_ground("Test", panel, published)
    assert ground.n_instants == 4
    assert ground.original[:, :, 0] == pytest.approx(published.values)
    assert KnownTotals().attack(panel, published).success == 1.0
    assert KnownPoints(2).attack(panel, published).success > 0.95


@pytest.mark.parametrize("way", WAYS)
def test_a_single_instant_may_stand_for_all(way):
    panel = households(60, 1)
    published = Panel(WAYS[way](panel.values[:, None, :]), times=panel.times[:1])
    assert find_ground("Test", panel, published).original[:, :, 0] == pytest.approx(published.values)


def test_the_last_step_of_a_coarser_release_is_as_long_as_the_one_before():
    original, published = Panel([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]), Panel([[3.0, 7.0]], times=[0, 2])
    assert find_ground("Test", original, published).original[0, :, 0].tolist() == [3.0, 7.0]


def test_instants_that_only_one_side_has_are_left_out():
    original = Panel([[1.0, 2.0, 3.0]], times=[1, 2, 3])
    published = Panel([[20.0, 30.0, 40.0]], times=[2, 3, 4])
    ground = find_ground("Test", original, published)
    assert ground.times.tolist() == [2, 3]
    assert ground.original[0, :, 0].tolist() == [2.0, 3.0]
    assert ground.published[0, :, 0].tolist() == [20.0, 30.0]


def test_part_of_the_instants_is_enough_to_link():
    panel = households(60, 4)
    assert KnownTotals().attack(panel, Panel(panel.values[:, :24], times=panel.times[:24])).success == 1.0


def test_both_zeros_are_one_value_to_an_adversary():
    distinct, classes = find_classes(np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0], [0.0, 1.0]]))
    assert classes.tolist() == [0, 0, 1, 0]
    assert len(distinct) == 2


def test_a_subject_is_found_by_any_of_its_series():
    original = Panel([[1.0], [2.0], [3.0]], subjects=["a", "a", "b"])
    published = Panel([[9.0], [1.0], [3.0]])
    risk = KnownPoints(1).attack(original, published)
    # The first is nearest to the second's row, which is the same subject's; the second half way between both subjects.
    assert risk.success == pytest.approx((1.0 + 0.5 + 1.0) / 3)
    assert risk.baseline == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)


def test_targets_are_those_who_are_published():
    original, published = Panel([[1.0], [2.0], [3.0], [4.0]]), Panel([[3.0], [7.0], [1.0]])
    truth = find_truth(original, published, [2, -1, 0], None)
    assert truth.targets.tolist() == [0, 2]
    assert truth.owners.tolist() == [2, -1, 0]
    assert truth.n_left_out == 2
    assert find_truth(original, published, [2, -1, 0], [3, 2, 2]).targets.tolist() == [2]
    assert KnownPoints(1).attack(original, published, rows=[2, -1, 0]).n_left_out == 2


def test_a_release_of_fictive_rows_finds_nobody():
    original, published = Panel([[1.0], [2.0]]), Panel([[1.0], [2.0], [5.0]])
    risk = KnownPoints(1).attack(original, published, rows=[-1, -1, 0])
    assert risk.success == 0.0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"published": Panel([[1.0]])}, "2 series were given and 1 published. Give `rows`"),
        ({"rows": [0]}, "rows needs 2 positions, one for each published series"),
        ({"rows": [0, 2]}, "rows has positions that the original does not have; it has 2"),
        ({"rows": [0, -2]}, "rows has positions that the original does not have"),
        ({"rows": [0.0, 1.0]}, "rows must be positions in the original, whole numbers"),
        ({"targets": [2]}, "targets has positions that the original does not have"),
        ({"targets": [-1]}, "targets has positions that the original does not have"),
        ({"targets": [[0]]}, "targets must be positions in the original, whole numbers in one row"),
        ({"targets": [], "rows": [0, 1]}, "targets must be positions"),
        ({"rows": [0, 0], "targets": [1]}, "None of the targets is in the release"),
        ({"published": Panel(np.ones((2, 1, 2)))}, "the original has 1, the release 2. Attack each channel by itself"),
        (
            {"published": Panel(np.ones((2, 1)), times=[np.datetime64("2024-01-01")])},
            "one side has dates, the other numbers",
        ),
        ({"published": Panel(np.ones((2, 1)), times=[7])}, "the release shares none with the original"),
        ({"original": Panel(np.ones((2, 4))), "published": Panel(np.ones((2, 2)), times=[7, 9])}, "shares none"),
    ],
)
def test_what_cannot_be_compared_is_refused(more, message):
    given = {"original": Panel([[1.0], [2.0]]), "published": Panel([[1.0], [2.0]])} | more
    with pytest.raises(ParameterError, match=message):
        KnownPoints(1).attack(**given)


def test_other_forms_of_release_are_refused_with_the_way_out():
    profiles = Profiles(np.ones((1, 2, 1, 1)), counts=[2], bands=("mean",), times=[0, 1], channels=("value",))
    with pytest.raises(ParameterError, match="for group profiles, repeat each mean as often as its group counts"):
        KnownTotals(step=1).attack(Panel(np.ones((2, 2))), profiles)
