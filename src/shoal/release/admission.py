"""What a candidate must pass before anything is written: every guarantee, and checks that no guarantee covers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, ParameterError
from shoal.guarantees import KAnonymity, NoGuarantee
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.guarantees.dominance import Dominance, find_dominance, merge_dominance
from shoal.methods.remedies import reach_of
from shoal.model import (
    Candidate,
    CandidateShards,
    EventsCandidate,
    Guarantee,
    Panel,
    Profiles,
    Risk,
    Spread,
    Suppression,
    Verdict,
)
from shoal.model.reduction import Answer, Found, Reduction, Reductions, Together
from shoal.model.words import names_apart
from shoal.release.certificate import CountsPart
from shoal.release.event_originals import refuse_late
from shoal.release.forms import form_of
from shoal.release.openness import sampled_bits
from shoal.release.options import ReleaseOptions
from shoal.release.profiles import members_of
from shoal.release.publishers_word import is_by_mechanism, judge, refuse_unjudged
from shoal.release.suppression import refuse_suppression, suppression_of
from shoal.release.verification import positions

Proposed = Candidate | EventsCandidate | CandidateShards
R = TypeVar("R")


@dataclass(frozen=True)
class Checked:
    """What was found about a candidate that may be published."""

    verdicts: tuple[Verdict, ...]
    """One for each guarantee: those of the candidate, then the additional ones."""
    suppression: Suppression
    open_bits: float
    members: tuple[GroupMembers, ...] = ()
    """For groups that are spread over shards."""
    dominance: Dominance | None = None
    """For the publisher; None if no means are published."""


def check_candidate(
    candidate: Proposed, options: ReleaseOptions | None = None, risks: Mapping[str, Risk] | None = None
) -> Checked:
    """Check whether a candidate may be published; raises GuaranteeNotMetError if not."""
    options = options or ReleaseOptions()
    looked = each(candidate, partial(look_at, (*candidate.guarantees, *options.require)))
    return conclude(candidate, looked, options, risks or {})


def conclude(
    candidate: Proposed, looked: Sequence[Looked], options: ReleaseOptions, risks: Mapping[str, Risk]
) -> Checked:
    """Check a candidate by what was found in every shard."""
    guarantees = (*candidate.guarantees, *options.require)
    if why := next((one.why for one in looked if one.why), None):
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    members = tuple(one.members for one in looked if one.members is not None)
    # A mechanism may publish noisy counts.
    if not is_by_mechanism(guarantees) and (why := refuse_spread(members)):
        raise GuaranteeNotMetError(f"{why} Nothing was written.")
    if unjudged := refuse_unjudged(guarantees, risks, options.risk_limit):
        raise GuaranteeNotMetError(unjudged)
    merged = {g: g.merge([one.verdicts[at] for one in looked]) for at, g in enumerate(guarantees)}
    verdicts = tuple(judge(guarantee, merged.__getitem__, risks, options.risk_limit) for guarantee in guarantees)
    names = names_apart([(guarantee.name, guarantee.parameters) for guarantee in guarantees])
    for name, verdict in zip(names, verdicts, strict=True):
        if not verdict.holds:
            raise GuaranteeNotMetError(refusal(name, verdict, of_events=isinstance(candidate, EventsCandidate)))
    suppression = reduce(Suppression.__add__, [one.suppression for one in looked])
    if too_much := refuse_suppression(suppression, options.suppression_limit, candidate.recipe):
        raise GuaranteeNotMetError(f"{too_much} Nothing was written.")
    dominance = merge_dominance([one.dominance for one in looked])
    return Checked(verdicts, suppression, looked[0].open_bits, members, dominance)


@dataclass(frozen=True)
class Looked:
    """What must be known about one shard before anything is written."""

    why: str | None
    verdicts: tuple[Verdict, ...]
    suppression: Suppression
    open_bits: float
    members: GroupMembers | None = None
    dominance: Dominance | None = None


def look_at(guarantees: Sequence[Guarantee], number: int, candidate: Candidate | EventsCandidate) -> Looked:
    """Find everything that must be known about one shard."""
    form = form_of(candidate.published)
    # A mechanism may publish noisy counts.
    why = None if is_by_mechanism(guarantees) else form.refuse(candidate.published, candidate.private)
    why = why or _refuse_fictive(candidate, guarantees) or _refuse_crossing(candidate)
    why = why or _refuse_attributes(candidate, guarantees)
    if isinstance(candidate, EventsCandidate):
        why = why or refuse_late(candidate.private, reach_of(candidate.recipe.parameters))
    verdicts = tuple(g.check(candidate) for g in guarantees) if why is None else ()
    bits = sampled_bits(candidate) if number == 0 and isinstance(candidate, Candidate) and why is None else 0.0
    if why is not None:
        return Looked(why, verdicts, suppression_of(candidate), bits)
    dominance = find_dominance(candidate) if isinstance(candidate, Candidate) else None
    return Looked(why, verdicts, suppression_of(candidate), bits, count_members(candidate), dominance)


@dataclass(frozen=True)
class _Visited:
    """What was found in some shards; if the check of one fails, nothing else."""

    looked: tuple[Looked, ...]
    found: Found | None = None


@dataclass(frozen=True)
class _Visit:
    """Check a shard and compute everything else that is needed from it in the same visit."""

    guarantees: Sequence[Guarantee]
    further: Together

    def __call__(self, number: int, candidate: Candidate | EventsCandidate) -> _Visited:
        looked = look_at(self.guarantees, number, candidate)
        if looked.why or any(verdict.outcome == "does not hold" for verdict in looked.verdicts):
            return _Visited((looked,))
        return _Visited((looked,), self.further(number, candidate) if isinstance(candidate, Candidate) else ())

    def merged(self, several: Sequence[_Visited]) -> _Visited:
        """What was found in all of them."""
        looked = tuple(looked for one in several for looked in one.looked)
        found = [one.found for one in several if one.found is not None]
        return _Visited(looked, self.further.merged(found) if len(found) == len(several) else None)


def visit(
    candidate: Proposed, guarantees: Sequence[Guarantee], reductions: Sequence[Reduction]
) -> tuple[Sequence[Looked], Callable[[], list[Answer]]]:
    """What was found in every shard, and the answers once the checks have passed."""
    several = Reductions(reductions)
    work = _Visit(guarantees, several.together)
    if not isinstance(candidate, CandidateShards):
        visited = work(0, candidate)
        return visited.looked, lambda: several.answers(visited.found or ())
    try:
        visited = candidate.store.reduce(work, work.merged)
    except ParameterError:
        if not reductions:
            raise
        # Together too much for one place: the check comes first, then the others, fewer at a time.
        return each(candidate, partial(look_at, guarantees)), lambda: candidate.reduce(*reductions)
    return visited.looked, lambda: several.answers(visited.found or ())


def each(candidate: Proposed, work: Callable[[int, Any], R]) -> list[R]:
    """Small results of every shard; a candidate in memory is one."""
    return candidate.map(work) if isinstance(candidate, CandidateShards) else [work(0, candidate)]


def _refuse_fictive(candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee]) -> str | None:
    """Fictive series hide nobody: if there are any, no crowd may be promised."""
    if isinstance(candidate, EventsCandidate) or not (candidate.stands_for < 0).any():
        return None
    promised = [guarantee.name for guarantee in guarantees if not isinstance(guarantee, NoGuarantee)]
    return f"Fictive series would be counted in the crowd of {promised[0]}." if promised else None


def _refuse_crossing(candidate: Candidate | EventsCandidate) -> str | None:
    """Why the release leaves too small a crowd together with what analysts were shown; None if it does not."""
    if isinstance(candidate, EventsCandidate) or candidate.private.shown is None:
        return None
    required = int(candidate.guarantee.parameters.get("k", 1))
    originals = candidate.stands_for
    classes, shown = published_classes(candidate.curves), candidate.private.shown[originals]
    subjects = candidate.private.original.subject_codes[originals]
    both = np.unique(np.stack([classes, shown]), axis=1, return_inverse=True)[1].reshape(-1)
    crowds = crowd_sizes(both, subjects)
    if (smallest := int(crowds.min())) >= required:
        return None
    return (
        f"Together with what analysts were shown, this leaves {int((crowds < required).sum())} series in crowds that "
        f"are too small: the smallest has {smallest}, {required} are promised. Form the groups within those shown: "
        "microaggregation does so by a metric learned from them, or by its parameter within."
    )


def _refuse_attributes(candidate: Candidate | EventsCandidate, guarantees: Sequence[Guarantee]) -> str | None:
    """Attributes are published only if the recipe names them and every guarantee that anyone can check counts them."""
    if isinstance(candidate, EventsCandidate) or not isinstance(candidate.published, Panel):
        return None
    attributes = candidate.published.attributes
    if set(attributes) != set(candidate.recipe.parameters.get("attributes", ())):
        return f"{len(attributes)} attribute(s) would be published, and the recipe names others."
    blind = [g.name for g in guarantees if not isinstance(g, KAnonymity) and not g.needs_originals]
    return f"Attributes would be published, which {blind[0]} does not look at." if attributes and blind else None


def refusal(name: str, verdict: Verdict, *, of_events: bool = False) -> str:
    """Why the gate refuses, in one line."""
    where = ""
    if isinstance(verdict.witness, int):
        what = "event row" if of_events else "series position"
        where = f", first at {what} {verdict.witness}"
    elif verdict.witness:
        where = f", first at {positions(verdict.witness)}"
    why = f" ({verdict.note})" if verdict.note and verdict.outcome != "not judged" else ""
    return f"{name} {verdict.words}{where}{why}. Nothing was written."


@dataclass(frozen=True, eq=False)
class GroupMembers:
    """What one shard has of such groups."""

    spread: Spread
    digest: str
    """For the profiles."""
    promised: NDArray[np.int64]
    """How many subjects each profile says it has."""
    subjects: NDArray[np.int64]
    """How many of them are in this shard."""
    n_series: int
    n_subjects: int


def count_members(candidate: Candidate | EventsCandidate) -> GroupMembers | None:
    """The members in one shard; None if no group is shared with another shard."""
    if isinstance(candidate, EventsCandidate) or candidate.private.spread is None:
        return None
    published, private = candidate.published, candidate.private
    assert isinstance(published, Profiles)
    kept = private.groups >= 0
    return GroupMembers(
        candidate.private.spread,
        published.digest(),
        published.counts,
        members_of(published, private),
        int(kept.sum()),
        len(np.unique(private.original.subject_codes[kept])),
    )


def refuse_spread(several: Sequence[GroupMembers]) -> str | None:
    """Why profiles shared by several shards do not count their members; None if they do."""
    for first in dict.fromkeys(one.spread.first for one in several):
        own = [one for one in several if one.spread.first == first]
        if len({one.digest for one in own}) > 1 or sum(one.spread.is_first for one in own) != 1:
            return "Shards have different profiles of the same groups: the crowd cannot be counted."
        counts = np.sum([one.subjects for one in own], axis=0)
        if not np.array_equal(counts, own[0].promised):
            odd = int((counts != own[0].promised).argmax())
            return f"Profile {odd} does not count the subjects of its group: the crowd cannot be counted."
    return None


def add_members(counts: CountsPart, several: Sequence[GroupMembers]) -> CountsPart:
    """The counts of what was written, with the members in shards that wrote nothing."""
    others = [one for one in several if not one.spread.is_first]
    return counts.model_copy(
        update={
            "series": counts.series + sum(one.n_series for one in others),
            "subjects": counts.subjects + sum(one.n_subjects for one in others),
        }
    )
