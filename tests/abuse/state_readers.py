"""States of everything that goes on: sums may have been made to fit, and who reads one may go on from it."""

import contextlib
import io
import json
import shutil
import sys

import numpy as np

from abuse.mutation import mutate_bytes, mutate_tree
from abuse.reader import TESTS, Reader
from abuse.release_readers import mutate_json, read_a_release, with_its_digest
from publishing_processes import candidate, release
from shoal import LabelTask
from shoal.closed import Closed, Count, Mean, Quantile, Range
from shoal.ledger.entries import _sum
from shoal.ledger.file import read_ledger, unfinished
from shoal.process.edge import run_meter
from shoal.streams.checkpoint import read_checkpoint
from shoal.studio.project import Project

sys.path.insert(0, str(TESTS / "formats"))
import make_states as states

SUBJECTS = [*states.STREAM, "--subject", "id", "--m", 2, "--remedy", "delay"]
"""A stream with all that one can have."""


def mutate_checkpoint(rng, content, other):
    if rng.random() < 0.3:
        return mutate_bytes(rng, content, other)
    head, _, tables = content.partition(b"\n")[2].partition(b"\n")
    if rng.random() < 0.8:
        head = json.dumps(mutate_tree(rng, json.loads(head))).encode()
    else:
        tables = mutate_bytes(rng, tables, other)
    return states.with_digest(head + b"\n" + tables)


def mutate_ledger(rng, content, other):
    if rng.random() < 0.3:
        return mutate_bytes(rng, content, other)
    tree = mutate_tree(rng, json.loads(content))
    if isinstance(tree, dict) and rng.random() < 0.8:
        tree.pop("sum", None)
        with contextlib.suppress(UnicodeEncodeError):
            tree["sum"] = _sum(tree)
    return json.dumps(tree).encode() + b"\n"


def mutate_lines(rng, content, other):
    if rng.random() < 0.4:
        return mutate_bytes(rng, content, other)
    lines = content.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(mutate_tree(rng, json.loads(lines[at]))).encode()
    return b"\n".join(lines) + b"\n"


def mutate_arrays(rng, content, other):
    """A .npz with an array of it changed, or other bytes."""
    if rng.random() < 0.4:
        return mutate_bytes(rng, content, other)
    with np.load(io.BytesIO(content)) as kept:
        arrays = dict(kept)
    name = rng.choice(sorted(arrays))
    kind = rng.randrange(6)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[name] = arrays[name].reshape(-1)[: rng.randint(0, 3)]
    elif kind == 2:
        arrays[name] = arrays[rng.choice(sorted(arrays))]
    elif kind == 3:
        arrays[name] = arrays[name].astype(str)
    elif kind == 4:
        arrays[name] = np.full_like(arrays[name], rng.choice([0, 1, 2]))
    else:
        arrays[name] = arrays[name][..., None]
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def copied(place, use):
    """Use a copy: what reads it may go on and write."""

    def read(path, rng):
        aside = place.parent / "copy"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(place, aside)
        use(aside)

    return read


def state_readers(work):
    kept = sorted(states.STATES.iterdir())[-1]
    places = {name: states.unpack(kept / name, work / name) for name in sorted(path.name for path in kept.iterdir())}
    # States know where they are: those that are copied are asked for where they were.
    for name in ("stream", "grow"):
        shutil.rmtree(places[name])
        shutil.rmtree(work / "copy", ignore_errors=True)
        states.unpack(kept / name, work / "copy")
        shutil.move(work / "copy", places[name])
    (work / "copy").mkdir()
    states.write_events(work / "copy" / "source", 0, 6)
    with contextlib.redirect_stdout(io.StringIO()):
        states.command(work / "copy", [*SUBJECTS, "--no-flush"])
    people = shutil.move(work / "copy", work / "people")

    def read_stream_state(path, rng):
        read_checkpoint(path.parent)

    def more_events(place, words=states.STREAM):
        states.write_events(place / "source", 6, 9)
        states.command(place, words)

    def more_people(place):
        more_events(place, SUBJECTS)

    def another_day(place):
        states.write_day(place / "source", 1)
        states.command(place, states.GROW)

    stream, grow, book = places["stream"], places["grow"], places["ledger"]
    meter, service, project = (
        places["meter"] / "meters/00000",
        places["closed"] / "closed",
        places["studio"] / "project",
    )

    def read_books(path, rng):
        read_ledger(book / "ledger.jsonl")
        unfinished(book / "ledger.jsonl")

    def record(place):
        release(candidate(), place / "again", place / "private", place / "ledger.jsonl")

    def measure(place):
        list(run_meter(place / "meters/00000", ["9,1.5"]))

    def ask(place):
        service = Closed(place / "closed", clock=lambda: 1.7e9)
        token = service.find(service.register.create("south", 1)[1])
        for question in (Count(where=(Range(at=0, low=1.0),)), Mean(), Quantile(q=0.5)):
            service.ask(token, question)
        service.about()
        service.register.entries()

    def open_project(place):
        project = Project(place / "project")
        project.tables()
        LabelTask.load(place / "project/tasks/lunch")

    def one(name, path, mutate, use):
        return Reader(name, path, [path.read_bytes()], mutate, use)

    snapshots = stream / "out/snapshots.ndjson"
    return [
        one("stream state", stream / "private/stream.state", mutate_checkpoint, read_stream_state),
        one("stream state, going on", stream / "private/stream.state", mutate_checkpoint, copied(stream, more_events)),
        one("stream state of people", people / "private/stream.state", mutate_checkpoint, copied(people, more_people)),
        one("growing state", grow / "private/growing.state", mutate_checkpoint, copied(grow, another_day)),
        one("ledger", book / "ledger.jsonl", mutate_ledger, read_books),
        one("ledger, going on", book / "ledger.jsonl", mutate_ledger, copied(book, record)),
        one("count of the ledger", book / "ledger.jsonl.count", mutate_bytes, read_books),
        one("budget of a meter", meter / "budget.jsonl", mutate_lines, copied(places["meter"], measure)),
        one("fleet", meter / "fleet.json", mutate_json, copied(places["meter"], measure)),
        one("keys of a meter", meter / "keys", mutate_bytes, copied(places["meter"], measure)),
        one("closed settings", service / "closed.json", mutate_json, copied(places["closed"], ask)),
        one("closed table", service / "table.npz", mutate_arrays, copied(places["closed"], ask)),
        one("closed log", service / "closed.sqlite", mutate_bytes, copied(places["closed"], ask)),
        one("studio project", project / "studio.sqlite", mutate_bytes, copied(places["studio"], open_project)),
        one("label task", project / "tasks/lunch/task.json", mutate_json, copied(places["studio"], open_project)),
        one("shown groups", project / "tasks/lunch/shown.json", mutate_json, copied(places["studio"], open_project)),
        one("index of a stream", snapshots, mutate_lines, with_its_digest(snapshots.name, read_a_release)),
        one("summary of a stream", stream / "out/summary.json", mutate_json, read_a_release),
    ]
