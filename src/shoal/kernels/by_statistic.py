"""Groups of rows with a similar mean, variance or other single number: the baselines a real grouping has to beat.

    order the rows by (statistic, row); cut k at a time from the smallest; the last group takes the rest, k to 2k - 1

This is the benchmark of paper 2, section 5.2: "K nearest neighbour on the mean (resp. variance) load of each
individual with initializing by the smallest". On a line, the k nearest of the smallest are the next ones.
"""

import numpy as np

from shoal.kernels.arrays import Floats, Ints


def by_statistic_groups(statistic: Floats, k: int) -> Ints:
    """Group label of each row, numbered from the smallest statistic; there are at least k rows and no gaps."""
    n = statistic.shape[0]
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort(statistic, kind="stable")] = np.minimum(np.arange(n) // k, n // k - 1)
    return labels


def row_means(x: Floats) -> Floats:
    """Mean of each row."""
    means: Floats = x.mean(axis=1)
    return means


def row_variances(x: Floats) -> Floats:
    """Mean squared deviation of each row from its mean, in two passes.

    Relative to the first value of the row, so that a common offset changes no digit of the result.
    """
    deviations = x - x[:, :1]
    deviations -= deviations.mean(axis=1, keepdims=True)
    variances: Floats = (deviations * deviations).mean(axis=1)
    return variances
