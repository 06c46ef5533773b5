"""Sums of floating-point numbers without rounding, and so without an order.

    x = m 2^(e - 1074),  m < 2^53 a whole number,  0 <= e < 2046

A sum is kept as whole numbers s[0], s[1], …, the multiples of 2^(32 i - 1074) that were added there. A number touches
three of them and adds less than 2^33 to each, so that 2^30 numbers can be added before one overflows; `carry` then
makes room for as many again. Sums of blocks are added one by one. Squares are added as the two numbers a product is
made of (Dekker), so they are not rounded either: variances can be taken from sums of squares without losing digits.
"""

from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Limbs = NDArray[np.int64]

LIMBS = 68
"""Whole numbers of one sum: 2098 bits of a float's range, and some to carry."""

_LEAST = 1074
_SPLIT = 134217729.0  # 2^27 + 1: cuts 53 bits in two halves


@njit(cache=True, nogil=True)
def _add(sums: Limbs, column: int, bits: int) -> None:
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent > 0:
        mantissa |= 1 << 52
        exponent -= 1
    limb, shift = exponent >> 5, exponent & 31
    low = (mantissa & 0xFFFFFFFF) << shift  # below 2^63
    high = (mantissa >> 32) << shift
    first, second, third = low & 0xFFFFFFFF, (low >> 32) + (high & 0xFFFFFFFF), high >> 32
    if bits < 0:
        first, second, third = -first, -second, -third
    sums[limb, column] += first
    sums[limb + 1, column] += second
    sums[limb + 2, column] += third


@njit(cache=True, nogil=True)
def add_columns(sums: Limbs, values: Floats) -> None:
    """Add the rows of (rows, columns) to sums (limbs, columns); NaN adds nothing."""
    bits = values.view(np.int64)
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            if not np.isnan(values[i, c]):
                _add(sums, c, bits[i, c])


@njit(cache=True, nogil=True)
def add_squares(sums: Limbs, values: Floats) -> None:
    """Add the squares of (rows, columns), not rounded; NaN adds nothing. Below 1e-140 they are rounded to 1e-300."""
    parts = np.empty(2)
    bits = parts.view(np.int64)
    for i in range(values.shape[0]):
        for c in range(values.shape[1]):
            x = values[i, c]
            if np.isnan(x):
                continue
            cut = _SPLIT * x
            high = cut - (cut - x)
            low = x - high
            parts[0] = x * x
            parts[1] = ((high * high - parts[0]) + 2.0 * high * low) + low * low
            _add(sums, c, bits[0])
            _add(sums, c, bits[1])


@njit(cache=True, nogil=True)
def carry(sums: Limbs) -> None:
    """Hand on what exceeds 32 bits, towards zero, so that unused limbs stay 0. The sums stay what they are."""
    for c in range(sums.shape[1]):
        for limb in range(LIMBS - 1):
            size = abs(sums[limb, c]) >> 32
            handed = size if sums[limb, c] >= 0 else -size
            sums[limb, c] -= handed << 32
            sums[limb + 1, c] += handed


def no_sums(n: int) -> Limbs:
    """Sums to which nothing was added yet, (limbs, n)."""
    return np.zeros((LIMBS, n), dtype=np.int64)


def totals(sums: Limbs) -> list[Fraction]:
    """What the sums are, exactly."""
    found = []
    for column in np.ascontiguousarray(sums.T):
        used = np.flatnonzero(column)
        whole = sum(int(column[limb]) << (32 * int(limb)) for limb in used)
        found.append(Fraction(whole, 1 << _LEAST))
    return found
