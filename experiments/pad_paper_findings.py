"""Whether the paper's statements come out in experiments/pad_paper.py: each answer follows from the figures."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from answers import UNTRIED, Answer, share_word, yes_no
from pad_paper_data import ARRIVAL, BUILDING, DEPARTURE, LINEAR_INTERESTS, LUNCH, PEAK, PLUGS
from pad_paper_figures import label_curve
from pad_paper_findings_generic import all_grow
from pad_paper_learning import (
    DEEP,
    GENERIC,
    INPUTS,
    LEARNED,
    LINEAR,
    PRESANITISED,
    PUBLIC,
    TIME,
    TRAININGS,
    TRUTH,
    VALUES,
    Task,
    named,
)
from pad_paper_results import Results

NEAR = (
    "The meaning of each phrase was fixed before the first full run, when the correlations of the learned metrics on "
    "PAD "
    'building and PAD plugs and their losses at k = 4 were known: "significantly" is taken as by a quarter or more, '
    '"a large amount" likewise, a mean as preserved within 10 %, "quadratic" as an exponent of 1.7 to 2.3 from the '
    'smallest to the largest size, "linear" of 0.7 to 1.3, "not significantly" as within a factor of 1.5, "dominates" '
    "as the larger exponent. Later, the statements on learned metrics were tested with metrics that are always used, "
    "as in the paper, and given the same inputs, the values, as in the paper; and times were taken with one thread. "
    "Yes: wherever it was measured, every set and k; mostly: at more than half of the places; partly: at fewer; no: "
    "nowhere."
)
LESS, MORE = 0.75, 1.25  # by a quarter
MEANT = {VALUES: "the values", TIME: "what time adds"}
REQUIRED = {  # correlation and share of the generic loss, on the authors' days: the metric each interest is for
    LUNCH: (BUILDING, named(LINEAR, VALUES), 0.90, 0.6),
    PEAK: (PLUGS, named(LINEAR, VALUES), 0.95, 0.6),
    ARRIVAL: (BUILDING, named(DEEP, TIME), 0.75, 1.0),
    DEPARTURE: (BUILDING, named(DEEP, TIME), 0.80, 1.0),
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
        ratio = task.ratio(PUBLIC, metric, k)
        judged = task.judged[PUBLIC, metric, 0]
        used = sum(found is not None and found.gain > 0.0 for found in judged)
        good = own >= correlation and own > euclidean and (ratio <= share if share < 1.0 else ratio < 1.0)
        good = good and used == len(judged)
        limit = f"at most {share}" if share < 1.0 else "below 1"
        found.append(
            Answer(
                f"{interest.capitalize()} on {name}, by {metric}?",
                yes_no(good),
                f"Correlation {own:.3f}, asked for {correlation:.2f}, Euclidean {euclidean:.3f}; loss at k = {k} "
                f"{ratio:.2f} of the generic metric's, asked for {limit}; used in {used} of {len(judged)} repetitions.",
                paper=False,
            )
        )
    return found


def came_out(answers: Sequence[Answer]) -> str:
    """One sentence on a figure as a whole."""
    words = [answer.word for answer in answers if answer.paper and answer.word != UNTRIED]
    good = sum(word in ("yes", "mostly") for word in words)
    word = share_word(good, len(words))
    return f"The paper's pattern: **{word}**, {good} of {len(words)} statements hold everywhere or mostly."


def on_linear(results: Results, interest: str) -> list[Answer]:
    """Figures 8 and 9; the paper gives both metrics the values."""
    tasks, ks, linear = results.on(interest), results.plan.ks, named(LINEAR, VALUES)
    found = []
    for training in TRAININGS:
        ratios = {t.name: [t.ratio(training, linear, k) for k in ks if t.learned(training, k)] for t in tasks}
        every = [ratio for values in ratios.values() for ratio in values]
        listed = ", ".join(
            f"{min(values):.2f} to {max(values):.2f} on {name}" if values else f"nothing learned on {name}"
            for name, values in ratios.items()
        )
        found.append(
            Answer(
                f"Does the linear metric from {training} days reduce the loss on {interest} significantly?",
                share_word(sum(r <= LESS for r in every), len(every)),
                f"Shares of the loss of a generic release without a task: {listed}.",
            )
        )
    for inputs in INPUTS:
        question = f"Does the linear metric lose less of {interest} than the deep one, both given {MEANT[inputs]}?"
        pair = named(LINEAR, inputs), named(DEEP, inputs)
        found.append(_lower(results, question, tasks, *pair, TRAININGS, paper=inputs == VALUES))
    curves = [[t.mean(PUBLIC, metric, k) for k in ks] for t in tasks for metric in (GENERIC, *LEARNED, TRUTH)]
    found.append(all_grow(f"Does the loss on {interest} grow with k, under every metric?", curves))
    if interest == LUNCH:
        k = ks[-1]
        ratios = {
            t.name: t.mean(PRESANITISED, linear, k) / max(t.mean(PUBLIC, linear, k), 1e-12)
            for t in tasks
            if t.learned(PRESANITISED, k)
        }
        found.append(
            Answer(
                f"Is the loss on {interest} larger by a large amount at high k (here {k}) from pre-sanitised days?",
                share_word(sum(r >= MORE for r in ratios.values()), len(ratios)),
                f"Linear metric, pre-sanitised to public, where it could be learned: {_each(ratios) or 'nowhere'}.",
            )
        )
    return found


def on_labels(results: Results) -> list[Answer]:
    """Figure 10."""
    found = []
    for task in results.counted:
        is_linear = task.interest in LINEAR_INTERESTS
        for metric in (named(LINEAR, VALUES),) if is_linear else (named(LINEAR, TIME), named(DEEP, TIME)):
            counts, curves = label_curve(results, task, metric)
            means = [float(np.mean(curve)) for curve in curves]
            steps = [b < a for a, b in pairwise(means)]
            listed = ", ".join(f"{mean:.2f} with {n:,}" for n, mean in zip(counts, means, strict=True))
            found.append(
                Answer(
                    f"Does the loss on {task.interest} ({metric}) fall with more labels?",
                    share_word(sum(steps), len(steps)),
                    f"Shares of the generic loss on {task.name} at k = {results.plan.middle}: {listed}.",
                    paper=is_linear,
                )
            )
    return found


def on_nonlinear(results: Results, interest: str) -> list[Answer]:
    """Figure 11; the paper gives both metrics the values."""
    tasks, k = results.on(interest), results.plan.ks[-1]
    found = []
    for inputs in INPUTS:
        linear, deep, paper = named(LINEAR, inputs), named(DEEP, inputs), inputs == VALUES
        for training in TRAININGS:
            question = f"Does the deep metric from {training} days lose less of {interest} than the generic one"
            question = f"{question}, given {MEANT[inputs]}?"
            found.append(_lower(results, question, tasks, deep, GENERIC, (training,), paper=paper))
        for training in TRAININGS if interest == DEPARTURE else (PUBLIC,):
            question = f"Does the deep metric from {training} days lose less of {interest} than the linear one"
            question = f"{question}, both given {MEANT[inputs]}?"
            found.append(_lower(results, question, tasks, deep, linear, (training,), paper=paper))
        if interest == ARRIVAL:
            pairs = {
                t.name: (t.mean(PRESANITISED, linear, k), t.mean(PRESANITISED, deep, k))
                for t in tasks
                if t.learned(PRESANITISED, k)
            }
            listed = ", ".join(f"{a:.2f} against {b:.2f} on {name}" for name, (a, b) in pairs.items())
            found.append(
                Answer(
                    f"Does the linear metric lose less of {interest} at high k (here {k}) from pre-sanitised days, "
                    f"both given {MEANT[inputs]}?",
                    share_word(sum(a < b for a, b in pairs.values()), len(pairs)),
                    f"Where they could be learned: {listed or 'nowhere'}.",
                    paper=paper,
                )
            )
    return found


def on_inputs(results: Results) -> list[Answer]:
    """Linear against deep from the same inputs, and one kind of inputs against the other."""
    found = []
    for inputs in INPUTS:
        for training in TRAININGS:
            question = f"From {training} days, both given {MEANT[inputs]}: does the linear metric lose less?"
            tasks = list(results.tasks.values())
            pair = named(LINEAR, inputs), named(DEEP, inputs)
            found.append(_lower(results, question, tasks, *pair, (training,), paper=False))
    for interests, word in (
        (LINEAR_INTERESTS, "lunchtime and peak hours"),
        ((ARRIVAL, DEPARTURE), "arrival and departure"),
    ):
        tasks = [task for interest in interests for task in results.on(interest)]
        for kind in (LINEAR, DEEP):
            question = f"Does the {kind} metric keep more of {word} given what time adds than given the values alone?"
            pair = named(kind, TIME), named(kind, VALUES)
            found.append(_lower(results, question, tasks, *pair, (PUBLIC,), paper=False))
    return found


def on_interests(results: Results) -> dict[str, list[Answer]]:
    """Figures 8 to 11."""
    found = {interest: on_linear(results, interest) for interest in LINEAR_INTERESTS}
    found["labels"] = on_labels(results)
    return found | {interest: on_nonlinear(results, interest) for interest in (ARRIVAL, DEPARTURE)}


def on_table(results: Results) -> list[Answer]:
    """Table 1, learned from public days."""
    found = []
    for inputs in INPUTS:
        for interests, kind, word in ((LINEAR_INTERESTS, LINEAR, "linear"), ((ARRIVAL, DEPARTURE), DEEP, "nonlinear")):
            own, other = named(kind, inputs), named(DEEP if kind == LINEAR else LINEAR, inputs)
            tasks = [task for interest in interests for task in results.on(interest)]
            made = [
                t.correlated(PUBLIC, own) > max(t.correlated(PUBLIC, other), t.correlated(PUBLIC, GENERIC))
                for t in tasks
            ]
            listed = ", ".join(
                f"{t.correlated(PUBLIC, own):.3f} against {t.correlated(PUBLIC, other):.3f}" for t in tasks
            )
            found.append(
                Answer(
                    f"Has the {kind} metric the highest correlation where what matters is {word}, both given "
                    f"{MEANT[inputs]}?",
                    share_word(sum(made), len(made)),
                    f"At {sum(made)} of {len(made)} interests on sets; {listed}.",
                    paper=inputs == VALUES,
                )
            )
    above = [t.correlated(PUBLIC, m) > t.correlated(PUBLIC, GENERIC) for t in results.tasks.values() for m in LEARNED]
    found.append(
        Answer(
            "Are the learned metrics nearer to the truth than the Euclidean distance?",
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
        listed = ", ".join(f"{metric} {both_shares(task, metric, k)}" for metric in LEARNED)
        parts.append(f"{listed}, wanted {task.ratio(PUBLIC, TRUTH, k):.2f} on {task.name}")
    return (
        f"At k = {k} the loss on {interest} as a share of that of a generic release without a task, learned from "
        f"public days (in brackets from pre-sanitised ones): {'; '.join(parts)}."
    )


def both_shares(task: Task, metric: str, k: int) -> str:
    """The loss as a share of that of a generic release, learned from public and from pre-sanitised days."""
    known = metric in (GENERIC, TRUTH) or task.learned(PRESANITISED, k)
    within = f"{task.ratio(PRESANITISED, metric, k):.2f}" if known else "–"
    return f"{task.ratio(PUBLIC, metric, k):.2f} ({within})"


def _lower(
    results: Results,
    question: str,
    tasks: Sequence[Task],
    own: str,
    other: str,
    trainings: Sequence[str],
    *,
    paper: bool = True,
) -> Answer:
    """Whether one metric loses less than another, at every set, k and training where metrics were learned."""
    made, listed = [], []
    for task in tasks:
        places = [(t, k) for t in trainings for k in results.plan.ks if task.learned(t, k)]
        pairs = [(task.mean(t, own, k), task.mean(t, other, k)) for t, k in places]
        if not pairs:
            continue
        made += [a < b for a, b in pairs]
        where = f"{task.interest} on {task.name}" if len({t.interest for t in tasks}) > 1 else task.name
        listed.append(f"{sum(a < b for a, b in pairs)} of {len(pairs)} on {where}")
    total = f"{sum(made)} of {len(made)}: " if len(tasks) > 1 else ""
    return Answer(
        question, share_word(sum(made), len(made)), f"At {total}{', '.join(listed) or 'no place'}.", paper=paper
    )


def _each(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.2f} on {name}" for name, value in values.items())
