"""Originals that a published table repeats, no matter to whom its series are said to belong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, find_classes, find_ground, need_targets
from shoal.attacks.links import N_WORST
from shoal.attacks.words import beside_control, between, check_amount, check_targets, percent
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Findings, Interval, Panel, Risk
from shoal.read.zones import local_times

DISTINCT = 6
"""The fewest different readings of a copy to the last bit, if it is a day or some are missing: fewer may be alike by
chance."""

SHARED = 12
"""The same for copies within the tolerance, if some readings are missing. Of 10,000 pairs of simulated strangers that
share 6 to 8 different readings, about one is alike within 5 %."""


@dataclass(frozen=True)
class CopiesRisk(Risk):
    """How many originals a table repeats.

    `success` is the share of originals that a published series repeats within the tolerance. Nobody guesses a whole
    series without the table, so the baseline is 0. The control is the share of subjects outside the table whom it
    repeats as well: if that is as high, series are naturally alike, and a copy means nothing.

    Parameters
    ----------
    exact
        The share of originals that are repeated to the last bit.
    days
        The share of originals that are not repeated as a whole, but a day of theirs is, to the last bit.
    days_beyond
        Whether these are more than the subjects outside explain; any are, if there is no control.
    """

    exact: float = 0.0
    days: float = 0.0
    days_beyond: bool = False

    @property
    def goes_beyond_control(self) -> bool:
        """Whether the table has copies that similarity between people does not explain.

        That is, more copies than of those outside, by the lower end of the interval; or, if none of those is repeated,
        one copy to the last bit. Without a control, any copy counts. Copies of single days count as well.
        """
        if self.excess is None:
            return self.success > 0.0 or self.days_beyond
        return self.excess[1] > 0.0 or (self.exact > 0.0 and self.control == 0.0) or self.days_beyond


@dataclass(frozen=True)
class Copies(SeriesAttack[CopiesRisk]):
    """The share of the originals that a published series repeats.

    repeated(i)   min over published j of  rms(x_i - y_j) <= tolerance * spread(x_i)

    with the spread of a series about its own mean, over the instants that both have. It does not need to know which
    published series belongs to whom, so it can judge synthetic tables: a generator that memorised its training data
    repeats some of it. Where readings are missing, a published series repeats a target only if both have at least half
    of the target's readings, and `SHARED` different ones, or `DISTINCT` if it repeats them to the last bit. Constant
    series, and series with gaps and fewer different readings than that, are not attacked: many are alike.

    A table pieced together from the days of several people repeats no whole series. So single days are looked for as
    well, each among all published days, whatever their dates, and to the last bit. They count if the clock shows the
    same number of readings on both, none is missing, and they have at least `DISTINCT` different ones.

    Parameters
    ----------
    tolerance
        How far a copy may be off, in units of the target's own spread.
    n_targets
        Look for this many originals, drawn at random; all by default.
    seed
        Draws targets.

    Examples
    --------
    >>> original = Panel([[1.0, 9.0, 1.0], [2.0, 4.0, 2.5], [7.0, 1.0, 6.0], [3.0, 8.0, 2.0]])
    >>> made = Panel([[5.0, 5.0, 5.5], [2.0, 4.0, 2.5], [4.0, 4.5, 4.0], [3.5, 1.0, 3.0]])
    >>> Copies().attack(original, made).success
    0.25
    """

    name: ClassVar[str] = "copies"
    meaning: ClassVar[str] = "share of the originals that a published series repeats"
    called: ClassVar[str] = "whole series"
    against: ClassVar[str] = "membership"
    knows: ClassVar[str] = "The whole series of the target."
    answers: ClassVar[Mapping[str, str]] = {"singling out": "success"}
    control: ClassVar[str] = "of the subjects outside have a copy as well"
    needs_rows: ClassVar[bool] = False
    unfit: ClassVar[str] = "it judges tables that others made; use shoal judge"

    tolerance: float = 0.05
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_amount("tolerance", self.tolerance)
        check_targets(self.n_targets, self.seed)

    def look(self, original: Panel, published: Panel, truth: Truth, outside: Panel | None = None) -> CopiesFindings:
        """The distance from everyone inside, and from those `outside`, to the nearest published series."""
        targets = need_targets(truth.targets)
        far, days_outside = np.zeros(0), np.zeros(0, dtype=np.bool_)
        if outside is not None:
            far = _nearness(outside, published, np.arange(outside.n_series), self.tolerance)
            days_outside = _has_repeated_day(outside, published)
        days = _has_repeated_day(original.take(targets), published)
        near = _nearness(original, published, targets, self.tolerance)
        return CopiesFindings(targets, near, far, days, days_outside)

    def risk(self, findings: CopiesFindings) -> CopiesRisk:
        """The share of originals that are repeated."""
        moving = np.isfinite(findings.near)
        n = int(moving.sum())
        if not n:
            raise ParameterError(
                f"Copies looks for series that change, with at least {DISTINCT} different readings if some are "
                "missing. None of the targets is one."
            )
        hit = findings.near[moving] <= self.tolerance
        success = float(hit.mean())
        interval = Interval.wilson(success, n)
        beyond = np.isfinite(findings.far)
        outside = findings.far[beyond]
        control = float((outside <= self.tolerance).mean()) if len(outside) else None
        days = findings.days[moving] & ~hit
        days_outside = findings.days_outside[beyond] & (outside > self.tolerance)
        order = np.argsort(findings.near, kind="stable")[:N_WORST]
        risk = CopiesRisk(
            success=success,
            interval=interval,
            baseline=0.0,
            baseline_interval=Interval.exactly(0.0),
            n_targets=n,
            worst=tuple(int(row) for row in findings.targets[order]),
            prosecutor=float(hit.any()),
            control=control,
            control_interval=None if control is None else Interval.wilson(control, len(outside)),
            confidence=1.0,
            sentence=f"{_counted(hit, outside <= self.tolerance)}{_counted_days(days, days_outside, hit)} "
            "Someone who knows the whole series of a target finds a published copy of it, within "
            f"{percent(self.tolerance)} of its own spread, with a chance of {percent(success)} ({between(interval)}; "
            f"{n} targets)",
            exact=float((findings.near[moving] == 0.0).mean()),
            days=float(days.mean()),
            days_beyond=_more(days, days_outside),
        )
        return replace(risk, sentence=f"{risk.sentence}{beside_control(risk, len(outside))}.")


@dataclass(frozen=True, eq=False, repr=False)
class CopiesFindings(Findings):
    """The distance from each target, and from everyone outside, to the nearest published series; infinite if
    constant. And whether a day of each is repeated."""

    targets: Rows
    near: Floats
    far: Floats
    days: NDArray[np.bool_]
    days_outside: NDArray[np.bool_]


def _nearness(panel: Panel, published: Panel, rows: Rows, tolerance: float) -> Floats:
    """Root mean square distance to the nearest published series, in units of each series' own spread."""
    ground = find_ground("Copies", panel, published)
    x = ground.original[rows].reshape(len(rows), -1)
    distinct, _ = find_classes(ground.published.reshape(len(ground.published), -1))
    nearest = np.sqrt(nearest_rows(np.ascontiguousarray(x), distinct)[0][:, 0])
    spread = spreads(x)
    relative: Floats = np.divide(nearest, spread, out=np.full(len(x), np.inf), where=spread > 0.0)
    if np.isnan(x).any() or np.isnan(distinct).any():
        for i in np.flatnonzero(relative <= 1.5 * tolerance):
            relative[i] = _apart_in_common(x[i], distinct, 1.5 * tolerance * spread[i])
        relative[np.isnan(x).any(axis=1) & (_n_different(x) < DISTINCT)] = np.inf
    return relative


