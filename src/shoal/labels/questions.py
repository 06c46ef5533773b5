"""Which pairs an analyst is asked about, drawn before anyone has answered.

Every draw has its own child of the task's seed: one for what all analysts are asked, one for each analyst.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.interests import ends_of
from shoal.model.parameters import check_choice, check_whole

Choice = Literal["uniform", "active"]
Positions = NDArray[np.int64]

DEFAULT_QUESTION = "Are these two curves alike for your purpose?"
LONGEST_QUESTION = 500
"""Largest number of letters; the question is shown above two curves."""

APART = 10
"""Number of questions between one and its repetition, if there are enough: a remembered answer says nothing new."""

_COMMON, _OWN, _SLOTS, _NEXT, _FURTHER = 0, 1, 2, 3, 4  # of the seed's children


@dataclass(frozen=True)
class Question:
    """Two curves to compare.

    Parameters
    ----------
    position
        The number of the question among those of an analyst, from 0.
    left, right
        Positions in `LabelTask.values`.
    repeat_of
        The position of the question that is repeated here, with the sides exchanged.
    """

    position: int
    left: int
    right: int
    repeat_of: int | None = None

    @property
    def pair(self) -> tuple[int, int]:
        """The two curves, the one with the smaller position first."""
        return min(self.left, self.right), max(self.left, self.right)


class AskingOptions(TypedDict, total=False):
    """The fields of `Asking`, as options of whatever builds a task."""

    n_pairs: int
    choice: Choice
    repeats: float
    common: float
    question: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Number, choice and wording of questions; see `LabelTask`."""

    n_pairs: int = 200
    choice: Choice = "uniform"
    repeats: float = 0.1
    common: float = 0.5
    question: str = DEFAULT_QUESTION
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("n_pairs", self.n_pairs, 1)
        check_whole("seed", self.seed, 0)
        check_choice("choice", self.choice, Choice)
        if not 0.0 <= self.repeats <= 0.5:
            raise ParameterError("repeats is the share of questions that are asked again: 0 to 0.5.")
        if not 0.0 <= self.common <= 1.0:
            raise ParameterError("common is the share of questions that all analysts are asked: 0 to 1.")
        if not isinstance(self.question, str) or not 0 < len(self.question.strip()) <= LONGEST_QUESTION:
            raise ParameterError(f"question must be a text of 1 to {LONGEST_QUESTION} letters.")

    def counts(self, n_curves: int) -> tuple[int, int, int]:
        """Numbers of different pairs for an analyst, of pairs common to all, and of repeats.

        No more than there are pairs of curves, and no more repeats than questions.
        """
        n_repeats = round(self.repeats * self.n_pairs)
        n_fresh = min(int(self.n_pairs) - n_repeats, n_curves * (n_curves - 1) // 2)
        n_repeats = min(n_repeats, n_fresh)
        return n_fresh, round(self.common * n_fresh), n_repeats


def plan_uniform(asking: Asking, n_curves: int, analyst: str) -> tuple[Question, ...]:
    """All questions for an analyst: pairs drawn uniformly, in their own order, some of them twice."""
    n_fresh, n_common, n_repeats = asking.counts(n_curves)
    random = generator(asking.seed, _OWN, analyst)
    common = _draw_common(asking, n_curves)
    own = draw_pairs(random, n_curves, n_fresh - n_common, without=common)
    fresh = random.permutation(np.concatenate([common, own]))
    left, right = ends_of(fresh, n_curves)
    flipped = random.random(n_fresh) < 0.5
    left, right = np.where(flipped, right, left), np.where(flipped, left, right)
    # A repetition comes after at least APART further new questions, or after all of them if there are fewer.
    far = n_fresh - APART - 1
    again = np.sort(random.permutation(max(far, 0))[:n_repeats] if far >= n_repeats else np.arange(n_repeats))
    room = np.maximum(n_fresh - APART - again, 1.0)
    due = again + APART + room * random.random(n_repeats) if far >= n_repeats else n_fresh + again
    sequence = sorted(
        [(float(i), i, False) for i in range(n_fresh)]
        + [(float(d), int(i), True) for d, i in zip(due, again, strict=True)]
    )
    place = {i: position for position, (_, i, repeated) in enumerate(sequence) if not repeated}
    return tuple(
        Question(position, int(right[i]), int(left[i]), place[i])
        if repeated
        else Question(position, int(left[i]), int(right[i]))
        for position, (_, i, repeated) in enumerate(sequence)
    )


def plan_common(asking: Asking, n_curves: int, analyst: str) -> tuple[Question, ...]:
    """What every analyst is asked before questions depend on answers, in their own order."""
    random = generator(asking.seed, _OWN, analyst)
    left, right = ends_of(random.permutation(_draw_common(asking, n_curves)), n_curves)
    flipped = random.random(len(left)) < 0.5
    return tuple(
        Question(position, int(b), int(a)) if turn else Question(position, int(a), int(b))
        for position, (a, b, turn) in enumerate(zip(left, right, flipped, strict=True))
    )


def repeat_slots(asking: Asking, n_curves: int, analyst: str) -> frozenset[int]:
    """Positions after the common part at which an earlier question is repeated, if there is one far enough back."""
    n_fresh, n_common, n_repeats = asking.counts(n_curves)
    slots = np.arange(n_common, n_fresh + n_repeats)
    far = slots[slots > APART]
    if len(far) < n_repeats:
        return frozenset(slots[len(slots) - n_repeats :].tolist())
    random = generator(asking.seed, _SLOTS, analyst)
    return frozenset(random.permutation(far)[:n_repeats].tolist())


def draw_further(
    asking: Asking, n_curves: int, analyst: str, position: int, asked: Iterable[Question]
) -> Question | None:
    """A further pair that the analyst was not asked about; None if there is none left."""
    known = np.array([question.pair for question in asked], dtype=np.int64).reshape(-1, 2)
    random = generator(asking.seed, _FURTHER, analyst, position)
    drawn = draw_pairs(random, n_curves, 1, without=np.unique(number_of(known[:, 0], known[:, 1], n_curves)))
    if not len(drawn):
        return None
    (left,), (right,) = ends_of(drawn, n_curves)
    return Question(position, int(left), int(right))


def next_generator(asking: Asking, analyst: str, position: int) -> np.random.Generator:
    """Random numbers for the choice of one question."""
    return generator(asking.seed, _NEXT, analyst, position)


def draw_pairs(random: np.random.Generator, n_curves: int, n: int, *, without: Positions) -> Positions:
    """Numbers of n different pairs, excluding given ones, all equally likely."""
    n_all = n_curves * (n_curves - 1) // 2
    drawn = random.choice(n_all, size=min(n + len(without), n_all), replace=False)
    rest: Positions = drawn[~np.isin(drawn, without)][:n].astype(np.int64)
    return rest


def number_of(left: Positions, right: Positions, n_curves: int) -> Positions:
    """The number of the pair of two curves, in either order."""
    first, second = np.minimum(left, right), np.maximum(left, right)
    numbers: Positions = first * (2 * n_curves - first - 1) // 2 + second - first - 1
    return numbers


def generator(seed: int, child: int, analyst: str = "", *more: int) -> np.random.Generator:
    """A separate generator for each purpose and analyst."""
    name = int.from_bytes(hashlib.sha256(analyst.encode()).digest()[:8], "little")
    return np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(child, name, *more)))


def _draw_common(asking: Asking, n_curves: int) -> Positions:
    _, n_common, _ = asking.counts(n_curves)
    return draw_pairs(generator(asking.seed, _COMMON), n_curves, n_common, without=np.empty(0, dtype=np.int64))
