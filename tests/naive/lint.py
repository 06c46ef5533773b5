"""Inversions, decimals and who stands out by them, by definition."""

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


def naive_rare(rows, whose, crowd):
    """For each row whether its decimals lead to fewer than a crowd; gaps are None."""
    seen = [[value for value in row if value is not None] for row in rows]
    least = [max((naive_decimals(value) for value in row), default=None) for row in seen]

    def may_be(i, r):
        """A logger of r decimals would write such values at least once in a million tables."""
        if least[i] is None or r < least[i]:
            return False
        values = {value for value in seen[i] if value != 0}
        chance = Fraction(1, 10 ** (r - least[i])) ** len(values)
        return len(rows) * chance >= Fraction(1, 10**6)

    def crowd_of(members):
        return len({whose[j] for j in members}) >= crowd

    answers = []
    for i in range(len(rows)):
        if least[i] is None:
            answers.append(False)
            continue
        as_fine = [j for j in range(len(rows)) if least[j] is not None and least[j] >= least[i]]
        alike = [[j for j in range(len(rows)) if may_be(j, r)] for r in range(11) if may_be(i, r)]
        answers.append(not crowd_of(as_fine) or not any(crowd_of(members) for members in alike))
    return answers
