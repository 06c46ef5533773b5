"""What an adversary makes of the spread and the levels of scenarios, besides the means."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from naive.distributions import naive_misfit, naive_widths
from shoal import Microaggregation, Panel, simulate
from shoal.attacks import KnownPoints, Membership, NearestNeighbour
from shoal.attacks.distributions import NARROWEST, best_fits, misfits, widths_of
from shoal.model import Scenarios
from shoal.model.scenarios import scenario_bands


def scenarios(means, spreads, levels=(-1.0, 0.0, 1.0)):
    """Groups with the same shape at every instant."""
    means = np.asarray(means, dtype=float)
    values = np.zeros((*means.shape, 1, len(levels) + 3))
    values[:, :, 0, 0], values[:, :, 0, 1] = means, np.asarray(spreads)[:, None]
    values[:, :, 0, 2:-1], values[:, 0, 0, -1] = levels, 1.0
    times = np.datetime64("2024-01-01T00", "us") + np.arange(means.shape[1]) * np.timedelta64(1, "h")
    return Scenarios(values, np.full(len(means), 6), scenario_bands(len(levels)), times, ("value",))


@given(seed=st.integers(0, 999), n_instants=st.integers(1, 5), gaps=st.booleans())
def test_misfits_equal_the_naive_ones(seed, n_instants, gaps):
    dice = np.random.default_rng(seed)
    known, means = dice.normal(size=(6, n_instants)), dice.normal(size=(4, n_instants))
    widths = dice.uniform(0.1, 3.0, means.shape)
    if gaps:
        known[dice.random(known.shape) < 0.3] = np.nan
    expected = [[naive_misfit(x, m, w) for m, w in zip(means, widths, strict=True)] for x in known]
    assert_allclose(misfits(known, means, widths), expected, atol=1e-9)
    links = best_fits(known, means, widths)
    for row, own in enumerate(expected):
        best = links.which[links.start[row] : links.start[row + 1]]
        assert min(own) >= np.array(own)[best].min() - 1e-9
        assert len(best) >= 1


def test_widths_are_the_spread_times_the_levels_and_never_nothing():
    found = widths_of(scenarios([[1.0, 2.0], [5.0, 5.0]], [2.0, 0.0])).rows
    assert_allclose(found[0], naive_widths(2.0, [[-1.0, 0.0, 1.0]] * 2))
    assert_array_equal(found[1], [NARROWEST * found[0, 0]] * 2)


def day(values):
    return np.tile(np.asarray(values, dtype=float), 2)


def test_who_is_distinguished_by_the_spread_alone_is_found_by_it():
    """Two groups with the same mean days: readings of one lie close to it, those of the other far away."""
    times = np.datetime64("2024-01-01T00", "us") + np.arange(48) * np.timedelta64(1, "h")
    base, dice = np.linspace(1.0, 2.0, 24), np.random.default_rng(1)
    near = [day(base) + dice.normal(0.0, 0.01, 48) for _ in range(6)]
    far = [day(base + sign * 3.0) + dice.normal(0.0, 0.01, 48) for sign in (-1, 1) * 3]
    original = Panel(np.array(near + far), times=times)
    shown = Panel(np.tile(day(base), (12, 1)), times=times)
    groups = np.repeat([0, 1], 6)
    seen = scenarios(np.tile(day(base), (2, 1)), [0.02, 3.0]).take(groups)
    by_means = NearestNeighbour().attack(original, shown)
    by_both = NearestNeighbour().attack(original, shown, scenarios=seen)
    assert by_means.success == 1 / 12
    assert by_both.success == 1 / 6
    assert NearestNeighbour(distance="features").attack(original, shown, scenarios=seen).success == 1 / 12


def test_membership_counts_how_well_someone_fits_a_distribution():
    """Members of groups that are narrow at some instants and wide at others; people outside are as far, elsewhere."""
    dice = np.random.default_rng(2)
    n, n_instants = 60, 48
    times = np.datetime64("2024-01-01T00", "us") + np.arange(n_instants) * np.timedelta64(1, "h")
    levels = np.where(np.arange(n_instants) % 2 == 0, 0.05, 1.4)
    mean = np.full(n_instants, 10.0)
    signs = dice.choice([-1.0, 1.0], (2 * n, n_instants))
    inside = Panel(mean + signs[:n] * levels, times=times)
    outside = Panel(mean + signs[n:] * levels[::-1], times=times)
    shown = Panel(np.tile(mean, (n, 1)), times=times)
    values = np.zeros((n, n_instants, 1, 6))
    values[:, :, 0, 0], values[:, :, 0, 1] = mean, 1.0
    values[:, :, 0, 2:-1] = levels[:, None] * np.array([-1.0, 0.0, 1.0])
    values[:, 0, 0, -1] = 1.0
    seen = Scenarios(values, np.full(n, 6), scenario_bands(3), times, ("value",))
    assert Membership().attack(inside, shown, outside=outside).success < 0.75
    assert Membership().attack(inside, shown, outside=outside, scenarios=seen).success > 0.95
    # Totals of days, and shadow releases, are compared with the means alone.
    daily = [
        Membership(step="day").attack(inside, shown, outside=outside, **more) for more in ({}, {"scenarios": seen})
    ]
    assert daily[0] == daily[1]


def test_a_candidate_of_scenarios_shows_its_distributions_to_the_attacks_that_see_them():
    panel = simulate.meters(120, days=4, seed=1)
    candidate = Microaggregation(k=6, form="scenarios").anonymize(panel)
    own = candidate.published.take(candidate.private.groups)
    assert candidate.attack(NearestNeighbour()) == NearestNeighbour().attack(panel, candidate.curves, scenarios=own)
    assert candidate.attack(KnownPoints(3)) == KnownPoints(3).attack(panel, candidate.curves)
    profiles = Microaggregation(k=6, form="profiles").anonymize(panel)
    assert profiles.attack(NearestNeighbour()) == NearestNeighbour().attack(panel, profiles.curves)
    assert candidate.attack(NearestNeighbour()).success >= profiles.attack(NearestNeighbour()).success
