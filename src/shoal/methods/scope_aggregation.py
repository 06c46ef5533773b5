"""Publish totals or means over groups of subjects that keep the 15/15 rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from shoal.errors import ParameterError
from shoal.guarantees import AggregateRule, KAnonymity
from shoal.kernels.arrays import Floats, Ints
from shoal.kernels.group_means import group_means
from shoal.methods.aggregates import groups_of
from shoal.methods.altered import public_parameters, secret_parameters, shaped
from shoal.methods.randomness import stream
from shoal.methods.scopes import Scopes, keep_the_rule
from shoal.methods.spread_scopes import SpreadScope, find_spread
from shoal.methods.strata import strata_of
from shoal.model import (
    Candidate,
    Method,
    Panel,
    PanelShards,
    Private,
    Profiles,
    Progress,
    Recipe,
    ShardPlan,
    Spread,
    Strata,
)
from shoal.model.parameters import check_choice, check_whole

Figure = Literal["mean", "total"]
Otherwise = Literal["merge", "withhold"]


@dataclass(frozen=True, kw_only=True)
class ScopeAggregation(Method):
    """Publish the mean, and optionally the total, of each group of at least `size` subjects, none of them dominant.

    Groups are the entries of an attribute, or drawn at random. A group keeps the rule if it has at least `size`
    subjects and none has more than `share` of its total over the whole period, in any channel, in absolute values. A
    group that breaks it is merged with the smallest other one until the rule is kept, or withheld. A subject with more
    than that share of everything fits in no group and is withheld first. The recipe counts all of this.

    Aims at AggregateRule(size, share), which only the publisher can check, and at KAnonymity(size), which anyone can:
    every published row counts at least `size` subjects. Group by something that is public anyway, such as an area:
    members who pool what they know learn the rest.

    Missing readings: a mean covers observed readings, and is missing if they belong to fewer than `size` subjects; a
    total is missing if any reading is. If a subject has several series, each counts in the mean.

    Parameters
    ----------
    size
        Smallest number of subjects in a group.
    share
        Largest share of a group's total that one subject may have; at least 1 / size.
    figure
        "mean", or "total" for both: the total next to the mean of the same group says nothing new.
    within
        The attribute whose entries are the groups, such as an area or a tariff. Default: random groups of `size`.
    otherwise
        What happens to a group that breaks the rule: "merge" or "withhold".
    seed
        Only without `within`: seeds the random numbers, together with the readings.

    Examples
    --------
    >>> panel = Panel([[1.0], [2.0], [3.0], [6.0], [5.0], [4.0]], attributes={"area": list("aaabbb")})
    >>> candidate = ScopeAggregation(size=3, share=0.5, figure="total", within="area").anonymize(panel)
    >>> candidate.values[:, 0, 0].tolist()
    [[2.0, 6.0], [5.0, 15.0]]
    >>> candidate.check().holds
    True

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 (scope, aggregation function). California Public
    Utilities Commission, decision 14-05-016, 2014.
    """

    name: ClassVar[str] = "scope-aggregation"
    publishes_groups: ClassVar[bool] = True
    keeps_equal: ClassVar[bool] = True

    size: int = 15
    share: float = 0.15
    figure: Figure = "mean"
    within: str | None = None
    otherwise: Otherwise = "merge"
    seed: int = 0

    def __post_init__(self) -> None:
        AggregateRule(self.size, self.share)  # refuses the impossible with its own message
        if self.share * self.size < 1.0:
            raise ParameterError(
                f"share={self.share:g} is below 1/size: of {self.size} subjects one has at least "
                f"{1 / self.size:.3g} of the total. Raise share or size."
            )
        check_choice("figure", self.figure, Figure)
        check_choice("otherwise", self.otherwise, Otherwise)
        check_whole("seed", self.seed, 0)

    @property
    def aims_at(self) -> AggregateRule:
        """The guarantee a candidate of this method is checked against."""
        return AggregateRule(int(self.size), float(self.share))

    @property
    def shard_plan(self) -> ShardPlan:
        """At least three groups, and all subjects of a scope in one shard where they fit."""
        within = () if self.within is None else (Strata((self.within,), whole=True),)
        return ShardPlan(least=3 * int(self.size), within=within)

    def prepare(self, panel: PanelShards) -> Self:
        """A scope that is too large for one shard gets its figures from all that have a part of it."""
        if self.within is None:
            return self
        return self.knowing(_spread=find_spread(panel, int(self.size), float(self.share)))

    def of_shard(self, number: int) -> Self:
        """With the figures of the scope that this shard has a part of."""
        spread: SpreadScope | None = getattr(self, "_spread", {}).get(number)
        return self if spread is None else self.knowing(_part=(number, spread))

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Form the groups, repair those that break the rule, publish their figures."""
        if (part := getattr(self, "_part", None)) is not None:
            return self._anonymize_part(panel, *part)
        if panel.n_subjects < self.size:
            raise ParameterError(
                f"size={self.size} needs at least {self.size} subjects, the panel has {panel.n_subjects}. "
                "Lower size or read more series."
            )
        scopes = keep_the_rule(panel, self._groups(panel), int(self.size), float(self.share), self.otherwise)
        if not (scopes.labels >= 0).any():
            raise ParameterError(
                f"No group keeps the rule of at least {self.size} subjects, none with more than {self.share:g} of the "
                f"total; the panel has {panel.n_subjects} subjects. Lower size, raise share, or use otherwise='merge'."
            )
        means, totals = self._figures(panel, scopes)
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        return self._candidate(panel, scopes, means, totals)

    def _anonymize_part(self, panel: Panel, number: int, scope: SpreadScope) -> Candidate:
        """Part of one scope, whose figures are known."""
        withheld = np.isin(panel.subject_codes, scope.withheld.get(number, ()))
        is_first = number == scope.first
        scopes = Scopes(
            labels=np.where(withheld, -1, 0),
            n_subjects=np.array([scope.n_subjects]),
            merged=0,
            withheld=0,
            too_large=len(scope.withheld.get(number, ())),
        )
        return self._candidate(panel, scopes, scope.means[None], scope.totals[None], Spread(scope.first, is_first))

    def _candidate(
        self, panel: Panel, scopes: Scopes, means: Floats, totals: Floats, spread: Spread | None = None
    ) -> Candidate:
        bands = ("mean", "total") if self.figure == "total" else ("mean",)
        values = np.stack([means, totals] if self.figure == "total" else [means], axis=-1)
        curves = np.full(panel.cube.shape, np.nan)
        kept = scopes.labels >= 0
        curves[kept] = means[scopes.labels[kept]]
        figures = scopes.figures(panel, means)
        if spread is not None and not spread.is_first:
            figures |= {"groups": 0, "cells_withheld": 0}  # counted where they are written
        return Candidate(
            published=Profiles.of(panel, values, scopes.n_subjects, bands),
            guarantee=self.aims_at,
            further=(KAnonymity(int(self.size)),),
            recipe=Recipe(self.name, public_parameters(self), figures),
            private=Private(
                original=panel,
                groups=scopes.labels,
                curves=shaped(panel, curves),
                secrets=secret_parameters(self),
                spread=spread,
            ),
        )

    def _groups(self, panel: Panel) -> Ints:
        """The group of each series before the rule is applied."""
        labels = np.empty(panel.n_series, dtype=np.int64)
        if self.within is not None:
            for label, rows in enumerate(strata_of(panel, (self.within,), 1, merge_small=False)):
                labels[rows] = label
            return labels
        order = stream(panel, int(self.seed), self.name).permutation(panel.n_subjects)
        # The last group takes what is left over.
        of_subject = np.minimum(np.arange(panel.n_subjects) // int(self.size), panel.n_subjects // int(self.size) - 1)
        places = np.empty(panel.n_subjects, dtype=np.int64)
        places[order] = of_subject
        return places[panel.subject_codes]

    def _figures(self, panel: Panel, scopes: Scopes) -> tuple[Floats, Floats]:
        """Mean and total of every group, as (groups, instants, channels)."""
        kept = np.flatnonzero(scopes.labels >= 0)
        labels = scopes.labels[kept]
        subjects = np.unique(panel.subject_codes[kept], return_inverse=True)[1].reshape(-1)
        rows = np.ascontiguousarray(panel.rows[kept])
        by_row = group_means(rows, labels, subjects, int(self.size))
        members = list(groups_of(labels))
        shape = (len(members), panel.n_instants, panel.n_channels)
        means = np.stack([by_row[of[0]] for of in members])
        totals = np.stack([rows[of].sum(axis=0) for of in members])  # missing where a reading is
        totals[np.isnan(means)] = np.nan
        return means.reshape(shape), totals.reshape(shape)
