"""Finding the pieces of a series that were exchanged with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.attacks.ground import Floats, Rows, Truth, find_classes, find_ground, find_truth, need_panel
from shoal.attacks.links import N_WORST, Links
from shoal.attacks.totals import Step, check_step, find_steps, plain_step, step_words, sum_steps
from shoal.attacks.words import between, check_targets, percent
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Interval, Panel, Risk


@dataclass(frozen=True)
class UnmixingRisk(Risk):
    """What can be taken apart again.

    `success` is the share of a target's steps whose readings the adversary gets right, the mean over targets; the
    interval is Wilson's, over targets; `prosecutor` is the target of whom most is found. The baseline takes any
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
class Unmixing:
    """The share of a series that can be read off a release whose series exchanged stretches of time.

    The adversary holds the totals of its targets per step, and looks for every step by itself: the pieces of published
    series whose total is nearest are the candidates, whatever series they have been put into. A step counts by the
    share of the candidates that show exactly the target's readings. Exchanged pieces hide nobody from this: each still
    shows true readings at their true time.

    Parameters
    ----------
    step
        What totals are of: "hour", "day", "week", "month", "all" or a number of instants. Best the length of the
        stretches that were exchanged, or a part of it.
    n_targets
        Attack so many targets, drawn by chance; all of them by default. Candidates are never sampled.
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
    against: ClassVar[str] = "values"

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

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to attack the same again."""
        n_targets = None if self.n_targets is None else int(self.n_targets)
        return {"step": plain_step(self.step), "n_targets": n_targets, "seed": int(self.seed)}

    def attack(
        self, original: Panel, published: Panel, *, rows: ArrayLike | None = None, targets: ArrayLike | None = None
    ) -> UnmixingRisk:
        """Attack published series.

        `rows` says which original each published row stands for, -1 for none; here it only tells who is in the release.
        `targets` are positions of originals, all that are published by default.
        """
        need_panel("Unmixing", published)
        truth = find_truth(original, published, rows, targets, self.n_targets, self.seed)
        ground = find_ground("Unmixing", original, published)
        starts = find_steps(ground.times, self.step)
        known = sum_steps(ground.original[truth.targets], starts).reshape(len(truth.targets), len(starts), -1)
        shown = sum_steps(ground.published, starts).reshape(len(ground.published), len(starts), -1)
        whole = Links(*nearest_rows(known.reshape(len(known), -1), shown.reshape(len(shown), -1)))
        steps = np.stack(
            [
                _pieces(ground.original[truth.targets, a:b], ground.published[:, a:b], known[:, d], shown[:, d], whole)
                for d, (a, b) in enumerate(zip(starts, [*starts[1:], ground.n_instants], strict=True))
            ]
        )
        told: NDArray[np.bool_] = np.logical_not(np.isnan(known).any(axis=2))
        if unknown := int((told.sum(axis=1) == 0).sum()):
            raise ParameterError(
                f"{unknown} targets have no step without gaps, so nothing is known of them. "
                "Choose a shorter step, or read the panel with `missing` set to 'drop-series' or 'interpolate:2h'."
            )
        return self._risk(truth, steps, told)

    def _risk(self, truth: Truth, steps: Floats, told: NDArray[np.bool_]) -> UnmixingRisk:
        """Means over the steps that are told of each target."""
        kept = np.where(told.T[:, :, None], steps, 0.0).sum(axis=0) / told.sum(axis=1)[:, None]
        found, plain, guessed, others, sure = kept.T
        n = len(truth.targets)
        success, simple, guess = float(found.mean()), float(plain.mean()), float(guessed.mean())
        interval, control = Interval.wilson(success, n), float(others.mean())
        sentence = (
            f"Somebody who holds {step_words(self.step)} and looks piece by piece gets {percent(success)} of a "
            f"target's readings right ({between(interval)}; {n} targets), of the one most at risk "
            f"{percent(float(found.max()))}; by looking for whole series {percent(simple)}, "
            f"by guessing {percent(guess)}."
        )
        return UnmixingRisk(
            success=success,
            interval=interval,
            baseline=guess,
            baseline_interval=Interval.exactly(guess),
            n_targets=n,
            worst=tuple(int(row) for row in truth.targets[np.argsort(-found, kind="stable")[:N_WORST]]),
            prosecutor=float(found.max()),
            control=control,
            control_interval=Interval.wilson(control, n),
            confidence=float(sure.mean()),
            sentence=sentence,
            plain=simple,
            plain_interval=Interval.wilson(simple, n),
            n_steps=len(steps),
        )


def _pieces(true: Floats, pieces: Floats, known: Floats, shown: Floats, whole: Links) -> Floats:
    """Of one step, for each target: chance found, chance plain, chance guessed, whether others fit, and 1/m."""
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
