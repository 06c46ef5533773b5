"""The loss of the default grouping against exact MDAV's, by set, k and number of series.

Loss: 100 SSE / SST of the readings. Prints the table and writes it into docs/results/microaggregation.md.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal import Panel, read_panel, simulate
from shoal.methods import Microaggregation
from shoal.utility import InformationLoss

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from mdav import noisy_profiles, profiles  # noqa: E402
from sections import put_section  # noqa: E402

KS = (3, 5, 10, 20, 50)
SIZES = (500, 2_000, 10_000, 50_000)
MEASURED = 10_000  # sets that are not made by a formula are measured up to here
SLOVAK = Path("energyhack_sk_meters") / "energyhack_hourly_4weeks.parquet"
PEDESTRIANS = Path("ucr_daily") / "MelbournePedestrian.parquet"


def sets(data: Path, seed: int) -> dict[str, NDArray[np.float64]]:
    """Series by name, in random order, so that the first ones are a sample."""
    largest = SIZES[-1]
    found = {
        "smooth profiles, 48 values": profiles(largest, 48),
        "noisy profiles, 48 values": noisy_profiles(largest, 48),
        "simulated meters, a day of 48": simulate.meters(MEASURED, days=1, step="30min", seed=seed).rows,
    }
    if (data / SLOVAK).exists():
        found["Slovak meters, days of 24"] = slovak(data).rows.reshape(-1, 24)
    if (data / PEDESTRIANS).exists():
        table = pl.read_parquet(data / PEDESTRIANS).sort("series_id", "timestamp")
        days = np.array(table.group_by("series_id", maintain_order=True).agg("value")["value"].to_list(), dtype=float)
        found["Melbourne pedestrians, days of 24"] = days[(days >= 0.0).all(axis=1)]  # -1 marks a gap
    dice = np.random.default_rng(seed)
    return {name: rows[dice.permutation(len(rows))] for name, rows in found.items()}


def slovak(data: Path) -> Panel:
    """Four weeks of hours."""
    return read_panel(data / SLOVAK, id="series_id", time="timestamp", value="value", missing="drop-series")


def of_several(data: Path, seed: int) -> dict[str, Panel]:
    """Two weeks of 300 meters, each day a series, and each meter a subject."""
    weeks = {"simulated meters": simulate.meters(300, days=14, step="1h", seed=seed).rows}
    if (data / SLOVAK).exists():
        rows = slovak(data).rows
        weeks["Slovak meters"] = rows[np.random.default_rng(seed).permutation(len(rows))[:300], : 14 * 24]
    return {
        name: Panel(rows.reshape(-1, 24), subjects=np.repeat(np.arange(len(rows)), 14)) for name, rows in weeks.items()
    }


def lost(panel: Panel, **options: object) -> float:
    """Per cent of SST."""
    candidate = Microaggregation(**options).anonymize(panel)  # type: ignore[arg-type]
    assert candidate.check().holds
    return 100.0 * InformationLoss().measure(panel, candidate.curves).value


def main() -> None:
    """Run all and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "results" / "microaggregation.md")
    given = parser.parse_args()
    lines = [
        f"Written by `python experiments/loss_by_size.py --seed {given.seed}`; do not edit. 100 SSE / SST of exact",
        "MDAV, of the default, and in brackets the second as a share of the first. Small panels are samples of large",
        "ones.",
        "",
        f"| set | k | {' | '.join(f'{n:,} series' for n in SIZES)} |",
        f"|---|---:|{'---:|' * len(SIZES)}",
    ]
    ratios = []
    for name, rows in sets(given.data, given.seed).items():
        for k in KS:
            cells = []
            for n in SIZES:
                if n > len(rows):
                    cells.append("")
                    continue
                panel = Panel(rows[:n])
                mdav, default = lost(panel, k=k, algorithm="mdav", refine=False), lost(panel, k=k)
                ratios.append(default / mdav)
                cells.append(f"{mdav:.2f}, {default:.2f} ({ratios[-1]:.3f})")
            lines.append(f"| {name} | {k} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    above = sum(ratio > 1.0 for ratio in ratios)
    lines += [
        "",
        f"Over {len(ratios)} cases the default has {np.mean(ratios):.3f} of MDAV's loss on average, from "
        f"{min(ratios):.3f} to {max(ratios):.3f}; more than MDAV in {above}.",
    ]
    lines += [
        "",
        "The same where a subject has several series: two weeks of 300 meters, each day of 24 hours a series, and each",
        "meter a subject.",
        "",
        f"| set | {' | '.join(f'k = {k}' for k in KS)} |",
        f"|---|{'---:|' * len(KS)}",
    ]
    for name, panel in of_several(given.data, given.seed).items():
        cells = []
        for k in KS:
            mdav, default = lost(panel, k=k, algorithm="mdav"), lost(panel, k=k)
            cells.append(f"{mdav:.2f}, {default:.2f} ({default / mdav:.3f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    put_section(given.page, "Microaggregation", "Loss by set, k and size", "\n".join(lines))


if __name__ == "__main__":
    main()
