"""TGA: k-anonymity of series by envelopes, then random series drawn from them. A yardstick, not a method of Shoal.

Grouping. While at least k series are left, one of them, drawn at random, starts a group whose envelope is the series
itself. k - 1 times the series joins that makes the envelope dearest by the least, and the envelope widens to hold it.
An envelope costs

    LC(low, high) = Σ over instants of log(1 + (high - low) / resolution),

the logarithm of how many series of that resolution fit in: the log cost of the original. Fewer than k series remain;
each, in random order, joins the group where the sum over members of the costs grows least.

Publishing. For each member one series is drawn, at each instant uniformly and independently between low and high. Who
knows values of a member cannot tell which of at least k published series is its own.

Relative to the original:

- It aligns the points of trajectories before it merges them, and suppresses points that no other one matches. Series
  over common instants are aligned already; nothing is suppressed, so nothing is lost there.
- Its boxes are of space and time. Here the time of a point is known and the box is a range of values: the published
  instants are exact.
- It may drop the fewer than k trajectories that are left. Here they are published as well, as in the paper that
  compares with it, where all methods publish all series or nearly all.
- Its cheaper variant takes the k - 1 series nearest to the first one. This is the dearer one, in which every series is
  compared with the envelope as grown so far ("multi TGA").
- Continuous values have no smallest unit, which the logarithm needs. `RESOLUTION` is the one that harms it
  least; see there.

Cost O(n² T) at worst, where a comparison ends as soon as it is dearer than the best so far.

References
----------
M. E. Nergiz, M. Atzori, Y. Saygin and B. Güç, "Towards trajectory anonymization: a generalization-based approach",
Transactions on Data Privacy 2, 2009. "Supporting pattern-preserving anonymization for time-series data", section 7,
whose name for it this is. Built from the description there and the abstract and general outline of the original.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from shoal import Panel
from shoal.errors import ParameterError
from shoal.model import Envelopes

RESOLUTION = 10.0
"""The unit of a value, as a part of the range of the panel.

The least pattern loss and value loss come with coarse units, where the cost is nearly the sum of the widths: of eleven
units from 0.000001 to 100, those from 3 on are best on walks and on uniform values, and equal but for the seed
(2 000 series of 10 instants, k = 10). Against 0.001 the pattern loss is 0.30 instead of 0.38 on walks, and 0.34 instead
of 0.51 on uniform values: a fine unit rewards a group for agreeing closely at a few instants.
"""

_BLOCK = 8  # instants per logarithm: their product stays finite for any sensible unit


@dataclass(frozen=True, eq=False)
class Tga:
    """What TGA publishes, in the order of the rows it was given."""

    panel: Panel
    """The series drawn."""
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    """The envelope of each series, (series, instants): every original and every published value lies in its own."""
    labels: NDArray[np.int64]
    """The group of each series, 0, 1, 2, ..."""

    @property
    def envelopes(self) -> Envelopes:
        """The step before the drawing, for measures of ranges. The words are of level 1: they say nothing."""
        n, n_instants = self.low.shape
        return Envelopes(
            self.low,
            self.high,
            levels=np.ones(n, dtype=np.int64),
            patterns=("a" * n_instants,) * n,
            times=self.panel.times,
            timezone=self.panel.timezone,
        )


def tga(panel: Panel, *, k: int, seed: int, resolution: float = RESOLUTION) -> Tga:
    """Group at least k series at the least log cost, and draw a series from the envelope for each.

    Parameters
    ----------
    panel
        One channel without gaps, every series of another subject.
    k
        Smallest group.
    seed
        Decides with which series groups begin, and the series drawn.
    resolution
        The unit of a value, as a part of the range of the panel. A large one makes the cost a sum of widths.
    """
    _refuse(panel, k, resolution)
    rng = np.random.default_rng(seed)
    order = rng.permutation(panel.n_series)
    x = panel.rows
    unit = resolution * (x.max() - x.min()) or 1.0
    labels = np.empty(panel.n_series, dtype=np.int64)
    labels[order] = group_by_log_cost(np.ascontiguousarray(x[order] / unit), k)
    low, high = envelopes_of(x, labels)
    # Between two ends, whatever rounding does.
    drawn = np.clip(low + rng.random(x.shape) * (high - low), low, high)
    published = Panel(drawn, ids=panel.ids, times=panel.times, timezone=panel.timezone)
    return Tga(published, low, high, labels)


def envelopes_of(x: NDArray[np.float64], labels: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest value of each series' group at each instant, (series, instants)."""
    by_group = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[by_group], np.arange(labels.max() + 1))
    low, high = (extreme.reduceat(x[by_group], starts, axis=0) for extreme in (np.minimum, np.maximum))
    return low[labels], high[labels]


