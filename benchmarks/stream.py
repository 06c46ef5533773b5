"""Reposition on a stream: events per second of the operator and of the whole `shoal stream`, and memory over time.

Run: python benchmarks/stream.py [--short | --medium] [--json]

Snapshots of 1 000 events, 50 sensitive values whose frequencies fall like a power of their rank, three
quasi-identifiers, window 12, l = 4. The baseline is Shoal as it was before snapshots went through the operator together
and arrivals through a log (commit b228b76), measured in the same run, one after the other, from the history of this
repository; without that history it is the time allowed. The operator runs in a process of its own, over 2 million and
over 20 million events, so that peak memory can be compared; events are made as they are needed and the making is not
counted; polars has one thread there. `shoal stream` reads NDJSON from a pipe and writes Parquet, with a state and
without; its time includes the start of the process, and a run over a tenth of the events tells what each further event
takes, and how memory grows. Compile time is left out; everything runs once. Processor time is of the process with all
its threads: on a busy machine its ratio says more than that of the clock.

`--short` takes a hundredth of the events, `--medium` a tenth of the operator's.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from measuring import Row, print_rows

from shoal import Reposition
from shoal.streams import RepositionStream

PER_SNAPSHOT, N_VALUES, WINDOW, L = 1000, 50, 12, 4
ALLOWED = {"operator": 400_000, "command": 150_000}  # events per second
BEFORE = "b228b76"
AT_ONCE = 12
"""Snapshots that the operator is given together: as many as a block of the command has."""
QUASI = ("age", "sex", "region")
SIZES = (2_000_000, 20_000_000)
N_WHOLE = 1_000_000
SHORT, MEDIUM = 100, 10
N_COMPILES = 20
"""Snapshots before the clock starts."""


def snapshots(n: int) -> Iterator[pl.DataFrame]:
    """Snapshots made one by one; the same 100 again and again, at ever later times."""
    rng = np.random.default_rng(0)
    shares = np.arange(1, N_VALUES + 1) ** -0.7
    made = [
        pl.DataFrame(
            {
                "age": rng.integers(0, 100, PER_SNAPSHOT),
                "sex": rng.choice(["f", "m"], PER_SNAPSHOT),
                "region": rng.choice([f"region {i}" for i in range(8)], PER_SNAPSHOT),
                "diagnosis": rng.choice([f"code {i}" for i in range(N_VALUES)], PER_SNAPSHOT, p=shares / shares.sum()),
            }
        )
        for _ in range(100)
    ]
    for number in range(n):
        yield made[number % 100].select(pl.lit(number, dtype=pl.Int64).alias("time"), pl.all())


def operator(n_events: int, at_once: int) -> None:
    """Print seconds, those of the processor, peak memory in KiB, and µs per event over the first and last tenth."""
    stream = RepositionStream(Reposition(l=L, window=WINDOW, seed=0), time="time", sensitive="diagnosis", quasi=QUASI)
    n = n_events // PER_SNAPSHOT
    times: list[tuple[float, float]] = []
    waiting: list[pl.DataFrame] = []
    for number, snapshot in enumerate(snapshots(n + N_COMPILES)):
        waiting.append(snapshot)
        is_last = number == n + N_COMPILES - 1
        if len(waiting) < at_once and number >= N_COMPILES and not is_last:
            continue
        begin, begin_cpu = time.perf_counter(), time.process_time()
        stream.push(*waiting)
        if number >= N_COMPILES:
            times.append((time.perf_counter() - begin, time.process_time() - begin_cpu))
        waiting = []
    taken = np.array(times)
    tenth = max(1, len(taken[:-1]) // 10)
    # The last push may be of fewer snapshots.
    first, last = (
        1e6 * float(part[:, 0].mean()) / PER_SNAPSHOT / at_once for part in (taken[:tenth], taken[-tenth - 1 : -1])
    )
    seconds, processor = taken.sum(axis=0).tolist()
    print(json.dumps([seconds, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, first, last]))


def alone(n_events: int, at_once: int, source: Path | None) -> tuple[float, ...]:
    command = [sys.executable, __file__, "--operator", str(n_events), str(at_once)]
    # On tables this small threads of polars wait for each other longer than they work.
    environment = {**os.environ, "POLARS_MAX_THREADS": "1"} | environment_of(source)
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return tuple(json.loads(done.stdout))


def environment_of(source: Path | None) -> dict[str, str]:
    return {} if source is None else {"PYTHONPATH": str(source)}


def before(folder: str) -> Path | None:
    """The source of the commit that is the baseline, from the history of this repository."""
    home = Path(__file__).resolve().parent.parent
    try:
        packed = subprocess.run(["git", "archive", BEFORE, "src"], cwd=home, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return Path(folder) / "src"


def operator_rows(sizes: tuple[int, ...], source: Path | None) -> list[Row]:
    rows = []
    peaks: list[float] = []
    for n in sizes:
        seconds, processor, peak, first, last = alone(n, AT_ONCE, None)
        peaks.append(peak)
        grown = "" if len(peaks) == 1 else f", {peaks[-1] / peaks[0]:.2f} times that of {sizes[0]:,} events"
        earlier = alone(n, 1, source) if source is not None else (n / ALLOWED["operator"],) * 2
        rows.append(
            Row(
                what="reposition stream, operator alone",
                size=f"{n:,} events in snapshots of {PER_SNAPSHOT:,}",
                seconds=seconds,
                baseline="the time allowed" if source is None else f"before, commit {BEFORE}",
                baseline_seconds=earlier[0],
                note=f"{n / seconds:,.0f} events per second, {n / processor:,.0f} per second of processor time, of "
                f"which it takes {earlier[1] / processor:.1f} times less; {first:.2f} µs per event at the beginning, "
                f"{last:.2f} at the end; peak memory {peak / 1024:.0f} MiB{grown}",
            )
        )
    return rows


@dataclass(frozen=True)
class Used:
    """What a run of the command took."""

    seconds: float
    processor: float
    peak: float = 0.0
    """MiB."""
    latency: dict[str, float] = field(default_factory=dict)


def run_command(lines: Path, out: str, options: list[str], source: Path | None) -> Used:
    """Run `shoal stream` on the lines, from a pipe."""
    command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "stream", *options, "--json"]
    command += ["--l", str(L), "--window", str(WINDOW), "--seed", "0", "--sensitive", "diagnosis"]
    command += [word for name in QUASI for word in ("--quasi", name)]
    begin = time.perf_counter()
    with (
        tempfile.TemporaryFile() as told,
        subprocess.Popen(["cat", str(lines)], stdout=subprocess.PIPE) as pipe,
    ):
        process = subprocess.Popen(
            [*command, "-o", out], stdin=pipe.stdout, stdout=told, env=os.environ | environment_of(source)
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        assert process.returncode == 0, "the command failed"
        told.seek(0)
        latency = json.loads(told.read()).get("latency") or {}
    return Used(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, latency)


def whole_rows(n_events: int, source: Path | None) -> list[Row]:
    """The command, from a pipe to files."""
    rows = []
    n_few = n_events // 10
    with tempfile.TemporaryDirectory() as folder:
        files = {n: Path(folder) / f"{n}.ndjson" for n in (n_events, n_few)}
        for n, path in files.items():
            with path.open("wb") as file:
                for snapshot in snapshots(n // PER_SNAPSHOT):
                    snapshot.write_ndjson(file)
        for what in ("with a state", "without a state"):
            found = {}
            for which, place, n in (("few", None, n_few), ("now", None, n_events), ("before", source, n_events)):
                options = ["--private", f"{folder}/private {which}"] if what == "with a state" else []
                out = f"{folder}/{which} {what}"
                if which == "before" and source is None:
                    found[which] = Used(n / ALLOWED["command"], n / ALLOWED["command"])
                    continue
                found[which] = run_command(files[n], out, options, place)
                assert sum(1 for _ in Path(out).glob("data-*")) == n // PER_SNAPSHOT
            few, now, earlier = found["few"], found["now"], found["before"]
            each = (now.processor - few.processor) / max(1, n_events - n_few)
            by_clock = (n_events - n_few) / max(1e-9, now.seconds - few.seconds)
            rows.append(
                Row(
                    what=f"shoal stream, NDJSON to Parquet, {what}",
                    size=f"{n_events:,} events in snapshots of {PER_SNAPSHOT:,}",
                    seconds=now.seconds,
                    baseline="the time allowed" if source is None else f"before, commit {BEFORE}",
                    baseline_seconds=earlier.seconds,
                    note=f"{n_events / now.seconds:,.0f} events per second with the start of the process; "
                    f"{now.processor:.1f} s of processor time, before {earlier.processor:.1f}, "
                    f"ratio {earlier.processor / now.processor:.1f}; {by_clock:,.0f} further events per second by "
                    f"the clock, {1 / each:,.0f} per second of "
                    f"processor time; from arrival to commit p50 {now.latency.get('p50_ms')} ms, "
                    f"p99 {now.latency.get('p99_ms')} ms; peak memory {now.peak:.0f} MiB, "
                    f"{now.peak / few.peak:.2f} times that of {n_few:,} events",
                )
            )
    return rows


def measure(divisor: int, whole_divisor: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        source = before(folder)
        operators = operator_rows(tuple(n // divisor for n in SIZES), source)
        return [*operators, *whole_rows(N_WHOLE // whole_divisor, source)]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--operator"]:
        operator(int(sys.argv[2]), int(sys.argv[3]))
    else:
        short = SHORT if "--short" in sys.argv[1:] else 1
        print_rows(measure(MEDIUM if "--medium" in sys.argv[1:] else short, short))
