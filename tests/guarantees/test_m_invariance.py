"""m-invariance: the exact check against the naive one, and sabotage."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive.invariance import naive_m_invariant
from shoal import Events, LDiversity, MInvariance, Panel, Reposition
from shoal.errors import ParameterError
from shoal.model import EventsCandidate, EventTables, PrivateEvents, Recipe


def candidate_of(rows):
    """rows: (time, subject, age, value, published time or None, group)."""
    frame = pl.DataFrame(
        rows,
        schema={
            "time": pl.Int64,
            "person": pl.String,
            "age": pl.Int64,
            "value": pl.String,
            "to": pl.Int64,
            "group": pl.Int64,
        },
        orient="row",
    ).sort("time", maintain_order=True)
    events = Events(frame.drop("to", "group"), sensitive="value", quasi=["age"], subject="person")
    instants = events.frame["time"].unique().sort().to_list()
    place = np.array([-1 if to is None else instants.index(to) for to in frame["to"].to_list()])
    shown = frame.filter(pl.col("to").is_not_null()).with_columns(time=pl.col("to"))
    records = shown.select("time", "group", "age").sort(pl.all())
    counts = shown.group_by("time", "group", "value").agg(pl.len().cast(pl.Int64).alias("count")).sort(pl.all())
    tables = EventTables(records, counts, ("age",), "value")
    private = PrivateEvents(events, place, np.where(place < 0, -1, frame["group"].to_numpy()))
    return EventsCandidate(tables, LDiversity(2), Recipe("by hand", {}), private), frame


KEPT = [
    (0, "p", 30, "a", 0, 0),
    (0, "q", 31, "b", 0, 0),
    (1, "p", 30, "b", 1, 0),
    (1, "q", 31, "a", 1, 0),
    (1, "r", 40, "a", 1, 1),
    (1, "s", 41, "b", 1, 1),
    (2, "p", 30, "a", None, 0),
]


@st.composite
def tiny(draw):
    times = st.integers(0, 2)
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        time = draw(times)
        to = draw(st.sampled_from([time, time, time, None]))
        person = draw(st.sampled_from(["p", "q", "r", None]))
        rows.append((time, person, 30, draw(st.sampled_from("abc")), to, draw(st.integers(0, 1))))
    return rows


@settings(max_examples=300)
@given(rows=tiny(), m=st.integers(2, 3))
def test_the_check_is_the_naive_one(rows, m):
    candidate, frame = candidate_of(rows)
    events = [{"subject": r["person"], "time": r["to"], "group": r["group"]} for r in frame.to_dicts()]
    expected = naive_m_invariant(events, candidate.published.counts.to_dicts(), "value", m)
    assert MInvariance(m).check(candidate).holds == expected


def test_groups_with_the_same_values_hold():
    verdict = MInvariance(2).check(candidate_of(KEPT)[0])
    assert verdict.holds
    assert (verdict.measured, verdict.required) == (2, 2)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({5: (1, "s", 41, "c", 1, 1)}, None),
        ({2: (1, "p", 30, "c", 1, 0)}, "different values"),
        ({4: (1, "p", 40, "a", 1, 1)}, "two events in one snapshot"),
        ({4: (1, "r", 40, "b", 1, 1)}, "too few values"),
        ({6: (2, "p", 30, "a", 2, 0)}, "different values|too few"),
    ],
)
def test_one_changed_event_is_noticed(changed, why):
    verdict = MInvariance(2).check(candidate_of([changed.get(i, row) for i, row in enumerate(KEPT)])[0])
    assert verdict.holds == (why is None)
    if why is not None:
        assert any(word in verdict.note for word in why.split("|"))
        assert isinstance(verdict.witness, int)


@pytest.mark.parametrize("table", ["records", "counts"])
def test_published_tables_that_are_not_of_these_events_are_not_judged(table):
    candidate, _ = candidate_of(KEPT)
    frame = getattr(candidate.published, table)
    column = "age" if table == "records" else "value"
    frame = frame.with_columns(pl.lit(frame[column][0]).alias(column))
    wrong = replace(candidate, published=replace(candidate.published, **{table: frame}))
    assert MInvariance(2).check(wrong).outcome == "not judged"


def test_what_it_cannot_see_it_does_not_judge():
    candidate, _ = candidate_of(KEPT)
    without = Events(candidate.private.original.frame, sensitive="value", quasi=["age"])
    for published, why in (
        (candidate.published, "only the publisher"),
        (Panel([[1.0]]), "only the publisher"),
        (replace(candidate, private=replace(candidate.private, original=without)), "no column for the subject"),
        (replace(candidate, private=replace(candidate.private, groups=None)), "publish bucketised"),
    ):
        verdict = MInvariance(2).check(published)
        assert verdict.outcome == "not judged"
        assert why in verdict.note


def test_a_union_of_subjects_keeps_it():
    """Others with groups of their own change nothing: the merged verdict is that of the whole."""
    others = [(t, f"{who}2", age, value, to, group + 5) for t, who, age, value, to, group in KEPT]
    parts = [candidate_of(KEPT)[0], candidate_of(others)[0]]
    merged = MInvariance(2).merge([MInvariance(2).check(part) for part in parts])
    whole = MInvariance(2).check(candidate_of([*KEPT, *others])[0])
    assert merged.holds
    assert (merged.outcome, merged.measured) == (whole.outcome, whole.measured)
    spoilt = [(1, "p2", 30, "c", 1, 5) if row[:2] == (1, "p2") else row for row in others]
    verdicts = [MInvariance(2).check(candidate_of(rows)[0]) for rows in (KEPT, spoilt)]
    assert not MInvariance(2).merge(verdicts).holds
    assert not MInvariance(2).check(candidate_of([*KEPT, *spoilt])[0]).holds


def test_m_must_be_two_or_more():
    with pytest.raises(ParameterError, match="m must be"):
        MInvariance(1)


def returning(seed, n=300, people=60, snapshots=12, values="abcdef"):
    """Events of people who come back, mostly with the same value."""
    rng = np.random.default_rng(seed)
    own = rng.choice(list(values), people)
    who = rng.integers(0, people, n)
    now = np.where(rng.random(n) < 0.85, own[who], rng.choice(list(values), n))
    frame = pl.DataFrame(
        {"time": np.sort(rng.integers(0, snapshots, n)), "age": 20 + who % 30, "person": who, "value": now}
    )
    return Events(frame, sensitive="value", quasi=["age"], subject="person")


@pytest.mark.parametrize("window", [1, 4])
def test_the_method_keeps_it_where_the_usual_groups_do_not(window):
    events = returning(1)
    usual = Reposition(l=2, window=window, seed=1).anonymize(events)
    assert not MInvariance(2).check(usual).holds
    kept = Reposition(l=2, m=3, window=window, seed=1).anonymize(events)
    assert [guarantee.check(kept).holds for guarantee in kept.guarantees] == [True, True]
    assert kept.guarantees == (LDiversity(2), MInvariance(3))
    figures = kept.recipe.figures
    assert figures["repeated"] == events.n_repeated > 0
    assert figures["published"] + figures["suppressed"] == len(events)
    assert figures["suppressed"] == sum(figures["invariance"].values())
    assert figures["published"] > 0.4 * len(events)


def test_the_method_needs_subjects_and_groups_for_it():
    events = returning(1)
    without = Events(events.frame, sensitive="value", quasi=["age"])
    with pytest.raises(ParameterError, match="these events have none"):
        Reposition(l=2, m=2, window=3).anonymize(without)
    with pytest.raises(ParameterError, match="leave publish at bucketised"):
        Reposition(l=2, m=2, window=3, publish="generalised")
    with pytest.raises(ParameterError, match="m must be"):
        Reposition(l=2, m=1, window=3)
