"""Try, attack and measure the points of a policy; on a sample first, then the best of them on everybody."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import NoGuarantee
from shoal.model import Candidate, CandidateShards, Guarantee, Panel, PanelShards, Risk
from shoal.model.watcher import Watcher, silent
from shoal.process.assessment import attack_all, bound_of, view
from shoal.process.policy import Policy
from shoal.process.search.frontier import Frontier, Limits, Point
from shoal.process.search.points import Choices
from shoal.release.suppression import refuse_suppression, suppression_of

SAMPLE = 2_000
"""Subjects that are tried first where the policy does not say how many."""

TARGETS = 1_000
"""Subjects that are attacked in shards where a policy does not say how many; candidates are always all."""

MOST_SAMPLED = 256 * 2**20
"""Bytes of a sample of a panel in shards."""

FEWEST_IN_SAMPLE = 100
"""Subjects below which a sample says nothing about the whole."""


@dataclass(frozen=True)
class Plan:
    """What the search needs to know, everything named in the policy found and built."""

    policy: Policy
    choices: Choices
    limits: Limits
    method_at: Callable[[tuple[Any, ...]], Any]
    attacks: Mapping[str, Any]
    measures: Mapping[str, Any]
    require: Sequence[Guarantee] = ()
    by_mechanism: bool = False
    """Whether the method keeps differential privacy, so that no exact figure may decide about it."""


@dataclass(frozen=True)
class Found:
    """A frontier, and the candidate of its chosen point."""

    frontier: Frontier
    candidate: Any | None
    """In memory, or in shards where the panel is."""
    method: Any | None


def search(plan: Plan, panel: Panel | PanelShards, *, steps: Watcher = silent) -> Found:
    """The most useful point that meets both limits, confirmed on all subjects with targets not attacked before.

    Of a panel in shards a sample is searched in memory, and the point that is chosen there is made, checked, attacked
    and measured on everything; where it does not meet both limits there, the next one is tried.
    """
    if plan.by_mechanism:
        return _draw_once(plan, panel, steps)
    n_targets = plan.policy.adversary.targets
    if isinstance(panel, PanelShards):
        n_targets = 2 * min(n_targets or TARGETS, panel.n_subjects // 2 or 1)
    tuning, confirming = halves(panel.n_subjects, n_targets, plan.policy.seed)
    sample = draw_sample(panel, plan.policy)
    whole = sample.n_subjects >= panel.n_subjects
    on = "all subjects" if whole else f"a sample of {sample.n_subjects} subjects"
    # Targets of a sample are its own subjects: half of them, by the same rule.
    sample_targets = tuning if sample is panel else halves(sample.n_subjects, None, plan.policy.seed)[0]

    def confirm(values: tuple[Any, ...]) -> tuple[Any, Candidate | CandidateShards | None, Point]:
        return evaluate(plan, values, panel, confirming, f"all {panel.n_subjects} subjects")

    return choose(plan, sample, sample_targets, on, confirm, steps=steps)


def choose(
    plan: Plan,
    sample: Panel,
    targets: NDArray[np.int64],
    on: str,
    confirm: Callable[[tuple[Any, ...]], tuple[Any, Any, Point]],
    *,
    steps: Watcher = silent,
) -> Found:
    """Try all points on a sample, then confirm the promising ones on everybody until one meets both limits."""
    steps.start("searching")
    tried = _try_all(plan, sample, targets, on, steps)
    frontier = Frontier(plan.limits, tuple(tried.values()))
    turned_down: list[Point] = []
    at = {id(point): values for values, point in tried.items()}
    for promising in frontier.better_first():
        steps.start(f"confirming {promising.described()}")
        values = at[id(promising)]
        method, candidate, point = confirm(values)
        if point.meets(plan.limits):
            return Found(Frontier(plan.limits, frontier.points, point, tuple(turned_down)), candidate, method)
        turned_down.append(point)
    return Found(Frontier(plan.limits, frontier.points, None, tuple(turned_down)), None, None)


def _draw_once(plan: Plan, panel: Panel | PanelShards, steps: Watcher) -> Found:
    """The one point there is, drawn once and judged by its guarantees alone."""
    steps.start("drawing")
    method = plan.method_at(())
    candidate = method.anonymize(panel)
    refused = _not_held(candidate, plan.require)
    point = Point(plan.choices.described(()), refused=refused, risk=0.0, on=f"all {panel.n_subjects} subjects")
    if refused is not None:
        return Found(Frontier(plan.limits, (point,)), None, None)
    return Found(Frontier(plan.limits, (point,), point), candidate, method)


def halves(n_subjects: int, n_targets: int | None, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Subjects to tune on and others to confirm on, drawn by chance."""
    order = np.random.default_rng(np.random.SeedSequence([seed, 1])).permutation(n_subjects)
    order = order[: n_targets or n_subjects]
    half = (len(order) + 1) // 2
    return np.sort(order[:half]), np.sort(order[half:] if len(order) > half else order[:half])


