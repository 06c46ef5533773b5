"""(n, l, k)-anonymity: the solver and the paper's heuristic, how time grows, and the exact check.

Run: python benchmarks/nlk.py [--json]

Baselines: for the solver the paper's heuristic MTH in the same run on the small panel, and on the large one the time
allowed; for MTH, which checks each split only where it can matter, the same splits with the whole check after every
one; for the check, naming the groups of each instant by numpy's unique. Panels are simulated hourly meters over 14
days. Compile time is left out. Comparisons are on one thread, as the baselines are, each side the best of 3; the solver
on the large panels has all threads and is timed once.
"""

from __future__ import annotations

import math
import resource

import numba
import numpy as np
from measuring import Row, best_of, print_rows
from numpy.typing import NDArray

from shoal import NLK, Panel, simulate
from shoal.kernels.nlk_check import find_breach
from shoal.kernels.nlk_labels import instant_labels
from shoal.kernels.nlk_splits import cluster_instants, split_groups

N, L, K = 5, 15, 10
SMALL, MIDDLE, LARGE = 180, 1000, 10_000
TINY = (40, 24)
ALLOWED = 90.0  # seconds for the large panel
LIMIT = 2000


def meters(n: int) -> Panel:
    return simulate.meters(n, days=14, seed=5)


def split_with_whole_checks(x: NDArray[np.float64], labels: NDArray[np.int32]) -> int:
    """Every pair of neighbours in every group of stage 1, the whole check after each; the number of splits made."""
    labels = labels.copy()
    made = 0
    for t in range(x.shape[1]):
        for group in np.unique(labels[:, t]):
            members = np.flatnonzero(labels[:, t] == group)
            members = members[np.argsort(x[members, t], kind="stable")]
            for cut in 1 + np.argsort(-np.diff(x[members, t]), kind="stable"):
                part = labels[members[cut], t]
                upper = members[cut:][labels[members[cut:], t] == part]
                tried = labels.copy()
                tried[upper, t] = labels[:, t].max() + 1
                tried[:, t] = np.unique(tried[:, t], return_inverse=True)[1]
                if find_breach(tried, np.arange(len(x)), 2, 4, 6, LIMIT).status == 0:
                    labels, made = tried, made + 1
    return made


def measure() -> list[Row]:
    panels = {n: meters(n) for n in (SMALL, MIDDLE, LARGE)}
    optimal, mth = (NLK(n=N, l=L, k=K, strategy=strategy) for strategy in ("optimal", "mth"))
    warm = meters(30)
    for method in (optimal, mth):
        method.anonymize(warm).check()
    size = f"x 336, ({N}, {L}, {K})"
    rows = []
    threads = numba.get_num_threads()
    numba.set_num_threads(1)  # mth and numpy have one
    _, by_mth = best_of(lambda: mth.anonymize(panels[SMALL]))
    candidate, seconds = best_of(lambda: optimal.anonymize(panels[SMALL]))
    gap = candidate.recipe.figures["at_most_above_best"]
    rows.append(
        Row(
            "NLK optimal, 1 thread",
            f"{SMALL} {size}",
            seconds,
            "NLK mth",
            by_mth,
            f"at most {100 * gap:.2f} % above the best that groups of neighbouring values can do",
        )
    )
    numba.set_num_threads(threads)
    times = {}
    for n in (MIDDLE, LARGE):
        candidate, times[n] = best_of(lambda n=n: optimal.anonymize(panels[n]), rounds=1)
    exponent = math.log(times[LARGE] / times[MIDDLE]) / math.log(LARGE / MIDDLE)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note = (
        f"grows with the series to the power {exponent:.2f} from {MIDDLE:,}; peak memory of the process {peak:.0f} MB"
    )
    rows.append(Row("NLK optimal", f"{LARGE:,} {size}", times[LARGE], "the time allowed", ALLOWED, note))

    values = panels[LARGE].values
    published = candidate.values
    numba.set_num_threads(1)
    verdict, seconds = best_of(candidate.check)
    _, by_unique = best_of(lambda: [np.unique(published[:, t], return_inverse=True) for t in range(values.shape[1])])
    note = "holds" if verdict.holds else "DOES NOT HOLD"
    rows.append(
        Row(
            "NLKAnonymity.check, 1 thread",
            f"{LARGE:,} {size}",
            seconds,
            "numpy unique at every instant",
            by_unique,
            note,
        )
    )

    x = np.ascontiguousarray(panels[SMALL].values[: TINY[0], : TINY[1]])
    labels = cluster_instants(x, 6)
    (_, figures), seconds = best_of(lambda: split_groups(x, labels, 2, 4, 6, "mth", LIMIT))
    split_with_whole_checks(x[:, :2], instant_labels(np.ascontiguousarray(x[:, :2, None]).view(np.uint64)))  # compiles
    made, whole = best_of(lambda: split_with_whole_checks(x, labels))
    note = f"{figures.made} splits; the baseline, in another order, {made}"
    rows.append(
        Row("NLK mth, splits", f"{TINY[0]} x {TINY[1]}, (2, 4, 6)", seconds, "the whole check after each", whole, note)
    )
    return rows


if __name__ == "__main__":
    print_rows(measure())
