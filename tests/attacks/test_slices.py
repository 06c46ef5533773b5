"""Slices without dates, found by readings at known positions of a stretch, against an enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households, sliced
from naive.attack_candidates import (
    naive_better,
    naive_chance,
    naive_distance,
    naive_known_points,
    naive_slices,
    naive_unlikeness,
)
from shoal import Microaggregation, Panel, Steps, TimeAggregation, TimeSlicing, Transformation
from shoal.attacks import KnownPoints, KnownTotals
from shoal.errors import ParameterError

VALUES = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def dated(values):
    return Panel(values, times=np.datetime64("2024-01-01T00", "h") + np.arange(np.shape(values)[1]))


@st.composite
def cuts(draw):
    """Originals, the length of a slice, and slices in any order, some of them changed."""
    n, length, n_slices = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    width = length * n_slices + draw(st.integers(0, length - 1))
    x = np.array(draw(st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=n, max_size=n)))
    y = x[:, : length * n_slices].reshape(-1, length).copy()
    changed = draw(st.lists(st.booleans(), min_size=len(y), max_size=len(y)))
    y[changed] = 2.0 * y[changed][:, ::-1] + 1.0
    order = np.array(draw(st.permutations(range(len(y)))))
    return x, length, y[order], np.repeat(np.arange(n), n_slices)[order]


@given(cut=cuts(), n=st.integers(1, 4), seed=st.integers(0, 3))
def test_chances_on_slices_equal_enumeration(cut, n, seed):
    x, length, y, rows = cut
    attack = KnownPoints(n, seed=seed)
    n = min(n, length)
    ways = []
    for distance in (naive_distance, naive_unlikeness)[: 1 + (n >= 3)]:
        way = []
        for i in range(len(x)):
            at = int(np.random.default_rng(np.random.SeedSequence([seed, 3, i])).integers(x.shape[1] // length))
            stretch, own = naive_slices(x[i].tolist(), length, at, np.flatnonzero(rows == i).tolist(), y.tolist())
            places = attack._dice(i, 1).permutation(length)[:n].tolist()
            candidates = naive_known_points(stretch, y.tolist(), places, distance=distance)
            way.append((candidates, [j in own for j in range(len(y))], True))
        ways.append(way)
    chances = [float(naive_chance(*target)) for target in naive_better(ways)]
    risk = attack.attack(dated(x), Panel(y), rows=rows)
    assert risk.success == pytest.approx(np.mean(chances))
    assert risk.n_targets == len(x)


@pytest.mark.parametrize("length", [24, 168])
def test_five_readings_of_a_stretch_single_out_its_slice(length):
    panel = households()
    published, rows = sliced(panel, length, dates=False)
    risk = KnownPoints(5).attack(panel, published, rows=rows)
    assert risk.interval.low >= 0.95
    assert risk.inferred >= 0.95  # of the other readings of that stretch
    assert risk.baseline == pytest.approx(1 / len(rows))
    assert risk.n_targets == 300


def test_the_total_of_a_day_finds_most_slices_of_a_day():
    panel = households()
    published, rows = sliced(panel, 24, dates=False)
    assert KnownTotals().attack(panel, published, rows=rows).success > 0.8
    published, rows = sliced(panel, 168, dates=False)
    assert KnownTotals().attack(panel, published, rows=rows).interval.low >= 0.95


def test_the_order_of_slices_makes_no_difference():
    panel = households(60, 4)
    published, rows = sliced(panel, 24, dates=False)
    order = np.random.default_rng(2).permutation(len(rows))
    for attack in (KnownPoints(3), KnownPoints(1), KnownTotals()):
        mixed = attack.attack(panel, Panel(published.values[order]), rows=rows[order])
        assert mixed == attack.attack(panel, published, rows=rows)


def test_only_slices_of_the_drawn_stretch_are_the_targets_own():
    """Both days of the target show its known peak, and one of them is the day that is known."""
    panel = dated([[2.0, 1.0, 2.0, 0.0], [8.0, 7.0, 6.0, 5.0]])
    slices, rows = sliced(panel, 2, dates=False)
    risk = KnownPoints(1, choose="peaks").attack(panel, slices, rows=rows)
    assert risk.success == pytest.approx((0.5 + 1.0) / 2)
    assert KnownPoints(2).attack(panel, slices, rows=[1, 1, 0, 0]).success == 0.0  # the nearest are another's


def test_standardised_slices_are_found_as_well():
    candidate = Steps((Transformation(kind="standardise"), TimeSlicing(length="1d"))).anonymize(households())
    risk = KnownPoints(5).attack(households(), candidate.published, rows=candidate.stands_for)
    assert risk.interval.low >= 0.95


@pytest.mark.parametrize("choose", ["random", "worst"])
def test_slices_of_means_of_k_leave_one_in_k(choose):
    candidate = Steps((Microaggregation(k=10), TimeSlicing(length="1d"))).anonymize(households())
    risk = KnownPoints(5, choose=choose).attack(households(), candidate.published, rows=candidate.stands_for)
    assert risk.highest <= 0.1
    assert risk.prosecutor <= 0.1


def test_whole_series_without_dates_are_one_slice_each():
    panel = households()
    assert KnownPoints(5).attack(panel, Panel(panel.values)).interval.low >= 0.95
    assert KnownPoints(5).attack(panel, Panel(averaged(10).values)).highest <= 0.1


def test_fictive_slices_are_nobodys():
    panel = dated([[1.0, 2.0], [8.0, 9.0]])
    risk = KnownPoints(2).attack(panel, Panel([[1.0, 2.0], [8.0, 9.0], [1.0, 2.0]]), rows=[0, 1, -1])
    assert risk.success == pytest.approx((0.5 + 1.0) / 2)
    assert risk.baseline == pytest.approx(1 / 3)


def test_a_slice_is_found_by_the_readings_it_has():
    panel = dated([[1.0, np.nan, 3.0, 4.0, 2.0, np.nan], [8.0, 9.0, 3.0, 7.0, 9.0, 5.0]])
    slices, rows = sliced(panel, 3, dates=False)
    assert KnownPoints(3).attack(panel, slices, rows=rows).success == 1.0


def test_a_release_of_a_longer_step_is_refused_with_the_way_out():
    candidate = Steps((TimeAggregation(step="1d", by="sum"), TimeSlicing(length=7))).anonymize(households())
    for attack in (KnownPoints(5), KnownTotals()):
        with pytest.raises(
            ParameterError, match=r"positions in slices of 7; the original has 48 stretches .* at most 2"
        ):
            attack.attack(households(), candidate.published, rows=candidate.stands_for)


def test_numbers_that_cannot_be_positions_are_refused():
    with pytest.raises(ParameterError, match="one side has dates, the other numbers"):
        KnownPoints(1).attack(dated([[1.0, 2.0]]), Panel([[1.0, 2.0, 3.0]]))
