"""The answers of analysts, and the pairs to learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.features.interests import LabelledPairs

if TYPE_CHECKING:
    from shoal.labels.task import LabelTask

Answer = Literal["similar", "dissimilar", "undecided"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)


@dataclass(frozen=True)
class Label:
    """One answer of an analyst.

    Parameters
    ----------
    analyst
        Who answered.
    position
        The number of the question among those of this analyst, from 0.
    left, right
        Positions of the two curves in `LabelTask.values`.
    answer
        "similar", "dissimilar" or "undecided".
    repeat_of
        The position of the question that this one repeats, if it does.
    """

    analyst: str
    position: int
    left: int
    right: int
    answer: Answer
    repeat_of: int | None = None

    def __post_init__(self) -> None:
        if self.answer not in ANSWERS:
            raise ParameterError(f"An answer must be one of: {', '.join(ANSWERS)}.")
        if not isinstance(self.analyst, str) or not self.analyst:
            raise ParameterError("A label needs the name of the analyst who gave it.")
        if min(self.position, self.left, self.right) < 0 or self.left == self.right:
            raise ParameterError("A label concerns two different curves, and its positions count from 0.")

    @property
    def pair(self) -> tuple[int, int]:
        """The two curves, the one with the smaller position first."""
        return min(self.left, self.right), max(self.left, self.right)

    @property
    def decided(self) -> bool:
        """Whether the analyst could tell."""
        return self.answer != "undecided"


@dataclass(frozen=True)
class Labels:
    """Labels in the order given, at most one per analyst and position.

    Examples
    --------
    >>> labels = Labels((Label("anna", 0, 3, 5, "similar"), Label("anna", 1, 2, 4, "undecided")))
    >>> labels.counts()
    {'similar': 1, 'dissimilar': 0, 'undecided': 1}
    >>> labels.n_decided, labels.analysts
    (1, ('anna',))
    """

    labels: tuple[Label, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        given = Counter((label.analyst, label.position) for label in self.labels)
        for (analyst, position), times in given.items():
            if times > 1:
                raise ParameterError(
                    f"Analyst {analyst!r} has {times} labels for position {position}. Keep one for each question."
                )

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __len__(self) -> int:
        return len(self.labels)

    def of(self, analyst: str) -> Labels:
        """The labels of one analyst."""
        return Labels(tuple(label for label in self.labels if label.analyst == analyst))

    def and_also(self, others: Iterable[Label]) -> Labels:
        """These labels, then others."""
        return Labels((*self.labels, *others))

    @property
    def analysts(self) -> tuple[str, ...]:
        """Who answered, by name."""
        return tuple(sorted({label.analyst for label in self.labels}))

    @property
    def n_decided(self) -> int:
        """How many say similar or dissimilar."""
        return sum(label.decided for label in self.labels)

    def counts(self) -> dict[Answer, int]:
        """How many of each answer."""
        counter = Counter(label.answer for label in self.labels)
        return {answer: counter[answer] for answer in ANSWERS}


class Decided(NamedTuple):
    """Different pairs of curves by position, and whether they are alike."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    similar: NDArray[np.bool_]


def decided_pairs(labels: Labels) -> Decided:
    """Each pair once, in the order of its first label, with the majority answer; ties are left out."""
    votes: dict[tuple[int, int], int] = {}
    for label in labels:
        if label.decided:
            votes[label.pair] = votes.get(label.pair, 0) + (1 if label.answer == "similar" else -1)
    found = [(*pair, sum_ > 0) for pair, sum_ in votes.items() if sum_]
    columns = np.array(found, dtype=np.int64).reshape(-1, 3)
    return Decided(columns[:, 0], columns[:, 1], columns[:, 2].astype(np.bool_))


def labelled_pairs(task: LabelTask, labels: Labels) -> LabelledPairs:
    """The curves of each decided pair, to learn from: `LinearMetric().learn(*labelled_pairs(task, labels))`.

    Each pair occurs once, in the order of its first label. If answers about it differ, from one analyst or several, the
    majority counts; ties and undecided answers are left out.
    """
    left, right, similar = decided_pairs(labels)
    refuse_foreign(task, labels)
    return LabelledPairs(task.values[left], task.values[right], similar)


def refuse_foreign(task: LabelTask, labels: Labels) -> None:
    """Labels name curves by position, so refuse those that clearly belong to another task."""
    foreign = sum(max(label.pair) >= task.n_curves for label in labels)
    if foreign:
        raise ParameterError(
            f"{foreign} of {len(labels)} labels name curves that the task, which has {task.n_curves}, does not have. "
            "Give the labels of this task."
        )
