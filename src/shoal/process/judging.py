"""A candidate under attack and on the scales: which of its parts each attack and each measure gets to see."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.links import LinkRisk
from shoal.guarantees import KAnonymity
from shoal.model import Candidate, Envelopes, Measure, Panel, Profiles, Risk, Score

Scenario = Literal["prosecutor", "journalist"]

KNOWN_POINTS = (1, 2, 3, 5, 8, 12, 20, 30)
ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Curve:
    """The success of an attack along something."""

    along: str
    at: tuple[float, ...]
    success: tuple[float, ...]


def attack_all(attacks: Mapping[str, Any], candidate: Candidate, subjects: NDArray[np.int64]) -> dict[str, Risk]:
    """What each attack achieves against some subjects, by their numbers; every published series is a candidate."""
    original = candidate.private.original
    targets = np.flatnonzero(np.isin(original.subject_codes, subjects))
    return {name: attack_one(attack, candidate, targets) for name, attack in attacks.items()}


def attack_one(attack: Any, candidate: Candidate, targets: NDArray[np.int64] | None = None) -> Risk:
    """One attack, on some of the original series by position or on all."""
    published = candidate.published
    original, further, there = _behind(candidate, targets)
    if isinstance(published, Profiles):
        # An adversary who has a profile and its count has as many curves like it.
        published = candidate.curves.take(there)
        del further["rows"]
    if "targets" not in inspect.signature(attack.attack).parameters:
        further.pop("targets", None)
    risk: Risk = attack.attack(original, published, **further)
    if len(there) == candidate.private.original.n_series:
        return risk
    # Positions and counts are told of the panel as it was read.
    n_behind = candidate.private.original.n_series - len(there)
    counts: dict[str, Any] = {name: n_behind for name in ("n_left_out", "n_suppressed") if hasattr(risk, name)}
    return replace(risk, worst=tuple(int(there[row]) for row in risk.worst), **counts)


def _behind(
    candidate: Candidate, targets: NDArray[np.int64] | None = None
) -> tuple[Panel, dict[str, Any], NDArray[np.int64]]:
    """The originals behind a release; which of them published rows stand for and the targets; their old positions."""
    original, there = candidate.attacked
    place = np.full(candidate.private.original.n_series + 1, -1)  # the last one is for fictive rows, -1
    place[there] = np.arange(len(there))
    further: dict[str, Any] = {"rows": place[candidate.stands_for]}
    if targets is not None:
        further["targets"] = place[targets][place[targets] >= 0]
    return original, further, there


def curve_of(attack: Any, candidate: Candidate, targets: NDArray[np.int64]) -> Curve | None:
    """How far an attack gets with more or with worse knowledge; None where it has no such dial."""
    if hasattr(attack, "curve") and isinstance(candidate.published, Panel):
        n_instants = candidate.published.n_instants
        ns = [n for n in KNOWN_POINTS if n <= n_instants]
        original, further, _ = _behind(candidate, targets)
        risks = attack.curve(original, candidate.published, ns, **further)
        return Curve("readings known", tuple(map(float, ns)), tuple(risk.success for risk in risks))
    if "noise" in getattr(attack, "__dataclass_fields__", {}):
        found = [attack_one(replace(attack, noise=noise), candidate, targets) for noise in ERRORS]
        return Curve("errors in what is known, as a share of its spread", ERRORS, tuple(risk.success for risk in found))
    return None


def view(risk: Risk, scenario: Scenario, bound: float = 1.0) -> float:
    """The figure a limit is held against.

    A journalist is after anybody: the share of all targets counts, at the upper end of its interval, as targets stand
    for everybody. A prosecutor is after one target: the chance for those of whom the adversary may be surest counts,
    if that is higher. A few targets therefore never look safe by luck.

    No link to a series can succeed more often than `bound`, what the guarantee leaves: one of k that are published
    alike.
    """
    figure = (
        risk.interval.high
        if risk.prosecutor is None or scenario == "journalist"
        else max(risk.prosecutor, risk.interval.high)
    )
    return min(figure, bound) if isinstance(risk, LinkRisk) else figure


def bound_of(candidate: Candidate) -> float:
    """The most that a link to a published series can succeed with, by a guarantee that was checked: 1/k, else 1."""
    crowds = [
        guarantee.k
        for guarantee in candidate.guarantees
        if isinstance(guarantee, KAnonymity) and candidate.private.original.one_series_per_subject
    ]
    return 1.0 / max(crowds) if crowds and isinstance(candidate.published, Panel | Profiles) else 1.0


def measure_all(measures: Mapping[str, Measure], candidate: Candidate) -> dict[str, Score]:
    """What each measure finds."""
    return {name: measure_one(measure, candidate) for name, measure in measures.items()}


def measure_one(measure: Measure, candidate: Candidate) -> Score:
    """One measure of a whole candidate."""
    original, published, further = sides_of(measure, candidate)
    return measure.measure(original, published, **further)


def sides_of(measure: Measure, candidate: Candidate) -> tuple[Panel, Panel | Profiles | Envelopes, dict[str, Any]]:
    """What is measured or tallied: of envelopes what is published, else the curves that stand for the originals."""
    if measure.judges != "envelopes":
        return candidate.originals, candidate.curves, {}
    if measure.takes_rows and candidate.private.rows is not None:
        original, rows, _ = _behind(candidate)
        return original, candidate.published, rows
    return candidate.originals, candidate.published, {}
