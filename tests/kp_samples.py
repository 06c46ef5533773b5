"""Series for tests of (k, P)-anonymity."""

import numpy as np

# Table 1 of the paper: eight incomes of 2005 to 2010, without names and the sensitive year 2011.
INCOMES = np.array(
    [
        [170, 175, 188, 197, 213, 221],
        [145, 157, 165, 177, 204, 196],
        [176, 181, 147, 134, 125, 112],
        [98, 120, 125, 132, 151, 161],
        [117, 107, 87, 74, 51, 56],
        [32, 54, 59, 67, 96, 101],
        [88, 93, 56, 43, 20, 25],
        [71, 63, 47, 38, 43, 20],
    ],
    dtype=float,
)


def walks(n, seed, length=10):
    """Random walks."""
    return np.random.default_rng(seed).normal(size=(n, length)).cumsum(axis=1)
