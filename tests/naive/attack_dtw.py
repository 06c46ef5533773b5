"""Dynamic time warping by walking every way.

A way goes from (0, 0) to (n - 1, n - 1) by steps (1, 0), (0, 1) or (1, 1), never further than `band` from the diagonal;
it costs the sum of (a[i] - b[j])^2 over the places it visits. The distance is what the cheapest way costs.
"""


def naive_warping(a, b, band):
    n = len(a)

    def cheapest(i, j):
        if i < 0 or j < 0 or abs(i - j) > band:
            return float("inf")
        here = (a[i] - b[j]) ** 2
        if i == j == 0:
            return here
        return here + min(cheapest(i - 1, j), cheapest(i, j - 1), cheapest(i - 1, j - 1))

    return cheapest(n - 1, n - 1)
