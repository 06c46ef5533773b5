"""Paper 5, section 7: figures 5 to 13 and table 1 on simulated and real days of presence and of plug loads.

Writes pad.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Sets that the
data folder has not are left out, and the page says so.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from answers import UNTRIED, Answer, bullets, statements
from drawing import draw
from pad_paper_data import ARRIVAL, DEPARTURE, LUNCH, MEANINGS, OFFICE, PEAK, Sets, load
from pad_paper_figures import all_figures
from pad_paper_findings import (
    NEAR,
    came_out,
    must_show,
    on_inputs,
    on_interests,
    on_table,
    plain_loss,
)
from pad_paper_findings_generic import (
    on_grouping_time,
    on_learning_time,
    on_prediction,
    on_statistics,
    plain_leak,
    plain_prediction,
    plain_statistics,
)
from pad_paper_learning import LEARNED, PUBLIC, TRAININGS
from pad_paper_plan import QUICK, Plan
from pad_paper_results import Results, measure
from pad_paper_rule import on_rule, parts_table, rule_table
from pad_paper_shown_findings import on_shown, shown_table
from pad_paper_tables import correlation_table, curves_table, errors_table, inputs_table, loss_table, plain_inputs

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = (
    'Section 7 of "PAD: learned metric", which extends PAD (protecting anonymity in publishing building related '
    "datasets) from linear to nonlinear features: groups are formed by a metric learned from pairs of days that were "
    "labelled similar or dissimilar by what matters "
    "to an analyst, and what is published are means of the original days. Metrics: *generic*, Euclidean on the values; "
    "*linear* and *deep*, learned (`LinearMetric`, `DeepMetric`), each given the *values*, and each given what *time* "
    "adds to them (running totals, and the highest value, rise and fall so far and still to come); *default*, what "
    "Shoal does by default up to 1,000 labels: linear, with inputs, form and share of Euclidean distance chosen on "
    "held-out labels, and used if its expected gain on them is positive; *wanted*, the distance of what matters "
    "itself, which nobody has in practice (the paper's ground truth)."
)
UNTRIED_MEANS = " Not tried: nowhere were there enough curves to learn from."
FIGURES = {
    "prediction": "Accuracy of predicting presence, by k (the paper's figure 5).",
    "statistics": "Arrival, departure and time occupied of the authors' days, original and published (figure 6).",
    "statistics-simulated": "The same of a simulated office, one day of each person (figure 7).",
    "lunchtime": "Loss on the lunchtime segment by k; bars are one standard deviation of the repetitions (figure 8).",
    "peak": "Loss on the use in peak hours by k (figure 9).",
    "labels": "Loss by the number of labelled pairs (figure 10).",
    "arrival": "Loss on the time of arrival by k (figure 11, above).",
    "departure": "Loss on the time of departure by k (figure 11, below).",
    "grouping-time": "Time of microaggregation by series, instants and k (figure 12).",
    "learning-time": "Time of learning a deep metric by pairs and instants (figure 13).",
}


def main() -> None:
    """Load, measure, draw, write."""
    given = arguments()
    plan = QUICK if given.quick else Plan()
    for name in ("repetitions", "n_pairs", "ks"):
        if getattr(given, name) is not None:
            plan = replace(plan, **{name: getattr(given, name)})
    if given.simulated < 8 * plan.ks[-1]:
        sys.exit(f"Needs at least {8 * plan.ks[-1]} simulated persons.")
    sets = load(given.data, given.simulated, given.most, given.seed)
    results = measure(sets, plan, given.seed, jobs=given.jobs, keep=given.keep)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results), given.out)
    written = given.out / "pad.md"
    written.write_text(page(given, results, drawn=drawn), encoding="utf-8")
    print(f"wrote {written} after {results.seconds:.0f} s of the processor")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--simulated", type=int, default=300, help="persons of the simulated office")
    parser.add_argument("--most", type=int, default=450, help="days of a real set, drawn at random where it has more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few parameters, pairs and repetitions")
    parser.add_argument("--repetitions", type=int, help="of everything that is learned")
    parser.add_argument("--pairs", type=int, dest="n_pairs", help="labelled pairs at most")
    parser.add_argument("--ks", type=_numbers, help="such as 2,4,7; 4 must be among them")
    parser.add_argument("--jobs", type=int, default=1, help="processes; the results are the same")
    parser.add_argument("--keep", type=Path, help="folder for what is measured, so that an interrupted run can go on")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


def page(given: argparse.Namespace, results: Results, *, drawn: bool) -> str:
    """The whole page."""
    figure = _figure if drawn else _no_figure
    answers = {
        "prediction": on_prediction(results),
        "statistics": on_statistics(results),
        **on_interests(results),
        "table": on_table(results),
        "grouping": on_grouping_time(results),
        "learning": on_learning_time(results),
    }
    options = (
        f"--simulated {given.simulated} --most {given.most} --seed {given.seed}{' --quick' if given.quick else ''}"
    )
    if given.repetitions is not None:
        options += f" --repetitions {given.repetitions}"
    if given.n_pairs is not None:
        options += f" --pairs {given.n_pairs}"
    if given.ks is not None:
        options += f" --ks {','.join(map(str, given.ks))}"
    asked = must_show(results)
    papers = [answer for found in answers.values() for answer in found if answer.paper]
    parts = [
        "# PAD: learned metrics, on days they have not seen",
        "See how much better a metric learned from labels keeps what an analyst cares about, and which of the paper's "
        "statements hold here.",
        f"Written by `python experiments/pad_paper.py {options}`, with every figure and table; do not edit. It took "
        f"{results.seconds / 60:.0f} minutes of processor time.",
        INTRODUCTION,
        summary(results, answers, asked),
        *data_section(results.sets, given.seed),
        *measuring_section(results),
        *(["## Expected on the authors' days", bullets(asked)] if asked else []),
        "## Linear and deep, given the same",
        "Each metric is given the values, and each is given what time adds to them. Loss at "
        f"k = {results.plan.middle} as a share of that of a generic release without a task, learned from public days "
        "(in brackets from pre-sanitised ones, within the groups shown; – where there were too few curves):",
        inputs_table(results),
        plain_inputs(results),
        bullets(on_inputs(results)),
        "## What analysts may be shown of the days to be released",
        "What a label task shows is a release. If the release that follows is free to cross the groups shown, anyone "
        "who has both can intersect them; if it is formed within them, every intersection is a whole group. For "
        "labels to matter, groups shown must then be larger than k, and the larger they are, the fewer curves there "
        "are to learn from. Four fifths of the days of each set, drawn at random in each of "
        f"{_repetitions(results.plan.repetitions)}, are shown in groups of m·k, at most {results.plan.shown_pairs} "
        "pairs of the curves are labelled, and all those days are released by the default metric.",
        bullets(on_shown(results)),
        shown_table(results),
        "Shares of the loss of a generic release in groups of k without a task. Within: groups of the release lie in "
        "those shown; generic: labels play no part; wanted: the best a metric can do there. Free: the same metric, "
        "its groups free to cross those shown. Smallest crowd and days below k: of task and release intersected. Too "
        "few: how often there were too few curves to learn from, so that the generic metric took its place. Held "
        "out: a third of the days was shown in groups of k and the others released.",
        "## Do the paper's statements hold here?",
        NEAR + (UNTRIED_MEANS if any(answer.word == UNTRIED for answer in papers) else ""),
        statements(papers),
        "## Prediction from days under the generic metric (figure 5)",
        *section(plain_prediction(results), answers["prediction"]),
        figure("prediction"),
        "## Statistics of days under the generic metric (figures 6 and 7)",
        came_out(answers["statistics"]),
        *statistics_figures(results, figure),
        bullets(answers["statistics"]),
        errors_table(results),
        "## A linear interest: the lunchtime segment (figure 8)",
        *section(plain_loss(results, LUNCH), answers[LUNCH]),
        figure("lunchtime"),
        loss_table(results, LUNCH),
        "## A linear interest: use in peak hours (figure 9)",
        *section(plain_loss(results, PEAK), answers[PEAK]),
        figure("peak"),
        loss_table(results, PEAK),
        "## Labels against loss (figure 10)",
        came_out(answers["labels"]),
        bullets(answers["labels"]),
        figure("labels"),
        "## Nonlinear interests: arrival and departure (figure 11)",
        *section(plain_loss(results, ARRIVAL), answers[ARRIVAL]),
        figure("arrival"),
        loss_table(results, ARRIVAL),
        *section(plain_loss(results, DEPARTURE), answers[DEPARTURE]),
        figure("departure"),
        loss_table(results, DEPARTURE),
        "## Using a metric where it is expected to be better",
        "The paper uses whatever was learned. Shoal uses it if it was learned from at least 10 curves and its "
        "expected gain on held-out labels is positive: the mean over three parts of the series of the score by the "
        "learned distance minus that by Euclidean distance, on labelled pairs of series of that part, by a metric "
        "learned from pairs of the other parts alone. The score is the chance that a dissimilar pair is farther "
        "apart than a similar one. Labels used for learning are never used for judging. Shoal's earlier rule, a gain "
        "of two standard errors, is compared with it. The rules compared here have no least number of curves; its "
        "effect is in the last table. For all four metrics, and every interest, set and k with enough pairs to learn "
        "from:",
        bullets(on_rule(results)),
        rule_table(results),
        "Worse: the loss on the interest is larger than by the other choice. The last column is the mean of the loss "
        "over that by the generic metric, of the same days and, from pre-sanitised days, within the same groups. That "
        "mean, part by part:",
        parts_table(results),
        "## Correlation with the true distances (table 1)",
        *section(
            f"Pearson's, over all pairs of the private days, which no metric has seen in the public case; mean of "
            f"{_repetitions(results.plan.repetitions)}.",
            answers["table"],
        ),
        correlation_table(results),
        "## Time of microaggregation (figure 12)",
        came_out(answers["grouping"]),
        bullets(answers["grouping"]),
        figure("grouping-time"),
        "## Time of learning a deep metric (figure 13)",
        came_out(answers["learning"]),
        bullets(answers["learning"]),
        figure("learning-time"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def section(sentence: str, answers: list[Answer]) -> list[str]:
    """What a figure shows, whether the paper's pattern came out, and the answers one by one."""
    return [f"{sentence} {came_out(answers)}", bullets(answers)]


