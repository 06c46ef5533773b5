"""What is compared: each series with its original, or the mean of all series with the mean of all originals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoal.model import Measure, Moments, Panel, Score, Tally
from shoal.model.parameters import check_choice
from shoal.utility.cells import (
    FAIR_SAMPLE,
    Floats,
    blocks,
    by_channel,
    refuse_other_instants,
    tally_instants,
    tally_pairs,
)
from shoal.utility.days import Days, check_per_day, days_of

Of = Literal["series", "all"]
Spread = Literal["series", "pooled", "all"]
Taken = Callable[[Floats], Floats]
"""From curves (curves, instants, channels) to the numbers of each (curves, ..., channels)."""


class CurveMeasure(Measure):
    """A measure of how much something derived from a curve, such as its daily peaks, has changed.

    A cell missing in either curve is left out of both. For "series", rows must be in the same order. For "all", there
    is one curve, the mean of what is observed at each instant, and the panels may have different series.
    """

    of: str

    @property
    def matched(self) -> bool:
        """Whether rows must match."""
        return self.of == "series"

    def taken(self, panel: Panel) -> Taken:
        """What is derived from the curves of a panel with these instants."""
        raise NotImplementedError

    def tally(self, original: Panel, published: Panel) -> Tally:
        """Changes, and what was changed, for each channel; for "all", the sums behind the mean curves."""
        if self.why_whole:
            return super().tally(original, published)
        taken = self.taken(original)  # refuses unsuitable instants before anything is counted
        if self.of == "all":
            refuse_other_instants(original, published)
            sides = {"before": tally_instants(original), "after": tally_instants(published)}
            return Tally(sides, original.times, original.timezone)

        def figures(before: Floats, after: Floats) -> dict[str, Floats]:
            one, other = taken(before), taken(after)
            return {"change": by_channel(np.abs(one - other)), "size": by_channel(np.abs(one))}

        return tally_pairs(original, published, figures)

    def score(self, tally: Tally) -> Score:
        """The change as a share of the original."""
        counted = self.of_curves(tally)
        return self.as_score(relative(counted["change"].sums, counted["size"].sums))

    def of_curves(self, tally: Tally) -> Tally:
        """Changes, or those of the mean curves if these are compared."""
        if self.of == "series":
            return tally
        sides = (_mean_curve(tally[side], tally) for side in ("before", "after"))
        return self.set_params(of="series").tally(*sides)


@dataclass(frozen=True)
class DayMeasure(CurveMeasure):
    """A measure of what is taken from the days of a curve."""

    usual = ({}, {"of": "all"})

    of: Of = "series"
    per_day: int | None = None

    def __post_init__(self) -> None:
        check_choice("of", self.of, Of)
        check_per_day(self.per_day)

    def taken(self, panel: Panel) -> Taken:
        """What is taken from the curves of a panel with these days."""
        days = days_of(panel, self.per_day, name=self.name)
        return lambda curves: self.of_days(curves, days)

    def of_days(self, curves: Floats, days: Days) -> Floats:
        """The numbers of each curve."""
        raise NotImplementedError


def mean_change(tally: Tally) -> float:
    """The mean over all numbers and channels; 0 if there are none."""
    change = tally["change"]
    return float(change.sums.sum() / max(1, change.counts.sum()))


def relative(changed: Floats, total: Floats) -> float:
    """The change of each channel as a share of the original, averaged over channels.

    If the original is 0, it is 0 if the published one is too, else 1.
    """
    had = total > 0.0
    return float(np.where(had, changed / np.where(had, total, 1.0), changed > 0.0).mean())


def _mean_curve(side: Moments, tally: Tally) -> Panel:
    """A panel of one series, missing if nothing is observed."""
    mean = np.where(side.counts > 0, side.means, np.nan)
    return Panel(mean[None], times=tally.times, timezone=tally.timezone)


class SpreadMeasure(CurveMeasure):
    """A measure of how sorted numbers have changed: those of each curve, or with "pooled" those of all series together.

    A cell missing in either curve is left out of both, so that sorting puts the same number of missing values last.
    With "pooled", each side counts what it has.
    """

    @property
    def why_whole(self) -> str:
        """Pooled numbers must be sorted together."""
        return "with of='pooled' sorts the values of all series in one place" if self.of == "pooled" else ""

    @property
    def sampled(self) -> int | None:
        """A sample does not flatter: on average, sorted numbers of some series are no closer than those of all."""
        return FAIR_SAMPLE if self.of == "pooled" else None

    def measure(self, original: Panel, published: Panel) -> Score:
        """Mean distance of the sorted numbers as a share of the mean absolute original, averaged over channels."""
        if self.of != "pooled":
            return super().measure(original, published)
        refuse_other_instants(original, published)
        taken = self.taken(original)
        changed, total = np.zeros(original.n_channels), np.zeros(original.n_channels)
        for channel in range(original.n_channels):
            before, after = (_pooled(panel, channel, taken) for panel in (original, published))
            changed[channel] = sorted_distance(before, after)
            total[channel] = np.abs(before).mean() if len(before) else 0.0
        return self.as_score(relative(changed, total))


def sorted_distance(before: Floats, after: Floats) -> float:
    """The area between two sorted curves over the share of numbers (Wasserstein-1); 0 if one is empty.

    Examples
    --------
    >>> sorted_distance(np.array([3.0, 1.0]), np.array([1.0, 2.0]))
    0.5
    >>> sorted_distance(np.array([0.0]), np.array([1.0, 3.0]))
    2.0
    """
    if not len(before) or not len(after):
        return 0.0
    before, after = np.sort(before), np.sort(after)
    if len(before) == len(after):
        return float(np.abs(before - after).mean())
    every = np.sort(np.concatenate([before, after]))
    below = [np.searchsorted(side, every[:-1], side="right") / len(side) for side in (before, after)]
    return float(np.sum(np.abs(below[0] - below[1]) * np.diff(every)))


def _pooled(panel: Panel, channel: int, taken: Taken) -> Floats:
    """The numbers of all series of a channel together."""
    numbers = np.concatenate([taken(block[:, :, channel : channel + 1]).ravel() for block in blocks(panel)])
    observed: Floats = numbers[~np.isnan(numbers)]
    return observed
