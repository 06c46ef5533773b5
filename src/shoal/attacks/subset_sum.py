"""Finding the members of a published mean: which of the known totals sum to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, find_classes, find_ground, need_panel, need_targets
from shoal.attacks.links import N_WORST
from shoal.attacks.sentences import SUMMED, Summed
from shoal.attacks.subsets import Found, find_members
from shoal.attacks.totals import Step, check_step, find_steps, step_words, sum_steps
from shoal.attacks.words import check_amount
from shoal.errors import ParameterError
from shoal.model import Findings, Interval, Panel, Risk
from shoal.model.attack import draw_targets
from shoal.model.parameters import check_whole
from shoal.model.sentence import said

MOST_SETS = 4  # sets that fit alike and are counted
MOST_CONTROLS = 5


@dataclass(frozen=True)
class SubsetRisk(Risk):
    """What the subset-sum problem reveals.

    `success` is the chance that a member of an attacked mean is identified. Members of one mean are found together, so
    the interval is Wilson's over means, not over members. The baseline picks as many members at random. The control
    removes the true members from what the adversary holds: the share of means for which it would still find a set.

    Parameters
    ----------
    n_means
        How many published means were attacked.
    recovered
        The share of means whose exact members were found, and no other set.
    n_open
        Means for which the program or the search did not settle whether there are other sets.
    n_searched
        Means that were searched instead of solved.
    n_withheld
        Means that were not attacked, as no value of theirs is published.
    """

    n_means: int = 0
    recovered: float = 0.0
    n_open: int = 0
    n_searched: int = 0
    n_withheld: int = 0


@dataclass(frozen=True)
class SubsetSum(SeriesAttack[SubsetRisk]):
    """The chance of identifying who is behind a published mean, by solving which known totals sum to it.

    The adversary holds the totals A[i] of every original, per step. Rows that are published alike are one mean L of s
    members, which shows s. It looks for the s originals whose totals sum to s L:

        find p in {0, 1}^n with sum(p) = s and |sum_i p[i] A[i] - s L| within `tolerance`

    by integer program (HiGHS), and if there are too many candidates, or time runs out, by exchanging members of a
    likely set. If several sets fit, each counts for its share. A mean with gaps is attacked by its published values
    alone: totals cover the same instants, and a missing reading counts as the mean, as it does in a mean over those who
    have one. This reveals that someone is in a group, and so the group's mean for them; it does not single out a curve,
    which is what `KnownTotals` attacks.

    A little noise on the published values defeats the exact problem. It does not defeat an adversary who takes the
    nearest sum (`exact=False`) as long as there are many steps: the documentation says how much noise does.

    Parameters
    ----------
    step
        The step that totals cover: "hour", "day", "week", "month", "all" or a number of instants.
    exact
        Whether sums must fit within `tolerance`. False takes the set with the least sum of absolute differences,
        without knowing whether it is right.
    tolerance
        How far each sum may be off, as a share of the mean sum.
    largest
        Candidates up to which the integer program is used.
    time_limit
        Seconds for the program of one mean.
    n_means
        Attack this many of the published means, drawn at random; None for all. Candidates are never sampled.
    seed
        Draws the means, and the starting points of a search.

    Examples
    --------
    >>> original = Panel([[1.0, 9.0], [2.0, 5.0], [4.0, 4.0], [7.0, 1.0]])
    >>> means = Panel([[1.5, 7.0], [1.5, 7.0], [5.5, 2.5], [5.5, 2.5]])
    >>> SubsetSum(step=1).attack(original, means).success
    1.0
    >>> SubsetSum(step=1).attack(original, Panel(means.values + 0.01)).success
    0.0

    References
    ----------
    "Data-driven anonymization process applied to time series", section 5.2.
    """

    name: ClassVar[str] = "subset-sum"
    meaning: ClassVar[str] = "chance of identifying the members of a published mean by their totals"
    called: ClassVar[str] = "totals of all who may be in a group"
    against: ClassVar[str] = "values"
    usual: ClassVar[Mapping[str, Any]] = {"n_means": 4, "time_limit": 0.5}
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    control: ClassVar[str] = "of the means would get members all the same, were the true ones not known"

    step: Step = "day"
    exact: bool = True
    tolerance: float = 1e-6
    largest: int = 400
    time_limit: float = 10.0
    n_means: int | None = 20
    seed: int = 0

    def __post_init__(self) -> None:
        check_step(self.step)
        check_amount("tolerance", self.tolerance)
        check_whole("largest", self.largest, 0)
        check_amount("time_limit", self.time_limit)
        if self.n_means is not None:
            check_whole("n_means", self.n_means, 1)
        check_whole("seed", self.seed, 0)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        words = step_words(self.step)
        return f"{words[0].upper()}{words[1:]}, of everyone who may be in the release."

    def look(self, original: Panel, published: Panel, truth: Truth) -> SubsetFindings:
        """The sets that sum to published means with a target among their members, for `n_means` of them."""
        need_targets(truth.targets)
        known, means, classes, starts = self._problem(original, published)
        wanted = np.unique(classes[np.isin(truth.rows, truth.targets)])
        shown = wanted[~np.isnan(means[wanted]).all(axis=(1, 2))]
        if not len(shown):
            raise ParameterError(
                "SubsetSum needs means with published values, and all of them are missing. Read the panel with "
                "`missing` set to 'drop-series' or 'interpolate:2h'."
            )
        asked = [(means[j], np.flatnonzero(classes == j)) for j in draw_targets(shown, self.n_means, self.seed)]
        found = tuple(self._solve(known, mean, len(members), starts) for mean, members in asked)
        true = tuple(truth.rows[members] for _, members in asked)
        controls = tuple(
            bool(self._solve(np.delete(known, members[members >= 0], axis=0), mean, len(rows), starts).sets)
            for (mean, rows), members in list(zip(asked, true, strict=True))[:MOST_CONTROLS]
            if self.exact and len(known) - len(rows) >= len(rows)
        )
        gaps = bool(np.isnan(known).any() or np.isnan(means).any())
        return SubsetFindings(found, true, controls, len(known), gaps, len(wanted) - len(shown))

    def members(self, original: Panel, published: Panel, position: int) -> tuple[tuple[int, ...], ...]:
        """The sets of originals, by position, that fit the mean published at a position."""
        need_panel("SubsetSum", published)
        known, means, classes, starts = self._problem(original, published)
        same = classes == classes[position]
        found = self._solve(known, means[classes[position]], int(same.sum()), starts)
        return tuple(tuple(sorted(members)) for members in found.sets)

    def _problem(self, original: Panel, published: Panel) -> tuple[Floats, Floats, Rows, Rows]:
        """Originals, the different published rows, which of these each published row is, and where steps begin."""
        ground = find_ground("SubsetSum", original, published)
        _, classes = find_classes(ground.published.reshape(len(ground.published), -1))
        first = np.unique(classes, return_index=True)[1]
        return ground.original, ground.published[first], classes, find_steps(ground.times, self.step)

    def _solve(self, known: Floats, mean: Floats, size: int, starts: Rows) -> Found:
        shown = ~np.isnan(mean)
        if not shown.any():
            return Found((), False, False)
        steps = sum_steps(shown[None].astype(np.float64), starts)[0] > 0.0
        filled = np.where(shown, np.where(np.isnan(known), mean, known), 0.0)
        return find_members(
            sum_steps(filled, starts)[:, steps],
            size * sum_steps(np.where(shown, mean, 0.0)[None], starts)[0, steps],
            size,
            exact=self.exact,
            tolerance=float(self.tolerance),
            most=MOST_SETS,
            largest=int(self.largest),
            seconds=float(self.time_limit),
            seed=int(self.seed),
        )

    def risk(self, findings: SubsetFindings) -> SubsetRisk:
        """The chance that a member of an attacked mean is identified."""
        found, true, controls = findings.found, findings.true, findings.controls
        chances = [_chances(sets.sets, members) for sets, members in zip(found, true, strict=True)]
        real = [members >= 0 for members in true]
        targets = np.concatenate([members[keep] for members, keep in zip(true, real, strict=True)])
        chance = np.concatenate([part[keep] for part, keep in zip(chances, real, strict=True)])
        n_sets = np.repeat([len(sets.sets) for sets in found], [int(keep.sum()) for keep in real])
        guess = float(np.concatenate([np.full(int(k.sum()), len(k) / findings.n_candidates) for k in real]).mean())
        success, n = float(chance.mean()), len(found)
        interval = Interval.wilson(success, n)
        very = [
            len(sets.sets) == 1 and sets.sets[0] == frozenset(members.tolist())
            for sets, members in zip(found, true, strict=True)
        ]
        n_open = sum(not sets.complete for sets in found)
        summed = Summed(
            holds=step_words(self.step),
            n=n,
            success=success,
            interval=interval,
            recovered=float(np.mean(very)),
            guess=guess,
            n_open=n_open,
            gaps=findings.gaps,
            n_withheld=findings.n_withheld,
        )
        return SubsetRisk(
            success=success,
            interval=interval,
            baseline=guess,
            baseline_interval=Interval.exactly(guess),
            n_targets=len(targets),
            worst=tuple(int(t) for t in targets[np.argsort(-chance, kind="stable")[:N_WORST]]),
            # Answers with as many sets look alike to the adversary.
            prosecutor=max(float(chance[n_sets == size].mean()) for size in np.unique(n_sets)),
            control=float(np.mean(controls)) if controls else None,
            control_interval=Interval.wilson(float(np.mean(controls)), len(controls)) if controls else None,
            confidence=float(np.divide(1.0, n_sets, out=np.zeros(len(n_sets)), where=n_sets > 0).mean()),
            sentence=" ".join(said(SUMMED, summed)),
            n_means=n,
            recovered=float(np.mean(very)),
            n_open=n_open,
            n_searched=sum(sets.searched for sets in found),
            n_withheld=findings.n_withheld,
        )


@dataclass(frozen=True, eq=False, repr=False)
class SubsetFindings(Findings):
    """What was found for each attacked mean. With more candidates more sets may fit."""

    found: tuple[Found, ...]
    true: tuple[Rows, ...]
    """Positions of the originals behind it, -1 for fictive ones."""
    controls: tuple[bool, ...]
    """For the first few, whether sets fit without the true members."""
    n_candidates: int
    gaps: bool
    """Whether readings or published values are missing."""
    n_withheld: int
    """Means of which no value is published."""


def _chances(sets: tuple[frozenset[int], ...], members: Rows) -> NDArray[np.float64]:
    """For each member, the share of the sets that contain it."""
    if not sets:
        return np.zeros(len(members))
    return np.array([sum(int(m) in found for found in sets) / len(sets) for m in members])
