"""Whether the paper's statements come out in experiments/pad_paper.py: each answer follows from the figures."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from answers import Answer, share_word, yes_no
from pad_paper_data import ARRIVAL, BUILDING, DEPARTURE, LINEAR_INTERESTS, LUNCH, PEAK, PLUGS
from pad_paper_figures import label_curve
from pad_paper_findings_generic import all_grow
from pad_paper_learning import DEEP, GENERIC, LEARNED, LINEAR, PRESANITISED, PUBLIC, RULED, TRAININGS, TRUTH, Task
from pad_paper_results import Results

NEAR = (
    "How near is near was settled before the first whole run, when the correlations of the learned metrics on PAD "
    'building and PAD plugs and their losses at k = 4 were known: "significantly" is taken as by a quarter or more, '
    '"a large amount" likewise, a mean as preserved within 10 %, "quadratic" as an exponent of 1.7 to 2.3 from the '
    'smallest to the largest size, "linear" of 0.7 to 1.3, "not significantly" as within a factor of 1.5, "dominates" '
    "as the larger exponent. After that run the statements on learned metrics were put to metrics that are always "
    "used, as in the paper, and no longer to those under Shoal's rule; and times were taken with one thread. Yes: "
    "wherever it was measured, every set and k; mostly: at more than half of the places; partly: at fewer; no: nowhere."
)
LESS, MORE = 0.75, 1.25  # by a quarter
REQUIRED = {  # correlation and share of the generic loss, on the authors' days: the metric each interest is for
    LUNCH: (BUILDING, LINEAR, 0.90, 0.6),
    PEAK: (PLUGS, LINEAR, 0.95, 0.6),
    ARRIVAL: (BUILDING, DEEP, 0.75, 1.0),
    DEPARTURE: (BUILDING, DEEP, 0.80, 1.0),
}
PAPERS_TABLE = {
    LUNCH: {GENERIC: 0.32, LINEAR: 0.95, DEEP: 0.43},
    PEAK: {GENERIC: 0.64, LINEAR: 0.93, DEEP: 0.72},
    ARRIVAL: {GENERIC: 0.41, LINEAR: 0.34, DEEP: 0.68},
    DEPARTURE: {GENERIC: 0.39, LINEAR: 0.36, DEEP: 0.96},
}


def must_show(results: Results) -> list[Answer]:
    """What was asked for on the authors' days; nothing where they are absent."""
    found = []
    for interest, (name, metric, correlation, share) in REQUIRED.items():
        if (name, interest) not in results.tasks:
            continue
        task, k = results.tasks[name, interest], results.plan.middle
        own, euclidean = task.correlated(PUBLIC, metric), task.correlated(PUBLIC, GENERIC)
        ratio = task.ratio(PUBLIC, RULED[metric], k)
        unsure = task.unsure[PUBLIC, metric, 0]
        good = (
            own >= correlation and own > euclidean and (ratio <= share if share < 1.0 else ratio < 1.0) and not unsure
        )
        limit = f"at most {share}" if share < 1.0 else "below 1"
        found.append(
            Answer(
                f"{interest.capitalize()} on {name}, {metric} metric?",
                yes_no(good),
                f"Correlation {own:.3f}, asked for {correlation:.2f}, Euclidean {euclidean:.3f}; loss at k = {k} "
                f"{ratio:.2f} of the generic metric's, asked for {limit}; used in "
                f"{results.plan.repetitions - unsure} of {results.plan.repetitions} repetitions.",
                paper=False,
            )
        )
    return found


def came_out(answers: Sequence[Answer]) -> str:
    """One sentence on a figure as a whole."""
    words = [answer.word for answer in answers if answer.paper]
    good = sum(word in ("yes", "mostly") for word in words)
    word = share_word(good, len(words))
    return f"The paper's pattern: **{word}**, {good} of {len(words)} statements hold everywhere or mostly."


