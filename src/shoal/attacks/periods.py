"""Two periods of the same people: what an adversary knows about one, and what a release shows about the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import NO_LEVELS, Alignment, Ground, Rows, align, find_grounds, is_coarser
from shoal.errors import ParameterError
from shoal.model import Moments, Panel
from shoal.read.zones import local_times


@dataclass(frozen=True, eq=False, repr=False)
class Periods:
    """Which instants are known and which are attacked."""

    known: Rows
    """Positions in the original, or among the common instants."""
    known_times: NDArray[Any]
    shown: Rows
    """Positions in the release, or among the common instants."""
    shown_times: NDArray[Any]
    alignment: Alignment | None
    """How both are brought to common instants; None if the original has other instants than the release."""


def find_periods(name: str, original: Panel, published: Panel) -> Periods:
    """Instants that the release lacks are known; if it has all, the first half is known and the second attacked."""
    same_kind = original.times.dtype.kind == published.times.dtype.kind
    outside = _outside(original.times, published.times) if same_kind else np.zeros(0, dtype=np.bool_)
    if outside.any() and original.n_channels == published.n_channels:
        everything = np.arange(len(published.times))
        known, shown = (local_times(side.times, side.timezone) for side in (original, published))
        return Periods(np.flatnonzero(outside), known[outside], everything, shown, None)
    both = align(name, original, published)
    half = len(both.times) // 2
    if half < 1:
        raise ParameterError(f"{name} needs at least two instants: one to know and one to attack.")
    places = np.arange(len(both.times))
    return Periods(places[:half], both.times[:half], places[half:], both.times[half:], both)


def _outside(fine: NDArray[Any], shown: NDArray[Any]) -> NDArray[np.bool_]:
    """Instants before and after the release; the last value of a coarser one covers a stretch."""
    after = fine > shown[-1]
    if len(shown) > 1 and is_coarser(fine, shown):
        after = fine >= shown[-1] + (shown[-1] - shown[-2])
    outside: NDArray[np.bool_] = (fine < shown[0]) | after
    return outside


def find_grounds_of_periods(
    name: str, original: Panel, published: Panel, is_shard: bool
) -> tuple[Periods, list[Ground], Moments]:
    """What is known and what is attacked, by each way the release may show the originals."""
    periods = find_periods(name, original, published)
    if periods.alignment is not None:
        return periods, *find_grounds(name, original, published, is_shard)
    x, p = (side.cube for side in (original, published))
    return periods, [Ground(x, p, published.times)], NO_LEVELS
