"""What a subject is: columns are subjects only if asked for or if they look like one quantity; it is always said."""

import gzip
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
import xlsxwriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from read.support import refused
from shoal import read_panel
from shoal.errors import InputError
from shoal.read.subjects import SENSOR_WORDS, mean_sizes, refuse_unlike

RNG = np.random.default_rng(3)
ROOM = {
    "co2": 600.0,
    "temp": 21.0,
    "humidity": 40.0,
    "damper": 55.0,
    "pir": 0.3,
    "lux": 320.0,
    "voc": 110.0,
    "valve": 12.0,
    "noise": 38.0,
}


def wide(sizes, n=12):
    columns = {name: size * RNG.uniform(0.5, 1.5, n) for name, size in sizes.items()}
    return pl.DataFrame({"time": np.arange(n), **columns})


def room(n_each=3):
    """27 sensor columns of one room."""
    return wide({f"{name}_{i}": size for name, size in ROOM.items() for i in range(1, n_each + 1)})


@pytest.mark.parametrize("how", [{}, {"time": "time"}, {"value": ["co2_1", "co2_2", "temp_1", "temp_2"]}])
def test_sensors_of_a_room_are_not_taken_for_people(how):
    n = len(how.get("value", range(27)))
    with refused(
        rf"time column 'time' and {n} columns with readings, and some are named like sensors or measured quantities "
        r"\(co.*If it is, say so with layout='wide'. If the columns are channels.*layout='long'.*name id= and every"
    ):
        read_panel(room(), **how)
    panel = read_panel(room(), layout="wide", **how)
    assert panel.origin.notes == (f"{n} columns read as {n} subjects",)


@pytest.mark.parametrize(
    ("sizes", "seen"),
    [
        ({"ann": 1.0, "bob": 1.0}, "their names follow 2 patterns"),
        ({f"h{i}_{unit}": 1.0 for i in range(5) for unit in ("kwh", "wh")}, "their names follow 2 patterns"),
        (
            {f"s{i}": 600.0 if i < 3 else 0.4 for i in range(9)},
            "the readings of 3 are more than 10 times larger",
        ),
        ({f"sensor {i}": 1.0 for i in range(5)}, r"measured quantities \(sensor\)"),
        ({f"Temp{i}": 1.0 for i in range(5)}, r"measured quantities \(temp\)"),
        ({"L1": 1.0, "L2": 1.0, "L3": 1.0}, r"measured quantities \(l\)"),
        ({f"roomCO2_{i}": 1.0 for i in range(5)}, r"measured quantities \(co2\)"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_what_does_not_look_like_one_quantity_is_asked_about(sizes, seen):
    with refused(seen):
        read_panel(wide(sizes))


def test_a_message_names_no_column_that_may_be_a_person():
    with pytest.raises(InputError) as told:
        read_panel(wide({"anna": 1.0, "bob": 1.0, "co2 of carl": 2.0}))
    assert not any(name in str(told.value) for name in ("anna", "bob", "carl"))


@pytest.mark.parametrize("pattern", ["meter_{}", "House {} (kWh)", "MAC{:06d}", "{}", "flat-{}-west"])
def test_one_quantity_of_many_is_read(pattern):
    table = wide({pattern.format(i): 0.2 + 0.01 * i for i in range(60)})
    panel = read_panel(table)
    assert panel.n_subjects == 60
    assert panel.origin.notes == ("60 columns read as 60 subjects",)


PEOPLE = ["Anna Alpha", "Bert Beta", "Cleo Gamma", "Dora Delta"]
METERS = [f"House {n}" for n in range(1, 5)]
QUANTITIES = ["Import kWh", "Export kWh", "Voltage", "Temperature"]
DATES = ["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%y", "%b %d, %Y", "%d-%b-%Y", "%Y%m%d", "%a %d/%m/%Y"]


@st.composite
def written(draw):
    """How a table with a row per instant is written, in words that `write` understands."""
    decimal = draw(st.sampled_from(".,"))
    return {
        "date": draw(st.sampled_from(DATES)),
        "clock": draw(st.sampled_from([" %H:%M", " %I:%M %p", ";%H:%M"])),
        "decimal": decimal,
        "separator": draw(st.sampled_from(";\t|" if decimal == "," else ",;\t|")),
        "above": draw(st.sampled_from(["", "Readings of a town\n\n"])),
        "time": draw(st.sampled_from(["time", "Zeit", "timestamp"])),
        "container": draw(st.sampled_from(["csv", "gz", "xlsx", "polars", "pandas"])),
        "encoding": draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])),
    }


