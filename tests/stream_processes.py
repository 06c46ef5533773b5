"""Real `shoal stream` processes that start fast: forked from one that has the imports behind it."""

import json
import multiprocessing
import multiprocessing.forkserver
import os
import random
import sys
from pathlib import Path

# Only imports, which take a child six times as long as its work. They start no threads but those of allocators, which
# outlive a fork; what computes or reads would start others, and a fork after it would not be sound.
PRELOAD = [
    *("scipy.optimize", "numba.np.arraymath", "numba.cpython.unicode", "pandas"),
    *("shoal.cli.app", "shoal.methods", "shoal.attacks", "shoal.utility", "shoal.report", "shoal.ledger.file"),
    *("shoal.process.anonymization", "shoal.process.event_stream", "shoal.process.growth", "shoal.read.panel"),
]


SOAK = os.environ.get("SHOAL_SOAK") == "1"  # as `make soak` sets it


def soaked(full, usual):
    """How often something is tried: in `make soak` so often as its factor SOAK says."""
    return max(usual, round(full * float(os.environ.get("SOAK", "1")))) if SOAK else usual


KILL_EVERY = 1 if SOAK else 5
"""Of the steps at which a process can be killed, the tests take one in so many."""

PATIENCE = 900 if SOAK else 120
"""Seconds after which a process is taken to hang; the machine may be busy."""


def command(arguments, stdin, errors):
    """What the child does: the command line as it is, on its own standard input."""
    from shoal.cli.app import main

    with (
        Path(stdin).open() as sys.stdin,
        Path(os.devnull).open("w") as sys.stdout,
        Path(errors).open("w") as sys.stderr,
    ):
        main(arguments)


def start(arguments, stdin=os.devnull, errors=os.devnull):
    """Start a process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    process = context.Process(target=command, args=(list(map(str, arguments)), str(stdin), str(errors)))
    process.start()
    return process


def stop_server():
    """Stop and await the server that processes are forked from: then their processor time counts as this one's."""
    multiprocessing.forkserver._forkserver._stop()


def finish(process):
    """Its exit code, once it has ended by itself."""
    process.join(PATIENCE)
    assert not process.is_alive(), "a process hangs"
    return process.exitcode


def events(n_snapshots, per_snapshot, seed=0):
    """Lines of events with everything that can be wrong with them: late, twice, backwards, incomplete, no JSON."""
    chance = random.Random(seed)
    lines = []
    for number in range(n_snapshots * per_snapshot):
        time = number // per_snapshot
        event = {
            "id": number,
            "time": max(0, time - (chance.random() < 0.1)),
            "age": chance.randrange(20, 80),
            "region": chance.choice(["north", "south", "east"]),
            "diagnosis": chance.choices("abcdefg", weights=range(7, 0, -1))[0],
        }
        lines.append(json.dumps(event))
        if chance.random() < 0.03:
            lines.append(lines[-1])
        if chance.random() < 0.06:
            lines.append(chance.choice(["{", "", '{"time": 3}', json.dumps(event | {"time": max(0, time - 5)})]))
    return "\n".join(lines) + "\n"


def contents(folder):
    """The bytes of every file in a folder, hidden ones with them."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
