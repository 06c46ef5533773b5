"""A panel several times as large as the memory allowed, on one machine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = '''
import json, sys, threading, time
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
from pathlib import Path
from shoal import Microaggregation
from shoal.engines import Local
from shoal.engines.rows import pack
from shoal.engines.series import SeriesTable
from shoal.model import PanelShards, Whole
from shoal.release import release_candidate, verify, written_parts

folder = Path(sys.argv[1])
N, LENGTH, FILES, MEMORY, SIZE = 14_000, 2_000, 20, 64 * 2**20, 120
written_parts.PART_BYTES = 4 * 2**20
(folder / "panel").mkdir()
(folder / "scratch").mkdir()
for i in range(FILES):
    rng = np.random.default_rng([3, i])
    values = rng.normal(size=(N // FILES, 8)) @ np.random.default_rng(3).normal(size=(8, LENGTH))
    ids = pa.array([f"{i:02}-{j:05}" for j in range(len(values))])
    table = pa.table({"id": ids, "subject": ids, "row": pack(values)})
    pq.write_table(table, folder / "panel" / f"{i:02}.parquet", row_group_size=250, use_dictionary=False)

def anonymous():
    """Memory of its own, in bytes: without pages of files, which the system takes back when it likes."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) * 1024

def run(folder, n, to):
    with Local(memory=MEMORY, scratch=scratch) as engine:
        whole = Whole(n_series=n, n_subjects=n, n_missing=0, times=np.arange(LENGTH))
        panel = PanelShards.of(SeriesTable(engine, engine.read(str(folder)), whole), SIZE)
        candidate = METHOD.anonymize(panel)
        verdict = candidate.check()
        release_candidate(candidate, to, summary="a test")
        return verdict, candidate.n_shards

scratch = folder / "scratch"
METHOD = Microaggregation(k=10, algorithm="mdav")
run(folder / "panel" / "00.parquet", N // FILES, folder / "first")  # loads and compiles all that is needed
pa.default_memory_pool().release_unused()
before = anonymous()
most, done = 0, False

def look():
    global most
    while not done:
        most = max(most, anonymous())
        time.sleep(0.005)

thread = threading.Thread(target=look)
thread.start()
verdict, n_shards = run(folder / "panel", N, folder / "out")
done = True
thread.join()
print(json.dumps({
    "holds": verdict.holds, "measured": verdict.measured, "shards": n_shards, "panel": 8 * N * LENGTH,
    "verified": verify(folder / "out").holds,
    "allowed": MEMORY, "more": most - before, "left": [file.name for file in scratch.iterdir()],
}))
'''


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc, which is not there")
def test_three_times_the_memory_allowed_is_anonymized_checked_and_released(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["panel"] > 3 * found["allowed"]
    assert found["holds"]
    assert found["verified"]
    assert found["measured"] >= 10
    assert found["shards"] > 30
    # The memory allowed is for blocks of rows; the shard at work and the sample of the plan come on top.
    assert found["more"] < 2 * found["allowed"]
    assert found["left"] == []
