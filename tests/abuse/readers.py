"""Whatever lies in a file, its reader succeeds or refuses it: no other exception, no hang, no word of the data.

A try takes a real file of one kind, changes it, and gives it to its reader. Sums and seals are made to fit again in half
of the tries, so that what is behind them is tried too. `reader:number` names a try; the same number gives the same bytes.
"""

import contextlib
import hashlib
import io
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

from abuse.mutation import dump_tree, mutate_bytes, mutate_cells, mutate_tree
from abuse.outcome import Outcome

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "formats"))
SECONDS = 120
"""After which a reader hangs. They take milliseconds; the machine may be busy."""
BATCH = 2000
"""Tries of one process: what a crash of the interpreter takes with it."""
MARKS = ("QZX", "73917.")
"""In every identifier and in every value of the tables that are searched for: no message may quote one."""
WORK = Path("work")


class Hang(BaseException):
    """A reader took too long."""


@dataclass
class Reader:
    """A kind of file: where it lies in a folder of its own, what it looks like, and who reads it."""

    name: str
    place: Path
    seeds: list
    mutate: object
    use: object
    is_table: bool = False

    def run(self, number, others):
        """One try; gives what is wrong with its outcome, if anything is."""
        rng = random.Random(f"{self.name}:{number}")
        seed = rng.choice(self.seeds)
        content = self.mutate(rng, seed, rng.choice(others))
        self.place.write_bytes(content)
        said = io.StringIO()
        try:
            signal.alarm(SECONDS)
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
                self.use(self.place, rng)
        except Hang:
            return f"takes more than {SECONDS} s"
        except BaseException as error:  # a panic of Rust is no Exception
            return self._wrong(error, content)
        finally:
            signal.alarm(0)
            if isinstance(seed, bytes):
                self.place.write_bytes(seed)
        if "internal error" in said.getvalue():
            return said.getvalue().strip()
        return None

    def _wrong(self, error, content):
        from shoal.errors import ShoalError

        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise error
        if not isinstance(error, ShoalError):
            frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
            return f"{type(error).__name__} at {' < '.join(frames[-3:][::-1])}"
        if not self.is_table:
            return None
        message = str(error)
        if "\n" in message:
            return f"more than a line: {frame_of(error)}"
        header = content.partition(b"\n")[0].decode(errors="replace")
        if any(mark in message and mark not in header for mark in MARKS):
            return f"quotes the data: {frame_of(error)}"
        if error.__cause__ is not None or (error.__context__ is not None and not error.__suppress_context__):
            return f"shows the error behind it: {frame_of(error)}"
        return None


def frame_of(error):
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}"


# Tables


def marked_tables():
    """Small tables in several shapes, every identifier and value marked."""
    stamps = [f"2024-03-01 {h:02d}:00" for h in range(6)]
    rows = [(f"QZX{i:04d}", t, f"73917.{7 * i + h:03d}") for i in range(5) for h, t in enumerate(stamps)]
    long = "id,time,value\n" + "".join(f"{i},{t},{v}\n" for i, t, v in rows)
    with_static = "meter;postcode;timestamp;kwh\n" + "".join(f"{i};QZXp{i[-1]};{t};{v}\n" for i, t, v in rows)
    days = "id,date," + ",".join(f"{h:02d}:00" for h in range(6)) + "\n"
    days += "".join(f"QZX{i:04d},2024-03-01," + ",".join(f"73917.{i}{h}" for h in range(6)) + "\n" for i in range(5))
    events = "id,time,age,result\n" + "".join(f"QZX{i},{i // 4},73917.{i},QZX{'abc'[i % 3]}\n" for i in range(24))
    lines = "".join(json.dumps({"id": i, "time": t, "value": float(v)}) + "\n" for i, t, v in rows)
    plain = json.dumps([{"id": i, "time": t, "value": float(v)} for i, t, v in rows], indent=1)
    return {
        "csv": [long.encode(), with_static.encode(), days.encode(), events.encode()],
        "ndjson": [lines.encode()],
        "json": [plain.encode()],
        "parquet": [parquet(long)],
        "xlsx": [workbook(long)],
        "csv.gz": [__import__("gzip").compress(long.encode(), mtime=0)],
    }


