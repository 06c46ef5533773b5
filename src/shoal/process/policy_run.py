"""From a policy file to a release within its limits: the whole process.

There are three ways out: a release for everyone, a copy for one recipient, a folder that only answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.model import Candidate, CandidateShards, Panel, PanelShards, Release, Role, Roles
from shoal.model.watcher import Watcher, never, silent, tell
from shoal.process.assessment import attack_curves
from shoal.process.engine import panel_on
from shoal.process.hold_out import NO_HOLD_OUT, as_share, control_risks, keep_out
from shoal.process.keep import with_comparison
from shoal.process.policy import Policy
from shoal.process.policy.schema import Explored, ReleasePart
from shoal.process.publication import publish
from shoal.process.remembered import remember
from shoal.process.search import Frontier, SearchTask, search, task_of
from shoal.process.search.trials import halves
from shoal.process.usefulness import scores_by_purpose
from shoal.read.columns import find_column
from shoal.read.remote_files import is_address
from shoal.read.sources import open_table
from shoal.release import ReleaseOptions, check_target
from shoal.release.agreement import Agreement
from shoal.release.certificate import PUBLISHERS_WORDS, ApprovalPart

RELEASE = "release"
"""Location of the release inside a closed folder."""


def refuse_export(part: ReleasePart, to: Path) -> None:
    """Raise if nothing could be written at the end; call it before long work."""
    if part.model != "closed":
        check_target(to, overwrite=part.overwrite)
        return
    # Here, because answering needs methods that other ways out do not.
    from shoal.closed import refuse_taken

    refuse_taken(to)


def agreement_of(part: ReleasePart) -> Agreement | None:
    """The recipient of the release, if it is for one recipient."""
    if part.model != "agreement" or part.recipient is None or part.purpose is None or part.expires is None:
        return None
    if part.private is None:
        raise ParameterError(
            "model: agreement needs release.private, a folder for what you keep: it distinguishes the copies."
        )
    return Agreement(recipient=part.recipient, purpose=part.purpose, expires=part.expires, contact=part.contact)


@contextmanager
def exporting(part: ReleasePart, to: Path, candidate: Candidate | CandidateShards) -> Iterator[Path]:
    """Yield the folder for the release; for a closed folder, add what a service needs.

    The settings of a closed folder are written last: without them it is not served.
    """
    if part.model != "closed":
        yield to
        return
    from shoal.closed import make_closed_folder

    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    to.chmod(0o700)
    try:
        yield to / RELEASE
        assert isinstance(candidate, Candidate)  # shards are refused before
        make_closed_folder(to, candidate, part.closed)
    finally:
        if not any(to.iterdir()):
            to.rmdir()


NOT_SHOWN = (
    "Other points that were tried are not listed: this release withholds readings or series, and their figures would "
    "reveal something about them."
)
"""Why a certificate lists only the chosen point."""


@dataclass(frozen=True)
class Outcome:
    """The result of a policy: the frontier, and the release of its chosen point."""

    frontier: Frontier
    release: Release
    process: dict[str, Any]
    """What was tried. The certificate has it where the release shows everyone and enough stays open; that of a
    differentially private release has none of it."""


class NothingMeetsBothError(GuaranteeNotMetError):
    """No point met both limits; `process` holds what was tried, as the certificate would have had it."""

    def __init__(self, sentence: str, process: dict[str, Any]) -> None:
        super().__init__(f"{sentence} Nothing was written.")
        self.process = process


def run_policy(
    policy: Policy,
    *,
    base: Path = Path(),
    steps: Watcher = silent,
    insecure_seed: int | None = None,
    approval: ApprovalPart | None = None,
    stop: Callable[[], bool] = never,
) -> Outcome:
    """Read, search, confirm, publish. Raises NothingMeetsBothError, and writes nothing, when no point does.

    Parameters
    ----------
    policy
        What to do; see `load_policy`.
    base
        The folder that relative paths of the policy start from.
    steps
        Receives progress.
    insecure_seed
        Repeatable pseudonyms, for tests only.
    approval
        Who approved it; required if the policy has `release: {review: required}`.
    stop
        Asked before every point except the first: true ends the search, which then chooses among the points tried.
        Certificate and report say that a person stopped it.
    """
    refuse_unapproved(policy, approval)
    task = task_of(policy)
    refuse_no_data(policy)
    agreement = agreement_of(policy.release)
    to = base / policy.release.to
    refuse_export(policy.release, to)
    if policy.engine is not None and policy.release.model != "publish":
        raise ParameterError(
            f"release.model: {policy.release.model} works in memory, not in shards. Use publish, or omit engine."
        )
    steps.start("reading")
    with panel_of(policy, base) as panel:
        tell(steps, panel)
        return _search_and_publish(task, panel, to, base, agreement, steps, insecure_seed, stop, approval)


@contextmanager
def panel_of(policy: Policy, base: Path) -> Iterator[Panel | PanelShards]:
    """The table of a policy, read as it says; in shards for as long as the block runs."""
    source = policy.data.path if "://" in policy.data.path else str(base / policy.data.path)
    with panel_on(policy.engine, source, policy.settings) as panel:
        refuse_roles(policy, panel.roles, source)
        yield panel


def refuse_unapproved(policy: Policy, approval: ApprovalPart | None) -> None:
    """Raise if the policy requires an officer's approval and there is none."""
    if policy.release.review == "required" and approval is None:
        raise GuaranteeNotMetError(
            "The policy requires an officer to approve the decision sheet first (release.review: required), and "
            "nobody has. Open it in the studio: Review sends the sheet, and Release writes what was approved. Nothing "
            "was written."
        )


