"""Distributions of groups against their means: coverage, CRPS, drawn curves, attacks; writes results/scenarios.md.

Run: python experiments/scenarios.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from shoal import Candidate, Microaggregation, Panel, read_panel, simulate
from shoal.attacks import Copies, KnownPoints, Membership, NearestNeighbour
from shoal.model import Scenarios
from shoal.utility import CRPS, LoadDurationError, PeakHeightError, RampError

ROOT = Path(__file__).resolve().parents[1]
KS, LEVELS, SHARES = (6, 10, 20), (5, 10), (0.5, 0.8, 0.9, 0.95)
HALVINGS = 10
MEANS, ALL, DRAWN = "means", "means, spreads, levels", "drawn curves"
SLOVAK = Path("energyhack_sk_meters") / "energyhack_hourly_4weeks.parquet"


def panels(data: Path, n: int) -> dict[str, Panel]:
    """A week of simulated meters, and of real ones where there are any."""
    found = {f"simulated meters, {n} x 168": simulate.meters(n, days=7, seed=1)}
    if (data / SLOVAK).exists():
        whole = read_panel(data / SLOVAK, id="series_id", time="timestamp", value="value", missing="drop-series")
        rows = np.random.default_rng(1).permutation(whole.n_series)[:n]
        week = Panel(whole.values[np.sort(rows)][:, :168], times=whole.times[:168])
        found[f"Slovak meters (energyhack), {week.n_series} x 168"] = week
    return found


def scenarios(panel: Panel, k: int, levels: int) -> Candidate | None:
    """The candidate, where there are enough subjects."""
    if panel.n_subjects < k * levels:
        return None
    return Microaggregation(k=k, form="scenarios", levels=levels).anonymize(panel)


def coverage(candidate: Candidate, share: float) -> float:
    """The share of the readings in their central interval."""
    own = candidate.published.take(candidate.private.groups)  # type: ignore[union-attr]
    ends = own.quantiles([(1.0 - share) / 2.0, (1.0 + share) / 2.0])
    x = candidate.private.original.rows
    return float(((ends[:, :, 0] <= x) & (x <= ends[:, :, 1])).mean())


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table."""
    return ["", "| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(r) + " |" for r in rows)]


def distributions(name: str, panel: Panel) -> list[list[str]]:
    """Coverage and CRPS by k and number of levels; of the means, and of one distribution for everybody."""
    found = []
    for k in KS:
        means = Microaggregation(k=k).anonymize(panel).measure(CRPS()).value
        for levels in LEVELS:
            if (candidate := scenarios(panel, k, levels)) is None:
                continue
            score = candidate.measure(CRPS()).value
            covered = [f"{100.0 * coverage(candidate, share):.1f} %" for share in SHARES]
            found.append([name, str(k), str(levels), f"{score:.3g}", f"{means:.3g}", f"{score / means:.2f}", *covered])
    return found


def drawn_curves(name: str, panel: Panel) -> list[list[str]]:
    """How near drawn curves and means are to the originals as a whole."""
    measures = (LoadDurationError(of="pooled"), RampError(of="pooled"), PeakHeightError(of="all"))
    found = []
    for k in KS:
        if (candidate := scenarios(panel, k, 5)) is None:
            continue
        curves = simulate.from_release(candidate.published, at_least=0.0, seed=1)  # type: ignore[arg-type]
        sides = {"means": candidate.curves, "drawn curves": curves}
        for side, published in sides.items():
            spread = float(published.rows.sum(axis=1).std() / panel.rows.sum(axis=1).std())
            figures = [f"{measure.measure(panel, published).value:.3f}" for measure in measures]
            peaks = float(np.median(published.rows.max(axis=1)) / np.median(panel.rows.max(axis=1)))
            found.append([name, str(k), side, *figures, f"{spread:.2f}", f"{peaks:.2f}"])
    return found


def attacks(name: str, panel: Panel) -> list[list[str]]:
    """What attacks achieve against half of the meters, the others being the control; means over several halvings."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for seed in range(HALVINGS):
        order = np.random.default_rng(seed).permutation(panel.n_series)
        inside, outside = (panel.take(np.sort(half)) for half in np.array_split(order, 2))
        candidate = Microaggregation(k=10, form="scenarios").anonymize(inside)
        means, published = candidate.curves, candidate.published
        assert isinstance(published, Scenarios)
        seen = published.take(candidate.private.groups)
        curves = simulate.from_release(published, at_least=0.0, seed=seed)
        risks = {
            (MEANS, "known points, 5"): KnownPoints(5).attack(inside, means),
            (MEANS, "nearest neighbour"): NearestNeighbour().attack(inside, means),
            (ALL, "nearest neighbour"): NearestNeighbour().attack(inside, means, scenarios=seen),
            (MEANS, "membership"): Membership(seed=seed).attack(inside, means, outside=outside),
            (ALL, "membership"): Membership(seed=seed).attack(inside, means, outside=outside, scenarios=seen),
            (DRAWN, "copies of a series"): Copies().attack(inside, curves),
            (DRAWN, "membership"): Membership(seed=seed).attack(inside, curves, outside=outside),
        }
        for which, risk in risks.items():
            found.setdefault(which, []).append((100.0 * risk.success, 100.0 * risk.baseline))
    rows = []
    for which, several in found.items():
        success, baseline = np.array(several).T
        rows.append([name, *which, f"{success.mean():.1f} %", f"{success.std():.1f}", f"{baseline.mean():.1f} %"])
    return rows


def told_by_distributions(rows: list[list[str]]) -> str:
    """What an adversary gains by spreads and levels, beyond the means, in the figures of the table."""
    success = {tuple(row[:3]): float(row[3].removesuffix(" %")) for row in rows}
    gains = [
        f"{attack} on {name} {success[name, ALL, attack] - success[name, MEANS, attack]:+.1f} points"
        for name, looked, attack in success
        if looked == ALL
    ]
    return f"What spreads and levels reveal to an adversary beyond the means: {'; '.join(gains)}."


def main() -> None:
    """Measure all and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of real meters")
    parser.add_argument("--series", type=int, default=600)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    given = parser.parse_args()
    sets = panels(given.data, given.series)
    attacked = [row for name, panel in sets.items() for row in attacks(name, panel)]
    lines = [
        "# Scenarios: distributions instead of means",
        "",
        "See how much more a distribution reveals about a group than its mean, and how realistic its curves are.",
        "",
        f"Written by `python experiments/scenarios.py --series {given.series}`; do not edit. What is published is "
        "described [with the method](../methods/microaggregation.md#scenarios).",
        "",
        "## Distributions",
        "",
        "CRPS of the distributions of groups, in the unit of the readings, and of the means of the same groups, of "
        "which it is the mean absolute error; lower is better. Then the share of readings inside intervals that are "
        f"meant for {', '.join(f'{100 * share:g} %' for share in SHARES)} of them.",
        *table(
            ["set", "k", "levels", "CRPS", "of means", "ratio", *(f"{100 * share:g} %" for share in SHARES)],
            [row for name, panel in sets.items() for row in distributions(name, panel)],
        ),
        "",
        "## Drawn curves",
        "",
        "As many curves as there are meters, drawn by `simulate.from_release(release, at_least=0)`, next to the "
        "means of the groups. Errors of the load duration, the ramps and the height of the daily peaks of the sum; "
        "then the spread of totals and the median highest reading of a series, as a share of the originals'. Errors "
        "of 0 and shares of 1 are best.",
        *table(
            ["set", "k", "published", "load duration", "ramps", "peaks of the sum", "spread of totals", "peak"],
            [row for name, panel in sets.items() for row in drawn_curves(name, panel)],
        ),
        "",
        "## Attacks",
        "",
        "Against half of the meters at k = 10, with the other half as the control for membership; means over "
        f"{HALVINGS} random splits, with their standard deviation in points. An adversary who looks at the means of "
        "groups has what profiles publish. Nearest neighbour and membership also look at spreads and levels: how "
        "likely what is known is under each group's distribution. Known points looks at the means only. Drawn curves "
        "are attacked as any synthetic table is.",
        *table(
            ["set", "looked at", "attack", "success", "deviation", "baseline"],
            attacked,
        ),
        "",
        "Better: the CRPS of distributions is about a quarter below that of means, drawn curves have the load "
        "duration and the spread of the originals, and they reveal less about who is in the release than the means "
        "do.",
        "",
        told_by_distributions(attacked),
        "",
        "Worse: with five levels, intervals for half of the readings contain about 60 % of them, and those for 95 % "
        "about 91 %; ten levels need twice the subjects. Correlations of ranks depend only on the distance between "
        "two instants, so where readings are steady at some hours and jump at others, drawn curves have too many "
        "ramps. The sum of all drawn curves is that of the means up to chance.",
    ]
    given.out.mkdir(parents=True, exist_ok=True)
    page = given.out / "scenarios.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
