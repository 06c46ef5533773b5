"""How much a release leaves open: whether figures about the originals would let someone find them by trial.

A figure of three digits rules out most of the originals that a release allows. Six houses at one instant, in groups of
three with known means, have about a million possibilities; two scores leave two of them. So figures are shown only if
the possibilities outnumber what all figures together can distinguish by a factor of 2^128.

Readings of different instants may follow from each other: for constant series the first one determines all. Openness is
therefore counted at a single instant, the one that leaves most open, and never added up over instants. The series of a
subject may follow from each other too: one of them counts, and the others are taken as known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.guarantees import NoGuarantee
from shoal.model import Candidate, Envelopes, Guarantee, Scenarios
from shoal.model.joined import draw_from
from shoal.release.scenario_openness import scenario_bits

ENOUGH_BITS = 128
"""With this many, nobody tries all possibilities."""

BITS_OF_A_FIGURE = 15
"""Three digits, the sign and the place of the point: 1,800 numbers in each of 18 decades are fewer than 2^15."""

OPEN_SAMPLE = 2_000
"""Number of series for which openness is counted: what is open in some groups is open in all."""

FIRST_SCORES = 4
"""This many scores are published before those of categories."""

MOST_BITS_OF_A_PAIR = 10
"""Finer readings than a thousandth of a difference do not show in three digits."""

_FOLLOW = frozenset(
    {"interval", "baseline_interval", "n_targets", "n_left_out", "n_suppressed", "at", "parameters", "range"}
)
"""Intervals follow from a success and the number of targets; the others are not figures about readings."""

OF_READINGS = frozenset({"at_most_above_best", "largest_likeness", "loss_above_bound"})
"""Figures of methods that follow from readings, as scores do; the others are counts."""

LEFT_OUT = (
    "Figures of risk and utility and curves of the originals are left out: so few originals could have led to this "
    "release that someone could find readings by trying which of them give these figures. More series or larger groups "
    "leave more possibilities open. The publisher has them."
)
"""What a certificate says instead of figures."""

EVENTS = (
    "Figures of risk and utility are left out: for events they follow from who has which sensitive value, and a few "
    "of them together would reveal it. The publisher has them."
)
"""What the certificate of events says instead of figures."""

SOME_FIGURES = "Some utility figures are left out"
FEWER = (
    f"{SOME_FIGURES}: with all of them, so few originals could have led to this release that someone could find "
    "readings by trial. The publisher has them."
)
"""What a certificate says next to some of the figures."""


def affordable(bits: Callable[[], float], guarantees: Sequence[Guarantee]) -> float:
    """How many figures may be published so that at least 2^128 possible originals are left.

    A release without a guarantee is judged by its figures alone, so they are published whatever its size.
    """
    if any(isinstance(guarantee, NoGuarantee) for guarantee in guarantees):
        return float("inf")
    return (bits() - ENOUGH_BITS) // BITS_OF_A_FIGURE


def tell_what_may_be_told(
    most: float, scores: Mapping[str, Any], risks: Mapping[str, Any], figures: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The scores, risks and aggregates that may be published, `most` figures in all; a sentence replaces the rest.

    First to go are the points tried on the way, then scores from the last to the fifth, categories, the other scores,
    and then everything.
    """
    shown = dict(figures)
    process, categories = dict(shown.pop("process", {})), shown.pop("categories", None)
    without = {name: part for name, part in process.items() if name not in ("points", "curves", "sentence")}
    by_category = {"categories": categories} if categories else {}
    n_risks, n_categories = count_figures(risks), count_figures(categories)
    for one in (process, without):
        n_tried = count_figures([one.get("points"), one.get("curves")])
        if len(scores) + n_risks + n_categories + n_tried <= most:
            return dict(scores), dict(risks), shown | by_category | ({"process": one} if one else {})
    room = int(most) - n_risks
    if room < 1:
        # A person's actions in the search say nothing about readings.
        persons = {name: process[name] for name in ("stopped", "explored") if name in process}
        told = {"process": persons} if persons else {}
        return {}, {}, without_originals(shown, LEFT_OUT) | {"left_out": LEFT_OUT} | told
    if room - n_categories < min(len(scores), FIRST_SCORES):
        by_category, n_categories = {}, 0
    some = dict(list(scores.items())[: room - n_categories])
    further = by_category | ({"process": without} if without else {})
    return some, dict(risks), shown | further | {"left_out": FEWER}


