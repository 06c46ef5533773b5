"""Try, attack and measure points on a sample, by the rule of the search; then confirm the best on all subjects."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.attacks import Relink
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.features import keep as kept_features
from shoal.guarantees import NoGuarantee
from shoal.model import Candidate, CandidateShards, Guarantee, Method, Panel, PanelShards, Risk
from shoal.model.watcher import Watcher, never, silent
from shoal.process.assessment import attack_all, bound_of, view
from shoal.process.keep import measures_of
from shoal.process.policy import Policy
from shoal.process.search.frontier import Frontier, Limits, Point
from shoal.process.search.points import Choices, Setting
from shoal.process.search.rule import FEWEST_IN_SAMPLE, round_lengths, sample_sizes, try_points
from shoal.release.suppression import refuse_suppression, suppression_of

SAMPLE = 2_000
"""Number of subjects tried first if the policy does not say how many."""

TARGETS = 1_000
"""Number of subjects attacked in shards if a policy does not say how many; candidates are always all."""

MOST_SAMPLED = 256 * 2**20
"""Largest size in bytes of a sample of a sharded panel."""


NO_ATTACK = "No attack that the policy names in adversary.knows is against what"


@dataclass(frozen=True)
class SearchTask:
    """What the search needs, with everything named in the policy found and built."""

    policy: Policy
    choices: Choices
    limits: Limits
    method_at: Callable[[Setting], Any]
    attacks: Mapping[str, Any]
    measures: Mapping[str, Any]
    require: Sequence[Guarantee] = ()
    by_mechanism: bool = False
    """Whether the method keeps differential privacy, so that no exact figure may influence it."""
    kept: tuple[str, ...] = ()
    """Measures of what must be kept, by name."""
    unpromised: bool = False
    """Whether one of the methods promises nothing, so that attacks alone judge what it publishes."""

    by_form: bool = False
    """Whether even a single method gets only the attacks against its form of release: if the policy names none."""

    def attacks_on(self, candidate: Candidate | CandidateShards) -> dict[str, Any]:
        """The attacks tried on a candidate."""
        by_form = self.by_form or self.choices.over_methods
        attacks = {
            name: attack
            for name, attack in self.attacks.items()
            if not by_form or (attack.against == "envelopes") == candidate.has_envelopes
        }
        if self.adds_relink and not _shows_habits(candidate):
            attacks.pop(Relink.name, None)
        return attacks

    @property
    def adds_relink(self) -> bool:
        """Whether a method that promises nothing is attacked with another period although the policy does not ask for
        it."""
        named = (Relink.name, Relink.short[0], "nearest-neighbour")
        return self.unpromised and not any(name in self.policy.adversary.knows for name in named)

    def on(self, panel: Panel | PanelShards) -> SearchTask:
        """The same for a panel, with the measures of what must be kept, which depend on its instants."""
        if self.adds_relink and Relink.name not in self.attacks and _has_days(panel):
            return replace(self, attacks={**self.attacks, Relink.name: Relink()}).on(panel)
        if self.policy.keep in ((), []) or self.by_mechanism:
            return self
        kept = measures_of(kept_features(self.policy.keep), panel)
        return replace(
            self,
            measures={**kept, **self.measures},
            limits=replace(self.limits, purpose=next(iter(kept), None)),
            kept=tuple(kept),
        )


def _has_days(panel: Panel | PanelShards) -> bool:
    """Whether there are days to learn habits from."""
    times = (panel.whole if isinstance(panel, PanelShards) else panel).times
    if times.dtype.kind != "M" or len(times) < 4:
        return False
    return bool(np.median(np.diff(times)) < np.timedelta64(1, "D") and times[-1] - times[0] >= np.timedelta64(2, "D"))


def _shows_habits(candidate: Candidate | CandidateShards) -> bool:
    """Whether a candidate promises nothing and shows series by date."""
    if not any(isinstance(guarantee, NoGuarantee) for guarantee in candidate.guarantees) or candidate.has_envelopes:
        return False
    if isinstance(candidate, CandidateShards):
        return bool(candidate.whole.times.dtype.kind == "M")
    published = candidate.published
    return isinstance(published, Panel) and published.times.dtype.kind == "M" and published.n_instants >= 4


@dataclass(frozen=True)
class SearchOutcome:
    """A frontier, and the candidate of its chosen point."""

    frontier: Frontier
    candidate: Candidate | CandidateShards | None
    """In memory, or in shards if the panel is."""
    method: Method | None
    settings: Sequence[Setting] = ()
    """For each point of the frontier."""


@dataclass(frozen=True)
class Sample:
    """Some subjects with all their series, and which of them are attacked."""

    panel: Panel | PanelShards
    targets: NDArray[np.int64]
    """Subjects by their numbers in it."""
    on: str
    """Who they are, in words."""
    positions: NDArray[np.int64] | None = None
    """Positions of its series in the table as read; None if it is the whole table; -1 for a series read in shards,
    whose position is unknown."""


def search(
    task: SearchTask,
    panel: Panel | PanelShards,
    *,
    steps: Watcher = silent,
    stop: Callable[[], bool] = never,
) -> SearchOutcome:
    """The most useful point that meets both limits, confirmed on all subjects with targets not attacked before.

    For a sharded panel, a sample is searched in memory, and the chosen point is made, checked, attacked and measured on
    everything; if it does not meet both limits there, the next one is tried. `stop` is asked before every point except
    the first: a person may end the search and let it choose among the points tried.
    """
    if task.by_mechanism:
        return _draw_once(task, panel, steps)
    task = task.on(panel)
    samples = samples_of(task, panel)
    steps.start("searching")
    tried = try_points(
        task.choices,
        task.limits,
        task.policy.search.points,
        lambda number, setting, part: evaluate(task, setting, samples[part])[2],
        steps=steps,
        stop=stop,
    )
    order = tried.in_order()
    settings = [tried.settings[number] for number in order]
    frontier = Frontier(task.limits, tuple(tried.points[number] for number in order), stopped=tried.stopped)
    everybody = f"all {panel.n_subjects} subjects"
    confirming = halves(panel.n_subjects, _n_targets(task, panel), task.policy.seed)[1]
    turned_down: list[Point] = []
    for place in frontier.better_first():
        steps.start(f"confirming {frontier.points[place].described()}")
        method, candidate, point = evaluate(task, settings[place], Sample(panel, confirming, everybody))
        if point.meets(task.limits):
            frontier = replace(frontier, chosen=point, turned_down=tuple(turned_down))
            return SearchOutcome(frontier, candidate, method, settings)
        turned_down.append(point)
    return SearchOutcome(replace(frontier, turned_down=tuple(turned_down)), None, None, settings)


def samples_of(task: SearchTask, panel: Panel | PanelShards) -> list[Sample]:
    """The parts of the sample that points are tried on, each within the next, the whole of it last."""
    n_rounds = len(round_lengths(len(task.choices.settings()), task.policy.search.points))
    seed = task.policy.seed
    tuning, confirming = halves(panel.n_subjects, _n_targets(task, panel), seed)
    whole = draw_sample(panel, task.policy)
    if isinstance(panel, PanelShards):
        # Targets of such a sample are its own subjects: half of them, by the same rule.
        on = "all subjects" if whole.n_subjects >= panel.n_subjects else f"a sample of {whole.n_subjects} subjects"
        drawn = Sample(whole, halves(whole.n_subjects, None, seed)[0], on, np.full(whole.n_series, -1))
    elif whole is panel:
        drawn = Sample(panel, tuning, "all subjects")
    else:
        drawn = _drawn(panel, drawing_order(panel, seed)[: whole.n_subjects], confirming)
    sizes = sample_sizes(n_rounds, whole.n_subjects)
    order = np.random.default_rng(np.random.SeedSequence([seed, 3])).permutation(whole.n_subjects)
    spared = np.setdiff1d(np.arange(whole.n_subjects), drawn.targets)
    parts = [_drawn(whole, order[:size], spared, drawn.positions) for size in sizes if size < whole.n_subjects]
    return [*parts, *[drawn] * (n_rounds - len(parts))]


def _drawn(
    panel: Panel, subjects: NDArray[np.int64], spared: NDArray[np.int64], positions: NDArray[np.int64] | None = None
) -> Sample:
    """Some subjects of a panel, half of them to be attacked, except those spared for later."""
    rows = np.flatnonzero(np.isin(panel.subject_codes, subjects))
    part = panel.take(rows)
    free = np.unique(part.subject_codes[~np.isin(panel.subject_codes[rows], spared)])
    most = (part.n_subjects + 1) // 2
    targets = free[:most] if len(free) else np.arange(most)
    at = rows if positions is None else positions[rows]
    return Sample(part, targets, f"a sample of {part.n_subjects} subjects", at)


def _n_targets(task: SearchTask, panel: Panel | PanelShards) -> int | None:
    """How many subjects are attacked, to search and to confirm together; None: all."""
    n_targets = task.policy.adversary.targets
    if isinstance(panel, PanelShards):
        return 2 * min(n_targets or TARGETS, panel.n_subjects // 2 or 1)
    return n_targets


def _draw_once(task: SearchTask, panel: Panel | PanelShards, steps: Watcher) -> SearchOutcome:
    """The single point, drawn once and judged by its guarantees alone."""
    steps.start("drawing")
    setting = task.choices.settings()[0]
    method = task.method_at(setting)
    candidate = method.anonymize(panel)
    refused = _not_held(candidate, task.require)
    point = Point(task.choices.described(setting), refused=refused, risk=0.0, on=f"all {panel.n_subjects} subjects")
    if refused is not None:
        return SearchOutcome(Frontier(task.limits, (point,)), None, None)
    return SearchOutcome(Frontier(task.limits, (point,), point), candidate, method)


def halves(n_subjects: int, n_targets: int | None, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Subjects to tune on and others to confirm on, drawn at random."""
    order = np.random.default_rng(np.random.SeedSequence([seed, 1])).permutation(n_subjects)
    order = order[: n_targets or n_subjects]
    half = (len(order) + 1) // 2
    return np.sort(order[:half]), np.sort(order[half:] if len(order) > half else order[:half])


