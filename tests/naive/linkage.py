"""The linkage attack on envelopes and words, target by target and series by series.

    possible(q, r)   low[r, t] <= x[q, t] <= high[r, t] at every instant t    where values are known, and
                     word[r] is the word of q at the level of r               where the pattern is known
    breach(q)        #{ r : possible(q, r), value of r = value of q } / #{ r : possible(q, r) }, or 0

The word of a series: normalised with divisor n (a constant series is 0), letter j where it lies from the j/level to
below the (j+1)/level quantile of the normal distribution; less than 1e-7 below a quantile counts as on it.
"""

import math
from statistics import NormalDist


def naive_word(x, level):
    mean = math.fsum(x) / len(x)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x))
    z = [0.0] * len(x) if max(x) == min(x) else [(v - mean) / deviation for v in x]
    cuts = [NormalDist().inv_cdf(j / level) for j in range(1, level)]
    return "".join(chr(ord("a") + sum(v >= cut - 1e-7 for cut in cuts)) for v in z)


def naive_possible(x, low, high, levels, words, *, values, pattern):
    """For each target the published rows it could be."""
    return [
        [
            r
            for r in range(len(low))
            if (not values or all(a <= v <= b for a, v, b in zip(low[r], q, high[r], strict=True)))
            and (not pattern or words[r] == naive_word(q, levels[r]))
        ]
        for q in x
    ]


def naive_breach(possible, true, shown):
    return [sum(shown[r] == true[q] for r in rows) / len(rows) if rows else 0.0 for q, rows in enumerate(possible)]
