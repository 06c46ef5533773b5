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
from shoal.engines.blocks import BlockPanel, Clock
from shoal.engines.checks import check
from shoal.engines.microaggregation import anonymize
from shoal.engines.rows import pack

folder = Path(sys.argv[1])
N, LENGTH, FILES, MEMORY = 20_000, 2_000, 20, 96 * 2**20
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

def run(folder, n, memory):
    with Local(memory=memory, scratch=scratch) as engine:
        panel = BlockPanel(engine, engine.read(str(folder)), Clock(np.arange(LENGTH)), n_series=n, n_subjects=n)
        candidate = anonymize(METHOD, panel)
        return check(METHOD.aims_at, candidate), candidate.recipe.figures["leaves"]

scratch = folder / "scratch"
METHOD = Microaggregation(k=10, algorithm="mdav")
run(folder / "panel" / "00.parquet", N // FILES, MEMORY)  # loads and compiles all that is needed
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
verdict, leaves = run(folder / "panel", N, MEMORY)
done = True
thread.join()
print(json.dumps({
    "holds": verdict.holds, "measured": verdict.measured, "leaves": leaves, "panel": 8 * N * LENGTH,
    "allowed": MEMORY, "more": most - before, "left": [file.name for file in scratch.iterdir()],
}))
'''


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc, which is not there")
def test_three_times_the_memory_allowed_is_anonymized_and_checked(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, script, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["panel"] > 3 * found["allowed"]
    assert found["holds"]
    assert found["measured"] >= 10
    assert found["leaves"] > 8
    assert found["more"] < found["allowed"]
    assert found["left"] == []
