"""Tables that are no plain Parquet, on an engine: what `read_panel` makes of them, the same bytes, the same refusal."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import read
from engines.sessions import OPEN, skip_without_java
from engines.test_reading import assert_same, outcome
from read.layouts_more.desks import workbook
from read.test_sources import packed
from shoal import Microaggregation, publish, read_panel
from shoal.cli.app import run
from shoal.engines import Local, Memory
from shoal.errors import InputError, ParameterError

LAYOUTS = Path(*read.__path__) / "layouts"
START = datetime(2023, 10, 28)


@pytest.fixture
def streamed(monkeypatch):
    """Reading fails where it would bring the panel into the driver's memory."""

    def refuse(*_, **__):
        pytest.fail("the panel was read in memory")

    monkeypatch.setattr("shoal.engines.reading.panel.read_panel", refuse)


def messy(path, *, n=60, days=3, first=0, gaps=True):
    """Half-hours of a local clock over the end of summer time, as a utility would export them: rows newest first."""
    rng = np.random.default_rng(5)
    clock = [START + timedelta(minutes=30 * (t + first)) for t in range(48 * days)]
    twice = START + timedelta(days=1, hours=2)
    stamps = [s for s in clock if s < twice + timedelta(hours=1)]
    stamps += [twice, twice + timedelta(minutes=30), *(s for s in clock if s >= twice + timedelta(hours=1))]
    lines = []
    for meter in range(n):
        for t, stamp in enumerate(stamps):
            settled = gaps and not 50 <= t <= 58  # the order of rows must tell which hour is meant
            if settled and (meter * 7 + t) % 211 == 3:
                continue
            value = "NA" if settled and (meter + t) % 97 == 5 else f"{rng.gamma(2.0):.3f}".replace(".", ",")
            lines.append(f"{stamp:%d.%m.%Y %H:%M};m{meter:03} ;{value};h{meter // 2};{meter % 5}")
            if settled and (meter * 13 + t) % 501 == 9:
                lines.append(lines[-1])
    path.write_text("\n".join(["Zeit;Zähler;Verbrauch kWh;Haushalt;Tarif", *reversed(lines)]) + "\n")
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {"missing": "keep"},
        {"missing": "interpolate:1h,drop-series"},
        {"missing": "interpolate:2h,drop-instants", "subject": "Haushalt", "quasi": "Tarif"},
        {"missing": "keep", "align": "resample:1h", "complete": 0.5, "other": "Tarif"},
    ],
)
def test_a_messy_export_is_read_batch_by_batch_as_in_memory(local, streamed, tmp_path, settings):
    table = messy(tmp_path / "x.csv")
    settings = {"timezone": "Europe/Berlin"} | settings
    assert_same(local.read_panel(table, **settings), read_panel(table, **settings))


@pytest.mark.parametrize("settings", [{"timezone": "Europe/Berlin"}, {"missing": "keep"}, {"null": "x"}])
def test_what_speaks_against_it_is_told_as_in_memory(local, streamed, tmp_path, settings):
    table = messy(tmp_path / "x.csv")
    kind, why = outcome(lambda: read_panel(table, **settings))
    found = outcome(lambda: local.read_panel(table, **settings))
    assert found[0] is kind
    assert why.startswith(found[1]), "in memory all problems are told at once"


@pytest.mark.parametrize("first", [0, 1])
def test_ends_of_intervals_become_starts(local, streamed, tmp_path, first):
    table = messy(tmp_path / "x.csv", first=first)
    settings = {"missing": "keep", "timezone": "Europe/Berlin"}
    assert_same(local.read_panel(table, **settings), read_panel(table, **settings))


def test_lines_that_are_not_rows_are_counted_over_all_files(local, streamed, tmp_path):
    for part in range(2):
        stamps = [START + timedelta(days=30 + part, minutes=30 * t) for t in range(48)]
        lines = [f"{stamp:%d.%m.%Y %H:%M};m{meter:03};{meter},5" for meter in range(60) for stamp in stamps]
        broken = ["cut off"] * (part + 1)
        text = "\n".join(["Zeit;Zähler;Verbrauch kWh", *lines[:100], *broken, *lines[100:], "the end"])
        (tmp_path / f"{part}.csv").write_text(text + "\n")
    found = local.read_panel(str(tmp_path / "*.csv"))
    assert_same(found, read_panel(str(tmp_path / "*.csv")))
    assert found.origin.reading["lines_skipped"] == 5


LAYOUT_NAMES = [
    "uk_reading_1_50_autumn.csv",
    "nem12_5min_two_nmis.csv",
    "espi_two_usage_points.xml",
    "meters_with_nested_readings.json",
    "one_per_meter.zip",
    "day_rows_with_real_dates.xlsx",
    "ch_zeitstempel_bezug_einspeisung.csv",
    "dictionary_ids_and_decimals.parquet",
    "day_rows_as_lists.parquet",
    "water_registers_month_in_letters.csv",
]


