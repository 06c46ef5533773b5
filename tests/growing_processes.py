"""Real `shoal grow` processes that are killed by the system before a step that lasts."""

import multiprocessing
import os
import signal
import sys
from pathlib import Path

import numpy as np
import polars as pl

from stream_processes import PATIENCE, PRELOAD

OPTIONS = ["--k", 3, "--spare", 1, "--format", "csv"]
NLK_OPTIONS = ["--method", "nlk", "--n", 1, "--l", 3, "--k", 3, "--alone", 1, "--format", "csv"]
N_DAYS = 3


def write_days(folder, n_days=N_DAYS, n_series=14, seed=0):
    """One table a day of 3 instants; on the second day four newcomers come, on the last somebody is away."""
    chance = np.random.default_rng(seed)
    folder.mkdir()
    for number in range(n_days):
        there = [i for i in range(n_series) if (number or i < 10) and (number < n_days - 1 or i != 2)]
        rows = [(f"meter-{i:02d}", 3 * number + t, float(chance.integers(0, 99))) for i in there for t in range(3)]
        pl.DataFrame(rows, schema=["id", "time", "value"], orient="row").write_csv(folder / f"{number}.csv")


def run(arguments, kill_at, told):
    """What the child does: the command line as it is; before its n-th durable step it is killed by the system."""
    from shoal.cli.app import main

    done = 0
    fsync, rename = os.fsync, Path.rename

    def step(real):
        def counted(*given):
            nonlocal done
            done += 1
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given)

        return counted

    os.fsync, Path.rename = step(fsync), step(rename)
    with Path(os.devnull).open("w") as sys.stdout, Path(told).open("w") as sys.stderr:
        try:
            main(arguments)
        finally:
            Path(f"{told}.steps").write_text(str(done))


def start(folder, source, name, kill_at=0, options=OPTIONS):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    places = ["--private", folder / f"private-{name}", "-o", folder / f"out-{name}"]
    arguments = [str(word) for word in ("grow", source, *options, *places)]
    process = context.Process(target=run, args=(arguments, kill_at, str(folder / f"told-{name}")))
    process.start()
    return process


def ended(process):
    process.join(PATIENCE)
    assert not process.is_alive(), "a process hangs"
    return process.exitcode


def contents(out):
    """The bytes of every file of every release, of hidden ones too."""
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}