def refuse_no_data(policy: Policy) -> None:
    """A policy to be run must name a table."""
    if policy.data.path is None:
        raise ParameterError("The policy names no data: give data.path, or a table on the command line.")


def _search_and_publish(
    task: SearchTask,
    panel: Panel | PanelShards,
    to: Path,
    base: Path,
    agreement: Agreement | None,
    steps: Watcher,
    insecure_seed: int | None,
    stop: Callable[[], bool],
    approval: ApprovalPart | None,
) -> Outcome:
    release, require = task.policy.release, task.policy.require
    share = None if release.hold_out is None else as_share(release.hold_out)
    noisy = task.by_mechanism or (release.model == "closed" and release.closed.epsilon is not None)
    if share is not None and noisy:
        raise ParameterError(NO_HOLD_OUT)
    panel, held_out = keep_out(panel, share, steps, task.policy.seed)
    task = task.on(panel)
    searched = search(task, panel, steps=steps, stop=stop)
    if searched.frontier.chosen is None and all(point.impossible for point in searched.frontier.points):
        raise ParameterError(str(searched.frontier.points[0].refused))
    if searched.candidate is None or searched.method is None or searched.frontier.chosen is None:
        raise NothingMeetsBothError(searched.frontier.sentence, describe(task, searched.frontier))
    process = describe(task, searched.frontier)
    if isinstance(searched.candidate, Candidate):
        process["curves"] = curves_of(task, searched.candidate)
    steps.start("measuring")
    purposes = {} if task.by_mechanism else scores_by_purpose(searched.candidate)
    meaning_of, chosen = searched.candidate.meaning_of, searched.frontier.chosen
    limited = {name: (score, meaning_of(task.measures[name])) for name, score in chosen.scores.items()}
    process["purposes"] = {purpose: list(pairs) for purpose, pairs in purposes.items()}
    private = None if release.private is None else base / release.private
    if task.kept:
        process["kept"] = list(task.kept)
    options = ReleaseOptions(
        require=task.require,
        format=release.format,
        shape=release.shape,
        pseudonyms=release.pseudonyms,
        private=private,
        overwrite=release.overwrite,
        insecure_seed=insecure_seed,
        accept=tuple(release.accept),
        risk_limit=require.risk.at_most,
        suppression_limit=require.suppression.at_most,
        agreement=agreement,
        approval=approval,
        sign=None if release.sign is None else base / release.sign,
        **{name: getattr(task.policy, name) for name in PUBLISHERS_WORDS},
    )
    steps.start("checking and writing")
    with exporting(release, to, searched.candidate) as folder:
        written = publish(
            searched.candidate,
            folder,
            ledger=None if release.ledger is None else base / release.ledger,
            risks={name: (risk, meaning_of(task.attacks[name])) for name, risk in chosen.risks.items()}
            | control_risks(searched.candidate, held_out),
            # Those with a limit first: a small release may have to drop the last ones.
            scores=limited | {name: pair for pairs in purposes.values() for name, pair in pairs.items()},
            process=certified(process, searched.frontier, searched.candidate),
            options=options,
        )
    remember(private, written, task.policy.settings, () if held_out is None else held_out.names)
    written = with_comparison(written, searched.method, searched.candidate, panel, steps)
    return Outcome(searched.frontier, written, process)