def parquet(text):
    import polars as pl

    buffer = io.BytesIO()
    pl.read_csv(io.BytesIO(text.encode())).write_parquet(buffer)
    return buffer.getvalue()


def workbook(text):
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for number, line in enumerate(text.splitlines()):
            sheet.write_row(number, 0, line.split(","))
    return buffer.getvalue()


def mutate_table(rng, content, other):
    if rng.random() < 0.6 and (cells := mutate_cells(rng, content)) is not None:
        return cells
    return mutate_bytes(rng, content, other)


SETTINGS = [{}, {}, {}, {"missing": "keep"}, {"missing": "drop-series"}, {"missing": {"interpolate": "2h"}}]
SETTINGS += [{"align": "resample:2h"}, {"duplicates": "mean"}, {"layout": "long"}, {"layout": "wide"}]
SETTINGS += [{"id": "id", "time": "time", "value": "value"}, {"timezone": "Europe/Bratislava"}, {"register": "difference"}]


def read_a_table(path, rng):
    import shoal

    kind = rng.randrange(4)
    if kind == 0:
        str(shoal.look(path))
    elif kind == 1:
        shoal.read_events(path, sensitive=rng.choice(["result", "value"]), quasi=["age"], time="time")
    else:
        shoal.read_panel(path, **rng.choice(SETTINGS))


def table_readers(work):
    found = [
        Reader(f"table.{ending}", work / f"table.{ending}", seeds, mutate_table, read_a_table, is_table=True)
        for ending, seeds in marked_tables().items()
    ]
    by_ending = {}
    for path in sorted((TESTS / "read/layouts/files").iterdir()):
        if path.is_file() and path.stat().st_size < 8000:
            by_ending.setdefault(path.suffix, []).append(path.read_bytes())
    for ending, seeds in by_ending.items():
        found.append(Reader(f"layout{ending}", work / f"layout{ending}", seeds, mutate_table, read_a_table))
    return found


# Policies

POLICY = """\
title: Half-hourly use
data: {path: meters.csv, id: meter, subject: account, time: timestamp, value: kwh, missing: {interpolate: 2h}}
roles: {tariff: publish, postcode: identifier, diagnosis: sensitive}
adversary: {knows: {points: 5}, scenario: prosecutor}
keep: [peaks, {window: 17:00-20:00}]
require: {risk: {at_most: 0.09}, utility: {normalized-divergence: {at_most: 0.12}}}
method: {name: microaggregation, k: {search: [4, 8, 12]}}
release: {model: publish, to: out}
"""
OTHER_POLICY = """\
data:
  path: x.parquet
method:
  search:
  - {name: microaggregation, k: {search: [8, 12]}}
  - {name: kp, k: 10, p: 3}
engine: local
release:
  model: closed
  to: out
"""


def mutate_policy(rng, content, other):
    import yaml

    if rng.random() < 0.4:
        return mutate_bytes(rng, content, other)
    tree = mutate_tree(rng, yaml.safe_load(content))
    if rng.random() < 0.5:
        return dump_tree(rng, tree)
    return yaml.safe_dump(tree, allow_unicode=True).encode(errors="surrogatepass")


def read_a_policy(path, rng):
    import shoal

    shoal.load_policy(path)


# Releases


def mutate_json(rng, content, other):
    if rng.random() < 0.3:
        return mutate_bytes(rng, content, other)
    return dump_tree(rng, mutate_tree(rng, json.loads(content)))


def mutate_certificate(rng, content, other):
    """In half of the tries sealed again, where that is possible."""
    changed = mutate_json(rng, content, other)
    if rng.random() < 0.5:
        from shoal.release.certificate import Certificate

        with contextlib.suppress(ValueError, RecursionError):
            return Certificate.model_validate_json(changed).sealed().as_bytes()
        # Sealed by hand: what the present certificate does not know is sealed with it.
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            tree = json.loads(changed) | {"seal": ""}
            text = json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            tree["seal"] = hashlib.sha256(text.encode()).hexdigest()
            return (json.dumps(tree, indent=2, ensure_ascii=False) + "\n").encode()
    return changed


def read_a_release(path, rng):
    import shoal

    if rng.random() < 0.5:
        shoal.verify(path.parent)
    else:
        shoal.load_release(path.parent)


