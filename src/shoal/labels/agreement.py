"""How consistent an analyst is, and how far analysts agree with each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

from shoal.labels.labels import Answer, Labels
from shoal.model import Interval


@dataclass(frozen=True)
class Share:
    """A share of n with its 95 % interval after Wilson."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class LabelAgreement:
    """How far analysts agree about the pairs that at least two of them decided.

    Parameters
    ----------
    alpha
        Krippendorff's alpha for nominal answers: 1 is full agreement, 0 what chance would give, below 0 worse. If all
        answers are the same, there is no disagreement, and it is 1.
    n_pairs
        Pairs decided by at least two analysts.
    pairwise
        For every two analysts, the share of pairs they decided alike, and of how many; those with none in common are
        left out.
    """

    alpha: float
    n_pairs: int
    pairwise: dict[tuple[str, str], tuple[float, int]]


def wilson(alike: int, n: int) -> Share:
    """The share and its interval, E. B. Wilson 1927; n of at least 1."""
    interval = Interval.wilson(alike / n, n)
    return Share(alike / n, interval.low, interval.high, n)


def consistency(labels: Labels) -> Share | None:
    """The share of repeated questions that were answered alike both times; None if none was decided twice.

    Examples
    --------
    >>> from shoal.labels import Label
    >>> first, again = Label("anna", 0, 3, 5, "similar"), Label("anna", 11, 5, 3, "similar", repeat_of=0)
    >>> consistency(Labels((first, again))).value
    1.0
    """
    given = {(label.analyst, label.position): label.answer for label in labels if label.decided}
    alike = [
        label.answer == given[label.analyst, label.repeat_of]
        for label in labels
        if label.decided and label.repeat_of is not None and (label.analyst, label.repeat_of) in given
    ]
    return wilson(sum(alike), len(alike)) if alike else None


def agreement(labels: Labels) -> LabelAgreement | None:
    """How far analysts agree; None if no pair was decided by two of them.

    Undecided answers count as missing, and for a repeated question the first answer counts.

    References
    ----------
    K. Krippendorff, "Content analysis: an introduction to its methodology", 2004, chapter 11.
    """
    answers: dict[tuple[int, int], dict[str, Answer]] = defaultdict(dict)
    for label in labels:
        if label.decided:
            answers[label.pair].setdefault(label.analyst, label.answer)
    shared = [by for by in answers.values() if len(by) > 1]
    if not shared:
        return None
    pairwise: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for by in shared:
        for one, other in combinations(sorted(by), 2):
            pairwise[one, other].append(by[one] == by[other])
    return LabelAgreement(
        alpha=_alpha([Counter(by.values()) for by in shared]),
        n_pairs=len(shared),
        pairwise={pair: (sum(alike) / len(alike), len(alike)) for pair, alike in sorted(pairwise.items())},
    )


def _alpha(units: list[Counter[Answer]]) -> float:
    """1 - observed disagreement / disagreement expected by chance, from the counts of answers for each unit."""
    totals: Counter[Answer] = sum(units, Counter())
    n = totals.total()
    observed = sum((m**2 - sum(c**2 for c in unit.values())) / (m - 1) for unit in units if (m := unit.total()) > 1)
    expected = (n**2 - sum(c**2 for c in totals.values())) / (n - 1)
    return 1.0 - observed / expected if expected else 1.0
