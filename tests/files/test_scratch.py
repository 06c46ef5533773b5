"""What engines write aside holds raw data: it is for its owner alone, and goes when the work ends."""

import os
import signal
import stat
import subprocess
import sys

import pyarrow as pa
import pytest

from shoal.engines import Local
from shoal.files.scratch import ScratchFolder


def test_folders_are_for_their_owner_alone(tmp_path):
    folder = ScratchFolder.make("mine-", tmp_path)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_those_of_dead_processes_are_swept_and_others_are_not(tmp_path):
    dead, alive, other = (
        ScratchFolder.make("mine-", tmp_path),
        ScratchFolder.make("mine-", tmp_path),
        ScratchFolder.make("theirs-", tmp_path),
    )
    os.close(dead.lock)  # as the end of a process would
    os.close(other.lock)
    (dead.path / "raw").write_text("secret")
    new = ScratchFolder.make("mine-", tmp_path)
    assert not dead.path.exists()
    assert sorted(tmp_path.iterdir()) == sorted([alive.path, other.path, new.path])


WORK = """
import sys, time
import numpy as np
import pyarrow as pa
from shoal.cli import app
from shoal.engines import Local, Same

table = pa.table({"key": np.arange(1000), "raw": np.arange(1000.0)})

def linger():
    with Local(scratch=sys.argv[1]) as engine:
        kept = engine.keep(engine.together(engine.scatter(table), ["key"], Same(), table.schema))
        print("ready", flush=True)
        while True:  # a signal between the interpreter's look for one and its sleep would have to wait for all of it
            time.sleep(0.1)

def run(arguments):
    try:
        return linger()
    except KeyboardInterrupt:
        return 130

app.run = run
app.main()
"""


@pytest.mark.parametrize(("number", "left", "code"), [(signal.SIGTERM, 0, 130), (signal.SIGKILL, 1, -9)])
def test_who_is_stopped_takes_raw_data_along_and_who_is_killed_leaves_them_to_the_next(tmp_path, number, left, code):
    process = subprocess.Popen([sys.executable, "-c", WORK, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "ready\n"
        n_files = len(list(tmp_path.rglob("*.arrow")))
        process.send_signal(number)
        assert process.wait(30) == code
    assert n_files, "there were raw data to remove"
    assert len(list(tmp_path.iterdir())) == left
    with Local(scratch=tmp_path) as engine:
        kept = engine.keep(engine.scatter(pa.table({"raw": [1.0]})))
        assert kept.schema.names == ["raw"]
        assert len(list(tmp_path.iterdir())) == 1
    assert list(tmp_path.iterdir()) == []
