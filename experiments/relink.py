"""How often a household is found again in another week: by its mean day, and by what was learned from other households.

Writes relink.md, by default to docs/results. Half of the households teach, the other half is looked for, week 1 known
and the last week published under other names; five draws of the halves, whose mean and range the page has. Releases
under a guarantee are attacked as well. Sets that are not at hand are left out, and the page says so.
"""

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal import Microaggregation, Panel, read_panel, simulate
from shoal.attacks import NearestNeighbour, Relink

ROOT = Path(__file__).resolve().parents[1]
SETS = {
    "Slovak meters, quarter hours": ("energyhack_sk_meters", "energyhack_15min_4weeks.parquet"),
    "Slovak meters, hours": ("energyhack_sk_meters", "energyhack_hourly_4weeks.parquet"),
    "Australian households, half hours": ("sgsc_households", "sgsc_halfhourly_8weeks_2013.parquet"),
}
K = (3, 10)


@dataclass(frozen=True)
class Halves:
    """Who teaches, and what is known and shown of the others."""

    teachers: Panel
    known: Panel
    shown: Panel


def main() -> None:
    """Measure and write."""
    given = arguments()
    panels, absent = load(given)
    given.out.mkdir(parents=True, exist_ok=True)
    written = given.out / "relink.md"
    written.write_text(page(given, panels, absent), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--simulated", type=int, default=600, help="simulated households")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--deep", action="store_true", help="train the network as well")
    parser.add_argument("--large", type=int, default=0, help="time so many households over 52 weeks of half hours")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def load(given: argparse.Namespace) -> tuple[dict[str, Panel], list[str]]:
    """Panels by name, and what is absent."""
    weeks = simulate.meters(given.simulated, days=28, families={"household": 1.0}, seed=given.seed + 5)
    panels, absent = {"simulated households, hours": weeks}, []
    for name, (folder, file) in SETS.items():
        path = given.data / folder / file
        if path.is_file():
            panels[name] = read_panel(path, missing="interpolate:2h,drop-series")
        else:
            absent.append(name)
    return panels, absent


def halves(panel: Panel, seed: int) -> Halves:
    """Half of the households with all weeks; of the others the first and the last week."""
    order = np.random.default_rng([seed, 11]).permutation(panel.n_series)
    teach, seek = order[: panel.n_series // 2], order[panel.n_series // 2 :]
    day = (panel.times - panel.times[0]) // np.timedelta64(1, "D")
    first, last = day < 7, day >= day.max() - 6
    return Halves(
        Panel(panel.values[teach], times=panel.times),
        Panel(panel.values[seek][:, first], times=panel.times[first]),
        Panel(panel.values[seek][:, last], times=panel.times[last]),
    )


def row(name: str, panel: Panel, given: argparse.Namespace) -> list[str]:
    """What each attack finds of one set."""
    found: dict[str, list[float]] = {"mean day": [], "mean week": [], "learned, linear": []}
    if given.deep:
        found["learned, network"] = []
    for draw in range(given.draws):
        cut = halves(panel, given.seed + draw)
        found["mean day"].append(NearestNeighbour().attack(cut.known, cut.shown).success)
        found["mean week"].append(NearestNeighbour(cycle="week").attack(cut.known, cut.shown).success)
        for word, encoder in (("linear", "linear"), ("network", "deep"))[: 2 if given.deep else 1]:
            attack = Relink.train(cut.teachers, encoder=encoder, seed=given.seed)
            found[f"learned, {word}"].append(attack.attack(cut.known, cut.shown).success)
    n = len(halves(panel, given.seed).known.values)
    return [name, str(n), *(spread(values) for values in found.values()), f"{100 / n:.1f} %"]


def spread(values: list[float]) -> str:
    """Mean and range."""
    return f"{100 * np.mean(values):.0f} % ({100 * min(values):.0f} to {100 * max(values):.0f})"


def crowds(name: str, panel: Panel) -> list[str]:
    """What it finds in releases of groups of k; the other half of the originals teaches."""
    cells = [name]
    for k in K:
        risk = Relink().attack(panel, Microaggregation(k=k).anonymize(panel).published)
        cells.append(f"{100 * risk.success:.1f} % (at most {100 / k:.1f} %)")
    return cells


def table(head: list[str], rows: list[list[str]]) -> str:
    """As Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def large(n: int, seed: int) -> str:
    """Seconds for so many households over 52 weeks of half hours, after training on 300 others."""
    others = simulate.meters(300, days=28, step="30min", families={"household": 1.0}, seed=seed + 1)
    attack = Relink.train(others, seed=seed)
    year = simulate.meters(n, days=364, step="30min", families={"household": 1.0}, seed=seed + 2)
    start = time.perf_counter()
    risk = attack.attack(year, year)
    seconds = time.perf_counter() - start
    return (
        f"{n:,} simulated households over 52 weeks of half hours, the first 26 known and the last 26 published, were "
        f"attacked in {seconds:.0f} s after training on 300 others: {100 * risk.success:.0f} % found."
    )


def page(given: argparse.Namespace, panels: dict[str, Panel], absent: list[str]) -> str:
    """The page."""
    words = [f"--draws {given.draws}", f"--seed {given.seed}", f"--simulated {given.simulated}"]
    words += ["--deep"] * given.deep + [f"--large {given.large}"] * bool(given.large)
    ways = ["mean day", "mean week", "learned, linear", *["learned, network"] * given.deep]
    head = ["set", "looked for", *ways, "guessing"]
    parts = [
        "# Re-identifying a household",
        "See how often someone who knows one week of a household finds its series in another week, and how far a crowd "
        "of k prevents it.",
        f"Made by `python experiments/relink.py {' '.join(words)}`; do not edit.",
        "The attack learns from one half of the households and looks for the other half. Week 1 of each is known; "
        f"its last week is published as measured, under another name. Share found, mean and range of "
        f"{given.draws} draws of the halves.",
        table(head, [row(name, panel, given) for name, panel in panels.items()]),
        "## In a crowd",
        "Groups of k, the first half of the time known, the second attacked; the adversary learns from the originals "
        "of half of the subjects to look for the other half.",
        table(["set", *(f"k = {k}" for k in K)], [crowds(name, panel) for name, panel in panels.items()]),
    ]
    if given.large:
        parts += ["## A large set", large(given.large, given.seed)]
    if absent:
        parts.append(f"Not at hand: {', '.join(absent)}.")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()
