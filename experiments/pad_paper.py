"""Paper 5, section 7: figures 5 to 13 and table 1 on simulated and real days of presence and of plug loads.

Writes pad.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Sets that the
data folder has not are left out, and the page says so.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numba
import scipy.optimize  # noqa: F401 - brings a BLAS of its own, which can be limited only once it is there
import sklearn.svm  # noqa: F401 - likewise
from answers import Answer, bullets, statements
from drawing import draw
from pad_paper_data import ARRIVAL, DEPARTURE, INTERESTS, LUNCH, MEANINGS, OFFICE, PEAK, Sets, load
from pad_paper_figures import all_figures
from pad_paper_findings import (
    NEAR,
    PAPERS_TABLE,
    came_out,
    must_show,
    on_interests,
    on_rule,
    on_table,
    plain_loss,
    under_rule,
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
from pad_paper_learning import DEEP, GENERIC, LEARNED, LINEAR, METRICS, PRESANITISED, PUBLIC, RULED, TRAININGS, TRUTH
from pad_paper_measures import STATISTICS
from pad_paper_plan import QUICK, Plan
from pad_paper_results import Results, measure
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = (
    'Section 7 of "PAD: learned metric", which extends PAD (protecting anonymity in publishing building related '
    "datasets) from linear to nonlinear features: groups are formed by a metric learned from pairs of days that were "
    "labelled similar or dissimilar by what matters "
    "to an analyst, and what is published are means of the original days. Metrics: *generic*, Euclidean on the values; "
    "*linear* and *deep*, learned (`LinearMetric`, `DeepMetric`); *wanted*, the distance of what matters itself, which "
    "nobody has in practice (the paper's ground truth)."
)
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
    if given.simulated < 8 * plan.ks[-1]:
        sys.exit(f"Needs at least {8 * plan.ks[-1]} simulated persons.")
    numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
    with threadpool_limits(limits=1):
        results = measure(load(given.data, given.simulated, given.most, given.seed), plan, given.seed)
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
    return parser.parse_args()


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
    options = f"--simulated {given.simulated} --most {given.most} --seed {given.seed}"
    asked = must_show(results)
    parts = [
        "# PAD: learned metrics, on days they have not seen",
        f"Written by `python experiments/pad_paper.py {options}{' --quick' if given.quick else ''}`, with every figure "
        f"and table; do not edit. It took {results.seconds / 60:.0f} minutes of one core.",
        INTRODUCTION,
        summary(results, answers, asked),
        *data_section(results.sets, given.seed),
        *measuring_section(results),
        *(["## What must show on the authors' days", bullets(asked)] if asked else []),
        "## Do the paper's statements come out?",
        NEAR,
        statements([answer for found in answers.values() for answer in found if answer.paper]),
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
        "## Using a metric only where it is surely better",
        "The paper uses whatever was learned. Shoal asks first whether it tells held-out pairs apart better than the "
        "Euclidean distance by two standard errors, and says so where it does not.",
        bullets(on_rule(results)),
        under_rule(results),
        "## Correlation with the true distances (table 1)",
        *section(
            f"Pearson's, over all pairs of the private days, which no metric has seen in the public case; mean of "
            f"{results.plan.repetitions} repetitions.",
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
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("yes", "mostly", "partly", "no"))
    text = f"In short: of {len(words)} statements of the paper: {counts}."
    if asked:
        good = sum(answer.word == "yes" for answer in asked)
        text += f" What was asked for on the authors' days shows on {good} of {len(asked)} interests."
    return f"{text} {plain_leak(results)}"


def data_section(sets: Sets, seed: int) -> list[str]:
    """Which sets there are."""
    lines = ["| set | days | instants | what |", "|---|---:|---:|---|"]
    lines += [f"| {name} | {len(x)} | {x.shape[1]} | {MEANINGS[name]} |" for name, x in sets.days.items()]
    note = (
        "Each day is taken as a person: the real sets do not say whose a day is, so k counts days, as in the paper. "
        f"Seed {seed} for everything random."
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
    n_public = plan.repetitions * len(results.tasks)
    total = {PUBLIC: n_public, PRESANITISED: n_public * len(plan.ks)}
    listed = []
    for training in TRAININGS:
        for kind in LEARNED:
            unsure, few = (
                sum(counts[training, kind, k] for counts in tasks for k in (0, *plan.ks))
                for tasks in zip(*((t.unsure, t.few) for t in results.tasks.values()), strict=True)
            )
            listed.append(f"{kind} from {training} days {unsure} and {few} of {total[training]}")
    return [
        "## How it was measured",
        f"{plan.repetitions} repetitions, each with the days halved anew by chance: one half is private and published, "
        "the other is public. (The paper keeps one split and draws 80 % of the training pairs.) *Public*: pairs of "
        f"public days are labelled, at most {plan.n_pairs:,} ({sizes}). *Pre-sanitised*: the private half is "
        "anonymised under the generic metric with the same k, and pairs of the different curves that gives are "
        "labelled, so there are fewer the larger k. Labels are given by program: similar when the true distance is at "
        "most the median of the pairs. Loss is `InterestLoss`, the mean over days of the distance between what "
        "matters in the original and in the published day: of the segment's values, of the sum, in instants of 15 "
        "minutes. Groups are those of `Microaggregation` by default (MDAV, refined); presence is published rounded to "
        "0 and 1. Every release passed its check. *linear* and *deep* are always used, as in the paper. Shoal does not "
        "use a learned metric that is not better than the Euclidean distance beyond chance on held-out pairs, and the "
        "generic one takes its place: that is *if sure*. So it is for both where fewer than five pairs have one of the "
        f"labels. How often not sure, and how often too few: {'; '.join(listed)}. Times are seconds of the processor "
        f"on one thread, compiling left out; of groups the fastest of {plan.takes}, of learning one.",
    ]


def statistics_figures(results: Results, figure: Callable[[str], str]) -> list[str]:
    """Figure 6 where the authors' days are there, and figure 7."""
    main = results.sets.main("presence")
    parts = [] if main == OFFICE else [plain_statistics(results, main), figure("statistics")]
    return [*parts, plain_statistics(results, OFFICE), figure("statistics-simulated")]