def summary(results: Results, answers: dict[str, list[Answer]], asked: list[Answer]) -> str:
    """One paragraph for the top of the page."""
    words = [answer.word for found in answers.values() for answer in found if answer.paper]
    kinds = ("yes", "mostly", "partly", "no", *([UNTRIED] if UNTRIED in words else []))
    counts = ", ".join(f"{words.count(word)} {word}" for word in kinds)
    text = f"In short: of {len(words)} statements of the paper: {counts}."
    if asked:
        good = sum(answer.word == "yes" for answer in asked)
        text += f" The results expected on the authors' days appear for {good} of {len(asked)} interests."
    return f"{text} {plain_leak(results)}"


def data_section(sets: Sets, seed: int) -> list[str]:
    """Which sets there are."""
    lines = ["| set | days | instants | what |", "|---|---:|---:|---|"]
    lines += [f"| {name} | {len(x)} | {x.shape[1]} | {MEANINGS[name]} |" for name, x in sets.days.items()]
    note = (
        "Each day is treated as a person: the real sets do not say whose day it is, so k counts days, as in the "
        f"paper. Seed {seed} for everything random."
    )
    if sets.absent:
        note += f" The data folder has no {', '.join(sets.absent)}: these sets are left out."
    if len(sets.absent) == 4:
        note += " **All data here are simulated**."
    return ["## Data", "\n".join(lines), note]


