"""What it costs to publish a panel day by day so that all days together keep k, and what is lost by not doing so.

Writes growing.md, by default to docs/results. Every sentence about an outcome is computed. Without the data folder the
meters are simulated, and the page says so.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shoal import Microaggregation, Panel, SequenceAnonymity, read_panel, simulate
from shoal.attacks import Intersection
from shoal.guarantees.crowds import crowd_sizes
from shoal.guarantees.sequence_anonymity import Alike
from shoal.methods.aggregates import aggregate_groups
from shoal.streams import IncrementalMicroaggregation
from shoal.utility import InformationLoss

ROOT = Path(__file__).resolve().parents[1]
FILE = Path("energyhack_sk_meters") / "energyhack_hourly_4weeks.parquet"
HOURS = 24
WEEK = 7
AWAY = (0.005, 0.02, 0.05)
SPARE = (0, 1, 2, 3)
LARGER = (2, 4, 8)


def main() -> None:
    """Measure and write."""
    given = arguments()
    meters = load(given)
    given.out.mkdir(parents=True, exist_ok=True)
    written = given.out / "growing.md"
    written.write_text(page(given, meters), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real set")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--series", type=int, default=1000, help="meters, where they are simulated")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return parser.parse_args()


@dataclass(frozen=True)
class Meters:
    """The panel, its days, and what it is."""

    panel: Panel
    days: list[Panel]
    words: str


def load(given: argparse.Namespace) -> Meters:
    """The real meters, or simulated ones."""
    path = given.data / FILE
    if path.is_file():
        whole, words = read_panel(path), "real meters, mostly of small businesses (energyhack_sk_meters), hourly"
    else:
        whole = simulate.meters(given.series, days=given.days, seed=given.seed)
        words = "simulated meters, hourly, because the data folder is absent"
    panel = between(whole, 0, given.days)
    return Meters(panel, [between(panel, day, day + 1) for day in range(given.days)], words)


def between(panel: Panel, first: int, last: int) -> Panel:
    """Some days."""
    hours = slice(HOURS * first, HOURS * last)
    return Panel(panel.values[:, hours], ids=panel.ids, times=panel.times[hours])


def groups_of(panel: Panel, k: int) -> np.ndarray:
    """Groups by the method's default."""
    return Microaggregation(k=k).anonymize(panel).private.groups


def published(day: Panel, groups: np.ndarray, k: int) -> Panel:
    """Everybody as the mean of his group."""
    return Panel(aggregate_groups(day.rows, groups, day.subject_codes, k, "mean"), ids=day.ids, times=day.times)


def loss(day: Panel, release: Panel) -> float:
    """Per cent of the variation between series that is lost."""
    return 100 * InformationLoss().measure(day, release).value


def grown(panels: list[Panel], k: int, **options: object) -> list[Panel]:
    """What a growing panel publishes, under the names of the originals."""
    growing = IncrementalMicroaggregation(Microaggregation(k=k), **options)
    found = []
    for panel in panels:
        candidate = growing.push(panel)
        ids = candidate.private.original.ids
        found.append(Panel(candidate.values, ids=ids, times=panel.times))
    return found


def page(given: argparse.Namespace, meters: Meters) -> str:
    """The whole page."""
    k, days = given.k, meters.days
    fresh = [published(day, groups_of(day, k), k) for day in days]
    kept = grown(days, k)
    command = f"python experiments/growing_panel.py --k {k} --days {given.days} --seed {given.seed}"
    parts = [
        "# Growing panels: what it costs to publish day by day",
        "See how much accuracy you lose if the groups of a growing panel stay fixed, and what fresh groups every "
        "day would reveal.",
        f"Written by `{command}`; do not edit.",
        f"{meters.panel.n_series} {meters.words}; {len(days)} days from {days[0].times[0].astype('M8[D]')} on, "
        f"k = {k}. Loss is 100 SSE / SST of each day, lower is better. "
        "[Growing panels](../growing.md) explains the terms.",
        "## Loss",
        on_loss(meters, fresh, kept, k),
        "## What fresh groups reveal",
        on_fresh(meters, fresh, kept, k),
        "## Days on which some are away",
        on_absence(meters, k, given.seed),
        "## Why cells do not split",
        on_splits(meters, k),
    ]
    return "\n\n".join(parts) + "\n"


