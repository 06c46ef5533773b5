"""Paper 2, section 5.3, on meters simulated as there: does MDAV on Haar shares beat the yardsticks, what does k cost?

Writes process_paper.md and its figures, by default to docs/results. Every sentence about an outcome is computed.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numba
import numpy as np
from changes import Watched, changes
from drawing import draw
from numpy.typing import NDArray
from process_paper_data import as_in_the_paper, load_region, simulated_region
from process_paper_figures import all_figures
from process_paper_findings import (
    CUSTOMERS,
    NAMES,
    ROUGH,
    SMOOTH,
    Why,
    on_customers,
    on_davies_bouldin,
    on_groupings,
    on_loss,
    on_silhouette,
    on_time,
    order_in,
    order_of,
    summary,
)
from process_paper_measures import (
    GROUPINGS,
    INDICES,
    KS,
    PAPER,
    SPACES,
    Results,
    energy_of_top_tenth,
    level_share,
    measure,
    measure_times,
)

from shoal import Panel, simulate

ROOT = Path(__file__).resolve().parents[1]
LEAST_DAYS = 14
COMMAND = "python experiments/process_paper.py"
FIGURES = {
    "time": "Time by k, relative to that at k = 28 (the paper's figure 2) and in milliseconds.",
    "silhouette": "Silhouette density of MDAV on Haar shares, measured in Haar shares (the paper's figure 3).",
    "silhouette-groupings": "Silhouette density by grouping, measured in Haar shares.",
    "silhouette-means": "Mean silhouette by k in each space. Higher is better; the panels have scales of their own.",
    "davies-bouldin": "Davies-Bouldin as ratio to that at k = 28 (the paper's figure 4).",
    "davies-bouldin-relative": "Davies-Bouldin as ratio to MDAV on Haar shares at the same k (the paper's figure 5); "
    "below 1 is better than MDAV on Haar shares. The panels have scales of their own.",
    "loss": "What the release loses of the readings.",
}
SPACES_TEXT = """## Where the indices are measured

The paper does not say in what the silhouette and Davies-Bouldin are measured. It names the "relative contribution
dataset" that MDAV gets (Algorithm 1) and "1 400 centralized simulated time series" (§5.3), which may mean centred or
centred and scaled. The outcome depends on it, so all three are shown:

- **Haar shares**: logits of the energy share of each level, where the groups of MDAV are formed;
- **centred series**: each series minus its mean, so amplitude counts;
- **shapes**: centred series divided by their standard deviation, so neither level nor amplitude counts.

