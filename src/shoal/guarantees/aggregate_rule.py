"""The 15/15 rule of utilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.guarantees.crowds import published_classes
from shoal.guarantees.numbers import refuse_unless_whole
from shoal.guarantees.spread_aggregates import AggregatePart, PartVerdict, conclude, part_of
from shoal.model import Candidate, Envelopes, Guarantee, Judged, Panel, Profiles, Recipe, Verdict

NOT_MEANS = (
    "it cannot be judged: published values are not the means of their members' readings, so whose readings are inside "
    "is not known; publish aggregate='mean', and exchange nothing between subjects before"
)
OTHER_ROWS = (
    "it cannot be judged: published rows are not the original series one by one at their instants; aggregate last"
)

ELSEWHERE = "it cannot be judged: some members of the published aggregates are in other shards"
TOO_FEW = "an aggregate has too few subjects"
TOO_LARGE = "one subject has too large a share of an aggregate"
LARGEST = "largest share of one subject, at most"

RULES: Mapping[str, tuple[int, float]] = MappingProxyType(
    {"15/15": (15, 0.15), "6/40": (6, 0.40), "10": (10, 1.0), "4/80": (4, 0.80), "100": (100, 1.0)}
)
"""Rules by the names regulators use: the fewest subjects, and the largest share of one. docs/guarantees.md says where
each comes from."""


@dataclass(frozen=True)
class AggregateRule(Guarantee):
    """Each published aggregate has at least `size` subjects, none with more than `share` of its total.

    Series published exactly alike, and kept together by the method, form one aggregate; so does a group profile. Every
    published value of it must be the mean of its members' readings at that instant, or that mean rounded: only then are
    these the readings inside. A median or a trimmed mean may be one member's reading, a band is a mean over a part of
    the group, and readings that were exchanged before belong to others; in these cases the rule cannot be judged, and
    does not hold. If earlier steps changed each series by itself, such as time-aggregation or noise, their output
    counts as the readings.

    At least `size` subjects must have a reading in every published value. For each channel, a subject's part is the sum
    of the absolute readings of its series in the aggregate; missing counts as nothing, and if the total is zero nobody
    has a share.

    A disjoint union of subjects keeps it: every aggregate is judged by its own members alone, and those of two parts
    stay two, by the method's labels, even if their means are the same by chance. An aggregate whose members are in
    several shards is judged from what all of these add to it.

    Only the publisher can check it, because it needs the originals; given a bare panel it does not hold, and says why.

    Parameters
    ----------
    size
        Smallest number of different subjects.
    share
        Largest part of the total any one subject may have.
    per
        "period" takes the total over all instants of the release, as the rule is used in practice; at a single instant
        one subject may have more than `share`. "instant" asks it of every single published value, which is far
        stricter.

    Examples
    --------
    >>> AggregateRule(size=15, share=0.15).statement
    'Each published aggregate covers at least 15 subjects, none with more than 15 % of its total.'

    References
    ----------
    California Public Utilities Commission, decision 14-05-016, 2014.
    """

    name: ClassVar[str] = "aggregate-rule"
    needs_originals: ClassVar[bool] = True  # shares cannot be seen in the release
    rules: ClassVar[Mapping[str, tuple[int, float]]] = RULES
    """By name, what `named` makes."""

    size: int = 15
    share: float = 0.15
    per: Literal["period", "instant"] = "period"

    @classmethod
    def named(cls, rule: str) -> Self:
        """A rule that regulators use, by its name.

        Examples
        --------
        >>> AggregateRule.named("6/40")
        AggregateRule(size=6, share=0.4, per='period')
        """
        if rule not in RULES:
            raise ParameterError(f"rule must be one of {', '.join(RULES)}; for another rule, give size and share.")
        size, share = RULES[rule]
        return cls(size=size, share=share)

    def __post_init__(self) -> None:
        refuse_unless_whole("size", self.size, 2, "an aggregate of one is that one.")
        if not 0.0 < self.share <= 1.0:
            raise ParameterError("share must be above 0 and at most 1.")
        if self.per not in ("period", "instant"):
            raise ParameterError("per must be 'period' or 'instant'.")

    @property
    def crowds(self) -> tuple[int, int]:
        """The smallest number of subjects in a group, and for what is alike inside one."""
        return int(self.size), int(self.size)

    @property
    def statement(self) -> str:
        """The promise in one plain sentence."""
        when = " at any instant" if self.per == "instant" else ""
        return (
            f"Each published aggregate covers at least {self.size} subjects, "
            f"none with more than {100 * self.share:g} % of its total{when}."
        )

    def check(self, published: Judged) -> Verdict:
        """Judge the aggregates found in the published values; the witness is a series of the worst one."""
        if not isinstance(published, Candidate):
            return self._unknown("the rule needs the original series, which only the publisher has")
        if published.private.averaged is not None:
            # Positions in what the last step was given are not those of the originals.
            inner = replace(published, private=published.private.averaged)
            return replace(self.check(inner), witness=None)
        if why := why_no_means(published):
            return self._unknown(why)
        within = rounding_of(published.recipe)
        if published.private.spread is not None:
            return self._part(published, published.private.spread.first, within)
        # The smallest first: among several that cannot be judged, it is the witness.
        aggregates = sorted(aggregates_of(published), key=lambda aggregate: len(aggregate[0]))
        verdicts = [self._judge(published.private.original, *aggregate, within) for aggregate in aggregates]
        return verdicts[self.weakest(verdicts)]

    def _part(self, candidate: Candidate, first: int, within: float) -> Verdict:
        """What this shard knows about aggregates whose other members are elsewhere."""
        by_instant = self.per == "instant"
        parts = tuple(
            part_of((first, label), candidate.private.original, members, values, by_instant=by_instant)
            for label, (members, values) in enumerate(aggregates_of(candidate))
        )
        return PartVerdict("not judged", None, int(self.size), note=ELSEWHERE, parts=parts, within=within)

    def merge(self, verdicts: Sequence[Verdict]) -> Verdict:
        """The verdict on the union of shards; aggregates that are spread over several are judged from all of these."""
        known: dict[tuple[int, int], list[AggregatePart]] = {}
        for verdict in verdicts:
            for part in verdict.parts if isinstance(verdict, PartVerdict) else ():
                known.setdefault(part.of, []).append(part)

        def concluded(verdict: Verdict) -> Verdict:
            if not isinstance(verdict, PartVerdict):
                return verdict
            found = [self._concluded(known[part.of], verdict.within) for part in verdict.parts]
            return found[self.weakest(found)]

        return super().merge([concluded(verdict) for verdict in verdicts])

    def _concluded(self, parts: Sequence[AggregatePart], within: float) -> Verdict:
        wrong, figure = conclude(parts, int(self.size), float(self.share), within)
        if wrong == "means":
            return self._unknown(NOT_MEANS)
        if wrong == "size":
            return Verdict("does not hold", int(figure), int(self.size), note=TOO_FEW)
        if wrong == "share":
            return Verdict("does not hold", figure, float(self.share), note=TOO_LARGE)
        return Verdict("holds", figure, float(self.share), note=LARGEST)

    def _judge(
        self, original: Panel, members: NDArray[np.int64], values: NDArray[np.float64], within: float
    ) -> Verdict:
        """The verdict on one aggregate with all its members."""
        if not len(members):
            return self._unknown(NOT_MEANS)
        part = part_of((0, 0), original, members, values, by_instant=self.per == "instant")
        found = self._concluded([part], within)
        return found if found.holds else replace(found, witness=int(members[0]))

    def _weakness(self, verdict: Verdict) -> tuple[float, ...]:
        """Numbers of subjects come first, and fewer is worse; for shares, larger is worse."""
        if verdict.measured is None:
            return ()
        return (0, verdict.measured) if verdict.required == self.size else (1, -verdict.measured)

    def _unknown(self, why: str, witness: int | None = None) -> Verdict:
        return Verdict("not judged", measured=None, required=int(self.size), witness=witness, note=why)


def why_no_means(candidate: Candidate) -> str:
    """Why what is published cannot be means over groups of whole series; empty if it may be."""
    if candidate.private.groups.ndim > 1:
        return "groups differ from instant to instant, so that no aggregate lasts a period"
    if isinstance(candidate.published, Envelopes):
        return "the ends of an envelope are single members' values, not aggregates"
    if _has_bands(candidate):
        return "bands are means over a part of a group or pool; publish means alone under this rule"
    return "" if _row_by_row(candidate) else OTHER_ROWS


def _has_bands(candidate: Candidate) -> bool:
    published = candidate.published
    if isinstance(published, Profiles):
        # A total adds nothing to its mean and count.
        return bool(set(published.bands) - {"mean", "total"})
    return isinstance(published, Panel) and published.n_channels != candidate.private.original.n_channels


def _row_by_row(candidate: Candidate) -> bool:
    """Whether published rows are the original series one by one, at their instants, or whole groups of them."""
    private, published = candidate.private, candidate.published
    same_clock = np.array_equal(published.times, private.original.times)
    return same_clock and (isinstance(published, Profiles) or (private.rows is None and private.stands_for is None))


def aggregates_of(candidate: Candidate) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The rows behind each published aggregate, and its values: (instants) or (instants, channels).

    For series, those published exactly alike and not separated by the method itself: two groups may have the same mean
    by chance, and would look larger if merged.
    """
    published, groups = candidate.published, candidate.private.groups
    if isinstance(published, Profiles):
        means = published.values[..., 0].reshape(-1, *candidate.private.original.values.shape[1:])
        return [(np.flatnonzero(groups == label), means[label]) for label in range(published.n_groups)]
    assert isinstance(published, Panel)
    classes = published_classes(published)
    split = np.unique(groups, return_inverse=True)[1]
    labels = np.unique(classes * (int(split.max()) + 1) + split, return_inverse=True)[1]
    parts = np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels))[:-1])
    return [(members, published.values[members[0]]) for members in parts]


def rounding_of(recipe: Recipe) -> float:
    """By how much a published mean may differ from the exact one, because the method was asked to round it."""
    steps = recipe.parameters.get("steps")
    asked = steps[-1] if isinstance(steps, list) and steps else recipe.parameters
    step = asked.get("round_to")
    if asked.get("aggregate") != "mean" or step in (None, "binary"):
        return 0.0
    return 0.5 if step == "whole" else float(step) / 2.0
