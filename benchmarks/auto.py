"""The default algorithm against exact MDAV: time, loss and growth, on smooth and on noisy profiles.

Run: python benchmarks/auto.py [--json] [--page] [--sizes 20000,100000,1000000]
     python benchmarks/auto.py --alone noisy 1000000 >> runs.jsonl, then --page --runs runs.jsonl

Baseline: exact MDAV by index on one thread, in the same run. Times are processor time, which does not count what other
programs take of the machine; with two threads, that of both together, and by the clock next to MDAV's by the clock.
They are the best of three, in turns, so that noise meets all alike; a million series run once, and on two threads only.
Each size has a process of its own, whose peak memory includes the panel. Compile time is left out. `--page` writes the
table into docs/results/microaggregation.md.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # read when numpy is loaded

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from mdav import noisy_profiles, profiles
from measuring import ROUNDS, Row, print_rows
from numpy.typing import NDArray
from sections import put_section

from shoal.kernels.nearest_groups import means_and_loss
from shoal.methods.algorithms import Algorithm, Grouping

K = 10
N_COLUMNS = 48
AIMED_AT = (100_000, 3.0, 0.90)  # series; times MDAV's time on one thread, and share of its loss, at most
AIMED_BY_CLOCK = 1.6  # times MDAV's time on one thread, with two threads
FURTHER = (100_006, 100_007)  # another number is another seed: panels on which nothing was tuned
SIZES = (20_000, AIMED_AT[0], *FURTHER, 1_000_000)
MOST_LOAD = 3.0  # the load average up to which times by the clock mean anything
MOST_COMPARED = 1_000_000  # series; from there on only two threads run
KINDS = {"smooth": profiles, "noisy": noisy_profiles}
PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "microaggregation.md"


@dataclass(frozen=True)
class Run:
    """One size of one kind: processor seconds, seconds by the clock, losses and memory."""

    kind: str
    n: int
    mdav: float
    one: float
    two: float
    two_by_clock: float | None  # None where other programs kept the machine busy
    mdav_by_clock: float
    loss: float  # of the default
    mdav_loss: float
    same: bool | None  # groups on one, two and three threads, where compared
    peak: float  # GiB, of the default
    refined: float | None = None  # seconds of MDAV with refine=True, on one thread, where it was tried
    refined_loss: float | None = None


def grouped(
    x: NDArray[np.float64], algorithm: Algorithm, threads: int, *, refine: bool | None = None
) -> NDArray[np.int64]:
    grouping = Grouping(
        k=K, algorithm=algorithm, refine=refine, gain=0.2, proposals=1, seed=0, loss="squared", threads=threads
    )
    return grouping.form(x, x, np.arange(len(x)), None)


@dataclass(frozen=True)
class Timed:
    """The groups that some work forms, and the shortest it took."""

    labels: NDArray[np.int64]
    processor: float
    clock: float


def best_of(works: dict[str, Callable[[], NDArray[np.int64]]], rounds: int) -> dict[str, Timed]:
    """Each work as often as there are rounds, in turns."""
    best: dict[str, Timed] = {}
    for _ in range(rounds):
        for name, work in works.items():
            processor, clock = time.process_time(), time.perf_counter()
            labels = work()
            processor, clock = time.process_time() - processor, time.perf_counter() - clock
            before = best.get(name, Timed(labels, processor, clock))
            best[name] = Timed(labels, min(processor, before.processor), min(clock, before.clock))
    return best


def share_lost(x: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    y = x - x.mean(axis=0)
    return float(means_and_loss(y, labels, int(labels.max()) + 1)[1] / np.einsum("ij,ij->", y, y))


def alone(kind: str, n: int) -> Run:
    """Measure one size in this process."""
    small = KINDS[kind](5000, N_COLUMNS)
    for algorithm in ("auto", "mdav"):
        grouped(small, algorithm, 1)  # compiles
    grouped(small, "mdav", 1, refine=True)
    x = KINDS[kind](n, N_COLUMNS)
    is_busy, is_large = os.getloadavg()[0] > MOST_LOAD, n >= MOST_COMPARED
    by_two = {"two": lambda: grouped(x, "auto", 2)}
    best_of(by_two, 1)  # for the peak of its memory
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    by_one = {} if is_large else {"one": lambda: grouped(x, "auto", 1)}
    best = best_of({**by_two, **by_one, "mdav": lambda: grouped(x, "mdav", 1)}, 1 if is_large else ROUNDS)
    two, one, mdav = best["two"], best.get("one", best["two"]), best["mdav"]
    run = Run(
        kind,
        n,
        mdav.processor,
        one.processor,
        two.processor,
        None if is_busy else two.clock,
        mdav.clock,
        share_lost(x, two.labels),
        share_lost(x, mdav.labels),
        None,
        peak,
    )
    if is_large:
        return run
    third = grouped(x, "auto", 3)
    refined = best_of({"refined": lambda: grouped(x, "mdav", 1, refine=True)}, 1)["refined"]
    return replace(
        run,
        same=bool((two.labels == one.labels).all() and (two.labels == third).all()),
        refined=refined.processor,
        refined_loss=share_lost(x, refined.labels),
    )


def run_all(sizes: tuple[int, ...]) -> list[Run]:
    runs = []
    for kind in KINDS:
        for n in sizes:
            command = [sys.executable, __file__, "--alone", kind, str(n)]
            environment = os.environ | {"NUMBA_NUM_THREADS": "3"}
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
            runs.append(Run(**json.loads(done.stdout)))
    return runs


def exponent(runs: list[Run], run: Run) -> str:
    """How processor time grows from the next smaller size of the same kind."""
    smaller = [other for other in runs if other.kind == run.kind and other.n < 0.9 * run.n]
    if not smaller:
        return ""
    before = max(smaller, key=lambda other: other.n)
    return f"{math.log(run.one / before.one) / math.log(run.n / before.n):.2f}"


def rows_of(runs: list[Run]) -> list[Row]:
    rows = []
    for run in runs:
        for threads, seconds in ((1, run.one), (2, run.two / 2)):
            note = f"{run.loss / run.mdav_loss:.3f} of its loss; peak memory {run.peak:.2f} GiB with the panel"
            if growth := exponent(runs, run):
                note += f"; time grows with n to the power {growth}"
            what = f"default grouping, {run.kind}, {threads} thread{'s' * (threads > 1)}, processor time of each"
            size = f"{run.n:,} x {N_COLUMNS}, k = {K}"
            rows.append(Row(what, size, seconds, "exact MDAV by index, 1 thread", run.mdav, note))
    return rows


def table(runs: list[Run]) -> str:
    lines = [
        f"Written by `python benchmarks/auto.py --page`; do not edit. k = {K}, {N_COLUMNS} values each. Times are",
        "processor seconds, the best of three runs, at a million of one; with two threads of both together, and by",
        "the clock unless other programs kept the machine busy. Rows may come from different runs of that file.",
        "Growth: the power of n, from the size above; at a million that of two threads. The panels of "
        f"{' and '.join(f'{n:,}' for n in FURTHER)}",
        "series are drawn in the same way; nothing was tuned on them.",
        "",
        "| panel | series | MDAV | default, 1 thread | times MDAV | 2 threads | by the clock | MDAV by the clock "
        "| growth | loss of MDAV | of the default | ratio | peak memory | same on 1, 2, 3 threads |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for run in runs:
        figures = [
            run.kind,
            f"{run.n:,}",
            f"{run.mdav:.2f}",
            f"{run.one:.2f}",
            f"{run.one / run.mdav:.2f}",
            f"{run.two:.2f}",
            "" if run.two_by_clock is None else f"{run.two_by_clock:.2f}",
            "" if run.two_by_clock is None else f"{run.mdav_by_clock:.2f}",
            exponent(runs, run),
            f"{run.mdav_loss:.4f}",
            f"{run.loss:.4f}",
            f"{run.loss / run.mdav_loss:.3f}",
            f"{run.peak:.2f} GiB",
            {True: "yes", False: "NO", None: "not compared"}[run.same],
        ]
        lines.append(f"| {' | '.join(figures)} |")
    return "\n".join([*lines, "", *(aim_of(run) for run in runs if run.n in (AIMED_AT[0], *FURTHER))])


def aim_of(run: Run) -> str:
    """Whether the aims for one and two threads are met, and what a search to the end would come to."""
    _, most_times, most_loss = AIMED_AT
    times, loss = run.one / run.mdav, run.loss / run.mdav_loss
    met = ["met" if good else "missed" for good in (times <= most_times, loss <= most_loss)]
    told = (
        f"- {run.kind.capitalize()}, {run.n:,} series, one thread: {times:.2f} times MDAV's time, aim at most "
        f"{most_times:g}: {met[0]}. {loss:.4f} of its loss, aim at most {most_loss:.2f}: {met[1]}. {by_clock_of(run)}"
    )
    if run.refined is None or run.refined_loss is None:
        return told
    return (
        f"{told} Exact MDAV takes {run.mdav:.2f} s. Refined from there until nothing helps among the nearest groups "
        f"(`refine=True`), it takes {run.refined / run.mdav:.1f} times as long and has "
        f"{run.refined_loss / run.mdav_loss:.3f} of its loss."
    )


def by_clock_of(run: Run) -> str:
    if run.two_by_clock is None:
        return "Two threads were not timed by the clock: other programs kept the machine busy."
    times = run.two_by_clock / run.mdav_by_clock
    met = "met" if times <= AIMED_BY_CLOCK else "missed"
    return f"Two threads: {times:.2f} times by the clock, aim at most {AIMED_BY_CLOCK:g}: {met}."


def measure() -> list[Row]:
    return rows_of(run_all(SIZES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--runs", type=Path, help="lines that --alone printed; measure nothing")
    parser.add_argument("--alone", nargs=2, metavar=("KIND", "N"))
    given = parser.parse_args()
    if given.alone:
        print(json.dumps(asdict(alone(given.alone[0], int(given.alone[1])))))
        return
    if given.runs:
        runs = [Run(**json.loads(line)) for line in given.runs.read_text().splitlines()]
        runs.sort(key=lambda run: (list(KINDS).index(run.kind), run.n))
    else:
        runs = run_all(tuple(int(size) for size in given.sizes.split(",")))
    if given.page:
        put_section(PAGE, "Microaggregation", "The default at any size", table(runs))
    print_rows(rows_of(runs))


if __name__ == "__main__":
    main()
