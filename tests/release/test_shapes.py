"""Values once more in the shape that users expect."""

import json

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import KP, Microaggregation, Panel, load_release, publish, read_panel, simulate, verify
from shoal.cli.app import run
from shoal.engines import Memory, in_shards
from shoal.errors import ParameterError
from shoal.release.certificate import Certificate, digest_file
from shoal.release.shapes import SHAPES, shaped

HALF_HOUR = np.timedelta64(30, "m")


def meters(n_instants=96, n=6, n_channels=1, start="2024-10-26T23:00", timezone="Europe/Dublin"):
    """Half-hours over the day on which clocks in Dublin go back: it has 50."""
    rng = np.random.default_rng(5)
    shape = (n, n_instants) if n_channels == 1 else (n, n_instants, n_channels)
    values = rng.random(shape)
    values[0, 0] = np.nan
    times = np.datetime64(start, "us") + np.arange(n_instants) * HALF_HOUR
    return Panel(values, ids=[f"p{i}" for i in range(n)], times=times, timezone=timezone)


@settings(max_examples=40, deadline=None)
@given(
    n_instants=st.integers(1, 120),
    n_channels=st.integers(1, 2),
    timezone=st.sampled_from([None, "UTC", "Europe/Dublin", "+05:30"]),
    start=st.sampled_from(["2024-10-26T21:30", "2024-03-30T20:00", "2024-06-01T00:00"]),
)
def test_every_shape_holds_every_value_once_where_a_plain_loop_puts_it(n_instants, n_channels, timezone, start):
    panel = meters(n_instants, 3, n_channels, start, timezone)
    x = panel.values.reshape(3, n_instants, n_channels)
    series = pl.Series("t", panel.times)
    if timezone is not None and timezone[0] != "+":
        series = series.dt.replace_time_zone("UTC").dt.convert_time_zone(timezone).dt.replace_time_zone(None)
    elif timezone is not None:
        series = series.dt.offset_by("5h30m")
    local = series.to_list()
    wide = pl.from_arrow(shaped(panel, "wide").drop_columns(["time"]))
    rows = pl.from_arrow(shaped(panel, "row-per-series"))
    days = pl.from_arrow(shaped(panel, "day-rows"))
    figures = [c for c in days.columns if c not in ("id", "date", "channel")]
    assert sum(days[c].count() for c in figures) == int((~np.isnan(x)).sum())
    seen = {}
    for s in range(3):
        for t in range(n_instants):
            for c in range(n_channels):
                value = None if np.isnan(x[s, t, c]) else x[s, t, c]
                assert wide[f"p{s}"][t * n_channels + c] == value
                assert rows.row(s * n_channels + c)[t + 1 + (n_channels > 1)] == value
    for t, clock in enumerate(local):
        seen.setdefault(clock.date(), []).append((clock.strftime("%H:%M"), t))
    doubled = any(len({slot for slot, _ in day}) < len(day) for day in seen.values())
    for row in days.iter_rows(named=True):
        s, c = int(row["id"][1:]), 0 if n_channels == 1 else ["value_0", "value_1"].index(row["channel"])
        for place, (slot, t) in enumerate(seen[row["date"]]):
            value = None if np.isnan(x[s, t, c]) else x[s, t, c]
            assert row[str(place + 1) if doubled else slot] == value


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_release_has_it_beside_the_data_and_verify_judges_it(tmp_path, shape, kind):
    publish(Microaggregation(k=3).anonymize(meters()), tmp_path / "out", shape=shape, format=kind)
    path = tmp_path / "out" / f"{shape}.{kind}"
    assert path.name in json.loads((tmp_path / "out" / "release.json").read_text())["files"]
    assert verify(tmp_path / "out").holds
    _change_one_value(path)
    sealed = Certificate.model_validate_json((tmp_path / "out" / "release.json").read_bytes())
    assert any("was changed after the release" in found for found in verify(tmp_path / "out").findings)
    # Sealed anew, so that only the comparison with the data can find it.
    sealed = sealed.model_copy(update={"files": sealed.files | {path.name: digest_file(path)}})
    (tmp_path / "out" / "release.json").write_bytes(sealed.sealed().as_bytes())
    assert verify(tmp_path / "out").findings == (f"{path.name} does not say the same as the data",)


def _change_one_value(path):
    frame = pl.read_csv(path, infer_schema=False) if path.suffix == ".csv" else pl.read_parquet(path)
    last = frame.columns[-1]
    column = frame[last].to_list()
    column[-1] = "0.125" if path.suffix == ".csv" else 0.125
    changed = frame.with_columns(pl.Series(last, column))
    if path.suffix == ".csv":
        changed.write_csv(path)
    else:
        schema = pq.read_schema(path)
        pq.write_table(changed.to_arrow().cast(schema), path, compression="zstd")


def test_parts_have_it_each(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.release.written_parts.PART_BYTES", 8 * 96 * 12)
    shards = in_shards(meters(n=60), Memory(), size=8)
    publish(Microaggregation(k=2, algorithm="mdav").anonymize(shards), tmp_path / "out", shape="day-rows")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"day-rows-00000.parquet", "day-rows-00001.parquet"} <= names
    assert verify(tmp_path / "out").holds
    assert load_release(tmp_path / "out").published.n_series == 60


@pytest.mark.parametrize(
    ("header", "shape"),
    [("time,m1,m2,m3,m4", "wide"), ("id,0,1,2,3", "row-per-series"), ("id,time,value", "long")],
)
def test_same_is_the_shape_the_table_came_in(tmp_path, monkeypatch, header, shape):
    monkeypatch.chdir(tmp_path)
    if shape == "long":
        lines = [f"m{i},{t},{i}.{t}" for i in range(4) for t in range(4)]
    else:
        lines = [f"{row}," + ",".join(f"{row}.{c}" for c in range(1, 5)) for row in range(4)]
    (tmp_path / "t.csv").write_text("\n".join([header, *lines]) + "\n")
    assert run(["anonymize", "t.csv", "--k", "2", "--as", "same", "--format", "csv", "-o", "out"]) == 0
    tables = {path.name for path in (tmp_path / "out").glob("*.csv")} - {"data.csv"}
    assert tables == (set() if shape == "long" else {f"{shape}.csv"})
    assert verify("out").holds
    if tables:  # read again it is the release
        again = read_panel(tmp_path / "out" / tables.pop(), layout="wide")
        assert sorted(map(tuple, again.values.tolist())) == sorted(map(tuple, load_release("out").values.tolist()))


def test_what_has_no_such_shape_is_refused(tmp_path, capsys):
    with pytest.raises(ParameterError, match="shape must be one of: same, long, wide"):
        publish(Microaggregation(k=2).anonymize(meters()), tmp_path / "out", shape="tall")
    with pytest.raises(ParameterError, match="applies to releases of values of series"):
        publish(KP(k=4, p=2).anonymize(simulate.meters(12, days=1, seed=1)), tmp_path / "out", shape="wide")
    with pytest.raises(ParameterError, match="Day rows need timestamps"):
        publish(Microaggregation(k=2).anonymize(Panel(np.eye(4))), tmp_path / "out", shape="day-rows")
    with pytest.raises(ParameterError, match="would have 20001 columns, more than 20000"):
        shaped(Panel(np.ones((20_001, 1))), "wide")
    assert not (tmp_path / "out").exists()
