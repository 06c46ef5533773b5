"""Linking known totals to published series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from shoal.attacks.ground import find_classes, find_ground, find_truth, need_panel
from shoal.attacks.links import LinkRisk, Links, count_links, link_figures
from shoal.attacks.totals import Step, check_step, find_steps, plain_step, step_words, sum_steps
from shoal.attacks.words import check_amount, check_targets
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Panel


@dataclass(frozen=True)
class KnownTotals:
    """The chance to find a target's published series by its daily or monthly totals.

    Distributors hold identified daily totals, suppliers monthly ones. The published series are summed over the same
    steps, and the candidates are those whose totals are nearest (least mean square); a target counts by the share of
    its own among them. Where the release is coarser than the steps, the totals are summed to its own. A total with a
    missing reading tells nothing.

    Parameters
    ----------
    step
        What totals are of: "hour", "day", "week", "month", "all" or a number of instants.
    noise
        Standard deviation of the errors in the known totals, as a share of that of all totals.
    n_targets
        Attack so many targets, drawn by chance; all of them by default. Candidates are never sampled.
    seed
        Draws targets and errors.

    Examples
    --------
    >>> original = Panel([[1.0, 5.0, 2.0, 2.0], [1.0, 4.0, 3.0, 2.0], [2.0, 3.0, 2.0, 3.0]])
    >>> KnownTotals(step=2).attack(original, original).success
    0.6666666666666666

    References
    ----------
    "Data-driven anonymization process applied to time series", sections 1 and 5; V. Tudor, M. Almgren,
    M. Papatriantafilou, "Analysis of the impact of data granularity on privacy for the smart grid", 2013.
    """

    name: ClassVar[str] = "known-totals"
    meaning: ClassVar[str] = "chance to find a target's published series by its totals per day or another step"
    against: ClassVar[str] = "values"

    step: Step = "day"
    noise: float = 0.0
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_step(self.step)
        check_amount("noise", self.noise)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        words = step_words(self.step)
        return f"{words[0].upper()}{words[1:]}{' with errors' if self.noise else ''}, of every target."

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to attack the same again."""
        n_targets = None if self.n_targets is None else int(self.n_targets)
        return {
            "step": plain_step(self.step),
            "noise": float(self.noise),
            "n_targets": n_targets,
            "seed": int(self.seed),
        }

    def attack(
        self, original: Panel, published: Panel, *, rows: ArrayLike | None = None, targets: ArrayLike | None = None
    ) -> LinkRisk:
        """Attack published series.

        `rows` says which original each published row stands for, -1 for none; `targets` are positions of originals,
        all that are published by default.
        """
        need_panel("KnownTotals", published)
        truth = find_truth(original, published, rows, targets, self.n_targets, self.seed)
        ground = find_ground("KnownTotals", original, published)
        starts = find_steps(ground.times, self.step)
        known, shown = sum_steps(ground.original, starts), sum_steps(ground.published, starts)
        if self.noise:
            # Errors of all originals are drawn, so those of a target do not depend on who else is attacked.
            dice = np.random.default_rng(np.random.SeedSequence([self.seed, 2]))
            known = known + self.noise * np.nanstd(known) * dice.standard_normal(known.shape)
        distinct, classes = find_classes(shown)
        found = count_links(Links(*nearest_rows(known[truth.targets], distinct)), classes, truth)
        return LinkRisk(**link_figures(found, truth, step_words(self.step) + (" with errors" if self.noise else "")))
