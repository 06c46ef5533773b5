"""Microaggregation, (n, l, k) and (k, P) on an engine: how time and memory grow, what it costs in loss.

Run: make scale, or python benchmarks/scale.py [data] [memory] [1m] [3m] [10m] [local] [nlk] [kp] [page]

Without names all parts run one after another; of nlk and kp other sizes can be asked for, as kp=1000000,3000000. Each
runs in a process of its own and puts its figures into docs/results/scale.json, from which docs/results/scale.md is
written; so parts can be run on different days. Data are simulated once, into Parquet files under --data (a folder of
the system's temporary one): half-hourly days of a mix of meters, 50 000 meters a file, and for `local` random daily
profiles of 750 readings. They take 8 GB, and what the work writes aside up to 20 GB more. `--series` makes all sets
smaller, to try things out; such figures are not kept.

Baseline of the loss on a million series: `Microaggregation(k=10, algorithm="mdav").anonymize` in memory, in one shard,
on the same series; part `memory`. Spark runs as local[2] with 2 GiB for Java. Sessions are
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
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from scale_data import FILE, LONG, first_files, linked, make_data, panel_on
from scale_page import OTHERS, SIZES, K, write_page
from scale_watch import Disk, Watch, group_figures, memory_group, remove_group

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
LIMIT = 2 * 10**9
PARTS = ("data", "memory", *SIZES, "local", "nlk", "kp", "page")


def timed(work: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def run_spark(folder: Path, n: int) -> dict[str, Any]:
    """Method and check on Spark."""
    from shoal import Microaggregation
    from shoal.engines import Spark
    from shoal.utility import InformationLoss

    method = Microaggregation(k=K, algorithm="mdav")
    conf = {"spark.driver.memory": "2g", "spark.sql.execution.arrow.maxRecordsPerBatch": "20000"}
    with linked(first_files(folder, n)) as path, Spark(master="local[2]", conf=conf) as engine:
        warm = first_files(folder, 1)[0]
        method.anonymize(panel_on(engine, engine.read(warm), min(FILE, n), 48, size=5000)).check()
        panel = panel_on(engine, engine.read(path), n, 48)
        with Watch() as watch, Disk(Path(engine.session.conf.get("spark.local.dir"))) as disk:
            candidate, method_seconds = timed(lambda: method.anonymize(panel))
            verdict, check_seconds = timed(candidate.check)
        java = engine.session._jvm.java.lang
        java.System.gc()
        heap = java.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
        return {
            "series": n,
            "method_seconds": method_seconds,
            "check_seconds": check_seconds,
            "holds": verdict.holds,
            "smallest": verdict.measured,
            "shards": candidate.n_shards,
            "loss": candidate.measure(InformationLoss()).value if n <= SIZES["1m"] else None,
            "load": watch.load,
            "processor_seconds": watch.processor,
            "driver_bytes": watch.driver,
            "java_bytes": watch.java,
            "heap_bytes": heap,
            "worker_bytes": watch.worker,
            "scratch_bytes": disk.most,
        }


def run_memory(folder: Path, n: int) -> dict[str, Any]:
    """The same series in memory."""
    from shoal import Microaggregation, Panel
    from shoal.engines.rows import unpack
    from shoal.utility import InformationLoss

    rows = pq.read_table(first_files(folder, n))
    panel = Panel(unpack(rows["row"]), ids=rows["id"].to_pylist(), copy=False)
    method = Microaggregation(k=K, algorithm="mdav")
    few = panel.take(np.arange(5000))
    method.anonymize(few).check()
    candidate, seconds = timed(lambda: method.anonymize(panel))
    verdict, check_seconds = timed(candidate.check)
    return {
        "series": n,
        "method_seconds": seconds,
        "check_seconds": check_seconds,
        "holds": verdict.holds,
        "loss": candidate.measure(InformationLoss()).value,
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

    path = str(folder / "profiles")
    files = sorted((folder / "profiles").glob("*.parquet"))
    n = sum(pq.read_metadata(file).num_rows for file in files)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    method = Microaggregation(k=K, algorithm="mdav")
    limit = int(next(group.glob("memory.limit_in_bytes"), group / "memory.max").read_text())
    most = Disk(scratch)
    with Local(memory=limit, scratch=scratch) as engine, most:
        panel = panel_on(engine, engine.read(path), n, LONG[1])
        candidate, seconds = timed(lambda: method.anonymize(panel))
        verdict, check_seconds = timed(candidate.check)
    return {
        "series": n,
        "panel_bytes": 8 * n * LONG[1],
        "method_seconds": seconds,
        "check_seconds": check_seconds,
        "holds": verdict.holds,
        "smallest": verdict.measured,
        "shards": candidate.n_shards,
        "process_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "scratch_bytes": most.most,
    }


def run_other(name: str, sizes: list[str]) -> list[dict[str, Any]]:
    """Rows of a script of its own: workers get what is written in the script that runs."""
    command = [sys.executable, str(HERE / f"scale_{name}.py"), *sizes, "--json"]
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
    name, _, sizes = part.partition("=")
    if name in OTHERS:
        return run_other(name, [str(n)] if n else [size for size in sizes.split(",") if size])
    return run_spark(options.data, n or SIZES[part])


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
    unknown = {part.partition("=")[0] for part in options.parts} - set(PARTS)
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
            results[part.partition("=")[0]] = json.loads(text)
            kept.write_text(json.dumps(results, indent=1) + "\n")
        if kept.exists() and not options.series:
            (RESULTS / "scale.md").write_text(write_page(json.loads(kept.read_text())), encoding="utf-8")
    if not options.parts:
        shutil.rmtree(options.data, ignore_errors=True)


if __name__ == "__main__":
    main()