def on_loss(meters: Meters, fresh: list[Panel], kept: list[Panel], k: int) -> str:
    """Groups of every day, of the first day, of the first week."""
    days = meters.days
    losses = {
        "fresh groups every day (breaks the promise)": [loss(*pair) for pair in zip(days, fresh, strict=True)],
        "cells of the first day": [loss(*pair) for pair in zip(days, kept, strict=True)],
    }
    later = slice(1, None)
    if len(days) > WEEK:
        first = between(meters.panel, 0, WEEK)
        week = grown([first, *days[WEEK:]], k)
        parts = [between(week[0], day, day + 1) for day in range(WEEK)]
        losses["cells of a first release of seven days"] = [
            loss(*pair) for pair in zip(days, [*parts, *week[1:]], strict=True)
        ]
        later = slice(WEEK, None)
    name = f"mean of days {later.start + 1} to {len(days)}"
    rows = [
        f"| {what} | {figures[0]:.1f} | {figures[1]:.1f} | {np.mean(figures[later]):.1f} | {max(figures):.1f} |"
        for what, figures in losses.items()
    ]
    means = [float(np.mean(figures[later])) for figures in losses.values()]
    text = (
        f"Keeping the cells of the first day loses {means[1] / means[0]:.2f} times as much as fresh groups every day."
    )
    if len(means) > 2:
        advice = ": start with a long first release" if means[2] < means[1] else ""
        text += f" If the first release covers a whole week, it is {means[2] / means[0]:.2f} times as much{advice}."
    return "\n".join([f"| groups | day 1 | day 2 | {name} | worst day |", "|---|---|---|---|---|", *rows, "", text])


def on_fresh(meters: Meters, fresh: list[Panel], kept: list[Panel], k: int) -> str:
    """Crowds over the first releases, by the check and by the attack."""
    rows = []
    for n in (1, 2, 3, len(fresh)):
        cells = []
        for releases in (fresh[:n], kept[:n]):
            alike = Alike()
            for release in releases:
                alike = alike.and_then(release)
            sizes = crowd_sizes(alike.classes, np.arange(len(alike.classes)))
            verdict = SequenceAnonymity(k).check(releases)
            risk = Intersection().attack(meters.panel, releases)
            cells.append(f"{verdict.measured} | {100 * (sizes < k).mean():.0f} % | {100 * risk.success:.1f} %")
        rows.append(f"| {n} | {cells[0]} | {cells[1]} |")
    both = SequenceAnonymity(k).check(fresh[:2]).measured
    lead = (
        "For the first releases together: the smallest crowd (`SequenceAnonymity`), the share of series in crowds "
        "below k, and the chance of singling someone out (`Intersection`, which knows the target's series)."
    )
    head = "| releases | fresh: smallest | below k | singled out | growing: smallest | below k | singled out |"
    text = (
        f"Each day alone is {k}-anonymous; two days of fresh groups leave a smallest crowd of {both}. The growing "
        f"panel keeps its guarantee: {'yes' if SequenceAnonymity(k).check(kept).holds else 'no'}."
    )
    return "\n".join([lead, "", head, "|---|---|---|---|---|---|---|", *rows, "", text])


def on_absence(meters: Meters, k: int, seed: int) -> str:
    """Cells with spare members, and joined ones."""
    rows = []
    for away in AWAY:
        for spare in SPARE:
            figures = []
            for join in (False, True):
                chance = np.random.default_rng([seed, int(1000 * away)])
                days = [meters.days[0]]
                for day in meters.days[1:]:
                    there = np.flatnonzero(chance.random(day.n_series) >= away)
                    days.append(Panel(day.values[there], ids=day.ids[there], times=day.times))
                releases = grown(days, k, spare=spare, join=join)
                missing = np.mean([np.isnan(release.values).mean() for release in releases[1:]])
                # Against all originals: what was not there to be read is still what an analyst asks about.
                lost = np.mean([loss(as_in(day, r), r) for day, r in zip(meters.days[1:], releases[1:], strict=True)])
                figures.append(f"{100 * missing:.1f} % | {lost:.1f}")
            rows.append(f"| {100 * away:g} % | {spare} | {figures[0]} | {figures[1]} |")
    lead = (
        "Every day after the first, each meter has no readings with the given probability. If fewer than k members of "
        "a cell have readings, the whole cell is missing; `spare` members let some be away, `join` publishes such a "
        "cell together with the nearest. Loss is over what is published, against the true readings of all meters."
    )
    head = "| away | spare | missing | loss | missing with join | loss with join |"
    return "\n".join([lead, "", head, "|---|---|---|---|---|---|", *rows])


