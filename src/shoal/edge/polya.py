"""Shares of discrete Laplace noise: one from each meter, they add up to exactly the noise of a central mechanism.

The difference of two geometric numbers, P(k) = (1 - a) a^k each, has the discrete Laplace distribution, P(k)
proportional to a^|k|. A geometric number is a Polya (negative binomial) one of shape 1, and Polya numbers of shapes r
and s add up to one of shape r + s:

    P(k) = (1 - a)^r C(k + r - 1, k) a^k,      sum over k of C(k + r - 1, k) a^k z^k = (1 - a z)^-r.

So n differences of Polya numbers of shape 1/n add up to discrete Laplace noise. A sum whose terms are whole numbers
from 0 to `steps` is then kept private by a = e^(-epsilon / steps): shifting by at most `steps` changes a^|k| by at most
a^-steps. Shapes that add up to more than 1 are that noise plus more, drawn independently, and keep the same epsilon.

Exact sampling. a is a fraction, so the weights C(k + r - 1, k) a^k are fractions too; they are added up in whole
numbers of 2^-256, rounded down. Their sum is (1 - a)^-r. A uniform number of 128 bits, times this sum, falls between
two partial sums; if its last bit or the rounding would decide between two k, both are refined, never guessed.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from shoal.edge.chance import Chance
from shoal.edge.response import odds_of

_BITS = 256


class Polya:
    """Numbers with the Polya distribution of a shape of at most 1.

    Parameters
    ----------
    shape
        r: a part of 1.
    ratio
        a: below 1; nearer to 1 is more noise.

    Examples
    --------
    >>> Polya(Fraction(1, 3), Fraction(1, 2)).draw(Chance()) >= 0
    True
    """

    def __init__(self, shape: Fraction, ratio: Fraction) -> None:
        if not (0 < shape <= 1 and 0 < ratio < 1):
            raise ValueError("A Polya distribution needs a shape above 0 and at most 1, and a ratio between 0 and 1.")
        self.shape, self.ratio = shape, ratio
        self._begin(_BITS)

    def draw(self, chance: Chance) -> int:
        """One number."""
        drawn, bits = chance.below(2**128), 128
        while (k := self._find(drawn, bits)) is None:
            drawn, bits = (drawn << 64) + chance.below(2**64), bits + 64
            if bits > self._bits // 2:
                self._begin(2 * self._bits)
        return k

    def _begin(self, bits: int) -> None:
        self._bits = bits
        self._term = 1 << bits
        self._sums = [self._term]
        digits = bits // 3 + 30
        context = Context(prec=digits)
        # ln and exp of decimals are correctly rounded; a few operations stay within 10 digits of the last one.
        base = context.divide(Decimal(self.ratio.denominator - self.ratio.numerator), Decimal(self.ratio.denominator))
        power = context.multiply(context.ln(base), Decimal(-self.shape.numerator))
        total = context.exp(context.divide(power, Decimal(self.shape.denominator)))
        slack = context.multiply(total, Decimal(10) ** (10 - digits))
        scale = Decimal(1 << bits)
        self._total = (
            int(context.multiply(context.subtract(total, slack), scale)),
            int(context.multiply(context.add(total, slack), scale)) + 2,
        )

    def _find(self, drawn: int, bits: int) -> int | None:
        """The k whose partial sums certainly enclose drawn / 2^bits of the whole; None if it is not certain."""
        low = (drawn * self._total[0]) >> bits
        high = (((drawn + 1) * self._total[1]) >> bits) + 1
        while self._sums[-1] <= high:
            if len(self._sums) > 1 and self._sums[-1] == self._sums[-2]:
                return None  # weights below the resolution: refine
            self._extend()
        k = bisect_right(self._sums, high)
        # Each weight is too small by at most as many units as there were steps, so sums are by at most (k + 1)^2.
        above_before = self._sums[k - 1] + k * k if k else 0
        return k if above_before <= low else None

    def _extend(self) -> None:
        n, d = self.shape.numerator, self.shape.denominator
        up, down = self.ratio.numerator, self.ratio.denominator
        for k in range(len(self._sums), len(self._sums) + 256):
            self._term = self._term * (up * ((k - 1) * d + n)) // (down * k * d)
            self._sums.append(self._sums[-1] + self._term)


@lru_cache(maxsize=256)
def polya(shape: Fraction, ratio: Fraction) -> Polya:
    """Cached tables: one for each distribution."""
    return Polya(shape, ratio)


def noise_share(shape: Fraction, ratio: Fraction, chance: Chance) -> int:
    """The difference of two Polya numbers: a share of discrete Laplace noise."""
    numbers = polya(shape, ratio)
    return numbers.draw(chance) - numbers.draw(chance)


def ratio_for(cost: int, steps: int) -> Fraction:
    """The least noise that costs at most this many units if one term is a whole number from 0 to `steps`."""
    return 1 / odds_of(cost // steps)
