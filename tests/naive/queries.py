"""Queries answered series by series, and the losses of the paper on (k, P)-anonymity, in plain Python.

    share of [low, high] in [lo, hi]   length of the overlap / (high - low); 1 or 0 where low = high
    count of ranges                    Σ over series of Π over instants of that share
    normalised                         (x - mean) / deviation with divisor n; a constant series is 0 throughout
    p(x)                               x[j] - x[i] for all i < j of the normalised series
    distance                           1 - cos(p(x), p(y)); 0 where both have no differences, 1 where one has none
    value loss of a series             sqrt(Σ (high - low)² / n)

Letter j of a level with L letters, counting from 0, stands for the (2 j + 1) / (2 L) quantile of the normal
distribution.
"""

import math
from itertools import combinations
from statistics import NormalDist


def naive_share(low, high, lo, hi):
    if math.isnan(low) or math.isnan(high):
        return 0.0
    if low == high:
        return 1.0 if lo <= low <= hi else 0.0
    return max(0.0, min(high, hi) - max(low, lo)) / (high - low)


def naive_range_shares(low, high, ranges):
    """`ranges` are (column, lo, hi)."""
    return [math.prod(naive_share(a[t], b[t], lo, hi) for t, lo, hi in ranges) for a, b in zip(low, high, strict=True)]


def naive_normalize(x):
    if any(math.isnan(v) for v in x):
        return [math.nan] * len(x)
    if max(x) == min(x):
        return [0.0] * len(x)
    mean = math.fsum(x) / len(x)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x))
    return [(v - mean) / deviation for v in x]


def naive_differences(x):
    return [x[j] - x[i] for i, j in combinations(range(len(x)), 2)]


def naive_shape_distance(x, y):
    """Both as they are: the cosine does not depend on the scale, and differences not on the mean."""
    p, q = naive_differences(naive_normalize(x)), naive_differences(naive_normalize(y))
    flat = not any(p), not any(q)
    if any(flat):
        return 0.0 if all(flat) else 1.0
    inner = math.fsum(a * b for a, b in zip(p, q, strict=True))
    return 1.0 - inner / math.sqrt(math.fsum(a * a for a in p) * math.fsum(b * b for b in q))


def naive_reconstruct(word, level):
    return [NormalDist().inv_cdf((2 * (ord(letter) - ord("a")) + 1) / (2 * level)) for letter in word]


def naive_value_loss(low, high):
    return math.sqrt(math.fsum((b - a) ** 2 for a, b in zip(low, high, strict=True)) / len(low))
