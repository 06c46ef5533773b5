"""Reading a lake on an engine: the panel that `read_panel` makes of the same table, or the same refusal."""

from __future__ import annotations

import datetime
import re
import subprocess
import sys
from itertools import product

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import read_panel
from shoal.engines import Local
from shoal.engines.reading import read_series
from shoal.engines.reading.segments import INSTANTS
from shoal.errors import InputError, ParameterError, ShoalError

HOUR = datetime.timedelta(hours=1)
START = datetime.datetime(2024, 3, 30)


def in_memory_order(panel):
    return np.argsort(np.array([str(name) for name in panel.ids], dtype=object), kind="stable")


def everything(shards):
    """All series in memory, sorted by id."""
    return shards.sample(10**9)


def assert_same(blocks, panel):
    """The panel in shards is the panel in memory, series by series."""
    found = everything(blocks)
    order = in_memory_order(panel)
    assert [str(name) for name in panel.ids[order]] == found.ids.tolist()
    assert found.times.dtype == panel.times.dtype
    np.testing.assert_array_equal(found.times, panel.times)
    np.testing.assert_array_equal(found.values.view(np.uint64), panel.values[order].view(np.uint64))
    assert (found.channels, found.timezone) == (panel.channels, panel.timezone)
    subjects = panel.ids if panel.subjects is None else panel.subjects
    behind = found.ids if found.subjects is None else found.subjects
    assert behind.tolist() == [str(name) for name in subjects[order]]
    for ours, theirs in ((found.attributes, panel.attributes), (found.sensitive, panel.sensitive)):
        assert list(ours) == list(theirs)
        for name in ours:
            assert ours[name].dtype == theirs[name].dtype
            assert repr(ours[name].tolist()) == repr(theirs[name][order].tolist())
    assert (blocks.n_series, blocks.n_subjects, blocks.whole.n_missing) == (
        panel.n_series,
        panel.n_subjects,
        panel.n_missing,
    )
    assert blocks.roles == panel.roles
    assert blocks.origin == panel.origin
    assert blocks.origin.unread == panel.origin.unread


def outcome(read):
    """What a reading gives: a panel, or the words of its refusal without the position of a row."""
    try:
        return read()
    except ShoalError as error:
        return type(error), re.sub(r", the first in data row \d+, counted from 1", "", str(error))