def write(path, names, how):
    """A table of two days of hours, as a file or a frame."""
    times = [datetime(2024, 1, 14) + timedelta(hours=n) for n in range(48)]
    cells = [[f"{1 + (n * 7 + c) % 5}.{c}5".replace(".", how["decimal"]) for c in range(len(names))] for n in range(48)]
    stamps = [time.strftime(how["date"] + how["clock"]).split(";") for time in times]
    header = [*(["Date", "Time"] if how["clock"][0] == ";" else [how["time"]]), *names]
    rows = [[*stamp, *row] for stamp, row in zip(stamps, cells, strict=True)]
    if how["container"] in ("polars", "pandas"):
        frame = pl.DataFrame(rows, schema=header, orient="row")
        return frame if how["container"] == "polars" else frame.to_pandas()
    quoted = [[f'"{cell}"' if how["separator"] in cell else cell for cell in row] for row in [header, *rows]]
    text = how["above"] + "".join(how["separator"].join(row) + "\n" for row in quoted)
    path = path / f"table.{ {'gz': 'csv.gz'}.get(how['container'], how['container']) }"
    if how["container"] == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            for n, row in enumerate([[how["above"].strip()], header, *rows]):
                sheet.write_row(n, 0, row)
    else:
        data = text.encode(how["encoding"])
        path.write_bytes(gzip.compress(data) if how["container"] == "gz" else data)
    return path


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(how=written())
def test_columns_beside_a_time_are_one_thing_in_every_spelling(tmp_path, how):
    people = write(tmp_path, PEOPLE, how)
    with pytest.raises(InputError, match=r"4 columns with readings.*layout='wide'.*layout='long'") as told:
        read_panel(people)
    assert not any(part in str(told.value) for name in PEOPLE for part in name.split())
    look = shoal.look(people)
    assert look.advice.problems[0].name == "sensors of one place?"
    for text in (repr(look), look.to_json(), look.policy):
        assert not any(part in text for name in PEOPLE for part in name.split())
    wide, long = (read_panel(people, layout=layout) for layout in ("wide", "long"))
    assert (wide.n_subjects, wide.n_channels, long.n_subjects, long.n_channels) == (4, 1, 1, 4)
    assert sorted(wide.ids) == sorted(long.channels) == PEOPLE
    assert np.array_equal(np.sort(wide.values[:, :, None], axis=0), np.sort(long.values.T, axis=0))
    assert not any(part in str(long.origin.notes) for name in PEOPLE for part in name.split())
    meters = read_panel(write(tmp_path, METERS, how))
    assert (meters.n_subjects, meters.n_channels) == (4, 1)
    assert "4 columns read as 4 subjects" in meters.origin.notes
    assert list(read_panel(write(tmp_path, [*METERS, "Total"], how)).ids) == METERS
    quantities = read_panel(write(tmp_path, QUANTITIES, how))
    assert (quantities.n_subjects, list(quantities.channels)) == (1, QUANTITIES)


def test_names_beside_a_unit_are_not_printed():
    people = wide({"Anna kWh": 1.0, "Bert kWh": 1.0, "Import kWh": 1.0}, n=48)
    people = people.with_columns(time=pl.Series([f"2024-05-{1 + n // 24:02d} {n % 24:02d}:00" for n in range(48)]))
    look = shoal.look(people)
    for text in (repr(look), look.to_json(), str(read_panel(people).origin.notes)):
        assert "Import kWh" in text
        assert not any(name in text for name in ("Anna", "Bert"))


def test_zeros_and_gaps_say_nothing_about_the_scale():
    table = wide({f"m{i}": 1.0 for i in range(5)}).with_columns(
        m1=pl.lit(0.0), m2=pl.when(pl.col("time") < 11).then(None).otherwise(1.0)
    )
    assert read_panel(table, missing="keep").n_subjects == 5
    assert np.isnan(mean_sizes(np.array([[0.0, np.nan]])))
    refuse_unlike(["m1", "m2"], np.array([np.nan, np.nan]), "time")


def test_the_boundary_of_the_scale():
    refuse_unlike(["m1", "m2", "m3"], np.array([0.1, 1.0, 10.0]), "time")
    for far in (0.0999, 10.001):
        with refused("the readings of 1 are more than 10 times"):
            refuse_unlike(["m1", "m2", "m3"], np.array([1.0, 1.0, far]), "time")


def test_words_are_in_lower_case():
    assert all(word == word.lower() for word in SENSOR_WORDS)


def test_every_layout_says_what_a_subject_is():
    long = pl.DataFrame(
        {"meter": ["a", "a", "b", "b"], "home": ["x"] * 4, "time": [0, 1, 0, 1], "kwh": [1.0, 2.0, 3.0, 4.0]}
    ).with_columns(kw=pl.col("kwh") * 2)
    told = [
        (read_panel(long, id="meter", value="kwh"), "4 rows read as 2 series of 2 subjects (column 'meter')"),
        (
            read_panel(long, id="meter", value="kwh", subject="home"),
            "4 rows read as 2 series of 1 subject (column 'home')",
        ),
        (
            read_panel(long, id="meter", value=["kwh", "kw"]),
            "4 rows read as 2 series of 2 subjects (column 'meter'), 2 channels each",
        ),
        (read_panel(pl.DataFrame({"id": ["a", "b"], "0": [1.0, 2.0]})), "2 rows read as 2 subjects (column 'id')"),
        (
            read_panel(pl.DataFrame({"id": ["a", "b"], "subject": ["x", "x"], "0": [1.0, 2.0]})),
            "2 rows read as 2 series of 1 subject (column 'subject')",
        ),
        (read_panel(np.ones((3, 4))), "3 rows of an array read as 3 subjects"),
    ]
    for panel, sentence in told:
        assert panel.origin.notes == (sentence,)


def test_series_that_are_dropped_were_read_all_the_same():
    table = wide({f"m{i}": 1.0 for i in range(5)}).with_columns(m1=pl.when(pl.col("time") > 0).then(pl.col("m1")))
    panel = read_panel(table, missing="drop-series")
    assert panel.n_subjects == 4
    assert panel.origin.notes == ("5 columns read as 5 subjects",)
