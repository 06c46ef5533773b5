"""Candidates of an adversary, pair by pair, in exact arithmetic.

d(i, j)         mean of (x[i, c] - y[j, c])^2 over the columns both have, infinite where there is none
u(i, j)         -r |r| with r the correlation over those columns: it falls as 1 - r does, and is a fraction
candidates(i)   the rows j with the least d(i, j); up to level and unit, with the least u(i, j)
fullest         the same among the rows that have the most columns in common with x[i]
chance(i)       #{ j in candidates(i) : owner of j = subject of i } / #candidates(i)
"""

import math
from fractions import Fraction
from itertools import combinations

INFINITE = Fraction(10) ** 400


def naive_distance(x, y):
    squares = [(Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True) if not math.isnan(a - b)]
    return sum(squares, Fraction(0)) / len(squares) if squares else INFINITE


def naive_unlikeness(x, y):
    """Alike where neither varies, r = 0 where one does not; with fewer than three columns anything fits."""
    both = [(Fraction(a), Fraction(b)) for a, b in zip(x, y, strict=True) if not math.isnan(a - b)]
    if len(both) < 3:
        return INFINITE
    mean_a, mean_b = (sum(side, Fraction(0)) / len(both) for side in zip(*both, strict=True))
    aa = sum((a - mean_a) ** 2 for a, _ in both)
    bb = sum((b - mean_b) ** 2 for _, b in both)
    ab = sum((a - mean_a) * (b - mean_b) for a, b in both)
    if aa == 0 or bb == 0:
        return Fraction(-1) if aa == bb else Fraction(0)
    return -ab * abs(ab) / (aa * bb)


def n_shared(x, y):
    return sum(not math.isnan(a - b) for a, b in zip(x, y, strict=True))


def fullest(distance):
    """A distance by which rows with more in common come first, whatever their distance."""

    def by_both(x, y):
        d = distance(x, y)
        return (0 if d == INFINITE else -n_shared(x, y), d)

    return by_both


def naive_nearest(x, y, passed_over=lambda i, j: False, distance=naive_distance):
    """For each row of x its least distance, the next larger one, and the rows of y at the least."""
    found = []
    for i, row in enumerate(x):
        distances = {j: distance(row, other) for j, other in enumerate(y) if not passed_over(i, j)}
        levels = sorted(set(distances.values()))
        following = levels[1] if len(levels) > 1 else INFINITE
        found.append((levels[0], following, [j for j, d in distances.items() if d == levels[0]]))
    return found


def naive_chance(candidates, owners, subject):
    return Fraction(sum(owners[j] == subject for j in candidates), len(candidates))


def naive_known_points(x, y, places, shift=0, distance=naive_distance):
    """Candidates of one target known at some places; the clock may be off by up to `shift`."""
    shifts = range(-shift, shift + 1)
    distances = []
    for row in y:
        tries = []
        for s in shifts:
            inside = [(x[p], row[p + s]) for p in places if 0 <= p + s < len(row)]
            tries.append(distance(*zip(*inside, strict=True)) if inside else distance((), ()))
        distances.append(min(tries))
    return [j for j, d in enumerate(distances) if d == min(distances)]


def naive_worst(x, y, n, owners, subject, distance=naive_distance):
    """The largest chance that at most n known instants give, by trying them all."""
    usable = [t for t in range(len(x)) if not math.isnan(x[t])]
    sets = [places for size in range(1, n + 1) for places in combinations(usable, size)]
    found = (naive_known_points(x, y, places, distance=distance) for places in sets)
    return max(naive_chance(candidates, owners, subject) for candidates in found)


def naive_better(ways):
    """Of the candidates of all targets by several ways, with whose each is, those of the largest mean chance."""
    return max(ways, key=lambda way: sum(naive_chance(*target) for target in way))  # the first of equal ones


def naive_slices(x, length, at, rows, y):
    """Readings of the stretch `at` of one original, and which of its slices (rows of y) are most like them."""
    stretch = x[at * length : (at + 1) * length]
    fits = {j: (naive_unlikeness(stretch, y[j]), naive_distance(stretch, y[j])) for j in rows}
    return stretch, [j for j in rows if fits[j] == min(fits.values())]


def naive_inferred(x, y, candidates, places):
    """Instants outside the known ones where all candidates show the target's reading."""
    return [t for t in range(len(x)) if t not in places and all(y[j][t] == x[t] for j in candidates)]