def long_table(n=90, n_instants=30, *, seed=0, share=1.0, ids=None):
    """Readings of n meters in random order, with columns that do not change over time."""
    rng = np.random.default_rng(seed)
    own = np.arange(n)
    names = [f"m{i:03}" for i in range(n)] if ids is None else ids
    frame = pl.DataFrame(
        {
            "id": pl.Series(names)[np.repeat(own, n_instants).tolist()],
            "time": [START + HOUR * t for t in range(n_instants)] * n,
            "value": rng.normal(size=n * n_instants),
            "kw": rng.integers(0, 9, n * n_instants),
            "home": pl.Series(np.repeat(own // 2, n_instants)),
            "area": pl.Series([f"a{i % 5}" if i % 7 else None for i in np.repeat(own, n_instants)]),
            "rooms": pl.Series([i % 4 if i % 3 else None for i in np.repeat(own, n_instants)]),
            "ill": pl.Series(np.repeat(own % 2 == 0, n_instants)),
            "since": [datetime.date(2000 + i % 9, 1, 1) for i in np.repeat(own, n_instants)],
        }
    )
    return frame.sample(fraction=share, shuffle=True, seed=seed)


def zoned(frame, zone="Europe/Bratislava"):
    return frame.with_columns(pl.col("time").dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null"))


STATIC = {"subject": "home", "quasi": ["area", "since"], "other": "rooms", "sensitive": "ill"}

CASES = {
    "subjects as floating numbers": (
        lambda: long_table(n=20).with_columns(pl.col("home").cast(pl.Float64)),
        {"subject": "home"},
    ),
    "channels and static columns": (long_table, {"value": ["value", "kw"], **STATIC}),
    "integer ids": (lambda: long_table(ids=list(range(5, 95))), {}),
    "gaps that are filled or dropped": (
        lambda: long_table(share=0.97),
        {"missing": [{"interpolate": "2h"}, "drop-series"], "value": ["kw", "value"], "quasi": "area"},
    ),
    "gaps that are kept": (lambda: long_table(share=0.8), {"missing": "keep"}),
    "instants that are dropped": (
        lambda: long_table(n=8, share=0.9),
        {"missing": "drop-instants", "value": ["value", "kw"]},
    ),
    "times in a zone": (lambda: zoned(long_table(n_instants=24)), {}),
    "times of a zone that is given": (lambda: long_table(n_instants=24), {"timezone": "Europe/Bratislava"}),
    "times as text": (lambda: long_table().with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M")), {}),
    "whole numbers as times": (
        lambda: long_table().with_columns(((pl.col("time") - START) / HOUR).cast(pl.Int32)),
        {"missing": "interpolate:3,keep"},
    ),
    "the last reading of three hours": (
        lambda: long_table(share=0.5),
        {"align": "resample:3h:last", "missing": "keep"},
    ),
    "rows that repeat and rows that differ": (
        lambda: pl.concat([long_table(), long_table()[:50], long_table()[40:90].with_columns(pl.col("value") + 1)]),
        {"duplicates": "mean", "quasi": "area"},
    ),
    "three quarters of the readings": (
        lambda: pl.concat([long_table(share=0.9), long_table(share=0.9)[:9]]),
        {"align": "resample:4h:sum", "complete": 0.75, "missing": "keep"},
    ),
    "any readings, half of them": (
        lambda: long_table(share=0.5),
        {"align": "resample:4h", "complete": "any", "missing": "keep"},
    ),
    "days of the local clock": (
        lambda: zoned(long_table(n_instants=100, share=0.9)).drop_nulls("time"),
        {"align": {"resample": "1d", "by": "max"}, "missing": "keep"},
    ),
    "a wide table of instants": (
        lambda: long_table(n_instants=12).pivot(on="time", index=["id", "home", "area"], values="value"),
        {"subject": "home", "quasi": "area"},
    ),
    "a wide table of positions": (
        lambda: pl.DataFrame({"id": [3, 1, 2], **{str(t): [0.1 * t, None, 7.0] for t in range(8)}}),
        {"align": "resample:2:sum", "missing": "drop-series"},
    ),
}

EVERYWHERE = [
    "channels and static columns",
    "times in a zone",
    "a wide table of instants",
]
"""What engines read in ways of their own: the types of columns, zones, names with odd signs."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Each table of the cases, as a folder of several files in small row groups."""
    folder = tmp_path_factory.mktemp("lake")
    for number, (make, _) in enumerate(CASES.values()):
        (folder / str(number)).mkdir()
        frame = make()
        cut = len(frame) // 3
        for part, rows in enumerate((frame[:cut], frame[cut:])):
            rows.write_parquet(folder / str(number) / f"part-{part}.parquet", row_group_size=500)
    return folder


@pytest.mark.parametrize("case", EVERYWHERE)
def test_panel_is_that_of_read_panel_on_every_engine(engine, lake, case):
    path = lake / str(list(CASES).index(case))
    chosen = CASES[case][1]
    assert_same(engine.read_panel(path, **chosen), read_panel(path, **chosen))


@pytest.mark.parametrize("case", [case for case in CASES if case not in EVERYWHERE])
def test_panel_is_that_of_read_panel(local, lake, case):
    path = lake / str(list(CASES).index(case))
    chosen = CASES[case][1]
    assert_same(local.read_panel(path, **chosen), read_panel(path, **chosen))


def by_series(frame, path, rows=1000):
    """The rows of a series next to each other, in files that begin and end in the middle of one."""
    path.mkdir()
    frame = frame.sort("id", maintain_order=True)
    for number, start in enumerate(range(0, len(frame), rows)):
        frame[start : start + rows].write_parquet(path / f"{number}.parquet", row_group_size=300)
    return path


def watched(monkeypatch, engine):
    """By what rows were brought together, and how many series were among them."""
    found = []
    plain = type(engine).together

    def together(self, table, keys, work, schema, *, order=()):
        if INSTANTS in table.schema.names:
            found.append(self.collect(table)["id"].unique().to_pylist())
        return plain(self, table, keys, work, schema, order=order)

    monkeypatch.setattr(type(engine), "together", together)
    return found


def test_of_a_table_stored_by_series_only_those_that_are_cut_travel(engine, tmp_path, monkeypatch):
    case = "channels and static columns"
    make, chosen = CASES[case]
    path = by_series(make(), tmp_path / "x")
    travelled = watched(monkeypatch, engine)
    assert_same(engine.read_panel(path, **chosen), read_panel(path, **chosen))
    assert [len(names) <= 6 for names in travelled] == [True] * (engine.name != "memory")


@pytest.mark.parametrize("case", [case for case in CASES if "wide" not in case])
def test_a_table_stored_by_series_gives_what_it_gives_in_any_order(local, tmp_path, case):
    make, chosen = CASES[case]
    path = by_series(make(), tmp_path / "x")
    assert_same(local.read_panel(path, **chosen), read_panel(path, **chosen))


def test_a_series_that_lies_in_two_places_after_all_is_put_together(engine, tmp_path, monkeypatch):
    frame = long_table().sort("id", maintain_order=True)
    odd = frame.filter(pl.col("id") == "m040")
    rest = frame.filter(pl.col("id") != "m040")
    (tmp_path / "x").mkdir()
    for number, piece in enumerate((odd[:11], odd[11:])):
        part = rest[1335 * number : 1335 * (number + 1)]
        pl.concat([part[:600], piece, part[600:]]).write_parquet(tmp_path / "x" / f"{number}.parquet")
    travelled = watched(monkeypatch, engine)
    assert_same(engine.read_panel(tmp_path / "x"), read_panel(tmp_path / "x"))
    assert ["m040" in names and len(names) <= 3 for names in travelled] == [True] * (engine.name != "memory")


@pytest.mark.parametrize("chosen", [{}, {"duplicates": "mean"}])
def test_rows_of_a_whole_series_that_are_there_again_are_found(local, tmp_path, monkeypatch, chosen):
    frame = long_table().sort("id", maintain_order=True)
    (tmp_path / "x").mkdir()
    frame.write_parquet(tmp_path / "x" / "0.parquet")
    frame[1200:1210].with_columns(pl.col("value") + 1).write_parquet(tmp_path / "x" / "1.parquet")
    travelled = watched(monkeypatch, local)
    found = outcome(lambda: local.read_panel(tmp_path / "x", **chosen))
    expected = outcome(lambda: read_panel(tmp_path / "x", **chosen))
    assert [len(names) for names in travelled] == [90]
    if chosen:
        assert_same(found, expected)
    else:
        assert found == expected


@pytest.mark.parametrize("by", ["mean", "sum", "first", "last", "min", "max"])
def test_gathered_readings_are_those_of_read_panel(local, tmp_path, by):
    long_table(share=0.7).write_parquet(tmp_path / "x.parquet")
    chosen = {"align": f"resample:4h:{by}", "complete": 0.5, "missing": "keep", "value": ["value", "kw"]}
    blocks = local.read_panel(tmp_path / "x.parquet", **chosen)
    assert_same(blocks, read_panel(tmp_path / "x.parquet", **chosen))


def test_gathered_readings_do_not_depend_on_the_order_of_rows(engine, tmp_path):
    frame = long_table(share=0.7)
    found = []
    for seed in range(3):
        frame.sample(fraction=1.0, shuffle=True, seed=seed).write_parquet(tmp_path / "x.parquet", row_group_size=111)
        found.append(everything(engine.read_panel(tmp_path / "x.parquet", align="resample:5h:mean", missing="keep")))
    assert found[0].digest() == found[1].digest() == found[2].digest()


REFUSED = {
    "gaps": (lambda: long_table(share=0.9), {}),
    "no series left": (lambda: long_table(share=0.5), {"missing": "drop-series"}),
    "no instant left": (lambda: long_table(share=0.5), {"missing": "drop-instants"}),
    "duplicates that differ": (
        lambda: pl.concat([long_table(9), long_table(9)[:7].with_columns(pl.col("value") + (pl.col("kw") > 3))]),
        {},
    ),
    "duplicates that differ, gathered": (
        lambda: pl.concat([long_table(9), long_table(9)[:7].with_columns(pl.col("value") + 1)]),
        {"align": "resample:5h:sum"},
    ),
    "repeats in the hour that comes twice": (
        lambda: pl.concat([long_table(9), long_table(9).filter(pl.col("time") == START + 2 * HOUR)]).with_columns(
            pl.col("time") + (datetime.datetime(2024, 10, 27) - START)
        ),
        {},
    ),
    "a step that does not divide the bucket": (long_table, {"align": "resample:90min"}),
    "no step": (lambda: long_table(share=0.1), {"align": "resample:3h"}),
    "buckets that lack readings": (lambda: long_table(share=0.97), {"align": "resample:3h:sum"}),
    "other words for duplicates": (long_table, {"duplicates": "sum"}),
    "a share of nothing": (long_table, {"align": "resample:3h", "complete": 0}),
    "no id": (lambda: long_table().with_columns(pl.col("id").replace("m003", None)), {}),
    "empty ids": (lambda: long_table().with_columns(pl.col("id").replace("m003", "")), {}),
    "fractional ids": (lambda: long_table(ids=[i / 2 for i in range(90)]), {}),
    "no time": (lambda: long_table().with_columns(pl.when(pl.col("kw") > 1).then("time").alias("time")), {}),
    "no readable time": (lambda: long_table().with_columns(time=pl.lit("at noon")), {}),
    "times that do not line up": (
        lambda: long_table(share=0.3).with_columns(pl.col("time") + pl.duration(seconds=pl.int_range(pl.len()) ** 2)),
        {},
    ),
    "an hour that is missing": (lambda: long_table().filter(pl.col("time") != START + 5 * HOUR), {}),
    "a skipped hour": (lambda: long_table(n_instants=60), {"timezone": "Europe/Bratislava"}),
    "whole numbers in a zone": (lambda: long_table().with_columns(time=pl.lit(3)), {"timezone": "UTC"}),
    "text among numbers": (
        lambda: long_table().with_columns(pl.col("value").cast(str).str.replace("^-1", "minus")),
        {},
    ),
    "infinite values": (lambda: long_table().with_columns(value=pl.col("value") / (pl.col("kw") - 1)), {}),
    "values too large": (lambda: long_table().with_columns(pl.col("value") * 1e141), {}),
    "lists as values": (lambda: long_table().with_columns(value=pl.concat_list("value", "kw")), {}),
    "a static column that changes": (long_table, {"quasi": ["area", "kw"]}),
    "subjects that are missing": (long_table, {"subject": "area"}),
    "nested static entries": (lambda: long_table().with_columns(area=pl.concat_list("area")), {"quasi": "area"}),
    "a length without a clock": (lambda: long_table(share=0.9), {"missing": "interpolate:3"}),
    "a column that is not there": (long_table, {"value": "watt"}),
    "no rows": (lambda: long_table()[:0], {}),
    "a wide table with text": (lambda: pl.DataFrame({"id": [1, 2], "0": [1.0, 2.0], "1": ["1", "few"]}), {}),
    "a wide table of attributes": (lambda: pl.DataFrame({"id": [1, 2], "age": [50, 60], "pay": [1, 2]}), {}),
    "a wide table with a repeated time": (
        lambda: pl.DataFrame({"id": [1], "2024-01-01 00:00": [1.0], "2024-01-01": [1.0]}),
        {},
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refusals_are_those_of_read_panel(local, tmp_path, case):
    make, chosen = REFUSED[case]
    make().write_parquet(tmp_path / "x.parquet", row_group_size=200)
    expected = outcome(lambda: read_panel(tmp_path / "x.parquet", **chosen))
    assert isinstance(expected, tuple), "the case is refused in memory"
    assert outcome(lambda: local.read_panel(tmp_path / "x.parquet", **chosen)) == expected


def test_refusals_come_from_workers_as_one_clear_sentence(engine, tmp_path):
    """Not as an exception of the engine's: what is wrong in a part is counted, and said at the driver."""
    for name in ("fractional ids", "duplicates that differ", "a wide table with text"):
        make, chosen = REFUSED[name]
        path = tmp_path / f"{name}.parquet"
        make().write_parquet(path)
        assert outcome(lambda p=path, c=chosen: engine.read_panel(p, **c)) == outcome(
            lambda p=path, c=chosen: read_panel(p, **c)
        )


entries = st.sampled_from(["a", "b", "c", "d"])
odd_numbers = st.sampled_from([0.0, -0.0, 1.5, -3.0, 1e300, float("nan"), None, float("inf")])
plain_numbers = st.sampled_from([0.0, -0.0, 1.5, -3.0, 0.1, float("nan"), None])


@st.composite
def odd_tables(draw):
    numbers = odd_numbers if draw(st.integers(0, 9)) == 0 else plain_numbers
    step = draw(st.sampled_from([1, 1, 1, 2]))
    times = st.integers(0, 5).map(lambda t: t * step)
    rows = draw(
        st.lists(
            st.tuples(entries if draw(st.booleans()) else st.sampled_from(["a", "b", None, ""]), times, numbers),
            min_size=1,
            max_size=25,
            unique_by=(lambda row: row[:2]) if draw(st.integers(0, 4)) else None,
        )
    )
    home = draw(st.dictionaries(entries, st.sampled_from([1.0, 0.0, 2.5, None]), max_size=4))
    return pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.string()),
            "time": pa.array([row[1] for row in rows], pa.int64()),
            "value": pa.array([row[2] for row in rows], pa.float64()),
            "home": pa.array([home.get(row[0]) for row in rows], pa.float64()),
            "word": pa.array(draw(st.lists(entries | st.none(), min_size=len(rows), max_size=len(rows))), pa.string()),
        }
    )


policies = st.lists(st.sampled_from(["drop-series", "drop-instants", "interpolate:1", "interpolate:3"]), max_size=2)
choices = st.fixed_dictionaries(
    {"missing": st.builds(lambda steps, end: [*steps, end], policies, st.sampled_from(["keep", "fail"]))},
    optional={
        "subject": st.just("home"),
        "quasi": st.just("home"),
        "other": st.just("word"),
        "align": st.sampled_from(["resample:2:max", "resample:1:min", "resample:4:max"]),
    },
)


def refused_otherwise(path, chosen):
    """What is refused in memory where buckets, subjects or the readings of repeated cells need not be known."""
    known = [("align", "subject"), ("align",), ("subject",), ()]
    for kept, repeats in product(known, ({}, {"duplicates": "first"})):
        given = {key: value for key, value in chosen.items() if key in kept or key not in known[0]} | repeats
        refusal = outcome(lambda given=given: read_panel(path, **given))
        if isinstance(refusal, tuple):
            yield refusal[1]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=odd_tables(), chosen=choices, rows=st.integers(1, 9))
def test_odd_tables_are_read_or_refused_as_in_memory(local, tmp_path, table, chosen, rows):
    if {"subject", "quasi"} <= set(chosen):
        del chosen["quasi"]
    # The name belongs to the panel itself on an engine.
    table = table.rename_columns(["id", "time", "value", "home", "ward"])
    chosen = {key: "ward" if value == "word" else value for key, value in chosen.items()}
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=rows)
    expected = outcome(lambda: read_panel(tmp_path / "x.parquet", **chosen))
    found = outcome(lambda: local.read_panel(tmp_path / "x.parquet", **chosen))
    if isinstance(expected, tuple):
        # In memory every problem is told at once, except that buckets, subjects and the reading of every cell must be
        # known first; on an engine the first that is met.
        assert found[0] == expected[0]
        said = found[1].split(". ")[0].rstrip(".")
        assert said in expected[1] or any(said in one for one in refused_otherwise(tmp_path / "x.parquet", chosen))
    else:
        assert not isinstance(found, tuple), found
        assert_same(found, expected)


def test_what_needs_the_order_of_rows_is_refused_with_the_way_out(local, tmp_path):
    long_table().write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ParameterError, match="an engine does not keep"):
        local.read_panel(tmp_path / "x.parquet", duplicates="last")
    pl.DataFrame({"id": [1, 1], "0": [1.0, 1.0], "1": [1.0, 2.0]}).write_parquet(tmp_path / "y.parquet")
    with pytest.raises(InputError, match="1 of 2 rows repeat the id of another; a wide table has one row per series"):
        local.read_panel(tmp_path / "y.parquet")