def errors_table(results: Results) -> str:
    """Relative errors of the means and distances of the histograms."""
    names = {"arrival": "arrival", "departure": "departure", "occupied": "time occupied"}
    head = " | ".join(f"{names[s]}: mean | histogram | deviation" for s in STATISTICS)
    lines = [f"| set | k | {head} |", "|---|---:|" + "---:|" * 3 * len(STATISTICS)]
    for name, found in results.described.items():
        for k in results.plan.shown:
            cells = " | ".join(
                f"{found.error[s, k]:.1%} | {found.apart[s, k]:.2f} | {found.variety[s, k]:.2f}" for s in STATISTICS
            )
            lines.append(f"| {name} | {k} | {cells} |")
    note = (
        "Mean: relative error of it. Histogram: total variation, 24 bins of an hour. Deviation: the standard deviation "
        "of the published statistic as a share of the original one's. In the paper, on days of its building, the means "
        "are off by 8.13 %, 8.37 % and 6.21 % at k = 2 and by 6.80 %, 5.34 % and 0.47 % at k = 7."
    )
    return "\n".join(lines) + "\n\n" + note


def loss_table(results: Results, interest: str) -> str:
    """Losses as means and deviations of the repetitions."""
    ks = results.plan.ks
    lines = ["| set | learned from | metric | " + " | ".join(f"k = {k}" for k in ks) + " |"]
    lines += ["|---|---|---|" + "---:|" * len(ks)]
    for task in results.on(interest):
        for training in TRAININGS:
            for metric in (*METRICS, *RULED.values()):
                is_learned = metric not in (GENERIC, TRUTH)
                if not is_learned and training != PUBLIC:
                    continue
                cells = " | ".join(
                    f"{task.mean(training, metric, k):.3g} ± {task.spread(training, metric, k):.2g}" for k in ks
                )
                source = training if is_learned else ""
                lines.append(f"| {task.name} | {source} | {metric} | {cells} |")
    return "\n".join(lines)


def correlation_table(results: Results) -> str:
    """Table 1, with the paper's figures beside it."""
    lines = [
        "| interest | set | Euclidean | linear, public | deep, public | linear, pre-sanitised | deep, pre-sanitised |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for interest in INTERESTS:
        for task in results.on(interest):
            cells = [task.correlated(PUBLIC, GENERIC)]
            cells += [task.correlated(training, metric) for training in TRAININGS for metric in LEARNED]
            lines.append(f"| {interest} | {task.name} | {' | '.join(f'{cell:.2f}' for cell in cells)} |")
        papers = PAPERS_TABLE[interest]
        lines.append(f"| {interest} | *the paper's* | {papers[GENERIC]} | | | {papers[LINEAR]} | {papers[DEEP]} |")
    note = (
        f"Pre-sanitised with k = {results.plan.middle}. The paper's figures are at anonymity level 4, which it "
        "does not explain further; they are put where a level has a meaning."
    )
    return "\n".join(lines) + "\n\n" + note


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](pad-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
