"""What attacks compare, series by series, and how they find the nearest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Alignment
from shoal.attacks.habits import describe, mean_cycles
from shoal.attacks.links import Links
from shoal.attacks.nearest_neighbour import Periods
from shoal.attacks.totals import sum_steps
from shoal.engines.attacking.targets import Floats, Rows
from shoal.kernels.known_instants import nearest_at, told_places
from shoal.kernels.likeness import TOLERANCE, most_alike, told_places_by_fit, unlikeness
from shoal.kernels.nearest_rows import nearest_rows


@dataclass(frozen=True)
class Aligned:
    """The published values at the instants the original has as well."""

    alignment: Alignment

    def __call__(self, values: Floats) -> Floats:
        """(series, instants x channels)."""
        return self.alignment.published(values).reshape(len(values), -1)


@dataclass(frozen=True)
class Summed:
    """Totals per step of the published values."""

    alignment: Alignment
    starts: Rows

    def __call__(self, values: Floats) -> Floats:
        """(series, steps x channels)."""
        return sum_steps(self.alignment.published(values), self.starts)


@dataclass(frozen=True)
class OriginalSummed:
    """Totals per step of the originals, all in one column: for their spread."""

    alignment: Alignment
    starts: Rows

    def __call__(self, values: Floats) -> Floats:
        """(series x steps x channels, 1)."""
        return sum_steps(self.alignment.original(values), self.starts).reshape(-1, 1)


@dataclass(frozen=True)
class Readings:
    """The originals' readings, a column for each channel: for their spread."""

    alignment: Alignment

    def __call__(self, values: Floats) -> Floats:
        """(series x instants, channels)."""
        return self.alignment.original(values).reshape(-1, values.shape[2])


@dataclass(frozen=True)
class Levels:
    """The originals as a coarser release may show them, a column for each way; for their general level."""

    alignment: Alignment

    def __call__(self, values: Floats) -> Floats:
        """(numbers, ways)."""
        return np.column_stack([way.ravel() for way in self.alignment.ways(values)])


@dataclass(frozen=True)
class Level:
    """The published values in one column; for their general level."""

    alignment: Alignment

    def __call__(self, values: Floats) -> Floats:
        """(numbers, 1)."""
        return self.alignment.published(values).reshape(-1, 1)


@dataclass(frozen=True)
class Habits:
    """What lasts of the attacked period: mean cycles, or statistics in units of their spread."""

    periods: Periods
    slots: Rows
    common: Rows
    statistics: bool
    spread: Floats | None = None
    """Of the statistics, over all published series; None as long as it is not known."""

    def __call__(self, values: Floats) -> Floats:
        """(series, slots or statistics x channels)."""
        if self.periods.alignment is not None:
            values = self.periods.alignment.published(values)
        return self.of(values[:, self.periods.shown], self.slots)

    def of(self, values: Floats, slots: Rows) -> Floats:
        """The same of series whose instants have these slots."""
        if not self.statistics:
            return mean_cycles(values, slots, self.common)
        found = describe(values, slots, self.common)
        if self.spread is None:
            return found
        use = self.spread > 0
        return found[:, use] / self.spread[use] if use.any() else found * 0.0


@dataclass(frozen=True, eq=False, repr=False)
class AtPoints:
    """Readings at a few instants, as they stand or up to level and unit."""

    seen: Floats
    places: Rows
    shift: int
    fitted: bool
    true: Floats
    """Of each target all readings, (targets, instants, channels)."""
    used: NDArray[np.bool_]
    within: float

    @property
    def tolerance(self) -> float:
        """Fits are rounded."""
        return TOLERANCE if self.fitted else 0.0

    def nearest(self, series: Floats, targets: slice) -> tuple[Links, Floats]:
        """By mean squares, or by 1 - r."""
        x, places, y = self.seen[targets], self.places[targets], self._laid_out(series)
        if not self.fitted:
            links = Links(*nearest_at(x, places, y, self.shift))
            return links, links.distances[links.target(), 0]
        links = Links(*most_alike(x, places, y, self.shift))
        return links, unlikeness(links.start, links.which, x, places, y, self.shift)

    def told(self, links: Links, series: Floats, targets: slice) -> tuple[NDArray[np.bool_], Floats]:
        """The other instants at which all candidates are right."""
        y, true, used = self._laid_out(series), self.true[targets], self.used[targets]
        n_channels = true.shape[2]
        if self.fitted:
            x, places = self.seen[targets], self.places[targets]
            right = told_places_by_fit(links.start, links.which, y, x, places, self.shift, true, used, self.within)
            # Each candidate is right by a fit of its own: there is no common value to agree upon.
            cells = np.repeat(right, n_channels, axis=1)
            return cells, np.zeros(cells.shape)
        right = told_places(links.start, links.which, y, true, used, self.within)
        some = np.diff(links.start) > 0
        shown = np.zeros((len(right), series.shape[1]))
        shown[some] = series[links.which[links.start[:-1][some]]]
        return np.repeat(right, n_channels, axis=1), shown

    def _laid_out(self, series: Floats) -> Floats:
        """(instants, channels, series)."""
        n_instants, n_channels = self.true.shape[1:]
        return np.ascontiguousarray(series.T).reshape(n_instants, n_channels, len(series))


@dataclass(frozen=True, eq=False, repr=False)
class ByRows:
    """Whole rows by mean squares."""

    known: Floats
    gaps: bool
    """Whether any row of all has gaps."""
    tolerance: float = 0.0

    def nearest(self, series: Floats, targets: slice) -> tuple[Links, Floats]:
        """By mean squares over the columns both have."""
        links = Links(*nearest_rows(self.known[targets], series, gaps=self.gaps))
        return links, links.distances[links.target(), 0]

    def told(self, links: Links, series: Floats, targets: slice) -> tuple[NDArray[np.bool_], Floats]:
        """Nobody asks."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class ByFit:
    """Totals as means over their steps, up to level and unit."""

    known: Floats
    lengths: Rows
    tolerance: float = TOLERANCE

    def nearest(self, series: Floats, targets: slice) -> tuple[Links, Floats]:
        """By 1 - r."""
        x, y = (
            rows.reshape(len(rows), len(self.lengths), -1) / self.lengths[:, None]
            for rows in (self.known[targets], series)
        )
        places = np.ascontiguousarray(np.broadcast_to(np.arange(len(self.lengths)), (len(x), len(self.lengths))))
        y = np.ascontiguousarray(y.transpose(1, 2, 0))
        links = Links(*most_alike(x, places, y, 0))
        return links, unlikeness(links.start, links.which, np.ascontiguousarray(x), places, y, 0)

    def told(self, links: Links, series: Floats, targets: slice) -> tuple[NDArray[np.bool_], Floats]:
        """Nobody asks."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, repr=False)
class ByWarping:
    """Mean cycles by dynamic time warping."""

    known: Floats
    band: int
    tolerance: float = 0.0

    def nearest(self, series: Floats, targets: slice) -> tuple[Links, Floats]:
        """By warped distance."""
        from shoal.kernels.dtw import nearest_by_warping

        links = Links(*nearest_by_warping(self.known[targets], series, self.band))
        return links, links.distances[links.target(), 0]

    def told(self, links: Links, series: Floats, targets: slice) -> tuple[NDArray[np.bool_], Floats]:
        """Nobody asks."""
        raise NotImplementedError


Shown = Callable[[Floats], Floats]
