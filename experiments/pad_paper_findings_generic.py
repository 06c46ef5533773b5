"""Findings of experiments/pad_paper.py that need no learned metric: predictions, statistics, times."""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from answers import Answer, share_word, yes_no
from pad_paper_measures import ALGORITHMS, LEARNERS, STATISTICS
from pad_paper_results import Results

PRESERVED, UNTOUCHED = 0.1, 1.5
QUADRATIC, IN_PROPORTION = (1.7, 2.3), (0.7, 1.3)


def on_prediction(results: Results) -> list[Answer]:
    """Figure 5."""
    ks, sets = results.plan.ks, results.predicted
    found = []
    for learner, name in LEARNERS.items():
        every = [p.original[learner] for p in sets.values()]
        every += [p.published[learner, k] for p in sets.values() for k in ks]
        found.append(
            Answer(
                f"Is {name} right in more than 90 % of cases, from originals and from published days?",
                share_word(sum(a > 0.9 for a in every), len(every)),
                f"{min(every):.3f} to {max(every):.3f}.",
            )
        )
        curves = [[p.published[learner, k] for k in ks] for p in sets.values()]
        found.append(_moves(f"Does the accuracy of {name} fall as k grows?", list(sets), curves, rises=False))
        k = ks[0]
        pairs = [(p.published[learner, k], p.original[learner]) for p in sets.values()]
        found.append(_beats(f"Is {name} better from {k}-anonymised days than from originals?", list(sets), pairs))
        pairs = [(p.together[learner, k], p.original[learner]) for p in sets.values()]
        found.append(
            _beats(
                f"Is {name} better from {k}-anonymised days where all are anonymised and then split, the paper's way?",
                list(sets),
                pairs,
                paper=False,
            )
        )
    return found


def on_statistics(results: Results) -> list[Answer]:
    """Figures 6 and 7."""
    found = []
    few, many = results.plan.shown
    for k in (few, many):
        errors = [d.error[s, k] for d in results.described.values() for s in STATISTICS]
        worst = "; ".join(
            f"{name} {', '.join(f'{d.error[s, k]:.1%}' for s in STATISTICS)}" for name, d in results.described.items()
        )
        found.append(
            Answer(
                f"Are mean arrival, departure and time occupied preserved at k = {k}?",
                share_word(sum(e <= PRESERVED for e in errors), len(errors)),
                f"Relative errors: {worst}.",
            )
        )
    kept = {k: [d.variety[s, k] for d in results.described.values() for s in STATISTICS] for k in (few, many)}
    found.append(
        Answer(
            "Do published days vary less?",
            share_word(sum(v < 1.0 for values in kept.values() for v in values), 2 * len(kept[few])),
            f"Standard deviations are {min(kept[few]):.2f} to {max(kept[few]):.2f} of the original ones at k = {few}, "
            f"{min(kept[many]):.2f} to {max(kept[many]):.2f} at k = {many}.",
        )
    )
    fewer = [b < a for a, b in zip(kept[few], kept[many], strict=True)]
    found.append(
        Answer(
            f"Do published days vary less at k = {many} than at k = {few}?",
            share_word(sum(fewer), len(fewer)),
            f"At {sum(fewer)} of {len(fewer)} statistics.",
        )
    )
    return found


def on_grouping_time(results: Results) -> list[Answer]:
    """Figure 12."""
    grouping = results.times.grouping
    found = []
    for algorithm in ALGORITHMS:
        slopes = {}
        for what in "nm":
            places = [place for a, w, place in grouping if (a, w) == (algorithm, what)]
            slopes[what] = _slope(places, [grouping[algorithm, what, place] for place in places])
        times = [seconds for (a, w, _), seconds in grouping.items() if (a, w) == (algorithm, "k")]
        spread = max(times) / min(times)
        paper = algorithm == "k-ward"
        found += [
            Answer(
                f"Is the time of {algorithm} quadratic in the number of series?",
                yes_no(QUADRATIC[0] <= slopes["n"] <= QUADRATIC[1]),
                f"Exponent {slopes['n']:.2f}.",
                paper=paper,
            ),
            Answer(
                f"Is the time of {algorithm} linear in the number of instants?",
                yes_no(IN_PROPORTION[0] <= slopes["m"] <= IN_PROPORTION[1]),
                f"Exponent {slopes['m']:.2f}.",
                paper=paper,
            ),
            Answer(
                f"Does k leave the time of {algorithm} nearly as it is?",
                yes_no(spread <= UNTOUCHED),
                f"The slowest k takes {spread:.1f} times as long as the fastest.",
                paper=paper,
            ),
        ]
    return found


