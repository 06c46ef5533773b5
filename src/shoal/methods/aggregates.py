"""What a group is published as, and how far it is from being one of its members.

At each instant and channel, the aggregate covers the members observed there, and is missing if these belong to fewer
than k subjects.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.group_means import group_means
from shoal.model.parameters import is_number

Aggregate = Literal["mean", "median", "trimmed-mean", "quantiles"]
Rounding = float | Literal["whole", "binary"]

TRIMMED = 0.2
"""Share of the observed members that a trimmed mean leaves out at each end, rounded down."""

THIRDS = ("q17", "q50", "q83")
"""Bands by the percentage of members below their middle."""

LEAST_FOR_THIRDS = 9
"""Members a group needs for bands: a mean over fewer than three reveals too much about each."""


def aggregate_groups(x: Floats, labels: Ints, subjects: Ints, k: int, aggregate: Aggregate) -> Floats:
    """Replace every row by the aggregate of its group; under "quantiles" by its mean, next to `group_thirds`."""
    published = group_means(x, labels, subjects, k)
    if aggregate in ("mean", "quantiles"):
        return published
    for members in groups_of(labels):
        own = np.sort(x[members], axis=0)  # NaN goes last
        observed = np.count_nonzero(~np.isnan(own), axis=0)
        if aggregate == "median":
            centre = _mean_of_ranks(own, (observed - 1) // 2, observed // 2)
        else:
            trimmed = np.floor(TRIMMED * observed).astype(np.int64)
            centre = _mean_of_ranks(own, trimmed, observed - trimmed - 1)
        published[members] = np.where(np.isnan(published[members[0]]), np.nan, centre)
    return published


def group_thirds(x: Floats, labels: Ints, means: Floats) -> Floats:
    """For each group and column the means of the lowest, middle and highest third of its observed members.

    Quantiles would be members' own values. Thirds smooth them, and because every member is in exactly one third,
    subtracting them from the mean leaves nothing over. Missing where the mean is.
    """
    bands = np.empty((int(labels.max()) + 1, x.shape[1], len(THIRDS)))
    for label, members in enumerate(groups_of(labels)):
        own = np.sort(x[members], axis=0)  # NaN goes last
        observed = np.count_nonzero(~np.isnan(own), axis=0)
        for third in range(3):
            band = _mean_of_ranks(own, third * observed // 3, (third + 1) * observed // 3 - 1)
            bands[label, :, third] = np.where(np.isnan(means[members[0]]), np.nan, band)
    return bands


def _mean_of_ranks(ordered: Floats, first: Ints, last: Ints) -> Floats:
    """The mean of the ranks from `first` to `last` in each column of sorted values."""
    ranks = np.arange(len(ordered))[:, None]
    chosen = (ranks >= first) & (ranks <= last)
    counts = np.maximum(chosen.sum(axis=0), 1)
    means: Floats = np.sum(ordered, axis=0, where=chosen, initial=0.0) / counts
    return means


def largest_likeness(x: Floats, published: Floats, labels: Ints) -> float:
    """The largest share of its observed cells at which a published row equals one member's own value.

    Cells at which all observed members are equal do not count: nobody stands out there. In a group of odd size, a
    median is always someone's value; if it is nearly always the same member's, publishing it publishes that member.
    """
    largest = 0.0
    for members in groups_of(labels):
        own = x[members]
        observed = ~np.isnan(own) & ~np.isnan(published[members])  # what is withheld plays no part
        top = np.max(own, axis=0, where=observed, initial=-np.inf)
        bottom = np.min(own, axis=0, where=observed, initial=np.inf)
        telling = top > bottom
        alike = (own == published[members]) & telling
        possible = np.maximum((observed & telling).sum(axis=1), 1)
        largest = max(largest, float((alike.sum(axis=1) / possible).max()))
    return largest


def round_values(values: Floats, to: Rounding) -> Floats:
    """Values to the nearest multiple of a resolution, to whole numbers, or to 0 and 1 (from 0.5 on).

    A function of the value alone, so that equal rows stay equal.
    """
    if to == "binary":
        return np.where(np.isnan(values), np.nan, (values >= 0.5).astype(np.float64))
    step = 1.0 if to == "whole" else float(to)
    steps = np.rint(values / step)
    # 3 * 0.1 is not 0.3: where the step is a decimal, divide by its reciprocal instead, which is a whole number.
    inverse = round(1.0 / step)
    rounded: Floats = steps / inverse if inverse >= 1 and 1.0 / inverse == step else steps * step
    return rounded + 0.0  # no negative zero


def check_rounding(to: object) -> None:
    """Refuse an invalid resolution."""
    if to in (None, "whole", "binary"):
        return
    if not is_number(to) or not 1e-300 < to < float("inf"):
        raise ParameterError("round_to must be a resolution above 0 such as 0.1, or 'whole', or 'binary'.")


def groups_of(labels: Ints) -> Iterator[Ints]:
    """The rows of each group, in row order."""
    order = np.argsort(labels, kind="stable")
    yield from np.split(order, np.cumsum(np.bincount(labels))[:-1])
