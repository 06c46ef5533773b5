"""Inversions and decimals by definition."""

from fractions import Fraction
from itertools import combinations, permutations


def naive_inversions(order):
    return sum(a > b for a, b in combinations(order, 2))


def naive_chance(found, sizes):
    """The share of all orders, piece by piece, with a count at least as far from the middle."""
    counts = {0: 1}
    for n in sizes:
        further = {}
        for order in permutations(range(n)):
            inside = naive_inversions(order)
            for count, ways in counts.items():
                further[count + inside] = further.get(count + inside, 0) + ways
        counts = further
    middle = Fraction(sum(n * (n - 1) // 2 for n in sizes), 2)
    far = sum(ways for count, ways in counts.items() if abs(count - middle) >= abs(found - middle))
    return Fraction(far, sum(counts.values()))


def naive_decimals(value, most=9):
    """The least number of decimals whose text reads back as the value."""
    return next((d for d in range(most + 1) if float(f"{value:.{d}f}") == value), most + 1)
