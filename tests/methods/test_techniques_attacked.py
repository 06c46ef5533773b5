"""What attacks make of the techniques: candidates say who is who, and hiding more shows in the figures."""

import pytest

from shoal import (
    Microaggregation,
    NoiseAddition,
    Permutation,
    SamplingWithFictives,
    Steps,
    TimeAggregation,
    TimeSlicing,
    Transformation,
    simulate,
)
from shoal.attacks import KnownPoints, KnownTotals, Reordering, SubsetSum

METERS = simulate.meters(60, days=7, families={"household": 1.0}, seed=3)


def success(attack, method):
    candidate = method.anonymize(METERS)
    return attack.attack(METERS, candidate.published, rows=candidate.stands_for).success


@pytest.mark.parametrize(
    "method",
    [
        Transformation(kind="coarsen", resolution=1e-6),
        SamplingWithFictives(share=1.0, fictives=0.3),
        TimeSlicing(length="7d", dates="kept"),
    ],
    ids=lambda method: method.name,
)
def test_where_readings_are_published_as_measured_five_of_them_find_everybody(method):
    assert success(KnownPoints(n=5), method) >= 0.95


def test_daily_totals_alone_find_everybody():
    assert success(KnownTotals(step="day"), TimeAggregation(step="1d", by="sum")) >= 0.95


def test_more_noise_and_more_exchange_hide_more():
    weak, strong = (success(KnownPoints(n=5), NoiseAddition(snr=snr)) for snr in (1000.0, 0.05))
    assert strong < 0.2 < 0.8 < weak
    few, many = (success(KnownTotals(step="day"), Permutation(length="6h", share=share)) for share in (0.05, 1.0))
    assert many < 0.3 < 0.7 < few


def test_slices_can_be_put_together_by_habit_better_than_by_guessing():
    candidate = TimeSlicing(length="1d").anonymize(METERS)
    risk = Reordering().attack(METERS, candidate.published, rows=candidate.stands_for)
    assert risk.success > 3 * risk.baseline


def test_members_of_a_mean_are_found_and_no_longer_after_a_little_noise():
    crowd = Microaggregation(k=4)
    attack = SubsetSum(n_means=3)
    assert success(attack, crowd) == 1.0
    assert success(attack, Steps((crowd, NoiseAddition(snr=1000.0)))) < 0.1
