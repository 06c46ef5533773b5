"""Whatever lies in a file, its reader succeeds or refuses it: no other exception, no hang, no word of the data.

A try takes a real file of one kind, changes it, and gives it to its reader. Sums and seals are made to fit again in
many tries, so that what is behind them is tried too. `reader:number` names a try; the same number gives the same bytes.
"""

import multiprocessing
import os
import random
import signal
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

from abuse.reader import TESTS, Hang
from abuse.release_readers import release_readers
from abuse.state_readers import state_readers
from abuse.table_readers import policy_readers, table_readers

BATCH = 2000
"""Tries of one process, which takes seconds to start and whose memory may grow."""
OTHERS = [path.read_bytes() for path in sorted((TESTS / "formats/1").rglob("data*.parquet"))[:4]] + [b"id,time\n"]
"""Files from which pieces are put into others."""
KINDS = {
    "tables": (table_readers, 0.45),
    "policies": (policy_readers, 0.15),
    "certificates and manifests": (release_readers, 0.2),
    "states": (state_readers, 0.2),
}
"""What makes the readers of a kind, and its share of the tries."""


def _tries(numbers, work):
    """(kind, reader, number) of each try."""
    kinds = {kind: make(work) for kind, (make, _) in KINDS.items()}
    names = list(kinds)
    for number in numbers:
        kind = random.Random(number).choices(names, [KINDS[name][1] for name in names])[0]
        yield kind, kinds[kind][number % len(kinds[kind])], number


def _batch(numbers, folder, pipe):
    """What a process of its own does: sends the kind and the finding, if any, of each try."""
    signal.signal(signal.SIGALRM, _hang)
    os.fsync = lambda descriptor: None  # what a power cut would leave is another test's
    warnings.simplefilter("ignore")
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
        for kind, reader, number in _tries(numbers, Path(folder)):
            wrong = reader.run(number, OTHERS)
            pipe.send((kind, None if wrong is None else f"{reader.name}:{number} {wrong}"))


def _hang(*_):
    raise Hang


def run(numbers, size, folder, outcome):
    """The tries of these numbers."""
    context = multiprocessing.get_context("spawn")
    while numbers:
        here, there = context.Pipe(False)
        batch = numbers[:BATCH]
        with tempfile.TemporaryDirectory(dir=folder) as work:
            process = context.Process(target=_batch, args=(batch, work, there))
            process.start()
            there.close()
            done = 0
            with suppress(EOFError):
                while True:
                    kind, wrong = here.recv()
                    done += 1
                    outcome.tries[kind] += 1
                    if wrong is not None:
                        outcome.find(wrong)
            process.join()
            if done < len(batch):
                outcome.find(f"number {batch[done]} ends the process with {process.exitcode}")
                outcome.tries["that end the process"] += 1
                done += 1
            numbers = numbers[done:]


def repeat(number):
    """One try again, here, for whoever mends what it found: python -c 'from abuse.readers import repeat; repeat(7)'."""
    with tempfile.TemporaryDirectory() as work:
        for _, reader, at in _tries([number], Path(work)):
            rng = random.Random(f"{reader.name}:{at}")
            content = reader.mutate(rng, rng.choice(reader.seeds), rng.choice(OTHERS))
            reader.place.write_bytes(content)
            print(reader.name, content[:3000])
            reader.use(reader.place, rng)
