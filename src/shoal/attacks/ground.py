"""The starting point of an attack: both panels over the same instants, and who is behind the published series.

The truth serves to score an attack, and to provide what the adversary knows about its targets. An adversary never sees
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoal.errors import ParameterError
from shoal.kernels.equal_rows import row_classes
from shoal.model import Attack, Moments, Panel
from shoal.model.attack import R_co
from shoal.read.zones import local_times

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]

NOBODY = -1
"""The subject of a fictive row."""

OFF_SCALE = 0.5
"""If the mean over the whole release differs by more than this share, the release is on another scale."""

NO_LEVELS = Moments(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))
"""Used if there is only one way to show the originals, so that the number of readings does not matter."""


class NothingSharedError(ParameterError):
    """Readings at the same instants must be compared, but there are none."""


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """Originals and published series at the same instants, (series, instants, channels)."""

    original: Floats
    published: Floats
    times: NDArray[Any]

    @property
    def n_instants(self) -> int:
        """The common instants."""
        return len(self.times)


@dataclass(frozen=True, eq=False, repr=False)
class Alignment:
    """How both sides are brought to the same instants, series by series."""

    times: NDArray[Any]
    """Shown on the clock of the original: the adversary's days and hours are local."""
    common: Rows
    """Positions of these instants in the original; none if the release is coarser."""
    kept: Rows
    """Positions of these instants in the release."""
    cells: tuple[slice, ...] = ()
    """If the release is coarser, the stretch of the original that each instant stands for."""

    def ways(self, x: Floats) -> list[Floats]:
        """Originals (series, instants, channels) as the release may show them: several ways if it is coarser."""
        if not self.cells:
            return [x[:, self.common]]
        return [
            np.stack([x[:, cell][:, 0] for cell in self.cells], axis=1),
            np.stack([x[:, cell].mean(axis=1) for cell in self.cells], axis=1),
            np.stack([x[:, cell].sum(axis=1) for cell in self.cells], axis=1),
        ]

    def published(self, p: Floats) -> Floats:
        """Published series at the common instants."""
        return p[:, self.kept]


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """Who is behind each published row, and who is attacked."""

    rows: Rows
    """The original each published row stands for; NOBODY for a fictive one."""
    owners: Rows
    """The subject behind each published row; NOBODY for a fictive one."""
    subjects: Rows
    """The subject of each original."""
    targets: Rows
    """Positions of the originals under attack. All are published, and the adversary is assumed to know that."""
    n_left_out: int
    """Originals that were not published."""
    first: int = 0
    """Number of originals in the shards before: draws depend on positions in the whole."""
    is_shard: bool = False
    """Whether there are other shards, so that nothing may be concluded from this one."""

    @property
    def of_targets(self) -> Rows:
        """The subject of each target."""
        return self.subjects[self.targets]


class SeriesAttack(Attack[R_co]):
    """An attack on one release of series of values. Subclasses define `look` and `risk`."""

    needs_rows: ClassVar[bool] = True
    """Whether the attack needs to know which original each published series stands for; else everyone counts as
    published."""

    def find(
        self,
        original: Panel,
        published: Panel,
        *,
        rows: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        first: int | None = None,
        **further: Any,
    ) -> Any:
        """What is found about each target; further arguments go to `look`."""
        need_panel(type(self).__name__, published)
        if rows is None and not self.needs_rows:
            truth = everybody(original, targets)
        else:
            truth = find_truth(original, published, rows, targets, first)
        if targets is None:
            truth = replace(truth, targets=self.draw(truth.targets))
        return self.look(original, published, truth, **further)

    def look(self, original: Panel, published: Panel, truth: Truth) -> Any:
        """What is found about each target, given who is behind the published rows."""
        raise NotImplementedError


def need_panel(name: str, published: object) -> Panel:
    """Refuse a form of release that has no series of values."""
    if not isinstance(published, Panel):
        raise ParameterError(
            f"{name} attacks published series of values. Attack envelopes and words with linkage, events with "
            "homogeneity; for group profiles, repeat each mean as often as its group counts and give it as a Panel."
        )
    return published


def find_truth(
    original: Panel, published: Panel, rows: ArrayLike | None, targets: ArrayLike | None, first: int | None = None
) -> Truth:
    """Read who is behind each published row; targets are the published originals."""
    n = original.n_series
    if rows is None:
        if published.n_series != n:
            raise ParameterError(
                f"{n} series were given and {published.n_series} published. Give `rows`: the original that each "
                "published one stands for, -1 for a fictive one."
            )
        stands_for = np.arange(n)
    else:
        stands_for = read_positions("rows", rows, n, least=NOBODY)
        if stands_for.shape != (published.n_series,):
            raise ParameterError(f"rows needs {published.n_series} positions, one for each published series.")
    subjects = original.subject_codes
    owners = np.where(stands_for < 0, NOBODY, subjects[stands_for])
    there = np.isin(subjects, owners)
    wanted = np.arange(n) if targets is None else np.unique(read_positions("targets", targets, n))
    n_left_out = int(np.count_nonzero(~there))
    return Truth(stands_for, owners, subjects, wanted[there[wanted]], n_left_out, first or 0, first is not None)


def everybody(original: Panel, targets: ArrayLike | None) -> Truth:
    """It is unknown which published series belongs to whom: all originals count as members of the table."""
    subjects, n = original.subject_codes, original.n_series
    wanted = np.arange(n) if targets is None else np.unique(read_positions("targets", targets, n))
    return Truth(np.full(n, NOBODY), subjects, subjects, wanted, 0)


