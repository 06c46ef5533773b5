"""Subjects kept out of a release at random: the control for attacks on it.

What an attack finds about people who are not in a release is not due to the release. Their names stay in the
private folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks import Completion, Copies, Membership
from shoal.attacks.membership import FEWEST
from shoal.errors import InputError, ParameterError
from shoal.guarantees import DifferentialPrivacy, NoGuarantee
from shoal.methods.randomness import stream
from shoal.model import Attack, Candidate, CandidateShards, Method, Panel, PanelShards, Release, Risk
from shoal.model.candidate_shards import SAMPLE
from shoal.model.watcher import Watcher
from shoal.process.remembered import recall_held_out
from shoal.release.publishers_word import tells_exact_figures

WHOLE = (Copies, Completion, Membership)
"""Attacks on a table as a whole; each has a control of people outside it."""


NO_HOLD_OUT = (
    "hold-out keeps no differential privacy: who is kept out is drawn by the readings, so those of one subject would "
    "decide whose are published, and no noise hides that. Omit it: a release with noise has no risk figures anyway."
)


def as_share(given: Any) -> float:
    """A share from "10%" or 0.1."""
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = float("nan")
    if not 0.0 < share <= 0.5:
        raise ParameterError("hold-out is the share of subjects to keep out: 10%, or 0.1; at most one half.")
    return share


@dataclass(frozen=True, eq=False, repr=False)
class Control:
    """The subjects kept out of a release.

    Parameters
    ----------
    panel
        Their series; for a panel in shards, a sample of them if there are many.
    names
        The ids of all of them, for the private folder.
    """

    panel: Panel
    names: tuple[str, ...]


def keep_out(
    panel: Panel | PanelShards, share: float | None, steps: Watcher, seed: int = 0
) -> tuple[Panel | PanelShards, Control | None]:
    """Split off the given share of the subjects, drawn at random from the seed and the readings: the others, and those.

    For a panel in shards, about that share: each subject is drawn independently.
    """
    if share is None:
        return panel, None
    if isinstance(panel, PanelShards):
        others, drawn = panel.hold_out(share, seed)
        n = drawn.n_subjects
    else:
        n = round(share * panel.n_subjects)
    if n < FEWEST:
        raise ParameterError(
            f"hold-out: {share:.3g} of {panel.n_subjects} subjects are {n}, but a control needs at least {FEWEST}. "
            "Keep out a larger share."
        )
    steps.say(f"{n} of {panel.n_subjects} subjects are kept out of the release, as a control for attacks")
    if isinstance(panel, PanelShards):
        return others, Control(drawn.sample(drawn.affordable(SAMPLE)), tuple(drawn.series.names()))
    out = stream(panel, seed, "hold-out").permutation(panel.n_subjects)[:n]
    kept = np.isin(panel.subject_codes, out)
    control = panel.take(np.flatnonzero(kept))
    return panel.take(np.flatnonzero(~kept)), Control(control, tuple(str(name) for name in control.ids))


def refuse_no_private(share: float | None, private: Any) -> None:
    """Refuse a hold-out without a private folder, which stores who was kept out."""
    if share is not None and private is None:
        raise ParameterError("hold-out: who is kept out is written to the private folder. Give --private DIR.")


def refuse_beside_mechanism(share: float | None, method: Method) -> None:
    """Refuse a hold-out from what keeps differential privacy."""
    if share is not None and isinstance(method.each_step[-1].aims_at, DifferentialPrivacy):
        raise ParameterError(NO_HOLD_OUT)


def behind(panel: Panel, release: Release, private: Path | None) -> tuple[Panel, Panel | None]:
    """The originals of a release without the subjects kept out of it, and those subjects; None if nobody was kept
    out."""
    names = recall_held_out(private, release)
    if not names:
        return panel, None
    out = _rows(panel, names)
    if len(out) < len(names):
        raise InputError(
            f"{len(names) - len(out)} of {len(names)} series that were kept out of the release are not in the table. "
            "Read the table the release was made from, with the same settings."
        )
    return panel.take(np.setdiff1d(np.arange(panel.n_series), out)), panel.take(out)


def attack_whole(
    original: Panel, published: Panel, control: Panel, seed: int = 0, shadows: int = 0, method: Method | None = None
) -> dict[str, tuple[Attack[Any], Risk]]:
    """What each attack on the whole table finds about those in it and about the control; omitted if none applies.

    With `shadows`, membership is learned from this many releases that `method` makes from other selections of people.
    """
    risks: dict[str, tuple[Attack[Any], Risk]] = {}
    for attack, further in whole_attacks(seed, shadows, method):
        try:
            risks[attack.name] = (attack, attack.attack(original, published, outside=control, **further))
        except (ParameterError, InputError):
            continue
    return risks


def whole_attacks(
    seed: int, shadows: int = 0, method: Method | None = None
) -> list[tuple[Attack[Any], dict[str, Any]]]:
    """Each of `WHOLE`, with the arguments it takes besides the people outside."""
    attacks: list[tuple[Attack[Any], dict[str, Any]]] = []
    for kind in WHOLE:
        learns = shadows > 0 and kind is Membership
        attack = Membership(seed=seed, shadows=shadows) if learns else kind(seed=seed)
        attacks.append((attack, {"method": method} if learns else {}))
    return attacks


def control_risks(candidate: Candidate | CandidateShards, held_out: Control | None) -> dict[str, tuple[Risk, str]]:
    """Risks with a control for a certificate, if the release shows values and promises something; for a candidate in
    shards, on a sample.

    A release that promises nothing is judged by a limit on links, which these figures are not.
    """
    if held_out is None or candidate.has_envelopes or candidate.has_profiles:
        return {}
    if not tells_exact_figures(candidate.guarantees) or any(isinstance(g, NoGuarantee) for g in candidate.guarantees):
        return {}
    risks = attack_with_control(candidate, held_out)
    return {name: (risk, candidate.meaning_of(attack)) for name, (attack, risk) in risks.items()}


def attack_with_control(
    candidate: Candidate | CandidateShards, held_out: Control, seed: int = 0
) -> dict[str, tuple[Attack[Any], Risk]]:
    """`attack_whole` on a candidate of values; for one in shards, on a sample."""
    drawn = candidate.sample(SAMPLE) if isinstance(candidate, CandidateShards) else candidate
    if not isinstance(drawn.published, Panel):
        return {}
    return attack_whole(drawn.private.original, drawn.published, held_out.panel, seed)


def attack_alone(candidate: Candidate | CandidateShards, held_out: Control, attack: Attack[Any]) -> Risk:
    """What one attack finds; raises if it does not apply."""
    drawn = candidate.sample(SAMPLE) if isinstance(candidate, CandidateShards) else candidate
    risk: Risk = attack.attack(drawn.private.original, drawn.published, outside=held_out.panel)
    return risk


def gained_by(attack: Attack[Risk], risk: Risk) -> float:
    """What an attack gains, at the upper end of its interval: a link its chance, others the excess over the control."""
    if attack.against == "values":
        return risk.interval.high
    return max(0.0, risk.interval.high - risk.baseline if risk.excess is None else risk.excess[2])


def _rows(panel: Panel, names: Sequence[str]) -> NDArray[np.int64]:
    wanted = set(names)
    return np.array([at for at, name in enumerate(panel.ids) if str(name) in wanted], dtype=np.int64)
