"""Estimates of customised publishing for one series, by the corners of what is possible. Numpy only.

A series of n values has mean μ, deviation σ >= 0 and normalised values z with x = μ + z σ, Σ z = 0, |z| <= √(n - 1).
A letter is given with a tolerance of 1e-7 (a value just below a breakpoint counts as on it): here twice that.

Each fact is a line a μ + b σ <= c. The least a linear function takes on them is at a corner, a crossing of two lines
that no other one cuts off, unless it falls along an edge without end.
"""

from itertools import combinations, pairwise
from statistics import NormalDist

import numpy as np

INF = float("inf")
TOLERANCE = 2e-7


def naive_span(letter, level, n):
    """Between which normalised values a letter (0, 1, ...; None for none) lies."""
    furthest = (n - 1) ** 0.5
    if letter is None:
        return -furthest - TOLERANCE, furthest + TOLERANCE
    ends = [-furthest, *(NormalDist().inv_cdf(j / level) for j in range(1, level)), furthest]
    low, high = list(pairwise(ends))[letter]
    return max(low, -furthest) - TOLERANCE, min(high, furthest) + TOLERANCE


def naive_lines(ranges, letters, level, n):
    """Everything known: `ranges` and `letters` hold an entry for each published instant, None where there is none."""
    lines = [(0.0, -1.0, 0.0)]
    known, rest_low, rest_high = [], 0.0, 0.0
    for span, letter in zip(ranges, letters, strict=True):
        floor, ceil = naive_span(letter, level, n)
        if span is None:
            rest_low, rest_high = rest_low + floor, rest_high + ceil
            continue
        known.append(span)
        lines += [(1.0, floor, span[1]), (-1.0, -ceil, -span[0])]
    for _ in range(n - len(ranges)):
        floor, ceil = naive_span(None, level, n)
        rest_low, rest_high = rest_low + floor, rest_high + ceil
    count = len(known)
    lines += [(count, -rest_high, sum(high for _, high in known)), (-count, rest_low, -sum(low for low, _ in known))]
    if count == n:
        lines.append((0.0, 1.0, (max(high for _, high in known) - min(low for low, _ in known)) / 2))
    return np.array(lines)


def naive_least(lines, a, b):
    """The least a μ + b σ; -infinity where there is none, None where nothing is possible."""
    scale = np.abs(lines[:, 2]).max() + 1.0
    corners = []
    for one, other in combinations(lines, 2):
        matrix = np.array([one[:2], other[:2]])
        if abs(np.linalg.det(matrix)) > 1e-12:
            point = np.linalg.solve(matrix, [one[2], other[2]])
            if (lines[:, :2] @ point <= lines[:, 2] + 1e-9 * scale).all():
                corners.append(a * point[0] + b * point[1])
    if not corners:
        return None
    for line in lines:
        for direction in ((-line[1], line[0]), (line[1], -line[0])):
            if (lines[:, :2] @ direction <= 1e-9).all() and a * direction[0] + b * direction[1] < -1e-9:
                return -INF
    return min(corners)


def naive_bounds(ranges, letters, level, n, letter):
    """Between which values a value with this letter lies: lemma 1 and the two programs."""
    both = [(s, own) for s, own in zip(ranges, letters, strict=True) if s is not None and own is not None]
    low = max((s[0] for s, own in both if own < letter), default=-INF)
    high = min((s[1] for s, own in both if own > letter), default=INF)
    lines = naive_lines(ranges, letters, level, n)
    floor, ceil = naive_span(letter, level, n)
    least, largest = naive_least(lines, 1.0, floor), naive_least(lines, -1.0, -ceil)
    if least is None or largest is None:
        return low, high
    return max(low, least), min(high, -largest)
