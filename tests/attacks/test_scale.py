"""Releases on another level or unit than what is known, against an enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households, like, noisy, pseudonymised
from naive.attack_candidates import naive_better, naive_chance, naive_nearest, naive_unlikeness
from shoal import Microaggregation, NoiseAddition, Panel, Steps, TimeAggregation, Transformation
from shoal.attacks import KnownPoints, KnownTotals
from shoal.errors import ParameterError
from shoal.kernels.likeness import most_alike

ATTACKS = [KnownPoints(5), KnownPoints(5, choose="peaks"), KnownTotals()]
VALUES = st.sampled_from([-1.0, 0.0, 0.1, 0.5, 2.0, float("nan")])


def released(*steps):
    candidate = Steps(steps).anonymize(households()) if len(steps) > 1 else steps[0].anonymize(households())
    return candidate.published, candidate.stands_for


def table(draw, n, width):
    return np.array(draw(st.lists(st.lists(VALUES, min_size=width, max_size=width), min_size=n, max_size=n)))


@st.composite
def pairs(draw):
    width = draw(st.integers(1, 6))
    return table(draw, draw(st.integers(1, 4)), width), table(draw, draw(st.integers(1, 6)), width)


@given(both=pairs())
def test_the_series_most_alike_equal_enumeration(both):
    x, y = both
    places = np.tile(np.arange(x.shape[1]), (len(x), 1))
    distances, start, which = most_alike(x[:, :, None], places, np.ascontiguousarray(y.T[:, None, :]), 0)
    for i, row in enumerate(x.tolist()):
        unlike = [naive_unlikeness(row, other) for other in y.tolist()]
        assert which[start[i] : start[i + 1]].tolist() == [j for j, u in enumerate(unlike) if u == min(unlike)]
        assert (distances[i, 0] == 0.0) == (min(unlike) == -1)


@given(both=pairs(), a=st.sampled_from([-3.0, 0.0, 7.0]), b=st.sampled_from([0.25, 1.0, 60.0]))
def test_level_and_unit_of_a_series_make_no_difference(both, a, b):
    x, y = both
    places = np.tile(np.arange(x.shape[1]), (len(x), 1))
    same, other = (
        most_alike(x[:, :, None], places, np.ascontiguousarray(shown.T[:, None, :]), 0) for shown in (y, a + b * y)
    )
    assert same[1].tolist() == other[1].tolist()
    assert same[2].tolist() == other[2].tolist()


@given(both=pairs(), step=st.integers(1, 2))
def test_totals_up_to_scale_equal_enumeration(both, step):
    x, y = both
    rows = np.arange(len(y)) % len(x)
    targets = sorted(set(rows.tolist()))
    starts = range(0, x.shape[1], step)
    sums = [[[sum(row[s : s + step]) for s in starts] for row in side.tolist()] for side in (x, y)]
    lengths = [len(x[0, s : s + step]) for s in starts]
    means = [[[cell / n for cell, n in zip(row, lengths, strict=True)] for row in side] for side in sums]
    plain = [(found[2], rows.tolist(), i) for i, found in enumerate(naive_nearest(*sums)) if i in targets]
    ways = [plain]
    if len(starts) >= 3:
        fitted = []
        for i in targets:
            unlike = [naive_unlikeness(means[0][i], other) for other in means[1]]
            fitted.append(([j for j, u in enumerate(unlike) if u == min(unlike)], rows.tolist(), i))
        ways.append(fitted)
    expected = np.mean([float(naive_chance(*target)) for target in naive_better(ways)])
    assert KnownTotals(step=step).attack(Panel(x), Panel(y), rows=rows).success == pytest.approx(expected)


@pytest.mark.parametrize("attack", [*ATTACKS, KnownPoints(5, choose="worst")], ids=str)
def test_a_standardised_release_hides_nobody(attack):
    published, rows = released(Transformation(kind="standardise"))
    risk = attack.attack(households(), published, rows=rows)
    assert risk.interval.low >= 0.95
    assert risk.prosecutor == 1.0


def test_readings_are_inferred_through_the_fit():
    published, rows = released(Transformation(kind="standardise"))
    risk = KnownPoints(5).attack(households(), published, rows=rows)
    assert risk.fitted
    assert risk.inferred >= 0.95 > 0.1 > risk.inferred_baseline


def test_values_as_they_stand_miss_a_change_of_scale():
    """Sabotage: what an adversary who takes the scale for granted reports on the same release."""
    published, rows = released(Transformation(kind="standardise"))
    assert KnownPoints(5, scale="same").attack(households(), published, rows=rows).success < 0.05
    assert KnownTotals(scale="same").attack(households(), published, rows=rows).success < 0.5


def test_another_unit_for_everybody_hides_nobody():
    panel = households()
    published = like(panel, 1000.0 * panel.values + 5.0)
    assert all(attack.attack(panel, published).interval.low >= 0.95 for attack in ATTACKS)


def test_noise_on_another_scale_is_seen_through_by_totals():
    published, rows = released(Transformation(kind="standardise"), NoiseAddition(snr=1.0))
    any_scale, same = (KnownTotals(scale=s).attack(households(), published, rows=rows) for s in ("any", "same"))
    assert any_scale.interval.low > 0.5 > 0.1 > same.success


def test_a_coarser_release_on_another_scale_hides_nobody():
    """The level does not say whether it shows first readings, means or sums."""
    for by in ("mean", "sum"):
        published, rows = released(TimeAggregation(step="1d", by=by), Transformation(kind="standardise"))
        assert KnownPoints(5).attack(households(), published, rows=rows).interval.low >= 0.95


@pytest.mark.parametrize("attack", [*ATTACKS, KnownPoints(5, choose="worst")], ids=str)
@pytest.mark.parametrize("k", [4, 10])
def test_means_of_k_leave_one_in_k_on_any_scale(attack, k):
    panel, published = households(), averaged(k)
    standard, rows = released(Microaggregation(k=k), Transformation(kind="standardise"))
    for risk in (attack.attack(panel, published), attack.attack(panel, standard, rows=rows)):
        assert risk.success <= 1 / k
        assert risk.highest <= 1 / k
        assert risk.prosecutor <= 1 / k


@pytest.mark.parametrize("attack", [KnownPoints(5), KnownTotals()], ids=str)
def test_trying_both_ways_finds_nobody_in_noise(attack):
    panel = households()
    shuffled = like(panel, np.random.default_rng(3).permuted(panel.values, axis=0))
    risk = attack.attack(panel, shuffled)
    assert risk.success < 0.05
    assert risk.prosecutor < 0.25


def test_on_the_scale_of_what_is_known_both_ways_are_no_worse_than_one():
    panel = households()
    release, order = pseudonymised(panel)
    for published, rows in ((release, order), (averaged(4), None), (noisy(panel, 1.0), None)):
        for kind in (KnownPoints(5), KnownTotals()):
            both, one = (replace(kind, scale=scale).attack(panel, published, rows=rows) for scale in ("any", "same"))
            assert both.success >= one.success
            assert both.prosecutor >= one.prosecutor


def test_two_readings_are_compared_as_they_stand():
    """A line through two points fits everything, and would turn 2 of 3 that fit into a guess among all."""
    x = Panel([[1.0, 2.0], [2.0, 1.0], [5.0, 5.0]])
    risk = KnownPoints(2).attack(x, x)
    assert (risk.success, risk.fitted) == (1.0, False)


def test_a_series_turned_upside_down_is_not_alike():
    x = Panel([[1.0, 2.0, 4.0], [4.0, 3.0, 1.0]])
    published = Panel(-x.values)
    assert KnownPoints(3).attack(x, published).success == 0.0


def test_every_channel_has_a_level_and_a_unit_of_its_own():
    x = np.random.default_rng(1).normal(size=(30, 12, 2))
    published = Panel(x * [0.01, 50.0] + [3.0, -8.0])
    assert KnownPoints(6).attack(Panel(x), published).success == 1.0
    assert KnownTotals(step=2).attack(Panel(x), published).success == 1.0


def test_steps_of_unequal_length_are_compared_by_their_means():
    """Of a standardised series 30 days sum to another offset than 31."""
    times = np.arange("2024-01-01", "2024-07-01", dtype="datetime64[D]")
    x = Panel(np.random.default_rng(1).gamma(2.0, size=(60, len(times))) + 5.0, times=times)
    candidate = Transformation(kind="standardise").anonymize(x)
    assert KnownTotals(step="month").attack(x, candidate.published).success == 1.0


def test_what_is_no_scale_is_refused():
    with pytest.raises(ParameterError, match="scale must be one of any, same"):
        KnownTotals(scale="other")
