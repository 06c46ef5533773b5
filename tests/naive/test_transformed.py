"""The oracles of the plain techniques, on cases worked by hand."""

import math
from fractions import Fraction

from naive.transformed import naive_keeps_rule, naive_smoothed, naive_standardised, naive_steps

NAN = float("nan")


def same(found, expected):
    return all(a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True))


def test_standardised_by_hand():
    assert naive_standardised([1.0, 3.0]) == [-1.0, 1.0]  # mean 2, deviation 1
    assert naive_standardised([5.0, 5.0, 5.0]) == [0.0, 0.0, 0.0]
    assert same(naive_standardised([0.0, NAN, 4.0]), [-1.0, NAN, 1.0])
    assert naive_standardised([0.0, 0.0, 3.0])[2] == float(Fraction(2)) / math.sqrt(2)


def test_smoothed_by_hand():
    assert naive_smoothed([1.0, 2.0, 6.0], 3) == [1.5, 3.0, 4.0]
    assert same(naive_smoothed([1.0, NAN, 5.0], 3), [1.0, NAN, 5.0])
    assert naive_smoothed([1.0, 2.0, 6.0], 1) == [1.0, 2.0, 6.0]


def test_steps_by_hand():
    assert naive_steps([1.0, 2.0, 3.0], [1, 2, 3], 2, "sum") == ([0, 2], [1.0, 5.0])
    assert naive_steps([1.0, 2.0, 4.0], [1, 2, 3], 2, "mean") == ([0, 2], [1.0, 3.0])
    times, values = naive_steps([NAN, 2.0, NAN], [0, 1, 4], 2, "mean")
    assert times == [0, 4]
    assert same(values, [2.0, NAN])


def test_the_rule_by_hand():
    assert naive_keeps_rule([[1.0], [1.0], [2.0]], [0, 1, 2], 3, 0.5)
    assert not naive_keeps_rule([[1.0], [1.0], [2.1]], [0, 1, 2], 3, 0.5)
    assert not naive_keeps_rule([[1.0], [1.0], [2.0]], [0, 0, 2], 3, 1.0)
