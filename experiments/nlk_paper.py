"""Paper 1, section 5: figures 7 to 13 on smart meters and simulated data, strategy "optimal" beside the heuristics.

Writes nlk.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Where the data
folder is absent, simulated data take its place and the page says so.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numba
from answers import Answer, bullets, statements
from drawing import draw
from nlk_paper_acceptance import Acceptance, acceptances
from nlk_paper_data import MEANINGS, Sets, load
from nlk_paper_enumeration import ALONE, KS, N_SERIES
from nlk_paper_figures import all_figures
from nlk_paper_findings import (
    NEAR,
    on_classes,
    on_divergence,
    on_heuristics,
    on_n,
    on_sets,
    on_shift,
    on_synthetic,
    on_time,
    spread,
    two_samples,
    why_divergence,
)
from nlk_paper_measures import QUICK, STRATEGIES, Plan, Results, measure

ROOT = Path(__file__).resolve().parents[1]
FIGURES = {
    "divergence": "Normalised divergence by k (the paper's figure 7).",
    "synthetic-divergence": "Synthetic panels: normalised divergence by k (figure 8a). Each panel has its own scale.",
    "synthetic-deviation": "Synthetic panels: shift of the standard deviation by k (figure 8b).",
    "deviation": "Shift of the standard deviation by k (figure 9).",
    "classes": "Share of the points by their divergence (figure 10).",
    "heuristics": "What is taken away of the Euclidean loss of stage 1 (figure 11).",
    "time": "Time of a release; mth and mil include stage 1, which is cluster (figures 12 and 13).",
}


def main() -> None:
    """Load, measure, draw, write."""
    given = arguments()
    plan = QUICK if given.quick else Plan()
    if given.series < 2 * plan.ks[-1] or given.instants < plan.largest_l:
        sys.exit(f"Needs at least {2 * plan.ks[-1]} series and {plan.largest_l} instants.")
    numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
    sets = load(given.data, given.series, given.instants, plan.synthetic, given.seed)
    results = measure(sets, plan, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results), given.out)
    written = given.out / "nlk.md"
    before = written.read_text(encoding="utf-8") if written.exists() else ""
    written.write_text(page(given, results, before, drawn=drawn), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the meter sets")
    parser.add_argument("--series", type=int, default=180, help="meters of a set, where it has so many")
    parser.add_argument("--instants", type=int, default=336)
    parser.add_argument("--seed", type=int, default=1, help="of everything simulated")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few parameters, small synthetic panels, times taken once")
    return parser.parse_args()


def page(given: argparse.Namespace, results: Results, before: str, *, drawn: bool) -> str:
    """The whole page; `before` is the one it replaces."""
    plan, accepted = results.plan, acceptances(results)
    figure = _figure if drawn else _no_figure
    answers = {
        "divergence": on_divergence(results),
        "synthetic": on_synthetic(results),
        "deviation": on_shift(results),
        "classes": on_classes(results),
        "heuristics": on_heuristics(results),
        "time": on_time(results),
        "sets": on_sets(results),
    }
    options = f"--series {given.series} --instants {given.instants} --seed {given.seed}"
    command = f"python experiments/nlk_paper.py {options}{' --quick' if given.quick else ''}"
    parts = [
        "# (n, l, k)-anonymity: the paper's figures, and `optimal` compared with its heuristics",
        "See how much (n, l, k)-anonymity loses for each choice of n, l and k, which algorithm loses least, and "
        "which of the paper's statements hold here.",
        f"Written by `{command}`; do not edit.",
        introduction(results),
        summary(results, accepted, answers),
        *data_section(results.sets, given.seed),
        *measuring_section(plan),
        *acceptance_section(results, accepted),
        "## Do the paper's statements hold here?",
        f"On {results.sets.main}, if no other set is named. {NEAR} Figures and details are in the sections below.",
        statements([answer for found in answers.values() for answer in found if answer.paper]),
        "## Normalised divergence (figure 7)",
        bullets(answers["divergence"]),
        on_n(results),
        figure("divergence"),
        f"Normalised divergence in per cent on {results.sets.main}, n = {plan.n}:",
        divergence_table(results),
        "What divergence depends on: how many groups of k there can be, how unequal the series are (what one group per "
        "instant would lose) and how much is lost in the group of the largest values.",
        why_divergence(results),
        two_samples(results),
        f"## Synthetic panels of {plan.synthetic[0]:,} × {plan.synthetic[1]} (figure 8)",
        bullets(answers["synthetic"]),
        figure("synthetic-divergence"),
        figure("synthetic-deviation"),
        "## Shift of the standard deviation (figure 9)",
        bullets(answers["deviation"]),
        figure("deviation"),
        "## Points by divergence (figure 10)",
        bullets(answers["classes"]),
        figure("classes"),
        "## MTH against MIL (figure 11)",
        f"On {results.sets.main}, k = {_listed(plan.grid_ks)}, n = {_listed(plan.grid_ns)}, l − n = "
        f"{_listed(plan.grid_margins)}. The paper takes every n from 3 to 10.",
        bullets(answers["heuristics"]),
        figure("heuristics"),
        "## Time (figures 12 and 13)",
        bullets(answers["time"]),
        spread(results),
        other_answers(answers["time"], before if f"`{command}`" in before else ""),
        figure("time"),
        "## The other sets",
        f"In each cell {' / '.join(STRATEGIES)}, at ({plan.n}, {plan.n + plan.middle}, k).",
        sets_table(results),
        bullets(answers["sets"]),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def other_answers(answers: Sequence[Answer], before: str) -> str:
    """Where times gave another answer in the runs whose pages this one replaces."""
    told = re.findall(r"^- (.+?\?) \*\*(\w+)\.\*\*", before, re.M)
    told += re.findall(r"^- (.+?\?) In an earlier run: (\w+)\.$", before, re.M)
    lines = [
        f"- {answer.question} In an earlier run: {word}."
        for answer in answers
        for word in sorted({word.lower() for question, word in told if question == answer.question} - {answer.word})
    ]
    return "\n".join(lines)


def introduction(results: Results) -> str:
    """What is done, to which data."""
    panel = results.main.panel
    return (
        f'Section 5 of "Pattern-sensitive time-series anonymization" on {panel.n_series} {results.sets.main} × '
        f"{panel.n_instants} hours: the paper's stage 1 (`cluster`), its two heuristics of stage 2 (`mth`, `mil`) and "
        "Shoal's own `optimal`, absolute loss, mean as representative. [How they work](../methods/nlk.md)."
    )


def summary(results: Results, accepted: dict[str, Acceptance], answers: dict[str, list[Answer]]) -> str:
    """One paragraph for the top of the page."""
    words = [answer.word for found in answers.values() for answer in found if answer.paper]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("yes", "mostly", "partly", "no"))
    main = accepted[results.sets.main]
    held, of = results.all_hold()
    return (
        f"In short: `optimal` loses {main.ratio:.3f} times what `mth` loses, on average over {len(main.cells)} "
        f"parameters, and is on average at most {main.gap:.2%} above the best that groups of neighbouring values can "
        f"do under its condition. {beyond(results)} Of {len(words)} statements of the paper: {counts}. {held} of {of} "
        "releases passed the exact check."
    )


def data_section(sets: Sets, seed: int) -> list[str]:
    """Which sets there are."""
    lines = ["| set | series | instants | what |", "|---|---:|---:|---|"]
    for name, panel in sets.meters.items():
        lines.append(f"| {name} | {panel.n_series} | {panel.n_instants} | {MEANINGS[name]} |")
    for name, panel in sets.synthetic.items():
        what = (
            "every value drawn from [10, 30]" if name == "random" else "a + b sin(x c), a, b, c drawn for each series"
        )
        lines.append(f"| {name} | {panel.n_series:,} | {panel.n_instants} | the paper's: {what} |")
    missing = [name for name in MEANINGS if name not in sets.meters]
    note = f"Seed {seed} for everything simulated."
    if missing:
        note += f" The data folder has no {', '.join(missing)}: these sets are left out."
    if not sets.measured:
        note += " **All data here are simulated**, also where the paper has real households."
    return ["## Data", "\n".join(lines), note]


def measuring_section(plan: Plan) -> list[str]:
    """How, before any outcome."""
    return [
        "## How it was measured",
        "Times are processor seconds, on one thread, for a whole `anonymize`; compiling is left out, and so is "
        "wall-clock time, which on a shared machine depends on other jobs. The section on time takes the median of "
        f"{plan.repeats} repeats that take turns, the tables a single run. The page shows one run of the script, not "
        "the best of several; everything but times is the same in every run. Stage 2 of `mth` and `mil` uses the "
        "exact check, not the paper's faster validation, which differs from the definition.",
    ]


def acceptance_section(results: Results, accepted: dict[str, Acceptance]) -> list[str]:
    """The table of the targets, for every set."""
    plan = results.plan
    parts = [
        "## `optimal` against `mth`",
        f"Normalised divergence, n = {plan.target_n}. *Optimal grouping alone* is `optimal` with l = n + 1, so that "
        "nobody is in a group below k. *Gap at most* is how far `optimal` is above its bound, *seconds* is its time. "
        "The bound is for groups that are runs of k to 2k − 1 neighbouring values, of which one in between may be "
        "alone; [other groupings](#what-the-bound-leaves-out) may lose less. The three targets were set for the "
        "first 180 meters of energyhack; other sets are measured as well.",
    ]
    for name, acceptance in accepted.items():
        panel = results.sets.meters[name]
        parts += [
            f"### {name.capitalize()}, {panel.n_series} × {panel.n_instants}",
            acceptance.table(),
            "\n".join(f"- {answer}" for answer in acceptance.answers()),
        ]
    return [*parts, *bound_section(results)]


def bound_section(results: Results) -> list[str]:
    """Runs of neighbours against all groupings, where all can be tried."""
    lines = [
        "| set | k | " + " | ".join(f"{alone} alone: better | saves | at most" for alone in ALONE) + " |",
        "|---|---:|" + "---:|" * (3 * len(ALONE)),
    ]
    for name in results.runs:
        for k in KS:
            found = [results.beyond[name, k, alone] for alone in ALONE]
            cells = (f"{one.better / one.n:.1%} | {one.mean:.2%} | {one.largest:.0%}" for one in found)
            lines.append(f"| {name} | {k} | {' | '.join(cells)} |")
    return [
        "### What the bound leaves out",
        "Around means, the absolute loss of groups that interleave or have 2k members or more can be lower than that "
        f"of any such runs. All groupings can be tried of few series: {N_SERIES} of a set, at one instant, drawn at "
        f"random, {results.plan.n_enumerated} times for each row and number of series alone. *Better*: at how many of "
        "these instants the best of all groupings into groups of k or more loses less than the best that the bound "
        "covers, with as many alone; *saves*: of the loss of all these instants together; *at most*: at one instant.",
        "\n".join(lines),
        f"{beyond(results)} With {N_SERIES} series there are few groups; on a whole panel it was not tried.",
    ]


def beyond(results: Results) -> str:
    """One sentence on what the bound does not cover."""
    found = list(results.beyond.values())
    share = sum(one.better for one in found) / sum(one.n for one in found)
    if not share:
        return f"Of {N_SERIES} series, no other grouping was better at any instant that was tried."
    saved, most = max(one.mean for one in found), max(one.largest for one in found)
    return (
        f"Of {N_SERIES} series, other groupings lose less at {share:.1%} of the instants that were tried: by at most "
        f"{saved:.2%} of the loss over the instants of a set, at one instant by up to {most:.0%}."
    )


def divergence_table(results: Results) -> str:
    """Strategies and l by k."""
    plan = results.plan
    lines = [_header("| strategy | l |", plan.ks), "|---|---:|" + "---:|" * len(plan.ks)]
    for s in STRATEGIES:
        for margin in plan.margins if s != "cluster" else plan.margins[:1]:
            values = results.main.divergences(s, plan.n, margin, plan.ks)
            shown = plan.n + margin if s != "cluster" else "any"
            lines.append(f"| {s} | {shown} | " + " | ".join(f"{value:.2f}" for value in values) + " |")
    return "\n".join(lines)


def sets_table(results: Results) -> str:
    """Every set of meters at few parameters."""
    plan = results.plan
    lines = ["| set | k | divergence (%) | shift (%) | points within 20 % (%) |", "|---|---:|---|---|---|"]
    for name in results.sets.meters:
        for k in plan.target_ks:
            found = [results.runs[name].get(s, plan.n, plan.n + plan.middle, k) for s in STRATEGIES]
            cells = (
                " / ".join(f"{100.0 * getattr(measured, what):.1f}" for measured in found)
                for what in ("divergence", "shift", "near")
            )
            lines.append(f"| {name} | {k} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _header(start: str, ks: Sequence[int]) -> str:
    return f"{start} " + " | ".join(f"k = {k}" for k in ks) + " |"


def _listed(numbers: Sequence[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers)


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](nlk-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
