"""Candidates of an adversary, pair by pair, in exact arithmetic.

d(i, j)         mean of (x[i, c] - y[j, c])^2 over the columns both have, infinite where there is none
candidates(i)   the rows j with the least d(i, j)
chance(i)       #{ j in candidates(i) : owner of j = subject of i } / #candidates(i)
"""

import math
from fractions import Fraction
from itertools import combinations

INFINITE = Fraction(10) ** 400


def naive_distance(x, y):
    squares = [(Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, y, strict=True) if not math.isnan(a - b)]
    return sum(squares, Fraction(0)) / len(squares) if squares else INFINITE


def naive_nearest(x, y, passed_over=lambda i, j: False):
    """For each row of x its least distance, the next larger one, and the rows of y at the least."""
    found = []
    for i, row in enumerate(x):
        distances = {j: naive_distance(row, other) for j, other in enumerate(y) if not passed_over(i, j)}
        levels = sorted(set(distances.values()))
        following = levels[1] if len(levels) > 1 else INFINITE
        found.append((levels[0], following, [j for j, d in distances.items() if d == levels[0]]))
    return found


def naive_chance(candidates, owners, subject):
    return Fraction(sum(owners[j] == subject for j in candidates), len(candidates))


def naive_known_points(x, y, places, shift=0):
    """Candidates of one target known at some places; the clock may be off by up to `shift`."""
    shifts = range(-shift, shift + 1)
    distances = []
    for row in y:
        tries = []
        for s in shifts:
            inside = [(x[p], row[p + s]) for p in places if 0 <= p + s < len(row)]
            tries.append(naive_distance(*zip(*inside, strict=True)) if inside else INFINITE)
        distances.append(min(tries))
    return [j for j, d in enumerate(distances) if d == min(distances)]


def naive_worst(x, y, n, owners, subject):
    """The largest chance that at most n known instants give, by trying them all."""
    usable = [t for t in range(len(x)) if not math.isnan(x[t])]
    sets = [places for size in range(1, n + 1) for places in combinations(usable, size)]
    return max(naive_chance(naive_known_points(x, y, places), owners, subject) for places in sets)


def naive_inferred(x, y, candidates, places):
    """Instants outside the known ones where all candidates show the target's reading."""
    return [t for t in range(len(x)) if t not in places and all(y[j][t] == x[t] for j in candidates)]
