"""What real processes do in the groups of kills and of concurrent runs, and how a place is judged afterwards."""

import json
import multiprocessing
import sqlite3
from contextlib import closing

from stream_processes import PRELOAD, start

STREAM = ["--l", 3, "--window", 4, "--seed", 5, "--sensitive", "diagnosis", "--quasi", "age", "--quasi", "region"]
STREAM += ["--id", "id", "--lateness", 2]


def spawn(target, *given):
    """A process that begins with the imports behind it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    process = context.Process(target=target, args=given)
    process.start()
    return process


def prepare(folder):
    """A table, a policy, a folder of days, lines of events and a studio project."""
    from growing_processes import write_days
    from shoal.cli.app import run
    from shoal.studio.project import Project
    from stream_processes import events

    assert run(["simulate", "meters", "-o", str(folder / "table.csv"), "--n", "40", "--days", "2"]) == 0
    (folder / "policy.yaml").write_text(
        "data: {path: table.csv}\nadversary: {knows: {points: 2}}\nrequire: {risk: {at_most: 1.0}}\n"
        "method: {name: microaggregation, k: {search: [4, 5]}}\nrelease: {to: out-run, private: private-run}\n"
    )
    write_days(folder / "days")
    (folder / "events.ndjson").write_text(events(60, 10))
    Project(folder / "project")


def anonymize(folder, **more):
    words = ["anonymize", folder / "table.csv", "--k", 5, "-o", folder / "out", "--overwrite"]
    return start([*words, "--private", folder / "private", "--ledger", folder / "ledger.jsonl"], **more)


def run_policy(folder, **more):
    return start(["run", folder / "policy.yaml", "--overwrite"], **more)


def grow(folder, **more):
    words = ["grow", folder / "days", "--k", 3, "--spare", 1]
    return start([*words, "--private", folder / "private-grow", "-o", folder / "out-grow"], **more)


def stream(folder, **more):
    words = ["stream", *STREAM, "--private", folder / "private-stream", "-o", folder / "out-stream"]
    return start(words, stdin=folder / "events.ndjson", **more)


def write_links(folder, first, n):
    """What a studio does with its database: transactions, one after another. Notes each once it was confirmed."""
    from shoal.studio.project import Project
    from shoal.studio.tokens import ProjectLinks

    links = ProjectLinks(Project(folder / "project").store, lambda: 4e9)
    with (folder / f"confirmed-{first}").open("a") as confirmed:
        for number in range(first, first + n):
            links.create("lunch", f"analyst {number}", 1)
            confirmed.write(f"{number}\n")
            confirmed.flush()


def lost_links(folder):
    """Links that were confirmed and are not there, or are there twice; and whether the database is whole."""
    with closing(sqlite3.connect(folder / "project" / "studio.sqlite")) as connection:
        there = [int(row[0].split()[1]) for row in connection.execute("select analyst from links")]
        (whole,) = connection.execute("pragma integrity_check").fetchone()
    confirmed = {int(line) for path in folder.glob("confirmed-*") for line in path.read_text().split()}
    return len(confirmed - set(there)) + len(there) - len(set(there)), whole == "ok"


def judge_release(out):
    """What is wrong with a folder that holds a whole release or nothing."""
    from shoal import verify
    from shoal.errors import ShoalError

    if not out.exists():
        return None
    try:
        found = verify(out)
    except ShoalError as error:
        return f"{out.name}: {error}"
    return None if found.holds else f"{out.name}: {found.outcome} {found.findings}"


def judge_ledger(book):
    """What is wrong with a ledger: it is read, and each release is there once."""
    from shoal.errors import ShoalError
    from shoal.ledger.file import read_ledger, unfinished

    if not book.exists() or not book.read_bytes():
        return None
    try:
        unfinished(book)
        recorded = [entry.certificate for entry in read_ledger(book)]
    except ShoalError as error:
        return f"ledger: {error}"
    return None if len(set(recorded)) == len(recorded) else "ledger: a release is recorded twice"


def judge_stream(folder):
    """What is wrong with a finished stream: every event is published, suppressed or counted, once."""
    summary = json.loads((folder / "out-stream" / "summary.json").read_text())
    counts = summary["events"]
    taken = counts["arrived"] - sum(summary["rejected"].values())
    lines = sum(bool(line) for line in (folder / "events.ndjson").read_text().splitlines())
    if not summary["finished"] or counts["arrived"] != lines or taken != counts["published"] + counts["suppressed"]:
        return "stream: the books do not balance"
    return None
