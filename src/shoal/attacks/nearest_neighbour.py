"""Linking knowledge of another period to published series."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.attacks.distributions import best_fits, widths_of
from shoal.attacks.ground import (
    Floats,
    Ground,
    SeriesAttack,
    Truth,
    find_classes,
)
from shoal.attacks.habits import Cycle, alike_scaled, check_cycle, describe, find_slots, mean_cycles
from shoal.attacks.links import Chances, LinkFindings, LinkRisk, Links, count_links, link_figures
from shoal.attacks.periods import Periods, find_grounds_of_periods
from shoal.attacks.sentences import OTHERS_FIT
from shoal.attacks.words import check_amount, check_choice, check_targets
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Panel, Scenarios


@dataclass(frozen=True)
class NearestNeighbour(SeriesAttack[LinkRisk]):
    """The chance of finding a target's published series from how it behaved at another time.

    The adversary holds identified series of another period: the instants of the original that the release does not
    have. If the release has them all, the first half of the instants is known and the second half of the release is
    attacked. Both sides are reduced to what lasts, and the nearest published series are the candidates:

        euclidean   the mean day (or week), mean square distance
        dtw         the mean day (or week), dynamic time warping within a band: habits may have moved by an hour
        features    level, spread, quantiles, persistence and shares of the parts of the day, each in units of its
                    spread among published series

    A target's chance is the share of its own series among the candidates.

    In a release of scenarios, the adversary also sees how widely the readings of each group spread, and takes the
    groups whose distribution fits the mean day best, if that finds more ("euclidean" only).

    Parameters
    ----------
    distance
        "euclidean", "dtw" or "features".
    cycle
        What repeats: "day", "week" or a number of instants.
    band
        How far warping may reach, as a share of the cycle.
    n_targets
        Attack this many targets, drawn at random; all by default. Candidates are never sampled.
    seed
        Draws targets.

    Examples
    --------
    >>> original = Panel([[1.0, 9.0, 1.0, 8.0], [2.0, 4.0, 2.0, 5.0], [7.0, 1.0, 6.0, 1.0]])
    >>> NearestNeighbour(cycle=2).attack(original, original).success
    1.0

    References
    ----------
    "Data-driven anonymization process applied to time series", section 5.1.
    """

    name: ClassVar[str] = "nearest-neighbour"
    meaning: ClassVar[str] = "chance of finding a target's published series from how it behaved at another time"
    called: ClassVar[str] = "how a subject behaved at another time"
    against: ClassVar[str] = "values"
    knows: ClassVar[str] = "Identified series of the same subjects over another period."
    answers: ClassVar[Mapping[str, str]] = {"linkability": "success"}
    control: ClassVar[str] = OTHERS_FIT
    sees_scenarios: ClassVar[bool] = True

    distance: Literal["euclidean", "dtw", "features"] = "euclidean"
    cycle: Cycle = "day"
    band: float = 0.1
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("distance", self.distance, ("euclidean", "dtw", "features"))
        check_cycle(self.cycle)
        check_amount("band", self.band)
        check_targets(self.n_targets, self.seed)

    @property
    def bounded_by_shard(self) -> bool:
        """Statistics are in units of their spread among all published series."""
        return self.distance != "features"

    def look(self, original: Panel, published: Panel, truth: Truth, scenarios: Scenarios | None = None) -> LinkFindings:
        """The published series nearest to each target's lasting habits.

        `scenarios` has the distribution that belongs to each published series, if the release is one of scenarios.
        """
        periods, grounds, levels = find_grounds_of_periods("NearestNeighbour", original, published, truth.is_shard)
        views: Iterable[tuple[Chances, ...]] = (self.views(periods, ground, truth) for ground in grounds)
        if scenarios is not None and self.distance == "euclidean":
            shown = find_grounds_of_periods("NearestNeighbour", original, widths_of(scenarios), truth.is_shard)[1]
            views = (
                (*view, self._by_fit(periods, ground, widths.published, truth))
                for view, ground, widths in zip(views, grounds, shown, strict=True)
            )
        return LinkFindings.of(truth, views, levels)

    def _by_fit(self, periods: Periods, ground: Ground, widths: Floats, truth: Truth) -> Chances:
        """The groups whose distribution the mean cycle of each target fits best."""
        known, means = self._habits(periods, ground)
        variances = Ground(ground.original, np.square(widths), ground.times)
        both, classes = find_classes(np.column_stack([means, self._habits(periods, variances)[1]]))
        n = means.shape[1]
        links = best_fits(known[truth.targets], both[:, :n], np.sqrt(both[:, n:]))
        return count_links(links, classes, truth)

    def risk(self, findings: LinkFindings) -> LinkRisk:
        """The chance of finding a target's own published series."""
        return LinkRisk(**link_figures(findings, "series of another period"))

    def views(self, periods: Periods, ground: Ground, truth: Truth) -> tuple[Chances]:
        """How many series fit each target equally well, and how many are its own."""
        known, shown = self._habits(periods, ground)
        distinct, classes = find_classes(shown)
        links = Links(*self._nearest(known[truth.targets], distinct, ground.original.shape[2]))
        return (count_links(links, classes, truth),)

    def _habits(self, periods: Periods, ground: Ground) -> tuple[Floats, Floats]:
        known, shown = ground.original[:, periods.known], ground.published[:, periods.shown]
        slots, there = find_slots(periods.known_times, self.cycle), find_slots(periods.shown_times, self.cycle)
        common = np.intersect1d(slots, there)
        if not len(common):
            raise ParameterError(
                "NearestNeighbour compares the same parts of a cycle, and the two periods share none. "
                "Choose a shorter cycle or longer periods."
            )
        if self.distance == "features":
            return alike_scaled(describe(known, slots, common), describe(shown, there, common))
        return mean_cycles(known, slots, common), mean_cycles(shown, there, common)

    def _nearest(self, known: Floats, shown: Floats, n_channels: int) -> tuple[Any, Any, Any]:
        if self.distance != "dtw":
            return nearest_rows(known, shown)
        if n_channels != 1:
            raise ParameterError(
                f"distance='dtw' needs one channel, the panels have {n_channels}. Use 'euclidean' or 'features'."
            )
        if gaps := int(np.isnan(known).any(axis=1).sum() + np.isnan(shown).any(axis=1).sum()):
            raise ParameterError(
                f"distance='dtw' needs mean cycles without gaps, {gaps} have some. Use 'euclidean' or 'features', or "
                "read the panel with `missing` set to 'drop-series' or 'interpolate:2h'."
            )
        from shoal.kernels.dtw import nearest_by_warping

        return nearest_by_warping(known, shown, int(self.band * known.shape[1]))
