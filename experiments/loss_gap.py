"""How far `algorithm="best"` is from the least loss there can be, by set and k: a section of the page of results.

Run: python experiments/loss_gap.py [--proposals 30000]

The gap is loss / lower bound - 1: the optimum lies between the two, so the loss is at most that far above it. Sets:
Census and Tarragona with standardised columns, and panels of simulated meters and of the benchmarks' noisy profiles.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from loss import ROOT, standardised

from shoal import Microaggregation, Panel, simulate
from shoal.methods.loss_bound import least_loss
from shoal.utility import InformationLoss

sys.path.append(str(ROOT / "benchmarks"))
from mdav import noisy_profiles
from sections import put_section

PAGE = ROOT / "docs" / "results" / "microaggregation.md"


def sets(data: Path) -> dict[str, Panel]:
    """Panels by name."""
    return {
        "Census": standardised(data / "census.parquet"),
        "Tarragona": standardised(data / "tarragona.parquet"),
        "meters, 500 x 48": simulate.meters(500, days=1, step="30min", seed=7),
        "noisy profiles, 500 x 48": Panel(noisy_profiles(500, 48)),
        "noisy profiles, 2 000 x 48": Panel(noisy_profiles(2000, 48)),
    }


def section(rows: list[str], proposals: int) -> str:
    """The table so far."""
    return "\n".join(
        [
            f"Written by `python experiments/loss_gap.py --proposals {proposals}`; do not edit. "
            "Loss in per cent of SST.",
            "The gap says how far at most a loss is above the optimum; part of it is due to the bound.",
            "",
            "| set | k | lower bound | default | gap | best | gap | processor seconds of the bound |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            "For k = 3 and k = 2 the bound is a relaxation of the choice of groups of three or two. "
            "For larger k it knows only",
            "triples and neighbours, and most of the gap is due to the bound.",
        ]
    )


def main() -> None:
    """Measure all, k = 3 first, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "sdc")
    parser.add_argument("--proposals", type=int, default=30_000)
    given = parser.parse_args()
    panels = sets(given.data)
    rows = []
    for name, k in [
        *((name, 3) for name in panels),
        *((name, k) for name in ("Census", "Tarragona") for k in (2, 5, 10)),
    ]:
        panel = panels[name]
        spread = float(((panel.rows - panel.rows.mean(axis=0)) ** 2).sum())
        start = time.process_time()
        least = 100.0 * least_loss(panel.rows, k) / spread
        seconds = time.process_time() - start
        cells = [name, str(k), f"{least:.2f}"]
        for options in ({}, {"algorithm": "best", "proposals": given.proposals}):
            candidate = Microaggregation(k=k, **options).anonymize(panel)  # type: ignore[arg-type]
            lost = 100.0 * InformationLoss().measure(panel, candidate.published).value
            cells += [f"{lost:.2f}", f"{100.0 * (lost / least - 1.0):.1f} %"]
        rows.append(f"| {' | '.join([*cells, f'{seconds:.1f}'])} |")
        print(rows[-1], flush=True)
        put_section(PAGE, "Microaggregation", "How far from the optimum", section(rows, given.proposals))


if __name__ == "__main__":
    main()