def draw_sample(panel: Panel | PanelShards, policy: Policy) -> Panel:
    """All series of some subjects, or the panel itself where it is small enough."""
    share = policy.search.sample
    wanted = SAMPLE if share is None else int(np.ceil(share * panel.n_subjects))
    wanted = max(wanted, FEWEST_IN_SAMPLE)
    if isinstance(panel, PanelShards):
        wanted = min(wanted, panel.n_subjects)
        n_series = int(np.ceil(wanted * panel.n_series / panel.n_subjects))
        n_bytes = 8 * n_series * panel.whole.n_instants * panel.whole.n_channels
        if n_bytes > MOST_SAMPLED:
            raise ParameterError(
                f"search.sample: {wanted} subjects have {n_bytes / 2**20:.0f} MiB of values; a sample is searched in "
                f"memory, with {MOST_SAMPLED // 2**20} MiB at most. Give a smaller share, or a method without search."
            )
        return panel.sample(n_series, seed=policy.seed)
    if wanted >= panel.n_subjects:
        return panel
    drawn = np.random.default_rng(np.random.SeedSequence([policy.seed, 2])).permutation(panel.n_subjects)[:wanted]
    return panel.take(np.flatnonzero(np.isin(panel.subject_codes, drawn)))


def _try_all(
    plan: Plan, panel: Panel, targets: NDArray[np.int64], on: str, steps: Watcher
) -> dict[tuple[Any, ...], Point]:
    """The grid, then the middles of those neighbours between which the risk limit is crossed."""
    tried: dict[tuple[Any, ...], Point] = {}
    todo = list(plan.choices.points())
    for done, values in enumerate(todo):
        steps.advance(done, len(todo))
        tried[values] = evaluate(plan, values, panel, targets, on)[2]
    if len(plan.choices.places) == 1 and plan.choices.spans:
        (span,) = plan.choices.spans.values()
        while (crossing := _crossing(tried, plan.limits)) and (middle := span.between(*crossing)) is not None:
            tried[(middle,)] = evaluate(plan, (middle,), panel, targets, on)[2]
            steps.advance(len(tried), len(tried) + 1)
    if len(plan.choices.places) == 1 and plan.choices.spans:
        return dict(sorted(tried.items(), key=lambda item: item[0]))  # middles came last
    return tried


def _crossing(tried: Mapping[tuple[Any, ...], Point], limits: Limits) -> tuple[Any, Any] | None:
    """Two neighbours of which one keeps the risk limit, where risk only rises or only falls; else none."""
    along = sorted((values[0], point) for values, point in tried.items() if point.refused is None)
    risks = [point.risk for _, point in along]
    if len(along) < 2 or not (risks == sorted(risks) or risks == sorted(risks, reverse=True)):
        return None
    for (low, one), (high, other) in pairwise(along):
        if (one.risk <= limits.risk) != (other.risk <= limits.risk):
            return low, high
    return None


def evaluate(
    plan: Plan, values: tuple[Any, ...], panel: Panel | PanelShards, targets: NDArray[np.int64], on: str
) -> tuple[Any, Candidate | CandidateShards | None, Point]:
    """One point: anonymize, check, attack, measure. What the data cannot bear is a point that was refused."""
    parameters = plan.choices.described(values)
    began = time.perf_counter()
    method = plan.method_at(values)
    try:
        candidate = method.anonymize(panel)
        refused = _not_held(candidate, plan.require) or suppresses_too_much(plan, candidate)
    except ParameterError as error:
        return method, None, Point(parameters, refused=str(error), on=on, impossible=True)
    except GuaranteeNotMetError as error:
        return method, None, Point(parameters, refused=str(error), on=on)
    if refused is not None:
        return method, None, Point(parameters, refused=refused, on=on)
    # Another draw than that of the sample, so that hardly a target was attacked before.
    risks = attack_all(plan.attacks, candidate, targets, plan.policy.seed + 1)
    scores = {name: candidate.measure(measure) for name, measure in plan.measures.items()}
    seconds = time.perf_counter() - began
    risk = worst_of(plan, risks, bound_of(candidate), candidate.guarantees)
    return method, candidate, Point(parameters, None, risk, risks, scores, seconds, on)


def worst_of(plan: Plan, risks: Mapping[str, Risk], bound: float, guarantees: Sequence[Guarantee]) -> float:
    """The figure that the risk limit is held against: the highest of all attacks in the policy's scenario."""
    scenario = plan.policy.adversary.scenario
    risk = max((view(risk, scenario, bound) for risk in risks.values()), default=0.0)
    if any(isinstance(guarantee, NoGuarantee) for guarantee in guarantees):
        # Nothing else is promised, so the gate holds the upper end of every interval against the limit.
        risk = max(risk, *(found.interval.high for found in risks.values()))
    return risk


def _not_held(candidate: Candidate | CandidateShards, require: Sequence[Guarantee]) -> str | None:
    """Which guarantee does not hold, in words; None where all do, or are judged by attacks."""
    for guarantee in (*candidate.guarantees, *require):
        if isinstance(guarantee, NoGuarantee):
            continue
        verdict = candidate.judge(guarantee)
        if not verdict.holds:
            why = f" ({verdict.note})" if verdict.note and verdict.outcome == "does not hold" else ""
            return f"{guarantee.name} {verdict.words}{why}."
    return None


def suppresses_too_much(plan: Plan, candidate: Any) -> str | None:
    """Why a point leaves out more than the policy allows, in words; None where it does not."""
    return refuse_suppression(suppression_of(candidate), plan.policy.require.suppression.at_most, candidate.recipe)
