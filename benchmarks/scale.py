"""Microaggregation, (n, l, k) and (k, P) on an engine: how time and memory grow, what it costs in loss.

Run: make scale, or python benchmarks/scale.py [data] [memory] [1m] [3m] [10m] [local] [nlk] [kp] [page]

Without names all parts run one after another. Each runs in a process of its own and puts its figures into
docs/results/scale.json, from which docs/results/scale.md is written; so parts can be run on different days. Data are
simulated once, into Parquet files under --data (a folder of the system's temporary one): half-hourly days of a mix of
meters, 50 000 meters a file, and for `local` random daily profiles of 750 readings. They take 8 GB, and what the
work writes aside up to 20 GB more. `--series` makes all sets smaller, to try things out; such figures are not kept.

Baseline of the loss and of the time on a million series: `Microaggregation(k=10, algorithm="mdav").anonymize` in memory
on the same series, in the same way timed; part `memory`. Spark runs as local[2] with 2 GiB for Java. Sessions are
started and kernels compiled before the clock runs; reading the files is timed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scale_data import FILE, LONG, block_panel, first_files, linked, make_data
from scale_page import OTHERS, SIZES, K, write_page
from scale_watch import Disk, Watch, group_figures, memory_group, remove_group

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
LIMIT = 2 * 10**9
PARTS = ("data", "memory", *SIZES, "local", "nlk", "kp", "page")

SUMS = pa.schema([("within", pa.float64()), ("square", pa.float64()), ("sums", pa.binary())])


@dataclass(frozen=True)
class Squares:
    """Squared differences between originals and what is published, and what the total needs."""

    def __call__(self, blocks: Any) -> Any:
        from shoal.engines.rows import pack, unpack

        within = square = 0.0
        sums: Any = 0.0
        for block in blocks:
            x, y = unpack(block["row"]), unpack(block["published"])
            within += float(((x - y) ** 2).sum())
            square += float((x**2).sum())
            sums = sums + x.sum(axis=0)
        if np.ndim(sums):
            yield pa.record_batch([[within], [square], pack(sums[None])], schema=SUMS)


def loss_of(candidate: Any) -> float:
    """SSE / SST."""
    from shoal.engines.rows import unpack

    found = candidate.panel.engine.collect(candidate.panel.engine.map(candidate.table, Squares(), SUMS))
    total = unpack(found["sums"]).sum(axis=0)
    between = float(np.sum(found["square"].to_numpy())) - float((total**2).sum()) / candidate.n_series
    return float(np.sum(found["within"].to_numpy())) / between


def timed(work: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def run_spark(folder: Path, n: int) -> dict[str, Any]:
    """Method and check on Spark."""
    from shoal import Microaggregation
    from shoal.engines import Spark
    from shoal.engines.checks import check
    from shoal.engines.microaggregation import anonymize

    method = Microaggregation(k=K, algorithm="mdav")
    conf = {"spark.driver.memory": "2g", "spark.sql.execution.arrow.maxRecordsPerBatch": "20000"}
    with linked(first_files(folder, n)) as path, Spark(master="local[2]", conf=conf) as engine:
        warm = block_panel(engine, first_files(folder, 1)[0], min(FILE, n), 48)
        check(method.aims_at, anonymize(method, warm, leaf=5000))
        panel = block_panel(engine, path, n, 48)
        with Watch() as watch:
            candidate, method_seconds = timed(lambda: anonymize(method, panel))
            verdict, check_seconds = timed(lambda: check(method.aims_at, candidate))
        java = engine.session._jvm.java.lang
        java.System.gc()
        heap = java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        return {
            "series": n,
            "method_seconds": method_seconds,
            "check_seconds": check_seconds,
            "holds": verdict.holds,
            "smallest": verdict.measured,
            "leaves": candidate.recipe.figures["leaves"],
            "groups": candidate.recipe.figures["groups"],
            "loss": loss_of(candidate) if n <= SIZES["1m"] else None,
            "driver_bytes": watch.driver,
            "java_bytes": watch.java,
            "heap_bytes": heap,
            "worker_bytes": watch.worker,
        }


def run_memory(folder: Path, n: int) -> dict[str, Any]:
    """The same series in memory."""
    from shoal import Microaggregation, Panel
    from shoal.engines.rows import unpack

    rows = pq.read_table(first_files(folder, n))
    panel = Panel(unpack(rows["row"]), ids=rows["id"].to_pylist(), copy=False)
    method = Microaggregation(k=K, algorithm="mdav")
    few = panel.take(np.arange(5000))
    method.anonymize(few).check()
    candidate, seconds = timed(lambda: method.anonymize(panel))
    verdict, check_seconds = timed(candidate.check)
    x = panel.rows
    sse, sst = float(((x - candidate.values) ** 2).sum()), float(((x - x.mean(axis=0)) ** 2).sum())
    return {
        "series": n,
        "method_seconds": seconds,
        "check_seconds": check_seconds,
        "holds": verdict.holds,
        "loss": sse / sst,
        "driver_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def run_limited(folder: Path, limit: int) -> dict[str, Any]:
    """`Local` on the long panel, in a group of processes that the kernel allows so much memory."""
    group = memory_group(limit)
    if group is None:
        sys.exit("The part `local` needs control groups for memory that this user may make: run it as root.")
    try:
        command = [sys.executable, __file__, "--alone", "inside", "--data", str(folder), "--group", str(group)]
        found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        peak, failures = group_figures(group)
    finally:
        remove_group(group)
    return {**json.loads(found.stdout), "limit_bytes": limit, "peak_bytes": peak, "failures": failures}


def run_inside(folder: Path, group: Path) -> dict[str, Any]:
    """What runs in the group."""
    (group / "cgroup.procs").write_text(str(os.getpid()))
    from shoal import Microaggregation
    from shoal.engines import Local
    from shoal.engines.checks import check
    from shoal.engines.microaggregation import anonymize

    path = str(folder / "profiles")
    files = sorted((folder / "profiles").glob("*.parquet"))
    n = sum(pq.read_metadata(file).num_rows for file in files)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    method = Microaggregation(k=K, algorithm="mdav")
    limit = int(next(group.glob("memory.limit_in_bytes"), group / "memory.max").read_text())
    most = Disk(scratch)
    with Local(memory=limit, scratch=scratch) as engine, most:
        panel = block_panel(engine, path, n, LONG[1])
        candidate, seconds = timed(lambda: anonymize(method, panel))
        verdict, check_seconds = timed(lambda: check(method.aims_at, candidate))
    return {
        "series": n,
        "panel_bytes": 8 * n * LONG[1],
        "method_seconds": seconds,
        "check_seconds": check_seconds,
        "holds": verdict.holds,
        "smallest": verdict.measured,
        "leaves": candidate.recipe.figures["leaves"],
        "process_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "scratch_bytes": most.most,
    }


def run_other(name: str, n: int | None) -> list[dict[str, Any]]:
    """Rows of a script of its own: workers get what is written in the script that runs, not what it imports."""
    command = [sys.executable, str(HERE / f"scale_{name}.py"), *([str(n)] if n else []), "--json"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found: list[dict[str, Any]] = json.loads(text.strip().splitlines()[-1])
    return found


def run_alone(part: str, options: argparse.Namespace) -> Any:
    n = options.series
    if part == "data":
        return make_data(options.data, n or SIZES["10m"], n or LONG[0])
    if part == "memory":
        return run_memory(options.data, n or SIZES["1m"])
    if part == "inside":
        return run_inside(options.data, options.group)
    if part == "local":
        return run_limited(options.data, options.limit)
    return run_other(part, n) if part in OTHERS else run_spark(options.data, n or SIZES[part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "shoal-scale")
    parser.add_argument("--series", type=int, help="make all sets so small; nothing is kept")
    parser.add_argument("--limit", type=int, default=LIMIT, help="bytes of memory for the part `local`")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--group", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.data = options.data.resolve()
    if options.alone:
        with redirect_stdout(sys.stderr):  # what others print on the way is no result
            found = run_alone(options.alone, options)
        print(json.dumps(found))
        return
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    kept = RESULTS / "scale.json"
    for part in options.parts or PARTS:
        if part != "page":
            start = time.perf_counter()
            own = ["--alone", part, "--data", str(options.data), "--limit", str(options.limit)]
            own += ["--series", str(options.series)] if options.series else []
            text = subprocess.run(
                [sys.executable, __file__, *own], check=True, stdout=subprocess.PIPE, text=True
            ).stdout
            print(f"{part}: {time.perf_counter() - start:.0f} s in all: {text.strip()}", file=sys.stderr, flush=True)
            if part == "data" or options.series:
                continue
            results = json.loads(kept.read_text()) if kept.exists() else {}
            results[part] = json.loads(text)
            kept.write_text(json.dumps(results, indent=1) + "\n")
        if kept.exists() and not options.series:
            (RESULTS / "scale.md").write_text(write_page(json.loads(kept.read_text())), encoding="utf-8")
    if not options.parts:
        shutil.rmtree(options.data, ignore_errors=True)


if __name__ == "__main__":
    main()
