"""An aggregate whose members are in several shards: what each shard adds, and what all of them amount to.

A subject is in one shard with all its series, so its part of a total is known there. Totals are added up as whole
numbers of the smallest float, so a share that is near its limit is decided exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from shoal.model import Panel, Verdict

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

CLOSE = 1e-9
"""Shares and means nearer than this are not decided by floats."""
_UNIT = 1126  # a float is a whole number of 2**-1126


@dataclass(frozen=True, eq=False)
class AggregatePart:
    """What the members in one shard add to an aggregate; arrays are of instants times channels."""

    of: tuple[int, int]
    """Which aggregate: the first shard that has it, and its place there."""
    values: Floats
    """Its published means."""
    n_readings: Numbers
    n_subjects: Numbers
    sums: Floats
    largest: Floats
    """The largest reading by size."""
    total: tuple[int, ...]
    """In each channel, or at each instant in each, the sum of the readings by size."""
    most: tuple[int, ...]
    """The most that one subject has of it."""


@dataclass(frozen=True)
class PartVerdict(Verdict):
    """What one shard knows of aggregates that others must complete: by itself it is not judged."""

    parts: tuple[AggregatePart, ...] = ()
    within: float = 0.0
    """By how much a published mean may differ from the exact one."""


def part_of(
    of: tuple[int, int], original: Panel, members: Numbers, values: Floats, *, by_instant: bool
) -> AggregatePart:
    """What these rows of a panel add to an aggregate with these published values."""
    own = original.values[members].reshape(len(members), original.n_instants * original.n_channels)
    flat = np.ascontiguousarray(values).reshape(-1)
    observed = ~np.isnan(own)
    subjects, numbers = np.unique(original.subject_codes[members], return_inverse=True)
    seen = np.zeros((len(subjects), own.shape[1]), dtype=np.bool_)
    np.logical_or.at(seen, numbers.reshape(-1), observed)
    amounts = np.where(observed & ~np.isnan(flat), np.abs(own), 0.0)
    if not by_instant:
        amounts = amounts.reshape(len(members), original.n_instants, original.n_channels).transpose(0, 2, 1)
    else:
        amounts = amounts[:, :, None]
    by_subject = np.zeros((len(subjects), amounts.shape[1]), dtype=object)
    np.add.at(by_subject, numbers.reshape(-1), exact_sums(amounts))
    return AggregatePart(
        of=of,
        values=flat,
        n_readings=observed.sum(axis=0),
        n_subjects=seen.sum(axis=0),
        sums=np.where(observed, own, 0.0).sum(axis=0),
        largest=np.max(np.abs(own), axis=0, where=observed, initial=0.0),
        total=tuple(by_subject.sum(axis=0, initial=0).tolist()),
        most=tuple(by_subject.max(axis=0, initial=0).tolist()),
    )


def exact_sums(amounts: Floats) -> NDArray[np.object_]:
    """The sums over the last axis of floats of at least 0, as whole numbers in units of 2**-1126.

    Examples
    --------
    >>> exact_sums(np.array([[0.1] * 10])) == 10 * exact_sums(np.array([[0.1]]))
    array([ True])
    >>> large, small = exact_sums(np.array([[1e300, 1.0, 0.0], [1e300, 1.0, 5e-324]]))
    >>> small - large == exact_sums(np.array([[5e-324]]))[0]
    True
    """
    fractions, exponents = np.frexp(amounts)
    digits = (fractions * 2.0**53).astype(np.int64)
    sums = np.zeros(amounts.shape[:-1], dtype=object)
    for exponent in np.unique(exponents).tolist():
        own = np.where(exponents == exponent, digits, 0)
        # In halves: the sum of many would not fit into 64 bits.
        high, low = (own >> 27).sum(axis=-1), (own & (2**27 - 1)).sum(axis=-1)
        there = np.nonzero(high | low)
        halves = zip(high[there].tolist(), low[there].tolist(), strict=True)
        sums[there] += [((upper << 27) + lower) << (exponent - 53 + _UNIT) for upper, lower in halves]
    return sums


def conclude(parts: Sequence[AggregatePart], size: int, share: float, within: float) -> tuple[str, float]:
    """What is wrong with an aggregate, from all its parts, and the figure: "means", "size", "share", or "" for nothing.

    Parameters
    ----------
    parts
        Those of all shards.
    size, share
        As in the rule.
    within
        By how much a published mean may differ from the exact one, because it was rounded.
    """
    values = parts[0].values
    counts = np.sum([part.n_readings for part in parts], axis=0)
    means = np.sum([part.sums for part in parts], axis=0) / np.maximum(counts, 1)
    size_of = np.max([part.largest for part in parts], axis=0)
    alike = (counts > 0) & (np.abs(values - means) <= within + CLOSE * size_of)
    if any(part.values.tobytes() != values.tobytes() for part in parts) or not (np.isnan(values) | alike).all():
        return "means", float("nan")
    subjects = np.sum([part.n_subjects for part in parts], axis=0)[~np.isnan(values)]
    if len(subjects) and (fewest := int(subjects.min())) < size:
        return "size", fewest
    totals = [sum(own) for own in zip(*(part.total for part in parts), strict=True)]
    most = [max(own) for own in zip(*(part.most for part in parts), strict=True)]
    # Rounded once, to the nearest float: 15 of 100 then equals share=0.15.
    largest = max(float(Fraction(one, total)) if total else 0.0 for one, total in zip(most, totals, strict=True))
    return ("share" if largest > share else ""), largest
