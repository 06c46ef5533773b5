"""States that a process goes on from, kept so that later versions are tried on them.

A folder here is never changed. When a format changes, folders of the new one are added under its number, and those of
earlier ones stay. Paths are part of some states; `AT` stands for where a folder is, and `unpack` puts the present place
there. Run: python tests/formats/make_states.py FOLDER
"""

import hashlib
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import polars as pl

STATES = Path(__file__).resolve().parent / "states"
AT = "/AT/THIS/PLACE"
CHECKPOINTS = ("stream.state", "growing.state")
STREAM = ["stream", "source", "--sensitive", "result", "--quasi", "age", "--id", "id", "--l", 2, "--window", 2]
STREAM += ["--seed", 3, "--lateness", 1]
GROW = ["grow", "source", "--k", 3, "--spare", 1]
KEY = b"ab" * 32


def main(folder):
    for name, make in (
        ("stream", stream),
        ("grow", grow),
        ("ledger", ledger),
        ("meter", meter),
        ("closed", closed),
        ("studio", studio),
    ):
        with tempfile.TemporaryDirectory() as place:
            make(Path(place).resolve())
            pack(Path(place).resolve(), folder / name)


def command(place, words):
    from shoal.cli.app import run

    places = {"source": place / "source"}
    words = [*(places.get(word, word) for word in words), "-o", place / "out", "--private", place / "private"]
    return run([str(word) for word in words])


def write_events(place, first, last):
    place.mkdir(exist_ok=True)
    rows = [(i, t, 20 + (7 * i) % 60, "abc"[(i + t) % 3]) for t in range(first, last) for i in range(t * 8, t * 8 + 8)]
    pl.DataFrame(rows, schema=["id", "time", "age", "result"], orient="row").write_csv(place / f"{first:03d}.csv")


def stream(place):
    """A stream with events that wait."""
    write_events(place / "source", 0, 6)
    assert command(place, [*STREAM, "--no-flush"]) == 0


def write_day(place, day):
    place.mkdir(exist_ok=True)
    rows = [(f"meter-{i:02d}", 3 * day + t, float((i * 7 + t * 3 + day) % 11)) for i in range(12) for t in range(3)]
    pl.DataFrame(rows, schema=["id", "time", "value"], orient="row").write_csv(place / f"{day}.csv")


def grow(place):
    """A growing panel after its first day."""
    write_day(place / "source", 0)
    (place / "private").mkdir(mode=0o700)
    (place / "private" / "pseudonym.key").write_bytes(KEY)
    (place / "private" / "pseudonym.key").chmod(0o600)
    assert command(place, GROW) == 0
    (place / "out" / "0" / "report.html").unlink()  # 5 MB, and no state


def ledger(place):
    """A ledger with one release."""
    from publishing_processes import candidate, release

    release(candidate(), place / "out", place / "private", place / "ledger.jsonl")
    shutil.rmtree(place / "private")


def meter(place):
    """A fleet of four meters; the first has spent some of its budget."""
    from shoal.process.edge import enroll_together, make_plan, run_meter

    enroll_together(place, make_plan(lower=0.0, upper=4.0, w=4, epsilon=2.0, scheme="budget-uniform"), 4, 1)
    assert list(run_meter(place / "meters" / "00000", [f"{t},1.5" for t in range(6)]))


def closed(place):
    """A closed service that answered a question."""
    from closed.places import candidate_of, raw_panel
    from closed.places import closed as make
    from shoal.closed import Count

    service = make(place / "closed", candidate_of(raw_panel()), clock=lambda: 1.7e9)
    token = service.find(service.register.create("north", 3000)[1])
    assert service.ask(token, Count()).value == 60.0
    at_rest(place / "closed" / "closed.sqlite")


def studio(place):
    """A project with a table, how it is read, and a task."""
    from shoal import LabelTask, simulate
    from shoal.process.simulation import long_table
    from shoal.studio.project import Project

    days = simulate.occupancy(24, days=1, step="2h", seed=3)
    project = Project(place / "project")
    long_table(days).write_csv(place / "project" / "data" / "days.csv")
    project.add_task("lunch", LabelTask.presanitised(days, k=4, multiple=1, n_pairs=6), "days.csv", 0.0)
    at_rest(place / "project" / "studio.sqlite")


def at_rest(path):
    """Bring what SQLite keeps beside a database into it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
        connection.execute("pragma journal_mode = delete")


def pack(place, to):
    """Copy a folder, with `AT` in the place of its path."""
    shutil.copytree(place, to)
    _respell(to, str(place), AT)


def unpack(kept, to):
    """A copy of a kept folder that believes it has always been where it is now."""
    shutil.copytree(kept, to)
    _respell(to, AT, str(to.resolve()))
    for path in to.rglob("*"):  # Git keeps no modes
        path.chmod(0o700 if path.is_dir() else 0o600)
    return to


def _respell(folder, old, new):
    for path in folder.rglob("*"):
        if path.is_file() and path.name in CHECKPOINTS:
            _, _, content = path.read_bytes().partition(b"\n")
            head, _, tables = content.partition(b"\n")
            content = head.replace(old.encode(), new.encode()) + b"\n" + tables
            path.write_bytes(with_digest(content))
        elif path.is_file() and re.search(rb"\A[\s{\[]", path.read_bytes()[:1]) and path.suffix == ".json":
            path.write_text(path.read_text().replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))


def with_digest(content):
    """What a checkpoint is: a line with the SHA-256 of the rest, and the rest."""
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    main(Path(sys.argv[1]))
