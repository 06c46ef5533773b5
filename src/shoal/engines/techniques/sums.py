"""Sums that are the same in whatever order and parts they are taken.

Numbers are added up as whole multiples of a small step, and what that leaves of each as multiples of a smaller one:

    x = h 2^-a + l 2^-b,    h = round(x 2^a),    l = round((x - h 2^-a) 2^b)

Sums of whole numbers are exact. The steps follow from the largest number and how many there are, so that no sum
overflows 62 bits; for a million numbers that is 80 bits below the largest, more than a float has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

_BITS = 61


@dataclass(frozen=True)
class Steps:
    """The two steps as exponents: multiples of 2^-coarse, and of 2^-fine."""

    coarse: int
    fine: int

    @classmethod
    def of(cls, largest: float, n: int) -> Steps:
        """For up to n numbers, none larger in size."""
        bits = _BITS - int(n).bit_length()
        coarse = bits - math.frexp(largest)[1] if largest else 0
        return cls(coarse, coarse + bits)

    def split(self, numbers: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Each number in both steps; they can be added up."""
        coarse = np.rint(np.ldexp(numbers, self.coarse))
        fine = np.rint(np.ldexp(numbers - np.ldexp(coarse, -self.coarse), self.fine))
        return coarse.astype(np.int64), fine.astype(np.int64)

    def exact(self, coarse: int, fine: int) -> Fraction:
        """What sums of both steps amount to."""
        return Fraction(int(coarse)) * Fraction(2) ** -self.coarse + Fraction(int(fine)) * Fraction(2) ** -self.fine
