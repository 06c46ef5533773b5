"""MDAV by index against a search through all rows: the same groups, and how time grows.

Run: python benchmarks/mdav_index.py [--json]

Baseline: "brute-force numba MDAV", the plain kernel of shoal/kernels/mdav.py, on one thread as the index is. Panels
are simulated half-hourly days of a mix of meters. Compile time is left out. The baseline, and the index above 20 000
rows, are timed once; the rest is the best of 3.
"""

from __future__ import annotations

import math

import numpy as np
from measuring import Row, best_of, print_rows
from numpy.typing import NDArray

from shoal import simulate
from shoal.kernels.fast_mdav import fast_mdav_groups
from shoal.kernels.mdav import mdav_groups

K = 10
COMPARED = (20_000, 100_000)
GROWTH = (20_000, 200_000)
BASELINE = "brute-force numba MDAV, 1 thread"


def days(n: int) -> NDArray[np.float64]:
    """Half-hourly days of n meters."""
    return np.array(simulate.meters(n, days=1, step="30min", start="2024-01-10", seed=5).values)


def by_index(x: NDArray[np.float64]) -> NDArray[np.int64]:
    return fast_mdav_groups(x, K, np.zeros(1, dtype=np.int64))


def by_brute_force(x: NDArray[np.float64]) -> NDArray[np.int64]:
    groups: NDArray[np.int64] = mdav_groups(x, np.arange(len(x)), K, np.zeros(1, dtype=np.int64))
    return groups


def measure() -> list[Row]:
    x = days(max(GROWTH))
    by_index(x[:3000])  # compiles
    by_brute_force(x[: 4 * K])
    rows = []
    seconds = {}
    for n in sorted({*COMPARED, *GROWTH}):
        part = np.ascontiguousarray(x[:n])
        found, seconds[n] = best_of(lambda part=part: by_index(part), rounds=3 if n <= 20_000 else 1)
        if n in COMPARED:
            expected, slow = best_of(lambda part=part: by_brute_force(part), rounds=1)
            note = "identical groups" if np.array_equal(found, expected) else "GROUPS DIFFER"
            rows.append(Row("MDAV by index, 1 thread", f"{n:,} x 48, k = {K}", seconds[n], BASELINE, slow, note))
    small, large = GROWTH
    exponent = math.log(seconds[large] / seconds[small]) / math.log(large / small)
    # Not measured: brute force grows with the square, and the row says that this is an extrapolation.
    square = rows[0].baseline_seconds * (large / small) ** 2
    note = f"time grows with n to the power {exponent:.2f} from {small:,}; baseline extrapolated with power 2"
    rows.append(
        Row(
            "MDAV by index, 1 thread",
            f"{large:,} x 48, k = {K}",
            seconds[large],
            f"EXTRAPOLATED {BASELINE}",
            square,
            note,
        )
    )
    return rows


if __name__ == "__main__":
    print_rows(measure())
