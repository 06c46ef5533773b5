"""Real processes that publish and are killed by the system before a step that lasts."""

import multiprocessing
import os
import signal

import numpy as np

from stream_processes import PATIENCE, PRELOAD

STEPS = ("rename", "unlink", "rmdir", "mkdir", "fsync", "ftruncate")
"""What changes the disk for good."""


def candidate():
    from shoal import Microaggregation, Panel

    values = np.random.default_rng(0).random((12, 4))
    return Microaggregation(k=3).anonymize(Panel(values, ids=[f"house {i}" for i in range(12)]))


def places(folder):
    return {"to": folder / "out", "private": folder / "private", "ledger": folder / "ledger.jsonl"}


def release(made, to, private, ledger):
    """What publishing comes to, without figures and report: they take long and write nothing that lasts."""
    from shoal.ledger.file import recording
    from shoal.release import release_candidate

    with recording(ledger, made, to) as record:
        record(release_candidate(made, to, summary="Test.", private=private, overwrite=True))


def release_killed(folder, kill_at):
    """What the child does: publish, and be killed by the system before its n-th step that lasts."""
    done = 0

    def step(real):
        def counted(*given, **options):
            nonlocal done
            done += 1
            if done == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*given, **options)

        return counted

    made = candidate()
    for name in STEPS:
        setattr(os, name, step(getattr(os, name)))
    release(made, **places(folder))


def start(target, *given):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    process = context.Process(target=target, args=given)
    process.start()
    process.join(PATIENCE)
    assert not process.is_alive(), "a process hangs"
    return process.exitcode


def release_killed_in_parts(folder, point):
    """Killed at one of the points between the map aside and the map in its place."""

    def die(*given, **options):
        os.kill(os.getpid(), signal.SIGKILL)

    def after(real):
        def done(*given, **options):
            real(*given, **options)
            die()

        return done

    from shard_examples import small_candidate
    from shoal import publish
    from shoal.files import whole_folder as folders
    from shoal.release import gate, private, written_parts

    if point == "before the map is whole":
        gate.finish_map = die
    elif point == "before the release is in place":
        folders._put_in_place = die
    elif point == "before the map is in place":
        folders._put_in_place = after(folders._put_in_place)
    else:
        private.settle_map = after(private.settle_map)
    written_parts.PART_BYTES = 1024
    publish(small_candidate(), folder / "out", private=folder / "private")
