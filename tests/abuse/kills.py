"""Processes killed at random moments: what was whole stays whole, what was confirmed stays, the next run goes on."""

import random
import shutil
import time

from abuse import processes as ours
from stream_processes import PATIENCE, finish

ROUND = 10
"""Kills of one command in one folder before it is left to end; fewer where all commands would not get their turn."""


def kill(process, seconds):
    """Kill a process after some time; whether it was still running."""
    process.join(seconds)
    if not process.is_alive():
        return False
    process.kill()
    process.join()
    return True


def writing_links(folder, **more):
    first = 1000 * sum(1 for _ in folder.glob("confirmed-*"))
    return ours.spawn(ours.write_links, folder, first, 400)


KINDS = {
    "anonymize --overwrite with a ledger": (ours.anonymize, ["out"]),
    "run --overwrite": (ours.run_policy, ["out-run"]),
    "stream": (ours.stream, []),
    "grow": (ours.grow, []),
    "studio": (writing_links, []),
}


def judged(kind, folder):
    """Everything that is wrong right after a kill."""
    wrong = [ours.judge_release(folder / name) for name in KINDS[kind][1]]
    if kind == "grow" and (folder / "out-grow").exists():
        wrong += [ours.judge_release(path) for path in (folder / "out-grow").iterdir() if path.name[0] != "."]
    if kind.startswith("anonymize"):
        wrong.append(ours.judge_ledger(folder / "ledger.jsonl"))
    if kind == "studio":
        lost, is_whole = ours.lost_links(folder)
        wrong += ["studio: a confirmed change is lost or there twice"] * bool(lost) + ["studio: damaged"] * (
            not is_whole
        )
    return [text for text in wrong if text is not None]


def run(numbers, size, folder, outcome):
    """So many kills as there are numbers."""
    kept = folder / "kept"
    kept.mkdir()
    finish(ours.spawn(ours.prepare, kept))
    usual, rng, number = {}, random.Random(numbers.start), 0
    a_round = max(1, min(ROUND, len(numbers) // len(KINDS)))
    while outcome.tries.total() < len(numbers):
        kind = min(KINDS, key=lambda kind: outcome.tries[kind])
        begin, place = KINDS[kind][0], folder / f"{number}"
        number += 1
        shutil.copytree(kept, place)
        if kind not in usual:
            start = time.perf_counter()
            finish(begin(place))
            usual[kind] = time.perf_counter() - start
            if kind in ("stream", "grow", "studio"):  # they would have nothing left to do
                shutil.rmtree(place)
                shutil.copytree(kept, place)
        before = outcome.tries.total()
        for _ in range(5 * a_round):
            if outcome.tries.total() - before >= min(a_round, len(numbers) - before):
                break
            start = time.perf_counter()
            if not kill(begin(place), rng.random() * usual[kind]):
                if outcome.tries.total() == before:  # from the beginning, and the machine may be less busy by now
                    usual[kind] = min(usual[kind], time.perf_counter() - start)
                if kind in ("stream", "grow"):
                    break
                continue
            outcome.tries[kind] += 1
            for text in judged(kind, place):
                outcome.find(f"{kind} in round {number}: {text}")
        said = folder / "said"
        said.write_text("")
        process = begin(place, errors=said)
        process.join(PATIENCE)
        if process.exitcode != 0:
            told = " ".join(said.read_text().split())[-300:]
            outcome.find(f"{kind} in round {number}: the run that is left to end gives {process.exitcode}: {told}")
        for text in [*judged(kind, place), *([ours.judge_stream(place)] if kind == "stream" else [])]:
            if text is not None:
                outcome.find(f"{kind} in round {number}, at the end: {text}")
        left = [p.name for p in place.rglob("*") if any(w in p.name for w in ("partial", "replaced", "pending"))]
        if left:
            outcome.find(f"{kind} in round {number}: the last run leaves {left[:3]}")
        shutil.rmtree(place)
