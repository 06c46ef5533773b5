"""Subjects kept out of a release, at random: the control that attacks on it are compared with.

What an attack finds of people who are not behind a release, it does not find because of the release. Who was kept out
stays in the private folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks import Completion, Copies, Membership
from shoal.attacks.membership import FEWEST
from shoal.errors import InputError, ParameterError
from shoal.guarantees import NoGuarantee
from shoal.methods.randomness import stream
from shoal.model import Attack, Candidate, CandidateShards, Panel, PanelShards, Release, Risk
from shoal.model.watcher import Watcher
from shoal.process.remembered import recall_held_out
from shoal.release.publishers_word import tells_exact_figures

WHOLE = (Copies, Completion, Membership)
"""Attacks on a table as a whole, each of which has a control of people outside."""


def as_share(given: Any) -> float:
    """A share from "10%" or 0.1."""
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        share = float("nan")
    if not 0.0 < share <= 0.5:
        raise ParameterError("hold-out is the share of the subjects that is kept out: 10%, or 0.1; at most a half.")
    return share


def keep_out(
    panel: Panel | PanelShards, share: float | None, private: Any, steps: Watcher, seed: int = 0
) -> tuple[Panel | PanelShards, Panel | None]:
    """Everybody else, and the subjects kept out: that share of them, drawn by chance from the seed and the readings."""
    if share is None:
        return panel, None
    if private is None:
        raise ParameterError("hold-out: who is kept out is written to the private folder. Give --private DIR.")
    if isinstance(panel, PanelShards):
        raise ParameterError(
            "hold-out is for panels in memory, and this one is in shards. Leave out the engine, or keep some subjects "
            "out of the table and give them to shoal judge with --control."
        )
    n = round(share * panel.n_subjects)
    if n < FEWEST:
        raise ParameterError(
            f"hold-out: {share:.3g} of {panel.n_subjects} subjects are {n}, and a control needs {FEWEST} at least. "
            "Keep out a larger share."
        )
    out = stream(panel, seed, "hold-out").permutation(panel.n_subjects)[:n]
    kept = np.isin(panel.subject_codes, out)
    steps.say(f"{n} of {panel.n_subjects} subjects are kept out of the release, as a control for attacks")
    return panel.take(np.flatnonzero(~kept)), panel.take(np.flatnonzero(kept))


def held_names(control: Panel | None) -> list[str]:
    """The series kept out, for the private folder."""
    return [] if control is None else [str(name) for name in control.ids]


def behind(panel: Panel, release: Release, private: Path | None) -> tuple[Panel, Panel | None]:
    """The originals of a release, without those that were kept out of it, and these; None where nobody was."""
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
    original: Panel, published: Panel, control: Panel, seed: int = 0, shadows: int = 0, method: Any = None
) -> dict[str, tuple[Attack[Any], Risk]]:
    """What each attack on the whole table finds of those behind it and of the control; left out where none applies.

    With `shadows`, membership is learned from so many releases that `method` makes of other selections of people.
    """
    found: dict[str, tuple[Attack[Any], Risk]] = {}
    for attack, further in whole_attacks(seed, shadows, method):
        try:
            found[attack.name] = (attack, attack.attack(original, published, outside=control, **further))
        except (ParameterError, InputError):
            continue
    return found


def whole_attacks(seed: int, shadows: int = 0, method: Any = None) -> list[tuple[Attack[Any], dict[str, Any]]]:
    """Each of `WHOLE`, with what it takes beside the people outside."""
    found: list[tuple[Attack[Any], dict[str, Any]]] = []
    for kind in WHOLE:
        learns = shadows > 0 and kind is Membership
        attack = Membership(seed=seed, shadows=shadows) if learns else kind(seed=seed)
        found.append((attack, {"method": method} if learns else {}))
    return found


def control_risks(candidate: Candidate | CandidateShards, control: Panel | None) -> dict[str, tuple[Risk, str]]:
    """The same for a certificate, where the release shows values and something is promised.

    What promises nothing is held against a limit on links, which these figures are not.
    """
    if control is None or not isinstance(candidate, Candidate) or not isinstance(candidate.published, Panel):
        return {}
    if not tells_exact_figures(candidate.guarantees) or any(isinstance(g, NoGuarantee) for g in candidate.guarantees):
        return {}
    found = attack_whole(candidate.private.original, candidate.published, control)
    return {name: (risk, attack.meaning) for name, (attack, risk) in found.items()}


def _rows(panel: Panel, names: Sequence[str]) -> NDArray[np.int64]:
    wanted = set(names)
    return np.array([at for at, name in enumerate(panel.ids) if str(name) in wanted], dtype=np.int64)
