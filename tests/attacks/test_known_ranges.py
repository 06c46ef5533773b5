"""An adversary who knows readings within an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.known_ranges import naive_candidates, naive_told
from shoal import NLK, Microaggregation, NLKAnonymity, Panel
from shoal.attacks import KnownPoints, KnownRanges
from shoal.errors import ParameterError

METERS = Panel(np.random.default_rng(2).gamma(2.0, size=(40, 8)))


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.4, 1.0, 3.0]))
def test_all_readings_known_equals_naive(seed, within):
    rng = np.random.default_rng(seed)
    original = np.round(rng.gamma(2.0, 2.0, size=(8, 4)), 1)
    published = Microaggregation(k=2).anonymize(Panel(original)).values
    attack = KnownRanges(4, within=within, seed=seed)
    chances = []
    for target in range(8):
        order = np.random.default_rng(np.random.SeedSequence([seed, 1, target])).permutation(4)
        dice = np.random.default_rng(np.random.SeedSequence([seed, 3, target]))
        seen = original[target][order] + within * dice.uniform(-1.0, 1.0, (4, 1))[:, 0]
        found = naive_candidates(dict(zip(order.tolist(), seen.tolist(), strict=True)), published.tolist(), within)
        chances.append((target in found) / len(found))
    assert attack.attack(Panel(original), Panel(published)).success == pytest.approx(np.mean(chances))


@given(st.integers(0, 10_000), st.sampled_from([0.2, 1.0]))
def test_what_is_told_equals_naive(seed, within):
    rng = np.random.default_rng(seed)
    original = np.round(rng.gamma(2.0, size=(8, 5)), 1)
    told = []
    for target in range(8):
        order = np.random.default_rng(np.random.SeedSequence([seed, 1, target])).permutation(5)[:2]
        dice = np.random.default_rng(np.random.SeedSequence([seed, 3, target]))
        seen = original[target][order] + within * dice.uniform(-1.0, 1.0, (2, 1))[:, 0]
        known = dict(zip(order.tolist(), seen.tolist(), strict=True))
        candidates = naive_candidates(known, original.tolist(), within)
        told.append(len(naive_told(candidates, original.tolist(), original[target].tolist(), known, within)) / 3)
    risk = KnownRanges(2, within=within, seed=seed).attack(Panel(original), Panel(original))
    assert risk.inferred == pytest.approx(np.mean(told))


def test_without_an_error_it_is_known_points_of_true_values():
    for choose in ("random", "peaks"):
        exact = KnownPoints(2, choose=choose, scale="same").attack(METERS, METERS)
        ranges = KnownRanges(2, within=0.0, choose=choose).attack(METERS, METERS)
        assert ranges.success == exact.success
        assert ranges.candidates == exact.candidates


def test_a_larger_error_finds_less_and_means_leave_one_in_k():
    found = [KnownRanges(3, within=within).attack(METERS, METERS).success for within in (0.0, 0.2, 1.0, 5000.0)]
    assert found == sorted(found, reverse=True)
    assert found[0] == 1.0
    assert found[-1] == pytest.approx(1 / 40, rel=0.02)
    assert KnownRanges(8, within=0.1).attack(METERS, Microaggregation(k=5).anonymize(METERS).published).highest <= 0.2


def test_a_release_that_holds_within_an_error_tells_fewer_readings_than_its_originals():
    candidate = NLK(n=2, l=4, k=4).anonymize(METERS)
    assert NLKAnonymity(n=2, l=4, k=4, within=0.3).check(candidate.published).holds
    attack = KnownRanges(2, within=0.3)
    assert candidate.attack(attack).inferred < attack.attack(METERS, METERS).inferred


def test_what_the_adversary_holds_is_said():
    risk = KnownRanges(2, within=0.5).attack(METERS, METERS)
    assert "readings within ±0.5 at 2 instants drawn at random" in risk.sentence
    assert (risk.n_points, risk.within) == (2, 0.5)
    with pytest.raises(ParameterError, match="within"):
        KnownRanges(2, within=-1.0)
    with pytest.raises(ParameterError, match="choose"):
        KnownRanges(2, within=1.0, choose="worst")