@njit()  # no cache: it would tie the kernel to the name under which a test loads this file
def group_by_log_cost(x: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """The group of each row of x, given in units of the resolution and in random order: the first row left begins."""
    n, n_instants = x.shape
    n_groups = n // k
    labels = np.full(n, -1, dtype=np.int64)
    low = np.empty((n_groups, n_instants))
    high = np.empty((n_groups, n_instants))
    left = np.arange(n)
    rows = x.copy()  # of those left, side by side: each round reads them all
    n_left = n
    for group in range(n_groups):
        place = 0
        for member in range(k):
            if member == 0:
                low[group], high[group] = rows[0], rows[0]
            else:
                place = _cheapest(rows[:n_left], low[group], high[group])
                low[group] = np.minimum(low[group], rows[place])
                high[group] = np.maximum(high[group], rows[place])
            labels[left[place]] = group
            n_left -= 1
            left[place], rows[place] = left[n_left], rows[n_left]
    sizes = np.full(n_groups, k)
    for place in range(n_left):
        best, best_growth = 0, np.inf
        for group in range(n_groups):
            old = np.log1p(high[group] - low[group]).sum()
            width = np.maximum(high[group], rows[place]) - np.minimum(low[group], rows[place])
            growth = (sizes[group] + 1) * np.log1p(width).sum() - sizes[group] * old
            if growth < best_growth:
                best, best_growth = group, growth
        labels[left[place]] = best
        sizes[best] += 1
        low[best] = np.minimum(low[best], rows[place])
        high[best] = np.maximum(high[best], rows[place])
    return labels


@njit()  # no cache: it would tie the kernel to the name under which a test loads this file
def _cheapest(rows: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> int:
    """The row that makes the envelope dearest by the least; the first of several."""
    n, n_instants = rows.shape
    inverse = 1.0 / (1.0 + (high - low))
    best, best_growth = 0, np.inf
    for i in range(n):
        growth = 0.0
        for start in range(0, n_instants, _BLOCK):
            ratio = 1.0
            for t in range(start, min(start + _BLOCK, n_instants)):
                beyond = max(low[t] - rows[i, t], rows[i, t] - high[t], 0.0)
                ratio *= 1.0 + beyond * inverse[t]
            growth += np.log(ratio)
            if growth >= best_growth:
                break
        if growth < best_growth:
            best, best_growth = i, growth
    return best


def _refuse(panel: Panel, k: int, resolution: float) -> None:
    if k < 1 or not resolution > 0.0:
        raise ParameterError(f"TGA needs k of at least 1 and a resolution above 0, got {k} and {resolution:g}.")
    if panel.n_channels != 1 or panel.n_missing or not panel.one_series_per_subject:
        raise ParameterError(
            f"TGA needs one channel without gaps and one series per subject; the panel has {panel.n_channels} "
            f"channels, {panel.n_missing} gaps, and {panel.n_series} series of {panel.n_subjects} subjects."
        )
    if panel.n_series < k:
        raise ParameterError(f"k={k} needs at least {k} series, the panel has {panel.n_series}. Lower k.")
