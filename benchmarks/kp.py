"""KAPRA on random walks of ten instants: seconds, memory and growth; and its group formation against all pairs.

Run: python benchmarks/kp.py [--json]

Whole runs, from panel to candidate, are compared with the time allowed; each size runs in a process of its own, whose
peak memory includes the panel. Growth is from 10 000 to 1 000 000 series. Group formation by index is compared with the
literal Algorithm 3, compiled, one thread, on the same subgroups: it must give the same groups. Compile time is left
out. The small size is the best of 3, the others run once.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys

import numpy as np
from measuring import Row, best_of, print_rows, side_by_side
from numba import njit
from numpy.typing import NDArray

from shoal import Panel
from shoal.kernels.kp_clusters import split_sets
from shoal.kernels.kp_groups import boxes_of, form_groups
from shoal.methods.kp import KP

SMALL, MIDDLE, MILLION = 10_000, 100_000, 1_000_000
ALLOWED = {MIDDLE: 10.0, MILLION: 150.0}  # seconds
SETTINGS = ((10, 10), (10, 3))
LENGTH = 10


def walks(n: int) -> NDArray[np.float64]:
    return np.random.default_rng(n).normal(size=(n, LENGTH)).cumsum(axis=1)


def alone(n: int, k: int, p: int) -> None:
    """Seconds and peak memory in KiB of a run."""
    method = KP(k=k, p=p)
    method.anonymize(Panel(walks(1000)))  # compiles
    panel = Panel(walks(n))
    candidate, seconds = best_of(lambda: method.anonymize(panel), rounds=3 if n == SMALL else 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert candidate.check().holds
    print(json.dumps([seconds, peak, candidate.recipe.figures["series_suppressed"]]))


def run(n: int, k: int, p: int) -> tuple[float, float, int]:
    command = [sys.executable, __file__, "--alone", str(n), str(k), str(p)]
    seconds, peak, n_suppressed = json.loads(
        subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    )
    return seconds, peak, n_suppressed


def whole(k: int, p: int) -> list[Row]:
    """KAPRA from panel to candidate."""
    rows = []
    small = run(SMALL, k, p)[0]
    for n in (MIDDLE, MILLION):
        seconds, peak, n_suppressed = run(n, k, p)
        exponent = math.log(seconds / small) / math.log(n / SMALL)
        rows.append(
            Row(
                what="KAPRA",
                size=f"{n:,} x {LENGTH}, k = {k}, P = {p}",
                seconds=seconds,
                baseline="the time allowed",
                baseline_seconds=ALLOWED[n],
                note=f"peak memory {peak / 2**20:.2f} GiB with the panel; grows with n to the power {exponent:.2f} "
                f"from {SMALL:,} ({small:.3g} s); {n_suppressed} series suppressed",
            )
        )
    return rows


@njit(cache=True)
def literal_groups(
    low: NDArray[np.float64], high: NDArray[np.float64], sizes: NDArray[np.int64], k: int
) -> NDArray[np.int64]:
    """Algorithm 3 over all pairs, without joining the rest, which is -1."""
    m, length = low.shape
    groups = np.full(m, -1, dtype=np.int64)
    box_low, box_high = np.empty(length), np.empty(length)
    n_rows = sizes.sum()
    number = 0
    while n_rows >= k:
        n = 0
        box_low[:], box_high[:] = np.inf, -np.inf
        while n < k:
            best, least = -1, np.inf
            for s in range(m):
                if groups[s] < 0:
                    total = 0.0
                    for t in range(length):
                        d = max(box_high[t], high[s, t]) - min(box_low[t], low[s, t])
                        total += d * d
                    total *= float(n + sizes[s]) * float(n + sizes[s])
                    if total < least or best < 0:
                        best, least = s, total
            groups[best] = number
            n += sizes[best]
            for t in range(length):
                box_low[t] = min(box_low[t], low[best, t])
                box_high[t] = max(box_high[t], high[best, t])
        n_rows -= n
        number += 1
    return groups


def same_groups(found: NDArray[np.int64], literal: NDArray[np.int64]) -> bool:
    """Whether both put the same subgroups together; what the literal order leaves over has joined some group."""
    placed = literal >= 0
    pairs = np.unique(np.stack([found[placed], literal[placed]]), axis=1).shape[1]
    return bool(pairs == len(np.unique(literal[placed])) == len(np.unique(found)))


def formation(n: int, k: int = 10, p: int = 3) -> Row:
    """Group formation alone, on subgroups of near walks."""
    x = walks(n)
    low, high, sizes = boxes_of(x, split_sets(x, np.zeros(n, dtype=np.int64), p))
    found = side_by_side(
        {
            "index": lambda: form_groups(low, high, sizes, k, np.zeros(1, dtype=np.int64)),
            "literal": lambda: literal_groups(low, high, sizes, k),
        },
        rounds=3 if n == SMALL else 1,
    )
    same = same_groups(found["index"][0], found["literal"][0])
    return Row(
        what="group formation by index, 1 thread",
        size=f"{len(sizes):,} subgroups of {n:,} x {LENGTH}, k = {k}, P = {p}",
        seconds=found["index"][1],
        baseline="the literal Algorithm 3 over all pairs, compiled, 1 thread",
        baseline_seconds=found["literal"][1],
        note="identical groups" if same else "GROUPS DIFFER",
    )


def measure() -> list[Row]:
    rows = [row for k, p in SETTINGS for row in whole(k, p)]
    formation(1000)  # compiles
    return [*rows, formation(SMALL), formation(MIDDLE)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        alone(*map(int, sys.argv[2:5]))
    else:
        print_rows(measure())
