"""Finding the pieces of a series that were exchanged with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, find_classes, find_ground, need_targets
from shoal.attacks.links import N_WORST, Links
from shoal.attacks.totals import Step, check_step, find_steps, step_words, sum_steps
from shoal.attacks.words import against_guessing, between, check_targets, percent
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Findings, Interval, Panel, Risk


@dataclass(frozen=True)
class UnmixingRisk(Risk):
    """What can be separated again.

    `success` is the share of a target's steps whose readings the adversary gets right, the mean over targets; the
    interval is Wilson's, over targets; `prosecutor` is the target about whom most is found. The baseline takes any
    published series at each step. The control is the share of steps where another piece fits as well as the best.

    Parameters
    ----------
    plain, plain_interval
        The same for an adversary who links whole series by all their totals (`KnownTotals`) and takes what it finds.
    n_steps
        Steps of time.
    """

    plain: float = 0.0
    plain_interval: Interval | None = None
    n_steps: int = 0


@dataclass(frozen=True)
class Unmixing(SeriesAttack[UnmixingRisk]):
    """The share of a series that can be read off a release whose series have exchanged stretches of time.

    The adversary holds the totals of its targets per step, and searches for every step separately: the pieces of
    published series whose total is nearest are the candidates, whatever series they were put into. A step counts by the
    share of the candidates that show exactly the target's readings. Exchanged pieces hide nobody from this: each still
    shows true readings at their true time.

    Parameters
    ----------
    step
        The step that totals cover: "hour", "day", "week", "month", "all" or a number of instants. Best: the length of
        the stretches that were exchanged, or a part of it.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets.

    Examples
    --------
    >>> original = Panel([[1.0, 5.0, 2.0, 2.0], [1.0, 4.0, 3.0, 3.0], [2.0, 6.0, 2.0, 3.0]])
    >>> mixed = Panel([[2.0, 6.0, 2.0, 2.0], [1.0, 5.0, 2.0, 3.0], [1.0, 4.0, 3.0, 3.0]])
    >>> Unmixing(step=2).attack(original, mixed).success
    1.0

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 and section 5.1.
    """

    name: ClassVar[str] = "unmixing"
    meaning: ClassVar[str] = "share of a target's readings found piece by piece, by totals"
    called: ClassVar[str] = "totals, used piece by piece"
    against: ClassVar[str] = "values"
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    control: ClassVar[str] = "of the steps are fitted as well by another piece"

    step: Step = "day"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_step(self.step)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        words = step_words(self.step)
        return f"{words[0].upper()}{words[1:]}, of every target, and that series exchanged pieces."

    def look(self, original: Panel, published: Panel, truth: Truth) -> UnmixingFindings:
        """The pieces nearest to each total; the truth only says who is in the release."""
        positions = need_targets(truth.targets)
        ground = find_ground("Unmixing", original, published)
        starts = find_steps(ground.times, self.step)
        known = sum_steps(ground.original[positions], starts).reshape(len(positions), len(starts), -1)
        shown = sum_steps(ground.published, starts).reshape(len(ground.published), len(starts), -1)
        whole = Links(*nearest_rows(known.reshape(len(known), -1), shown.reshape(len(shown), -1)))
        steps = np.stack(
            [
                _pieces(ground.original[positions, a:b], ground.published[:, a:b], known[:, d], shown[:, d], whole)
                for d, (a, b) in enumerate(zip(starts, [*starts[1:], ground.n_instants], strict=True))
            ]
        )
        told: NDArray[np.bool_] = np.logical_not(np.isnan(known).any(axis=2))
        if unknown := int((told.sum(axis=1) == 0).sum()):
            raise ParameterError(
                f"{unknown} targets have no step without gaps, so nothing is known of them. "
                "Choose a shorter step, or read the panel with `missing` set to 'drop-series' or 'interpolate:2h'."
            )
        kept = np.where(told.T[:, :, None], steps, 0.0).sum(axis=0) / told.sum(axis=1)[:, None]
        found, plain, guessed, others, sure = kept.T
        return UnmixingFindings(positions, found, plain, guessed, others, sure, len(steps))

    def risk(self, findings: UnmixingFindings) -> UnmixingRisk:
        """Means over targets."""
        found, n = findings.found, len(findings.targets)
        success, simple, guess, control, sure = (
            float(part.mean()) for part in (found, findings.plain, findings.guessed, findings.others, findings.sure)
        )
        interval = Interval.wilson(success, n)
        sentence = (
            f"Someone who knows {step_words(self.step)} and looks piece by piece gets {percent(success)} of a "
            f"target's readings right ({between(interval)}; {n} targets), "
            f"{percent(float(found.max()))} for the one most at risk; {against_guessing(success, interval, guess)}, by "
            f"looking for whole series {percent(simple)}."
        )
        return UnmixingRisk(
            success=success,
            interval=interval,
            baseline=guess,
            baseline_interval=Interval.exactly(guess),
            n_targets=n,
            worst=tuple(int(row) for row in findings.targets[np.argsort(-found, kind="stable")[:N_WORST]]),
            prosecutor=float(found.max()),
            control=control,
            control_interval=Interval.wilson(control, n),
            confidence=sure,
            sentence=sentence,
            plain=simple,
            plain_interval=Interval.wilson(simple, n),
            n_steps=findings.n_steps,
        )


@dataclass(frozen=True, eq=False, repr=False)
class UnmixingFindings(Findings):
    """For every target, means over its known steps. A piece may look like anyone's."""

    targets: Rows
    found: Floats
    plain: Floats
    guessed: Floats
    others: Floats
    """Steps where another piece fits as well."""
    sure: Floats
    """1/m for m pieces that fit equally well."""
    n_steps: int


def _pieces(true: Floats, pieces: Floats, known: Floats, shown: Floats, whole: Links) -> Floats:
    """For one step and each target: chance found, chance plain, chance guessed, whether others fit, and 1/m."""
    n, m = len(true), len(pieces)
    _, kind = find_classes(np.concatenate([true.reshape(n, -1), pieces.reshape(m, -1)]))
    mine, theirs = kind[:n], kind[n:]
    links = Links(*nearest_rows(known, shown))
    found = _share(links, mine, theirs)
    sizes = np.diff(links.start)
    guessed = np.bincount(theirs, minlength=int(kind.max()) + 1)[mine] / m
    return np.stack([found, _share(whole, mine, theirs), guessed, found * sizes < sizes - 0.5, 1.0 / sizes], axis=1)


def _share(links: Links, mine: Rows, theirs: Rows) -> Floats:
    target = links.target()
    right = np.bincount(target, weights=theirs[links.which] == mine[target], minlength=len(mine))
    return right / np.diff(links.start)
