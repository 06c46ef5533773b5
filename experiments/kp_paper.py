"""Paper 4, section 7: figures 4 to 13 and table 4 on walks, motions, uniform values, days and sales.

Writes kp.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Where the data
folder is absent, what can be simulated is, and the page says so.
"""

import argparse
import sys
from pathlib import Path

import numba
from answers import Answer, bullets
from changes import Watched, changes
from drawing import draw
from kp_paper_comparison import must_show, short, verdict, why, without_levels
from kp_paper_data import EACH, MEANINGS, METERS, WALK, WHOLE, Sets, load
from kp_paper_figures import all_figures
from kp_paper_findings import (
    NEAR,
    on_customised,
    on_pattern_loss,
    on_queries,
    on_suppressed,
    on_time,
    on_tuning,
)
from kp_paper_measures import (
    BFP2KA,
    BFP2KA_20,
    KAPRA,
    KAPRA_MEANS,
    METHODS,
    QUICK,
    RELEASES,
    TGA,
    WEIGHTS,
    Figures,
    Plan,
)
from kp_paper_queries import KINDS, PSQ, SHARE, STRING, Asked
from kp_paper_results import Results, measure

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = (
    'Section 7 of "Supporting pattern-preserving anonymization for time-series data": its two algorithms, KAPRA and '
    "Naive (`kapra` and `naive` of [KP](../methods/kp.md)), against TGA, which draws random series from k-anonymous "
    "envelopes, and BFP2KA, which publishes words that k series share, by a prefix tree. Both algorithms are shown "
    'with both kinds of words, under the same envelopes: "KAPRA" and "Naive" publish the words that the series of a '
    'subgroup share, as in the paper (`words="own"`); "words of means" is `words="mean"`, the default of KP, which the '
    "paper does not have. The two algorithms are compared under the same words only."
)
FIGURES = {
    "by-p": "Value loss and pattern loss by P (the paper's figure 4).",
    "by-k": "Value loss and pattern loss by k (figure 5).",
    "pattern-loss": "Pattern loss by k = P, on every set (figure 6).",
    "value-loss": "Value loss by k = P of the same releases. Each set has its own scale.",
    "pattern-loss-each": "Pattern loss by k = P, each series scaled by itself (figure 6 in the other reading).",
    "value-loss-each": "Value loss by k = P, each series scaled by itself. Each set has its own scale.",
    "pattern-queries": "Precision of queries for similar shapes and for differences in ranges (figures 7 and 8).",
    "value-queries": "Relative error of range queries and of combined (complex) ones (figures 9 and 10).",
    "time": "Time of a release by the number of series (figure 11).",
    "estimation": "Time to estimate what customised publishing left out (figure 12).",
    "customised": "Answers of a customised release, the rest estimated, and of the full one (figure 13).",
}

CHANGES_NOTE = (
    "Times are processor seconds, measured once, and vary from run to run; everything else that is random has a fixed "
    "seed, so a change comes from the methods."
)
OURS = tuple(RELEASES)
WATCHED = (
    Watched("pattern loss", "| set | pattern loss / value loss", 2, rows=OURS),
    Watched("value loss", "| set | pattern loss / value loss", 2, rows=OURS, part=1),
    Watched("precision of queries", "| set | method | similarity", 2, lower=False, column="precision", rows=OURS),
    Watched("recall of queries", "| set | method | similarity", 2, lower=False, column="recall", rows=OURS),
    Watched("error of counts", "| set | method | similarity", 2, column="error", rows=OURS),
    Watched("series suppressed by KAPRA", "| set | P =", 1),
    *(Watched(f"seconds of {name}", "| set | series | KAPRA", 2, column=name) for name in (KAPRA, "Naive")),
)
"""What is compared with the page before; "KAPRA" and "Naive" are columns with either words."""


