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
"""Concludes when it is called, and raises what the work raised."""


@dataclass(frozen=True)
class Reduction:
    """Something found shard by shard and concluded once.

    Parameters
    ----------
    each
        A small result of one shard. It must survive pickling.
    conclude
        The overall result of all of them, in the order of the shards.
    """

    each: Callable[[int, Candidate], Any]
    conclude: Callable[[list[Any]], Any]


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


@dataclass(frozen=True)
class Together:
    """The work of several reductions on one shard, one after another; what one refuses does not stop the others."""

    works: tuple[Callable[[int, Candidate], Any], ...]

    def __call__(self, number: int, candidate: Candidate) -> tuple[Any, ...]:
        """A result of each."""
        return tuple(_attempt(work, number, candidate) for work in self.works)


def _attempt(work: Callable[[int, Candidate], Any], number: int, candidate: Candidate) -> Any:
    try:
        return work(number, candidate)
    except (ParameterError, InputError) as error:
        return _Refused(error)


class Reductions:
    """Several reductions over the same shards.

    A sample fills the place it is brought to, so only the largest is drawn; it contains the smaller ones.
    """

    def __init__(self, reductions: Sequence[Reduction]) -> None:
        self._reductions = tuple(reductions)
        draws = [one.each for one in reductions if isinstance(one.each, Draw)]
        largest = max(draws, key=lambda draw: draw.share, default=None)
        others = (one.each for one in reductions if not isinstance(one.each, Draw))
        self.together = Together((*([] if largest is None else [largest]), *others))

    def answers(self, found: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """One for each reduction, from what `together` found in every shard."""
        works = self.together.works
        return [partial(_conclude, one, works, found) for one in self._reductions]


def _conclude(
    one: Reduction, works: Sequence[Callable[[int, Candidate], Any]], found: Sequence[tuple[Any, ...]]
) -> Any:
    is_draw = isinstance(one.each, Draw)
    at = 0 if is_draw else works.index(one.each)
    results = [own[at] for own in found]
    for result in results:
        if isinstance(result, _Refused):
            raise result.error
    if is_draw and one.each != works[0]:
        results = [None if own is None else one.each(0, own) for own in results]
    return one.conclude(results)
