"""What is compared: each series with its original, or the mean of all series with the mean of all originals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from shoal.errors import ParameterError
from shoal.model import Measure, Moments, Panel, Score, Tally
from shoal.utility.cells import Floats, by_channel, refuse_other_instants, tally_instants, tally_pairs

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


def check_of(of: str, choices: Any) -> None:
    """Refuse a word that is none of the choices."""
    if of not in get_args(choices):
        raise ParameterError(f"of must be one of: {', '.join(get_args(choices))}.")


def _mean_curve(side: Moments, tally: Tally) -> Panel:
    """A panel of one series, missing if nothing is observed."""
    mean = np.where(side.counts > 0, side.means, np.nan)
    return Panel(mean[None], times=tally.times, timezone=tally.timezone)
