"""Linking known totals to published series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.attacks.ground import Floats, Ground, Rows, SeriesAttack, Truth, find_classes
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, count_links, link_figures
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.slices import find_scenes
from shoal.attacks.totals import Step, check_step, find_steps, step_words, sum_steps
from shoal.attacks.words import Scale, check_amount, check_scale, check_targets
from shoal.kernels.likeness import LEAST, most_alike
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Panel


@dataclass(frozen=True)
class KnownTotals(SeriesAttack[LinkRisk]):
    """The chance of finding a target's published series from its daily or monthly totals.

    Distributors hold identified daily totals, suppliers monthly ones. The published series are summed over the same
    steps, and the candidates are those whose totals are nearest (least mean square); a target's chance is the share of
    its own series among them. If the release is coarser than the steps, the totals are summed to its step. A total with
    a missing reading is ignored; with such totals in the release, the adversary also looks among the series that have
    the most of the known ones, as for `KnownPoints`.

    Three totals or more are also compared up to level and unit, because a release may be standardised: least 1 - r,
    where r is the correlation of the means over the steps (with steps of unequal length, an offset of totals would not
    be constant). `success` is that of the better way, the same for all targets; `prosecutor` and `highest` are the
    larger of both: an upper bound, as for `KnownPoints`. Slices without dates are compared by position in the slice,
    also as there; days and weeks then begin where they do in the first slice.

    Parameters
    ----------
    step
        The step that totals cover: "hour", "day", "week", "month", "all" or a number of instants.
    noise
        Standard deviation of the errors in the known totals, as a share of that of all totals.
    scale
        "any" compares both ways, "same" only the totals as they are.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
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
    meaning: ClassVar[str] = "chance of finding a target's published series from its totals per day or another step"
    called: ClassVar[str] = "totals of a subject, as on a bill"
    against: ClassVar[str] = "values"
    answers: ClassVar[Mapping[str, str]] = {"linkability": "success"}
    control: ClassVar[str] = OTHERS_FIT
    short: ClassVar[tuple[str, str]] = ("totals", "step")

    step: Step = "day"
    noise: float = 0.0
    scale: Scale = "any"
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_step(self.step)
        check_amount("noise", self.noise)
        check_scale(self.scale)
        check_targets(self.n_targets, self.seed)

    @property
    def knows(self) -> str:
        """What the adversary holds."""
        words = step_words(self.step)
        return f"{words[0].upper()}{words[1:]}{' with errors' if self.noise else ''}, of every target."

    @property
    def bounded_by_shard(self) -> bool:
        """Errors are a share of the spread of everyone's totals."""
        return not self.noise

    def look(self, original: Panel, published: Panel, truth: Truth) -> LinkFindings:
        """The published series with the nearest totals."""
        grounds, levels, truth = find_scenes("KnownTotals", original, published, truth, self.seed)
        return LinkFindings.of(truth, (self._views(ground, truth) for ground in grounds), levels)

    def _views(self, ground: Ground, truth: Truth) -> tuple[Chances, ...]:
        starts = find_steps(ground.times, self.step)
        known, shown = sum_steps(ground.original, starts), sum_steps(ground.published, starts)
        if self.noise:
            # Errors are drawn for all originals, so those of a target do not depend on who else is attacked.
            dice = np.random.default_rng(np.random.SeedSequence([self.seed, 2]))
            errors = dice.standard_normal((truth.first + len(known), known.shape[1]))[truth.first :]
            known = known + self.noise * np.nanstd(known) * errors
        distinct, classes = find_classes(shown)
        known = known[truth.targets]
        lengths = np.diff(starts, append=ground.n_instants)

        def compared(fullest: bool) -> tuple[Chances, ...]:
            links = [Links(*nearest_rows(known, distinct, fullest=fullest))]
            if self.scale == "any" and len(starts) >= LEAST:
                links.append(_alike(known, distinct, lengths, fullest))
            return tuple(count_links(one, classes, truth) for one in links)

        views = compared(False)
        # Without gaps, both are the same; other shards may have some.
        return views + (compared(True) if np.isnan(distinct).any() else views)

    def risk(self, findings: LinkFindings) -> LinkRisk:
        """The chance of finding a target's own published series."""
        holds = step_words(self.step) + (" with errors" if self.noise else "")
        return LinkRisk(**link_figures(findings, holds))


def _alike(known: Floats, shown: Floats, lengths: Rows, fullest: bool) -> Links:
    """Totals (series, steps x channels) compared as means over their steps, up to level and unit."""
    x, y = (rows.reshape(len(rows), len(lengths), -1) / lengths[:, None] for rows in (known, shown))
    places = np.broadcast_to(np.arange(len(lengths)), (len(x), len(lengths)))
    return Links(*most_alike(x, places, np.ascontiguousarray(y.transpose(1, 2, 0)), 0, fullest))
