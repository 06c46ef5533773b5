"""Who is published alike, counted pair by pair.

    equal(i, j)    x[i, c] and x[j, c] have the same 64 bits in every column c
    crowd(i)       #{ j : equal(i, j) }, so a row is always in its own crowd
    class(i)       min{ j : equal(i, j) }
    subjects(i)    #{ subject of j : equal(i, j) }

Every NaN, whatever its bits, is the same missing mark and equals only a missing mark; -0.0 differs from 0.0.
Arrays of more than two dimensions are read as (series, everything else).

    x is k-anonymous           crowd(i) >= k for every i; with subjects known, subjects(i) >= k for every i

    the aggregate rule holds   for every set G of equal published rows (all missing is a set like any other)
                                 for every channel c, with T the instants at which something is published,
                                 G has at least `size` distinct subjects with a reading in T, and
                                 for every subject s in G
                                   Σ |original[i, t, c]| over the rows i of s in G and the instants t in T
                                   ------------------------------------------------------------------------  <= share
                                   Σ |original[i, t, c]| over all rows i of G and the instants t in T

per="period" asks it once, over all instants; per="instant" for each instant t alone. Without any reading there is no
aggregate. Missing
counts as 0, and where the lower sum is 0 nobody has a share. Sums and quotient are exact rationals; the quotient is
rounded once, to the nearest float, so that 15 of 100 does not exceed share=0.15.
"""

import math
import struct
from fractions import Fraction

import numpy as np


def mark(value):
    """The eight bytes of a value, or None for the missing mark, which no value has."""
    return None if math.isnan(value) else struct.pack("<d", value)


def rows_equal(a, b):
    return all(mark(u) == mark(v) for u, v in zip(a.ravel(), b.ravel(), strict=True))


def rows_equal_to(x, i):
    return [j for j in range(len(x)) if rows_equal(x[i], x[j])]


def own_subjects(x):
    """Without subjects every row is its own subject."""
    return list(range(len(x)))


def naive_crowd_sizes(x):
    return np.array([len(rows_equal_to(x, i)) for i in range(len(x))], dtype=np.int64)


def naive_classes(x):
    return np.array([min(rows_equal_to(x, i)) for i in range(len(x))], dtype=np.int64)


def naive_distinct_subjects(x, subjects):
    return np.array([len({int(subjects[j]) for j in rows_equal_to(x, i)}) for i in range(len(x))], dtype=np.int64)


def naive_k_anonymous(x, k, subjects=None):
    sizes = naive_crowd_sizes(x) if subjects is None else naive_distinct_subjects(x, subjects)
    return all(int(size) >= k for size in sizes)


def total(original, rows, instants, channel):
    values = [float(original[i, t, channel]) for i in rows for t in instants]
    return sum((Fraction(abs(v)) for v in values if not math.isnan(v)), start=Fraction(0))


def naive_aggregate_rule(original, published, size, share, subjects=None, per="period"):
    _, n_instants, n_channels = original.shape
    if subjects is None:
        subjects = own_subjects(original)
    if per == "period":
        spans = [range(n_instants)]
    elif per == "instant":
        spans = [[t] for t in range(n_instants)]
    else:
        raise ValueError(f"per={per!r} is neither 'period' nor 'instant'")

    cells = published.reshape(original.shape)
    for i in range(len(published)):
        group = rows_equal_to(published, i)
        for span in spans:
            for channel in range(n_channels):
                instants = [t for t in span if not math.isnan(cells[i, t, channel])]
                members = set()
                for t in instants:
                    # What is inside one published value: readings, each with the subject it is of.
                    inside = [(int(subjects[j]), original[j, t, channel]) for j in group]
                    inside = [(subject, x) for subject, x in inside if not math.isnan(x)]
                    if not inside or len({subject for subject, _ in inside}) < size:
                        return False
                    if not math.isclose(
                        cells[i, t, channel],
                        math.fsum(x for _, x in inside) / len(inside),
                        rel_tol=0,
                        abs_tol=1e-9 * max(abs(x) for _, x in inside),
                    ):
                        return False
                    members |= {subject for subject, _ in inside}
                whole = total(original, group, instants, channel)
                if whole == 0:
                    continue
                for member in members:
                    own = [j for j in group if int(subjects[j]) == member]
                    if float(total(original, own, instants, channel) / whole) > share:
                        return False
    return True
