"""Numbers that are too frequent in a group, some of them replaced by nearby ones (section 5.4).

Of the rows of a group that carry a value v, cap = floor(size / l) may keep it. The others, drawn at random, each get

    1. a number nobody in the column has, drawn from [v - reach, v + reach]                           (the paper)
    2. where that holds none any more: the number nearest to v that fewer than cap rows of the group have

A new number lies on the grid of the column (whole numbers stay whole, prices keep two decimals, multiples of 100 stay
multiples) and between its smallest and largest number, if possible: elsewhere it would stand out. The paper has no
second step; without it a column of ages, all of which someone has, would get ages of 120.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

_DRAWS = 32  # tries to find a number that nobody has, where the reach holds more than so many
_EXACT = 2**53  # up to here a float64 holds every whole number
_MOST_DECIMALS = 15

Key = int | float
"""A number as its grid counts it."""


class Perturbed(NamedTuple):
    """The column with its new numbers, how many are new, and how many of these lie further away than the reach."""

    column: NDArray[Any]
    n_changed: int
    n_beyond: int


def perturb(
    column: NDArray[Any], classes: NDArray[np.int64], l: int, reach: float, rng: np.random.Generator
) -> Perturbed:
    """Make every value of a group, numbered in `classes` from 0, belong to at most one in l of its rows."""
    grid = find_grid(column, reach)
    caps = np.bincount(classes) // l
    rows = excess_rows(np.unique(column, return_inverse=True)[1].reshape(-1), classes, caps, rng)
    if not len(rows):
        return Perturbed(column, 0, 0)
    keys = grid.keys(column)
    taken, exhausted = set(keys), set[Key]()
    touched = np.zeros(len(caps), dtype=np.bool_)
    touched[classes[rows]] = True
    held = Counter((int(classes[i]), keys[i]) for i in np.flatnonzero(touched[classes]).tolist())
    for row in rows.tolist():
        held[int(classes[row]), keys[row]] -= 1
    result, n_beyond = column.copy(), 0
    for row in rows.tolist():
        old, group = keys[row], int(classes[row])
        new = None
        if old not in exhausted:
            new = next((key for key in grid.within(old, rng) if key not in taken), None)
            if new is None:
                exhausted.add(old)
        if new is None:
            new = next(key for key in grid.outward(old, rng) if held[group, key] < caps[group])
            n_beyond += not grid.reaches(old, new)
        taken.add(new)
        held[group, new] += 1
        result[row] = grid.number(new)
    return Perturbed(result, len(rows), n_beyond)


def excess_rows(
    values: NDArray[np.int64], classes: NDArray[np.int64], caps: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The rows of each group and value beyond its cap; which ones is drawn at random."""
    order = np.lexsort((rng.permutation(len(values)), values, classes))
    new_run = (np.diff(classes[order], prepend=-1) != 0) | (np.diff(values[order], prepend=-1) != 0)
    starts = np.flatnonzero(new_run)
    rank = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return order[rank >= caps[classes[order]]]