def _apart_in_common(target: Floats, published: Floats, most: float) -> float:
    """The distance to the nearest published series that shares enough of a series' readings, in units of its spread
    there; only among those at most so far off: half of the readings have at most twice the variance of all."""
    squares = np.square(published - target)
    n_both = np.count_nonzero(~np.isnan(squares), axis=1)
    apart = np.sqrt(np.nansum(squares, axis=1) / np.maximum(n_both, 1))
    near = (apart <= most) & (2 * n_both >= np.count_nonzero(~np.isnan(target)))
    apart, missing = apart[near], np.isnan(squares[near])
    common = np.where(missing, np.nan, target)
    needed = np.where(missing.any(axis=1), np.where(apart > 0.0, SHARED, DISTINCT), 0)
    spread = spreads(common)
    enough = (_n_different(common) >= needed) & (spread > 0.0)
    return float((apart[enough] / spread[enough]).min(initial=np.finfo(np.float64).max))


def _n_different(x: Floats) -> Rows:
    """The number of different readings of each row."""
    ordered = np.sort(x, axis=1)  # what is missing comes last
    different: Rows = np.count_nonzero(np.diff(ordered, axis=1) > 0.0, axis=1) + ~np.isnan(ordered[:, 0])
    return different


def _counted(hit: NDArray[np.bool_], outside: NDArray[np.bool_]) -> str:
    """The number of repeated originals, stated before any share."""
    n_repeated, n = int(hit.sum()), len(hit)
    beside = f"; of {len(outside)} subjects outside, {int(outside.sum()) or 'none'}" if len(outside) else ""
    return f"The table repeats {n_repeated or 'none'} of {n} originals{beside}."


