"""Comparing several releases of the same subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.attacks.ground import Floats, Rows, Truth, find_classes, find_ground, find_truth, need_panel, need_targets
from shoal.attacks.links import N_WORST, Links
from shoal.attacks.totals import Step, check_step, find_steps, step_words, sum_steps
from shoal.attacks.words import against_guessing, between, check_choice, check_targets, percent
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Attack, Findings, Interval, Panel, Risk


@dataclass(frozen=True)
class IntersectionRisk(Risk):
    """What several releases reveal together.

    `success` is the mean over targets of 1/m if the target is among the m subjects left, and 0 if it is not; the
    interval is Wilson's. The baseline picks a subject at random. The control is the best single release: what the
    intersection does not add. `prosecutor` is the largest mean over targets with equally few subjects left.

    Parameters
    ----------
    alone
        The same success with each release by itself.
    fewest
        The smallest number of subjects left to any target who is among them.
    """

    alone: tuple[float, ...] = ()
    fewest: int = 0


@dataclass(frozen=True)
class Intersection(Attack[IntersectionRisk]):
    """The chance of distinguishing a subject from others by combining several releases.

    In every release a target has candidates: the subjects whose published series cannot be distinguished from its own.
    The person behind the target's series must be a candidate in all releases:

        left(i) = candidates of i in release 1 ∩ ... ∩ candidates of i in release R,   chance(i) = 1 / #left(i)

    Two releases may each keep k-anonymity, in different groups, and together leave one subject. A subject is assumed to
    be recognisable from one release to the next, through group members that become known; that is the cautious case.

    Keyed pseudonyms make such knowledge unnecessary: a series has one name in all releases, so anyone can join them
    into one, and the whole joined series distinguishes the target from others:

        left(i) = subjects with a series that in every release is published like i, or absent where i is

    If each subject has one series, both are the same.

    Parameters
    ----------
    link
        "known": the adversary knows which series are the target's; the cautious figure. "totals": it looks for the
        nearest series by totals, as `KnownTotals` does.
    names
        "fresh": every release has its own names. "keyed": names are made with one key, and the releases are joined.
    step
        With link="totals", the step that totals cover: "hour", "day", "week", "month", "all" or a number of instants.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets.

    Examples
    --------
    >>> original = Panel([[1.0], [2.0], [3.0], [4.0]])
    >>> one, other = Panel([[1.5], [1.5], [3.5], [3.5]]), Panel([[2.0], [3.0], [2.0], [3.0]])
    >>> found = Intersection().attack(original, [one, other])
    >>> found.alone, found.success
    ((0.5, 0.5), 1.0)

    References
    ----------
    S. R. Ganta, S. P. Kasiviswanathan, A. Smith, "Composition attacks and auxiliary information in data privacy", 2008.
    """

    name: ClassVar[str] = "intersection"
    meaning: ClassVar[str] = "chance of distinguishing a subject from others by combining several releases"
    against: ClassVar[str] = "releases"
    answers: ClassVar[Mapping[str, str]] = {"linkability": "success"}
    control: ClassVar[str] = "is what the best of the releases gives alone"
    unfit: ClassVar[str] = "it needs several releases; give release.ledger, which tries them together"

    link: Literal["known", "totals"] = "known"
    names: Literal["fresh", "keyed"] = "fresh"
    step: Step = "day"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("link", self.link, ("known", "totals"))
        check_choice("names", self.names, ("fresh", "keyed"))
        check_step(self.step)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        where = "one release, and by its name in all" if self.names == "keyed" else "every release"
        told = f"Which series is the target's in {where}" if self.link == "known" else step_words(self.step)
        return f"{told[0].upper()}{told[1:]}, and who is behind the others."

    def find(
        self,
        original: Panel,
        published: Sequence[Panel] | Panel,
        *,
        rows: Sequence[ArrayLike | None] | None = None,
        targets: ArrayLike | None = None,
        first: int | None = None,
    ) -> IntersectionFindings:
        """The subjects left for each target by several releases of the same originals.

        `rows` gives for each release the original that each published row stands for, -1 for none; `targets` are
        positions of originals, by default all whose subjects are in every release, or with keyed names all that are in
        every release themselves.
        """
        releases = [published] if isinstance(published, Panel) else list(published)
        if not releases:
            raise ParameterError("Intersection needs at least one release.")
        stands_for = [None] * len(releases) if rows is None else list(rows)
        if len(stands_for) != len(releases):
            raise ParameterError(f"rows needs one entry for each of the {len(releases)} releases, or None.")
        truths, wanted = [], targets
        for release, own_rows in zip(releases, stands_for, strict=True):
            need_panel("Intersection", release)
            truth = find_truth(original, release, own_rows, wanted)
            wanted = need_targets(truth.targets)  # in the next one, only those who are in all so far
            truths.append(truth)
        joined = _join(releases, truths) if self.names == "keyed" else None
        everywhere = truth.targets
        if joined is not None:
            everywhere = need_targets(everywhere[joined.is_everywhere[everywhere]])
        truth = replace(truth, targets=self.draw(everywhere) if targets is None else everywhere)
        left = np.ones((len(truth.targets), original.n_subjects), dtype=np.bool_)
        mine = np.arange(len(truth.targets)), truth.of_targets
        alone = []
        for release, known in zip(releases, truths, strict=True):
            here = self._candidates(original, release, known, truth)
            alone.append(float(np.where(here[mine], 1.0 / np.maximum(here.sum(axis=1), 1), 0.0).mean()))
            left &= here
        if joined is not None:
            left = self._candidates_by_name(original, releases, joined, truth)
        return IntersectionFindings(truth.targets, left.sum(axis=1), left[mine], tuple(alone), original.n_subjects)

    def risk(self, findings: IntersectionFindings) -> IntersectionRisk:
        """The chance of distinguishing a target from all others."""
        left, own, alone = findings.left, findings.own, findings.alone
        chance = np.where(own, 1.0 / np.maximum(left, 1), 0.0)
        n, success = len(chance), float(chance.mean())
        interval = Interval.wilson(success, n)
        guess = 1.0 / findings.n_subjects
        best = max(alone)
        verb = "joins" if self.names == "keyed" else "compares"
        sentence = (
            f"Someone who {verb} {len(alone)} releases distinguishes a target from all others with a chance of "
            f"{percent(success)} ({between(interval)}; {n} targets), by the best of them alone {percent(best)}; "
            f"{against_guessing(success, interval, guess)}."
        )
        return IntersectionRisk(
            success=success,
            interval=interval,
            baseline=guess,
            baseline_interval=Interval.exactly(guess),
            n_targets=n,
            worst=tuple(int(row) for row in findings.targets[np.argsort(-chance, kind="stable")[:N_WORST]]),
            prosecutor=max(float(chance[left == size].mean()) for size in np.unique(left)),
            control=best,
            control_interval=Interval.wilson(best, n),
            confidence=float((1.0 / np.maximum(left, 1)).mean()),
            sentence=sentence,
            alone=alone,
            fewest=int(left[own].min()) if own.any() else 0,
        )

    def subjects_left(
        self,
        original: Panel,
        published: Sequence[Panel] | Panel,
        *,
        rows: Sequence[ArrayLike | None] | None = None,
    ) -> tuple[Rows, Rows]:
        """Positions of the targets, and the number of subjects to which all releases together narrow each down."""
        found = self.find(original, published, rows=rows)
        return found.targets, found.left

    def _candidates(self, original: Panel, release: Panel, known: Truth, truth: Truth) -> NDArray[np.bool_]:
        """Which subjects each target cannot be distinguished from in one release: (targets, subjects)."""
        _, classes = find_classes(release.rows)
        carries = np.zeros((int(classes.max()) + 1, original.n_subjects), dtype=np.bool_)
        real = known.owners >= 0
        carries[classes[real], known.owners[real]] = True
        if self.link == "known":
            which = np.zeros((len(truth.targets), len(carries)), dtype=np.bool_)
            which[:] = carries[:, truth.of_targets].T
        else:
            ground = find_ground("Intersection", original, release)
            starts = find_steps(ground.times, self.step)
            held, shown = (sum_steps(x, starts) for x in (ground.original[truth.targets], ground.published))
            return _nearest(held, shown, classes, carries, truth)
        return _behind(which, carries)

    def _candidates_by_name(
        self, original: Panel, releases: Sequence[Panel], joined: _Joined, truth: Truth
    ) -> NDArray[np.bool_]:
        """Which subjects each target cannot be distinguished from in the joined releases: (targets, subjects)."""
        published = np.flatnonzero(joined.is_somewhere)
        carries = np.zeros((int(joined.classes.max()) + 1, original.n_subjects), dtype=np.bool_)
        carries[joined.classes[published], truth.subjects[published]] = True
        which = np.zeros((len(truth.targets), len(carries)), dtype=np.bool_)
        if self.link == "known":
            which[np.arange(len(truth.targets)), joined.classes[truth.targets]] = True
            return _behind(which, carries)
        everywhere = np.flatnonzero(joined.is_everywhere)
        known, shown = [], []
        for release, rows in zip(releases, joined.rows, strict=True):
            ground = find_ground("Intersection", original, release)
            starts = find_steps(ground.times, self.step)
            known.append(sum_steps(ground.original[truth.targets], starts))
            shown.append(sum_steps(ground.published[rows[everywhere]], starts))
        classes = joined.classes[everywhere]
        return _nearest(np.concatenate(known, axis=1), np.concatenate(shown, axis=1), classes, carries, truth)


def _nearest(
    known: Floats, shown: Floats, classes: Rows, carries: NDArray[np.bool_], truth: Truth
) -> NDArray[np.bool_]:
    """The subjects behind the published rows nearest to what is known of each target. With gaps, also of those that
    have the most of it, whichever finds more."""
    found, best = np.zeros((len(known), carries.shape[1]), dtype=np.bool_), -1.0
    for fullest in (False, True) if np.isnan(shown).any() else (False,):
        links = Links(*nearest_rows(known, shown, fullest=fullest))
        which = np.zeros((len(known), len(carries)), dtype=np.bool_)
        which[links.target(), classes[links.which]] = True
        here = _behind(which, carries)
        own = here[np.arange(len(known)), truth.of_targets]
        chance = float(np.where(own, 1.0 / np.maximum(here.sum(axis=1), 1), 0.0).mean())
        if chance > best:
            found, best = here, chance
    return found


@dataclass(frozen=True, eq=False, repr=False)
class IntersectionFindings(Findings):
    """Subjects left for each target. Another release may have grouped the same people in other shards."""

    targets: Rows
    left: Rows
    """How many."""
    own: NDArray[np.bool_]
    """Whether the target is among them."""
    alone: tuple[float, ...]
    """The success of each release by itself."""
    n_subjects: int


@dataclass(frozen=True, eq=False, repr=False)
class _Joined:
    """Releases joined by names: for each original its row in each, -1 if it is absent, and its class over all."""

    rows: tuple[Rows, ...]
    classes: Rows

    @property
    def is_everywhere(self) -> NDArray[np.bool_]:
        """Which originals are in all releases."""
        everywhere: NDArray[np.bool_] = np.all([row >= 0 for row in self.rows], axis=0)
        return everywhere

    @property
    def is_somewhere(self) -> NDArray[np.bool_]:
        """Which originals are in at least one."""
        somewhere: NDArray[np.bool_] = np.any([row >= 0 for row in self.rows], axis=0)
        return somewhere


def _join(releases: Sequence[Panel], truths: Sequence[Truth]) -> _Joined:
    """Join releases, which have one row at most for each original."""
    rows, joint = [], np.zeros(len(truths[0].subjects), dtype=np.int64)
    for release, truth in zip(releases, truths, strict=True):
        real = np.flatnonzero(truth.rows >= 0)
        if len(np.unique(truth.rows[real])) < len(truth.rows):
            raise ParameterError(
                "Keyed names need releases with one row for each series, without fictive ones. Use names='fresh'."
            )
        row = np.full(len(joint), -1)
        row[truth.rows] = real
        classes = find_classes(release.rows)[1]
        own = np.where(row < 0, 0, classes[row] + 1)
        joint = np.unique(joint * (int(own.max()) + 1) + own, return_inverse=True)[1].reshape(-1)
        rows.append(row)
    return _Joined(tuple(rows), joint)


def _behind(which: NDArray[np.bool_], carries: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The subjects (targets, subjects) behind the classes that fit each target."""
    behind: NDArray[np.bool_] = (which.astype(np.float32) @ carries.astype(np.float32)) > 0.5
    return behind