class NumberGrid(Protocol):
    """Where the numbers of a column may be."""

    def keys(self, column: NDArray[Any]) -> list[Key]:
        """The numbers as the grid counts them."""

    def number(self, key: Key) -> Key:
        """The number of a key."""

    def within(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """Some keys within reach of this one, in random order, none beyond the column's own."""

    def outward(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """Keys nearer first, those between the column's least and greatest number before the others."""

    def reaches(self, old: Key, new: Key) -> bool:
        """Whether one is within reach of the other."""


def find_grid(column: NDArray[Any], reach: float) -> NumberGrid:
    """Whole numbers or decimals with their common step; all floats if the digits have no end."""
    if column.dtype.kind == "i":
        return _steps(np.unique(column).tolist(), 0, reach, (-(2**63), 2**63 - 1))
    distinct = np.unique(column + 0.0)
    for decimals in range(_MOST_DECIMALS + 1):
        scale = 10.0**decimals
        with np.errstate(over="ignore"):
            scaled = np.rint(distinct * scale)
        if np.abs(scaled).max() >= _EXACT:
            break
        if np.array_equal(scaled / scale, distinct):
            return _steps([int(m) for m in scaled.tolist()], decimals, reach, (-_EXACT, _EXACT))
    with np.errstate(over="ignore"):
        short = bool((distinct.astype(np.float32).astype(np.float64) == distinct).all())
    return Floats(float(distinct[0]), float(distinct[-1]), float(reach), np.float32 if short else np.float64)


def _steps(units: list[int], decimals: int, reach: float, limits: tuple[int, int]) -> Ladder:
    common = 0
    for unit in units:
        common = math.gcd(common, unit - units[0])
        if common == 1:
            break
    return Ladder(units[0], units[-1], _round_step(common), decimals, int(Fraction(reach) * 10**decimals), limits)


def _round_step(common: int) -> int:
    """The largest of 1, 2, 5, 10, 20, 25, 50, 100, ... that divides it: few numbers may have any step in common."""
    if not common:
        return 1
    step = 1
    while common % (10 * step) == 0:
        step *= 10
    return max(some for some in (step, 2 * step, 5 * step, 25 * step) if common % some == 0)


@dataclass(frozen=True)
class Ladder:
    """Every `step` units from the least number on; a unit is one in the last of `decimals`."""

    least: int
    greatest: int
    step: int
    decimals: int
    reach: int
    limits: tuple[int, int]

    def keys(self, column: NDArray[Any]) -> list[Key]:
        """Whole units."""
        if column.dtype.kind == "i":
            return list(column.tolist())
        return [int(m) for m in np.rint(column * 10.0**self.decimals).tolist()]

    def number(self, key: Key) -> Key:
        """Divided once, so rounded as the text of the decimal would be."""
        return key / 10**self.decimals if self.decimals else key

    def within(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """All of them if they are few."""
        below = int(min(self.reach, key - self.least)) // self.step
        above = int(min(self.reach, self.greatest - key)) // self.step
        n = below + above + 1
        if n <= _DRAWS:
            places = rng.permutation(n).tolist()
        else:
            # As parts of 1, because the number of steps may be beyond 64 bits.
            places = [min(math.floor(part * n), n - 1) for part in rng.random(_DRAWS).tolist()]
        for place in places:
            yield int(key) + (place - below) * self.step

    def outward(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """Both sides in turn."""
        first = int(rng.integers(2)) * 2 - 1
        for low, high in ((self.least, self.greatest), self.limits):
            jump = self.step
            while key - jump >= low or key + jump <= high:
                for new in (int(key) + first * jump, int(key) - first * jump):
                    if low <= new <= high:
                        yield new
                jump += self.step

    def reaches(self, old: Key, new: Key) -> bool:
        """In units."""
        return abs(new - old) <= self.reach


@dataclass(frozen=True)
class Floats:
    """Every number that a float of this type holds."""

    least: float
    greatest: float
    reach: float
    kind: type[np.floating[Any]]

    def keys(self, column: NDArray[Any]) -> list[Key]:
        """The numbers themselves; 0.0 and -0.0 are one."""
        return list((column + 0.0).tolist())

    def number(self, key: Key) -> Key:
        """The number itself."""
        return key

    def within(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """Evenly drawn."""
        low, high = max(key - self.reach, self.least), min(key + self.reach, self.greatest)
        for drawn in rng.random(_DRAWS).tolist():
            new = float(self.kind(low + drawn * (high - low)))
            if low <= new <= high:
                yield new + 0.0

    def outward(self, key: Key, rng: np.random.Generator) -> Iterator[Key]:
        """One float after the other."""
        first = float("inf") if rng.integers(2) else float("-inf")
        for low, high in ((self.least, self.greatest), (-float("inf"), float("inf"))):
            one, other = self.kind(key), self.kind(key)
            while True:
                with np.errstate(over="ignore"):
                    one, other = np.nextafter(one, self.kind(first)), np.nextafter(other, self.kind(-first))
                inside = [float(new) for new in (one, other) if low <= new <= high and np.isfinite(new)]
                if not inside:
                    break
                yield from inside

    def reaches(self, old: Key, new: Key) -> bool:
        """By the numbers themselves."""
        return abs(new - old) <= self.reach
