"""The loss of microaggregation on the two public sets of the literature, by what is asked of it.

Loss: 100 SSE / SST on columns standardised to mean 0 and variance 1. Prints the table and writes it into
docs/results/microaggregation.md.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from shoal import Microaggregation, Panel
from shoal.utility import InformationLoss

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from sections import put_section  # noqa: E402

REPEATS = 5  # of the short ones; the fastest counts
SHORT = {
    "MDAV": {"algorithm": "mdav"},
    "default": {},
    "refine": {"refine": True},
}


def standardised(path: Path) -> Panel:
    """The numeric columns of a table, each with mean 0 and variance 1."""
    values = pl.read_parquet(path).drop("rownames").to_numpy().astype(np.float64)
    return Panel((values - values.mean(axis=0)) / values.std(axis=0))


def lose(panel: Panel, repeats: int, **options: object) -> tuple[float, float, int]:
    """Per cent lost, seconds, and the number of groups."""
    method = Microaggregation(**options)  # type: ignore[arg-type]
    seconds = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        candidate = method.anonymize(panel)
        seconds = min(seconds, time.process_time() - start)
    assert candidate.check().holds
    lost = 100.0 * InformationLoss(standardized=True).measure(panel, candidate.curves).value
    return lost, seconds, int(candidate.private.groups.max()) + 1


def main() -> None:
    """Run all and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "sdc")
    parser.add_argument(
        "--proposals", type=int, default=200_000, help="changes that each longest search tries for a series"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "results" / "microaggregation.md")
    given = parser.parse_args()

    warm = Panel(np.random.default_rng(0).normal(size=(50, 3)))
    for options in (*SHORT.values(), {"algorithm": "best", "proposals": 1000}):
        Microaggregation(k=3, **options).anonymize(warm)  # type: ignore[arg-type]  # compiles

    columns = [*SHORT, "best"]
    lines = [
        f"Written by `python experiments/loss.py --proposals {given.proposals} --seed {given.seed}`; do not edit.",
        "100 SSE / SST on standardised columns, lower is better; in brackets the processor seconds of `anonymize`,",
        f"without compiling; for short ones, the fastest of {REPEATS}.",
        "",
        f"| set | rows | k | {' | '.join(columns)} | groups of best |",
        f"|---|---|---|{'---|' * len(columns)}---|",
    ]
    print("\n".join(lines[-2:]))
    for name in ("census", "tarragona"):
        panel = standardised(given.data / f"{name}.parquet")
        for k in (3, 5, 10):
            found = [lose(panel, REPEATS, k=k, **options) for options in SHORT.values()]
            found.append(lose(panel, 1, k=k, algorithm="best", proposals=given.proposals, seed=given.seed))
            cells = " | ".join(f"{lost:.2f} ({seconds:.2g})" for lost, seconds, _ in found)
            lines.append(f"| {name.capitalize()} | {panel.n_series} | {k} | {cells} | {found[-1][2]} |")
            print(lines[-1], flush=True)
    put_section(given.page, "Microaggregation", "Loss on Census and Tarragona", "\n".join(lines))


if __name__ == "__main__":
    main()
