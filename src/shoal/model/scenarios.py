"""Groups published as a distribution at every instant, from which coherent curves can be drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import InputError
from shoal.model.profiles import MEAN, Profiles

SPREAD, LAGGED = "spread", "lagged"

LEAST_LEVELS, MOST_LEVELS = 3, 20
"""Two levels show no shape, and with more than twenty, some names would be equal."""

SHAPE_DECIMALS, LAGGED_DECIMALS, SPREAD_DIGITS = 3, 2, 3
"""How finely shapes, rank correlations and spreads are published: exact ones would say more about single readings."""


def scenario_bands(n_levels: int) -> tuple[str, ...]:
    """The names of the figures: levels by the per cent of the subjects below their middle."""
    levels = (f"z{100.0 * (level + 0.5) / n_levels:.0f}" for level in range(n_levels))
    return (MEAN, SPREAD, *levels, LAGGED)


@dataclass(frozen=True, eq=False, repr=False)
class Scenarios(Profiles):
    """One row per group with a distribution of readings at every instant, and their rank correlation. Immutable.

    A reading of group g at instant t has the quantile function

        mean[g, t] + spread[g] * Z[t](p)

    where Z[t] runs through the levels z at the middles of equal shares of p, in straight lines. Several groups, a
    pool, share the levels and the row of `lagged`, bit for bit: a level is a mean over one of `n_levels` equal parts
    of the pool, so at least 1 / n_levels of its subjects stand behind it. `lagged` at row h is the correlation of the
    normal scores of the ranks of readings h instants apart, over all members of the pool.

    Parameters
    ----------
    values, counts, bands, times, channels, timezone, names
        As of Profiles, with one channel; the bands are `scenario_bands`.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        n_levels = len(self.bands) - 3
        if not LEAST_LEVELS <= n_levels <= MOST_LEVELS or self.bands != scenario_bands(n_levels):
            raise InputError("Scenarios need a mean, a spread, levels and lagged rank correlations.")
        if self.n_channels != 1 or np.isnan(self.values).any():
            raise InputError("Scenarios need one channel, and every figure.")

    @property
    def n_levels(self) -> int:
        """How many levels describe a distribution."""
        return len(self.bands) - 3

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each group, (groups, instants)."""
        return self.values[:, :, 0, 0]

    @property
    def spreads(self) -> NDArray[np.float64]:
        """The spread of each group."""
        return self.values[:, 0, 0, 1]

    @property
    def shapes(self) -> NDArray[np.float64]:
        """The levels in units of the spread, (groups, instants, levels)."""
        return self.values[:, :, 0, 2:-1]

    @property
    def lagged(self) -> NDArray[np.float64]:
        """The rank correlation of readings 0, 1, 2, … instants apart, (groups, instants)."""
        return self.values[:, :, 0, -1]

    @property
    def pools(self) -> NDArray[np.int64]:
        """For each group the position of the first group with exactly the same levels and correlations."""
        first: dict[bytes, int] = {}
        return np.array(
            [
                first.setdefault(np.ascontiguousarray(row[:, 0, 2:]).tobytes(), place)
                for place, row in enumerate(self.values)
            ],
            dtype=np.int64,
        )

    @property
    def pool_counts(self) -> NDArray[np.int64]:
        """For each group the number of subjects in its pool."""
        pools = self.pools
        return np.bincount(pools, weights=self.counts, minlength=self.n_groups).astype(np.int64)[pools]

    @property
    def crowds(self) -> NDArray[np.int64]:
        """The subjects behind the figure of a row that has the fewest: its mean, or a level of its pool."""
        return np.minimum(self.counts, self.pool_counts // self.n_levels)

    def standard_quantiles(self, shares: ArrayLike) -> NDArray[np.float64]:
        """Z at some shares, the same for all or (groups, instants, shares): straight lines through the levels."""
        place = np.clip(np.asarray(shares, dtype=np.float64), 0.0, 1.0) * self.n_levels - 0.5
        lower = np.clip(np.floor(place), 0, self.n_levels - 2).astype(np.int64)
        where = np.broadcast_to(lower, (*self.shapes.shape[:2], lower.shape[-1]))
        low, high = (np.take_along_axis(self.shapes, where + step, axis=2) for step in (0, 1))
        quantiles: NDArray[np.float64] = low + (place - lower) * (high - low)
        return quantiles

    def quantiles(self, shares: ArrayLike) -> NDArray[np.float64]:
        """The quantiles of each group at each instant, (groups, instants, shares)."""
        quantiles: NDArray[np.float64] = self.means[:, :, None] + self.spreads[:, None, None] * self.standard_quantiles(
            shares
        )
        return quantiles

    def take(self, rows: ArrayLike) -> Self:
        """Some groups by position, without their names; a group may occur several times."""
        chosen = np.asarray(rows, dtype=np.int64)
        return replace(self, values=self.values[chosen], counts=self.counts[chosen], names=())

    def faults(self) -> list[str]:
        """Where the figures contradict what they are said to be."""
        faults = []
        if (self.values[:, :, 0, 1] != self.spreads[:, None]).any() or (self.spreads < 0.0).any():
            faults.append("a spread is negative, or not the same at all instants")
        if not np.array_equal(self.spreads, round_spreads(self.spreads)):
            faults.append(f"spreads have more than {SPREAD_DIGITS} digits")
        if (np.diff(self.shapes, axis=2) < 0.0).any():
            faults.append("levels are not in ascending order")
        if not np.array_equal(self.shapes, np.round(self.shapes, SHAPE_DECIMALS)):
            faults.append(f"levels have more than {SHAPE_DECIMALS} decimals")
        # Deviations from a mean add up to nothing, and every subject of a pool is in exactly one level.
        pooled = self.pool_counts
        ends = np.arange(self.n_levels + 1) * pooled[:, None] // self.n_levels
        total = np.einsum("gtl,gl->gt", self.shapes, np.diff(ends, axis=1).astype(np.float64)) / pooled[:, None]
        if (np.abs(total) > 10.0**-SHAPE_DECIMALS).any():
            faults.append("levels are not means over equal parts of their pool: they do not add up to the mean")
        lagged = self.lagged
        if (lagged[:, 0] != 1.0).any() or (np.abs(lagged) > 1.0).any():
            faults.append("lagged correlations do not begin with 1, or lie outside -1 to 1")
        if not np.array_equal(lagged, np.round(lagged, LAGGED_DECIMALS)):
            faults.append(f"lagged correlations have more than {LAGGED_DECIMALS} decimals")
        return faults

    def __repr__(self) -> str:
        return f"Scenarios({self.n_groups} groups, {self.n_instants} instants, {self.n_levels} levels)"


def round_spreads(spreads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Spreads rounded to the published number of digits."""
    return np.array([float(f"{spread:.{SPREAD_DIGITS}g}") for spread in spreads.tolist()], dtype=np.float64)
