"""How much memory `shoal.anonymize` takes beyond the frame it is given."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np, pandas as pd, shoal

def frame(n):
    times = pd.date_range("2024-01-01", periods=48, freq="30min")
    return pd.DataFrame(np.random.default_rng(1).gamma(2.0, 1.0, (n, 48)), columns=times)

def kept(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1]) * 1024

n, layout = int(sys.argv[1]), sys.argv[2]
shape = {"rows": lambda f: f, "columns": lambda f: f.T}[layout]
shoal.anonymize(shape(frame(500)), k=10, layout="wide").to_pandas()  # compiled, and libraries loaded
df = shape(frame(n))
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew: compiling may have taken more
before = kept("VmRSS")
released = shoal.anonymize(df, k=10, layout="wide")
peak = kept("VmHWM")
assert released.to_pandas().shape == df.shape
print((peak - before) / df.to_numpy().nbytes)
"""


@pytest.mark.soak
@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_a_frame_of_100_000_series_takes_at_most_four_times_its_size(layout):
    done = subprocess.run([sys.executable, "-c", SCRIPT, "100000", layout], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert float(done.stdout) <= 4.0
