"""Work on every shard and its overall result; several at once, so that a shard is assembled once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.model.candidate import Candidate
from shoal.model.joined import draw_from

Answer = Callable[[], Any]
"""Gives the conclusion when it is called; raises what the work raised."""


@dataclass(frozen=True)
class Reduction:
    """Something found shard by shard and concluded once.

    Parameters
    ----------
    each
        A small result of one shard. It must survive pickling.
    conclude
        The overall result: of all of them, in the order of the shards; or of the one that `merge` made of them.
    merge
        Makes one result of several, of shards in their order. It must survive pickling. Without it all results come to
        one place: they must be a few hundred bytes, or a bounded sample.
    """

    each: Callable[[int, Candidate], Any]
    conclude: Callable[[Any], Any]
    merge: Callable[[Sequence[Any]], Any] | None = None


@dataclass(frozen=True)
class Draw:
    """About a share of the series of a shard, in whole groups."""

    share: float

    def __call__(self, number: int, candidate: Candidate) -> Candidate | None:
        """What is drawn, if anything is."""
        return draw_from(candidate, self.share, seed=0)


def first_alone(number: int, candidate: Candidate) -> Candidate | None:
    """The candidate of the first shard."""
    return candidate if number == 0 else None


@dataclass(frozen=True)
class _Refused:
    """Why the work on a shard does not apply to it."""

    error: ParameterError | InputError


Found = tuple[list[Any] | _Refused, ...]
"""For each reduction, its results so far in the order of the shards, or why it does not apply."""


@dataclass(frozen=True)
class Together:
    """The work of several reductions on one shard, one after another; what one refuses does not stop the others."""

    works: tuple[Callable[[int, Candidate], Any], ...]
    merges: tuple[Callable[[Sequence[Any]], Any] | None, ...]

    def __call__(self, number: int, candidate: Candidate) -> Found:
        """For each a list with its result."""
        return tuple(_attempt(_alone, work, number, candidate) for work in self.works)

    def merged(self, several: Sequence[Found]) -> Found:
        """Merge what was found in several shards, in their order: for each reduction, the list of all results, or of
        the one that they are merged into."""
        by_work = zip(*several, strict=True)
        return tuple(_attempt(_merged, merge, found) for merge, found in zip(self.merges, by_work, strict=True))


def _alone(work: Callable[[int, Candidate], Any], number: int, candidate: Candidate) -> list[Any]:
    return [work(number, candidate)]


def _merged(merge: Callable[[Sequence[Any]], Any] | None, several: Sequence[list[Any] | _Refused]) -> list[Any]:
    results: list[Any] = []
    for own in several:
        if isinstance(own, _Refused):
            raise own.error
        results += own
    return results if merge is None else [merge(results)]


def _attempt(work: Callable[..., list[Any]], *given: Any) -> list[Any] | _Refused:
    try:
        return work(*given)
    except (ParameterError, InputError) as error:
        return _Refused(error)


class Reductions:
    """Several reductions over the same shards.

    A sample fills the memory of one place, so only the largest is drawn; it contains the smaller ones.
    """

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self._reductions = tuple(reductions)
        draws = [one for one in reductions if isinstance(one.each, Draw)]
        largest = max(draws, key=lambda one: one.each.share, default=None)  # type: ignore[attr-defined] # draws have it
        self._done = [one for one in reductions if one is largest or not isinstance(one.each, Draw)]
        self.together = Together(tuple(one.each for one in self._done), tuple(one.merge for one in self._done))

    def answers(self, found: Found) -> list[Answer]:
        """The answer of each reduction, from what `together` found in all shards."""
        return [partial(_conclude, one, self._done, found) for one in self._reductions]


def _conclude(one: Reduction, done: Sequence[Reduction], found: Found) -> Any:
    is_draw = isinstance(one.each, Draw)
    at = next(i for i, other in enumerate(done) if other is one or (is_draw and isinstance(other.each, Draw)))
    results = found[at]
    if isinstance(results, _Refused):
        raise results.error
    if is_draw and one.each != done[at].each:
        results = [None if own is None else one.each(0, own) for own in results]
    return one.conclude(results if one.merge is None else results[0])
