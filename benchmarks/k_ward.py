"""k-Ward groups: the numba kernel against the naive oracle, and on panels too large for a matrix of distances.

Run: python benchmarks/k_ward.py [--json]

Baselines: "naive oracle", the plain Python of tests/naive that the tests compare with (small panel only), and for the
large panels the time they may take. Panels are random daily profiles, and independent normal values, where no row has a
near neighbour and bounds help least. Python and the compiler take most of the memory; a matrix of the distances of
20 000 rows alone would take 3 200 MB. Compile time is left out, the small time is the best of 3.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numba
import numpy as np
from measuring import Row, best_of, print_rows
from numpy.typing import NDArray

from shoal.kernels.k_ward import k_ward_groups

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from naive.k_ward import naive_k_ward

SMALL = (300, 24)
LARGE = (20_000, 48)
ALLOWED = 60.0  # seconds
K = 10


def profiles(n: int, n_columns: int) -> NDArray[np.float64]:
    """Random daily curves: a few shapes, each series with its own level and noise."""
    rng = np.random.default_rng(n)
    shapes = rng.gamma(2.0, 0.5, size=(8, n_columns))
    level = rng.lognormal(0.0, 0.6, size=(n, 1))
    curves: NDArray[np.float64] = shapes[rng.integers(8, size=n)] * level + rng.gamma(1.0, 0.2, size=(n, n_columns))
    return curves


def normal(n: int, n_columns: int) -> NDArray[np.float64]:
    return np.random.default_rng(n).normal(size=(n, n_columns))


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure() -> list[Row]:
    threads = min(2, numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    what = f"k-Ward kernel, {threads} thread{'s' * (threads > 1)}"
    k_ward_groups(profiles(600, 8), K)  # compiles

    rows = []
    for panel in (profiles, normal):
        x = panel(*LARGE)
        before = peak_megabytes()
        _, seconds = best_of(lambda x=x: k_ward_groups(x, K), rounds=1)
        rows.append(
            Row(
                what=f"{what}, {panel.__name__}",
                size=f"{LARGE[0]:,} x {LARGE[1]}, k = {K}",
                seconds=seconds,
                baseline="the time allowed",
                baseline_seconds=ALLOWED,
                note=f"peak memory of the process {peak_megabytes():.0f} MB, {before:.0f} MB before",
            )
        )

    x = profiles(*SMALL)
    found, seconds = best_of(lambda: k_ward_groups(x, K))
    expected, naive_seconds = best_of(lambda: naive_k_ward(x, K), rounds=1)
    rows.append(
        Row(
            what=f"{what}, profiles",
            size=f"{SMALL[0]} x {SMALL[1]}, k = {K}",
            seconds=seconds,
            baseline="naive oracle (plain Python, tests/naive)",
            baseline_seconds=naive_seconds,
            note=f"{100 * np.mean(found == expected):.4g} % of labels equal",
        )
    )
    return rows


if __name__ == "__main__":
    print_rows(measure())