def draw_sample(panel: Panel | PanelShards, policy: Policy) -> Panel:
    """All series of some subjects, or the panel itself if it is small enough."""
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
                f"memory, with at most {MOST_SAMPLED // 2**20} MiB. Give a smaller share, or a method without search."
            )
        return panel.sample(n_series, seed=policy.seed)
    if wanted >= panel.n_subjects:
        return panel
    return panel.take(np.flatnonzero(np.isin(panel.subject_codes, drawing_order(panel, policy.seed)[:wanted])))


def drawing_order(panel: Panel, seed: int) -> NDArray[np.int64]:
    """The subjects of a panel in the order in which they are drawn."""
    return np.random.default_rng(np.random.SeedSequence([seed, 2])).permutation(panel.n_subjects)


def evaluate(
    task: SearchTask, setting: Setting, sample: Sample
) -> tuple[Any, Candidate | CandidateShards | None, Point]:
    """One point: anonymize, check, attack, measure. If the data do not allow it, the point is refused."""
    described = task.choices.described(setting)
    tried: dict[str, Any] = {"on": sample.on, "n_subjects": sample.panel.n_subjects}
    began = time.perf_counter()
    method = task.method_at(setting)
    try:
        candidate = method.anonymize(sample.panel)
        refused = _not_held(candidate, task.require) or suppresses_too_much(task, candidate)
    except ParameterError as error:
        return method, None, Point(described, refused=str(error), impossible=True, **tried)
    except GuaranteeNotMetError as error:
        return method, None, Point(described, refused=str(error), **tried)
    if refused is not None:
        return method, None, Point(described, refused=refused, **tried)
    try:
        # A different draw from that of the sample, so that hardly any target was attacked before.
        risks = attack_all(task.attacks_on(candidate), candidate, sample.targets, task.policy.seed + 1)
        scores = {name: candidate.measure(measure) for name, measure in task.measures.items()}
    except (ParameterError, InputError) as error:
        if not task.choices.over_methods:
            raise
        return method, None, Point(described, refused=str(error), **tried)
    if not risks:
        return method, None, Point(described, refused=f"{NO_ATTACK} {method.name} publishes.", **tried)
    seconds = time.perf_counter() - began
    risk = worst_of(task, risks, bound_of(candidate), candidate.guarantees)
    return method, candidate, Point(described, None, risk, risks, scores, seconds, **tried)


