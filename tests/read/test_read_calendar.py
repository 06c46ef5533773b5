"""Days and weeks out of long recordings."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Microaggregation, load_release, publish, read_panel
from shoal.cli.app import run
from shoal.engines import Memory
from shoal.errors import InputError, ParameterError

HALF_HOUR = np.timedelta64(30, "m")


def table(start, n, step=HALF_HOUR, meters=("a", "b"), **columns):
    """A long table of `n` instants in UTC; a reading is 1000 times the meter's place plus its position."""
    times = np.datetime64(start, "us") + np.arange(n) * step
    frames = [
        pl.DataFrame({"id": [name] * n, "time": times, "value": 1000.0 * place + np.arange(n, dtype=float)})
        for place, name in enumerate(meters)
    ]
    return pl.concat(frames).with_columns(pl.col("time").dt.replace_time_zone("UTC"), **columns)


@settings(max_examples=30, deadline=None)
@given(
    skipped=st.integers(0, 47),
    n_days=st.integers(2, 6),
    zone=st.sampled_from(["UTC", "Europe/Dublin", "America/New_York", "Asia/Kolkata"]),
)
def test_every_whole_day_is_there_once_as_a_plain_loop_finds_it(skipped, n_days, zone):
    """October has the hour that comes twice in Dublin, and in the end of it nothing else."""
    frame = table(np.datetime64("2024-10-25T00:00") + skipped * HALF_HOUR, 48 * n_days)
    days = {}
    for name, instant, value in frame.with_columns(pl.col("time").dt.convert_time_zone(zone)).iter_rows():
        days.setdefault((name, instant.date()), []).append((instant.time(), value))
    full = {k: [v for _, v in day] for k, day in days.items() if len({t for t, _ in day}) == len(day) == 48}
    zoned = frame.with_columns(pl.col("time").dt.convert_time_zone(zone))
    if not full:
        with pytest.raises(InputError, match="needs whole days"):
            read_panel(zoned, split="day")
        return
    panel = read_panel(zoned, split="day")
    found = {tuple(name.rsplit(" ", 1)): row.tolist() for name, row in zip(panel.ids, panel.values, strict=True)}
    assert found == {(name, str(date)): row for (name, date), row in full.items()}
    assert panel.subjects.tolist() == [name.split(" ")[0] for name in panel.ids]
    weekday = [np.datetime64(name.rsplit(" ", 1)[1]).item().strftime("%A") for name in panel.ids]
    assert panel.attributes["weekday"].tolist() == weekday
    assert panel.attributes["weekend"].tolist() == [day in ("Saturday", "Sunday") for day in weekday]


def test_days_on_which_the_clock_changes_are_left_out_and_counted():
    frame = table("2024-10-26T23:00", 96 + 2).with_columns(pl.col("time").dt.convert_time_zone("Europe/Dublin"))
    panel = read_panel(frame, split="day")
    assert [name.split(" ")[1] for name in panel.ids] == ["2024-10-28"] * 2
    assert panel.origin.reading["parts_clock_changed"] == 1
    assert panel.origin.reading["split"] == "day"
    assert panel.origin.notes[-1] == ("each series is split into 1 day; left out: 1 day on which the clock is changed")
    assert panel.times[[0, -1]].astype(str).tolist() == ["1970-01-01T00:00:00.000000", "1970-01-01T23:30:00.000000"]


def test_weeks_begin_on_monday_and_keep_their_month():
    panel = read_panel(table("2024-04-25T00:00", 24 * 25, np.timedelta64(1, "h")), split="week")
    assert panel.values.shape == (2 * 3, 168)  # from Monday 29 April on
    assert panel.ids.tolist()[:3] == ["a 2024-04-29", "a 2024-05-06", "a 2024-05-13"]
    assert panel.attributes["month"].tolist() == [4, 5, 5] * 2
    assert panel.values[0, 0] == 4 * 24.0
    assert str(panel.times[0]) == "1970-01-05T00:00:00.000000"
    assert panel.origin.reading["parts_cut_off"] == 1