def measuring_section(results: Results) -> list[str]:
    """How, before any outcome."""
    plan = results.plan
    sizes = ", ".join(f"{t.n_pairs:,} on {t.name}" for t in {t.name: t for t in results.tasks.values()}.values())
    listed = []
    for training in TRAININGS:
        ks = (0,) if training == PUBLIC else plan.ks
        every = [j for task in results.tasks.values() for k in ks for j in task.judged[training, LEARNED[0], k]]
        listed.append(f"{sum(j is None for j in every)} of {len(every)} times from {training} days")
    return [
        "## How it was measured",
        f"{_repetitions(plan.repetitions)}, each with the days split at random into halves: one half is private and "
        "published, the other is public. (The paper keeps one split and draws 80 % of the training pairs.) *Public*: "
        f"pairs of public days are labelled, at most {plan.n_pairs:,} ({sizes}), and groups of the release are free. "
        f"*Pre-sanitised*: the private half is anonymised under the generic metric in groups of {plan.multiple}·k, "
        "pairs of the different curves that gives are labelled, so there are few, and fewer the larger k, and groups "
        "of the release are formed within those shown, by every metric. (The paper shows groups of k and releases "
        "freely, which leaves single days when both are intersected.) Labels are given by a program: similar if the "
        "true distance is at most the median of the pairs. Loss is `InterestLoss`, the mean over days of the "
        "distance between what matters in the original and in the published day: of the segment's values, of the "
        "sum, in instants of 15 minutes. Groups are those of `Microaggregation` by default (MDAV, refined); presence "
        "is published rounded to 0 and 1. Every release passed its check. *linear* and *deep* are always used, as in "
        "the paper, except where fewer than five pairs have one of the labels and the generic metric takes their "
        f"place: {'; '.join(listed)}, a time being an interest on a set with one k in one repetition. Where that is "
        "so in every repetition, tables have – in place of a learned metric and answers leave the place out. Times "
        f"are processor seconds on one thread, without compiling; for groups the fastest of {plan.takes}, for "
        "learning a single run.",
        f"Curves that an analyst is shown of the private half, in groups of {plan.multiple}·k (mean of the "
        "repetitions), of which n give n(n − 1)/2 pairs:",
        curves_table(results),
    ]


def statistics_figures(results: Results, figure: Callable[[str], str]) -> list[str]:
    """Figure 6 where the authors' days are there, and figure 7."""
    main = results.sets.main("presence")
    parts = [] if main == OFFICE else [plain_statistics(results, main), figure("statistics")]
    return [*parts, plain_statistics(results, OFFICE), figure("statistics-simulated")]


def _repetitions(n: int) -> str:
    return f"{n} repetition{'' if n == 1 else 's'}"


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](pad-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
