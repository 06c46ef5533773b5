"""A look counts what is in a messy table, shows nothing of it, and prints a command and a policy that work."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import shoal
from process.look import messy
from shoal.cli.app import run
from shoal.process.policy import parse_policy
from shoal.read.zones import Zone

FORMATS = Path(__file__).resolve().parents[4] / "shared" / "data" / "formats"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("messy")
    messy.messy_table().write_csv(path / "messy.csv")
    return path


@pytest.fixture(scope="module")
def found(folder):
    return shoal.look(str(folder / "messy.csv"))


def test_everything_in_a_messy_table_is_counted(found):
    counts = found.to_dict()["counts"]
    assert counts["meters"] == messy.N_ACCOUNTS + messy.N_TWO_METERS
    assert counts["subjects"] == messy.N_ACCOUNTS
    assert counts["repeated"] == messy.N_REPEATS
    assert counts["conflicting"] == messy.N_CONFLICTS
    assert counts["autumn"] == 2 * counts["meters"]
    assert counts["zero_meters"] == messy.N_ZERO
    assert counts["missing_rows"] == messy.N_MISSING
    assert counts["absent"] == 3 * messy.N_SHORT_GAPS + 300 * messy.N_LONG_GAPS + messy.N_MISSING
    assert (counts["registers"], counts["negative_readings"], counts["empty_meters"]) == (0, 0, 0)
    assert found.to_dict()["zone"] == messy.ZONE
    assert found.to_dict()["step"] == "30min"


def test_what_columns_are_is_told_with_roles_for_the_further_ones(found):
    rows = dict(found.rows)
    assert rows["column 'meter'"].startswith("id: ")
    assert rows["column 'account'"] == f"subject: one entry for each meter, {messy.N_ACCOUNTS} in all"
    assert rows["missing"] == f"{messy.N_MISSING} rows without a reading, words for it: NA"
    assert rows["column 'tariff'"] == "static: one entry for each meter, 3 in all"
    roles = {column["name"]: column["role"] for column in found.to_dict()["columns"]}
    assert roles == {"tariff": "quasi-identifier", "postcode": "identifier"}


def test_problems_come_with_their_options(found):
    flags = [problem["flag"] for problem in found.to_dict()["problems"]]
    assert flags[:4] == [
        "--subject account",
        f"--timezone {messy.ZONE}",
        "--duplicates first",
        "--missing interpolate:2h,drop-series",
    ]
    said = " ".join(found.problems)
    assert "'postcode' (its name suggests postcodes)" in said
    assert f"{messy.N_ZERO} meters with nothing but zeros" in said


def test_nothing_of_the_table_is_shown(found, folder):
    table = pl.read_csv(folder / "messy.csv", infer_schema=False)
    shown = "\n".join([repr(found), found.to_json(), found.to_html(), found._repr_html_()])
    for column in ("account", "meter", "postcode", "tariff", "reading_time"):
        assert not [entry for entry in table[column].unique().to_list() if entry in shown], column
    # Figures that are shown have two digits; readings have three.
    pictured = json.dumps(found.to_dict()["pictures"])
    assert not re.search(r"[1-9]\d{2,}|0\.0*[1-9]\d{2,}|[1-9]\.\d{2,}", pictured)


def test_the_command_it_prints_gives_a_release_that_verifies(found, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert run(["look", "messy.csv"]) == 0
    printed = capsys.readouterr().out.splitlines()
    command = next(line for line in printed if line.startswith("shoal anonymize"))
    assert run(shlex.split(command)[1:]) == 0
    lines = [line.split(maxsplit=1)[0] for line in capsys.readouterr().out.splitlines()]
    assert lines[:4] == ["read", "dropped", "changed", "release"]
    assert run(["verify", "release", "--accept-unjudged"]) == 0
    certificate = json.loads((folder / "release" / "release.json").read_text())
    reading = certificate["input"]["reading"]
    assert (reading["repeated"], reading["merged"]) == (messy.N_REPEATS, messy.N_CONFLICTS)
    assert reading["interpolated"] == 3 * messy.N_SHORT_GAPS + messy.N_MISSING
    assert reading["dropped_series"] == messy.N_LONG_GAPS
    assert certificate["counts"]["smallest_group"] == 10


def test_the_policy_reads_the_table_as_the_command_does(found):
    policy = parse_policy(found.policy)
    panel = shoal.read_panel(policy.data.path, **policy.settings)
    assert panel.n_series == messy.N_ACCOUNTS + messy.N_TWO_METERS - messy.N_LONG_GAPS
    assert panel.n_missing == 0
    assert panel.timezone == messy.ZONE
    command = shoal.read_panel(found.source, **found.settings)
    np.testing.assert_array_equal(panel.values, command.values)


def test_a_page_needs_nobody(found, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    assert run(["look", "messy.csv", "--html", "page.html", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["command"].startswith("shoal anonymize messy.csv")
    page = (folder / "page.html").read_text()
    assert page.count("<svg") == 3
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=|https?://|<script", page)
    assert run(["look", "messy.csv", "--html", "page.html"]) == 2
    assert "exists. Choose another name" in capsys.readouterr().err


def frame(n_meters, values):
    """Hourly readings of two weeks; `values` takes the meter and the places of the instants."""
    times = np.datetime64("2024-01-01", "us") + np.arange(336) * np.timedelta64(1, "h")
    parts = [
        pl.DataFrame({"id": f"m{meter}", "time": times, "kwh": values(meter, np.arange(336))})
        for meter in range(n_meters)
    ]
    return pl.concat(parts)


def test_registers_are_differenced():
    found = shoal.look(frame(12, lambda meter, at: 100.0 + meter + 0.25 * at))
    assert found.settings["register"] == "difference"
    assert "12 of 12 series only grow" in found.problems[0] + found.problems[1]
    assert set(found.to_dict()["pictures"]) == {"coverage"}


def owned(name, entry):
    """Twenty-six meters of 24 people, and a column that tells whose they are."""
    owner = pl.col("id").str.slice(1).cast(pl.Int64) % 24
    return frame(26, lambda meter, at: 1.0 + (meter + at) % 7).with_columns((entry + owner.cast(pl.String)).alias(name))


@pytest.mark.parametrize("name", ["account", "CustomerNo", "Kundennummer", "č. odběratele"])
def test_accounts_with_several_meters_are_subjects(name):
    found = shoal.look(owned(name, pl.lit("A")))
    assert found.settings["subject"] == name
    assert found.to_dict()["counts"]["subjects"] == 24
    assert shoal.read_panel(owned(name, pl.lit("A")), **found.settings).n_subjects == 24


def test_what_may_be_a_person_is_asked_about():
    found = shoal.look(owned("contact", pl.lit("a@example.org") + pl.lit("x")))
    assert "subject" not in found.settings
    assert found.advice.problems[0].flag == "--subject contact"
    assert not [p for p in shoal.look(owned("postcode", pl.lit("P"))).advice.problems if p.flag]


def test_a_date_and_a_time_of_day_are_read_with_a_subject(tmp_path):
    table = owned("account", pl.lit("A")).with_columns(
        Date=pl.col("time").dt.strftime("%d/%m/%Y"), Time=pl.col("time").dt.strftime("%H:%M")
    )
    table.drop("time").write_csv(tmp_path / "two.csv")
    found = shoal.look(str(tmp_path / "two.csv"))
    assert found.settings == {"subject": "account"}
    panel = shoal.read_panel(str(tmp_path / "two.csv"), **found.settings)
    assert (panel.n_series, panel.n_subjects, panel.n_instants) == (26, 24, 336)


@pytest.mark.parametrize("name", ["value", "energy"])
def test_words_for_missing_that_come_late_are_found(tmp_path, name):
    table = frame(22, lambda meter, at: 1.0 + meter + at % 24).rename({"kwh": name}).cast({name: pl.String})
    late = table.with_row_index().with_columns(
        pl.when(pl.col("index").is_in([7000, 7001])).then(pl.lit("n/a")).otherwise(pl.col(name)).alias(name)
    )
    late.drop("index").write_csv(tmp_path / "late.csv")
    found = shoal.look(str(tmp_path / "late.csv"))
    assert found.settings["null"] == "n/a"
    assert "n/a, 2 times" in " ".join(found.problems)
    panel = shoal.read_panel(str(tmp_path / "late.csv"), **found.settings)
    assert panel.origin.reading["interpolated"] == 2


def test_few_meters_show_no_readings_and_are_no_crowd():
    found = shoal.look(frame(3, lambda meter, at: meter + at % 24 / 10))
    assert set(found.to_dict()["pictures"]) == {"coverage"}
    assert found.problems[0].startswith("3 subjects can be published together: no crowd to hide in.")
    assert "not shown: fewer than ten meters" in found.to_html()


def test_columns_of_different_kinds_are_asked_about(tmp_path):
    path = tmp_path / "room.csv"
    rows = "\n".join(f"2026-01-01 {hour:02d}:00,{600 + hour}.5,20.{hour},21.{hour}" for hour in range(24))
    path.write_text(f"time,co2_1,temp_1,temp_2\n{rows}\n")
    found = shoal.look(str(path))
    assert found.advice.problems[0].name == "sensors of one place?"
    assert found.advice.problems[0].flag == "--layout wide"
    assert "layout" not in found.settings


def test_a_column_per_meter_is_counted_and_not_listed():
    table = frame(40, lambda meter, at: 1.0 + (meter + at) % 5).with_columns(id="meter_" + pl.col("id").str.slice(1))
    wide = table.pivot(on="id", index="time", values="kwh")
    found = shoal.look(wide)
    assert found.to_dict()["counts"]["meters"] == 40
    assert found.settings == {"time": "time", "layout": "wide"}
    assert "meter_1" not in found.to_json()
    assert shoal.read_panel(wide, **found.settings).n_series == 40


def test_a_row_per_meter_and_day_is_understood(tmp_path):
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 10), eager=True)
    slots = {f"{n // 2:02d}:{n % 2 * 30:02d}": [0.1 + n / 50] * (30 * len(days)) for n in range(48)}
    ids = [f"M{n:03d}" for n in range(30) for _ in days]
    path = tmp_path / "days.csv"
    pl.DataFrame({"meter": ids, "date": list(days) * 30} | slots).write_csv(path)
    found = shoal.look(str(path))
    counts = found.to_dict()["counts"]
    assert (counts["meters"], counts["readings"], counts["absent"]) == (30, 30 * 480, 0)
    assert found.to_dict()["step"] == "30min"
    assert shoal.read_panel(str(path), **found.settings).values.shape == (30, 480)


def test_days_of_fifty_half_hours_are_those_of_a_local_clock(tmp_path):
    path = tmp_path / "periods.csv"
    days = pl.date_range(pl.date(2023, 10, 27), pl.date(2023, 10, 31), eager=True)
    lengths = [50 if day.day == 29 else 48 for day in days]
    names = ["MPAN", "Date", *(f"HH{n}" for n in range(1, 51))]
    rows = [
        [f"13000{meter:05d}", day, *(0.1 * (n % 9) + meter if n < length else None for n in range(50))]
        for meter in range(25)
        for day, length in zip(days, lengths, strict=True)
    ]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    found = shoal.look(str(path))
    assert found.settings == {"timezone": "Europe/London"}
    assert "50 readings of a 25th hour" in found.problems[0]
    assert shoal.read_panel(str(path), **found.settings).values.shape == (25, sum(lengths))


@pytest.mark.skipif(not FORMATS.exists(), reason="the shared data are not there")
@pytest.mark.parametrize(
    "name",
    [
        "au_nem12_4channels_30min.csv",
        "be_fluvius_registers_quarter_hour.csv",
        "espi_hourly_coastal_single_family.xml",
        "fr_enedis_hdm_c5_load_curve.csv",
        "uk_lcl_low_carbon_london.csv",
        "uk_opus_settlement_period_rows.csv",
        "us_smt_texas_interval_consumption_generation.csv",
    ],
)
def test_the_settings_found_read_a_file_as_utilities_exchange_it(name):
    path = str(FORMATS / name)
    found = shoal.look(path)
    panel = shoal.read_panel(path, **found.settings)
    assert panel.n_series == found.to_dict()["counts"]["meters"]


def test_a_table_of_events_is_not_taken_for_series():
    times = np.datetime64("2024-01-01", "us") + np.arange(60) // 10 * np.timedelta64(1, "D")
    found = shoal.look(pl.DataFrame({"id": np.arange(60), "time": times, "value": np.arange(60) % 7 + 0.5}))
    assert found.problems[0].startswith("Each of 60 series has one reading: this looks like a table of events")


def test_whole_numbers_as_times_have_no_clock():
    table = pl.DataFrame(
        {"id": np.repeat(np.arange(25), 20), "time": np.tile(np.arange(20), 25), "value": np.ones(500)}
    )
    found = shoal.look(table)
    assert found.to_dict()["step"] == "1"
    assert "mean_day" not in found.to_dict()["pictures"]
    assert parse_policy(found.policy).adversary.knows == {"points": 5}


def test_hours_in_utc_are_not_taken_for_a_local_clock():
    utc = np.arange(np.datetime64("2023-03-01", "us"), np.datetime64("2023-11-20", "us"), np.timedelta64(1, "h"))
    local = Zone("Europe/Berlin").to_local(utc.astype(np.int64)).view("datetime64[us]")
    for times, zone in ((utc, None), (local, "Europe/Berlin")):
        ids, values = np.repeat(np.arange(22), len(utc)), np.tile(np.arange(len(utc)) % 7 + 0.5, 22)
        found = shoal.look(pl.DataFrame({"id": ids, "time": np.tile(times, 22), "value": values}))
        assert found.settings.get("timezone") == zone
        assert shoal.read_panel(
            pl.DataFrame({"id": ids, "time": np.tile(times, 22), "value": values}), **found.settings
        ).n_instants == len(utc)


def test_columns_beside_a_time_that_may_be_people_are_not_named(tmp_path):
    rows = [f"{day:02}/01/2024 {hour:02}:00,{day}.1,{hour}.2" for day in range(1, 29) for hour in range(24)]
    (tmp_path / "table.csv").write_text("\n".join(["time,Anna Alpha,Bert Beta", *rows]) + "\n")
    found = shoal.look(str(tmp_path / "table.csv"))
    for text in (repr(found), found.to_json(), found.to_html(), found.policy, str(found.rows)):
        assert "Anna" not in text
        assert "Bert" not in text


def test_meters_in_several_units_are_told():
    hours = np.datetime64("2024-03-14", "us") + np.arange(24) * np.timedelta64(1, "h")
    meters = pl.DataFrame({"meter": [f"m{n}" for n in range(30)], "unit": ["Wh", "kWh"] * 15})
    found = shoal.look(meters.join(pl.DataFrame({"time": hours}), how="cross").with_columns(value=pl.lit(1.5)))
    told = {problem.name: problem for problem in found.advice.problems}
    assert "'unit' states 2 units" in told["several units"].sentence
    assert "one person, several meters?" not in told


@pytest.mark.parametrize(("n_columns", "n_questions"), [(1, 1), (3, 3), (4, 1)])
def test_columns_that_may_name_people_are_asked_about_one_by_one_or_all_at_once(n_columns, n_questions):
    hours = np.datetime64("2024-03-14", "us") + np.arange(24) * np.timedelta64(1, "h")
    shared = {f"flag {c}": ["x", "x", "y", "z"] for c in range(n_columns)}
    meters = pl.DataFrame({"meter": ["a", "b", "c", "d"]} | shared)
    found = shoal.look(meters.join(pl.DataFrame({"time": hours}), how="cross").with_columns(kwh=pl.lit(1.5)))
    asked = [p for p in found.advice.problems if p.name == "one person, several meters?"]
    assert len(asked) == n_questions
    assert asked[0].flag == ("--subject COLUMN" if n_columns == 4 else "--subject flag 0")
    one, many = (
        "1 entry of 'flag 0' has several meters.",
        "4 columns, such as 'flag 0', 'flag 1', 'flag 2', have entries",
    )
    assert asked[0].sentence.startswith(many if n_columns == 4 else one)


@pytest.mark.parametrize(
    ("factor", "says"),
    [
        (1000.0, "1 series (number 8 of 30 in the table) reads about 1,000 times the middle one: another unit?"),
        (0.001, "1 series (number 8 of 30 in the table) reads about a 1,000th of the middle one: another unit?"),
        (30.0, None),
    ],
)
def test_a_series_of_another_size_is_told_by_its_position(factor, says):
    values = np.random.default_rng(3).uniform(1.0, 2.0, (30, 24))
    values[7] *= factor
    hours = np.datetime64("2024-03-14", "us") + np.arange(24) * np.timedelta64(1, "h")
    rows = {"meter": np.repeat([f"m{n}" for n in range(30)], 24), "time": np.tile(hours, 30), "kwh": values.ravel()}
    found = shoal.look(pl.DataFrame(rows))
    told = [problem.sentence for problem in found.advice.problems if problem.name == "another unit?"]
    assert bool(told) == (says is not None)
    if says is not None:
        assert told[0].startswith(says)
        assert "m7" not in told[0]


def test_channels_of_other_units_are_compared_each_with_its_own():
    hours = np.datetime64("2024-03-14", "us") + np.arange(24) * np.timedelta64(1, "h")
    values = np.random.default_rng(3).uniform(1.0, 2.0, 720)
    meters = np.repeat([f"m{n}" for n in range(30)], 24)
    rows = {"meter": meters, "time": np.tile(hours, 30), "kwh": values, "volt": 400.0 * values}
    found = shoal.look(pl.DataFrame(rows), value=["kwh", "volt"])
    assert "another unit?" not in {problem.name for problem in found.advice.problems}


def test_registers_with_several_readings_a_row(tmp_path):
    """A column names the register of a row, and a row has readings of two kinds: four series of each meter."""
    hours = [f"2024-03-14 {hour:02}:00" for hour in range(24)]
    rows = [(m, r, t, n + 0.5, n + 2.25) for m in "abc" for r in "12" for n, t in enumerate(hours)]
    table = pl.DataFrame(rows, schema=["meter", "register", "time", "import", "export"], orient="row")
    table[5, "import"] = None
    table.write_csv(tmp_path / "x.csv")
    found = shoal.look(tmp_path / "x.csv")
    assert "3 meters, 144 rows, channels import, export" in str(found)
    counts = found.to_dict()["counts"]
    assert (counts["meters"], counts["rows"], counts["readings"], counts["absent"]) == (3, 144, 287, 1)
    assert "1 of 12 series have gaps" in str(found)


def test_a_question_on_the_page_ends_with_one_mark():
    hours = np.datetime64("2024-03-14", "us") + np.arange(24) * np.timedelta64(1, "h")
    meters = pl.DataFrame({"meter": ["a", "b", "c", "d"], "flag": ["x", "x", "y", "z"]})
    page = shoal.look(meters.join(pl.DataFrame({"time": hours}), how="cross").with_columns(kwh=pl.lit(1.5))).to_html()
    assert "<strong>One person, several meters?</strong>" in page
    assert "?.</strong>" not in page
