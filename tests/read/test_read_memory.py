"""A long table is pivoted within a stated multiple of the panel's own size."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

N_IDS, N_INSTANTS = 20_000, 250
PANEL_MB = N_IDS * N_INSTANTS * 8 / 1e6

CHILD = """
import json, resource, sys
import numpy, duckdb, polars, pyarrow.csv, pyarrow.parquet
from shoal.read import read_panel

unit = 1 if sys.platform == "darwin" else 1024
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
panel = read_panel(sys.argv[1], **json.loads(sys.argv[2]))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
print(json.dumps({"shape": panel.values.shape, "missing": panel.n_missing, "mb": (after - before) / 1e6}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Five million rows in order of time, the harder one: every batch holds every series."""
    folder = tmp_path_factory.mktemp("long")
    schema = pa.schema([("id", pa.string()), ("time", pa.timestamp("us")), ("value", pa.float64())])
    ids = pa.array([f"meter-{number:07d}" for number in range(N_IDS)])
    random = np.random.default_rng(5)
    with (
        pyarrow.parquet.ParquetWriter(folder / "x.parquet", schema) as parquet,
        pyarrow.csv.CSVWriter(str(folder / "x.csv"), schema) as csv,
    ):
        for start in range(0, N_INSTANTS, 25):
            times = np.datetime64("2024-01-01", "us") + np.arange(start, start + 25) * np.timedelta64(900, "s")
            which = np.tile(np.arange(N_IDS), 25)
            columns = [ids.take(pa.array(which)), np.repeat(times, N_IDS), random.random(len(which))]
            table = pa.table(columns, schema=schema)
            parquet.write_table(table)
            csv.write_table(table)
    return folder


@pytest.mark.parametrize(
    ("name", "settings", "panels"),
    [
        ("x.parquet", {}, 1.25),
        pytest.param("x.csv", {}, 1.25, marks=pytest.mark.soak),
        pytest.param("x.parquet", {"align": "resample:15min"}, 2.0, marks=pytest.mark.soak),
        pytest.param(None, {"sql": "select * from '{folder}/x.parquet'"}, 1.25, marks=pytest.mark.soak),
    ],
)
def test_memory_of_reading_five_million_rows(folder, name, settings, panels):
    source = None if name is None else str(folder / name)
    settings = {key: text.replace("{folder}", str(folder)) for key, text in settings.items()}
    script = CHILD if source else CHILD.replace("sys.argv[1], ", "")
    command = [sys.executable, "-c", script, source or "", json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["shape"] == [N_IDS, N_INSTANTS]
    assert result["missing"] == 0
    # Some batches in flight, whatever the size of the panel.
    assert result["mb"] < panels * PANEL_MB + 400
