"""Randomised response: a device reports one point of a grid, the true one a little more often than any other.

The proof. Let a reading x be placed on point i with probability s(i | x), and point j be reported with probability
r(j | i) = odds / (odds + points - 1) where j = i, and 1 / (odds + points - 1) otherwise. For any two readings x, x':

    P(j | x) / P(j | x') = sum_i s(i | x) r(j | i) / sum_i s(i | x') r(j | i) <= max_i r(j | i) / min_i r(j | i) = odds,

because both sums are averages of r(j | .). With odds <= e^epsilon this is epsilon-local differential privacy. Placing
is unbiased (the mean of the point is the reading), and so is undoing r, so means and shares are estimated without
bias.

With two points this is the mechanism of Duchi, Jordan and Wainwright for means; with more it is k-ary randomised
response. OpenDP has the latter with a floating-point probability; here the odds are a fraction, so what a report costs
is exact and a device needs nothing to be installed. A test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from shoal.edge.chance import Chance
from shoal.errors import ParameterError
from shoal.model.parameters import is_number

UNIT = 2**40
"""Budgets are counted in whole numbers: this many units are an epsilon of 1."""

_ODDS_UNIT = 2**48


def units(epsilon: float | Fraction) -> int:
    """A budget in units, rounded down."""
    exact = Fraction(epsilon) * UNIT
    return exact.numerator // exact.denominator


@lru_cache(maxsize=4096)
def odds_of(cost: int) -> Fraction:
    """The largest odds in steps of 2^-48 that a report of this cost may have: not above e^(cost / UNIT).

    A partial sum of the series of e^x is below e^x where x > 0; rounding down keeps it there.
    """
    x = Fraction(cost, UNIT)
    total, term, order = Fraction(1), Fraction(1), 0
    while term * _ODDS_UNIT > 1 or order < x:
        order += 1
        # Rounded down, or fractions would grow without end; every term stays below the true one.
        term = Fraction(int(term * x / order * _ODDS_UNIT**2), _ODDS_UNIT**2)
        total += term
    return Fraction(int(total * _ODDS_UNIT), _ODDS_UNIT)


@dataclass(frozen=True)
class Grid:
    """Points at equal distances from a lower to an upper bound; readings outside are cut off.

    Parameters
    ----------
    lower, upper
        Bounds of a reading, known without the data, such as the fuse of a connection.
    points
        How many points, including both bounds. Two are best for means; more show the distribution of readings.

    Examples
    --------
    >>> Grid(0.0, 4.0, 5).place(3.0, Chance())
    3
    """

    lower: float
    upper: float
    points: int = 2

    def __post_init__(self) -> None:
        for bound in (self.lower, self.upper):
            if not is_number(bound) or not abs(bound) <= 1e100:
                raise ParameterError("lower and upper must be numbers: bounds of a reading, known without the data.")
        if not self.lower < self.upper:
            raise ParameterError("lower must be below upper: they are the bounds of a reading.")
        if isinstance(self.points, bool) or not isinstance(self.points, int) or not 2 <= self.points <= 2**20:
            raise ParameterError("points must be a whole number from 2 to 1048576: 2 are best for means.")

    def place(self, reading: float, chance: Chance) -> int:
        """One of the two points around a reading, the nearer one more often, so that the mean is the reading."""
        lower = Fraction(self.lower)
        steps = (Fraction(reading) - lower) / (Fraction(self.upper) - lower) * (self.points - 1)
        if steps <= 0:
            return 0
        if steps >= self.points - 1:
            return self.points - 1
        whole, rest = divmod(steps.numerator, steps.denominator)
        return whole + chance.hit(rest, steps.denominator)

    @property
    def values(self) -> NDArray[np.float64]:
        """The readings that the points stand for."""
        return np.linspace(self.lower, self.upper, self.points)


@dataclass(frozen=True)
class RandomizedResponse:
    """Report the true point with the given odds against each other point.

    Parameters
    ----------
    points
        How many points there are.
    odds
        How many times likelier the true point is than another one; above 1.

    Examples
    --------
    >>> RandomizedResponse(3, Fraction(2)).probabilities(0)
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """

    points: int
    odds: Fraction

    @classmethod
    def costing(cls, cost: int, points: int) -> RandomizedResponse:
        """The most informative response that costs at most this many units."""
        return cls(points, odds_of(cost))

    def respond(self, point: int, chance: Chance) -> int:
        """The answer for a point."""
        true, other = self.odds.numerator, self.odds.denominator
        if chance.hit(true, true + other * (self.points - 1)):
            return point
        said = chance.below(self.points - 1)
        return said + (said >= point)

    def probabilities(self, point: int) -> list[Fraction]:
        """The exact probability of each answer for a point."""
        whole = self.odds + self.points - 1
        return [(self.odds if said == point else Fraction(1)) / whole for said in range(self.points)]

    @property
    def _edges(self) -> tuple[float, float]:
        """The probability of one other point, and by how much the true one is likelier."""
        whole = self.odds + self.points - 1
        return float(1 / whole), float((self.odds - 1) / whole)

    def shares(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The unbiased estimate of the share of each point, from how often each was reported; some may be below 0."""
        other, more = self._edges
        estimates: NDArray[np.float64] = (counts / counts.sum() - other) / more
        return estimates

    def variance(self, n: int) -> float:
        """The variance of an estimated share of 0, from n answers; other shares exceed it by at most their own spread.

        Wang et al., "Locally differentially private protocols for frequency estimation", 2017, equation 3.
        """
        odds = float(self.odds)
        return (odds + self.points - 2) / (n * (odds - 1.0) ** 2)

    def mean_variance(self, counts: NDArray[np.int64], values: NDArray[np.float64]) -> float:
        """The variance of the estimated mean, from the spread of the answers themselves.

        A few answers may be equal by chance: the spread is at least that of the response alone.
        """
        n = int(counts.sum())
        if n < 2:
            return float("inf")
        mean = float(counts @ values) / n
        spread = float(counts @ (values - mean) ** 2) / (n - 1)
        other, more = self._edges
        ends = []
        for point in (0, self.points // 2, self.points - 1):
            odds = np.full(self.points, other)
            odds[point] += more
            ends.append(float(odds @ values**2 - (odds @ values) ** 2))
        return max(spread, min(ends), 0.0) / n / more**2
