"""What gaps cost: cells withheld and loss of the default grouping against exact MDAV's.

Loss: 100 times the squared differences of all readings from what is published or, where that is withheld, from the mean
of the instant, over those from the mean of the instant everywhere. Writes the table into
docs/results/microaggregation.md.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from loss_by_size import sets
from numpy.typing import NDArray

from shoal import Panel
from shoal.methods import Microaggregation
from shoal.methods.gaps import loss_with_gaps

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "benchmarks"))
from sections import put_section  # noqa: E402

K, MOST = 10, 5_000
SHARES = (0.01, 0.05, 0.2)
KINDS = ("single readings", "half days")


def main() -> None:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the real sets")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    lines = [
        f"Written by `python experiments/loss_with_gaps.py --seed {given.seed}`; do not edit. k = {K}, at most",
        f"{MOST:,} series each, from which readings are removed at random: single ones, or half of a series at a",
        "stretch. Loss: 100 times the squared differences of all readings from what is published or, where that is",
        "withheld, from the mean of the instant, as a share of those from the mean of the instant everywhere.",
        "",
        "| set | removed | share | cells withheld by MDAV | by the default | loss of MDAV | of the default |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for name, whole in sets(given.data, given.seed).items():
        x = np.ascontiguousarray(whole[:MOST])
        for kind in KINDS:
            for share in SHARES:
                lines.append(row(name, remove(x, kind, share, given.seed), kind, share))
                print(lines[-1], flush=True)
    put_section(given.out / "microaggregation.md", "Microaggregation", "Loss with gaps", "\n".join(lines))


def remove(x: NDArray[np.float64], kind: str, share: float, seed: int) -> NDArray[np.float64]:
    """The series with gaps."""
    random, x = np.random.default_rng(seed), x.copy()
    if kind == "single readings":
        x[random.random(x.shape) < share] = np.nan
        return x
    n_columns = x.shape[1]
    for series in np.flatnonzero(random.random(len(x)) < 2.0 * share):
        first = int(random.integers(0, n_columns - n_columns // 2 + 1))
        x[series, first : first + n_columns // 2] = np.nan
    return x


def row(name: str, x: NDArray[np.float64], kind: str, share: float) -> str:
    """One line of the table."""
    alone = np.zeros(len(x), dtype=np.int64)
    of_means = loss_with_gaps(x, alone, len(x) + 1)  # everything withheld
    withheld, losses = [], []
    for algorithm in ("mdav", "auto"):
        candidate = Microaggregation(k=K, algorithm=algorithm).anonymize(Panel(x))
        withheld.append(f"{np.isnan(candidate.values).mean():.1%}")
        losses.append(f"{100.0 * loss_with_gaps(x, candidate.private.groups, K) / of_means:.2f}")
    return f"| {name} | {kind} | {share:.0%} | {' | '.join(withheld + losses)} |"


if __name__ == "__main__":
    main()
