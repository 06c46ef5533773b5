"""Which pairs to ask an analyst about, and what a label task and a release tell together, on simulated and real days.

Writes labels.md and its figures, by default to docs/results. Every sentence about an outcome is computed. The real set
is left out where the data folder has not got it, and the page says so.
"""

import argparse
from pathlib import Path

import numba
import scipy.optimize  # noqa: F401 - brings a BLAS of its own, which can be limited only once it is there
import sklearn.svm  # noqa: F401 - likewise
from answers import Answer, bullets, share_word, yes_no
from drawing import draw
from label_choice_figures import all_figures
from label_choice_measures import ACTIVE, CHOICES, OFFICES, QUICK, UNIFORM, Plan, Results, measure
from pad_paper_data import BUILDING
from scipy.stats import binomtest
from threadpoolctl import threadpool_limits

from shoal.labels import MULTIPLE

ROOT = Path(__file__).resolve().parents[1]
FEW = 0.05  # of the persons; a remedy that leaves fewer than that below k is called one
FIGURES = {
    "choice": "Correlation of learned with true distances by the number of labels; bars are two standard errors.",
    "intersection": "Share of persons who are left with at most this many persons, themselves included, when the "
    "groups of a label task and of a release are intersected.",
}


def main() -> None:
    """Measure, draw, write."""
    given = arguments()
    numba.set_num_threads(1)
    with threadpool_limits(limits=1):
        results = measure(given.data, QUICK if given.quick else Plan(), given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw({f"labels-{name}.png": figure for name, figure in all_figures(results).items()}, given.out)
    written = given.out / "labels.md"
    written.write_text(page(given, results, drawn=drawn), encoding="utf-8")
    print(f"wrote {written} after {results.seconds:.0f} s of the processor")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few persons, labels and repetitions")
    return parser.parse_args()


def page(given: argparse.Namespace, results: Results, *, drawn: bool) -> str:
    """The whole page."""
    figure = _figure if drawn else _no_figure
    choice, both = on_choice(results), on_intersection(results)
    parts = [
        "# Labels: which pairs to ask about, and what a task and a release reveal together",
        "See how many labels are worth asking for, whether choosing the pairs actively pays, and what a labelling "
        "task reveals together with a release.",
        f"Written by `python experiments/label_choice.py --seed {given.seed}{' --quick' if given.quick else ''}`, with "
        f"every figure and table; do not edit. It took {results.seconds / 60:.1f} minutes of one core.",
        "[Labels](../labels.md) explains the terms.",
        data_note(results),
        "## Active against uniform choice of pairs",
        how_taught(results.plan),
        bullets(choice),
        figure("choice"),
        choice_table(results),
        "## A label task and a release of the same persons",
        how_intersected(results),
        bullets(both),
        figure("intersection"),
        intersection_table(results),
    ]
    return "\n\n".join(parts) + "\n"


def data_note(results: Results) -> str:
    """Which sets there are."""
    if results.absent:
        missing = ", ".join(results.absent)
        return f"The data folder has no {missing}: this set is left out. **All data here are simulated.**"
    return (
        f"{OFFICES.capitalize()} are `shoal.simulate.occupancy`, a different one for each repetition. {BUILDING} are "
        "the days of presence of pad_building, at every half hour, each treated as a person and split at random into "
        f"halves in each of {results.plan.real_repetitions} repetitions: one half is labelled as public, and no metric "
        "has seen the other."
    )


def how_taught(plan: Plan) -> str:
    """How the choice was measured, before any outcome."""
    return (
        f"{plan.repetitions} repetitions. In each, {plan.persons} persons over {plan.days} days of half hours, shown "
        f"in groups of {plan.k} subjects (`multiple=1`: by default a task for k = {plan.k} shows groups of "
        f"{MULTIPLE * plan.k}, and so fewer curves); pairs of the curves are labelled by a program: similar if what "
        f"matters is no farther apart than the median. With active choice the first {_percent(plan.common)} of the "
        f"pairs are drawn uniformly and the others handed out {plan.round} at a time. The linear metric is learned and "
        "taken whether or not Shoal would use it. Figures are Pearson's correlation of its distances with the true "
        f"ones on days of {plan.unseen} other persons. *Better* and *worse*: Student's 95 % interval of the mean "
        "difference over the repetitions, same days either way, does not contain 0; of twenty cases without any "
        "difference, one would be labelled so. (The first whole run asked for two standard errors, which is less.) "
        "The deep metric was not measured with active choice."
    )


def verdict(results: Results, key: tuple[str, str], n: int) -> str:
    """Whether active choice is better with so many labels."""
    gain, reach = results.taught[key].gain(n)
    return "better" if gain > reach else "worse" if gain < -reach else "no difference"


def on_choice(results: Results) -> list[Answer]:
    """Answers about the choice of pairs."""
    found, keys = [], list(results.taught)
    for n in results.plan.labels:
        words = {key: verdict(results, key, n) for key in keys}
        better, worse = ([key for key in keys if words[key] == word] for word in ("better", "worse"))
        found.append(
            Answer(
                f"With {n} labels, is active choice better?",
                share_word(len(better), len(keys)),
                f"Better in {len(better)} of {len(keys)} cases{_listed(better)}, worse in "
                f"{len(worse)}{_listed(worse)}, no difference beyond chance in the others.",
            )
        )
    n = results.plan.labels[len(results.plan.labels) // 2]
    used = {c: [was for t in results.taught.values() for was in t.used[c, n]] for c in CHOICES}
    only = {c: sum(a and not b for a, b in zip(used[c], used[o], strict=True)) for c, o in (CHOICES, CHOICES[::-1])}
    n_apart = sum(only.values())
    beyond_chance = n_apart > 0 and binomtest(only[ACTIVE], n_apart, alternative="greater").pvalue < 0.025
    found.append(
        Answer(
            f"With {n} labels, is the expected gain of the metric more often positive, so that Shoal uses it?",
            yes_no(beyond_chance),
            f"{sum(used[ACTIVE])} of {len(used[ACTIVE])} times after active choice, {sum(used[UNIFORM])} after uniform "
            f"choice: by a sign test {'a' if beyond_chance else 'no'} difference beyond chance.",
        )
    )
    return found


def choice_table(results: Results) -> str:
    """Every mean, the difference with its error, and how often the metric would be used."""
    lines = [
        "| set | what matters | labels | uniform | active | active less uniform | | used: uniform | active |",
        "|---|---|---:|---:|---:|---:|---|---:|---:|",
    ]
    for (name, interest), taught in results.taught.items():
        for n in results.plan.labels:
            gain, reach = taught.gain(n)
            used = [f"{sum(taught.used[c, n])} of {len(taught.used[c, n])}" for c in CHOICES]
            lines.append(
                f"| {name} | {interest} | {n} | {taught.mean(UNIFORM, n):.2f} | {taught.mean(ACTIVE, n):.2f} | "
                f"{gain:+.3f} ± {reach:.3f} | {verdict(results, (name, interest), n)} | {used[0]} | {used[1]} |"
            )
    return "\n".join(lines) + "\n\n± is half the width of the 95 % interval. Correlations of 1.00 are rounded."


def how_intersected(results: Results) -> str:
    """How the intersection was measured."""
    plan = results.plan
    return (
        "This is what would happen if a release were free to cross the groups that a label task showed; in Shoal its "
        "groups lie within them. One day of each person is shown to the analyst as means by Euclidean distance and "
        f"published as means of at least {plan.crowd} by a metric for the lunchtime segment, learned from "
        f"{plan.taught} labels of other days. `Intersection` knows which series belong to a person in both and counts "
        f"who is left, which is the worst case. The control publishes by Euclidean distance too. {plan.repetitions} "
        f"offices for each row; the metric's expected gain was positive in {results.n_used} of them, otherwise "
        f"Euclidean distance takes its place. On average {_percent(results.absentees)} of the persons are not there "
        "that day: their days are equal, and they stay a crowd."
    )


def on_intersection(results: Results) -> list[Answer]:
    """Answers about two releases."""
    plan = results.plan
    same = {persons: results.left[persons, plan.task_crowds[0], True] for persons in plan.published}
    shares = {persons: left.at_most(plan.crowd - 1) for persons, left in same.items()}
    largest = plan.task_crowds[-1]
    remedy = {persons: results.left[persons, largest, True].at_most(plan.crowd - 1) for persons in plan.published}
    return [
        Answer(
            f"Do a task and a release, each with k = {plan.crowd}, leave fewer than {plan.crowd} for most persons?",
            share_word(sum(share > 0.5 for share in shares.values()), len(shares)),
            "; ".join(
                f"of {persons} persons {_percent(shares[persons])}, and {_percent(left.at_most(1))} alone"
                for persons, left in same.items()
            )
            + ".",
        ),
        Answer(
            f"Does a task with k = {largest} end it (fewer than {_percent(FEW)} of the persons below {plan.crowd})?",
            share_word(sum(share < FEW for share in remedy.values()), len(remedy)),
            "; ".join(
                f"of {persons} persons {_percent(share)} are left with fewer" for persons, share in remedy.items()
            )
            + ".",
        ),
    ]


def intersection_table(results: Results) -> str:
    """Shares of persons by what is left."""
    k = results.plan.crowd
    lines = [
        f"| persons | release by | k of the task | fewer than {k} left | alone | chance together | "
        "of the better one alone |",
        "|---:|---|---:|---:|---:|---:|---:|",
    ]
    for (persons, crowd, learned), left in results.left.items():
        by = "learned metric" if learned else "Euclidean distance"
        lines.append(
            f"| {persons} | {by} | {crowd} | {_percent(left.at_most(k - 1))} | {_percent(left.at_most(1))} | "
            f"{_percent(_mean(left.chances))} | {_percent(_mean(left.alone))} |"
        )
    return "\n".join(lines) + "\n\nChance: the mean over persons of 1/m, where m persons are left."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _listed(keys: list[tuple[str, str]]) -> str:
    return f" ({', '.join(f'{interest} on {name}' for name, interest in keys)})" if keys else ""


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](labels-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
