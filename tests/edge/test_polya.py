"""Shares of noise: exact probabilities, and exactly the noise of one mechanism when added up."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from edge.enumeration import e_to
from shoal.edge.chance import Chance
from shoal.edge.polya import Polya, noise_share, ratio_for
from shoal.edge.response import UNIT


def weights(shape, ratio, n):
    """C(k + r - 1, k) a^k, exactly."""
    found = [Fraction(1)]
    for k in range(1, n):
        found.append(found[-1] * ratio * (k - 1 + shape) / k)
    return found


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_shares_add_up_to_the_noise_of_one_mechanism_exactly(parts):
    """The first 25 coefficients of the product of generating functions are those of shape 1, as fractions."""
    ratio = Fraction(7, 10)
    one = weights(Fraction(1, parts), ratio, 25)
    total = [Fraction(1)] + [Fraction(0)] * 24
    for _ in range(parts):
        total = [sum(total[i] * one[k - i] for i in range(k + 1)) for k in range(25)]
    assert total == [ratio**k for k in range(25)]


@pytest.mark.parametrize(("shape", "ratio"), [(Fraction(1), Fraction(1, 2)), (Fraction(1, 3), Fraction(9, 10))])
def test_every_number_is_drawn_for_exactly_its_part_of_all_uniform_numbers(shape, ratio):
    """Where k ends among all 2^128 uniform numbers is found by bisection and held against the exact sums."""
    polya, bits = Polya(shape, ratio), 128
    total = (1 - float(ratio)) ** -float(shape)
    reached = Fraction(0)
    for k, weight in enumerate(weights(shape, ratio, 30)):
        reached += weight
        low, high = 0, 2**bits - 1
        while low < high:
            middle = (low + high) // 2
            # Beside a border, where more bits would decide, what is a few numbers before.
            found = next(f for f in (polya._find(middle - back, bits) for back in range(8)) if f is not None)
            low, high = (low, middle) if found > k else (middle + 1, high)
        if shape == 1:
            assert abs(Fraction(low, 2**bits) - reached * (1 - ratio)) <= Fraction(16, 2**bits)
        assert low / 2**bits == pytest.approx(float(reached) / total, abs=1e-14)


def test_where_rounding_would_decide_more_bits_are_drawn():
    """With shape 1 and a = 1/2 the sums are 1/2, 3/4, ...: a uniform number that begins like one of them is refined."""
    polya = Polya(Fraction(1), Fraction(1, 2))
    assert polya._find(2**127 - 1, 128) is None
    drawn = iter([2**127 - 1, 0])

    class Edge(Chance):
        def below(self, n):
            return next(drawn)

    assert polya.draw(Edge()) == 0
    drawn = iter([2**127 - 1, 2**64 - 1, 2**64 - 1, 2**64 - 1, 2**63])
    assert polya.draw(Edge()) == 0


def test_frequencies_fit_the_probabilities():
    ratio, shape, n = Fraction(4, 5), Fraction(1, 4), 20_000
    polya, chance = Polya(shape, ratio), Chance()
    drawn = np.bincount(np.minimum([polya.draw(chance) for _ in range(n)], 8), minlength=9)
    exact = np.array([float(one) for one in weights(shape, ratio, 8)]) * (1 - 0.8) ** 0.25
    expected = np.append(exact, 1 - exact.sum()) * n
    assert stats.chisquare(drawn, expected).pvalue > 1e-6


def test_the_sum_of_shares_is_discrete_laplace_noise():
    ratio, chance, n = Fraction(1, 2), Chance(), 4_000
    sums = np.array([sum(noise_share(Fraction(1, 6), ratio, chance) for _ in range(6)) for _ in range(n)])
    exact = {k: (1 - 0.5) / (1 + 0.5) * 0.5 ** abs(k) for k in range(-4, 5)}
    inside = [int((sums == k).sum()) for k in exact]
    expected = [n * p for p in exact.values()]
    assert stats.chisquare([*inside, n - sum(inside)], [*expected, n - sum(expected)]).pvalue > 1e-6


@pytest.mark.parametrize("steps", [1, 7, 100])
@pytest.mark.parametrize("cost", [UNIT, UNIT // 48])
def test_a_reading_may_move_over_the_whole_range_and_costs_no_more_than_asked(steps, cost):
    ratio = ratio_for(cost, steps)
    assert (1 / ratio) ** steps <= e_to(Fraction(cost, UNIT))
    assert (1 / ratio) ** steps >= e_to(Fraction(cost, UNIT)) * (1 - Fraction(1, 10**6))


def test_shapes_and_ratios_that_are_none_are_refused():
    for shape, ratio in ((Fraction(2), Fraction(1, 2)), (Fraction(1), Fraction(1)), (Fraction(0), Fraction(1, 2))):
        with pytest.raises(ValueError, match="needs a shape"):
            Polya(shape, ratio)
