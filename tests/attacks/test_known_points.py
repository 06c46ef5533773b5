"""A few known readings, against an enumeration of targets, series and instants."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.releases import averaged, households, like, pseudonymised
from naive.attack_candidates import (
    fullest,
    naive_better,
    naive_chance,
    naive_distance,
    naive_inferred,
    naive_known_points,
    naive_unlikeness,
    naive_worst,
)
from shoal import Panel
from shoal.attacks import KnownPoints
from shoal.errors import ParameterError
from shoal.kernels.known_instants import best_instants, greedy_instants

VALUES = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
WITH_GAPS = st.sampled_from([-1.0, 0.0, 0.5, 2.0, float("nan")])


@st.composite
def releases(draw, cells=VALUES):
    """Originals, published rows of other values, and whose each is; several of one, fictive ones, some left out."""
    n, m, length = draw(st.integers(1, 6)), draw(st.integers(1, 7)), draw(st.integers(1, 4))
    x = np.array(draw(st.lists(st.lists(VALUES, min_size=length, max_size=length), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.lists(cells, min_size=length, max_size=length), min_size=m, max_size=m)))
    rows = np.array(draw(st.lists(st.integers(-1, n - 1), min_size=m, max_size=m)))
    rows[0] = max(rows[0], 0)
    kept = np.flatnonzero(rows >= 0)
    true = [j for j in kept if draw(st.booleans())]  # some rows show true readings
    y[true] = x[rows[true]]
    return x, y, rows


def places_of(attack, target, n_instants):
    return attack._dice(target, 1).permutation(n_instants)[: min(attack.n, n_instants)].tolist()


@given(release=releases(WITH_GAPS), n=st.integers(1, 4), shift=st.integers(0, 2))
def test_candidates_and_chances_equal_enumeration(release, n, shift):
    x, y, rows = release
    attack = KnownPoints(n, shift=shift)
    risk = attack.attack(Panel(x), Panel(y), rows=rows)
    found = attack.candidates(Panel(x), Panel(y), rows=rows)
    targets = [i for i in range(len(x)) if i in rows]
    ways = []
    for distance in distances_of(y, min(n, x.shape[1])):
        way = []
        for i in targets:
            places = places_of(attack, i, x.shape[1])
            off = int(attack._dice(i, 2).integers(-shift, shift + 1)) if shift else 0
            # Believing the clock at p + off and trying shifts up to s is trying shifts from off - s to off + s.
            way.append((naive_shifted(x[i].tolist(), y.tolist(), places, off, shift, distance), rows.tolist(), i))
        ways.append(way)
    taken = naive_better(ways)
    assert found.sizes.tolist() == [len(candidates) for candidates, _, _ in taken]
    chances = [float(naive_chance(*target)) for target in taken]
    largest = [max(float(naive_chance(*way[at])) for way in ways) for at in range(len(targets))]
    assert risk.success == pytest.approx(np.mean(chances))
    assert risk.highest == pytest.approx(max(largest))
    assert risk.fitted == (min(n, x.shape[1]) >= 3 and any(taken is way for way in ways[1::2]))
    assert risk.prosecutor <= risk.highest
    assert risk.n_targets == len(targets)
    assert risk.n_left_out == len(x) - len(targets)
    assert risk.baseline == pytest.approx(np.mean([np.mean(rows == i) for i in targets]))
    assert risk.worst[0] == targets[int(np.argmax(largest))]


def distances_of(y, n):
    """The ways to compare n known readings with a release."""
    scales = (naive_distance, naive_unlikeness)[: 1 + (n >= 3)]
    return [*scales, *(fullest(distance) for distance in scales)] if np.isnan(y).any() else scales


def naive_shifted(x, y, places, off, shift, distance):
    """Candidates where the readings at `places` are believed to be `off` later, and shifts up to `shift` are tried."""
    nothing = [float("nan")] * shift
    known = {p + off: x[p] for p in places}
    row = [known.get(t, float("nan")) for t in range(-shift, len(x) + shift)]
    wide = [nothing + other + nothing for other in y]
    return naive_known_points(row, wide, [p + off + shift for p in places], shift, distance)


@given(release=releases(WITH_GAPS), n=st.integers(1, 3))
def test_the_worst_instants_are_the_worst_and_proven(release, n):
    x, y, rows = release
    risk = KnownPoints(n, choose="worst").attack(Panel(x), Panel(y), rows=rows)
    targets = [i for i in range(len(x)) if i in rows]
    n = min(n, x.shape[1])
    ways = [
        sum(naive_worst(x[i].tolist(), y.tolist(), n, rows.tolist(), i, distance) for i in targets)
        for distance in distances_of(y, n)
    ]
    assert risk.proven == 1.0
    assert risk.success == pytest.approx(float(max(ways)) / len(targets))


@pytest.mark.parametrize("scale", ["same", "any"])
def test_gaps_do_not_hide_noisy_readings(rng, scale):
    """Of many series with few readings, some are nearer by chance; nobody is fooled who wants most of what is known."""
    x = rng.gamma(2.0, 1.5, (200, 24))
    x[rng.random(x.shape) < 0.5] = np.nan
    noisy = Panel(x + 0.4 * rng.standard_normal(x.shape))
    risk = KnownPoints(5, scale=scale).attack(Panel(x), noisy)
    # By hand: who is nearest of those with all readings.
    right = 0
    for i in range(200):
        places = KnownPoints(5)._dice(i, 1).permutation(24)
        places = places[np.argsort(np.isnan(x[i, places]), kind="stable")][:5]
        squares = ((noisy.values[:, places] - x[i, places]) ** 2).mean(axis=1)
        right += np.nanargmin(squares) == i if np.isfinite(squares).any() else 0
    assert risk.success >= right / 200 > 0.7


def test_no_instant_is_added_that_would_lead_astray():
    """At the first instant the target's own series and another fit alike, at the second the other fits better."""
    x, series = np.zeros((2, 1)), np.array([[[1.0, -1.0]], [[5.0, 0.0]]])
    places, chance = greedy_instants(x, series, np.array([1, 1]), np.array([1, 0]), 1.0, 2)
    assert (places.tolist(), chance) == ([0, -1], 0.5)
    places, chance = best_instants(x, series, np.array([1, 1]), np.array([1, 0]), 1.0, 2)
    assert (places.tolist(), chance) == ([0, 1], 0.0)  # of exactly two


