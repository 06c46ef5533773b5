"""The check of k-anonymity against sorting whole rows.

Run: python benchmarks/check.py [--json]

Baseline: numpy `np.unique(axis=0)` on the same bits, which sorts all rows. The panel is 100 000 published series of 48
instants in groups of 10, in random order. Compile time is left out, times are the best of 3.
"""

from __future__ import annotations

import numpy as np
from measuring import Row, best_of, print_rows
from numpy.typing import NDArray

from shoal import KAnonymity, Panel

N_SERIES, N_INSTANTS, K = 100_000, 48, 10


def smallest_crowd(values: NDArray[np.float64]) -> int:
    """The same figure by numpy alone."""
    _, sizes = np.unique(values.view(np.uint64), axis=0, return_counts=True)
    return int(sizes.min())


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    means = rng.gamma(2.0, 0.5, size=(N_SERIES // K, N_INSTANTS))
    panel = Panel(np.repeat(means, K, axis=0)[rng.permutation(N_SERIES)])
    KAnonymity(K).check(Panel(panel.values[:100]))  # compiles
    verdict, seconds = best_of(lambda: KAnonymity(K).check(panel))
    crowd, baseline_seconds = best_of(lambda: smallest_crowd(panel.values))
    agreement = "same" if verdict.measured == crowd else "DIFFERENT"
    return [
        Row(
            what="KAnonymity.check",
            size=f"{N_SERIES:,} x {N_INSTANTS}, k = {K}",
            seconds=seconds,
            baseline="numpy np.unique(axis=0)",
            baseline_seconds=baseline_seconds,
            note=f"{agreement} smallest crowd",
        )
    ]


if __name__ == "__main__":
    print_rows(measure())