def certified(process: dict[str, Any], frontier: Frontier, candidate: Candidate | CandidateShards) -> dict[str, Any]:
    """As much of what was tried as the certificate may contain.

    Other points show readings that the chosen one withholds, and series that it suppresses. Their figures would reveal
    these, so such a release lists the figures of the chosen point alone.
    """
    if candidate.shows_everybody or frontier.chosen is None or not frontier.chosen.scores:
        return process
    persons = [process[name]["sentence"] for name in ("stopped", "explored") if name in process]
    said = " ".join([f"{frontier.said_of(frontier.chosen)}.", *persons, NOT_SHOWN])
    return process | {"points": [], "sentence": said}


def refuse_roles(policy: Policy, roles: Roles, source: str) -> None:
    """An identifier must be a column of the table, and may have no role that would publish it."""
    identifiers = [name for name, role in policy.roles.items() if role == "identifier"]
    if not identifiers:
        return
    for name in identifiers:
        if roles.get(name) not in (None, Role.IDENTIFIER):
            raise ParameterError(
                f"roles: {name!r} is an identifier and is also read as {roles[name].value}, so it would be published. "
                "Remove it from one of them."
            )
    # A database is not asked twice, nor an address that only Spark can read.
    if "://" not in source or (policy.engine is None and is_address(source)):
        with open_table(source, policy.data.sql, policy.data.sheet) as table:
            for name in identifiers:
                find_column(table.names, name)


def describe(task: SearchTask, frontier: Frontier) -> dict[str, Any]:
    """The search for the certificate and the report: figures of three digits, no times, so that bytes are
    reproducible."""
    return {
        "scenario": task.policy.adversary.scenario,
        "knows": {name: attack.parameters for name, attack in task.attacks.items()},
        **_told(frontier.as_dict(), task.policy.search.explored),
    }


def _told(tried: dict[str, Any], explored: Explored | None) -> dict[str, Any]:
    """Add what a person had tried before, if a point of an exploration was chosen."""
    if explored is None:
        return tried
    told = explored.model_dump(exclude_none=True) | {"sentence": explored.sentence}
    return tried | {"sentence": f"{tried['sentence']} {explored.sentence}", "explored": told}


def curves_of(task: SearchTask, candidate: Candidate) -> dict[str, dict[str, Any]]:
    """How far each attack on the chosen point gets with more or with worse knowledge."""
    if task.by_mechanism:
        return {}
    panel = candidate.private.original
    _, subjects = halves(panel.n_subjects, task.policy.adversary.targets, task.policy.seed)
    targets = np.flatnonzero(np.isin(panel.subject_codes, subjects))
    return attack_curves(task.attacks_on(candidate), candidate, targets)