def on_learning_time(results: Results) -> list[Answer]:
    """Figure 13."""
    plan, seconds = results.plan, results.times.learning
    by_pairs = [[seconds[n, width] for n in plan.pairs] for width in plan.widths]
    by_width = [[seconds[n, width] for width in plan.widths] for n in plan.pairs]
    pairs = float(np.mean([_slope(plan.pairs, curve) for curve in by_pairs]))
    width = float(np.mean([_slope(plan.widths, curve) for curve in by_width]))
    return [
        all_grow("Does the time of deep learning grow with the labelled pairs?", by_pairs),
        all_grow("Does the time of deep learning grow with the instants of a series?", by_width),
        Answer(
            "Do the pairs dominate the time of deep learning?",
            yes_no(pairs > width),
            f"Mean exponents {pairs:.2f} of the pairs and {width:.2f} of the instants; {by_pairs[0][0]:.1f} s for "
            f"{plan.pairs[0]:,} pairs of {plan.widths[0]}, {by_pairs[-1][-1]:.1f} s for {plan.pairs[-1]:,} of "
            f"{plan.widths[-1]}, {plan.passes} passes.",
        ),
    ]


def plain_prediction(results: Results) -> str:
    """One sentence on figure 5."""
    ks = results.plan.ks
    parts = [
        f"{p.original['knn']:.3f} from originals, {p.published['knn', ks[0]]:.3f} at k = {ks[0]} and "
        f"{p.published['knn', ks[-1]]:.3f} at k = {ks[-1]} on {name}"
        for name, p in results.predicted.items()
    ]
    return f"The kNN model predicts correctly whether someone will be there in this share of cases: {'; '.join(parts)}."


def plain_leak(results: Results) -> str:
    """One sentence on what the split does to the paper's claim for the smallest k."""
    k = results.plan.ks[0]
    places = [(found, learner) for found in results.predicted.values() for learner in LEARNERS]
    together, apart = (
        sum(of(found)[learner, k] > found.original[learner] for found, learner in places)
        for of in (lambda found: found.together, lambda found: found.published)
    )
    return (
        f"Models learned from {k}-anonymised days beat those learned from originals in {together} of {len(places)} "
        "cases where all days are anonymised together and then split, as the paper does it, so that a day to be "
        f"predicted is part of the means learned from; in {apart} of {len(places)} where it was left out first."
    )


def plain_statistics(results: Results, name: str) -> str:
    """One sentence on figure 6 or 7."""
    few, many = results.plan.shown
    described = results.described[name]
    parts = [f"{', '.join(f'{described.apart[s, k]:.2f}' for s in STATISTICS)} at k = {k}" for k in (few, many)]
    return (
        f"On {name} the histograms of arrival, departure and time occupied have a total variation of "
        f"{'; '.join(parts)}: at least that share of the days is in another hour."
    )


def _moves(question: str, names: Sequence[str], curves: Sequence[Sequence[float]], *, rises: bool) -> Answer:
    steps = [b > a if rises else b < a for curve in curves for a, b in pairwise(curve)]
    ends = ", ".join(f"{c[0]:.3f} to {c[-1]:.3f} on {name}" for name, c in zip(names, curves, strict=True))
    return Answer(question, share_word(sum(steps), len(steps)), f"At {sum(steps)} of {len(steps)} steps; {ends}.")


def _beats(question: str, names: Sequence[str], pairs: Sequence[tuple[float, float]], *, paper: bool = True) -> Answer:
    listed = ", ".join(f"{a:.3f} against {b:.3f} on {name}" for name, (a, b) in zip(names, pairs, strict=True))
    return Answer(question, share_word(sum(a > b for a, b in pairs), len(pairs)), f"{listed}.", paper=paper)


def all_grow(question: str, curves: Sequence[Sequence[float]]) -> Answer:
    """Whether every curve rises at every step."""
    steps = [b > a for curve in curves for a, b in pairwise(curve)]
    return Answer(question, share_word(sum(steps), len(steps)), f"At {sum(steps)} of {len(steps)} steps.")


def _slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The exponent from the smallest to the largest."""
    return math.log(y[-1] / y[0]) / math.log(x[-1] / x[0])
