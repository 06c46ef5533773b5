"""Bucketised and generalised snapshots: nothing lost, nothing told by order, every group diverse."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from event_samples import QUASI, snapshot, times
from shoal.errors import InputError, ParameterError
from shoal.guarantees.event_groups import event_groups
from shoal.methods.bucketise import bucketise
from shoal.methods.event_parts import concat
from shoal.methods.generalise import coarse_columns, generalise
from shoal.simulate import events

NAMES = ["age", "sex", "region"]


@st.composite
def small_snapshots(draw):
    """(frame, l) with ties and gaps, eligible."""
    l = draw(st.integers(2, 3))
    values = draw(st.permutations(list(range(draw(st.integers(l, 4)))) * draw(st.integers(1, 6))))
    n = len(values)
    columns = {
        "time": [7] * n,
        "age": draw(st.lists(st.none() | st.integers(0, 9), min_size=n, max_size=n)),
        "height": draw(st.lists(st.none() | st.sampled_from([0.0, -0.0, 0.5, np.nan]), min_size=n, max_size=n)),
        "sex": draw(st.lists(st.none() | st.sampled_from("fm"), min_size=n, max_size=n)),
        "result": [f"r{v}" for v in values],
    }
    kinds = {"time": pl.Int64, "age": pl.Int64, "height": pl.Float64, "sex": pl.String, "result": pl.String}
    return pl.DataFrame(columns, schema=kinds), l


def make(frame, l, seed=0, quasi=("age", "height", "sex")):
    return (
        bucketise(frame, quasi=quasi, sensitive="result", l=l, rng=np.random.default_rng(seed)),
        generalise(frame, quasi=quasi, sensitive="result", l=l),
    )


@given(case=small_snapshots())
def test_every_group_is_diverse_and_nothing_is_lost(case):
    frame, l = case
    for tables in make(*case):
        groups = event_groups(tables)
        assert not groups.note
        assert (groups.largest * l <= groups.sizes).all()
        assert groups.sizes.sum() == len(frame)
    buckets, coarse = make(*case)
    quasi = ["time", "age", "height", "sex"]
    assert buckets.records.drop("group").sort(quasi).equals(frame.select(quasi).sort(quasi))
    for values in (buckets.counts["result"], coarse.records["result"]):
        assert values.sort().equals(frame["result"].sort())


@given(case=small_snapshots(), seed=st.integers(0, 3))
def test_rows_and_numbers_do_not_tell_the_order_of_arrival(case, seed):
    frame, l = case
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=seed)
    assert make(shuffled, l)[1].records.equals(make(frame, l)[1].records)
    for table in (*(t.records for t in make(shuffled, l)), make(shuffled, l)[0].counts):
        assert table.equals(table.sort(table.columns))


@given(case=small_snapshots())
def test_every_original_lies_in_its_coarse_record(case):
    frame, l = case
    tables = generalise(frame, quasi=["age", "height", "sex"], sensitive="result", l=l)
    records = tables.records.rows(named=True)
    for row in frame.rows(named=True):
        inside = {
            tuple(record.values())[:-1]
            for record in records
            if _within(row["age"], record["age_low"], record["age_high"])
            and _within(row["height"], record["height_low"], record["height_high"])
            and row["sex"] in json.loads(record["sex"])
        }
        assert len(inside) == 1


def _within(value, low, high):
    if value is None or value != value:
        return low is None
    return high is not None and value <= high and (low is None or value >= low)


def test_group_numbers_are_drawn_and_not_those_of_forming():
    frame = pl.DataFrame({"time": [0] * 60, "age": range(60), "result": ["a", "b"] * 25 + ["c"] * 10})
    first = [
        make(frame, 2, seed, ["age"])[0].counts.filter(pl.col("result") == "c")["group"].to_list() for seed in (1, 2)
    ]
    # The rare value goes into the last groups that are formed.
    assert first[0] != first[1]
    assert all(min(groups) < 15 for groups in first)
    assert make(frame, 2, 1, ["age"])[0].records.equals(make(frame, 2, 1, ["age"])[0].records)


@pytest.mark.parametrize("kind", ["dates", "whole numbers", "clock", "zone"])
def test_all_types_keep_their_types(kind):
    at = times(kind)
    frame = snapshot(at)
    buckets, coarse = make(frame, 3, 0, QUASI)
    assert buckets.records.columns == ["time", "group", *QUASI]
    assert buckets.records.schema["time"] == at.dtype
    assert all(buckets.records.schema[name] == frame.schema[name] for name in QUASI)
    assert coarse.records.schema["small_low"] == coarse.records.schema["small_high"] == pl.UInt8
    assert coarse.records.schema["single_low"] == pl.Float32
    assert coarse.records.schema["word"] == coarse.records.schema["truth"] == coarse.records.schema["day"] == pl.String
    assert buckets.n_events == coarse.n_events == len(frame)
    assert "id" not in (*buckets.records.columns, *coarse.records.columns)


def test_coarse_columns_are_ranges_and_lists():
    frame = pl.DataFrame(
        {
            "age": [3, 1, None, 9, None],
            "word": ["b", None, "a", 'say "no"', 'say "no"'],
            "truth": [True, False, True, None, None],
            "day": pl.Series([19_000, 19_001, 19_000, 0, None]).cast(pl.Int32).cast(pl.Date),
        }
    )
    coarse = coarse_columns(frame, np.array([0, 0, 1, 1, 2]))
    assert coarse["age_low"].to_list() == [1, 1, None, None, None]
    assert coarse["age_high"].to_list() == [3, 3, 9, 9, None]
    assert coarse["word"].to_list() == ['[null, "b"]'] * 2 + ['["a", "say \\"no\\""]'] * 2 + ['["say \\"no\\""]']
    assert coarse["truth"].to_list() == ["[false, true]"] * 2 + ["[null, true]"] * 2 + ["[null]"]
    assert coarse["day"].to_list() == ['["2022-01-08", "2022-01-09"]'] * 2 + ['["1970-01-01", "2022-01-08"]'] * 2 + [
        "[null]"
    ]


def test_categories_are_published_as_text():
    frame = snapshot(times("dates")).with_columns(pl.col("word").cast(pl.Categorical))
    for tables in make(frame, 2, 0, ["word"]):
        assert tables.records.schema["word"] == pl.String


def test_without_quasi_identifiers_a_snapshot_is_one_group():
    frame = snapshot(times("dates"))
    buckets, coarse = make(frame, 2, 0, [])
    assert event_groups(coarse).sizes.tolist() == [len(frame)]
    assert buckets.records.columns == ["time", "group"]


def test_snapshots_are_put_together_in_order_of_time():
    stream = events(days=5, per_day=150, missing=0.1)
    rng = np.random.default_rng(0)
    arguments = {"quasi": NAMES, "sensitive": "diagnosis", "l": 2}
    for parts in (
        [bucketise(s, **arguments, rng=rng) for s in stream.snapshots()],
        [generalise(s, **arguments) for s in stream.snapshots()],
    ):
        tables = concat(parts[::-1])
        assert tables.n_snapshots == 5
        assert tables.n_events == len(stream)
        assert tables.records.equals(tables.records.sort(tables.records.columns))
        assert (event_groups(tables).largest * 2 <= event_groups(tables).sizes).all()


def test_parts_that_do_not_fit_together_are_refused():
    frame = snapshot(times("dates"))
    buckets, coarse = make(frame, 2, 0, ["word"])
    with pytest.raises(InputError, match="no snapshot to publish"):
        concat([])
    with pytest.raises(InputError, match="need the same columns"):
        concat([buckets, coarse])
    with pytest.raises(InputError, match="a snapshot of the same time"):
        concat([buckets, buckets])


def test_what_is_no_eligible_snapshot_is_refused():
    frame = pl.DataFrame({"time": [0, 0, 0], "age": [1, 2, 3], "result": ["a", "a", "b"]})
    with pytest.raises(
        ParameterError, match=r"3 events is not eligible for l=2: one sensitive value has 2 .* may have 1"
    ):
        make(frame, 2, 0, ["age"])
    with pytest.raises(InputError, match="A snapshot has exactly one time"):
        make(frame.with_columns(time=pl.int_range(3)), 2, 0, ["age"])
    with pytest.raises(InputError, match=r"Column 'age' has type Duration, which a release of events cannot hold"):
        make(frame.with_columns(pl.col("age").cast(pl.Duration)), 2, 0, ["age"])
    two = frame.with_columns(result=pl.Series(["a", "c", "b"]), age_low=pl.lit("x"))
    with pytest.raises(InputError, match="Two columns would be published under one name"):
        generalise(two, quasi=["age", "age_low"], sensitive="result", l=2)