def counts_alone(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a method, or of several steps, without those that follow from readings."""
    kept = {name: figure for name, figure in figures.items() if name not in OF_READINGS}
    several = kept.get("steps")
    return kept | ({"steps": [counts_alone(step) for step in several]} if isinstance(several, list) else {})


def count_figures(part: Any) -> int:
    """How many numbers there are in nested parts; not those that follow from others, or that say how much was asked."""
    if isinstance(part, Mapping):
        return sum(count_figures(one) for name, one in part.items() if name not in _FOLLOW)
    if isinstance(part, list | tuple):
        return sum(count_figures(one) for one in part)
    return int(isinstance(part, int | float) and not isinstance(part, bool))


def sampled_bits(candidate: Candidate) -> float:
    """`open_bits`; for a large candidate, those of some whole groups. It may err on the safe side: fewer series leave
    less open."""
    n_series = candidate.private.original.n_series
    # A sample of scenarios would split their pools.
    few = n_series <= OPEN_SAMPLE or isinstance(candidate.published, Scenarios)
    drawn = None if few else draw_from(candidate, OPEN_SAMPLE / n_series, seed=2)
    return open_bits(candidate if drawn is None else drawn)


def open_bits(candidate: Candidate) -> float:
    """The binary logarithm of how many originals could certainly have led to what is published; often far more
    could."""
    if isinstance(candidate.published, Scenarios):
        return scenario_bits(candidate.private.original.rows, candidate.private.groups, candidate.published)
    originals, curves = candidate.originals, candidate.curves
    if originals.values.shape != curves.values.shape:
        return 0.0
    groups = candidate.private.groups
    if candidate.private.rows is not None and len(groups) != originals.n_series:
        groups = groups[candidate.private.rows]
    if groups.ndim == 2:
        groups = np.repeat(groups, originals.n_channels, axis=1)
    envelopes = candidate.published if isinstance(candidate.published, Envelopes) else None
    return most_open(
        originals.rows,
        curves.rows,
        groups,
        subjects=originals.subject_codes,
        thirds=candidate.recipe.parameters.get("aggregate") == "quantiles",
        ends_are_told=envelopes is not None,
        letters=1 if envelopes is None else int(envelopes.levels.max()),
    )


def most_open(
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    groups: NDArray[np.int64],
    *,
    subjects: NDArray[np.int64] | None = None,
    thirds: bool = False,
    ends_are_told: bool = False,
    letters: int = 1,
) -> float:
    """Bits that are open at the column where most are; rows are series, `groups` are of series or of single cells.

    In a group with sorted readings x[0] <= ... <= x[m-1], take x[j] and x[m-1-j]. One may be higher and the other lower
    by the same amount as long as no reading passes a neighbour: the mean stays, as do a median, a trimmed mean and the
    order. In steps of the smallest difference between readings, or of the smallest that shows in a figure, these are
    different originals, and pairs vary freely:

        bits = sum over pairs of log2(1 + min(x[j+1] - x[j], x[m-1-j] - x[m-2-j]) / step)

    with half the difference for two that are neighbours. `thirds` are groups of their own. If the ends of a group are
    published, they stay; if a word is, `letters` of the alphabet are known for each reading. Only the first reading of
    each of the `subjects` is in a pair.
    """
    most = 0.0
    subjects = np.arange(len(before)) if subjects is None else subjects
    visible = _smallest_visible(before)
    for column in range(before.shape[1]):
        x, told = before[:, column], after[:, column]
        labels = groups if groups.ndim == 1 else groups[:, column]
        seen = ~np.isnan(x) & ~np.isnan(told) & (labels >= 0)
        different = np.unique(x[seen])
        if len(different) < 2:
            continue
        step = max(float(np.diff(different).min()), visible)
        order = np.lexsort((x[seen], labels[seen]))
        cuts = np.flatnonzero(np.diff(labels[seen][order], prepend=-1))
        ends = np.append(cuts, len(order))
        if thirds:
            sizes = np.diff(ends)
            ends = np.unique([cuts + third * sizes // 3 for third in range(3)] + [cuts + sizes])
        counts = np.zeros(len(order), dtype=np.bool_)
        counts[np.unique(subjects[seen], return_index=True)[1]] = True
        bits = _bits_of_pairs(x[seen][order], ends, step, counts[order], ends_are_told, 2.0 * np.log2(letters))
        most = max(most, bits)
    return most


def _smallest_visible(x: NDArray[np.float64]) -> float:
    """The difference below which a reading changes no figure of three digits: a thousandth of the widest spread.

    Without it, one instant of tiny and fine readings would stand for the openness of all others.
    """
    seen = ~np.isnan(x)
    counts = np.maximum(seen.sum(axis=0), 1)
    centred = np.where(seen, x - np.where(seen, x, 0.0).sum(axis=0) / counts, 0.0)
    return float(np.sqrt((centred**2).sum(axis=0) / counts).max(initial=0.0)) / 1000.0


def _bits_of_pairs(
    x: NDArray[np.float64],
    ends: NDArray[np.int64],
    step: float,
    counts: NDArray[np.bool_],
    ends_are_told: bool,
    told: float,
) -> float:
    """Bits of readings sorted within groups, which lie between `ends`, from those that count."""
    sizes = np.diff(ends)
    group = np.repeat(np.arange(len(sizes)), sizes)
    if ends_are_told:
        counts = counts.copy()
        counts[ends[:-1][sizes > 0]] = counts[ends[1:][sizes > 0] - 1] = False
    free = np.flatnonzero(counts)
    sizes = np.bincount(group[free], minlength=len(sizes))
    n_pairs, last = sizes // 2, np.cumsum(sizes)
    of = np.repeat(np.arange(len(sizes)), n_pairs)
    pair = np.arange(len(of)) - np.repeat(np.cumsum(n_pairs) - n_pairs, n_pairs)
    low, high = free[(last - sizes)[of] + pair], free[last[of] - 1 - pair]
    room = np.minimum(x[low + 1] - x[low], x[high] - x[high - 1])
    room = np.where(low + 1 == high, (x[high] - x[low]) / 2.0, room)
    # Slightly less than a whole step is a step that rounding has shortened.
    bits = np.log2(1.0 + np.floor(room / step + 1e-9)) - told
    return float(np.clip(bits, 0.0, MOST_BITS_OF_A_PAIR).sum())


def without_originals(figures: Mapping[str, Any], why: str) -> dict[str, Any]:
    """The aggregates for the report without those of the originals."""
    channels = [
        channel
        | {
            "reason": why,
            "duration": {},
            "profile": channel["profile"] | {"original": None},
            "bands": channel["bands"] | {"original": None},
        }
        for channel in figures.get("channels", [])
    ]
    return dict(figures) | ({"channels": channels} if channels else {})
