"""What wider groups at sensitive hours, vague knowledge and growing releases cost under (n, l, k): nlk_options.md.

Writes to docs/results by default. Every sentence about an outcome is computed. Without the data folder the series are
simulated, and the page says so.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from nlk_paper_data import Floats, complete_series, hourly

from shoal import NLK, Microaggregation, NLKAnonymity, Panel, SequenceNLKAnonymity, simulate
from shoal.attacks import KnownRanges
from shoal.streams import IncrementalMicroaggregation, IncrementalNLK
from shoal.utility import InformationLoss, NormalizedDivergence

ROOT = Path(__file__).resolve().parents[1]
HOURS = 24
EVENING = range(17, 21)
FACTORS = (1.0, 1.5, 2.0, 3.0, 4.0)
ERRORS = (0.0, 0.1, 0.5, 1.0, 2.0)
"""How far knowledge may be off, as shares of the median reading."""
LOOSER = (0, 5, 10, 20)
"""By how much l of a release is above the l that is asked of it."""
MOST_SETS = 200_000
AWAY = (0.0, 0.005, 0.02, 0.05)
N, L = 5, 10


class Meters(NamedTuple):
    """A panel without gaps, hourly from a midnight on, and what it is."""

    name: str
    words: str
    panel: Panel
    k: int

    def days(self, first: int, last: int) -> Panel:
        """Some days of it."""
        hours = slice(HOURS * first, HOURS * last)
        names = [f"meter-{row}" for row in range(self.panel.n_series)]
        return Panel(self.panel.rows[:, hours], ids=names, times=np.arange(hours.start, hours.stop))


def main() -> None:
    """Measure and write."""
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    written = given.out / "nlk_options.md"
    written.write_text(page(given, load(given)), encoding="utf-8")
    print(f"wrote {written}")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--series", type=int, default=300, help="at most so many series of a set")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    return parser.parse_args()


def load(given: argparse.Namespace) -> list[Meters]:
    """A smooth set and a noisy one; simulated where the folder has none."""
    n, days = given.series, given.days
    smooth = given.data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet"
    noisy = given.data / "sgsc_households" / "sgsc_halfhourly_8weeks_2013.parquet"
    if smooth.exists() and noisy.exists():
        meters = complete_series(pl.read_parquet(smooth), HOURS * days)
        homes = complete_series(hourly(pl.read_parquet(noisy)), HOURS * days)
        chosen = np.random.default_rng(given.seed).permutation(len(meters))[:n]
        return [
            Meters("Slovak meters", "mostly small businesses (energyhack_sk_meters)", Panel(meters[chosen]), 10),
            Meters("Australian households", "sums of half hours (sgsc_households)", Panel(homes[:n]), 5),
        ]
    panel = simulate.meters(n, days=days, seed=given.seed)
    noise = np.random.default_rng(given.seed).gamma(0.5, 2.0, panel.rows.shape)
    return [
        Meters("simulated meters", "because the data folder is absent", Panel(panel.rows), 5),
        Meters("noisy simulated meters", "each reading times a random factor", Panel(panel.rows * noise), 5),
    ]


def page(given: argparse.Namespace, sets: list[Meters]) -> str:
    """The whole page."""
    command = f"python experiments/nlk_options.py --series {given.series} --days {given.days} --seed {given.seed}"
    parts = [
        "# (n, l, k): sensitive hours, vague knowledge, growing releases",
        "See what you pay in accuracy for wider groups at sensitive hours and for releases day by day, and what you "
        "gain if adversaries know readings only roughly.",
        f"Written by `{command}`; do not edit.",
        "Loss is the [normalized divergence](../utility.md): the sum of absolute changes as a share of the sum of the "
        "readings, in per cent; lower is better. [NLK](../methods/nlk.md) explains the terms.",
        "## Data",
        on_data(sets),
        "## Wider groups at sensitive hours",
        on_sensitivity(sets),
        "## Vague knowledge",
        on_within(sets),
        "## Day after day",
        on_growing(sets, given.days),
        "### Days on which some are away",
        on_absence(sets, given.days, given.seed),
    ]
    return "\n\n".join(parts) + "\n"


def table(head: str, rows: list[list[str]]) -> str:
    """A table; columns of the head are separated by bars."""
    lines = [f"| {head} |", "|" + "---|" * len(head.split("|")), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines)


def divergence(original: Floats, published: Floats) -> float:
    """The loss of some readings, in per cent."""
    return 100 * NormalizedDivergence().measure(Panel(original), Panel(published)).value


def on_data(sets: list[Meters]) -> str:
    """Shapes, and how smooth the sets are."""
    rows = []
    for one in sets:
        x = one.panel.rows - one.panel.rows.mean(axis=1, keepdims=True)
        alike = (x[:, 1:] * x[:, :-1]).sum(axis=1) / np.maximum(np.square(x).sum(axis=1), 1e-300)
        shape = f"{one.panel.n_series} × {one.panel.n_instants}"
        rows.append([f"{one.name}, {one.words}", shape, f"{one.k}", f"{np.median(alike):.2f}"])
    lead = "Hourly readings without gaps. The median correlation of an hour with the next says how smooth a set is."
    return f"{lead}\n\n{table('set | series × hours | k | correlation with the next hour', rows)}"


def on_sensitivity(sets: list[Meters]) -> str:
    """Loss within and outside the sensitive hours by how much wider groups are there."""
    rows, costs = [], []
    n_days = min(7, *(one.panel.n_instants // HOURS for one in sets))
    sensitive = np.isin(np.arange(HOURS * n_days) % HOURS, EVENING)
    for one in sets:
        week = one.days(0, n_days)
        found = {}
        for factor in FACTORS:
            wide = "" if factor == 1.0 else [factor if hour else 1.0 for hour in sensitive]
            method = NLK(n=N, l=L, k=one.k, sensitivity=wide or None)
            candidate = method.anonymize(week)
            assert candidate.check().holds
            sizes = [np.bincount(groups) for groups in candidate.private.groups.T]
            there = [int(size[size > 0].min()) for size, hour in zip(sizes, sensitive, strict=True) if hour]
            values = candidate.values
            inside, outside, overall = (
                divergence(week.rows[:, part], values[:, part])
                for part in (sensitive, ~sensitive, np.ones_like(sensitive))
            )
            found[factor] = (inside, outside, overall)
            figures = [f"{figure:.2f}" for figure in found[factor]]
            rows.append([one.name, f"{factor:g}", f"{min(there)}", *figures])
        least, most = found[FACTORS[0]], found[2.0]
        costs.append(
            f"on {one.name}, twice the size costs {most[0] / least[0]:.2f} times the loss in the evening and "
            f"{most[2] / least[2]:.2f} times in all"
        )
    hours = f"{EVENING.start}:00 to {EVENING.stop}:00"
    return "\n\n".join(
        [
            f"{n_days} days, NLK(n={N}, l={L}), `sensitivity` at the hours from {hours} of every day. A factor of 1 is "
            "a release without `sensitivity`, in which a series may be alone at such an hour too; with a larger factor "
            "nobody is.",
            table("set | factor | smallest group there | loss there | loss elsewhere | loss in all", rows),
            f"Better: with a factor above 1, nobody is alone in the evening. Worse: {'; '.join(costs)}.",
        ]
    )


def on_within(sets: list[Meters]) -> str:
    """Which looser releases still keep the promise, if knowledge is off by so much."""
    rows, longest = [], 0.0
    gains: dict[str, float] = {}
    n_days = min(2, *(one.panel.n_instants // HOURS for one in sets))
    for one in sets:
        part = one.days(0, n_days)
        for n in (1, 2, N):
            releases = [NLK(n=N, l=L + more, k=one.k).anonymize(part) for more in LOOSER]
            losses = [divergence(part.rows, release.values) for release in releases]
            if n == 1:
                rows.append([one.name, "", "loss", *(f"{loss:.2f}" for loss in losses), ""])
            kept = []
            for share in ERRORS:
                error = share * float(np.median(part.rows))
                cells = []
                for release in releases:
                    began = time.perf_counter()
                    verdict = NLKAnonymity(n, n + L - N, one.k, within=error).check(release.published, MOST_SETS)
                    longest = max(longest, time.perf_counter() - began)
                    undecided = not verdict.holds and verdict.witness is None
                    cells.append("undecided" if undecided else "holds" if verdict.holds else "no")
                kept.append(min(loss for loss, cell in zip(losses, cells, strict=True) if cell == "holds"))
                risk = KnownRanges(n, within=error).attack(part, releases[0].published)
                rows.append([one.name, f"{n}", f"{100 * share:g} %", *cells, f"{100 * risk.success:.1f} %"])
            gains[f"{one.name}, n = {n}"] = kept[-1] / kept[0]
    heads = " | ".join(f"l = {L + more}" for more in LOOSER)
    return "\n\n".join(
        [
            "`within` is a parameter of the guarantee: it assumes that known readings may be off by that much either "
            "way, here as a share of the median reading. It changes no release. It says which releases are good "
            f"enough: a looser one, with more readings published alone, may still keep the promise. {n_days} days; "
            f"releases of NLK(n={N}) by l, each checked for fewer than {L - N} instants inferred by someone who knows "
            f"n readings, exactly and with every error; a check that looks at more than {MOST_SETS:,} sets of "
            "readings counts as undecided. The last column is the chance of the attack `KnownRanges` to find a "
            "series in the first release by n readings drawn at random. Without an error, a published mean seldom "
            "equals the reading, so with a small error the attack may find more.",
            table(f"set | n | error | {heads} | found, l = {L}", rows),
            f"Loss of the loosest release that holds at the largest error ({100 * ERRORS[-1]:g} %), as a share of the "
            f"loosest that holds against exact knowledge: "
            f"{'; '.join(f'{case}: {gain:.2f}' for case, gain in gains.items())}. "
            f"{vague(list(gains.values()))} The longest check took {longest:.1f} s.",
        ]
    )


def vague(gains: list[float]) -> str:
    """What assuming vague knowledge is good for."""
    better = sum(gain < 1.0 for gain in gains)
    if not better:
        return "Better: nothing here; no looser release is good enough. Worse: nothing, as no release changes."
    return f"Better: in {better} of {len(gains)} cases a looser release is good enough. Worse: nothing else changes."


def grown(growing: IncrementalNLK | IncrementalMicroaggregation, days: list[Panel]) -> list[Panel]:
    """What a growing panel publishes, by the names of the originals."""
    found = []
    for day in days:
        candidate = growing.push(day)
        assert candidate is not None
        found.append(Panel(candidate.values, ids=candidate.private.original.ids, times=day.times))
    return found


def losses_of(days: list[Panel], releases: list[Panel]) -> tuple[list[float], list[float]]:
    """Of each day: divergence, and the share of the variation between series that is lost."""
    originals = [as_in(day, release) for day, release in zip(days, releases, strict=True)]
    pairs = list(zip(originals, releases, strict=True))
    return (
        [divergence(day.rows, release.rows) for day, release in pairs],
        [100 * InformationLoss().measure(day, release).value for day, release in pairs],
    )


def as_in(day: Panel, release: Panel) -> Panel:
    """The readings of those in a release, in its order."""
    places = {name: row for row, name in enumerate(day.ids.tolist())}
    rows = [places[name] for name in release.ids.tolist()]
    return Panel(day.rows[rows], ids=release.ids, times=day.times)


def on_growing(sets: list[Meters], n_days: int) -> str:
    """Fresh releases, growing ones, cells; what they lose, and whether they keep the promise together."""
    rows, sentences = [], []
    for one in sets:
        days = [one.days(day, day + 1) for day in range(n_days)]
        method = NLK(n=N, l=L, k=one.k)
        fresh = [Panel(method.anonymize(day).values, ids=day.ids, times=day.times) for day in days]
        whole = method.anonymize(one.days(0, n_days)).values
        at_once = [
            Panel(whole[:, HOURS * at : HOURS * (at + 1)], ids=day.ids, times=day.times) for at, day in enumerate(days)
        ]
        ways = {
            "NLK anew every day (breaks the promise)": fresh,
            "all days as one release": at_once,
            "growing, `--alone 0`": grown(IncrementalNLK(method, alone=0), days),
            "growing, `--alone 1`": grown(IncrementalNLK(method, alone=1), days),
            f"growing, `--alone {L - N - 1}`": grown(IncrementalNLK(method, alone=L - N - 1), days),
            "growing cells (k-anonymity)": grown(IncrementalMicroaggregation(Microaggregation(k=one.k)), days),
        }
        means = {}
        for way, releases in ways.items():
            lost, variation = losses_of(days, releases)
            means[way] = float(np.mean(lost))
            verdict = SequenceNLKAnonymity(N, L, one.k).check(releases)
            holds = f"yes, at most {verdict.measured}" if verdict.holds else f"no, {verdict.measured}"
            late = np.mean(lost[-min(7, n_days) :])
            figures = [f"{lost[0]:.2f}", f"{late:.2f}", f"{means[way]:.2f}", f"{np.mean(variation):.2f}", holds]
            rows.append([one.name, way, *figures])
        least = means["NLK anew every day (breaks the promise)"]
        kept = {way: mean for way, mean in means.items() if way.startswith("growing, ")}
        best = min(kept, key=kept.__getitem__)
        sentences.append(
            f"On {one.name}, {best} loses least over the {n_days} days. Better: it keeps the promise, at "
            f"{kept[best] / means['growing cells (k-anonymity)']:.2f} times the loss of cells. Worse: it loses "
            f"{kept[best] / least:.2f} times as much as new releases every day, which break it."
        )
    return "\n\n".join(
        [
            f"{n_days} releases of a day each, NLK(n={N}, l={L}). Variation is 100 SSE / SST of a day. The last column "
            f"is the check of all releases together (at most {L - N - 1} instants of a series may be inferred).",
            table(
                f"set | releases | loss, day 1 | loss, last {min(7, n_days)} days | loss, all days | variation lost "
                "| (n, l, k) together?",
                rows,
            ),
            " ".join(sentences),
        ]
    )


def on_absence(sets: list[Meters], n_days: int, seed: int) -> str:
    """How many are left out for those who are away."""
    rows = []
    for one in sets:
        days = [one.days(day, day + 1) for day in range(n_days)]
        for away in AWAY:
            chance = np.random.default_rng([seed, int(1000 * away)])
            there = [np.flatnonzero(chance.random(one.panel.n_series) >= away) for _ in days]
            there[0] = np.arange(one.panel.n_series)
            given = [day.take(rows_) for day, rows_ in zip(days, there, strict=True)]
            releases = grown(IncrementalNLK(NLK(n=N, l=L, k=one.k), alone=1), given)
            absent = 100 * (1 - np.mean([release.n_series for release in releases[1:]]) / one.panel.n_series)
            withheld = absent - 100 * (1 - np.mean([len(rows_) for rows_ in there[1:]]) / one.panel.n_series)
            lost = np.mean(losses_of(given, releases)[0][1:])
            holds = SequenceNLKAnonymity(N, L, one.k).check(releases).holds
            rows.append(
                [
                    one.name,
                    f"{100 * away:g} %",
                    f"{absent:.1f} %",
                    f"{withheld:.1f} %",
                    f"{lost:.2f}",
                    "yes" if holds else "no",
                ]
            )
    return "\n\n".join(
        [
            "With `--alone 1`. On every day after the first, each series has no readings with the given probability. "
            "If one to k − 1 are away, others are left out until k are absent; the fourth column is their share.",
            table(
                "set | away | absent from the release | left out for others | loss | (n, l, k) together?",
                rows,
            ),
        ]
    )


if __name__ == "__main__":
    main()