def _more(repeated: NDArray[np.bool_], outside: NDArray[np.bool_]) -> bool:
    """Whether more are repeated than of those outside, with 95 % intervals apart where some of these are."""
    if not outside.any():
        return bool(repeated.any())
    inside, beyond = (Interval.wilson(float(some.mean()), len(some)) for some in (repeated, outside))
    return inside.low > beyond.high


def _counted_days(repeated: NDArray[np.bool_], outside: NDArray[np.bool_], whole: NDArray[np.bool_]) -> str:
    """The number of originals with a repeated day, where it repeats days at all."""
    if not (repeated.any() or outside.any()):
        return ""
    beside = f"; of {len(outside)} subjects outside, of {int(outside.sum()) or 'none'}" if len(outside) else ""
    other = "other originals" if whole.any() else "originals"
    return f" It repeats single days of {int(repeated.sum()) or 'no'} {other}, to the last bit{beside}."


def _has_repeated_day(panel: Panel, published: Panel) -> NDArray[np.bool_]:
    """Whether a day of each series is a day of a published one."""
    shown = {day for _, day in _days(published)}
    repeated = np.zeros(panel.n_series, dtype=np.bool_)
    repeated[[row for row, day in _days(panel) if day in shown]] = True
    return repeated


def _days(panel: Panel) -> Iterator[tuple[int, bytes]]:
    """The days of all series that are as long as most, complete and varied: whose each is, and its digest."""
    if panel.times.dtype.kind != "M":
        return
    clock = local_times(panel.times, panel.timezone).astype("datetime64[D]")
    _, starts, sizes = np.unique(clock, return_index=True, return_counts=True)
    size = int(np.bincount(sizes).argmax())
    if len(starts) < 2 or size < DISTINCT:
        return
    instants = starts[sizes == size][:, None] + np.arange(size)
    for row, series in enumerate(panel.cube):
        days = series[instants].reshape(len(instants), -1) + 0.0
        for day in days[(_n_different(days) >= DISTINCT) & ~np.isnan(days).any(axis=1)]:
            yield row, hashlib.blake2b(day.tobytes(), digest_size=16).digest()


def spreads(x: Floats) -> Floats:
    """The standard deviation of each row about its own mean, over its readings; 0 if it is only rounding."""
    known = ~np.isnan(x)
    count = np.maximum(known.sum(axis=1), 1)
    mean = np.where(known, x, 0.0).sum(axis=1) / count
    spread = np.sqrt((np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1) / count)
    return np.where(spread > 1e-12 * (1.0 + np.abs(mean)), spread, 0.0)