def as_in(day: Panel, release: Panel) -> Panel:
    """The readings of a day in the order of a release."""
    places = {name: row for row, name in enumerate(day.ids)}
    rows = [places[name] for name in release.ids]
    return Panel(day.values[rows], ids=release.ids, times=day.times)


def on_splits(meters: Meters, k: int) -> str:
    """Large cells on the first day, split into k on the second, by what is seen then."""
    days = meters.days
    plain = groups_of(days[0], k)
    losses = {"k": losses_of(days, [plain] * len(days), k)}
    for times in LARGER:
        if days[0].n_series < 2 * times * k:
            continue
        large = groups_of(days[0], times * k)
        small = split(large, days[1], k)
        losses[f"{times} k"] = losses_of(days, [large] + [small] * (len(days) - 1), k)
    rows = [
        f"| {name} | {day[0]:.1f} | {day[1]:.1f} | {np.mean(day[2:]):.1f} | {np.mean(day):.1f} |"
        for name, day in losses.items()
    ]
    lead = (
        "A cell of 2 k or more could be split later, into parts of at least k, without breaking the promise. That "
        "would let groups follow what the second day shows, at the price of a first day in larger groups:"
    )
    text = verdict_on_splits(losses) if len(losses) > 1 else "There are too few meters for larger cells."
    head = "| first cells | day 1 | day 2 | mean of the days after | mean of all days |"
    return "\n".join([lead, "", head, "|---|---|---|---|---|", *rows, "", text])


def verdict_on_splits(losses: dict[str, list[float]]) -> str:
    """What larger cells cost and gain, and whether they pay over the days that were measured, or ever."""
    plain, larger = losses["k"], {name: days for name, days in losses.items() if name != "k"}
    less = {name: [a - b for a, b in zip(plain, days, strict=True)] for name, days in larger.items()}
    first, second, after = (
        [float(np.mean(days[part])) for days in less.values()] for part in (slice(1), slice(1, 2), slice(2, None))
    )
    best = min(losses, key=lambda name: float(np.mean(losses[name])))
    # Day n after the second: what was lost in the first two days is won back at so much a day.
    later = {name: 2 - sum(days[:2]) / np.mean(days[2:]) for name, days in less.items() if np.mean(days[2:]) > 0.0}
    ever = ", ".join(f"{name} after {day:.0f} days" for name, day in later.items() if day > len(plain))
    return (
        f"Larger cells lose {-max(first):.1f} to {-min(first):.1f} points more than cells of k on the first day, "
        f"{min(second):.1f} to {max(second):.1f} less on the second and {min(after):.1f} to {max(after):.1f} less from "
        f"the third on. Over these {len(plain)} days "
        + ("cells of k lose least. So Shoal does not split cells." if best == "k" else f"cells of {best} lose least.")
        + (f" If days went on like that, larger ones would draw level: {ever}." if ever else "")
    )


def split(cells: np.ndarray, day: Panel, k: int) -> np.ndarray:
    """Every cell of 2k or more into groups of k."""
    found, n = np.empty_like(cells), 0
    for cell in range(cells.max() + 1):
        members = np.flatnonzero(cells == cell)
        parts = groups_of(Panel(day.values[members]), k) if len(members) >= 2 * k else np.zeros(len(members), int)
        found[members] = n + parts
        n = int(found[members].max()) + 1
    return found


def losses_of(days: list[Panel], groups: list[np.ndarray], k: int) -> list[float]:
    """Of each day, under its own groups."""
    return [loss(day, published(day, own, k)) for day, own in zip(days, groups, strict=True)]


if __name__ == "__main__":
    main()
