"""Attack and measure a candidate: which of its parts each attack and each measure sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.attacks.links import LinkRisk
from shoal.attacks.sentences import about_profiles
from shoal.guarantees import KAnonymity
from shoal.model import Attack, Candidate, CandidateShards, Panel, Profiles, Risk
from shoal.release.publishers_word import rough

Scenario = Literal["prosecutor", "journalist"]

KNOWN_POINTS = (1, 2, 3, 5, 8, 12, 20, 30)
ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Curve:
    """The success of an attack as a function of what the adversary knows."""

    along: str
    at: tuple[float, ...]
    success: tuple[float, ...]


def attack_all(
    attacks: Mapping[str, Attack[Any]],
    candidate: Candidate | CandidateShards,
    subjects: NDArray[np.int64],
    seed: int = 0,
) -> dict[str, Risk]:
    """What each attack achieves against some subjects, given by number; every published series is a candidate.

    In shards, as many targets are drawn as there are subjects given.
    """
    if isinstance(candidate, CandidateShards):
        asked = (candidate.to_attack(attack, n_targets=len(subjects), seed=seed) for attack in attacks.values())
        risks = {name: answer() for name, answer in zip(attacks, candidate.reduce(*asked), strict=True)}
    else:
        targets = np.flatnonzero(np.isin(candidate.private.original.subject_codes, subjects))
        risks = {name: candidate.attack(attack, targets) for name, attack in attacks.items()}
    if not candidate.has_profiles:
        return risks
    return {name: replace(risk, sentence=about_profiles(risk.sentence)) for name, risk in risks.items()}


def curve_of(attack: Attack[Any], candidate: Candidate, targets: NDArray[np.int64]) -> Curve | None:
    """How far an attack gets with more or with worse knowledge; None if neither can be varied."""
    if hasattr(attack, "curve") and isinstance(candidate.published, Panel):
        n_instants = candidate.published.n_instants
        ns = [n for n in KNOWN_POINTS if n <= n_instants]
        original, published, further, _ = candidate.behind(targets)
        further["targets"] = attack.draw(further["targets"])
        risks = attack.curve(original, published, ns, **further)
        return Curve("readings known", tuple(map(float, ns)), tuple(risk.success for risk in risks))
    if "noise" in attack.get_params():
        found = [candidate.attack(attack.set_params(noise=noise), targets) for noise in ERRORS]
        return Curve("errors in what is known, as a share of its spread", ERRORS, tuple(risk.success for risk in found))
    return None


def attack_curves(
    attacks: Mapping[str, Attack[Any]], candidate: Candidate, targets: NDArray[np.int64]
) -> dict[str, dict[str, Any]]:
    """The curve of each attack that has one, in three digits."""
    curves = {name: curve_of(attack, candidate, targets) for name, attack in attacks.items()}
    return {
        name: {"along": curve.along, "at": list(curve.at), "success": [rough(chance) for chance in curve.success]}
        for name, curve in curves.items()
        if curve is not None
    }


def view(risk: Risk, scenario: Scenario, bound: float = 1.0) -> float:
    """The figure that a limit applies to.

    A journalist is after anyone: the share of all targets counts, at the upper end of its interval, because targets
    stand for everyone. A prosecutor is after one target: the chance for the targets the adversary may be surest of
    counts, if that is higher. So a few targets never look safe by luck.

    No link to a series can succeed more often than `bound`, which follows from the guarantee: one of k that are
    published alike.
    """
    figure = (
        risk.interval.high
        if risk.prosecutor is None or scenario == "journalist"
        else max(risk.prosecutor, risk.interval.high)
    )
    return min(figure, bound) if isinstance(risk, LinkRisk) else figure


def bound_of(candidate: Candidate | CandidateShards) -> float:
    """The highest success of a link to a published series that a checked guarantee allows: 1/k, else 1."""
    crowds = [guarantee.k for guarantee in candidate.guarantees if isinstance(guarantee, KAnonymity)]
    if isinstance(candidate, CandidateShards):
        by_series = candidate.whole.one_series_per_subject and not candidate.has_envelopes
    else:
        by_series = candidate.private.original.one_series_per_subject
        by_series = by_series and isinstance(candidate.published, Panel | Profiles)
    return 1.0 / max(crowds) if crowds and by_series else 1.0
