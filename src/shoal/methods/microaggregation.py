"""Publish the mean of a small crowd in place of each of its members."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.guarantees import KAnonymity
from shoal.kernels.group_means import group_means
from shoal.kernels.mdav import mdav_groups
from shoal.methods.watch import Progress, watched
from shoal.model import Candidate, Panel, Private, Recipe

Algorithm = Literal["mdav"]


@dataclass(frozen=True, kw_only=True)
class Microaggregation:
    """Replace every series by the mean of at least `k` similar ones.

    Groups are formed on the raw values by MDAV-generic: the series farthest from the mean and its k - 1 nearest, then
    the series farthest from that one and its k - 1 nearest, until fewer than 2k are left. Every member of a group is
    published as the group's mean. Aims at KAnonymity(k), counted in subjects. Cost O(n^2 / k) distances. Destroys
    individual peaks.

    Missing values: distances are taken over the instants both series have and scaled to all; the mean at an instant
    is over the members observed there, and is itself missing where they are fewer than k subjects. A subject with
    several series joins a group with one of them, its nearest, except in the last group, which takes all that is
    left.

    Parameters
    ----------
    k
        Smallest group. Larger hides better and blurs more.
    algorithm
        How groups are formed: "mdav".

    Examples
    --------
    >>> candidate = Microaggregation(k=2).anonymize(Panel([[1.0], [2.0], [10.0], [12.0]]))
    >>> candidate.values.ravel().tolist()
    [1.5, 1.5, 11.0, 11.0]
    >>> candidate.check().holds
    True

    References
    ----------
    J. Domingo-Ferrer and V. Torra, "Ordinal, continuous and heterogeneous k-anonymity through microaggregation", 2005.
    "Data-driven anonymization process applied to time series", Algorithm 1.
    """

    name: ClassVar[str] = "microaggregation"

    k: int
    algorithm: Algorithm = "mdav"

    def __post_init__(self) -> None:
        KAnonymity(self.k)  # refuses an impossible k with its own words
        if self.algorithm not in get_args(Algorithm):
            raise ParameterError(f"algorithm must be one of: {', '.join(get_args(Algorithm))}.")

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same method again."""
        return asdict(self) | {"k": int(self.k)}

    @property
    def aims_at(self) -> KAnonymity:
        """The guarantee a candidate of this method is checked against."""
        return KAnonymity(self.k)

    def anonymize(self, panel: Panel, *, progress: Progress | None = None) -> Candidate:
        """Form the groups and publish their means."""
        if panel.n_subjects < self.k:
            raise ParameterError(
                f"k={self.k} needs at least {self.k} subjects, the panel has {panel.n_subjects}. "
                "Lower k or read more series."
            )
        groups = watched(
            lambda done: mdav_groups(panel.rows, panel.subject_codes, self.k, done), panel.n_series, progress
        )
        means = group_means(panel.rows, groups, panel.subject_codes, self.k)
        missing_before, missing_after = np.isnan(panel.rows), np.isnan(means)
        figures = {
            "cells_withheld": int((missing_after & ~missing_before).sum()),
            "gaps_covered": int((missing_before & ~missing_after).sum()),
        }
        published = Panel(
            means.reshape(panel.values.shape),
            times=panel.times,
            subjects=panel.subject_codes,
            channels=panel.channels,
            timezone=panel.timezone,
        )
        return Candidate(
            published=published,
            guarantee=self.aims_at,
            recipe=Recipe(self.name, self.parameters, figures),
            private=Private(original=panel, groups=groups),
        )