def on_linear(results: Results, interest: str) -> list[Answer]:
    """Figures 8 and 9."""
    tasks, ks = results.on(interest), results.plan.ks
    found = []
    for training in TRAININGS:
        ratios = {t.name: [t.ratio(training, LINEAR, k) for k in ks] for t in tasks}
        every = [ratio for values in ratios.values() for ratio in values]
        listed = ", ".join(f"{min(values):.2f} to {max(values):.2f} on {name}" for name, values in ratios.items())
        found.append(
            Answer(
                f"Does the linear metric from {training} days reduce the loss on {interest} significantly?",
                share_word(sum(r <= LESS for r in every), len(every)),
                f"Shares of the generic loss: {listed}.",
            )
        )
    found.append(
        _lower(
            results,
            f"Does the linear metric lose less of {interest} than the deep one?",
            tasks,
            LINEAR,
            DEEP,
            TRAININGS,
        )
    )
    curves = [[t.mean(PUBLIC, metric, k) for k in ks] for t in tasks for metric in (GENERIC, *LEARNED, TRUTH)]
    found.append(all_grow(f"Does the loss on {interest} grow with k, under every metric?", curves))
    if interest == LUNCH:
        k = ks[-1]
        ratios = {t.name: t.mean(PRESANITISED, LINEAR, k) / max(t.mean(PUBLIC, LINEAR, k), 1e-12) for t in tasks}
        found.append(
            Answer(
                f"Is the loss on {interest} larger by a large amount at high k (here {k}) from pre-sanitised days?",
                share_word(sum(r >= MORE for r in ratios.values()), len(ratios)),
                f"Linear metric, pre-sanitised to public: {_each(ratios)}.",
            )
        )
    return found


def on_labels(results: Results) -> list[Answer]:
    """Figure 10."""
    found = []
    for task in results.counted:
        metric = LINEAR if task.interest in LINEAR_INTERESTS else DEEP
        counts, curves = label_curve(results, task, metric)
        means = [float(np.mean(curve)) for curve in curves]
        steps = [b < a for a, b in pairwise(means)]
        listed = ", ".join(f"{mean:.2f} with {n:,}" for n, mean in zip(counts, means, strict=True))
        found.append(
            Answer(
                f"Does the loss on {task.interest} ({metric}) fall with more labels?",
                share_word(sum(steps), len(steps)),
                f"Shares of the generic loss on {task.name} at k = {results.plan.middle}: {listed}.",
                paper=task.interest in LINEAR_INTERESTS,
            )
        )
    return found


def on_nonlinear(results: Results, interest: str) -> list[Answer]:
    """Figure 11."""
    tasks, ks = results.on(interest), results.plan.ks
    question = f"Does the deep metric from {{}} days lose less of {interest} than the generic one?"
    found = [_lower(results, question.format(t), tasks, DEEP, GENERIC, (t,)) for t in TRAININGS]
    question = f"Does the deep metric from {{}} days lose less of {interest} than the linear one?"
    if interest == DEPARTURE:
        return found + [_lower(results, question.format(t), tasks, DEEP, LINEAR, (t,)) for t in TRAININGS]
    found.append(_lower(results, question.format(PUBLIC), tasks, DEEP, LINEAR, (PUBLIC,)))
    k = ks[-1]
    pairs = {t.name: (t.mean(PRESANITISED, LINEAR, k), t.mean(PRESANITISED, DEEP, k)) for t in tasks}
    listed = ", ".join(f"{a:.2f} against {b:.2f} on {name}" for name, (a, b) in pairs.items())
    found.append(
        Answer(
            f"Does the linear metric lose less of {interest} at high k (here {k}) from pre-sanitised days?",
            share_word(sum(a < b for a, b in pairs.values()), len(pairs)),
            f"{listed}.",
        )
    )
    return found


def on_rule(results: Results) -> list[Answer]:
    """What Shoal's rule does, against using every learned metric."""
    found = []
    for training in TRAININGS:
        helped, harmed, same = [], [], 0
        for task in results.tasks.values():
            for kind in LEARNED:
                for k in results.plan.ks:
                    triples = zip(*(task.loss[training, name, k] for name in (kind, RULED[kind], GENERIC)), strict=True)
                    for always, ruled, generic in triples:
                        if ruled != generic or always == generic:
                            same += 1
                        else:
                            (helped if always > generic else harmed).append(always / generic if generic > 0.0 else 1.0)
        n = len(helped) + len(harmed)
        means = [f"{float(np.mean(part)):.2f}" if part else "nothing" for part in (helped, harmed)]
        found.append(
            Answer(
                f"Does not using what is not surely better avoid a larger loss, from {training} days?",
                share_word(len(helped), n) if n else "yes",
                f"Of {n + same} releases the rule changed {n}: {len(helped)} would have lost more with the learned "
                f"metric ({means[0]} of the generic loss in the mean), {len(harmed)} less ({means[1]}).",
                paper=False,
            )
        )
    return found