def test_a_lake_with_a_row_for_each_instant_is_refused_with_the_way_out(local, tmp_path):
    pl.DataFrame({"time": [1, 2], "a": [1.0, 2.0]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(
        ParameterError, match=r"row per instant .* cannot be read on an engine. Write it with a row per"
    ):
        read_series(local, tmp_path / "x.parquet", layout="wide", time="time")


@pytest.mark.parametrize("name", ["row", "Shard", "n place"])
def test_names_that_the_panel_uses_are_refused(local, tmp_path, name):
    long_table(3).rename({"area": name}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ParameterError, match=f"Column '{name}' has a name that the panel uses itself"):
        local.read_panel(tmp_path / "x.parquet", quasi=name)


def test_numbers_in_one_file_and_text_in_another_are_refused(local, tmp_path):
    long_table(3).write_parquet(tmp_path / "a.parquet")
    long_table(3, ids=[7, 8, 9]).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InputError, match="numbers in one part of the source and text in another"):
        local.read_panel(tmp_path)


def test_a_file_with_other_columns_is_refused_as_in_memory(local, tmp_path):
    long_table(3).write_parquet(tmp_path / "a.parquet")
    long_table(3).drop("value").write_parquet(tmp_path / "b.parquet")
    expected = outcome(lambda: read_panel(tmp_path))
    assert "File 2 of 2" in expected[1]
    assert outcome(lambda: local.read_panel(tmp_path)) == expected


def test_a_static_entry_of_another_kind_is_refused(local, tmp_path):
    long_table(3).with_columns(area=pl.lit(b"x")).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="Column 'area' holds entries that an engine does not carry"):
        local.read_panel(tmp_path / "x.parquet", quasi="area")


