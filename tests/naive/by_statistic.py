"""Groups of rows with similar statistic: k at a time from the smallest, the rest with the last group.

    order    the rows by (statistic, row)
    groups   order[0:k], order[k:2k], …, as long as at least k rows stay behind; the last group takes all that is left

Labels number the groups in this order, from the smallest statistic.

    mean(row) = Σ values / count        variance(row) = Σ (value − mean(row))² / count

Reference: "K nearest neighbours on the mean (resp. variance) of each individual, initialised by the smallest", paper 2,
section 5.2.
"""

import math

import numpy as np


def naive_by_statistic(statistic, k):
    left = sorted(range(len(statistic)), key=lambda i: (float(statistic[i]), i))
    labels = np.full(len(statistic), -1, dtype=np.int64)
    label = 0
    while len(left) >= 2 * k:
        labels[left[:k]] = label
        left = left[k:]
        label += 1
    labels[left] = label
    return labels


def naive_row_means(x):
    return np.array([math.fsum(row) / len(row) for row in x.tolist()])


def naive_row_variances(x):
    variances = []
    for row in x.tolist():
        mean = math.fsum(row) / len(row)
        variances.append(math.fsum((value - mean) ** 2 for value in row) / len(row))
    return np.array(variances)