@given(release=releases(), n=st.integers(1, 3))
def test_worst_is_no_less_than_random_or_peaks(release, n):
    x, y, rows = release
    worst, random, peaks = (
        KnownPoints(n, choose=choose).attack(Panel(x), Panel(y), rows=rows) for choose in ("worst", "random", "peaks")
    )
    assert worst.success >= max(random.success, peaks.success) - 1e-12


@given(release=releases(), n=st.integers(1, 3))
def test_inferred_instants_equal_enumeration(release, n):
    x, y, rows = release
    attack = KnownPoints(n, within=0.0, scale="same")
    targets = [i for i in range(len(x)) if i in rows]
    shares = []
    for i in targets:
        places = places_of(attack, i, x.shape[1])
        candidates = naive_known_points(x[i].tolist(), y.tolist(), places)
        inferred = naive_inferred(x[i].tolist(), y.tolist(), candidates, places)
        shares.append(len(inferred) / max(x.shape[1] - len(places), 1))
    assert attack.attack(Panel(x), Panel(y), rows=rows).inferred == pytest.approx(np.mean(shares))


@given(release=releases())
def test_of_true_values_more_readings_never_leave_more_candidates(release):
    x, _, _ = release
    risks = KnownPoints(1).curve(Panel(x), Panel(x), [1, 2, 3, 4])
    for fewer, more in pairwise(risks):
        assert more.success >= fewer.success - 1e-12
        assert more.candidates <= fewer.candidates
    assert [risk.n_points for risk in risks] == [1, 2, 3, 4]


def test_a_curve_has_what_single_attacks_have():
    panel = households(60, 2)
    published, rows = pseudonymised(panel)
    curve = KnownPoints(1).curve(panel, published, [1, 3], rows=rows)
    assert curve == tuple(KnownPoints(n).attack(panel, published, rows=rows) for n in (1, 3))


def test_five_readings_single_out_nearly_everyone_under_pseudonyms():
    panel = households()
    published, rows = pseudonymised(panel)
    risk = KnownPoints(5).attack(panel, published, rows=rows)
    assert risk.interval.low >= 0.95
    assert risk.inferred >= 0.95 > 0.1 > risk.inferred_baseline
    assert risk.prosecutor == 1.0
    assert risk.control <= 0.05
    assert risk.baseline == pytest.approx(1 / 300)


@pytest.mark.parametrize("k", [4, 10])
@pytest.mark.parametrize("choose", ["random", "peaks", "worst"])
def test_means_of_k_give_at_most_one_in_k(k, choose):
    risk = KnownPoints(5, choose=choose).attack(households(), averaged(k))
    assert risk.success <= 1 / k
    assert risk.highest <= 1 / k
    assert risk.prosecutor <= 1 / k
    assert risk.control == 1.0  # any member could be taken out and the same mean would be left
    assert risk.inferred < 0.05


def test_one_series_left_as_it_was_is_found_and_named():
    panel, published = households(), averaged(10)
    leaked = published.values.copy()
    leaked[123] = panel.values[123]
    risk = KnownPoints(5).attack(panel, like(panel, leaked))
    assert risk.prosecutor == 1.0
    assert risk.worst[0] == 123
    assert KnownPoints(5).attack(panel, published).prosecutor <= 0.1


