"""Reading unknown values off the published series most like the known ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from shoal.attacks.copies import spreads
from shoal.attacks.ground import Floats, Rows, SeriesAttack, Truth, find_classes, find_ground, need_targets
from shoal.attacks.links import N_SURE, N_WORST
from shoal.attacks.words import beside_control, between, check_amount, check_targets, percent
from shoal.errors import ParameterError
from shoal.kernels.nearest_rows import nearest_rows
from shoal.model import Findings, Interval, Panel, Risk


@dataclass(frozen=True)
class Completion(SeriesAttack[Risk]):
    """The share of unknown readings that can be read off the published series most like the known ones.

    Every other reading of a target is known; the published series nearest to these predicts the rest, and a prediction
    is right if it is within `tolerance` of the target's own spread. The baseline predicts each unknown reading as the
    mean of the known ones before and after it, which needs no table. The control attacks subjects outside the table:
    what it finds can be inferred about anyone similar, in the table or not.

    `prosecutor` is the share for the targets whose known readings fit best, at least 20 of them.

    It does not need to know which published series belongs to whom, so it can judge synthetic tables.

    Parameters
    ----------
    tolerance
        How far a reading may be off, in units of the target's own spread.
    n_targets
        Attack this many targets, drawn at random; all by default.
    seed
        Draws targets.

    Examples
    --------
    >>> dice = np.random.default_rng(0)
    >>> original = Panel(dice.random((40, 24)))
    >>> risk = Completion().attack(original, original)
    >>> risk.success, risk.baseline < 0.3
    (1.0, True)
    """

    name: ClassVar[str] = "completion"
    meaning: ClassVar[str] = "share of unknown readings read off the published series most like the known ones"
    called: ClassVar[str] = "every other reading"
    against: ClassVar[str] = "membership"
    knows: ClassVar[str] = "Every other reading of the target."
    answers: ClassVar[Mapping[str, str]] = {"inference": "success"}
    control: ClassVar[str] = "of the readings of subjects outside are read off as well"
    needs_rows: ClassVar[bool] = False
    unfit: ClassVar[str] = "it judges tables that others made; use shoal judge"

    tolerance: float = 0.1
    n_targets: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_amount("tolerance", self.tolerance)
        check_targets(self.n_targets, self.seed)

    def look(self, original: Panel, published: Panel, truth: Truth, outside: Panel | None = None) -> CompletionFindings:
        """The share of each target's unknown readings that are right, with the table and without it."""
        targets = need_targets(truth.targets)
        inside, plain, apart = self._right(original, published, targets)
        far = np.zeros(0) if outside is None else self._right(outside, published, np.arange(outside.n_series))[0]
        return CompletionFindings(targets, inside, plain, apart, far)

    def risk(self, findings: CompletionFindings) -> Risk:
        """The mean over all targets."""
        told = np.isfinite(findings.right)
        n = int(told.sum())
        if not n:
            raise ParameterError("Completion needs series that change, with readings at every other instant.")
        success, plain = float(findings.right[told].mean()), float(findings.plain[told].mean())
        interval = Interval.wilson(success, n)
        outside = findings.outside[np.isfinite(findings.outside)]
        control = float(outside.mean()) if len(outside) else None
        order = np.argsort(-np.where(told, findings.right, -1.0), kind="stable")[:N_WORST]
        risk = Risk(
            success=success,
            interval=interval,
            baseline=plain,
            baseline_interval=Interval.wilson(plain, n),
            n_targets=n,
            worst=tuple(int(row) for row in findings.targets[order]),
            prosecutor=float(findings.right[told][np.argsort(findings.apart[told], kind="stable")][:N_SURE].mean()),
            control=control,
            control_interval=None if control is None else Interval.wilson(control, len(outside)),
            confidence=success,
            sentence=f"Someone who knows every other reading infers {percent(success)} of the remaining readings "
            f"from the most similar published series ({between(interval)}; {n} targets), "
            f"{'' if success > plain else 'no better than '}{percent(plain)} without the table",
        )
        return replace(risk, sentence=f"{risk.sentence}{beside_control(risk, len(outside))}.")

    def _right(self, panel: Panel, published: Panel, rows: Rows) -> tuple[Floats, Floats, Floats]:
        """For each series, the share of right readings, from the table and from its own neighbours, NaN if it has none.

        Also the distance of the known readings from the published series, in units of the series' spread.
        """
        ground = find_ground("Completion", panel, published)
        if ground.n_instants < 2:
            raise ParameterError("Completion needs at least two instants: one to know and one to read off.")
        x = ground.original[rows]
        known, hidden = x[:, ::2], x[:, 1::2]
        distinct, _ = find_classes(ground.published.reshape(len(ground.published), -1))
        shown = distinct.reshape(len(distinct), *ground.published.shape[1:])
        distances, start, which = nearest_rows(_flat(known), _flat(shown[:, ::2]))
        guess = shown[:, 1::2][which[start[:-1]]]  # the first of several that fit equally well
        after = np.concatenate([known[:, 1:], known[:, -1:]], axis=1)
        own = (known[:, : hidden.shape[1]] + after[:, : hidden.shape[1]]) / 2.0
        spread = spreads(_flat(x))[:, None]
        within = self.tolerance * spread
        real = np.isfinite(_flat(hidden)) & (spread > 0.0)
        count = real.sum(axis=1)
        shares = []
        for answer in (guess, own):
            right = real & (np.abs(_flat(answer) - _flat(hidden)) <= within)
            shares.append(np.divide(right.sum(axis=1), count, out=np.full(len(x), np.nan), where=count > 0))
        apart = np.divide(np.sqrt(distances[:, 0]), spread[:, 0], out=np.full(len(x), np.inf), where=spread[:, 0] > 0.0)
        return shares[0], shares[1], apart


@dataclass(frozen=True, eq=False, repr=False)
class CompletionFindings(Findings):
    """Shares of unknown readings that are right: for each target, without the table, and for those outside."""

    targets: Rows
    right: Floats
    plain: Floats
    apart: Floats
    """How far the known readings of each target are from those of the published series."""
    outside: Floats


def _flat(x: Floats) -> Floats:
    return np.ascontiguousarray(x.reshape(len(x), -1))
