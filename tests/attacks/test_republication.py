"""Intersecting the snapshots of a subject, against a plain loop."""

import numpy as np
import polars as pl
import pytest

from event_examples import any_buckets, small_events
from naive.invariance import naive_intersection
from shoal import Events, Reposition
from shoal.attacks import Republication
from shoal.errors import ParameterError
from shoal.model import EventTables


def with_subjects(events, seed, people=8):
    rng = np.random.default_rng(seed)
    frame = events.frame.with_columns(pl.Series("person", rng.integers(0, people, len(events))))
    return Events(frame, sensitive="result", quasi=["age", "sex"], subject="person")


def naive_shares(event, records, counts, instants, window):
    """The share of each value among published events with the same quasi-identifiers, in reach."""
    at = instants.index(event["time"])
    reach, found = set(instants[at : at + window]), {}
    for record in records:
        if record["time"] not in reach or any(record[name] != event[name] for name in ("age", "sex")):
            continue
        group = [c for c in counts if (c["time"], c["group"]) == (record["time"], record["group"])]
        size = sum(c["count"] for c in group)
        for c in group:
            found[c["result"]] = found.get(c["result"], 0.0) + c["count"] / size
    total = sum(found.values())
    return {value: n / total for value, n in found.items()}


@pytest.mark.parametrize("window", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_chances_are_those_of_a_plain_loop(seed, window):
    events = with_subjects(small_events(seed), seed)
    tables = any_buckets(events, seed)
    rows, records, counts = events.frame.to_dicts(), tables.records.to_dicts(), tables.counts.to_dicts()
    instants = sorted({row["time"] for row in rows})
    often = {v: sum(r["result"] == v for r in rows) / len(rows) for v in {r["result"] for r in rows}}
    expected = []
    for person in dict.fromkeys(row["person"] for row in rows):
        own = [row for row in rows if row["person"] == person]
        if len({row["time"] for row in own}) > 1:
            shares = [naive_shares(row, records, counts, instants, window) or often for row in own]
            expected.append(naive_intersection(shares, [row["result"] for row in own]))
    risk = Republication(window=window).attack(events, tables)
    assert risk.n_targets == len(expected)
    assert risk.success == pytest.approx(np.mean(expected))
    assert risk.highest == pytest.approx(max(expected))


def test_two_groups_with_one_value_in_common_tell_it():
    frame = pl.DataFrame({"time": [0, 1], "age": [30, 30], "person": ["p", "p"], "result": ["a", "a"]})
    others = pl.DataFrame({"time": [0, 1], "age": [50, 51], "person": ["q", "r"], "result": ["b", "c"]})
    events = Events(pl.concat([frame, others]), sensitive="result", quasi=["age"], subject="person")
    records = pl.DataFrame({"time": [0, 0, 1, 1], "group": [0] * 4, "age": [30, 50, 30, 51]})
    counts = pl.DataFrame(
        {"time": [0, 0, 1, 1], "group": [0] * 4, "result": ["a", "b", "a", "c"], "count": [1, 1, 1, 1]}
    )
    risk = Republication().attack(events, EventTables(records, counts, ("age",), "result"))
    assert (risk.n_targets, risk.success, risk.alone, risk.n_certain) == (1, 1.0, 0.5, 1)
    assert risk.worst == (0,)


def test_invariant_groups_withstand_it():
    rng = np.random.default_rng(3)
    own, who = rng.choice(list("abcdef"), 40), rng.integers(0, 40, 240)
    frame = pl.DataFrame({"time": np.sort(rng.integers(0, 8, 240)), "age": who, "person": who, "result": own[who]})
    events = Events(frame, sensitive="result", quasi=["age"], subject="person")
    usual, kept = (Reposition(l=2, window=1, m=m, seed=1).anonymize(events) for m in (None, 3))
    alone, together = (Republication().attack(events, candidate.published) for candidate in (usual, kept))
    assert alone.n_certain > 0
    assert together.n_certain == 0
    assert together.highest < 1.0


def test_without_subjects_there_is_nothing_to_intersect():
    events = small_events(1)
    risk = Republication().attack(events, any_buckets(events, 2))
    assert risk.n_targets == len(events)
    assert risk.success == risk.alone
    assert "nothing to intersect" in risk.sentence


def test_a_window_is_a_number_of_snapshots():
    with pytest.raises(ParameterError, match="at least 1"):
        Republication(window=0)