def test_gaps_are_judged_by_the_day():
    frame = table("2024-05-01T00:00", 3 * 48)
    days = pl.col("time").dt.day()
    gappy = frame.filter(~((pl.col("id") == "a") & ((days == 2) | ((days == 3) & (pl.col("time").dt.hour() == 7)))))
    panel = read_panel(gappy, split="day", missing="drop-series")
    assert panel.ids.tolist() == ["a 2024-05-01", "b 2024-05-01", "b 2024-05-02", "b 2024-05-03"]
    assert (panel.origin.reading["parts_empty"], panel.origin.reading["dropped_series"]) == (1, 1)
    with pytest.raises(InputError, match="missing"):
        read_panel(gappy, split="day")


def test_subjects_static_columns_and_channels_go_along():
    frame = table("2024-05-01T00:00", 96, meters=("a", "b", "c")).with_columns(
        pl.lit("house").alias("account"), pl.col("id").replace({"a": "x", "b": "y", "c": "y"}).alias("month")
    )
    frame = frame.with_columns((-pl.col("value")).alias("export"))
    panel = read_panel(frame, split="day", subject="account", quasi="month", value=["value", "export"])
    assert panel.n_subjects == 1
    assert panel.values.shape == (6, 48, 2)
    assert panel.attributes["month"].tolist() == ["x", "x", "y", "y", "y", "y"]
    assert panel.attributes["calendar_month"].tolist() == [5] * 6


def test_days_of_one_person_are_not_a_crowd_and_all_go_into_one_shard(tmp_path):
    frame = table("2024-05-01T00:00", 10 * 48, meters=[f"m{i}" for i in range(12)])
    panel = read_panel(frame, split="day")
    assert (panel.n_series, panel.n_subjects) == (120, 12)
    candidate = Microaggregation(k=3, attributes="weekend").anonymize(panel)
    assert candidate.check().holds
    release = publish(candidate, tmp_path / "out")
    assert release.certificate["columns"]["withheld"] == 1  # the id; a weekday is no column of the table
    shards = read_panel(frame, split="day", engine=Memory(), shard_size=4)
    found = Microaggregation(k=2).anonymize(shards)
    assert found.n_shards > 1
    together = found.map(lambda number, one: sorted(set(one.private.original.subjects)))
    assert sum(len(subjects) for subjects in together) == 12


@pytest.mark.parametrize(
    ("options", "kind", "why"),
    [
        ({"split": "month"}, ParameterError, "split: give 'day' or 'week'"),
        ({"split": "week"}, InputError, "needs whole weeks in even steps; none of the 1 in this table qualifies"),
    ],
)
def test_what_cannot_be_split_is_refused(options, kind, why):
    with pytest.raises(kind, match=why):
        read_panel(table("2024-05-01T00:00", 96), **options)


def test_numbers_are_refused():
    numbered = pl.DataFrame({"id": ["a", "a"], "time": [0, 1], "value": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="needs timestamps, and the times of this table are numbers"):
        read_panel(numbered, split="day")


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table("2024-05-01T00:00", 5 * 48 + 3, meters=[f"m{i}" for i in range(9)]).write_parquet("t.parquet")
    assert run(["anonymize", "t.parquet", "--split", "day", "--k", "3", "-o", "out", "--private", "keep"]) == 0
    out = capsys.readouterr().out
    assert "45 series of 9 subjects" in out
    assert "each series is split into 5 days; left out: 1 day cut off or without the usual instants" in out
    assert "Days left out for lack of the usual instants: 1." in out
    assert run(["utility", "t.parquet", "out", "--private", "keep", "--measure", "information-loss"]) == 0
    assert run(["anonymize", "t.parquet", "--split", "day", "--k", "3", "--attributes", "weekend", "-o", "flag"]) == 0
    (tmp_path / "p.yaml").write_text(
        "data: {path: t.parquet, split: day}\nroles: {weekday: publish}\nrequire: {risk: {at_most: 1.0}}\n"
        "method: {name: microaggregation, k: 3}\nrelease: {to: policy}\n"
    )
    assert run(["run", "p.yaml"]) == 0
    days = {"Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
    assert set(load_release("policy").published.attributes["weekday"]) == days
