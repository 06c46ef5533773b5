"""The output of a method for a panel in shards: a candidate for each shard, whose results merge in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.errors import ParameterError
from shoal.model.attack import Attack
from shoal.model.candidate import Candidate, Recipe
from shoal.model.guarantee import Guarantee
from shoal.model.joined import join_candidates
from shoal.model.measure import Measure
from shoal.model.panel_shards import PanelShards, Shards, Store, Whole, added
from shoal.model.reduction import Answer, Draw, Reduction, Reductions, first_alone
from shoal.model.risk import Risk
from shoal.model.score import Score
from shoal.model.verdict import Verdict


@dataclass(frozen=True)
class ShardFacts:
    """What the candidate of one shard says about itself."""

    n_original: int
    n_published: int
    n_subjects: int
    is_spread: bool
    shows_everybody: bool
    has_envelopes: bool
    has_profiles: bool
    has_scenarios: bool
    guarantees: tuple[Guarantee, ...]
    recipe: Recipe
    secrets: Mapping[str, Any]


def facts_of(number: int, candidate: Candidate) -> ShardFacts:
    """What a candidate says about itself."""
    return ShardFacts(
        candidate.private.original.n_series,
        candidate.n_written,
        candidate.private.original.n_subjects,
        candidate.private.spread is not None,
        candidate.shows_everybody,
        candidate.has_envelopes,
        candidate.has_profiles,
        candidate.has_scenarios,
        candidate.guarantees,
        candidate.recipe,
        dict(candidate.private.secrets),
    )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateShards(Shards[Candidate]):
    """What a method proposes for a panel in shards: a candidate for each, not yet checked.

    Parameters
    ----------
    store
        The candidates.
    panel
        The originals.
    guarantee, further
        What all shards aim at.
    recipe
        As in `Candidate`; its figures are those of all shards.
    facts
        What each shard's candidate says about itself.
    """

    store: Store[Candidate]
    panel: PanelShards
    guarantee: Guarantee
    recipe: Recipe
    further: tuple[Guarantee, ...] = ()
    facts: tuple[ShardFacts, ...] = ()

    @property
    def whole(self) -> Whole:  # type: ignore[override]  # that of the panel
        """What is known about all originals together."""
        return self.panel.whole

    @classmethod
    def of(
        cls, store: Store[Candidate], panel: PanelShards, merged: Callable[[Sequence[Recipe]], Recipe]
    ) -> CandidateShards:
        """The candidates of all shards, described by `facts_of`; `merged` combines their recipes."""
        facts: tuple[ShardFacts, ...] = tuple(store.told())
        # A guarantee that one shard does not claim is not claimed for all.
        claimed = [g for g in facts[0].guarantees if all(g in other.guarantees for other in facts)]
        if not claimed:
            promises = [fact.guarantees[0] for fact in facts]
            claimed = [next((one for one in promises if one.name == "none"), promises[0])]
        recipes = merged([fact.recipe for fact in facts])
        recipe = replace(recipes, figures={**recipes.figures, "shards": store.n_shards})
        # Candidates carry their originals; the shards they were made from are released.
        return cls(
            store=store,
            panel=panel.unsplit(),
            guarantee=claimed[0],
            recipe=recipe,
            further=tuple(claimed[1:]),
            facts=facts,
        )

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Everything the method aims at; all of it must hold."""
        return (self.guarantee, *self.further)

    @property
    def n_series(self) -> int:
        """How many series, or profiles of groups, would be published."""
        return sum(fact.n_published for fact in self.facts)

    @property
    def shows_everybody(self) -> bool:
        """Whether every original series and every reading contributes to what is published."""
        return all(fact.shows_everybody for fact in self.facts)

    @property
    def has_envelopes(self) -> bool:
        """Whether series are published as ranges and shapes."""
        return self.facts[0].has_envelopes

    @property
    def has_scenarios(self) -> bool:
        """Whether groups are published as a distribution each."""
        return self.facts[0].has_scenarios

    @property
    def has_profiles(self) -> bool:
        """Whether groups are published as a profile each."""
        return self.facts[0].has_profiles

    @property
    def secrets(self) -> dict[str, Any]:
        """Parameters that would help to undo the release; the same in all shards."""
        return dict(self.facts[0].secrets)

    def judge(self, *guarantees: Guarantee) -> Verdict:
        """The verdict on the union, from the verdicts on all shards; the first that does not hold."""
        answers = self.reduce(*(Reduction(partial(_check, one), one.merge) for one in guarantees))
        verdicts: list[Verdict] = [answer() for answer in answers]
        return next((verdict for verdict in verdicts if not verdict.holds), verdicts[0])

    def check(self) -> Verdict:
        """Judge every guarantee: the first that does not hold, else the one aimed at first."""
        return self.judge(*self.guarantees)

    def reduce(self, *reductions: Reduction) -> list[Answer]:
        """Several figures in one visit to every shard: an answer for each, which is concluded when called.

        If together they are too large for one place, fewer are computed at a time.
        """
        several = Reductions(reductions)
        try:
            found = self.store.reduce(several.together, several.together.merged)
        except ParameterError:
            if len(reductions) < 2:
                raise
            half = len(reductions) // 2
            return [*self.reduce(*reductions[:half]), *self.reduce(*reductions[half:])]
        return several.answers(found)

    def measure(self, measure: Measure) -> Score:
        """The score of a measure: the sum of its tallies, or the figure of a sample in whole groups."""
        score: Score = self.reduce(self.to_measure(measure))[0]()
        return score

    def to_measure(self, measure: Measure) -> Reduction:
        """A reduction to the score of a measure."""
        if not measure.why_whole:
            return Reduction(partial(_tally, measure), measure.score, added)
        if measure.sampled is None:
            return Reduction(_nothing, partial(_refuse_measure, measure))
        return self.to_sample(measure.sampled, partial(self._measure_sample, measure))

    def _measure_sample(self, measure: Measure, drawn: Candidate) -> Score:
        """The figure of the sample, or of the sample against all series, which takes another visit."""
        original, published, further = drawn.sides(measure)
        is_all = drawn.private.original.n_series == self._n_original
        fixed = None if is_all else measure.fixed(original, published, **further)
        return measure.measure(original, published, **further) if fixed is None else self.measure(fixed)

    @property
    def _n_original(self) -> int:
        return sum(fact.n_original for fact in self.facts)

    def meaning_of(self, one: Measure | Attack[Any]) -> str:
        """What a figure means, with what must be said about shards."""
        if self.n_shards == 1:
            return one.meaning
        if isinstance(one, Attack):
            if one.bounded_by_shard:
                return (
                    f"{one.meaning}; searched in the target's own shard, so the success is an upper bound; other "
                    "figures are of that search"
                )
            n = SAMPLE
        elif one.why_whole and one.sampled is not None:
            n = one.sampled
        else:
            return one.meaning
        n = self.panel.affordable(n)
        if self._n_original <= n:
            return one.meaning
        against_all = isinstance(one, Measure) and type(one).fixed is not Measure.fixed
        compared = ", compared with all of them" if against_all else ""
        groups = "" if any(fact.is_spread for fact in self.facts) else ", in whole groups"
        return f"{one.meaning}; on a sample of about {n} of {self._n_original} series{groups}{compared}"

    def attack(self, attack: Attack[Any], *, n_targets: int | None = None, seed: int = 0) -> Risk:
        """What an attack achieves: in each shard against its own targets, or on a sample of the whole.

        If `attack.bounded_by_shard`, candidates are those of the target's shard, which can only help the adversary.
        """
        risk: Risk = self.reduce(self.to_attack(attack, n_targets=n_targets, seed=seed))[0]()
        return risk

    def to_attack(self, attack: Attack[Any], *, n_targets: int | None = None, seed: int = 0) -> Reduction:
        """A reduction to the risk of an attack."""
        if not attack.bounded_by_shard:
            return self.to_sample(SAMPLE, lambda drawn: drawn.attack(attack))
        starts = np.concatenate([[0], np.cumsum([fact.n_original for fact in self.facts])])
        drawn = np.arange(starts[-1])
        if n_targets is not None and n_targets < len(drawn):
            drawn = np.sort(np.random.default_rng(np.random.SeedSequence([seed, 17])).permutation(drawn)[:n_targets])
        drawn = attack.draw(drawn)
        targets = [drawn[(drawn >= a) & (drawn < b)] - a for a, b in pairwise(starts)]
        return Reduction(partial(_find, attack, starts.tolist(), targets), attack.risk, _merge_findings)

    def sample(self, n_series: int) -> Candidate:
        """About this many series in memory, in whole groups, drawn by a hash of what is published."""
        drawn: Candidate = self.reduce(self.to_sample(n_series, lambda drawn: drawn))[0]()
        return drawn

    def to_sample(self, n_series: int, conclude: Callable[[Candidate], Any]) -> Reduction:
        """A reduction to a sample, and to what is concluded from it."""
        share = min(1.0, self.panel.affordable(n_series) / max(1, self._n_original))

        def joined(drawn: list[Candidate | None]) -> Any:
            found = [one for one in (drawn if any(drawn) else self.map(first_alone)) if one is not None]
            return conclude(join_candidates(found))

        return Reduction(Draw(share), joined)

    def __repr__(self) -> str:
        return f"Shards({self.recipe.method}, {self.n_series} series in {self.n_shards} shard(s))"


SAMPLE = 20_000
"""Number of series in a sample for attacks that need statistics of the whole."""


def _check(guarantee: Guarantee, number: int, candidate: Candidate) -> Verdict:
    return guarantee.check(candidate)


def _tally(measure: Measure, number: int, candidate: Candidate) -> Any:
    return candidate.tally(measure)


def _nothing(number: int, candidate: Candidate) -> None:
    return None


def _refuse_measure(measure: Measure, found: list[None]) -> Score:
    raise ParameterError(
        f"{measure.name} {measure.why_whole}, so it is not measured on a panel in shards. Measure a smaller "
        "release of the same kind in memory, or use information-loss."
    )


def _find(attack: Attack[Any], starts: Any, targets: Any, number: int, candidate: Candidate) -> Any:
    return candidate.find(attack, targets[number], first=starts[number])


def _merge_findings(several: Sequence[Any]) -> Any:
    return type(several[0]).merged(several)
