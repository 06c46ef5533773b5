"""Whether the row order reveals the order of the originals."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.model import Candidate, EventsCandidate, EventTables, Profiles
from shoal.model.event_kinds import plain_types
from shoal.model.event_tables import GROUP, TIME
from shoal.release.lint.written import Finding, Written

NAME = "row-order"

FALSE_ALARM = 2e-7
"""Highest rate at which rows in random order may be reported."""
_NEIGHBOURS = 15
"""This many neighbours that were neighbours before: 2^15 / 15! is 2.5e-8."""
_EXACT = 2_000
"""Up to this many pairs of rows the distribution is computed, above it is bounded."""

Numbers = NDArray[np.int64]


def row_order(written: Written) -> Finding | None:
    """Rows must be in an order unrelated to the original one.

    Two counts over the rows of the file, by their position in the original table:

    - inversions: pairs of rows in the opposite order. In random order they are a sum of independent uniform numbers
      with mean n(n-1)/4 and variance s^2 = n(n-1)(2n+5)/72. Up to 2 000 pairs, the chance of such a count is computed
      exactly; above, it is at most 2 exp(-d^2 / 2 s^2) for a distance d from the mean. A finding if it is below 2e-7:
      from eleven rows in their old order.
    - neighbours that were neighbours before. In random order, m or more of them have a chance of at most 2^m / m!. A
      finding from 15: rows that were only rotated or cut into long pieces.

    For profiles, both are tested twice: on the order in which the method formed its groups, and on the order of their
    first series. So rows in random order are reported in fewer than 5 of ten million releases. Ten rows or fewer cannot
    be distinguished from chance.

    Rows of events are sorted by content, as the verification requires; but the numbers of their groups must not follow
    the order of arrival, over all snapshots together, by the count of inversions. Groups are ordered by the arrival of
    their first event, among events whose quasi-identifiers are unique in their snapshot.
    """
    candidate = written.candidate
    if isinstance(candidate, EventsCandidate):
        suspicious = _of_events(written, candidate)
        what = "The numbers of groups follow the order in which events arrived"
    else:
        rows = written.rows[written.rows >= 0]
        orders = [rows]
        if isinstance(candidate.published, Profiles):
            orders.append(_first_series(candidate)[rows])
        suspicious = any(is_in_order(order) for order in orders)
        what = f"The {len(rows)} rows follow the order of the originals"
    if not suspicious:
        return None
    return Finding(
        NAME,
        f"{what}, more than chance allows.",
        "Publish under random or keyed pseudonyms, by which rows are sorted, with groups numbered at random.",
    )


def is_in_order(order: Numbers) -> bool:
    """Whether different positions follow an order, up or down, or piece by piece.

    Examples
    --------
    >>> is_in_order(np.arange(11)), is_in_order(np.arange(10))
    (True, False)
    """
    if len(order) < 2:
        return False
    ranks = np.argsort(np.argsort(order))
    close = int((np.abs(np.diff(ranks)) == 1).sum())
    return close >= _NEIGHBOURS or chance_of(inversions(ranks), [len(ranks)]) < FALSE_ALARM


def inversions(ranks: Numbers) -> int:
    """Number of pairs in the wrong order, by merging pieces twice as long each time.

    Examples
    --------
    >>> inversions(np.array([2, 0, 1]))
    2
    """
    total, width = 0, 1
    length = 1 << max(0, len(ranks) - 1).bit_length()
    # The padding to a power of two is larger than everything before it, so it is in no wrong pair.
    added = int(ranks.max()) + 1 + np.arange(length - len(ranks))
    values = np.concatenate([np.asarray(ranks, dtype=np.int64), added])
    while width < length:
        pieces = values.reshape(-1, 2 * width)
        order = np.argsort(pieces, axis=1, kind="stable")
        is_right = order >= width
        # Once sorted, each entry of the left half is behind the smaller ones of the right half.
        total += int(np.cumsum(is_right, axis=1)[~is_right].sum())
        values = np.take_along_axis(pieces, order, axis=1).reshape(-1)
        width *= 2
    return total


def chance_of(found: int, sizes: list[int]) -> float:
    """Upper bound on the chance of so unusual a number of inversions in random orders of these sizes, on either side.

    The inversions of n rows in random order are distributed as the sum of independent uniform numbers from 0 to i - 1,
    i = 1 to n. The moment generating function of one is at most that of the normal distribution with its variance,
    since sinh(mx) / (m sinh x) <= exp(x^2 (m^2 - 1) / 6); hence the bound.

    Examples
    --------
    >>> chance_of(0, [3])  # two of six orders are that unusual
    0.3333333333333333
    """
    pairs = sum(n * (n - 1) // 2 for n in sizes)
    away = abs(found - pairs / 2)
    if pairs <= _EXACT:
        chances = np.ones(1)
        for n in sizes:
            for i in range(2, n + 1):
                chances = np.convolve(chances, np.full(i, 1.0 / i))
        return float(min(1.0, chances[np.abs(np.arange(pairs + 1) - pairs / 2) >= away].sum()))
    variance = sum(n * (n - 1) * (2 * n + 5) / 72 for n in sizes)
    return min(1.0, 2.0 * math.exp(-(away**2) / (2.0 * variance)))


def _first_series(candidate: Candidate) -> Numbers:
    """For each group the position of its first series."""
    groups = candidate.private.groups
    assert isinstance(candidate.published, Profiles)
    first = np.full(candidate.published.n_groups, len(groups), dtype=np.int64)
    members = np.flatnonzero(groups >= 0)
    np.minimum.at(first, groups[members], members)
    return first


def _of_events(written: Written, candidate: EventsCandidate) -> bool:
    """Whether numbers of groups follow the arrival of events."""
    published, private = written.published, candidate.private
    assert isinstance(published, EventTables)
    if not published.bucketised or not published.quasi:
        return False
    original, quasi = private.original, list(published.quasi)
    times = plain_types(original.frame.select(original.time)).to_series().unique().sort()
    kept = np.flatnonzero(private.snapshots >= 0)
    events = plain_types(original.frame.select(quasi))[kept].with_columns(
        times.gather(private.snapshots[kept]).alias(TIME), pl.Series("__arrival", kept)
    )
    key = [TIME, *quasi]
    alone = events.filter(pl.len().over(key) == 1)
    groups = published.records.filter(pl.len().over(key) == 1).join(alone, on=key, nulls_equal=True)
    first = groups.group_by(TIME, GROUP).agg(pl.col("__arrival").min()).sort(TIME, GROUP)
    if first.is_empty():
        return False
    sizes = first.group_by(TIME, maintain_order=True).len()["len"].to_list()
    # Snapshots one after the other: pairs from different snapshots are in order, so only pairs within one count.
    snapshot = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((first["__arrival"].to_numpy(), snapshot))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    return chance_of(inversions(ranks), sizes) < FALSE_ALARM
