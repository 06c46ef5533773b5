"""Microaggregation, (n, l, k) and (k, P) on an engine: how time and memory grow, what it costs in loss.

Run: make scale, or python benchmarks/scale.py [data] [memory] [1m] [3m] [10m] [local] [nlk] [kp] [page]

Without names all parts run one after another. Each runs in a process of its own and puts its figures into
docs/results/scale.json, from which docs/results/scale.md is written; so parts can be run on different days. Data are
simulated once, into Parquet files under --data (a folder of the system's temporary one): half-hourly days of a mix of
meters, 50 000 meters a file, and for `local` random daily profiles of 750 readings. They take 12 GB, and as much again
while the work runs. `--series` makes all sets smaller, to try things out; such figures are not kept.

Baseline of the loss and of the time on a million series: `Microaggregation(k=10, algorithm="mdav").anonymize` in memory
on the same series, in the same way timed; part `memory`. Spark runs as local[2] with 2 GiB for Java. Sessions are
started and kernels compiled before the clock runs; reading the files is timed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs" / "results"
K = 10
FILE = 50_000  # series in a file of data
SIZES = {"1m": 1_000_000, "3m": 3_000_000, "10m": 10_000_000}
LONG = 1_000_000, 750  # 6 GB
LIMIT = 2 * 10**9
PARTS = ("data", "memory", *SIZES, "local", "nlk", "kp", "page")
SCHEMA = pa.schema([("id", pa.string()), ("subject", pa.string()), ("row", pa.binary())])


# The data


def write_days(job: tuple[Path, int, int]) -> None:
    """Half-hourly days of some meters."""
    from shoal import simulate

    folder, number, n = job
    panel = simulate.meters(n, days=1, step="30min", start="2024-01-10", seed=number)
    write_rows(folder / f"days-{number:04}.parquet", number, np.asarray(panel.values))


def write_profiles(job: tuple[Path, int, int]) -> None:
    """Fifteen half-hourly days: one of 200 profiles, at a level of its own, with noise."""
    folder, number, n = job
    rng = np.random.default_rng([7, number])
    profiles = np.random.default_rng(7).gamma(2.0, 100.0, (200, LONG[1]))
    values = profiles[rng.integers(200, size=n)] * rng.lognormal(0.0, 0.5, (n, 1))
    values += rng.normal(0.0, 30.0, values.shape)
    write_rows(folder / f"profiles-{number:04}.parquet", number, values)


def write_rows(path: Path, number: int, values: np.ndarray) -> None:
    from shoal.engines.rows import pack

    ids = pa.array([f"{number:04}-{i:05}" for i in range(len(values))])
    table = pa.table([ids, ids, pack(values)], schema=SCHEMA)
    aside = path.with_name(f".{path.name}")
    pq.write_table(table, aside, row_group_size=max(1, 2**24 // (8 * values.shape[1])), use_dictionary=False)
    aside.rename(path)


def make_data(folder: Path, n_days: int, n_profiles: int) -> None:
    """Write what is not there yet, on all cores."""
    with multiprocessing.get_context("spawn").Pool(os.cpu_count()) as pool:
        for work, name, n, size in (
            (write_days, "days", n_days, min(FILE, n_days)),
            (write_profiles, "profiles", n_profiles, min(20_000, n_profiles)),
        ):
            own = folder / name
            own.mkdir(parents=True, exist_ok=True)
            jobs = [(own, i, min(size, n - i * size)) for i in range(math.ceil(n / size))]
            there = {file.name for file in own.glob("*.parquet")}
            pool.map(work, [job for job in jobs if f"{name}-{job[1]:04}.parquet" not in there], chunksize=1)


def first_files(folder: Path, n: int) -> list[str]:
    """As many files as hold n series."""
    files = sorted((folder / "days").glob("*.parquet"))
    found, rows = [], 0
    while rows < n:
        if len(found) == len(files):
            sys.exit("There are not enough data. Run: python benchmarks/scale.py data")
        rows += pq.read_metadata(files[len(found)]).num_rows
        found.append(str(files[len(found)]))
    return found


@contextmanager
def linked(files: list[str]) -> Iterator[str]:
    """A folder with these files only."""
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            (Path(folder) / Path(file).name).symlink_to(file)
        yield folder


def block_panel(engine: Any, path: str, n: int, n_instants: int) -> Any:
    from shoal.engines.blocks import BlockPanel, Clock

    return BlockPanel(engine, engine.read(path), Clock(np.arange(n_instants)), n_series=n, n_subjects=n)


# What is measured


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


class Watch:
    """The largest memory of this process, of Java and of any one Python worker, seen every half second."""

    def __init__(self) -> None:
        self.java = self.worker = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def driver(self) -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def _look(self) -> None:
        while not self._stop.wait(0.5):
            for name, size in descendants(os.getpid()):
                if name == "java":
                    self.java = max(self.java, size)
                else:
                    self.worker = max(self.worker, size)


def descendants(root: int) -> list[tuple[str, int]]:
    """Name and bytes in memory of all processes below one."""
    children: dict[int, list[int]] = {}
    facts: dict[int, tuple[str, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        name, rest = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
        facts[int(folder.name)] = name, int(rest[21]) * resource.getpagesize()
        children.setdefault(int(rest[1]), []).append(int(folder.name))
    found, waiting = [], list(children.get(root, []))
    while waiting:
        own = waiting.pop()
        found.append(facts[own])
        waiting += children.get(own, [])
    return found


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


# Memory that is enforced


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


def memory_group(limit: int) -> Path | None:
    """A new control group with a limit, of either version of the interface."""
    root = Path("/sys/fs/cgroup")
    old = root / "memory"
    place = (old if old.is_dir() else root) / f"shoal-scale-{os.getpid()}"
    try:
        place.mkdir()
        (place / ("memory.limit_in_bytes" if old.is_dir() else "memory.max")).write_text(str(limit))
    except OSError:
        return None
    return place


def group_figures(group: Path) -> tuple[int, int]:
    """The most memory that was in use, pages of files included, and how often more was asked for than can be taken
    back."""
    old = group / "memory.max_usage_in_bytes"
    peak = old if old.exists() else group / "memory.peak"
    control = group / ("memory.oom_control" if old.exists() else "memory.events")
    lines = [line.split() for line in control.read_text().splitlines()]
    return int(peak.read_text()), sum(int(line[1]) for line in lines if line[0] == "oom_kill")


def remove_group(group: Path) -> None:
    for _ in range(50):
        try:
            group.rmdir()
        except OSError:
            time.sleep(0.1)
        else:
            return


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


class Disk:
    """The most that lay in a folder, seen every second."""

    def __init__(self, folder: Path) -> None:
        self.most = 0
        self._folder = folder
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Disk:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(1.0):
            total = 0
            for file in self._folder.rglob("*.arrow"):
                try:
                    total += file.stat().st_size
                except OSError:
                    continue
            self.most = max(self.most, total)


# The page


def write_page(results: dict[str, Any]) -> str:
    sections = [
        "# Scale",
        "Made by `make scale`; do not edit. What is measured and how is said at the top of `benchmarks/scale.py`.",
        f"Machine: {os.cpu_count()} cores, Python {platform.python_version()}, numba {version('numba')}, "
        f"PySpark {version('pyspark')}, PyArrow {version('pyarrow')}.",
        growth_section(results),
    ]
    if "memory" in results and "1m" in results:
        sections.append(loss_section(results["1m"], results["memory"]))
    if "local" in results:
        sections.append(local_section(results["local"]))
    sections += [other_section(results[name], title) for name, title in OTHERS.items() if name in results]
    return "\n\n".join(sections) + "\n"


OTHERS = {"nlk": "(n, l, k)-anonymity", "kp": "(k, P)-anonymity"}


def growth_section(results: dict[str, Any]) -> str:
    found = [results[name] for name in SIZES if name in results]
    lines = [
        "## Microaggregation on Spark, local[2]",
        "",
        f"Half-hourly days (48 values), k = {K}, algorithm MDAV, leaves of 50 000 to 100 000, read from Parquet, then "
        "checked.",
        "",
        "| series | leaves | method, s | check, s | both, s | smallest group | driver, MB | Java, MB | live heap, MB | "
        "largest worker, MB |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in found:
        both = row["method_seconds"] + row["check_seconds"]
        figures = [f"{row['series']:,}", row["leaves"], round(row["method_seconds"]), round(row["check_seconds"])]
        figures += [round(both), f"{row['smallest']} ({'holds' if row['holds'] else 'DOES NOT HOLD'})"]
        figures += [round(row[f"{name}_bytes"] / 1e6) for name in ("driver", "java", "heap", "worker")]
        lines.append(f"| {' | '.join(map(str, figures))} |")
    if len(found) > 1:
        steps = [f"{exponent(a, b):.2f} from {a['series']:,} to {b['series']:,}" for a, b in pairs(found)]
        lines += ["", f"Time of both grows with the number of series to the power {'; '.join(steps)}."]
    lines += [
        "",
        "Driver: the largest memory of the Python that directs the work. Java: of Spark itself, which here is driver "
        "and executor at once and may take 2 GiB; its live heap is what is left after a collection at the end.",
    ]
    return "\n".join(lines)


def pairs(found: list[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    steps = list(itertools.pairwise(found))
    return [*steps, (found[0], found[-1])] if len(steps) > 1 else steps


def exponent(a: dict[str, Any], b: dict[str, Any]) -> float:
    seconds = [row["method_seconds"] + row["check_seconds"] for row in (a, b)]
    return math.log(seconds[1] / seconds[0]) / math.log(b["series"] / a["series"])


def loss_section(engine: dict[str, Any], memory: dict[str, Any]) -> str:
    ratio = engine["loss"] / memory["loss"]
    return "\n".join(
        [
            "## Loss against one machine",
            "",
            f"The same {memory['series']:,} series, SSE / SST. Groups on the engine do not cross leaves.",
            "",
            "| where | loss | ratio | method, s | check, s |",
            "|---|---|---|---|---|",
            f"| in memory, 2 threads | {memory['loss']:.5f} | 1 | {memory['method_seconds']:.0f} | "
            f"{memory['check_seconds']:.1f} |",
            f"| Spark, {engine['leaves']} leaves | {engine['loss']:.5f} | {ratio:.4f} | "
            f"{engine['method_seconds']:.0f} | {engine['check_seconds']:.1f} |",
        ]
    )


def local_section(row: dict[str, Any]) -> str:
    return "\n".join(
        [
            "## Larger than memory on one machine",
            "",
            f"`Local(memory={row['limit_bytes'] / 1e9:g} GB)` in a control group that the kernel allows "
            f"{row['limit_bytes'] / 1e9:g} GB in all, pages of files included: {row['series']:,} x {LONG[1]} values, "
            f"{row['panel_bytes'] / 1e9:.1f} GB.",
            "",
            "| method, s | check, s | smallest group | leaves | most of the group, GB | of the process, GB | "
            "scratch files, GB | killed |",
            "|---|---|---|---|---|---|---|---|",
            f"| {row['method_seconds']:.0f} | {row['check_seconds']:.0f} | {row['smallest']} "
            f"({'holds' if row['holds'] else 'DOES NOT HOLD'}) | {row['leaves']} | {row['peak_bytes'] / 1e9:.2f} | "
            f"{row['process_bytes'] / 1e9:.2f} | {row['scratch_bytes'] / 1e9:.1f} | {row['failures']} |",
        ]
    )


def other_section(rows: list[dict[str, Any]], title: str) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[cell(row.get(name, "")) for name in names] for row in rows]
    return "\n".join(
        [
            f"## {title}",
            "",
            f"| {' | '.join(name.replace('_', ' ') for name in names)} |",
            "|" + "---|" * len(names),
            *(f"| {' | '.join(line)} |" for line in cells),
        ]
    )


def cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def run_other(name: str) -> list[dict[str, Any]]:
    from dataclasses import asdict, is_dataclass
    from importlib import import_module

    rows = getattr(import_module(f"scale_{name}"), f"{name}_rows")()
    return [asdict(row) if is_dataclass(row) else dict(row) for row in rows]


# The command


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
    return run_other(part) if part in OTHERS else run_spark(options.data, n or SIZES[part])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"some of: {', '.join(PARTS)}")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "shoal-scale")
    parser.add_argument("--series", type=int, help="make all sets so small; nothing is kept")
    parser.add_argument("--limit", type=int, default=LIMIT, help="bytes of memory for the part `local`")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--group", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
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
