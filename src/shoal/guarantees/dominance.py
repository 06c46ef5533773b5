"""Whether one member is most of a group's mean.

    share(i) = sum over t of |x[i, t]| / sum over members j and t of |x[j, t]|, in one channel

as `AggregateRule` counts it, in floats and for every group. No guarantee asks for it: a group of k in which one member
is a thousand times larger than the others is k-anonymous, and its mean times k is that member's curve. So the publisher
is warned. The figure stays with them: with the published mean it would give the member's total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.guarantees.aggregate_rule import aggregates_of, rounding_of, why_no_means
from shoal.guarantees.spread_aggregates import CLOSE
from shoal.model import Candidate, Profiles

HALF = 0.5
"""More than all the others together."""

NEARLY_ALL = 0.9
"""In a group of two, one always has half."""

_FIGURES = ("groups", "dominated", "largest_share")


@dataclass(frozen=True)
class Dominance:
    """Groups whose mean is mostly one subject's.

    Parameters
    ----------
    n_groups
        Number of groups examined.
    n_dominated
        In how many of them one subject has more than half of the total and more than twice an equal share; in groups of
        two, more than 90 %.
    largest
        The largest share of one subject in a group's total.
    """

    n_groups: int
    n_dominated: int
    largest: float

    def as_dict(self) -> dict[str, int | float]:
        """For the publisher's files and programs, the share in two digits."""
        return dict(zip(_FIGURES, (self.n_groups, self.n_dominated, float(f"{self.largest:.2g}")), strict=True))

    @staticmethod
    def from_dict(found: Any) -> Dominance | None:
        """What `as_dict` gave; None for anything else."""
        figures: list[Any] = [found.get(name) for name in _FIGURES] if isinstance(found, Mapping) else [None]
        if not all(isinstance(figure, int | float) and 0 <= figure < 1e15 for figure in figures):
            return None
        groups, dominated, largest = figures
        return Dominance(int(groups), int(dominated), float(largest))

    @property
    def warning(self) -> str:
        """What the publisher must know; empty if no group is dominated."""
        if not self.n_dominated:
            return ""
        share = "more than 99 %" if self.largest > 0.99 else f"about {100 * self.largest:.0f} %"
        where = f"{self.n_dominated:,} of {self.n_groups:,} groups"
        return (
            f"In {where} the mean is mostly one subject's: the largest share of a group's total is {share}. "
            "Multiplied by the size of the group, the mean follows that subject's curve. See whether it has another "
            "unit (shoal look), leave it out, or require an aggregate rule."
        )


def find_dominance(candidate: Candidate) -> Dominance | None:
    """The groups of a candidate that publishes means of whole series; None if it does not, or groups span shards."""
    if candidate.private.averaged is not None:
        return find_dominance(replace(candidate, private=candidate.private.averaged))
    if isinstance(candidate.published, Profiles):
        candidate = replace(candidate, published=_means_alone(candidate.published))
    if why_no_means(candidate) or candidate.private.spread is not None:
        return None
    original, within = candidate.private.original, rounding_of(candidate.recipe)
    subjects = original.subject_codes
    shape = (original.n_instants, original.n_channels)
    shares = []
    for members, values in aggregates_of(candidate):
        own, mean = original.values[members].reshape(-1, *shape), values.reshape(shape)
        told = ~np.isnan(own) & ~np.isnan(mean)
        own = np.where(told, own, 0.0)
        sizes = np.abs(own)
        means = own.sum(axis=0) / np.maximum(told.sum(axis=0), 1)
        if (np.abs(mean - means) > within + CLOSE * sizes.max(axis=0, initial=0.0)).any():
            return None  # a median, a trimmed mean or noise: nobody's share
        who = np.unique(subjects[members], return_inverse=True)[1].reshape(-1)
        parts = np.zeros((int(who.max(initial=0)) + 1, shape[1]))
        np.add.at(parts, who, sizes.sum(axis=1))
        total = parts.sum(axis=0)
        share = float(np.divide(parts.max(axis=0), total, out=np.zeros_like(total), where=total > 0).max(initial=0.0))
        shares.append((share, share > min(NEARLY_ALL, max(HALF, 2.0 / len(parts)))))
    return Dominance(len(shares), sum(large for _, large in shares), max((share for share, _ in shares), default=0.0))


def _means_alone(published: Profiles) -> Profiles:
    """Profiles, or scenarios, without bands, levels and all other figures: the mean is published next to them."""
    given = (published.times, published.channels, published.timezone, published.names)
    return Profiles(published.values[..., :1], published.counts, published.bands[:1], *given)


def merge_dominance(several: Sequence[Dominance | None]) -> Dominance | None:
    """Over disjoint shards, groups add up and the largest share is the largest of any; None if one is not known."""
    known = [one for one in several if one is not None]
    if len(known) < len(several) or not known:
        return None
    return Dominance(
        sum(one.n_groups for one in known), sum(one.n_dominated for one in known), max(one.largest for one in known)
    )