def worst_of(task: SearchTask, risks: Mapping[str, Risk], bound: float, guarantees: Sequence[Guarantee]) -> float:
    """The figure compared with the risk limit: the highest of all attacks in the policy's scenario."""
    scenario = task.policy.adversary.scenario
    risk = max((view(risk, scenario, bound) for risk in risks.values()), default=0.0)
    if any(isinstance(guarantee, NoGuarantee) for guarantee in guarantees):
        # Nothing else is promised, so the gate compares the upper end of every interval with the limit.
        risk = max(risk, *(found.interval.high for found in risks.values()))
    return risk


def _not_held(candidate: Candidate | CandidateShards, require: Sequence[Guarantee]) -> str | None:
    """Which guarantee does not hold, in words; None if all do, or are judged by attacks."""
    for guarantee in (*candidate.guarantees, *require):
        if isinstance(guarantee, NoGuarantee):
            continue
        verdict = candidate.judge(guarantee)
        if not verdict.holds:
            why = f" ({verdict.note})" if verdict.note and verdict.outcome == "does not hold" else ""
            return f"{guarantee.name} {verdict.words}{why}."
    return None


def suppresses_too_much(task: SearchTask, candidate: Candidate | CandidateShards) -> str | None:
    """Why a point leaves out more than the policy allows, in words; None if it does not."""
    return refuse_suppression(suppression_of(candidate), task.policy.require.suppression.at_most, candidate.recipe)
