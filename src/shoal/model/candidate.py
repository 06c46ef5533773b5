"""What a method proposes to publish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from shoal.model.attack import Attack
from shoal.model.envelopes import Envelopes
from shoal.model.guarantee import Guarantee
from shoal.model.html import html_table
from shoal.model.measure import Measure
from shoal.model.panel import Panel
from shoal.model.profiles import Profiles
from shoal.model.risk import Risk
from shoal.model.scenarios import Scenarios
from shoal.model.score import Score
from shoal.model.tally import Tally
from shoal.model.verdict import Verdict

Published = Panel | Profiles | Envelopes
"""The forms a release can have: values of each series, a row per group, or envelopes and patterns."""


@dataclass(frozen=True)
class Recipe:
    """How a candidate was made: with the secret parts, enough to make it again from the same input."""

    method: str
    parameters: dict[str, Any]
    figures: dict[str, Any] = field(default_factory=dict)
    """Counts that the method records, such as cells withheld; no values, no identities."""


@dataclass(frozen=True)
class Spread:
    """Profiles whose groups have members in several shards: each of these shards has the profiles, and the first one
    writes them."""

    first: int
    """The number of that shard."""
    is_first: bool


@dataclass(frozen=True, eq=False, repr=False)
class Private:
    """What the publisher keeps: the input and the method's own group labels. Never written with a release."""

    original: Panel
    groups: NDArray[np.int64]
    """The group of each series; (series, instants) if a method forms groups at each instant separately; -1 for a
    suppressed series."""
    curves: Panel | None = None
    """The curve that stands for each series, if the published form has another shape than the original."""
    rows: NDArray[np.int64] | None = None
    """Which original series are published, if some are suppressed; None means all."""
    stands_for: NDArray[np.int64] | None = None
    """The original that each published row stands for, if rows are not these series in order; -1 if fictive."""
    averaged: Private | None = None
    """For several steps, what the last one kept, with that step's own input as original. It is set if no earlier step
    put readings of one subject into another's series: then a group contains only the readings of its own members."""
    secrets: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that would help to undo the release, such as the seed of noise; never in the recipe."""
    shown: NDArray[np.int64] | None = None
    """A number for each original series, equal for those that analysts were shown alike; None if none were shown."""
    spread: Spread | None = None
    """Set if groups of profiles also have members in other shards; None means that all are here."""


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """The output of a method, not yet checked.

    Parameters
    ----------
    published
        What would be published, without identifiers. For a panel, rows are in the order of the original one, and
        subjects are bare numbers, present for the check and not for the release. Profiles are in the order of the group
        labels.
    guarantee
        What the method aims at.
    recipe
        Method and parameters.
    private
        The original panel and the group labels, kept separate.
    further
        What the method aims at beyond that.
    """

    published: Published
    guarantee: Guarantee
    recipe: Recipe
    private: Private
    further: tuple[Guarantee, ...] = ()

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Everything the method aims at; all of it must hold."""
        return (self.guarantee, *self.further)

    @property
    def values(self) -> NDArray[np.float64]:
        """The array that would be published, rows in the panel's order; for profiles, one row per group."""
        return self.published.values

    @property
    def has_profiles(self) -> bool:
        """Whether each group is published as one profile."""
        return isinstance(self.published, Profiles)

    @property
    def n_written(self) -> int:
        """How many series or profiles this candidate writes, without those that another shard writes."""
        spread = self.private.spread
        return len(self.published) if spread is None or spread.is_first else 0

    @property
    def has_scenarios(self) -> bool:
        """Whether each group is published as a distribution."""
        return isinstance(self.published, Scenarios)

    @property
    def has_envelopes(self) -> bool:
        """Whether series are published as ranges and shapes."""
        return isinstance(self.published, Envelopes)

    def judge(self, guarantee: Guarantee) -> Verdict:
        """The verdict on one guarantee."""
        return guarantee.check(self)

    @property
    def originals(self) -> Panel:
        """The original series that are published, in the order of the `curves`, at their instants.

        Readings that were withheld are missing: with them, a score or a mean of the originals next to the published
        values would reveal them.
        """
        original, rows, curves = self.private.original, self.private.rows, self.curves
        columns = np.isin(original.times, curves.times)
        if rows is not None or not columns.all():
            rows = np.arange(original.n_series) if rows is None else rows
            original = original.like(
                original.values[rows][:, columns], times=original.times[columns], subjects=original.subject_codes[rows]
            )
        same_cells = original.values.shape == curves.values.shape
        return original.without(np.isnan(curves.values)) if same_cells else original

    @property
    def attacked(self) -> tuple[Panel, NDArray[np.int64]]:
        """The originals behind the release, at all instants and without withheld readings; and their positions.

        Attacks are scored on these: none of their figures may depend on what the release does not show.
        """
        original, shown = self.private.original, self.originals
        rows = np.arange(original.n_series) if self.private.rows is None else self.private.rows
        columns = np.flatnonzero(np.isin(original.times, self.curves.times))
        withheld = np.zeros(original.values.shape, dtype=bool)
        withheld[np.ix_(rows, columns)] = np.isnan(shown.values)
        kept, there = original.without(withheld), self._there
        return (kept if len(there) == original.n_series else kept.take(there)), there

    @property
    def _there(self) -> NDArray[np.int64]:
        """Positions of the original series that are at least partly published."""
        original, shown = self.private.original, self.originals
        rows = np.arange(original.n_series) if self.private.rows is None else self.private.rows
        missing = np.isnan(shown.rows).all(axis=1)
        gone = rows[missing & ~np.isnan(original.rows[rows]).all(axis=1)]
        return np.setdiff1d(self.stands_for[self.stands_for >= 0], gone)

    @property
    def shows_everybody(self) -> bool:
        """Whether every original series and every reading contributes to what is published."""
        original = self.private.original
        return len(self._there) == original.n_series and self.originals.n_missing == original.n_missing

    @property
    def curves(self) -> Panel:
        """For each of the `originals`, the published curve that stands for it: what measures compare."""
        if self.private.curves is not None:
            return self.private.curves
        if isinstance(self.published, Panel):
            return self.published
        if isinstance(self.published, Envelopes):
            return Panel(
                self.published.middles,
                times=self.published.times,
                subjects=self.published.subject_codes,
                channels=self.private.original.channels,
                timezone=self.published.timezone,
            )
        means = self.published.values[self.private.groups][..., 0]
        return Panel(
            means.reshape(self.private.original.values.shape),
            times=self.published.times,
            subjects=self.private.original.subject_codes,
            channels=self.published.channels,
            timezone=self.published.timezone,
        )

    @property
    def stands_for(self) -> NDArray[np.int64]:
        """Which original each published row stands for, -1 for a fictive one: the ground truth for scoring attacks.

        For profiles and envelopes, it refers to the `curves`.
        """
        private = self.private
        if private.stands_for is not None:
            return private.stands_for
        return np.arange(private.original.n_series) if private.rows is None else private.rows

    def check(self) -> Verdict:
        """Judge every guarantee on the published values: the first that does not hold, else the one aimed at first."""
        verdict = self.guarantee.check(self)
        others = (guarantee.check(self) for guarantee in self.further)
        return next((found for found in others if not found.holds), verdict) if verdict.holds else verdict

    def behind(
        self, targets: NDArray[np.int64] | None = None
    ) -> tuple[Panel, Published, dict[str, Any], NDArray[np.int64]]:
        """What an attack receives: the originals behind the release, what is published, which original each row stands
        for, the targets, and the former positions of the originals.

        An adversary who has a profile and its count also has that many curves like it.
        """
        original, there = self.attacked
        place = np.full(self.private.original.n_series + 1, -1)  # the last one is for fictive rows, -1
        place[there] = np.arange(len(there))
        further: dict[str, Any] = {"rows": place[self.stands_for]}
        if targets is not None:
            further["targets"] = place[targets][place[targets] >= 0]
        if isinstance(self.published, Profiles):
            del further["rows"]
            return original, self.curves.take(there), further, there
        return original, self.published, further, there

    def sides(self, measure: Measure) -> tuple[Panel, Published, dict[str, Any]]:
        """What a measure compares: for envelopes what is published, for scenarios the distribution of a series' group,
        else the curves that stand for the originals."""
        if measure.judges == "scenarios" and isinstance(self.published, Scenarios):
            return self.originals, self.published.take(self.private.groups), {}
        if measure.judges != "envelopes":
            return self.originals, self.curves, {}
        if measure.takes_rows and self.private.rows is not None:
            original, published, further, _ = self.behind()
            return original, published, further
        return self.originals, self.published, {}

    def tally(self, measure: Measure) -> Tally:
        """What a measure counts, to be added to the tallies of other shards."""
        original, published, further = self.sides(measure)
        return measure.tally(original, published, **further)

    def measure(self, measure: Measure) -> Score:
        """The score of a measure."""
        original, published, further = self.sides(measure)
        return measure.measure(original, published, **further)

    def meaning_of(self, one: Measure | Attack[Any]) -> str:
        """What the figure of a measure or an attack means."""
        return one.meaning

    def find(self, attack: Attack[Any], targets: NDArray[np.int64] | None = None, *, first: int = 0) -> Any:
        """An attack's findings about each target, by position; `first` is the number of originals in earlier shards."""
        original, published, further, there = self.behind(targets)
        return attack.find(original, published, first=first, **further, **self._distributions(attack, there))

    def attack(self, attack: Attack[Any], targets: NDArray[np.int64] | None = None) -> Risk:
        """What an attack achieves, on some of the original series by position or on all."""
        original, published, further, there = self.behind(targets)
        if not attack.draws_targets:
            further.pop("targets", None)
        elif "targets" in further:
            further["targets"] = attack.draw(further["targets"])
        risk: Risk = attack.attack(original, published, **further, **self._distributions(attack, there))
        n_series = self.private.original.n_series
        if len(there) == n_series:
            return risk
        # Positions and counts refer to the panel as it was read.
        counts: dict[str, Any] = {
            name: n_series - len(there) for name in ("n_left_out", "n_suppressed") if hasattr(risk, name)
        }
        return replace(risk, worst=tuple(int(there[row]) for row in risk.worst), **counts)

    def _distributions(self, attack: Attack[Any], there: NDArray[np.int64]) -> dict[str, Any]:
        """The distribution of each curve's group, if there are any and the attack sees them."""
        if not attack.sees_scenarios or not isinstance(self.published, Scenarios):
            return {}
        return {"scenarios": self.published.take(self.private.groups[there])}

    def __repr__(self) -> str:
        return f"Candidate({self.recipe.method}, {self.published!r})"

    def _repr_html_(self) -> str:
        given = ", ".join(f"{name} = {value}" for name, value in self.recipe.parameters.items() if value is not None)
        rows = [
            ("method", f"{self.recipe.method} ({given})" if given else self.recipe.method),
            *(("aims at", guarantee.statement) for guarantee in self.guarantees),
            ("would publish", repr(self.published)),
            ("checked", "not yet: candidate.check()"),
        ]
        return html_table("Candidate", rows)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Rows of a candidate are in the order of the originals: a frame of them would reveal who is who.
            if name in ("to_pandas", "to_polars", "to_arrow", "to_numpy", "to_xarray", "plot", "publish"):
                raise AttributeError(
                    f"A Candidate has no {name}: it is not checked, and its rows are in the order of the originals. "
                    "shoal.anonymize(data, method=...) returns a Result, which has it.",
                    name=name,
                    obj=self,
                )
            raise AttributeError(f"'Candidate' object has no attribute {name!r}", name=name, obj=self)
