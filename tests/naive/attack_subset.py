"""Which members sum to a given total, by trying every set."""

from itertools import combinations


def naive_members(a, b, size, tolerance=1e-9):
    """Every set of so many rows of `a` whose sum is `b` at all steps."""
    n_steps = len(b)
    return [
        frozenset(members)
        for members in combinations(range(len(a)), size)
        if all(abs(sum(a[i][d] for i in members) - b[d]) <= tolerance for d in range(n_steps))
    ]


def naive_left_over(a, b, members):
    return sum(abs(sum(a[i][d] for i in members) - b[d]) for d in range(len(b)))


def naive_nearest_sum(a, b, size):
    """The least sum of absolute differences of any set."""
    return min(naive_left_over(a, b, members) for members in combinations(range(len(a)), size))