def main() -> None:
    """Load, measure, draw, write."""
    given = arguments()
    plan = QUICK if given.quick else Plan()
    if min(given.walks, given.uniform) < 2 * plan.ks[-1]:
        sys.exit(f"Needs at least {2 * plan.ks[-1]} series.")
    numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
    sets = load(given.data, given.walks, given.uniform, given.seed)
    results = measure(sets, plan, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results[WHOLE], results[EACH]), given.out)
    written = given.out / "kp.md"
    text = page(given, results[WHOLE], results[EACH], drawn=drawn)
    text += f"\n## What got better, what got worse\n\n{changes(written, text, WATCHED)}\n\n{CHANGES_NOTE}\n"
    written.write_text(text, encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--walks", type=int, default=6553, help="pieces of random walks; the paper has 6 553")
    parser.add_argument("--uniform", type=int, default=5000, help="series of uniform values, where times are not taken")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few parameters and queries, small panels")
    return parser.parse_args()


def answers_of(results: Results) -> dict[str, list[Answer]]:
    """Every answer under one reading, by section."""
    return {
        "tuning": on_tuning(results),
        "suppressed": on_suppressed(results),
        "pattern": on_pattern_loss(results),
        "queries": on_queries(results),
        "time": on_time(results),
        "customised": on_customised(results),
    }


def page(given: argparse.Namespace, results: Results, each: Results, *, drawn: bool) -> str:
    """The whole page; `each` has the results of the other reading."""
    plan = results.plan
    figure = _figure if drawn else _no_figure
    answers, others = answers_of(results), answers_of(each)
    options = f"--walks {given.walks} --uniform {given.uniform} --seed {given.seed}"
    parts = [
        "# (k, P)-anonymity: the paper's figures, with its baselines at their best",
        "See what (k, P)-anonymity keeps of values and shapes, compared with two older methods.",
        f"Written by `python experiments/kp_paper.py {options}{' --quick' if given.quick else ''}`; do not edit.",
        INTRODUCTION,
        summary(results, each, answers, others),
        *data_section(results.sets, given.seed),
        *measuring_section(results),
        "## Expected on every set",
        must_show(results),
        verdict(results),
        "### What makes the difference",
        f"At k = P = {plan.middle}. Where series differ mostly in level, groups of near values have mixed shapes, and "
        "TGA and Naive lose them; where they differ mostly in shape, series with similar values also have similar "
        "shapes. And where fewer than P series agree even on two letters, KAPRA with the paper's words gives them a "
        "word of one letter, which loses the shape whole; BFP2KA gives such series the most similar word that k "
        "others share.",
        why(results),
        without_levels(results, each),
        f"By the number of series and of instants, pattern loss at k = P = {plan.middle}, KAPRA / KAPRA with words of "
        "means / TGA with the best of its units:",
        more_table(results),
        "## The other reading: each series scaled by itself",
        "The same sets, each series between its own lowest value, 0, and its highest, 1; a constant one is 0. Words "
        "are those of the normalised series, so KAPRA with the paper's words and BFP2KA lose the same pattern, up to "
        "rounding. What a near value is changes, and with it groups, ranges, Naive and TGA.",
        must_show(each),
        verdict(each),
        figure("pattern-loss-each"),
        figure("value-loss-each"),
        loss_table(each),
        f"Queries on {WALK} at k = P = {plan.middle}:",
        queries_table({WALK: each.walk}, plan.middle),
        "Statements of the paper that get a different answer than in the first reading:",
        bullets(changed(answers, others)) or "None.",
        "## Do the paper's statements hold here?",
        f"On the paper's own sets, {' and '.join(results.sets.papers)}, and {STRING}, if no other is named, with the "
        f"paper's words. {NEAR} The first answer is for values scaled by {WHOLE}, the second by {EACH}; suppression, "
        f"times and {STRING} do not depend on it. Figures below are for the first.",
        both_statements(answers, others),
        "## P and k (figures 4 and 5, table 4)",
        bullets(answers["tuning"]),
        figure("by-p"),
        f"k = {plan.tuning_k}.",
        figure("by-k"),
        f"P = {plan.tuning_p}.",
        f"Suppressed by KAPRA at k = {plan.tuning_k}; in brackets without the recycling of bad leaves (table 4):",
        suppressed_table(results),
        bullets(answers["suppressed"]),
        "## Pattern loss against TGA and BFP2KA (figure 6)",
        bullets(answers["pattern"]),
        figure("pattern-loss"),
        figure("value-loss"),
        loss_table(results),
        "### What `auto` picks",
        f'`algorithm="auto"` forms the groups of both algorithms, with words of means, and publishes those that lose '
        f"less, shapes counting with `pattern_weight`. At k = P = {plan.middle}, losses as above; more sets are on "
        "[a page of their own](kp_auto.md).",
        picked_table(results),
        "## Queries (figures 7 to 10)",
        bullets(answers["queries"]),
        figure("pattern-queries"),
        figure("value-queries"),
        f"At k = P = {plan.middle}:",
        queries_table({WALK: results.walk, STRING: results.string}, plan.middle),
        envelopes_of_tga(results),
        "### How similar is similar",
        "The paper sets the tolerance of a similarity query to 1 to 10 times the pattern loss of the release that is "
        "asked. A worse release then gets easier questions, up to one that nearly every series answers, where any "
        f"precision is easy. Here all releases of a set get the same: 1 to 10 times a tolerance with which about "
        f"{SHARE:.0%} of the originals answer. Both, at k = P = {plan.middle}:",
        tolerances(results),
        "## Time (figure 11)",
        bullets(answers["time"]),
        figure("time"),
        time_table(results),
        "## Customised publishing (figures 12 and 13)",
        how_customised(plan),
        bullets(answers["customised"]),
        figure("estimation"),
        figure("customised"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def how_customised(plan: Plan) -> str:
    """What is left out, and what is asked."""
    return (
        f"{WALK.capitalize()} by KAPRA with k = {plan.custom_k}, P = {plan.custom_p}. Of ten instants some have range "
        "and letter (the overlap), half of the others a range only, the rest a letter only. `shoal.queries.complete` "
        f"estimates what is missing. {plan.n_choices} choices of instants for each overlap, {plan.n_custom} queries of "
        "each kind; ranges are asked only of instants without a range, and every difference has an instant without a "
        "letter, so these queries change with the overlap. The full release is asked the same."
    )


def summary(results: Results, each: Results, answers: dict[str, list[Answer]], others: dict[str, list[Answer]]) -> str:
    """One paragraph for the top of the page."""
    counts = []
    for found in (answers, others):
        words = [answer.word for some in found.values() for answer in some if answer.paper]
        counts.append(", ".join(f"{words.count(word)} {word}" for word in ("yes", "mostly", "partly", "no")))
    return (
        f'In short: where "normalized to [0,1]" means {WHOLE}, {short(results)} Where it means {EACH}, {short(each)} '
        f"Of {len(words)} statements of the paper: {counts[0]} in the first reading; {counts[1]} in the second."
    )


def both_statements(answers: dict[str, list[Answer]], others: dict[str, list[Answer]]) -> str:
    """Each statement of the paper and one word for each reading."""
    lines = [f"| asked | {WHOLE} | {EACH} |", "|---|---|---|"]
    pairs = [pair for name in answers for pair in zip(answers[name], others[name], strict=True)]
    lines += [f"| {one.question} | {one.word} | {other.word} |" for one, other in pairs if one.paper]
    return "\n".join(lines)


def changed(answers: dict[str, list[Answer]], others: dict[str, list[Answer]]) -> list[Answer]:
    """What the other reading answers otherwise."""
    pairs = [pair for name in answers for pair in zip(answers[name], others[name], strict=True)]
    return [other for one, other in pairs if one.paper and one.word != other.word]


def data_section(sets: Sets, seed: int) -> list[str]:
    """Which sets there are."""
    lines = ["| set | series | instants | what |", "|---|---:|---:|---|"]
    for name, panel in sets.panels.items():
        lines.append(f"| {name} | {panel.n_series:,} | {panel.n_instants} | {MEANINGS[name]} |")
    lines.append(
        f"| {STRING} | {sets.string.n_series:,} | {sets.string.n_instants} | {sets.motion} as SAX letters, 20 |"
    )
    note = (
        'The paper\'s values are "normalized to [0,1]", but it does not say by what. Here every set is scaled by its '
        "lowest and highest value, so a value loss is a part of the range; the other reading, each series by its own, "
        "has a section of its own. Where instants are chosen, they are drawn at random, the same for all series. Each "
        "series is a person. The paper's walks are not published; of motion it has 20 352 pieces, and does not say how "
        f"long. Seed {seed} for everything random."
    )
    if missing := [name for name in MEANINGS if name not in sets.panels and name != METERS]:
        note += f" The data folder has no {', '.join(missing)}: these sets are left out."
    if sets.motion == METERS:
        note += f" **All data here are simulated**; {METERS} stand for motion."
    return ["## Data", "\n".join(lines), note]


def measuring_section(results: Results) -> list[str]:
    """How, before any outcome."""
    plan = results.plan
    units = ", ".join(f"{name} {found.unit:g}" for name, found in results.losses.items())
    levels = ", ".join(f"{level} at {k}" for k, level in results.levels.best.items())
    most = [f"{'all' if loss is None else f'{loss:.2f}'} at {k}" for k, loss in results.levels.most.items()]
    twenty = f"with the 20 of the paper it would lose {', '.join(most)}"
    return [
        "## How it was measured",
        "Losses are means over the published series; the paper shows sums. Pattern loss is 1 − the correlation of a "
        "series with its published shape: 0 keeps it, 1 loses it. TGA is tuned in its favour: on each set it has the "
        f"unit of its logarithm, of three, that loses least pattern at k = {plan.middle} ({units}, as parts of the "
        "range). So is BFP2KA: for each k it has the number of letters, of 1 to 20, that loses least pattern (on "
        f"{STRING}: {levels}); {twenty}. Baselines get k = P, so that all releases have the same chance of breach. "
        "That chance is computed for every series by `Linkage`, for an adversary who knows all values and the "
        f"published word. Every (k, P) release passed its check. Nothing in KP is tuned. {plan.n_queries:,} queries "
        "of each kind are asked; the paper asks 10 000. Times are processor seconds on one thread, without "
        "compiling, measured once; the search for BFP2KA's number of letters is not counted.",
    ]


def more_table(results: Results) -> str:
    """What the number of series and of instants does."""
    lines = ["| | " + " | ".join(f"{n:,}" for n in results.more_series) + " |"]
    lines += ["|---|" + "---:|" * len(results.more_series)]
    lines += [f"| uniform, series | {_pairs(results.more_series)} |"]
    others = ["| | " + " | ".join(str(n) for n in results.more_instants) + " |"]
    others += ["|---|" + "---:|" * len(results.more_instants)]
    others += [f"| {results.plan.n_longer:,} walks, instants | {_pairs(results.more_instants)} |"]
    return "\n".join(lines) + "\n\n" + "\n".join(others)


def _pairs(found: dict[int, dict[str, Figures]]) -> str:
    return " | ".join(
        " / ".join(f"{some[name].pattern:.3f}" for name in (KAPRA, KAPRA_MEANS, TGA)) for some in found.values()
    )


def suppressed_table(results: Results) -> str:
    """Table 4."""
    ps = results.plan.ps
    lines = ["| set | " + " | ".join(f"P = {p}" for p in ps) + " |", "|---|" + "---:|" * len(ps)]
    for name, found in results.losses.items():
        cells = (f"{found.by_p[KAPRA, p].n_suppressed} ({found.bad[p]:,})" for p in ps)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def loss_table(results: Results) -> str:
    """Figure 6 in numbers: pattern loss / value loss, which BFP2KA does not have."""
    ks = results.plan.equal
    lines = ["| set | pattern loss / value loss | " + " | ".join(f"k = P = {k}" for k in ks) + " |"]
    lines += ["|---|---|" + "---:|" * len(ks)]
    for name, found in results.losses.items():
        for method in METHODS:
            both = [found.equal[method, k] for k in ks]
            cells = [f"{one.pattern:.3f}" + ("" if one.value is None else f" / {one.value:.3f}") for one in both]
            if method == BFP2KA:
                cells = [f"{cell} (level {found.levels[k]})" for cell, k in zip(cells, ks, strict=True)]
            lines.append(f"| {name} | {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def picked_table(results: Results) -> str:
    """Which algorithm "auto" publishes, by the weight of shapes."""
    lines = [
        "| set | " + " | ".join(f"weight {weight:g}" for weight in WEIGHTS) + " |",
        "|---|" + "---|" * len(WEIGHTS),
    ]
    for name, found in results.losses.items():
        both = {weight: found.equal[found.picked[weight], results.plan.middle] for weight in WEIGHTS}
        cells = (
            f"{found.picked[weight].partition(',')[0]} ({one.pattern:.3f} / {one.value:.3f})"
            for weight, one in both.items()
        )
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def envelopes_of_tga(results: Results) -> str:
    """TGA publishes drawn series; its envelopes would answer ranges otherwise."""
    k, walk = results.plan.middle, results.walk
    drawn = walk.fixed[TGA, k, "range"].error
    return (
        f"TGA publishes series drawn from its envelopes. Ranges asked of the envelopes instead would be off by "
        f"{walk.envelopes[k]:.2f} instead of {drawn:.2f}."
    )


def tolerances(results: Results) -> str:
    """Similarity under the same tolerance for all, and under each release's own pattern loss."""
    k = results.plan.middle
    lines = [
        "| set | method | tolerance | found among originals | precision | recall | own tolerance (the paper's) | found "
        "among originals | precision | recall |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, asked in ((WALK, results.walk), (STRING, results.string)):
        for method, (own, answer) in asked.own.items():
            same = asked.fixed[method, k, PSQ]
            lines.append(
                f"| {name} | {method} | {asked.tolerance:.3f} | {same.share:.1%} | {same.precision:.2f} | "
                f"{same.recall:.2f} | {own:.3f} | {answer.share:.0%} | {answer.precision:.2f} | {answer.recall:.2f} |"
            )
    return "\n".join(lines)


def queries_table(found: dict[str, Asked], k: int) -> str:
    """Precision and recall of patterns, relative errors of counts, at one k."""
    lines = [
        "| set | method | similarity: precision | recall | differences: precision | recall | ranges: error | complex: "
        "error |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, asked in found.items():
        for method in dict.fromkeys(m for m, _, _ in asked.fixed):
            similar, differences, ranges, combined = (asked.fixed[method, k, kind] for kind in KINDS)
            parts = (similar.precision, similar.recall, differences.precision, differences.recall)
            cells = " | ".join(f"{part:.2f}" for part in (*parts, ranges.error, combined.error))
            lines.append(f"| {name} | {method} | {cells} |")
    return "\n".join(lines)


def time_table(results: Results) -> str:
    """Figure 11 in seconds."""
    parts = {results.sets.motion: results.times.motion, "uniform": results.times.uniform}
    methods = (*METHODS, BFP2KA_20)
    lines = ["| set | series | " + " | ".join(methods) + " |", "|---|---:|" + "---:|" * len(methods)]
    for name, seconds in parts.items():
        for n in dict.fromkeys(n for _, n in seconds):
            absent = {BFP2KA_20: "publishes nothing"}
            cells = [f"{seconds[m, n]:.2f} s" if (m, n) in seconds else absent.get(m, "not run") for m in methods]
            lines.append(f"| {name} | {n:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](kp-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
