"""A killed `shoal stream` goes on as if nothing had happened: nothing lost, nothing twice, the same bytes."""

import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import polars as pl
import pytest

from stream_processes import PATIENCE, SOAK, contents, events, finish, soaked, start

TRIES = soaked(300, 8)
OPTIONS = ["--l", 3, "--window", 4, "--seed", 5, "--sensitive", "diagnosis", "--quasi", "age", "--quasi", "region"]
ARRIVALS = ["--id", "id", "--lateness", 2]


class Chains:
    """Runs of the same stream, each killed and started again until it ends, until enough were killed."""

    def __init__(self, arguments, stdin, folder, usual, tries):
        self.arguments, self.stdin, self.folder, self.usual = arguments, stdin, folder, usual
        self.numbers, self.left = count(), tries
        self.lock = threading.Lock()
        self.killed_at = []
        """How many snapshots were published whenever a process was killed."""

    def run(self):
        outs = []
        while self.left > 0:
            with self.lock:
                number = next(self.numbers)
            assert number < 10 * TRIES, "the processes end before they can be killed"
            chance = random.Random(number)
            out, private = self.folder / f"out{number}", self.folder / f"private{number}"
            while not self.ended(out, private, chance):
                pass
            outs.append(out)
        return outs

    def ended(self, out, private, chance):
        """Start a process, and kill it at a random moment if there are tries left; whether it ended by itself."""
        process = start([*self.arguments, "--private", private, "-o", out], self.stdin)
        if self.left > 0:
            before = published(out)
            if chance.random() < 0.5:
                # In the midst of publishing: the snapshots of a block get their names within some milliseconds.
                until = time.monotonic() + PATIENCE
                while process.is_alive() and published(out) == before:
                    assert time.monotonic() < until, "a process hangs"
                    time.sleep(0.001)
                time.sleep(chance.random() * 0.004)
            else:
                process.join(chance.random() * self.usual)
            if process.is_alive():
                process.kill()
                process.join()
                if process.exitcode == 0:
                    return True
                with self.lock:
                    self.left -= 1
                    self.killed_at.append(published(out))
                return False
        assert finish(process) == 0
        return True


def published(out):
    return sum(path.name.startswith("data-") for path in out.iterdir()) if out.exists() else 0


def undisturbed(arguments, stdin, folder):
    begin = time.perf_counter()
    out = folder / "undisturbed"
    assert finish(start([*arguments, "--private", folder / "private", "-o", out], stdin)) == 0
    return contents(out), time.perf_counter() - begin


def kill_and_compare(arguments, stdin, folder, tries):
    expected, usual = undisturbed(arguments, stdin, folder)
    chains = Chains(arguments, stdin, folder, usual, tries)
    with ThreadPoolExecutor(2) as pool:
        outs = [out for done in [pool.submit(chains.run) for _ in range(2)] for out in done.result()]
    for out in outs:
        found = contents(out)
        assert found.keys() == expected.keys()
        assert [name for name in found if found[name] != expected[name]] == []
    assert len(chains.killed_at) >= tries
    # Some were killed in the midst of publishing, or the test has shown nothing.
    n_all = json.loads(expected["summary.json"])["snapshots"]["published"]
    assert sum(0 < n < n_all for n in chains.killed_at) >= tries // 5
    return expected


@pytest.mark.timeout(7200 if SOAK else 300)
def test_kills_lose_nothing_and_publish_nothing_twice(tmp_path):
    lines = tmp_path / "events.ndjson"
    lines.write_text(events(120 if SOAK else 50, 12))
    expected = kill_and_compare(["stream", *OPTIONS, *ARRIVALS], lines, tmp_path, TRIES)
    summary = json.loads(expected["summary.json"])
    assert summary["finished"]
    assert all(summary["rejected"][name] for name in ("malformed", "incomplete", "late", "duplicates"))
    assert summary["out_of_order"]
    assert summary["moved"]["1"]
    check_books(summary, expected, lines)


def check_books(summary, files, lines):
    """Every event that arrived is published once, suppressed or counted."""
    counts = summary["events"]
    assert counts["waiting"] == 0
    assert counts["arrived"] == sum(bool(line) for line in lines.read_text().splitlines())
    assert counts["taken"] == counts["arrived"] - sum(summary["rejected"].values())
    assert counts["taken"] == counts["published"] + counts["suppressed"]
    assert sum(summary["moved"].values()) == counts["published"]
    for name, column in (("data", None), ("sensitive", "count")):
        tables = [pl.read_parquet(content) for file, content in files.items() if file.startswith(name)]
        assert len(tables) == summary["snapshots"]["published"] == summary["snapshots"]["closed"]
        assert sum(len(t) if column is None else t[column].sum() for t in tables) == counts["published"]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", [pytest.param("csv", marks=pytest.mark.soak), "parquet"])
def test_a_stream_from_a_folder_survives_kills_as_well(tmp_path, kind):
    source = tmp_path / "source"
    source.mkdir()
    rows = [json.loads(line) for line in events(30, 12, seed=1).splitlines() if line not in ("", "{")]
    table = pl.DataFrame(rows)
    for number, start_ in enumerate(range(0, len(table), 50)):
        part = table[start_ : start_ + 50]
        path = source / f"part-{number:03d}.{kind}"
        part.write_csv(path) if kind == "csv" else part.write_parquet(path)
    # Ages stand for people who come back.
    people = ["--subject", "age", "--m", 3, "--suppression-limit", 1]
    options = [*OPTIONS[: OPTIONS.index("--quasi")], "--quasi", "region", *people] if kind == "parquet" else OPTIONS
    kill_and_compare(["stream", source, *options, *ARRIVALS, "--format", "csv"], "/dev/null", tmp_path, 8)