def need_targets(targets: Rows) -> Rows:
    """Refuse to attack nobody."""
    if not len(targets):
        raise ParameterError("None of the targets is in the release, so there is nothing to attack.")
    return targets


def read_positions(name: str, given: ArrayLike, n: int, least: int = 0) -> Rows:
    """Positions among n originals."""
    array = np.asarray(given)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ParameterError(f"{name} must be positions in the original, whole numbers in one row.")
    positions = array.astype(np.int64)
    if (positions < least).any() or (positions >= n).any():
        raise ParameterError(f"{name} has positions that the original does not have; it has {n}.")
    return positions


def find_ground(name: str, original: Panel, published: Panel) -> Ground:
    """Bring both panels to the instants they share.

    If the release is coarser, a published value covers the stretch from its instant to the next (the last one as long
    as the one before). The adversary infers from the overall level whether it is the first reading, the mean or the sum
    of the stretch, and treats its knowledge the same way; if the level matches none of these, the release is on another
    scale, and the mean is used.
    """
    return find_grounds(name, original, published, is_shard=False)[0][0]


def find_grounds(name: str, original: Panel, published: Panel, is_shard: bool) -> tuple[list[Ground], Moments]:
    """Like `find_ground`, for a shard: by each way the release may show the originals, with levels to choose by over
    all shards."""
    both = align(name, original, published)
    p = both.published(published.cube)
    ways = both.ways(original.cube)
    if both.cells:
        levels = _levels([*ways, p])
        if is_shard:
            return [Ground(way, p, both.times) for way in ways], levels
        ways = [ways[shown_way(levels)]]
    return [Ground(ways[0], p, both.times)], count_readings(ways[0])


def shown_way(levels: Moments) -> int:
    """The way whose level over all originals is nearest to that of the release, which comes last."""
    if len(levels.means) < 2:
        return 0
    off = np.abs(levels.means[:-1] - levels.means[-1])
    nearest = int(np.argmin(off))
    if off[nearest] > OFF_SCALE * abs(levels.means[nearest]):
        return 1  # up to a factor, the mean is also the sum
    return nearest


def align(name: str, original: Panel, published: Panel) -> Alignment:
    """The instants both share."""
    if original.n_channels != published.n_channels:
        raise ParameterError(
            f"{name} needs the same channels on both sides; the original has {original.n_channels}, the release "
            f"{published.n_channels}. Attack each channel by itself."
        )
    if original.times.dtype.kind != published.times.dtype.kind:
        raise ParameterError(
            f"{name} needs instants of one kind; one side has dates, the other numbers. Give both the same times; "
            "slices without dates are attacked by reordering."
        )
    if is_coarser(original.times, published.times):
        found = _coarse(name, original.times, published.times)
        return replace(found, times=local_times(found.times, original.timezone))
    common = np.flatnonzero(np.isin(original.times, published.times))
    if not len(common):
        raise _nothing_shared(name)
    times = local_times(original.times[common], original.timezone)
    return Alignment(times, common, np.flatnonzero(np.isin(published.times, original.times)))


def find_classes(rows: Floats) -> tuple[Floats, Rows]:
    """The distinct rows, and the number of each row among them, by first appearance."""
    plain = np.ascontiguousarray(rows) + 0.0  # -0.0 and 0.0 are one value to an adversary
    first = row_classes(plain.view(np.uint64))
    distinct = np.unique(first)
    return plain[distinct], np.searchsorted(distinct, first)


def is_coarser(fine: NDArray[Any], coarse: NDArray[Any]) -> bool:
    """Whether the release has a longer step; a single instant may cover everything."""
    if len(fine) < 2 or len(coarse) < 2:
        return len(fine) > len(coarse)
    step, other = (np.diff(times.astype(np.int64)).min() for times in (fine, coarse))
    return bool(other > step)


def _coarse(name: str, fine: NDArray[Any], coarse: NDArray[Any]) -> Alignment:
    starts = np.searchsorted(fine, coarse)
    stops = np.append(starts[1:], len(fine))
    if len(coarse) > 1:
        stops[-1] = np.searchsorted(fine, coarse[-1] + (coarse[-1] - coarse[-2]))
    full = stops > starts
    if not full.any():
        raise _nothing_shared(name)
    cells = tuple(slice(int(a), int(b)) for a, b in zip(starts[full], stops[full], strict=True))
    return Alignment(coarse[full], np.zeros(0, dtype=np.int64), np.flatnonzero(full), cells)


def count_readings(values: Floats) -> Moments:
    """Number of readings that can be known; with only one way to show them, their level does not matter."""
    return Moments(np.array([np.count_nonzero(~np.isnan(values))]), np.zeros(1), np.zeros(1))


def _levels(several: Sequence[Floats]) -> Moments:
    """Number and mean of all readings of each."""
    known = [values[~np.isnan(values)] for values in several]
    means = np.array([float(one.mean()) if one.size else 0.0 for one in known])
    return Moments(np.array([one.size for one in known], dtype=np.int64), means, np.zeros(len(known)))


def _nothing_shared(name: str) -> NothingSharedError:
    return NothingSharedError(
        f"{name} compares readings of the same instants, but the release shares none with the original. For knowledge "
        "of another period, use relink."
    )
