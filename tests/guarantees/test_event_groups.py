"""Groups of published events: enumerated, and spoiled one entry at a time."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.event_groups import naive_bucketised, naive_generalised
from shoal.guarantees import LDiversity
from shoal.guarantees.event_groups import event_groups
from shoal.model import EventTables

RECORDS = pl.DataFrame(
    {"time": [0, 0, 0, 0, 1, 1], "group": [0, 0, 1, 1, 0, 0], "age": [30, 41, 18, 77, 41, 52]},
    schema={"time": pl.Int64, "group": pl.Int64, "age": pl.Int64},
)
COUNTS = pl.DataFrame(
    {"time": [0, 0, 0, 0, 1, 1], "group": [0, 0, 1, 1, 0, 0], "result": list("abacab"), "count": [1] * 6},
    schema={"time": pl.Int64, "group": pl.Int64, "result": pl.String, "count": pl.Int64},
)


def tables(records=RECORDS, counts=COUNTS):
    return EventTables(records, counts, ("age",), "result")


def changed(frame, row, **entries):
    at = pl.int_range(pl.len()) == row
    return frame.with_columns(pl.when(at).then(pl.lit(v)).otherwise(pl.col(c)).alias(c) for c, v in entries.items())


@st.composite
def bucketised(draw):
    keys = st.tuples(st.integers(0, 1), st.integers(0, 2))
    records = draw(st.lists(keys, min_size=1, max_size=8))
    counts = draw(st.lists(st.tuples(keys, st.sampled_from("ab"), st.integers(-1, 3)), max_size=8))
    if draw(st.booleans()):  # more often tables that agree
        counts = [(key, draw(st.sampled_from("ab")), 1) for key in records]
    rows = [{"time": t, "group": g, "age": 1} for t, g in records]
    counted = [{"time": t, "group": g, "result": v, "count": c} for (t, g), v, c in counts]
    return rows, counted


@given(case=bucketised())
def test_buckets_are_counted_as_by_enumeration(case):
    rows, counted = case
    published = tables(pl.DataFrame(rows, schema=RECORDS.schema), pl.DataFrame(counted, schema=COUNTS.schema))
    found = event_groups(published)
    expected = naive_bucketised(rows, counted, "result")
    for size, most, row in zip(found.sizes, found.largest, found.rows, strict=True):
        if row >= 0:
            assert expected.pop((rows[row]["time"], rows[row]["group"])) == (size, most)
            assert not any((r["time"], r["group"]) == (rows[row]["time"], rows[row]["group"]) for r in rows[:row])
        else:
            assert (size, most) == (0, 1)
    assert all(key not in {(r["time"], r["group"]) for r in rows} for key in expected)
    assert len(expected) == (found.rows < 0).sum()
    assert bool(found.note) == bool((found.sizes == 0).any())


@given(
    rows=st.lists(
        st.tuples(
            st.integers(0, 1), st.none() | st.sampled_from([0.0, 0.5]), st.sampled_from("xy"), st.sampled_from("ab")
        ),
        min_size=1,
        max_size=10,
    )
)
def test_coarse_records_are_counted_as_by_enumeration(rows):
    schema = {"time": pl.Int64, "age_low": pl.Float64, "sex": pl.String, "result": pl.String}
    records = pl.DataFrame(rows, schema=schema, orient="row")
    found = event_groups(EventTables(records, None, ("age", "sex"), "result"))
    expected = naive_generalised(records.rows(named=True), "result")
    assert not found.note
    assert list(found.rows) == sorted(found.rows)
    assert {rows[row][:3]: (s, m) for s, m, row in zip(found.sizes, found.largest, found.rows, strict=True)} == expected


def test_groups_that_agree_are_sound():
    found = event_groups(tables())
    assert (found.sizes.tolist(), found.largest.tolist(), found.rows.tolist()) == ([2, 2, 2], [1, 1, 1], [0, 2, 4])
    assert found.note == ""


@pytest.mark.parametrize(
    ("published", "odd"),
    [
        (tables(counts=changed(COUNTS, 2, count=2)), [1]),
        (tables(counts=changed(COUNTS, 2, count=0)), [1]),
        (tables(counts=changed(changed(COUNTS, 2, count=3), 3, count=-1)), [1]),
        (tables(counts=changed(COUNTS, 2, count=2**62)), [1]),
        (tables(counts=changed(COUNTS, 2, count=None)), [1]),
        (tables(counts=changed(COUNTS, 2, result=None)), [1]),
        (tables(counts=changed(COUNTS, 2, group=0)), [0, 1]),
        (tables(counts=changed(COUNTS, 2, group=9)), [1, 3]),
        (tables(counts=changed(COUNTS, 2, time=1)), [1, 3]),
        (tables(counts=COUNTS.head(4)), [2]),
        (tables(counts=COUNTS.clear()), [0, 1, 2]),
        (tables(changed(RECORDS, 3, group=0)), [0, 1]),
        (tables(changed(RECORDS, 3, time=1)), [1, 2]),
        (tables(RECORDS.head(4)), [2]),
        (tables(counts=COUNTS.with_columns(pl.col("count").cast(pl.Float64))), [0, 1, 2]),
    ],
)
def test_a_group_whose_tables_disagree_cannot_be_counted(published, odd):
    found = event_groups(published)
    assert np.flatnonzero(found.sizes == 0).tolist() == odd
    assert (found.largest[odd] == 1).all()
    assert f"{len(odd)} group" in found.note


def test_tables_that_cannot_be_compared_have_no_sound_group():
    assert event_groups(tables(RECORDS.clear(), COUNTS.clear())).sizes.tolist() == [0]
    mixed = tables(counts=COUNTS.with_columns(pl.col("time").cast(pl.Int32)))
    assert event_groups(mixed).sizes.tolist() == [0]
    assert "different types" in event_groups(mixed).note


def test_counts_of_one_value_are_summed_up():
    counts = changed(COUNTS, 1, result="a")
    assert event_groups(tables(counts=counts)).largest.tolist() == [2, 1, 1]


def test_zeros_of_both_signs_are_one_sensitive_value_but_two_coarse_ones():
    zeros = pl.Series([0.0, -0.0])
    sensitive = pl.DataFrame({"time": [0, 0], "age_low": [1.0, 1.0], "result": zeros})
    assert event_groups(EventTables(sensitive, None, ("age",), "result")).largest.tolist() == [2]
    coarse = pl.DataFrame({"time": [0, 0], "age_low": zeros, "result": ["a", "b"]})
    assert event_groups(EventTables(coarse, None, ("age",), "result")).sizes.tolist() == [1, 1]


def test_a_missing_coarse_number_is_not_a_zero_and_a_missing_value_cannot_be_counted():
    coarse = pl.DataFrame({"time": [0, 0], "age_low": [None, 0.0], "result": ["a", "b"]})
    assert event_groups(EventTables(coarse, None, ("age",), "result")).sizes.tolist() == [1, 1]
    missing = pl.DataFrame({"time": [0, 0], "age_low": [1.0, 1.0], "result": ["a", None]})
    assert event_groups(EventTables(missing, None, ("age",), "result")).sizes.tolist() == [0]


@pytest.mark.parametrize("column", ["time", "group"])
def test_both_zeros_do_not_make_one_group_of_two(column):
    """A reader of the table sees two groups of one value each."""
    key = {"time": [1] * 4, "group": [1] * 4} | {column: [0.0, 0.0, -0.0, -0.0]}
    counts = {name: [values[0], values[2]] for name, values in key.items()}
    tables = EventTables(
        pl.DataFrame(key | {"age": [1, 2, 3, 4]}),
        pl.DataFrame(counts | {"result": ["a", "b"], "count": [2, 2]}),
        ("age",),
        "result",
    )
    assert not LDiversity(2).check(tables).holds


def test_spellings_of_a_text_are_one_sensitive_value():
    spelt = COUNTS.with_columns(pl.Series("result", ["flu", "Flu ", "a", "c", "flu", "f\u200blu"]))
    assert event_groups(tables(counts=spelt)).largest.tolist() == [2, 1, 2]
    assert not LDiversity(2).check(tables(counts=spelt)).holds
    coarse = pl.DataFrame({"time": [0, 0], "age": [1, 1], "result": ["flu", "FLU"]})
    assert event_groups(EventTables(coarse, None, ("age",), "result")).largest.tolist() == [2]
