"""Active choice: the next pair is the one that the labels so far leave most uncertain.

A linear metric with one weight per instant is fitted to all labels; it says how far a pair is from the boundary between
similar and dissimilar. From a sample of the pairs not yet asked about, those nearest to the boundary come next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoal.features.interests import ends_of
from shoal.features.labelled import one_thread
from shoal.features.linear_objectives import logistic_weights
from shoal.labels.labels import Decided, Label, Labels, decided_pairs, refuse_foreign
from shoal.labels.questions import (
    APART,
    Asking,
    Positions,
    Question,
    draw_pairs,
    next_generator,
    number_of,
    repeat_slots,
)

if TYPE_CHECKING:
    from shoal.labels.task import LabelTask

POOL = 1000
"""Number of pairs examined for the next question: the most uncertain pairs of all would often be outliers."""

FEWEST_OF_EACH = 3
"""With fewer similar or dissimilar pairs than this, the next pair is drawn uniformly."""

PENALTY = 0.01
_STEPS = 50


def choose_next(
    task: LabelTask, asking: Asking, labels: Labels, analyst: str, positions: Sequence[int], asked: Sequence[Question]
) -> list[Question]:
    """A question for each of the positions; `asked` are questions handed out together with them."""
    if not positions:
        return []
    refuse_foreign(task, labels)
    slots = repeat_slots(asking, task.n_curves, analyst)
    mine = [label for label in labels if label.analyst == analyst]
    repeated = {label.repeat_of for label in mine if label.repeat_of is not None}
    questions: list[Question] = []
    fresh: list[int] = []
    for position in positions:
        old = [label for label in mine if _can_be_repeated(label, position, repeated)] if position in slots else []
        if old:
            again = old[int(next_generator(asking, analyst, position).integers(len(old)))]
            repeated.add(again.position)
            questions.append(Question(position, again.right, again.left, again.position))
        else:
            fresh.append(position)
    random = next_generator(asking, analyst, positions[0])
    own = {label.pair for label in mine} | {question.pair for question in asked}
    pool = _pool(task.n_curves, own, {label.pair for label in labels}, len(fresh), random)
    left, right = _most_uncertain(task.values, labels, pool, len(fresh))
    for position in fresh[len(left) :]:  # all pairs have been asked about: ask again, whatever the answer was
        old = sorted((label for label in mine if _is_before(label, position, repeated)), key=_first_to_repeat)
        if old:
            repeated.add(old[0].position)
            questions.append(Question(position, old[0].right, old[0].left, old[0].position))
    flipped = random.random(len(left)) < 0.5
    questions += [
        Question(position, int(b), int(a)) if turn else Question(position, int(a), int(b))
        for position, a, b, turn in zip(fresh, left, right, flipped, strict=False)
    ]
    return sorted(questions, key=lambda question: question.position)


def _can_be_repeated(label: Label, position: int, repeated: set[int]) -> bool:
    """Questions that were decided long enough ago, are not repetitions, and were not repeated yet."""
    return label.decided and _is_before(label, position - APART, repeated)


def _is_before(label: Label, position: int, repeated: set[int]) -> bool:
    return label.repeat_of is None and label.position not in repeated and label.position < position


def _first_to_repeat(label: Label) -> tuple[bool, int]:
    """Decided ones first, then the oldest."""
    return not label.decided, label.position


def _pool(
    n_curves: int, own: set[tuple[int, int]], given: set[tuple[int, int]], n: int, random: np.random.Generator
) -> tuple[Positions, Positions]:
    """A sample of the pairs nobody has labelled; if those run out, of pairs that others have labelled."""
    drawn = draw_pairs(random, n_curves, max(POOL, n), without=_numbers(own | given, n_curves))
    if len(drawn) < n:
        without = np.concatenate([_numbers(own, n_curves), drawn])
        drawn = np.concatenate([drawn, draw_pairs(random, n_curves, n - len(drawn), without=without)])
    return ends_of(drawn, n_curves)


def _numbers(pairs: set[tuple[int, int]], n_curves: int) -> Positions:
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    return number_of(ends[:, 0], ends[:, 1], n_curves)


def _most_uncertain(
    values: NDArray[np.float64], labels: Labels, pool: tuple[Positions, Positions], n: int
) -> tuple[Positions, Positions]:
    """The curves of n pairs of the pool, fewer if it has no more."""
    known = decided_pairs(labels)
    n_similar = int(known.similar.sum())
    if min(n_similar, len(known.similar) - n_similar) < FEWEST_OF_EACH:
        return pool[0][:n], pool[1][:n]
    order = np.argsort(np.abs(_margins(values, known, pool)), kind="stable")
    chosen = _spread(pool[0][order], pool[1][order], n)
    return pool[0][order][chosen], pool[1][order][chosen]


def _margins(values: NDArray[np.float64], known: Decided, pool: tuple[Positions, Positions]) -> NDArray[np.float64]:
    """How far each pair of the pool lies on the similar side of the boundary; negative on the other side.

    b - Σ a_t z_t² for z = x - y, with a ≥ 0 and b that minimise Σ log(1 + exp(∓(b - Σ a_t z_t²))) + PENALTY Σ a_t over
    the labelled pairs, where similar and dissimilar ones have the same total weight.
    """
    scale = float(values.std()) or 1.0

    def squares(left: Positions, right: Positions) -> NDArray[np.float64]:
        apart = (values[left] - values[right]) / scale
        return apart * apart

    with one_thread():
        weights = logistic_weights(squares(known.left, known.right), known.similar, PENALTY, _STEPS)
        margins: NDArray[np.float64] = weights[-1] - squares(*pool) @ weights[:-1]
    return margins


def _spread(left: Positions, right: Positions, n: int) -> Positions:
    """The first n pairs such that no curve occurs twice before the others have occurred once.

    Questions handed out together do not learn from each other, so they should be about different curves.
    """
    uses = np.zeros(int(max(left.max(initial=0), right.max(initial=0))) + 1, dtype=np.int64)
    chosen: list[int] = []
    rest, most = list(range(len(left))), 1
    while rest and len(chosen) < n:
        later = []
        for at in rest:
            if len(chosen) < n and max(uses[left[at]], uses[right[at]]) < most:
                chosen.append(at)
                uses[left[at]] += 1
                uses[right[at]] += 1
            else:
                later.append(at)
        rest, most = later, most + 1
    return np.array(chosen, dtype=np.int64)