SSE / SST is the share of the variation in that space that lies inside groups: the plainest measure of homogeneity.
Two groupings are not the paper's: MDAV on the raw readings, and groups drawn at random, which show what an index says
where there is nothing to find."""

CHANGES_NOTE = (
    "Times are processor times and vary from run to run; everything else that is random has a fixed seed, so a change "
    "comes from the simulators or the methods. Changes of random groups mean nothing."
)
WATCHED = tuple(
    Watched(heading, "| grouping | k = ", 1, lower=heading != "Silhouette", under=heading)
    for heading in ("Silhouette", "Davies-Bouldin", "Variation inside groups", "Loss of the readings", "Time")
)
"""What is compared with the page before."""


def main() -> None:
    """Simulate, measure, draw, write."""
    given = arguments()
    numba.set_num_threads(1)  # threads that wait for a busy core would be timed as well
    region = load_region(given.data)
    panel = as_in_the_paper(
        region or simulated_region(given.days, given.seed), given.series, given.days, given.models, given.seed
    )
    shoals = simulate.meters(given.series, days=given.days, seed=given.seed)
    customers = customers_of(panel)
    times = measure_times(panel, given.repeats)
    results, rough = measure(panel), measure(shoals)
    why = Why(level_share(panel), energy_of_top_tenth(panel), customers, customers_of(shoals))
    given.out.mkdir(parents=True, exist_ok=True)
    drawn = draw(all_figures(results, times, customers), given.out)
    text = page(given, panel, times, results, rough, why, drawn=drawn, measured=region is not None)
    written = given.out / "process_paper.md"
    text += f"\n## What got better, what got worse\n\n{changes(written, text, WATCHED)}\n\n{CHANGES_NOTE}\n"
    written.write_text(text, encoding="utf-8")
    print(summary(results, rough, times))


def customers_of(panel: Panel) -> NDArray[np.str_]:
    """The family of each series."""
    return np.asarray(panel.attributes["family"], dtype=np.str_)


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of GEFCom 2012")
    parser.add_argument("--models", type=int, default=60, help="additive models that households are forecasts of")
    parser.add_argument("--series", type=int, default=1400, help=f"at least {2 * KS[-1]}")
    parser.add_argument("--days", type=int, default=61, help="at least 14")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=15, help="of each timing; the median counts")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    given = parser.parse_args()
    if given.series < 2 * KS[-1] or given.days < LEAST_DAYS or min(given.repeats, given.models) < 1:
        sys.exit(
            f"Needs at least {2 * KS[-1]} series (two groups at k = {KS[-1]}), {LEAST_DAYS} days, a model, a repeat."
        )
    return given


def page(
    given: argparse.Namespace,
    panel: Panel,
    times: dict[str, list[float]],
    results: Results,
    rough: Results,
    why: Why,
    *,
    drawn: bool,
    measured: bool,
) -> str:
    """The whole page."""
    figure = _figure if drawn else _no_figure
    options = ("series", "days", "models", "seed", "repeats")
    command = " ".join([COMMAND, *(f"--{name} {getattr(given, name)}" for name in options)])
    parts = [
        "# The process paper: MDAV on Haar shares against simple baselines",
        "See whether grouping by Haar shares beats simple groupings, and what a larger k costs.",
        f"Written by `{command}`; do not edit.",
        f"{panel.n_series:,} meters over {panel.n_instants:,} hours (seed {given.seed}) are grouped with "
        f"k = {KS[0]}, {KS[1]}, …, {KS[-1]} by plain MDAV on Haar energy shares, by variance and by mean, as in "
        'section 5.3 of "Data-driven anonymization process applied to time series". Groups are judged by silhouette, '
        "Davies-Bouldin and the variation inside them; releases by time, information loss and normalised divergence.",
        summary(results, rough, times),
        *data_section(panel, given, measured=measured),
        SPACES_TEXT,
        *orderings(times, results, rough, why),
        "## Time",
        f"Median milliseconds of processor time over {given.repeats} runs that take turns, one thread. Whole "
        "releases, but for the last row: MDAV alone, on shares computed before. Compile time is left out, and so is "
        "wall-clock time, which on a shared machine depends on other jobs. Steps between neighbouring k are small: "
        "in other runs single ones went the other way.",
        table({name: [1000.0 * t for t in curve] for name, curve in times.items()}, ".1f"),
        figure("time"),
        "## Silhouette",
        *_by_space(results, "silhouette", "+.3f", "Mean over the series; higher is better."),
        *(figure(name) for name in ("silhouette", "silhouette-groupings", "silhouette-means")),
        "## Davies-Bouldin",
        *_by_space(results, "davies_bouldin", ".2f", "Lower is better."),
        *(figure(name) for name in ("davies-bouldin", "davies-bouldin-relative")),
        "## Variation inside groups",
        *_by_space(results, "scatter", ".3f", "SSE / SST; lower is better."),
        "## Loss of the readings",
        "Information loss, SSE / SST of the readings:",
        table({grouping: results.losses(grouping) for grouping in GROUPINGS}, ".3f"),
        "Normalised divergence:",
        table({grouping: results.divergences(grouping) for grouping in GROUPINGS}, ".3f"),
        figure("loss"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def data_section(panel: Panel, given: argparse.Namespace, *, measured: bool) -> list[str]:
    """How the meters are made."""
    families = customers_of(panel)
    counts = ", ".join(f"{(families == name).sum():,} {kind}" for name, kind in CUSTOMERS.items())
    source = (
        "GEFCom 2012, 20 zones and 11 weather stations"
        if measured
        else "zones of simulated households (the data folder has no GEFCom 2012: **all data here are simulated**)"
    )
    return [
        "## Data",
        f"{counts}. Households are made as in section 4 of the paper, which does not publish its own: {given.models} "
        f"additive models of calendar and temperatures, trained on {source}, each on a random zone and period, some "
        "of a quantile; a household is a forecast by one of them, with its clock and its temperatures shifted at "
        "random and its level drawn. They are smooth, as the paper says of its own. Second homes and small "
        "businesses are those of `shoal.simulate.meters`, which the paper describes alike; it does not say how many "
        "of each it has. Everything is measured on these. For comparison, the page also shows the results on "
        "`shoal.simulate.meters` alone, whose households are rougher: they switch appliances on.",
    ]


def orderings(times: dict[str, list[float]], results: Results, rough: Results, why: Why) -> list[str]:
    """The section that answers."""
    return [
        "## Do the paper's orderings hold here?",
        "### MDAV on Haar shares ahead of variance ahead of mean",
        f"At how many of the {len(KS)} k MDAV on Haar shares is ahead of by-variance, and by-variance of by-mean. "
        "Yes: both at every k; mostly: both at more than half; no: otherwise.",
        order_table(results, rough),
        bullets(on_groupings(results, rough, why)),
        "### Time falls with k",
        bullets(on_time(times)),
        "### Loss grows with k",
        bullets(on_loss(results)),
        "### The silhouette falls with k",
        bullets(on_silhouette(results, rough)),
        "### Davies-Bouldin grows with k",
        bullets(on_davies_bouldin(results)),
        "### Second homes have the highest silhouettes, then small businesses, then households",
        bullets(on_customers(results, rough, why)),
    ]


def order_table(results: Results, rough: Results) -> str:
    """The paper's order of groupings by every index and space, with the paper's households and with Shoal's."""
    lines = [f"| measured in | index | {SMOOTH} | {ROUGH} |", "|---|---|---|---|"]
    for space in SPACES:
        for index in INDICES:
            orders = (order_in(results, space, index), order_in(rough, space, index))
            lines.append(f"| {space} | {NAMES[index]} | {orders[0]} | {orders[1]} |")
    losses: dict[str, Callable[[Results, str], list[float]]] = {
        "information loss": Results.losses,
        "normalised divergence": Results.divergences,
    }
    for name, curve in losses.items():
        both = [order_of([curve(r, grouping) for grouping in PAPER], higher=False) for r in (results, rough)]
        lines.append(f"| readings | {name} | {both[0]} | {both[1]} |")
    return "\n".join(lines)


def table(curves: dict[str, list[float]], form: str) -> str:
    """Groupings by k."""
    lines = ["| grouping | " + " | ".join(f"k = {k}" for k in KS) + " |", "|---|" + "---:|" * len(KS)]
    lines += [
        f"| {name} | " + " | ".join(f"{value:{form}}" for value in curve) + " |" for name, curve in curves.items()
    ]
    return "\n".join(lines)


def bullets(sentences: Sequence[str]) -> str:
    """A list."""
    return "\n".join(f"- {sentence[:1].upper()}{sentence[1:]}" for sentence in sentences)


def _by_space(results: Results, index: str, form: str, note: str) -> list[str]:
    parts = [note]
    for space in SPACES:
        curves = {grouping: results.curve(space, grouping, index) for grouping in GROUPINGS}
        parts += [f"Measured in {space}:", table(curves, form)]
    return parts


def _figure(name: str) -> str:
    return f"![{FIGURES[name]}](process_paper-{name}.png)\n\n*{FIGURES[name]}*"


def _no_figure(name: str) -> str:
    return f"*{FIGURES[name]}* Not drawn: Chromium was not found."


if __name__ == "__main__":
    main()
