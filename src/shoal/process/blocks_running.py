"""From a source to a release in parts, all of it on an engine: as given, or by a policy.

The order of steps is that in memory. Parameters are searched on a sample that fits into memory; the point that is
chosen there is made, checked, attacked and measured on everything, and both limits decide again. Where they do not
hold the next point is tried, and nothing is written if none does.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shoal.engines.attacking import attack
from shoal.engines.blocks import BlockCandidate, BlockPanel
from shoal.engines.checks import check
from shoal.engines.contract import Engine
from shoal.engines.measuring import measure
from shoal.engines.methods import anonymize
from shoal.engines.reading import read_blocks
from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import KAnonymity
from shoal.model import Panel
from shoal.process.blocks_engine import open_engine
from shoal.process.blocks_publishing import publish_blocks, refuse_publishing
from shoal.process.planning import plan_of
from shoal.process.policy import EnginePart, Policy
from shoal.process.running import NothingMeetsBothError, Outcome, certified, describe, refuse_roles
from shoal.process.search import Point
from shoal.process.search.searching import (
    FEWEST_IN_SAMPLE,
    SAMPLE,
    Plan,
    choose,
    halves,
    not_held,
    suppresses_too_much,
    worst_of,
)
from shoal.process.steps import Steps, silent, tell
from shoal.release import check_target
from shoal.release.parts import PartsRelease, local_path

TARGETS = 1_000
"""Subjects that are attacked where a policy does not say how many; candidates are always all."""

MOST_SAMPLED = 256 * 2**20
"""Bytes of a sample: it is searched in memory."""


def anonymize_blocks(
    source: Any,
    method: Any,
    to: Path,
    settings: Mapping[str, Any],
    engine: EnginePart,
    *,
    steps: Steps = silent,
    **publishing: Any,
) -> PartsRelease:
    """Read, anonymize, check and publish on an engine; the parameters are those of `anonymize_source`."""
    refuse_publishing(format=publishing.get("format", "parquet"), ledger=publishing.get("ledger"))
    local_path(to, "The release")
    if getattr(method, "reads", "series") == "events":
        raise ParameterError(
            f"{method.name} reads events, which are no series. Leave out --engine; streams of events run on Spark with "
            "shoal stream --engine spark."
        )
    with open_engine(engine) as opened:
        steps.start("reading")
        panel = read_source(opened, source, settings)
        tell(steps, panel)
        steps.start("grouping")
        candidate = anonymize(method, panel)
        steps.start("checking and writing")
        return publish_blocks(candidate, to, **publishing)


def read_source(engine: Engine, source: Any, settings: Mapping[str, Any]) -> BlockPanel:
    """A panel in blocks, with the settings of `read_panel` as far as they are for Parquet."""
    given = {name: value for name, value in settings.items() if name != "sql"}
    if settings.get("sql") is not None:
        raise ParameterError("On an engine tables are Parquet files, not answers of SQL. Leave out --sql, or --engine.")
    if source is None:
        raise ParameterError("Give a Parquet file or folder to read.")
    return read_blocks(engine, source, **given)


def run_policy_in_blocks(
    policy: Policy, engine: EnginePart, *, base: Path = Path(), steps: Steps = silent, insecure_seed: int | None = None
) -> Outcome:
    """What `run_policy` does, on an engine. Raises NothingMeetsBothError, and writes nothing, when no point does."""
    plan = plan_of(policy)
    release = policy.release
    if policy.data.path is None:
        raise ParameterError("The policy names no data: give data.path, or a table on the command line.")
    if release.model != "publish":
        raise ParameterError(
            f"release.model: {release.model} is made in memory, not on an engine. Use publish, or leave out engine."
        )
    refuse_publishing(format=release.format, ledger=release.ledger)
    to = base / release.to
    check_target(local_path(to, "The release"), overwrite=release.overwrite)
    source = policy.data.path if "://" in policy.data.path else str(base / policy.data.path)
    with open_engine(engine) as opened:
        steps.start("reading")
        panel = read_source(opened, source, policy.settings)
        tell(steps, panel)
        refuse_roles(policy, panel.roles, source)
        sample, on = draw_sample_of(panel, policy)

        def confirm(values: tuple[Any, ...]) -> tuple[Any, BlockCandidate | None, Point]:
            return evaluate_blocks(plan, values, panel)

        targets = halves(sample.n_subjects, None, policy.seed)[0]
        found = choose(plan, sample, targets, on, confirm, steps=steps)
        if found.frontier.chosen is None and all(point.impossible for point in found.frontier.points):
            raise ParameterError(str(found.frontier.points[0].refused))
        process = describe(plan, found.frontier)
        if found.candidate is None or found.frontier.chosen is None:
            raise NothingMeetsBothError(found.frontier.sentence, process)
        steps.start("checking and writing")
        chosen = found.frontier.chosen
        written = publish_blocks(
            found.candidate,
            to,
            require=plan.require,
            pseudonyms=release.pseudonyms,
            private=None if release.private is None else base / release.private,
            overwrite=release.overwrite,
            insecure_seed=insecure_seed,
            accept=tuple(release.accept),
            risks={name: (risk, plan.attacks[name].meaning) for name, risk in chosen.risks.items()},
            risk_limit=policy.require.risk.at_most,
            suppression_limit=policy.require.suppression.at_most,
            scores={name: (score, plan.measures[name].meaning) for name, score in chosen.scores.items()},
            process=certified(process, found.frontier, found.candidate),
        )
    return Outcome(found.frontier, written, process)


def draw_sample_of(panel: BlockPanel, policy: Policy) -> tuple[Panel, str]:
    """All series of some subjects, in memory, and on whom that is, in words."""
    share = policy.search.sample
    wanted = SAMPLE if share is None else int(np.ceil(share * panel.n_subjects))
    wanted = min(max(wanted, FEWEST_IN_SAMPLE), panel.n_subjects)
    n_series = int(np.ceil(wanted * panel.n_series / panel.n_subjects))
    n_bytes = 8 * n_series * panel.clock.n_instants * panel.clock.n_channels
    if n_bytes > MOST_SAMPLED:
        raise ParameterError(
            f"search.sample: {wanted} subjects have {n_bytes / 2**20:.0f} MiB of values; a sample is searched in "
            f"memory, with {MOST_SAMPLED // 2**20} MiB at most. Give a smaller share, or a method without search."
        )
    sample = panel.sample(n_series, seed=policy.seed)
    if sample.n_subjects >= panel.n_subjects:
        return sample, "all subjects"
    return sample, f"a sample of {sample.n_subjects} subjects"


def evaluate_blocks(plan: Plan, values: tuple[Any, ...], panel: BlockPanel) -> tuple[Any, BlockCandidate | None, Point]:
    """One point on everything: anonymize, check, attack, measure."""
    parameters, on = plan.choices.described(values), f"all {panel.n_subjects} subjects"
    began = time.perf_counter()
    method = plan.method_at(values)
    try:
        candidate = anonymize(method, panel)
        refused = not_held((*candidate.guarantees, *plan.require), lambda guarantee: check(guarantee, candidate))
        refused = refused or suppresses_too_much(plan, candidate)
    except ParameterError as error:
        return method, None, Point(parameters, refused=str(error), on=on, impossible=True)
    except GuaranteeNotMetError as error:
        return method, None, Point(parameters, refused=str(error), on=on)
    if refused is not None:
        return method, None, Point(parameters, refused=refused, on=on)
    policy = plan.policy
    n_targets = min(policy.adversary.targets or TARGETS, panel.n_subjects)
    # Another draw than that of the sample, so that hardly a target was attacked before.
    risks = {
        name: attack(one, candidate, targets=n_targets, seed=policy.seed + 1) for name, one in plan.attacks.items()
    }
    scores = {name: measure(one, candidate) for name, one in plan.measures.items()}
    risk = worst_of(plan, risks, _bound_of(candidate), candidate.guarantees)
    return method, candidate, Point(parameters, None, risk, risks, scores, time.perf_counter() - began, on)


def _bound_of(candidate: BlockCandidate) -> float:
    """The most that a link to a published series can succeed with, by a guarantee that was checked: 1/k, else 1."""
    crowds = [g.k for g in candidate.guarantees if isinstance(g, KAnonymity)]
    by_subject = candidate.panel.one_series_per_subject and candidate.form == "values"
    return 1.0 / max(crowds) if crowds and by_subject else 1.0