def with_its_digest(name, use):
    """Verify a release whose certificate names the changed file by its present digest."""

    def read(path, rng):
        from shoal.release.certificate import Certificate, digest_bytes

        certificate = path.parent / "release.json"
        kept = certificate.read_bytes()
        try:
            if rng.random() < 0.7:
                said = Certificate.model_validate_json(kept)
                files = {**said.files, name: digest_bytes(path.read_bytes())}
                certificate.write_bytes(said.model_copy(update={"files": files}).sealed().as_bytes())
            use(path, rng)
        finally:
            certificate.write_bytes(kept)

    return read


def release_readers(work):
    found = []
    for folder in sorted((TESTS / "formats/1").iterdir()):
        if not folder.is_dir():
            continue
        place = shutil.copytree(folder, work / f"release-{folder.name}")
        for path in sorted(place.iterdir()):
            seeds = [path.read_bytes()]
            if path.name == "release.json":
                found.append(Reader(f"certificate of {folder.name}", path, seeds, mutate_certificate, read_a_release))
            elif path.suffix == ".json":
                use = with_its_digest(path.name, read_a_release)
                found.append(Reader(f"manifest of {folder.name}", path, seeds, mutate_json, use))
            else:
                mutate = mutate_table if path.suffix == ".csv" else mutate_bytes
                use = with_its_digest(path.name, read_a_release)
                found.append(Reader(f"{path.name} of {folder.name}", path, seeds, mutate, use))
    return found


# States


def mutate_checkpoint(rng, content, other):
    from make_states import with_digest

    if rng.random() < 0.3:
        return mutate_bytes(rng, content, other)
    head, _, tables = content.partition(b"\n")[2].partition(b"\n")
    if rng.random() < 0.8:
        head = json.dumps(mutate_tree(rng, json.loads(head))).encode()
    else:
        tables = mutate_bytes(rng, tables, other)
    return with_digest(head + b"\n" + tables)


def mutate_ledger(rng, content, other):
    from shoal.ledger.entries import _sum

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
    import numpy as np

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
        aside = WORK / "copy"
        shutil.rmtree(aside, ignore_errors=True)
        shutil.copytree(place, aside)
        use(aside)

    return read


def as_command(words):
    def read(place):
        from make_states import AT, STATES, command  # noqa: F401

        command(place, words)

    return read