def on_interests(results: Results) -> dict[str, list[Answer]]:
    """Figures 8 to 11."""
    found = {interest: on_linear(results, interest) for interest in LINEAR_INTERESTS}
    found["labels"] = on_labels(results)
    return found | {interest: on_nonlinear(results, interest) for interest in (ARRIVAL, DEPARTURE)}


def under_rule(results: Results) -> str:
    """The same statements, had Shoal's rule been in place."""
    tasks = {}
    for place, task in results.tasks.items():
        loss, by_labels = dict(task.loss), dict(task.by_labels)
        for kind, ruled in RULED.items():
            loss |= {(t, kind, k): lost for (t, name, k), lost in task.loss.items() if name == ruled}
            by_labels |= {(kind, n): lost for (name, n), lost in task.by_labels.items() if name == ruled}
        tasks[place] = replace(task, loss=loss, by_labels=by_labels)
    sides = [on_interests(results), on_interests(replace(results, tasks=tasks))]
    words = [[answer.word for found in side.values() for answer in found if answer.paper] for side in sides]
    used, ruled = (", ".join(f"{w.count(word)} {word}" for word in ("yes", "mostly", "partly", "no")) for w in words)
    return (
        f"Of the {len(words[0])} statements on figures 8 to 11 the answers are {used} with every metric used, and "
        f"would be {ruled} under the rule."
    )


def on_table(results: Results) -> list[Answer]:
    """Table 1, learned from public days."""
    found = []
    for interests, own, other, word in (
        (LINEAR_INTERESTS, LINEAR, DEEP, "linear"),
        ((ARRIVAL, DEPARTURE), DEEP, LINEAR, "nonlinear"),
    ):
        tasks = [task for interest in interests for task in results.on(interest)]
        made = [
            t.correlated(PUBLIC, own) > max(t.correlated(PUBLIC, other), t.correlated(PUBLIC, GENERIC)) for t in tasks
        ]
        listed = ", ".join(f"{t.correlated(PUBLIC, own):.2f}" for t in tasks)
        found.append(
            Answer(
                f"Has the {own} metric the highest correlation where what matters is {word}?",
                share_word(sum(made), len(made)),
                f"At {sum(made)} of {len(made)} interests on sets; {listed}.",
            )
        )
    above = [t.correlated(PUBLIC, m) > t.correlated(PUBLIC, GENERIC) for t in results.tasks.values() for m in LEARNED]
    found.append(
        Answer(
            "Are both learned metrics nearer to the truth than the Euclidean distance?",
            share_word(sum(above), len(above)),
            f"At {sum(above)} of {len(above)}; in the paper's own table 6 of 8.",
        )
    )
    return found


def plain_loss(results: Results, interest: str) -> str:
    """One sentence on a figure of losses."""
    k = results.plan.middle
    parts = []
    for task in results.on(interest):
        shares = ", ".join(
            f"{metric} {task.ratio(PUBLIC, metric, k):.2f} ({task.ratio(PRESANITISED, metric, k):.2f})"
            for metric in LEARNED
        )
        parts.append(f"{shares}, wanted {task.ratio(PUBLIC, TRUTH, k):.2f} on {task.name}")
    return (
        f"At k = {k} the loss on {interest} as a share of the generic metric's, learned from public days (in brackets "
        f"from pre-sanitised ones): {'; '.join(parts)}."
    )


def _lower(
    results: Results, question: str, tasks: Sequence[Task], own: str, other: str, trainings: Sequence[str]
) -> Answer:
    """Whether one metric loses less than another, at every set, k and training."""
    made, listed = [], []
    for task in tasks:
        pairs = [(task.mean(t, own, k), task.mean(t, other, k)) for t in trainings for k in results.plan.ks]
        made += [a < b for a, b in pairs]
        listed.append(f"{sum(a < b for a, b in pairs)} of {len(pairs)} on {task.name}")
    return Answer(question, share_word(sum(made), len(made)), f"At {', '.join(listed)}.")


def _each(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.2f} on {name}" for name, value in values.items())