def test_digests_are_left_out_where_that_is_asked_for(local, tmp_path):
    long_table(3).write_parquet(tmp_path / "x.parquet")
    assert local.read_panel(tmp_path / "x.parquet", digests=False).origin.sha256 == ()
    assert len(local.read_panel(tmp_path, digests=True).origin.sha256) == 1


def test_sample_has_whole_subjects_with_their_attributes(engine, lake):
    path = lake / str(list(CASES).index("channels and static columns"))
    blocks = engine.read_panel(path, **CASES["channels and static columns"][1])
    sample = blocks.sample(40, seed=5)
    assert 10 < sample.n_series < 80
    assert sample.n_series == 2 * sample.n_subjects
    whole = everything(blocks)
    places = np.searchsorted(whole.ids.astype(str), sample.ids.astype(str))
    np.testing.assert_array_equal(whole.values[places], sample.values)
    assert sample.attributes["area"].tolist() == whole.attributes["area"][places].tolist()
    assert sample.sensitive["ill"].tolist() == whole.sensitive["ill"][places].tolist()


_MEASURE = """
import resource, sys, threading
from shoal.engines import Local

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

with Local(memory="64MB", scratch=sys.argv[1]) as engine:
    before = peak()
    panel = engine.read_panel(sys.argv[2])
    print(panel.n_series, panel.whole.n_instants, peak() - before)
"""