def state_readers(work):
    import make_states as states

    global WORK
    WORK = work
    kept = sorted(states.STATES.iterdir())[-1]
    places = {name: states.unpack(kept / name, work / name) for name in sorted(os.listdir(kept))}
    # States know where they are: those that are copied are asked for where they were.
    for name in ("stream", "grow"):
        shutil.rmtree(places[name])
        shutil.rmtree(work / "copy", ignore_errors=True)
        states.unpack(kept / name, work / "copy")
        shutil.move(work / "copy", places[name])

    def command(words):
        return lambda place: states.command(place, words)

    def read_stream_state(path, rng):
        from shoal.streams.checkpoint import read_checkpoint

        read_checkpoint(path.parent)

    def go_on(words, place):
        return copied(place, command(words))

    # With a sum that was made to fit, what waits may be anything: it is taken up or refused, and nothing is published.
    taken_up = go_on([*states.STREAM, "--no-flush"], places["stream"])
    stream, grow, book = places["stream"], places["grow"], places["ledger"]
    meter, service, project = places["meter"] / "meters/00000", places["closed"] / "closed", places["studio"] / "project"

    def read_books(path, rng):
        from shoal.ledger.file import read_ledger, unfinished

        read_ledger(book / "ledger.jsonl")
        unfinished(book / "ledger.jsonl")

    def record(place):
        from publishing_processes import candidate, release

        release(candidate(), place / "again", place / "private", place / "ledger.jsonl")

    def measure(place):
        from shoal.process.edge import run_meter

        list(run_meter(place / "meters/00000", ["9,1.5"]))

    def ask(place):
        from shoal.closed import Closed, Count, Mean, Quantile, Range

        service = Closed(place / "closed", clock=lambda: 1.7e9)
        token = service.find(service.register.create("south", 1)[1])
        for question in (Count(where=(Range(at=0, low=1.0),)), Mean(), Quantile(q=0.5)):
            service.ask(token, question)
        service.about()
        service.register.entries()

    def open_project(place):
        from shoal import LabelTask
        from shoal.studio.project import Project

        project = Project(place / "project")
        project.tables()
        LabelTask.load(place / "project/tasks/lunch")

    def read_options(path, rng):
        from shoal import load_release
        from shoal.process.remembered import remembered

        remembered(grow / "private", load_release(grow / "out/0"))

    def one(name, path, mutate, use):
        return Reader(name, path, [path.read_bytes()], mutate, use)

    reading = next((grow / "private").glob("reading-*.json"))
    snapshots = stream / "out/snapshots.ndjson"
    found = [
        one("stream state", stream / "private/stream.state", mutate_checkpoint, read_stream_state),
        one("stream state, taken up", stream / "private/stream.state", mutate_checkpoint, taken_up),
        one("stream state, going on", stream / "private/stream.state", mutate_bytes, go_on(states.STREAM, stream)),
        one("growing state", grow / "private/growing.state", mutate_checkpoint, go_on(states.GROW, grow)),
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
    del reading, read_options
    return found


def readers(work):
    """All readers, with their files in a folder; those of one kind beside each other."""
    policy = Reader("policy", work / "policy.yaml", [POLICY.encode(), OTHER_POLICY.encode()], mutate_policy, read_a_policy)
    kinds = {
        "tables": table_readers(work),
        "policies": [policy],
        "certificates and manifests": release_readers(work),
        "states": state_readers(work),
    }
    return kinds


SHARES = {"tables": 0.45, "policies": 0.15, "certificates and manifests": 0.2, "states": 0.2}


def _tries(first, last, work):
    """(kind, reader, number) of each try."""
    kinds = readers(work)
    names = list(kinds)
    for number in range(first, last):
        kind = random.Random(number).choices(names, [SHARES[name] for name in names])[0]
        yield kind, kinds[kind][number % len(kinds[kind])], number


def _batch(first, last, folder, at, pipe):
    """What a process of its own does."""
    signal.signal(signal.SIGALRM, _hang)
    os.fsync = lambda descriptor: None  # what a power cut would leave is another test's
    warnings.simplefilter("ignore")
    outcome = Outcome()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        others = [path.read_bytes() for path in sorted((TESTS / "formats/1").rglob("data*.parquet"))[:4]] + [b"id,time\n"]
        for kind, reader, number in _tries(first, last, Path(folder)):
            at.value = number
            wrong = reader.run(number, others)
            outcome.tries[kind] += 1
            if wrong is not None:
                outcome.find(f"{reader.name}:{number} {wrong}")
    pipe.send(outcome)


def _hang(*_):
    raise Hang


def run(size, folder):
    """So many tries in all."""
    context = multiprocessing.get_context("spawn")
    outcome, first = Outcome(), 0
    while first < size:
        last = min(first + BATCH, size)
        at, (here, there) = context.Value("q", first), context.Pipe(False)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            process = context.Process(target=_batch, args=(first, last, work, at, there))
            process.start()
            there.close()
            try:
                done = here.recv()
                outcome.tries.update(done.tries)
                outcome.findings += done.findings
                first = last
            except EOFError:
                process.join()
                outcome.find(f"number {at.value} ends the process with {process.exitcode}")
                outcome.tries["lost with a process"] += at.value - first + 1
                first = at.value + 1
            process.join()
    return outcome


def repeat(number, name=None):
    """One try again, here, for whoever mends what it found: python -c 'from abuse.readers import repeat; repeat(7)'."""
    signal.signal(signal.SIGALRM, _hang)
    with tempfile.TemporaryDirectory() as work:
        others = [path.read_bytes() for path in sorted((TESTS / "formats/1").rglob("data*.parquet"))[:4]] + [b"id,time\n"]
        for _, reader, at in _tries(number, number + 1, Path(work)):
            rng = random.Random(f"{reader.name}:{at}")
            content = reader.mutate(rng, rng.choice(reader.seeds), rng.choice(others))
            reader.place.write_bytes(content)
            print(reader.name, content[:3000])
            reader.use(reader.place, rng)
