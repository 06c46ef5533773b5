"""Originals that a published table repeats, no matter to whom its series are said to belong."""

from __future__ import annotations

from collections.abc import Mapping
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
    """

    exact: float = 0.0

    @property
    def goes_beyond_control(self) -> bool:
        """Whether the table has copies that similarity between people does not explain.

        That is, more copies than of those outside, by the lower end of the interval; or, if none of those is repeated,
        one copy to the last bit. Without a control, any copy counts.
        """
        if self.excess is None:
            return self.success > 0.0
        return self.excess[1] > 0.0 or (self.exact > 0.0 and self.control == 0.0)


@dataclass(frozen=True)
class Copies(SeriesAttack[CopiesRisk]):
    """The share of the originals that a published series repeats.

    repeated(i)   min over published j of  rms(x_i - y_j) <= tolerance * spread(x_i)

    with the spread of a series about its own mean, over the instants that both have. It does not need to know which
    published series belongs to whom, so it can judge synthetic tables: a generator that memorised its training data
    repeats some of it. A published series that shares fewer than half of a target's readings does not repeat it.
    Constant series are not attacked: many are alike.

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
        far = np.zeros(0)
        if outside is not None:
            far = _nearness(outside, published, np.arange(outside.n_series), self.tolerance)
        return CopiesFindings(targets, _nearness(original, published, targets, self.tolerance), far)

    def risk(self, findings: CopiesFindings) -> CopiesRisk:
        """The share of originals that are repeated."""
        moving = np.isfinite(findings.near)
        n = int(moving.sum())
        if not n:
            raise ParameterError("Copies looks for series that change, and none of the targets does.")
        hit = findings.near[moving] <= self.tolerance
        success = float(hit.mean())
        interval = Interval.wilson(success, n)
        outside = findings.far[np.isfinite(findings.far)]
        control = float((outside <= self.tolerance).mean()) if len(outside) else None
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
            sentence=f"{_counted(hit, outside <= self.tolerance)} Someone who knows the whole series of a target finds "
            "a published copy of it, within "
            f"{percent(self.tolerance)} of its own spread, with a chance of {percent(success)} ({between(interval)}; "
            f"{n} targets)",
            exact=float((findings.near[moving] == 0.0).mean()),
        )
        return replace(risk, sentence=f"{risk.sentence}{beside_control(risk, len(outside))}.")


@dataclass(frozen=True, eq=False, repr=False)
class CopiesFindings(Findings):
    """The distance from each target, and from everyone outside, to the nearest published series; infinite if
    constant."""

    targets: Rows
    near: Floats
    far: Floats


def _nearness(panel: Panel, published: Panel, rows: Rows, tolerance: float) -> Floats:
    """Root mean square distance to the nearest published series, in units of each series' own spread."""
    ground = find_ground("Copies", panel, published)
    x = ground.original[rows].reshape(len(rows), -1)
    distinct, _ = find_classes(ground.published.reshape(len(ground.published), -1))
    nearest = np.sqrt(nearest_rows(np.ascontiguousarray(x), distinct)[0][:, 0])
    spread = spreads(x)
    if np.isnan(x).any() or np.isnan(distinct).any():
        # A few readings that are alike are no copy.
        for i in np.flatnonzero(nearest <= tolerance * spread):
            squares = np.square(distinct - x[i])
            n_both = np.count_nonzero(~np.isnan(squares), axis=1)
            enough = 2 * n_both >= np.count_nonzero(~np.isnan(x[i]))
            apart = np.nansum(squares[enough], axis=1) / np.maximum(n_both[enough], 1)
            nearest[i] = np.sqrt(apart.min(initial=np.finfo(np.float64).max))
    relative: Floats = np.divide(nearest, spread, out=np.full(len(x), np.inf), where=spread > 0.0)
    return relative


def _counted(hit: NDArray[np.bool_], outside: NDArray[np.bool_]) -> str:
    """The number of repeated originals, stated before any share."""
    n_repeated, n = int(hit.sum()), len(hit)
    beside = f"; of {len(outside)} subjects outside, {int(outside.sum()) or 'none'}" if len(outside) else ""
    return f"The table repeats {n_repeated or 'none'} of {n} originals{beside}."


def spreads(x: Floats) -> Floats:
    """The standard deviation of each row about its own mean, over its readings; 0 if it is only rounding."""
    known = ~np.isnan(x)
    count = np.maximum(known.sum(axis=1), 1)
    mean = np.where(known, x, 0.0).sum(axis=1) / count
    spread = np.sqrt((np.where(known, x - mean[:, None], 0.0) ** 2).sum(axis=1) / count)
    return np.where(spread > 1e-12 * (1.0 + np.abs(mean)), spread, 0.0)
