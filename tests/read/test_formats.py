"""Every layout of the shared set is read as its expected file says, given the zone where one is needed."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal import read_panel

FORMATS = Path(__file__).parents[3] / "shared" / "data" / "formats"
MANIFEST = json.loads((FORMATS / "manifest.json").read_text()) if FORMATS.is_dir() else {}

pytestmark = pytest.mark.skipif(not MANIFEST, reason="the shared set of formats is not on this machine")


def readings(panel):
    """What a panel holds: value by identifier, time and channel."""
    values = panel.values if panel.values.ndim == 3 else panel.values[:, :, None]
    times = panel.times.astype("datetime64[us]").tolist()
    return {
        (name, times[t], channel): values[n, t, c]
        for n, name in enumerate(panel.ids.tolist())
        for c, channel in enumerate(panel.channels)
        for t in np.flatnonzero(~np.isnan(values[n, :, c]))
    }


@pytest.mark.parametrize("name", sorted(MANIFEST))
def test_the_shared_set(name):
    known = MANIFEST[name]
    zone = re.search(r"[A-Z][a-z]+/[A-Z]\w+", known["zone"]) if known["basis"] == "UTC" else None
    panel = read_panel(FORMATS / name, missing="keep", timezone=zone and zone[0])
    expected = pl.read_parquet(FORMATS / "expected" / f"{Path(name).stem}.parquet").drop_nulls("value")
    found = readings(panel)
    if expected["channel"].null_count():
        assert panel.n_channels == 1
        found = {(id_, time, None): value for (id_, time, _), value in found.items()}
    if expected["id"].n_unique() == 1 and expected["id"][0] == Path(name).stem:
        # No identifier in the file: one series, by any name.
        assert panel.n_series == 1
        found = {(expected["id"][0], time, channel): value for (_, time, channel), value in found.items()}
    wanted = {(i, t, c): v for i, t, c, v in expected.select("id", "time", "channel", "value").iter_rows()}
    assert found.keys() == wanted.keys()
    assert all(found[key] == pytest.approx(wanted[key], rel=1e-12) for key in wanted)
