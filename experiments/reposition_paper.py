"""Paper 3: what its text says of repositioning, on simulated registers and on cases and tests; it has no figures.

Writes reposition.md and its figures, by default to docs/results. Every sentence about an outcome is computed. Where
the data folder is absent, simulated data stand alone and the page says so.
"""

import argparse
import sys
from pathlib import Path

from answers import Answer, bullets, statements
from drawing import draw
from reposition_paper_data import MEANINGS, load
from reposition_paper_figures import all_figures
from reposition_paper_findings import HOW_MUCH, on_distances, on_eligibility, on_queries, on_risk, on_windows, why
from reposition_paper_measures import (
    ENDLESS,
    HINDSIGHT,
    LIMITED,
    MERGED,
    QUICK,
    REPOSITIONED,
    SUPPRESSED,
    Plan,
    Results,
    measure,
)
from reposition_paper_tables import (
    classes_table,
    data_table,
    distances_table,
    gaps_table,
    prices_table,
    queries_table,
    releases_table,
    risk_table,
    sizes_table,
    why_table,
    windows_table,
)

ROOT = Path(__file__).resolve().parents[1]
INTRODUCTION = (
    '"Anonymizing temporal data" publishes events up to a few snapshots late, so that in no snapshot one sensitive '
    "value has a share above 1/l ([Reposition](../methods/reposition.md)). Its experiments are in a separate report, "
    "not in the paper; this page tests what its text says. The baselines under the same l are the two that it names: "
    "suppression alone, and merging snapshots."
)
FIGURES = {
    "eligible": "Snapshots that are l-eligible as they come, by size.",
    "distances": "Published events that are at least so late, of all published.",
    "windows": "Loss by window, relative to an endless one.",
    "suppressed": "Suppressed events by window; a window of 1 is suppression alone. Curves end where none is.",
    "queries": "Mean relative error of counting a sensitive value in a window of time.",
    "conditions": "The same with a condition on each quasi-identifier.",
}


