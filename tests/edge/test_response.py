"""What a device says instead of its reading: exact probabilities, by enumeration of every path of chance."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from edge.enumeration import distribution, e_to
from shoal.edge import Grid, RandomizedResponse
from shoal.edge.chance import Chance
from shoal.edge.response import UNIT, odds_of, units
from shoal.errors import ParameterError


@given(st.integers(1, 20 * UNIT))
def test_odds_are_never_above_e_to_the_epsilon_and_hardly_below(cost):
    exact = e_to(Fraction(cost, UNIT), terms=120)
    assert exact * (1 - Fraction(1, 2**40)) - Fraction(1, 2**40) <= odds_of(cost) <= exact


def test_a_budget_is_rounded_down_to_whole_units():
    assert units(1.0) == UNIT
    assert units(Fraction(1, 3)) == UNIT // 3
    assert Fraction(units(0.1), UNIT) <= Fraction(0.1)


@pytest.mark.parametrize("points", [2, 3, 5])
@pytest.mark.parametrize("cost", [units(0.01), units(0.5), units(1.0), units(3.0)])
def test_the_code_draws_exactly_the_stated_probabilities(points, cost):
    response = RandomizedResponse.costing(cost, points)
    for point in range(points):
        found = distribution(lambda chance, point=point: response.respond(point, chance))
        stated = response.probabilities(point)
        assert [found[said] for said in range(points)] == stated
        assert sum(stated) == 1


@pytest.mark.parametrize("points", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 48), Fraction(1, 2), Fraction(2)])
def test_no_two_readings_of_a_small_grid_differ_by_more_than_epsilon(points, epsilon):
    grid, response = Grid(0.0, 4.0, points), RandomizedResponse.costing(units(epsilon), points)
    readings = [-1.0, 0.0, 0.1, 1.0, 1.75, 2.0, 3.3, 4.0, 9.0]
    said = [distribution(lambda chance, x=x: response.respond(grid.place(x, chance), chance)) for x in readings]
    assert all(sum(one.values()) == 1 and len(one) == points for one in said)
    worst = max(one[j] / other[j] for one in said for other in said for j in range(points))
    assert worst <= e_to(epsilon)
    assert worst == response.odds  # reached by the two ends of the range: nothing is given away


@given(st.floats(-1.0, 5.0), st.integers(2, 9))
def test_placing_is_unbiased_exactly(reading, points):
    grid = Grid(0.0, 4.0, points)
    found = distribution(lambda chance: grid.place(reading, chance))
    mean = sum(p * Fraction(4 * point, points - 1) for point, p in found.items())
    assert mean == min(max(Fraction(reading), 0), 4)


@pytest.mark.parametrize("points", [2, 5])
def test_estimates_are_unbiased_exactly(points):
    """Over all outcomes of two devices, the mean of the estimated shares is the true share."""
    response = RandomizedResponse.costing(units(1.0), points)
    expected = np.zeros(points)
    for first, p in enumerate(response.probabilities(0)):
        for second, q in enumerate(response.probabilities(points - 1)):
            expected += float(p * q) * response.shares(np.bincount([first, second], minlength=points))
    truth = np.zeros(points)
    truth[[0, -1]] = 0.5
    np.testing.assert_allclose(expected, truth, atol=1e-12)


def test_frequencies_of_real_randomness_fit_the_probabilities():
    response = RandomizedResponse.costing(units(1.0), 4)
    chance = Chance()
    said = np.bincount([response.respond(2, chance) for _ in range(20_000)], minlength=4)
    expected = [float(p) * 20_000 for p in response.probabilities(2)]
    assert stats.chisquare(said, expected).pvalue > 1e-6


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 200, 257])
def test_whole_numbers_below_n_are_uniform_over_all_bytes(n):
    """All two-byte strings are fed in; every number comes out equally often."""
    found = np.zeros(n, dtype=int)
    for first in range(256):
        for second in range(256) if n > 200 else (0,):
            try:
                found[Chance(iter_bytes(first, second)).below(n)] += 1
            except StopIteration:
                continue  # rejected: the next draw would decide
    assert found.min() == found.max() > 0


def iter_bytes(*values):
    left = [bytes(values)]

    def source(size):
        if not left:
            raise StopIteration
        return left.pop()[:size]

    return source


@pytest.mark.parametrize("points", [2, 4])
def test_opendp_says_the_same_of_the_same_response(points):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    response = RandomizedResponse.costing(units(1.0), points)
    theirs = dp.m.make_randomized_response(list(range(points)), prob=float(response.probabilities(0)[0]))
    assert theirs.map(1) == pytest.approx(1.0, abs=1e-9)


def test_impossible_grids_are_refused():
    with pytest.raises(ParameterError, match="lower must be below upper"):
        Grid(1.0, 1.0)
    with pytest.raises(ParameterError, match="points must be a whole number"):
        Grid(0.0, 1.0, 1)
    with pytest.raises(ParameterError, match="lower and upper must be numbers"):
        Grid(0.0, float("nan"))


def test_variances_are_those_of_the_outcomes():
    """Enumerated for one device, the variance of an estimated share and of a mean is the stated one."""
    response = RandomizedResponse.costing(units(0.7), 3)
    probabilities = [float(p) for p in response.probabilities(1)]
    shares = np.array([response.shares(np.eye(3, dtype=np.int64)[said]) for said in range(3)])
    exact = probabilities @ (shares[:, 0] - 0.0) ** 2
    assert response.variance(1) == pytest.approx(exact)
    values = np.array([0.0, 1.0, 2.0])
    counts = np.array([probabilities[0], probabilities[1], probabilities[2]]) * 1_000_000
    mean = probabilities @ (shares @ values)
    spread = probabilities @ (shares @ values - mean) ** 2
    assert response.mean_variance(np.rint(counts).astype(np.int64), values) * 1_000_000 == pytest.approx(spread, 1e-4)


def test_answers_that_are_alike_by_chance_do_not_pass_for_certain():
    response = RandomizedResponse.costing(units(1.0), 2)
    p = float(response.probabilities(0)[0])
    alike = response.mean_variance(np.array([5, 0]), np.array([0.0, 1.0]))
    assert alike == pytest.approx(p * (1 - p) / 5 / (2 * p - 1) ** 2)
    assert response.mean_variance(np.array([1, 0]), np.array([0.0, 1.0])) == float("inf")
