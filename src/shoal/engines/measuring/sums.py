"""Measures as sums over series: what is added up for each block, and what the sums say in the end.

    summarise   of a block of series the numbers that are added, and those whose squares are
    conclude    the score, from how many there were and their exact sums

A number is computed from one series alone, in the same steps as in memory; sums are exact. So the score depends neither
on blocks nor on an engine, and differs from the one in memory by the rounding of sums there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.model import Score

Floats = NDArray[np.float64]
NOTHING = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Added:
    """What all blocks add up to."""

    counts: NDArray[np.int64]
    sums: list[Fraction]
    squares: list[Fraction]

    def mean(self, place: int = 0) -> float:
        """The mean of one column."""
        n = int(self.counts[place])
        return float(self.sums[place] / n) if n else 0.0


@dataclass(frozen=True, eq=False)
class Block:
    """Series of a block before and after, (series, instants, channels)."""

    before: Floats
    after: Floats
    further: dict[str, Any] = field(default_factory=dict)
    """What only some measures ask for, such as the words of envelopes."""

    @property
    def both(self) -> tuple[Floats, Floats]:
        """The same with what either lacks lacking in both."""
        lacking = np.isnan(self.before) | np.isnan(self.after)
        return np.where(lacking, np.nan, self.before), np.where(lacking, np.nan, self.after)


@dataclass(frozen=True, eq=False)
class Sums:
    """A measure as sums. `summarise` gives (rows, columns) to add and (rows, columns) to square and add."""

    summarise: Callable[[Block], tuple[Floats, Floats]]
    conclude: Callable[[Added], Score]


@dataclass(frozen=True)
class Changes:
    """Absolute changes and absolute originals of all cells."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """Two columns."""
        before, after = block.both
        return np.column_stack([np.abs(before - after).ravel(), np.abs(before).ravel()]), NOTHING


@dataclass(frozen=True)
class Near:
    """Whether each cell is published within a share of its original."""

    limit: float

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """One column of 0 and 1."""
        before, after = (side.ravel() for side in block.both)
        apart, there = np.abs(before - after), ~np.isnan(before)
        near = (~(apart > self.limit * np.abs(before))).astype(np.float64)
        return np.where(there, near, np.nan)[:, None], NOTHING


@dataclass(frozen=True)
class Distances:
    """Euclidean distances of all points."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """One column."""
        before, after = block.both
        apart = before - after
        return np.sqrt(np.sum(apart**2, axis=2, where=~np.isnan(apart))).reshape(-1, 1), NOTHING


@dataclass(frozen=True)
class Errors:
    """Originals and published values by column, and their differences: for variances."""

    by_instant: bool
    """A column for each instant and channel; else for each channel."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """Originals and published values to add; these and the differences to square."""
        width = block.before.shape[2] * (block.before.shape[1] if self.by_instant else 1)
        before, after = (np.ascontiguousarray(side).reshape(-1, width) for side in block.both)
        plain = np.concatenate([before, after], axis=1)
        return plain, np.concatenate([plain, before - after], axis=1)


def variations(added: Added) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Of each column of `Errors`: squared deviations of originals, of published values, and squared differences."""
    width = len(added.squares) // 3
    around = [
        square - plain * plain / max(1, int(n))
        for square, plain, n in zip(added.squares[: 2 * width], added.sums, added.counts, strict=True)
    ]
    return around[:width], around[width:], added.squares[2 * width :]


@dataclass(frozen=True)
class Apart:
    """Of each series how far what is taken from it is from what is taken from its original, and how large that is."""

    taken: Callable[[Floats], Floats]
    """From (series, instants, channels) to numbers (series, numbers, channels)."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """A column of changes for each channel, then one of sizes."""
        one, other = (self.taken(side) for side in block.both)
        return np.concatenate([np.nansum(np.abs(one - other), axis=1), np.nansum(np.abs(one), axis=1)], axis=1), NOTHING


@dataclass(frozen=True)
class PerSeries:
    """A figure of each series."""

    figure: Callable[[Block], Floats]

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """All figures in as many columns as it has."""
        return self.figure(block), NOTHING


@dataclass(frozen=True)
class Complete:
    """A figure of series without gaps; how many have some is counted in a last column, for the driver to refuse."""

    figure: Callable[[Block], Floats]

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """The figures, and how many series of the block have gaps."""
        lacking = np.isnan(block.before).any(axis=(1, 2)) | np.isnan(block.after).any(axis=(1, 2))
        filled = replace(block, before=np.nan_to_num(block.before), after=np.nan_to_num(block.after))
        found = self.figure(filled if lacking.any() else block)
        gaps = np.zeros((len(found), 1))
        gaps[0] = np.count_nonzero(lacking)
        return np.concatenate([found, gaps], axis=1), NOTHING


def without_gaps(name: str, added: Added) -> Added:
    """What `Complete` figures add up to; refused where some series have gaps."""
    if gaps := int(added.sums[-1]):
        raise ParameterError(
            f"{name} needs complete series; {gaps} have gaps. Read the table with missing='drop-series' or "
            "missing='interpolate:2h'."
        )
    return Added(added.counts[:-1], added.sums[:-1], added.squares)


@dataclass(frozen=True)
class Curves:
    """What is observed at each instant, of each side by itself: for the mean of all series."""

    def __call__(self, block: Block) -> tuple[Floats, Floats]:
        """Originals, then published values."""
        return np.concatenate([side.reshape(len(side), -1) for side in (block.before, block.after)], axis=1), NOTHING


def roots(numbers: list[Fraction]) -> Floats:
    """Their square roots."""
    return np.array([sqrt(number) for number in numbers])