@pytest.mark.parametrize("name", LAYOUT_NAMES)
def test_layouts_are_read_as_in_memory(local, name):
    entry = json.loads((LAYOUTS / "manifest.json").read_text(encoding="utf-8"))[name]
    settings = {"missing": "keep", "timezone": entry["timezone"]}
    table = LAYOUTS / "files" / name
    assert_same(local.read_panel(table, **settings), read_panel(table, **settings))


def long_frame(n=40):
    hours = [START + timedelta(hours=t) for t in range(48)]
    values = np.random.default_rng(1).gamma(2.0, size=n * 48)
    return pl.DataFrame({"id": np.repeat([f"m{i}" for i in range(n)], 48), "time": hours * n, "value": values})


@pytest.mark.parametrize(
    "settings", [{"split": "day"}, {"duplicates": "first"}, {"register": "difference", "missing": "keep"}]
)
def test_settings_that_need_the_whole_table_are_followed(local, tmp_path, settings):
    long_frame().write_csv(tmp_path / "x.csv")
    assert_same(local.read_panel(tmp_path / "x.csv", **settings), read_panel(tmp_path / "x.csv", **settings))


def test_an_engine_tells_that_readings_only_grow(local, tmp_path):
    long_frame().with_columns(pl.col("value").cum_sum().over("id")).write_parquet(tmp_path / "x.parquet")
    found = local.read_panel(tmp_path / "x.parquet")
    assert_same(found, read_panel(tmp_path / "x.parquet"))
    assert "readings only grow" in found.origin.notes[-1]


def test_frames_queries_and_sheets(local, tmp_path):
    frame = long_frame()
    assert_same(local.read_panel(frame), read_panel(frame))
    frame.write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.zip").write_bytes(packed({"x.parquet": (tmp_path / "x.parquet").read_bytes()}))
    for place in (tmp_path / "x.zip", tmp_path / "?.parquet"):
        assert_same(local.read_panel(place), read_panel(place))
    sql = "select id, time, value from input where id <> 'm7'"
    assert_same(local.read_panel(tmp_path / "x.parquet", sql=sql), read_panel(tmp_path / "x.parquet", sql=sql))

    def fill(book):
        for sheet, part in (("notes", frame[:3, :1]), ("a", frame), ("b", frame.with_columns(pl.col("value") * 2))):
            part.write_excel(book, worksheet=sheet)

    (tmp_path / "x.xlsx").write_bytes(workbook(fill))
    assert_same(local.read_panel(tmp_path / "x.xlsx", sheet="b"), read_panel(tmp_path / "x.xlsx", sheet="b"))


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_same_bytes_come_out_as_from_memory(streamed, tmp_path):
    table = messy(tmp_path / "x.csv", n=90, days=2)
    settings = {"missing": "interpolate:3h,drop-instants", "timezone": "Europe/Berlin", "quasi": "Tarif"}

    def released(engine, to):
        panel = engine.read_panel(table, shard_size=20, **settings)
        publish(Microaggregation(k=4).anonymize(panel), to, insecure_seed=3)
        return contents(to)

    expected = released(Memory(), tmp_path / "memory")
    with Local(memory="32MB", scratch=tmp_path) as engine:
        assert released(engine, tmp_path / "out") == expected


def test_spark_reads_it_too(streamed, tmp_path):
    skip_without_java()
    table = messy(tmp_path / "x.csv", n=9, days=2)
    settings = {"missing": "keep", "timezone": "Europe/Berlin", "quasi": "Tarif"}
    assert_same(OPEN.named("spark").read_panel(table, **settings), read_panel(table, **settings))


def test_on_the_command_line(tmp_path, capsys):
    table, out = messy(tmp_path / "x.csv", gaps=False), tmp_path / "out"
    options = ["--timezone", "Europe/Berlin", "--engine", "local", "--shard-size", "15"]
    assert run(["anonymize", str(table), "--k", "3", "-o", str(out), *options]) == 0
    assert "8,760 readings read as 60 series of 60 subjects (column 'Zähler')" in capsys.readouterr().out
    assert run(["verify", str(out)]) == 0


def test_what_nobody_can_read_is_refused_in_the_same_words(local, tmp_path):
    (tmp_path / "x.bin").write_bytes(bytes(range(256)) * 8)
    (tmp_path / "empty.csv").write_text("id,time,value\n")
    for place in (tmp_path / "x.bin", tmp_path / "empty.csv", tmp_path / "nothing.csv"):
        expected = outcome(lambda place=place: read_panel(place))
        assert expected[0] is InputError
        assert outcome(lambda place=place: local.read_panel(place)) == expected
    long_frame().with_columns(row=pl.lit("x")).write_csv(tmp_path / "taken.csv")
    with pytest.raises(ParameterError, match="has a name that the panel uses itself on an engine"):
        local.read_panel(tmp_path / "taken.csv", quasi="row")
