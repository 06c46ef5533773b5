"""Membership learned from releases that the adversary makes itself."""

import numpy as np
import pytest

from naive.shadow_ratios import naive_likelihood_ratios
from shoal import Microaggregation, NoiseAddition, Panel, simulate
from shoal.attacks import Membership
from shoal.attacks.shadows import likelihood_ratios, pool_people, rehearse
from shoal.errors import ParameterError

HOMES = simulate.meters(120, days=7, step="2h", families={"household": 1.0}, seed=3)
INSIDE, OUTSIDE = HOMES.take(np.arange(60)), HOMES.take(np.arange(60, 120))
MEANS = Microaggregation(k=6)


def drawn(n_shadows, n, seed):
    dice = np.random.default_rng(seed)
    inside = np.array([dice.permutation(n) < n // 2 for _ in range(n_shadows)])
    inside[:2] = [np.arange(n) % 2 == 0, np.arange(n) % 2 == 1]
    signs = dice.gamma(2.0, size=(n_shadows, n, 3)) * np.where(inside[:, :, None], 0.6, 1.0)
    return signs, inside, dice.gamma(2.0, size=(n, 3))


@pytest.mark.parametrize("seed", range(5))
def test_likelihood_ratios_equal_the_naive_ones(seed):
    signs, inside, seen = drawn(6 + seed, 9, seed)
    np.testing.assert_allclose(
        likelihood_ratios(signs, inside, seen), naive_likelihood_ratios(signs, inside, seen), rtol=1e-6
    )


def test_who_was_never_out_of_a_shadow_is_judged_by_what_is_usual():
    signs, inside, seen = drawn(8, 10, 1)
    inside[:, 0] = True
    ratios = likelihood_ratios(signs, inside, seen)
    assert np.isfinite(ratios).all()
    with pytest.raises(ParameterError, match="Nobody is in one shadow release and out of another"):
        likelihood_ratios(signs, np.ones_like(inside), seen)


def test_shadows_tell_who_is_in_a_mean_without_knowing_anybodys_membership():
    published = MEANS.anonymize(INSIDE).published
    risk = Membership(shadows=8).attack(INSIDE, published, outside=OUTSIDE, method=MEANS)
    assert risk.interval.low > 0.7
    assert risk.n_targets == 120
    assert "knows the method and tried it 8 times on other selections of people" in risk.sentence
    # Who is really in is used to score alone: told the other way round, the same answers are as wrong.
    swapped = Membership(shadows=8).attack(OUTSIDE, published, outside=INSIDE, method=MEANS)
    assert swapped.interval.high < 0.3


def test_shadows_tell_nothing_of_a_table_that_nobody_is_behind():
    nobody = Panel(np.random.default_rng(5).permutation(OUTSIDE.values.ravel()).reshape(60, -1), times=HOMES.times)
    risk = Membership(shadows=8).attack(INSIDE, nobody, outside=OUTSIDE, method=MEANS)
    assert risk.interval.low < 0.5 < risk.interval.high


def test_every_shadow_release_has_noise_of_its_own():
    people = pool_people(INSIDE, OUTSIDE)
    seen = []
    rehearse(
        people, NoiseAddition(snr=5.0, seed=1), 60, lambda _, shown: seen.append(shown.values) or np.ones((1, 3)), 4, 0
    )
    assert len({values[0, 0] for values in seen}) == 4
    assert {len(values) for values in seen} == {60}


def test_shadows_need_the_method_values_and_enough_of_them():
    published = MEANS.anonymize(INSIDE).published
    with pytest.raises(ParameterError, match="shadows must be 0, for none, or at least 4"):
        Membership(shadows=3)
    with pytest.raises(ParameterError, match=r"made by the method of the release\. Give it"):
        Membership(shadows=4).attack(INSIDE, published, outside=OUTSIDE)
    profiles = Microaggregation(k=6, form="profiles")
    with pytest.raises(ParameterError, match="attacks published series of values"):
        Membership(shadows=4).attack(INSIDE, published, outside=OUTSIDE, method=profiles)
    other = Panel(OUTSIDE.values, times=OUTSIDE.times + np.timedelta64(90, "D"))
    with pytest.raises(ParameterError, match="shares none with the original"):
        Membership(shadows=4).attack(INSIDE, published, outside=other, method=MEANS)
    with pytest.raises(ParameterError, match="instants and channels of the original"):
        pool_people(INSIDE, other)