def main() -> None:
    """Load, measure, draw, write."""
    given = arguments()
    plan = QUICK if given.quick else Plan()
    if given.days < 2 * plan.window:
        sys.exit(f"Needs at least {2 * plan.window} days.")
    results = measure(load(given.data, given.days, given.seed), plan, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results), given.out)
    written = given.out / "reposition.md"
    written.write_text(page(given, results, drawn=drawn), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the event sets")
    parser.add_argument("--days", type=int, default=120, help="snapshots of simulated registers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--quick", action="store_true", help="few windows, sizes and queries")
    return parser.parse_args()


def page(given: argparse.Namespace, results: Results, *, drawn: bool) -> str:
    """The whole page."""
    plan = results.plan
    figure = _figure if drawn else _no_figure
    answers = {
        "eligibility": on_eligibility(results),
        "distances": on_distances(results),
        "windows": on_windows(results),
        "queries": on_queries(results),
        "risk": on_risk(results),
    }
    options = f"--days {given.days} --seed {given.seed}{' --quick' if given.quick else ''}"
    parts = [
        "# Reposition: what the paper says, against its baselines",
        "See how many events repositioning moves and loses, how that compares with simpler methods, and which of the "
        "paper's statements hold here.",
        f"Written by `python experiments/reposition_paper.py {options}`; do not edit.",
        INTRODUCTION,
        summary(results, answers),
        "## Data",
        data_table(results),
        about_data(results, given.seed),
        *measuring_section(plan),
        "## Do the paper's statements hold here?",
        f"On {_joined([stream.name for stream in results.sets.fair])}, which are l-eligible as a whole. {HOW_MUCH}",
        statements([answer for found in answers.values() for answer in found if answer.paper]),
        "## Why not everywhere",
        "Moving helps against chance imbalances in small snapshots. Combining stretches of snapshots shows whether "
        "that is a stream's problem:",
        why_table(results),
        why(results),
        "## Eligible snapshots",
        bullets(answers["eligibility"]),
        figure("eligible"),
        f"Simulated registers of {plan.size_days} days, share of eligible snapshots:",
        sizes_table(results),
        f"The most frequent value has {results.size_most:.1%} of all events of the largest: size helps where that is "
        "below 1/l, does little where it is about 1/l, and harms where it is above.",
        "The streams under their own l, share of eligible snapshots by size:",
        classes_table(results),
        "## Distances and suppressed events",
        bullets(answers["distances"]),
        figure("distances"),
        "Published events by how late they are:",
        distances_table(results),
        "## The window",
        bullets(answers["windows"]),
        figure("windows"),
        figure("suppressed"),
        "Loss per event, in brackets the share of suppressed events:",
        windows_table(results),
        first_windows(results),
        f"What suppression costs decides how much an endless window gains. Loss of a window of {plan.window} as a "
        "multiple of an endless one's, linear costs, by what suppressing an event is held to be like:",
        prices_table(results),
        "### The steps against the whole stream",
        gaps_words(results),
        gaps_table(results),
        "## Window queries",
        bullets(answers["queries"]),
        "Suppressed events, and the mean length of the interval an event is published with where snapshots are merged:",
        releases_table(results),
        figure("queries"),
        "Mean error of counting a value (bucketised and generalised give the same):",
        queries_table(results, conditions=False),
        figure("conditions"),
        "Mean error of counting a value among those who meet a condition on each quasi-identifier. Here most of the "
        "error is that of making a snapshot diverse, which the paper leaves to others:",
        queries_table(results, conditions=True),
        "## Homogeneity, and who is missing",
        bullets(answers["risk"]),
        missing_words(results),
        risk_table(results),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(results: Results, answers: dict[str, list[Answer]]) -> str:
    """One paragraph for the top of the page."""
    words = [answer.word for found in answers.values() for answer in found if answer.paper]
    counts = ", ".join(f"{words.count(word)} {word}" for word in ("yes", "mostly", "partly", "no"))
    held, of = results.all_hold()
    plan = results.plan
    gaps = [
        results.place(stream.name, plan.window).loss / results.offline[stream.name, "window"].loss - 1.0
        for stream in results.sets.fair
        if results.offline[stream.name, "window"].loss > 0.0
    ]
    gap = f"{min(gaps):.0%} to {max(gaps):.0%}" if gaps else "0%"
    short, names = plan.longest[0], [stream.name for stream in results.sets.fair]
    errors = {
        kind: [results.released[name][kind].by_value[short] for name in names]
        for kind in (REPOSITIONED, SUPPRESSED, MERGED)
    }
    alone, merged = (
        sum(a < b for a, b in zip(errors[kind], errors[REPOSITIONED], strict=True)) for kind in (SUPPRESSED, MERGED)
    )
    missing = sum(released[REPOSITIONED].risk.n_unmatched for released in results.released.values())
    return (
        f"In short: of {len(words)} statements of the paper {counts}. The steps of the method lose {gap} more than an "
        "integer program over all forward moves that knows the whole stream. Counts of a value in a single snapshot "
        f"are better by suppression alone on {alone} of {len(names)} streams, by merging on {merged}. Of the "
        f"suppressed events {missing:,} are seen to be missing, and that reveals their value. {held} of {of} releases "
        "passed the check of l-diversity."
    )


def about_data(results: Results, seed: int) -> str:
    """What is missing, and what stands for what."""
    note = f"Seed {seed} for everything simulated and for all releases. Snapshots are days that have events."
    absent = [name for name in MEANINGS if name not in results.sets.streams]
    if absent:
        note += f" The data folder has no {', '.join(absent)}: these streams are left out."
    if not results.sets.measured:
        note += " **All data here are simulated.**"
    return note


def measuring_section(plan: Plan) -> list[str]:
    """How, before any outcome."""
    points = [
        "- **Loss** is the paper's, per event: the cost of each delay, linear (d) or quadratic (d²), and for each "
        f"suppressed event what {plan.lost_like} snapshots late would cost. That is one price for all windows; the "
        "default of the method grows with the window, so losses could not be compared. An *endless* window takes the "
        "paper's step for every snapshot and lets none leave; it has no program for a first window, so that a window "
        "can be ahead of it.",
        f'- **Releases** are made with `plan="paper"`, a window of {plan.window}, linear costs and the default price '
        "of suppression.",
        f"- *{SUPPRESSED.capitalize()}* publishes each snapshot without the excess events in it: a window of 1.",
        f"- *{MERGED.capitalize()}* publishes consecutive snapshots as one, with an interval for a time: they join "
        "until their union is l-eligible; what is left over at the end joins the interval before it. "
        f"*{HINDSIGHT.capitalize()}* cuts the whole stream where events wait least, which nobody could do while it is "
        f"running. *{LIMITED.capitalize()}* ends an interval at {plan.window} snapshots, as long as repositioning "
        "waits, and suppresses the remaining excess. All are bucketised. Queries spread an interval evenly over its "
        "snapshots.",
        f"- **Window queries**: {plan.n_queries} for each longest window, from `random_windows`, each around an "
        "original event; the error is relative to the true count, which is at least 1. They are asked as drawn, with a "
        "condition on each quasi-identifier (together met by about 5 % of the events), and with the sensitive value "
        "alone, which shows what moving, merging and suppressing do by themselves.",
        "- **Homogeneity**: the adversary knows quasi-identifiers and time of an event, and that it may be published "
        f"up to {plan.window - 1} snapshots late.",
    ]
    return ["## How it was measured", "\n".join(points)]


def first_windows(results: Results) -> str:
    """Whether the start of the streams is the best possible."""
    tried = [found.proven for (_, _, window, _), found in results.placed.items() if window not in (1, ENDLESS)]
    return f"The first window is an integer program; {sum(tried)} of {len(tried)} were solved to the end" + (
        "." if all(tried) else ", the others up to the work that the method allows."
    )


def gaps_words(results: Results) -> str:
    """What the two sides of the table are."""
    plan = results.plan
    return (
        "Linear costs, loss per event. The program knows the whole stream and may move any event forward, by at most "
        f"w − 1 snapshots; its solution is at most {plan.gap:.1%} above its lower bound, or the best of {plan.nodes} "
        "nodes. The steps see a snapshot when it arrives, and leave the numbers of each value in the snapshots before "
        "it as they are. So they never hold back events of other values, published on time, that the next snapshot "
        "would need alongside its frequent ones; the program does. And an event that is relayed moves only a little, "
        "but the relay is as long as the window: that is why steps gain from wide windows in which nobody goes far."
    )


def missing_words(results: Results) -> str:
    """Plainly, how suppression gives values away."""
    lines = []
    for name, released in results.released.items():
        found = released[REPOSITIONED]
        risk, n = found.risk, len(results.sets.streams[name].events)
        if not risk.n_unmatched:
            continue
        lines.append(
            f"- {name}: {found.suppressed * n:,.0f} of {n:,} events are suppressed, and {found.alike:.0%} of them have "
            f"the value that most of the suppressed of their day have. For {risk.n_unmatched:,} no published event "
            "within reach has their quasi-identifiers; a guess among the most frequent values of their published "
            f"snapshot is right for {risk.unmatched:.0%} of these. Anyone who is published is promised at most "
            f"{1 / results.sets.streams[name].l:.0%}."
        )
    head = (
        "**Anyone seen to be missing was suppressed, and that reveals the value.** l-diversity is about what is "
        "published; it holds in all releases here, and says nothing about people who are not in them. The attack "
        "guesses from the published snapshot alone. Someone who knows from elsewhere which value was too frequent "
        "that day is right for the share of the suppressed that have *one value*."
    )
    return head + ("\n\n" + "\n".join(lines) if lines else " In these streams nobody is seen to be missing.")


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](reposition-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
