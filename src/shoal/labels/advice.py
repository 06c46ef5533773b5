"""When an analyst has labelled enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.labels.agreement import consistency
from shoal.labels.labels import Labels
from shoal.labels.metric import CurvePoint

FEWEST = 50
"""Number of decided answers before any advice."""

FLAT = 0.01
"""Gain of the score over the last doubling of labels below which more of them are not worth the effort."""

PATIENCE = 400
"""Number of labels after which a metric not clearly better than the Euclidean one is not expected to become so."""

SURE = 2.0
"""Standard errors by which a learned distance must do better than the Euclidean one before labelling may stop."""

STEADY = 0.8
"""Share of repeated questions that should be answered alike."""


FEWEST_REPEATED = 5
"""Questions decided twice before anything is said about that."""


@dataclass(frozen=True)
class StopAdvice:
    """Whether to stop labelling, and why, in one sentence."""

    stop: bool
    reason: str


def advice(points: Sequence[CurvePoint], labels: Labels) -> StopAdvice:
    """Stop when the last doubling of the labels brought nothing, or when answers contradict each other.

    The rules, in this order. Answers to repeated questions agree less often than STEADY, with certainty: stop, and
    rephrase the question. Fewer than FEWEST are decided, or too few to judge half of them: continue. The score rose by
    FLAT or more over the last doubling: continue. It did not, and is above the Euclidean one by SURE standard errors:
    stop. It is not above it after PATIENCE labels: stop, this metric cannot learn it. Else continue.

    Parameters
    ----------
    points
        From `curve`.
    labels
        All labels.
    """
    repeated = consistency(labels)
    if repeated is not None and repeated.n >= FEWEST_REPEATED and repeated.high < STEADY:
        return StopAdvice(
            True,
            f"Answers are inconsistent: of {repeated.n} questions asked twice, {repeated.value:.0%} were answered "
            "alike; explain more clearly what matters before anyone continues.",
        )
    last = points[-1] if points else None
    half = next((point for point in reversed(points) if last and point.n_labels <= last.n_labels // 2), None)
    if last is None or half is None or labels.n_decided < FEWEST:
        lacking = (
            f"; at least {FEWEST} are needed, with enough of both kinds in every part that is held out"
            if labels.n_decided < FEWEST
            else ", but not enough of both kinds in every part that is held out"
        )
        return StopAdvice(False, f"Too few labels to judge: {labels.n_decided} decided answers{lacking}.")
    change = (
        f"the score on held-out pairs went from {half.learned:.3f} at {half.n_labels} labels to {last.learned:.3f} at "
        f"{last.n_labels}, Euclidean distance has {last.euclidean:.3f}"
    )
    if last.learned - half.learned >= FLAT:
        return StopAdvice(False, f"Labels still help: {change}.")
    if last.learned - last.euclidean > SURE * last.error:
        return StopAdvice(True, f"The last doubling of labels gained nothing: {change}.")
    if last.n_labels >= PATIENCE:
        return StopAdvice(
            True, f"Labels do not teach this metric anything: {change}; try the other metric or another question."
        )
    return StopAdvice(
        False,
        f"Not clearly better than Euclidean distance yet: {change}, and the standard error of the difference is "
        f"{last.error:.2f}.",
    )
