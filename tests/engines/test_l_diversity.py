"""The check of l-diversity on an engine equals the one in memory, breaches included."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import KP, Panel
from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockPublished, Clock
from shoal.engines.checks import check
from shoal.engines.guarantees.l_diversity_events import BlockEvents
from shoal.engines.rows import ID, SUBJECT, pack
from shoal.guarantees import LDiversity
from shoal.model import Envelopes, EventTables


def judged(engine, found, parts=3):
    """Envelopes or a panel in memory, with their sensitive columns, on an engine."""
    is_envelopes = isinstance(found, Envelopes)
    columns = {
        ID: [f"s{i:05}" for i in range(len(found))],
        SUBJECT: [str(code) for code in found.subject_codes],
        PUBLISHED: pack(found.values if is_envelopes else found.rows),
    }
    if is_envelopes:
        columns |= {LEVEL: pa.array(found.levels), WORD: list(found.patterns)}
    columns |= {name: pa.array(column.tolist(), from_pandas=True) for name, column in found.sensitive.items()}
    clock = Clock(found.times, ("low", "high")) if is_envelopes else Clock(found.times)
    form = "envelopes" if is_envelopes else "values"
    return BlockPublished(engine, engine.scatter(pa.table(columns), parts), clock, form, len(found))


def assert_equal_verdicts(found, expected):
    assert (found.holds, found.measured, found.required) == (expected.holds, expected.measured, expected.required)
    assert found.witness is None


def groups_of(rng, n, n_subjects):
    """Values with few different rows, and columns of every type with gaps in some."""
    values = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, -1.0]])[rng.integers(3, size=n)]
    return Panel(
        values,
        subjects=rng.integers(n_subjects, size=n),
        sensitive={
            "illness": np.array(["flu", "cold", None, "none"], dtype=object)[rng.integers(4, size=n)],
            "income": np.array([1.5, 0.0, -0.0, np.nan, 2.5, 7.0])[rng.integers(6, size=n)],
            "children": rng.integers(6, size=n),
            "pays": rng.integers(2, size=n).astype(bool),
        },
    )


def test_verdict_on_envelopes_equals_the_one_in_memory_on_every_engine(engine):
    rng = np.random.default_rng(0)
    panel = Panel(
        rng.normal(size=(300, 5)).cumsum(axis=1),
        sensitive={"illness": rng.choice(["flu", "cold", "none", "cough"], size=300), "income": rng.normal(size=300)},
    )
    found = KP(k=8, p=4, l=2).anonymize(panel).published
    assert LDiversity(2).check(found).holds
    assert_equal_verdicts(check(LDiversity(2), judged(engine, found)), LDiversity(2).check(found))
    # One entry changed to what others of its subgroup have.
    words = np.array([*zip(found.low[:, 0], found.high[:, 0], found.patterns, strict=True)], dtype=object)
    alike = [i for i in range(1, 300) if (words[i] == words[0]).all()]
    column = found.sensitive["illness"].copy()
    column[alike] = column[0]
    forged = Envelopes(
        found.low,
        found.high,
        found.levels,
        found.patterns,
        found.times,
        sensitive={**found.sensitive, "illness": column},
    )
    expected = LDiversity(2).check(forged)
    verdict = check(LDiversity(2), judged(engine, forged))
    assert not verdict.holds
    assert_equal_verdicts(verdict, expected)
    assert verdict.note == "one value of column 'illness' has too large a share of a group; so in 1 groups"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(1, 60),
    n_subjects=st.integers(1, 60),
    l=st.integers(2, 4),
    column=st.sampled_from(["illness", "income", "children", "pays", None]),
    parts=st.integers(1, 5),
    seed=st.integers(0, 2**16),
)
def test_verdict_equals_memory_on_values_with_gaps_and_subjects(local, n, n_subjects, l, column, parts, seed):
    panel = groups_of(np.random.default_rng(seed), n, n_subjects)
    if column is not None:
        panel = Panel(panel.values, subjects=panel.subjects, sensitive={column: panel.sensitive[column]})
    assert_equal_verdicts(check(LDiversity(l), judged(local, panel, parts)), LDiversity(l).check(panel))


@pytest.mark.parametrize(
    ("sensitive", "note"),
    [
        ({}, "no sensitive column is published, so there is none to judge"),
        ({"income": [np.nan] * 4}, "no sensitive value is published, so there is none to judge"),
    ],
)
def test_where_nothing_is_published_it_does_not_hold(local, sensitive, note):
    panel = Panel([[1.0, 2.0]] * 4, sensitive=sensitive)
    verdict = check(LDiversity(2), judged(local, panel))
    assert_equal_verdicts(verdict, LDiversity(2).check(panel))
    assert verdict.note == LDiversity(2).check(panel).note == note


def events(engine, tables, parts=3):
    """Published events in memory, on an engine; rows of a snapshot lie in different parts."""
    records = engine.scatter(tables.records.sample(fraction=1.0, shuffle=True, seed=1).to_arrow(), parts)
    counts = None if tables.counts is None else engine.scatter(tables.counts[::-1].to_arrow(), parts)
    return BlockEvents(engine, records, counts, tables.sensitive)


def bucketised(rng, n, n_values=4):
    """Events of three snapshots in groups, and how often each value occurs there."""
    frame = pl.DataFrame(
        {
            "time": rng.integers(3, size=n),
            "group": rng.integers(2, size=n),
            "age": rng.integers(90, size=n),
            "illness": rng.choice(["flu", "cold", "none", "cough"][:n_values], size=n),
        }
    )
    counts = frame.group_by("time", "group", "illness").agg(pl.len().cast(pl.Int64).alias("count"))
    return EventTables(frame.drop("illness"), counts.sort("time", "group", "illness"), ("age",), "illness")


def generalised(rng, n):
    frame = pl.DataFrame(
        {
            "time": rng.integers(3, size=n),
            "age_low": np.array([0.0, -0.0, 20.0])[rng.integers(3, size=n)],
            "town": pl.Series([["a", "b", None][i] for i in rng.integers(3, size=n)], dtype=pl.String),
            "illness": rng.choice(["flu", "cold", "none"], size=n),
        }
    )
    return EventTables(frame, None, ("age_low", "town"), "illness")


def test_verdict_on_events_equals_the_one_in_memory_on_every_engine(engine):
    tables = bucketised(np.random.default_rng(0), 200)
    expected = LDiversity(2).check(tables)
    assert expected.holds
    assert_equal_verdicts(check(LDiversity(2), events(engine, tables)), expected)
    # A record more than the counts say: nobody knows its value.
    forged = EventTables(pl.concat([tables.records, tables.records[:1]]), tables.counts, ("age",), "illness")
    verdict = check(LDiversity(2), events(engine, forged))
    assert_equal_verdicts(verdict, LDiversity(2).check(forged))
    assert not verdict.holds
    assert verdict.note == "what is published of 1 group does not fit together"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    n=st.integers(1, 60),
    n_values=st.integers(1, 4),
    l=st.integers(2, 3),
    is_generalised=st.booleans(),
    parts=st.integers(1, 4),
    forged=st.sampled_from(["no", "counts", "records", "value"]),
    seed=st.integers(0, 2**16),
)
def test_verdict_on_events_equals_memory(local, n, n_values, l, is_generalised, parts, forged, seed):
    rng = np.random.default_rng(seed)
    tables = generalised(rng, n) if is_generalised else bucketised(rng, n, n_values)
    records, counts = tables.records, tables.counts
    if counts is not None and forged == "counts":
        counts = counts.with_columns(pl.when(pl.int_range(pl.len()) == 0).then(0).otherwise("count").alias("count"))
    elif counts is not None and forged == "records":
        records = records.with_columns(time=pl.when(pl.int_range(pl.len()) == 0).then(7).otherwise("time"))
    elif forged == "value":
        gone = pl.when(pl.int_range(pl.len()) > 0).then("illness").alias("illness")
        records, counts = (
            (records, counts.with_columns(gone)) if counts is not None else (records.with_columns(gone), None)
        )
    tables = EventTables(records, counts, tables.quasi, tables.sensitive)
    assert_equal_verdicts(check(LDiversity(l), events(local, tables, parts)), LDiversity(l).check(tables))


def test_events_without_a_time_do_not_hold(local):
    tables = bucketised(np.random.default_rng(0), 60)
    records = tables.records.with_columns(time=pl.when(pl.int_range(pl.len()) > 0).then("time"))
    verdict = check(LDiversity(2), events(local, EventTables(records, tables.counts, ("age",), "illness")))
    assert (verdict.holds, verdict.note) == (False, "times are missing")
    other = tables.counts.with_columns(pl.col("group").cast(pl.Int32))
    verdict = check(LDiversity(2), events(local, EventTables(tables.records, other, ("age",), "illness")))
    assert (verdict.holds, verdict.note) == (
        False,
        "records and counts have times or group numbers of different types",
    )
    nothing = BlockEvents(local, events(local, tables).records, None, "age")
    empty = local.map(nothing.records, _Nothing(), nothing.records.schema)
    verdict = check(LDiversity(2), BlockEvents(local, empty, None, "age"))
    assert (verdict.holds, verdict.note) == (False, "no event is published")


class _Nothing:
    def __call__(self, blocks):
        for block in blocks:
            yield block.slice(0, 0)
