"""MDAV by index against plain brute force: the same groups, how much faster, and how time grows.

Run: python benchmarks/mdav_index.py [--json]

Baselines: "plain brute force" of brute_mdav.py, on one thread and on two, in float64 and in float32; and once our own
exact kernel of shoal/kernels/mdav.py, which also handles gaps and subjects and adds strictly in order. Panels are
simulated half-hourly days of a mix of meters, and hourly readings of two months. Works that are compared run round by
round, one after the other, 3 rounds, the best of each counts; at 100 000 rows, where brute force is slow, one round.
The panel of a million rows runs once, in a process of its own, whose peak memory includes the panel. Compile time is
left out. Linear algebra is held to one thread.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy is loaded

import json
import math
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from brute_mdav import brute_mdav
from mdav import share_identical
from measuring import ROUNDS, Row, best_of, print_rows, side_by_side
from numpy.typing import NDArray

from shoal import simulate
from shoal.kernels.fast_mdav import fast_mdav_groups
from shoal.kernels.mdav import mdav_groups

K = 10
SMALL, MIDDLE, LARGE, MILLION = 20_000, 100_000, 200_000, 1_000_000
INDEX = "MDAV by index"
BRUTE = "plain brute-force numba MDAV"
EXACT = "our exact brute-force kernel, 1 thread"


def days(n: int, seed: int = 5) -> NDArray[np.float64]:
    """Half-hourly days of n meters."""
    return np.array(simulate.meters(n, days=1, step="30min", start="2024-01-10", seed=seed).values)


def two_months(n: int) -> NDArray[np.float64]:
    """Hourly readings of n meters over sixty days."""
    return np.array(simulate.meters(n, days=60, step="1h", start="2024-01-10", seed=5).values)


def by_index(x: NDArray[np.float64], threads: int = 1) -> NDArray[np.int64]:
    return fast_mdav_groups(x, K, np.zeros(1, dtype=np.int64), threads)


def by_definition(x: NDArray[np.float64]) -> NDArray[np.int64]:
    groups: NDArray[np.int64] = mdav_groups(x, np.arange(len(x)), K, np.zeros(1, dtype=np.int64))
    return groups


def on(threads: int) -> str:
    return f"{threads} thread{'s' * (threads > 1)}"


def same(a: NDArray[np.int64], b: NDArray[np.int64]) -> str:
    return f"{100 * share_identical(a, b):.4g} % of rows in identical groups"


def compare(
    x: NDArray[np.float64], threads: tuple[int, ...], types: tuple[str, ...], exact: bool = False, rounds: int = ROUNDS
) -> list[Row]:
    """The index against brute force with the same number of threads."""
    works = {on(t): (lambda t=t: by_index(x, t)) for t in threads}
    for t in threads:
        for name in types:
            works[f"{BRUTE}, {name}, {on(t)}"] = lambda t=t, name=name: brute_mdav(x, K, t, getattr(np, name))
    if exact:
        works[EXACT] = lambda: by_definition(x)
    found = side_by_side(works, rounds)
    rows = []
    for name, (groups, seconds) in found.items():
        if name in {on(t) for t in threads}:
            continue
        used = next(on(t) for t in threads if name.endswith(on(t)))
        mine, mine_seconds = found[used]
        note = same(mine, groups)
        if name == EXACT:
            note = "identical groups" if np.array_equal(mine, groups) else "GROUPS DIFFER"
        size = f"{len(x):,} x {x.shape[1]:,}, k = {K}"
        rows.append(Row(f"{INDEX}, {used}", size, mine_seconds, name, seconds, note))
    return rows


def growth(x: NDArray[np.float64], brute: Row) -> Row:
    """How time grows from SMALL to LARGE rows; brute force, not measured there, grows with the square."""
    parts = {str(n): np.ascontiguousarray(x[:n]) for n in (SMALL, LARGE)}
    found = side_by_side({n: (lambda part=part: by_index(part)) for n, part in parts.items()})
    small, large = found[str(SMALL)][1], found[str(LARGE)][1]
    exponent = math.log(large / small) / math.log(LARGE / SMALL)
    return Row(
        f"{INDEX}, 1 thread",
        f"{LARGE:,} x 48, k = {K}",
        large,
        f"EXTRAPOLATED {brute.baseline}",
        brute.baseline_seconds * (LARGE / MIDDLE) ** 2,
        f"time grows with n to the power {exponent:.2f} from {SMALL:,}; baseline extrapolated with power 2",
    )


def million(brute: Row) -> Row:
    """A million rows on two threads, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "days.npy"
        np.save(path, np.concatenate([days(LARGE, seed) for seed in range(MILLION // LARGE)]))
        command = [sys.executable, __file__, "--alone", str(path)]
        seconds, peak = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return Row(
        f"{INDEX}, 2 threads",
        f"{MILLION:,} x 48, k = {K}",
        seconds,
        f"EXTRAPOLATED {brute.baseline}",
        brute.baseline_seconds * (MILLION / MIDDLE) ** 2,
        f"peak memory {peak / 2**20:.2f} GiB with the panel; baseline extrapolated with power 2",
    )


def alone(path: str) -> None:
    """Seconds and peak memory in KiB of one run."""
    x = np.load(path)
    by_index(x[:3000])  # compiles
    _, seconds = best_of(lambda: by_index(x, 2), rounds=1)
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))


def measure() -> list[Row]:
    x, long = days(LARGE), two_months(1_400)
    for part in (x[:3000], long[:200]):  # compiles
        by_index(np.ascontiguousarray(part))
    by_definition(x[: 4 * K])
    for threads in (1, 2):
        for dtype in (np.float64, np.float32):
            brute_mdav(x[: 4 * K], K, threads, dtype)
    rows = compare(np.ascontiguousarray(x[:SMALL]), (1,), ("float64",), exact=True)
    middle = compare(np.ascontiguousarray(x[:MIDDLE]), (1, 2), ("float64", "float32"), rounds=1)
    rows += [*middle, growth(x, middle[0])]
    rows += compare(long, (1,), ("float64",))
    return [*rows, million(next(row for row in middle if row.baseline.endswith("float64, 2 threads")))]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(sys.argv[2])
    else:
        print_rows(measure())
