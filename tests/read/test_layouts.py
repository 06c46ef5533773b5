"""Layouts that utilities exchange, each with its correct reading.

The layouts are real, every value and identifier is invented, and the correct reading follows from the invented values,
never from a reader. The first are kept as files, with what is special about them in `layouts/manifest.json`; those of
`layouts_more`, invented apart from the reader, are written when they are tested.
"""

import json
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import xlsxwriter

from read.correct_readings import assert_correct
from read.layouts_more.readings import LAYOUTS
from shoal import Panel, read_panel
from shoal.errors import InputError

HERE = Path(__file__).parent / "layouts"
for module in sorted(HERE.with_name("layouts_more").glob("*.py")):
    import_module(f"read.layouts_more.{module.stem}")  # adds its own to LAYOUTS
MANIFEST = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def expected():
    return pq.read_table(HERE / "expected.parquet")


@pytest.mark.parametrize("name", MANIFEST)
def test_layout_is_read_correctly(name, expected):
    entry = MANIFEST[name]
    panel = read_panel(HERE / "files" / name, missing="keep", timezone=entry["timezone"], layout=entry["layout"])
    rows = expected.filter(pc.equal(expected["file"], name)).to_pylist()
    assert_correct(panel, rows, basis=entry["basis"], zone=entry["zone"], names=entry["names"])


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.file)
def test_written_layout_is_read_correctly(layout, tmp_path):
    book = layout.write_to(tmp_path)
    panel = read_panel(tmp_path / layout.file, missing="keep", timezone=layout.timezone, layout=layout.layout)
    assert_correct(panel, layout.rows(book), basis=layout.basis, zone=book.zone.key, names=layout.names)


def test_sessions_are_no_readings(tmp_path):
    rng = np.random.default_rng(7)
    starts = np.datetime64("2024-01-01T00:00") + np.sort(rng.integers(0, 40_000, 60))
    ends = starts + rng.integers(20, 600, 60)
    rows = [f"{n},CP{n % 3},{start},{end},{n % 17}.5" for n, (start, end) in enumerate(zip(starts, ends, strict=True))]
    path = tmp_path / "charges.csv"
    path.write_text("\n".join(["Session,Charge Point,Start,End,Energy (kWh)", *rows]))
    with pytest.raises(InputError, match=r"last from 'Start' to 'End'.*sessions, not readings.*read_events.*time="):
        read_panel(path, missing="keep")
    named = read_panel(path, missing="keep", id="Charge Point", time="Start", value="Energy (kWh)")
    assert len(named.ids) == 3


def test_sheets_of_the_same_columns_are_series(tmp_path):
    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        about = book.add_worksheet("About")
        about.write_row(0, 0, ["Report", "June"])
        about.write_row(1, 0, ["Unit", "kWh"])
        for n, name in enumerate(("North", "South")):
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["Time", "kWh"])
            for i in range(24):
                sheet.write_row(1 + i, 0, [f"01.06.2024 {i:02d}:00", i + 100 * n])
    panel = read_panel(path)
    assert list(panel.ids) == ["North", "South"]
    assert panel.values[1].tolist() == [100.0 + i for i in range(24)]
    assert list(read_panel(path, sheet="South").values[0]) == list(panel.values[1])


def panel_of(rows, shift=0):
    """The panel a correct reader makes of these rows, or one that is late by some minutes."""
    ids, times, channels = (sorted({row[key] or "" for row in rows}) for key in ("id", "time", "channel"))
    values = np.full((len(ids), len(times), len(channels)), np.nan)
    for row in rows:
        position = ids.index(row["id"]), times.index(row["time"]), channels.index(row["channel"] or "")
        values[position] = np.nan if row["value"] is None else row["value"]
    instants = np.array(times, dtype="datetime64[us]") + np.timedelta64(shift, "m")
    return Panel(values, ids=ids, times=instants, channels=[channel or "value" for channel in channels])


def test_the_judge_accepts_the_correct_reading_and_no_other():
    start = datetime(2024, 5, 1)
    rows = [
        {
            "id": name,
            "time": start + n * timedelta(minutes=30),
            "value": n + ord(name) + ord(channel),
            "channel": channel,
        }
        for name in "ab"
        for channel in "EB"
        for n in range(4)
    ]
    terms = {"basis": "local", "zone": "Europe/London"}
    assert_correct(panel_of(rows), rows, **terms)
    assert_correct(panel_of([row | {"id": row["id"] * 2} for row in rows]), rows, **terms, names="any")
    wrong = {
        "lacking": panel_of(rows, shift=30),
        "differ": panel_of([rows[0] | {"value": 0.5}, *rows[1:]]),
        "correct are 4": panel_of([row for row in rows if row["channel"] == "E"]),
        "other names": panel_of([row | {"id": row["id"] * 2} for row in rows]),
    }
    for why, panel in wrong.items():
        with pytest.raises(AssertionError, match=why):
            assert_correct(panel, rows, **terms)