@pytest.mark.soak
def test_memory_stays_near_what_is_allowed(tmp_path):
    """A long table of 6 million readings, several times the memory allowed, in an order that is the worst."""
    n, n_instants = 60_000, 100
    source = tmp_path / "source"
    source.mkdir()
    for t in range(0, n_instants, 10):
        readings = {
            "id": pa.array([f"meter-{i:06}" for i in range(n)] * 10),
            "time": np.repeat(np.arange(t, t + 10), n),
            "value": np.random.default_rng(t).normal(size=10 * n),
        }
        pq.write_table(pa.table(readings), source / f"{t:03}.parquet", row_group_size=100_000)
    run = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(tmp_path), str(source)], capture_output=True, text=True, check=True
    )
    n_series, found_instants, more = map(int, run.stdout.split())
    assert (n_series, found_instants) == (n, n_instants)
    assert more < 200 * 2**20, f"{more / 2**20:.0f} MiB more than before"


def test_an_attribute_without_any_entry_is_typed_by_its_column(local, tmp_path):
    table = pl.DataFrame({"id": ["a", "b"], "time": [0, 0], "value": [0.0, 1.0], "home": [1, None]})
    for there, kind in ((["b"], float), (["a"], int), (["a", "b"], float)):
        path = tmp_path / f"{''.join(there)}.parquet"
        table.filter(pl.col("id").is_in(there)).write_parquet(path)
        kept = everything(local.read_panel(path, quasi="home")).attributes["home"]
        assert kept.dtype == kind
        np.testing.assert_array_equal(kept, [1.0] * ("a" in there) + [np.nan] * ("b" in there))


def test_scratch_files_are_gone_after_reading(tmp_path):
    long_table().write_parquet(tmp_path / "x.parquet")
    (tmp_path / "scratch").mkdir()
    with Local(scratch=tmp_path / "scratch") as engine:
        everything(engine.read_panel(tmp_path / "x.parquet"))
    assert not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize("column", ["id", "home"])
def test_names_in_several_spellings_are_refused_on_an_engine(tmp_path, column):
    table = long_table(n=6).with_columns(pl.format("{}", pl.col("home")).alias("home"))
    odd = pl.when(pl.int_range(pl.len()) < 3).then(pl.col(column) + " ").otherwise(pl.col(column))
    table.with_columns(odd.alias(column)).write_parquet(tmp_path / "x.parquet")
    with Local() as engine, pytest.raises(InputError, match=f"3 rows of column '{column}' have names with spaces"):
        engine.read_panel(tmp_path / "x.parquet", subject="home")