def test_a_lucky_guess_is_no_risk_to_the_prosecutors_target():
    panel = households()
    shuffled = like(panel, np.random.default_rng(3).permuted(panel.values, axis=0))
    risk = KnownPoints(50).attack(panel, shuffled)
    assert risk.success < 0.05
    assert risk.prosecutor < 0.25


def test_errors_and_an_uncertain_clock_hide_and_peaks_tell():
    panel = households()
    published, rows = pseudonymised(panel)
    success = {
        name: KnownPoints(3, **more).attack(panel, published, rows=rows).success
        for name, more in {"exact": {}, "errors": {"noise": 0.3}, "clock": {"shift": 5}}.items()
    }
    assert success["errors"] < 0.5 < success["exact"]
    assert success["clock"] <= success["exact"]
    one = {
        c: KnownPoints(1, choose=c).attack(panel, published, rows=rows).success for c in ("random", "peaks", "worst")
    }
    assert one["random"] < one["peaks"] <= one["worst"] == 1.0


def test_only_targets_are_sampled_and_a_target_keeps_its_instants():
    panel = households(60, 2)
    published, rows = pseudonymised(panel)
    all_of_them = KnownPoints(1).candidates(panel, published, rows=rows)
    drawn = KnownPoints(1, n_targets=7, seed=0)
    risk = drawn.attack(panel, published, rows=rows)
    assert risk.n_targets == 7
    positions = np.array(sorted(risk.worst))
    assert drawn.candidates(panel, published, rows=rows).sizes.tolist() == all_of_them.sizes[positions].tolist()
    assert KnownPoints(1).attack(panel, published, rows=rows, targets=positions).success == risk.success


def test_readings_that_are_missing_tell_nothing():
    x = np.array([[1.0, np.nan, 3.0], [1.0, 2.0, np.nan]])
    risk = KnownPoints(3).attack(Panel(x), Panel([[1.0, 2.0, 3.0], [1.0, 2.0, 9.0]]))
    assert risk.success == pytest.approx((1.0 + 0.5) / 2)


def test_several_channels_are_known_together():
    x = np.array([[[1.0, 5.0]], [[1.0, 6.0]], [[2.0, 5.0]]])
    assert KnownPoints(1).attack(Panel(x), Panel(x)).success == 1.0
    assert KnownPoints(1).attack(Panel(x[:, :, 0]), Panel(x[:, :, 0])).success == pytest.approx(2 / 3)


def test_a_channel_without_a_reading_is_known_to_nobody():
    x = np.array([[[1.0, np.nan], [2.0, np.nan]], [[1.0, np.nan], [3.0, np.nan]]])
    assert KnownPoints(2, noise=0.1).attack(Panel(x), Panel(np.nan_to_num(x))).success == 0.5


def test_what_is_no_parameter_is_refused():
    for more, message in [
        ({"n": 0}, "n must be a whole number of at least 1"),
        ({"n": True}, "n must be a whole number of at least 1"),
        ({"n": 1, "choose": "best"}, "choose must be one of random, peaks, worst"),
        ({"n": 1, "noise": -1.0}, "noise must be a number of at least 0"),
        ({"n": 1, "noise": float("inf")}, "noise must be a number of at least 0"),
        ({"n": 1, "shift": 0.5}, "shift must be a whole number of at least 0"),
        ({"n": 1, "within": "a"}, "within must be a number of at least 0"),
        ({"n": 1, "scale": "other"}, "scale must be one of any, same"),
        ({"n": 1, "n_targets": 0}, "n_targets must be a whole number of at least 1"),
        ({"n": 1, "seed": -1}, "seed must be a whole number of at least 0"),
    ]:
        with pytest.raises(ParameterError, match=message):
            KnownPoints(**more)
    with pytest.raises(ParameterError, match="ns must be a whole number"):
        KnownPoints(1).curve(Panel([[1.0]]), Panel([[1.0]]), [0])
    with pytest.raises(ParameterError, match="needs readings to know"):
        KnownPoints(1).attack(Panel([[np.nan]]), Panel([[1.0]]))


def test_what_is_known_is_said():
    assert KnownPoints(1).knows == "Exact readings at 1 instant drawn at random."
    assert KnownPoints(3, choose="peaks", noise=0.1, shift=2).knows == (
        "Readings with errors at 3 instants where they are highest by an uncertain clock."
    )


def test_intervals_are_over_subjects_not_over_their_series(rng):
    x = rng.integers(0, 3, (40, 4)).astype(float)
    once, often = Panel(x), Panel(np.repeat(x, 30, axis=0), subjects=np.repeat(np.arange(40), 30))
    one, other = (KnownPoints(4, scale="same").attack(panel, panel) for panel in (once, often))
    assert (other.n_targets, other.success) == (1200, pytest.approx(one.success))
    assert other.interval.high == pytest.approx(one.interval.high)
    assert other.control_interval.low == pytest.approx(one.control_interval.low)
