"""Publish a coarser clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.arrays import Floats, Ints
from shoal.methods.altered import AlteringMethod, candidate_of, of_distinct, shaped
from shoal.methods.lengths import Length, check_length, length_of
from shoal.model import Candidate, Panel, Progress
from shoal.model.parameters import check_choice
from shoal.read.align import make_buckets
from shoal.read.zones import find_zone

By = Literal["mean", "sum"]


@dataclass(frozen=True, kw_only=True)
class TimeAggregation(AlteringMethod):
    """Publish the mean or the sum over longer time steps instead of each reading.

    Steps are counted from midnight; days follow the local clock if the panel has a time zone, so that a day has 23 or
    25 hours when the clock changes; if times are whole numbers, steps start at multiples of the step. The first and the
    last step may have fewer instants than the others; the recipe counts them.

    Aims at no guarantee: daily totals still single out most households. Judge it by attack. Equal series stay equal.

    Missing readings: a mean covers the observed readings, and is missing if there are none. A sum is missing if any of
    its readings is, because it would be too small.

    Parameters
    ----------
    step
        The new step: "1h", "1d", or a bare number of instants. Longer hides better and leaves less.
    by
        "mean" or "sum". Sums are right for energy and counts, means for power and temperatures.

    Examples
    --------
    >>> panel = Panel([[1.0, 3.0, 5.0, 9.0]])
    >>> TimeAggregation(step=2, by="sum").anonymize(panel).values.tolist()
    [[4.0, 14.0]]

    References
    ----------
    "Data-driven anonymization process applied to time series", table 1 (time scale).
    """

    same_in_all_shards: ClassVar[frozenset[str]] = frozenset({"steps", "short_steps"})
    name: ClassVar[str] = "time-aggregation"
    keeps_equal: ClassVar[bool] = True
    each_alone: ClassVar[bool] = True
    keeps_apart: ClassVar[bool] = True
    takes_fictives: ClassVar[bool] = True

    step: Length
    by: By = "mean"

    def __post_init__(self) -> None:
        check_length(self.step, "step")
        check_choice("by", self.by, By)

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Aggregate the readings of every step."""
        places, times = self._steps(panel)
        sizes = np.bincount(places)
        if len(sizes) == panel.n_instants > 1:
            raise ParameterError(
                f"step={self.step!r} is not longer than the panel's own, so nothing would change. Give a longer one."
            )
        starts = np.searchsorted(places, np.arange(len(sizes)))
        values = of_distinct(panel, lambda own: _gathered(own, starts, self.by))
        published = shaped(panel, values, times=times)
        if progress is not None:
            progress(panel.n_series, panel.n_series)
        figures = {"steps": len(sizes), "short_steps": int((sizes < sizes.max()).sum())}
        return candidate_of(self, panel, published, figures=figures, curves=self.unfold(panel, published))

    def unfold(self, original: Panel, published: Panel) -> Panel:
        """At every original instant what its step says about it: the mean, or an even part of the sum."""
        places, _ = self._steps(original)
        values = published.cube[:, places]
        if self.by == "sum":
            values = values / np.bincount(places)[places][None, :, None]
        return shaped(original, values)

    def _steps(self, panel: Panel) -> tuple[Ints, NDArray[Any]]:
        """The number of each instant's step, counted without gaps, and the start of each step."""
        on_clock = panel.times.dtype.kind == "M"
        duration = length_of(self.step, panel, "step")
        instants = panel.times.astype(np.int64)
        zone = find_zone(panel.timezone) if on_clock and panel.timezone is not None else None
        buckets = make_buckets(int(instants[0]), int(instants[-1]), duration, on_clock=on_clock, zone=zone)
        used, places = np.unique(buckets.positions(instants), return_inverse=True)
        return places.reshape(-1), buckets.times()[used].astype(panel.times.dtype)


def _gathered(own: Floats, starts: Ints, by: By) -> Floats:
    observed = ~np.isnan(own)
    total = np.add.reduceat(np.where(observed, own, 0.0), starts, axis=1)
    counts = np.add.reduceat(observed.astype(np.int64), starts, axis=1)
    if by == "sum":
        expected = np.diff(np.append(starts, own.shape[1]))
        return np.where(counts == expected[None, :, None], total, np.nan)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)
