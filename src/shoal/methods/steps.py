"""Several methods one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from shoal.errors import ParameterError
from shoal.guarantees import NoGuarantee
from shoal.methods.first_panel import curves_of_first, groups_of_first, row_of_first, working_panel
from shoal.methods.microaggregation import Microaggregation
from shoal.methods.noise_addition import NoiseAddition
from shoal.methods.noisy_aggregates import NoisyAggregates
from shoal.methods.sampling_with_fictives import SamplingWithFictives
from shoal.methods.scope_aggregation import ScopeAggregation
from shoal.methods.time_slicing import TimeSlicing
from shoal.methods.transformation import Transformation
from shoal.model import Candidate, Guarantee, Method, Panel, PanelShards, Private, Progress, Recipe, ShardPlan


@dataclass(frozen=True)
class Steps(Method):
    """Apply methods in order, each to what the previous one would publish.

    The original stays the first panel: figures and attacks compare with it. Every guarantee that a step aims at is
    checked again on what is finally published, and claimed only if it holds there and every later step declares that it
    keeps equal series equal. What a later step has broken is named in the recipe as not claimed. If nothing is left,
    nothing is promised, and the release is judged by attack only.

    Meaningless lists are refused: a step after one that publishes groups instead of series; crowds with fictive series
    in them; noisy aggregates after a step that mixes subjects, because then one subject affects more than its own
    curve.

    Missing readings are handled by each step's own rule.

    Parameters
    ----------
    steps
        The methods, or what names them: {"name": "noise-addition", "snr": 10}.

    Examples
    --------
    >>> from shoal.methods import Microaggregation, NoiseAddition
    >>> panel = Panel([[1.0], [2.0], [10.0], [12.0]])
    >>> candidate = Steps((Microaggregation(k=2), NoiseAddition(snr=100.0))).anonymize(panel)
    >>> candidate.check().holds, candidate.guarantee.name, len(set(candidate.values.ravel().tolist()))
    (True, 'k-anonymity', 2)

    References
    ----------
    "Data-driven anonymization process applied to time series", section 2 (techniques can be combined) and section 5.2
    (a little noise on published means ends the search for their members).
    """

    name: ClassVar[str] = "steps"
    why_alone: ClassVar[str] = "put its steps into this list"

    steps: Sequence[Any]

    def __post_init__(self) -> None:
        if isinstance(self.steps, str | Mapping) or not isinstance(self.steps, Sequence) or not self.steps:
            raise ParameterError(
                "steps needs a list of methods, such as (NoiseAddition(snr=10), Microaggregation(k=5))."
            )
        object.__setattr__(self, "steps", tuple(_method(entry) for entry in self.steps))
        _refuse_nonsense(self.steps)
        if any(isinstance(step, Microaggregation) and step.shown_groups for step in self.steps):
            raise ParameterError(
                "A step does not recognise series by their names, so it cannot stay within groups that analysts were "
                "shown, which this metric or `within` requires. Use microaggregation alone, or a metric learned from "
                "public series."
            )

    @property
    def each_step(self) -> tuple[Method, ...]:
        """The steps."""
        return tuple(self.steps)

    @property
    def parameters(self) -> dict[str, Any]:
        """What is needed to build the same steps again."""
        return {"steps": [{"name": step.name, **step.parameters} for step in self.steps]}

    @property
    def shard_plan(self) -> ShardPlan:
        """The combined shard plan of all steps."""
        plans: list[ShardPlan] = [step.shard_plan for step in self.steps]
        within = tuple(dict.fromkeys(strata for plan in plans for strata in plan.within))
        first = next((plan for plan in plans if plan.within), plans[-1])
        return replace(first, least=max(plan.least for plan in plans), within=within)

    @property
    def why_whole(self) -> str:
        """The reason of any step that needs all series."""
        return next((step.why_whole for step in self.steps if step.why_whole), "")

    def prepare(self, panel: PanelShards) -> Self:
        """Each step with figures of what the steps before it make of the whole panel."""
        prepared: list[Method] = []
        working = panel
        if len(self.steps) > 1:
            panel.store.persist()  # shards are made of rows once, for all steps
        for step in self.steps:
            prepared.append(step.prepare(working))
            if len(prepared) < len(self.steps):
                working = replace(working, store=working.store.each(partial(_apply, prepared[-1])))
        return self.knowing(steps=tuple(prepared))

    def of_shard(self, number: int) -> Self:
        """Each step for that shard."""
        return self.knowing(steps=tuple(step.of_shard(number) for step in self.steps))

    def merged(self, recipes: Sequence[Recipe]) -> Recipe:
        """Figures of each step; what one shard does not claim is not claimed of all."""
        figures = [
            step.merged_figures([recipe.figures["steps"][at] for recipe in recipes])
            for at, step in enumerate(self.steps)
        ]
        broken = list(dict.fromkeys(name for recipe in recipes for name in recipe.figures["not_claimed"]))
        return Recipe(self.name, recipes[0].parameters, {"steps": figures, "not_claimed": broken})

    def _anonymize(self, panel: Panel, progress: Progress | None) -> Candidate:
        """Apply the steps; then see which guarantees are left."""
        made: list[Candidate] = []
        working = panel
        for step in self.steps:
            made.append(step.anonymize(working, progress=progress))
            if len(made) < len(self.steps):
                working = working_panel(made[-1])
        stands_for = row_of_first(made)
        # Groups have no rows of their own; their curves are those of all series.
        row_by_row = np.array_equal(stands_for, np.arange(panel.n_series)) or not isinstance(made[-1].published, Panel)
        draft = Candidate(
            published=made[-1].published,
            guarantee=NoGuarantee(),
            recipe=self._recipe(made, ()),
            private=Private(
                original=panel,
                groups=groups_of_first(made, stands_for),
                curves=curves_of_first(self.steps, made),
                stands_for=None if row_by_row else stands_for,
                averaged=made[-1].private if all(map(_keeps_apart, self.steps[:-1])) else None,
                secrets={"steps": [dict(candidate.private.secrets) for candidate in made]},
                spread=made[-1].private.spread,
            ),
        )
        claimed, broken = self._claims(made, draft)
        return replace(
            draft,
            guarantee=claimed[0] if claimed else NoGuarantee(),
            further=tuple(claimed[1:]),
            recipe=self._recipe(made, [guarantee.name for guarantee in broken]),
        )

    def _claims(self, made: list[Candidate], draft: Candidate) -> tuple[list[Guarantee], list[Guarantee]]:
        """The guarantees of all steps, latest first: those that hold at the end, and those that do not."""
        claimed: list[Guarantee] = []
        broken: list[Guarantee] = []
        for at in reversed(range(len(made))):
            kept = all(step.keeps_equal for step in self.steps[at + 1 :])
            for guarantee in made[at].guarantees:
                if guarantee.name == NoGuarantee.name or guarantee in claimed:
                    continue
                (claimed if kept and guarantee.check(draft).holds else broken).append(guarantee)
        return claimed, broken

    def _recipe(self, made: list[Candidate], broken: Sequence[str]) -> Recipe:
        recipes = [candidate.recipe for candidate in made]
        return Recipe(
            self.name,
            {"steps": [{"name": recipe.method, **recipe.parameters} for recipe in recipes]},
            {"steps": [recipe.figures for recipe in recipes], "not_claimed": list(broken)},
        )


def _apply(step: Method, number: int, panel: Panel) -> Panel:
    return working_panel(step.anonymize(panel))


def _method(entry: Any) -> Method:
    """A method, built from its name and parameters if these are given."""
    method = _built(entry) if isinstance(entry, Mapping) else entry
    if isinstance(method, Method):
        return method
    if getattr(method, "reads", "") == "events":
        raise ParameterError(f"{method.name} cannot be one of several steps: it takes events, not series.")
    raise ParameterError("steps needs methods, such as NoiseAddition(snr=10), but something else is among them.")


def _built(entry: Mapping[str, Any]) -> Any:
    # Imported late, because the package also exports this file.
    from shoal import methods

    known = {getattr(methods, name).name: getattr(methods, name) for name in methods.__all__}
    name = entry.get("name")
    if name not in known:
        raise ParameterError(f"steps names an unknown method. Known: {', '.join(sorted(known))}. See: shoal methods")
    try:
        return known[name](**{key: value for key, value in entry.items() if key != "name"})
    except TypeError:
        given = ", ".join(str(key) for key in entry if key != "name") or "none"
        raise ParameterError(f"steps: {name} does not take these parameters: {given}. See: shoal methods") from None


def _refuse_nonsense(steps: Sequence[Method]) -> None:
    for at, step in enumerate(steps):
        if step.why_alone:
            raise ParameterError(f"{step.name} cannot be one of several steps: {step.why_alone}.")
        for other in steps[at + 1 :]:
            if why := _does_not_follow(other, step):
                raise ParameterError(why)


def _does_not_follow(step: Method, earlier: Method) -> str | None:
    """Why a step makes no sense somewhere after another, with the way out."""
    if earlier.publishes_groups:
        return (
            f"{earlier.name} publishes groups or bands, so {step.name} after it has no series to work on. "
            f"Put {earlier.name} last."
        )
    if _has_fictives(earlier) and not step.takes_fictives:
        return (
            f"{step.name} after {earlier.name} would count fictive series in its crowds, or mix them with real ones. "
            "Set fictives=0, or put it before."
        )
    if isinstance(earlier, TimeSlicing) and isinstance(step, ScopeAggregation):
        return "scope-aggregation after time-slicing would count slices of a subject separately. Remove time-slicing."
    by_itself = step.each_alone or isinstance(step, NoiseAddition)
    if isinstance(earlier, TimeSlicing) and earlier.dates == "kept" and not by_itself:
        return (
            f"{step.name} after {earlier.name} with dates='kept' has slices that share no instant. Use dates='dropped'."
        )
    if not isinstance(step, NoisyAggregates):
        return None
    if not earlier.each_alone:
        return (
            f"noisy-aggregates after {earlier.name} keeps no differential privacy: one subject changes the series of "
            "others there. Only transformation, time-aggregation and time-slicing may come before."
        )
    if step.unit == "reading" and isinstance(earlier, Transformation) and earlier.kind != "coarsen":
        return (
            f"noisy-aggregates with unit='reading' after {earlier.name} {earlier.kind!r}: one reading changes several "
            "numbers there, so more noise would be needed than for one. Use unit='subject'."
        )
    return None


def _has_fictives(step: Method) -> bool:
    return isinstance(step, SamplingWithFictives) and step.fictives > 0


def _keeps_apart(step: Method) -> bool:
    """Whether every series it returns has only readings of its own subject, and none is fictive."""
    return step.keeps_apart and not _has_fictives(step)
