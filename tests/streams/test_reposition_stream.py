import json

import numpy as np
import polars as pl
import pytest

from shoal import Events, simulate
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.guarantees import LDiversity
from shoal.methods import Reposition
from shoal.methods.event_parts import concat
from shoal.streams import RepositionStream

EVENTS = simulate.events(days=8, per_day=40, seed=4)
COLUMNS = {"time": EVENTS.time, "sensitive": EVENTS.sensitive, "quasi": EVENTS.quasi}


def run(stream, snapshots):
    return [out for snapshot in snapshots for out in stream.push(snapshot)]


@pytest.mark.parametrize("publish", ["bucketised", "generalised"])
@pytest.mark.parametrize("window", [1, 3, 10])
def test_a_stream_publishes_what_the_method_publishes_of_the_whole(publish, window):
    method = Reposition(l=3, window=window, publish=publish, seed=5)
    stream = RepositionStream(method, **COLUMNS)
    out = run(stream, EVENTS.snapshots())
    assert [o.number for o in out] == list(range(max(0, 8 - window)))  # each leaves when window others came
    out += stream.flush()
    assert [o.number for o in out] == list(range(8))
    whole = method.anonymize(EVENTS)
    tables = concat([o.tables for o in out if o.tables.n_events])
    assert tables.records.equals(whole.published.records)
    assert publish == "generalised" or tables.counts.equals(whole.published.counts)
    assert sum(o.n_suppressed for o in out) == whole.recipe.figures["suppressed"]
    for o in out:
        assert sum(o.moved.values()) == o.tables.n_events
        assert o.tables.n_events == 0 or LDiversity(3).check(o.tables).holds


@pytest.mark.parametrize("publish", ["bucketised", "generalised"])
@pytest.mark.parametrize("stop", range(0, 9, 2))
def test_a_restored_stream_goes_on_as_if_nothing_had_happened(publish, stop):
    method = Reposition(l=3, window=3, publish=publish)  # the seed is drawn, and must survive as well
    snapshots = list(EVENTS.snapshots())
    stream = RepositionStream(method, known=sorted(set(EVENTS.frame["diagnosis"])), **COLUMNS)
    run(stream, snapshots[:stop])
    rows, facts = stream.state()
    again = RepositionStream.restored(method, rows, json.loads(json.dumps(facts)))
    expected, found = (run(s, snapshots[stop:]) + s.flush() for s in (stream, again))
    assert len(expected) == len(found)
    for a, b in zip(expected, found, strict=True):
        assert (a.number, a.moved, a.suppressed) == (b.number, b.moved, b.suppressed)
        assert a.tables.records.equals(b.tables.records)
        assert a.tables.counts is None or a.tables.counts.equals(b.tables.counts)


def test_a_value_that_appears_late_is_taken_in():
    rng = np.random.default_rng(0)
    stream = RepositionStream(Reposition(l=2, window=3, seed=1), time="time", sensitive="result", quasi=())
    out = []
    for t in range(12):
        words = rng.choice(["a", "b", "c", *(["d", "e"] if t > 5 else [])], 9)
        out += stream.push(pl.DataFrame({"time": [t] * 9, "result": words}))
    out += stream.flush()
    assert sum(o.tables.n_events + o.n_suppressed for o in out) == 12 * 9
    assert "d" in concat([o.tables for o in out]).counts["result"].to_list()


def test_a_snapshot_of_which_nothing_is_left_has_empty_tables():
    for publish in ("bucketised", "generalised"):
        stream = RepositionStream(
            Reposition(l=2, window=1, seed=1, publish=publish), time="when", sensitive="result", quasi=["age", "sex"]
        )
        lonely = pl.DataFrame({"when": [0, 0], "age": [1, 2], "sex": ["f", "m"], "result": ["a", "a"]})
        full = pl.DataFrame({"when": [1, 1], "age": [1, 2], "sex": ["f", "m"], "result": ["a", "b"]})
        out = run(stream, [lonely, full]) + stream.flush()
        assert [o.tables.n_events for o in out] == [0, 2]
        assert [o.n_suppressed for o in out] == [2, 0]
        assert out[0].tables.records.schema == out[1].tables.records.schema


def test_what_cannot_be_is_refused_without_values():
    with pytest.raises(ParameterError, match="2 are known"):
        RepositionStream(Reposition(l=3, window=2), known=["secret", "other"], **COLUMNS)
    stream = RepositionStream(
        Reposition(l=2, window=2), time="time", sensitive="result", quasi=(), known=["secret", "other"]
    )
    with pytest.raises(InputError, match="1 of 2 events") as refused:
        stream.push(pl.DataFrame({"time": [0, 0], "result": ["secret", "stranger"]}))
    assert "stranger" not in str(refused.value)
    with pytest.raises(InputError, match="missing"):
        stream.push(pl.DataFrame({"time": [0, 0], "result": ["secret", None]}))
    stream.flush()
    with pytest.raises(InputError, match="flushed"):
        stream.push(pl.DataFrame({"time": [1], "result": ["secret"]}))


@pytest.mark.parametrize("publish", ["bucketised", "generalised"])
def test_snapshots_pushed_together_are_published_as_those_pushed_one_by_one(publish):
    events = simulate.events(days=20, per_day=40, seed=3)
    columns = {"time": events.time, "sensitive": events.sensitive, "quasi": events.quasi}
    method = Reposition(l=3, window=4, seed=1, publish=publish)
    snapshots = list(events.snapshots())
    found = []
    for cuts in ([], [1, 2, 3, 4], [9], [0, 5, 5, 17], list(range(20))):
        stream = RepositionStream(method, **columns)
        out = []
        for start, end in zip([0, *cuts], [*cuts, len(snapshots)], strict=True):
            out += stream.push(*snapshots[start:end])
        found.append([*out, *stream.flush()])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert (one.number, one.moved, one.suppressed) == (two.number, two.moved, two.suppressed)
            assert one.tables.records.equals(two.tables.records)
            assert (one.tables.counts is None) or one.tables.counts.equals(two.tables.counts)


def visits(n_people=40, days=14, seed=2):
    """People who come back, most of them with the value they had, two of them twice on one day."""
    rng = np.random.default_rng(seed)
    values = rng.choice(list("abcdef"), n_people, p=[0.25, 0.2, 0.2, 0.15, 0.1, 0.1])
    rows = []
    for day in range(days):
        for person in [*rng.choice(n_people, 25, replace=False), 0, 1]:
            value = values[person] if rng.random() < 0.95 else "a"
            rows.append({"time": day, "person": f"p{person}", "age": int(person) % 7, "value": str(value)})
    return Events(pl.DataFrame(rows), sensitive="value", quasi=["age"], subject="person")


def test_a_stream_with_subjects_publishes_what_the_method_publishes_of_the_whole():
    events, method = visits(), Reposition(l=2, m=3, window=3, seed=5)
    columns = {"time": "time", "sensitive": "value", "quasi": ["age"], "subject": "person"}
    stream, out = RepositionStream(method, **columns), []
    for snapshot in events.snapshots():  # stopped and restored after each
        out += stream.push(snapshot)
        rows, facts = stream.state()
        stream = RepositionStream.restored(method, rows, json.loads(json.dumps(facts)))
    out += stream.flush()
    whole = method.anonymize(events)
    tables = concat([o.tables for o in out if o.tables.n_events])
    assert tables.records.equals(whole.published.records)
    assert tables.counts.equals(whole.published.counts)
    assert all(o.further[0].holds for o in out if o.tables.n_events)
    (guarantee,) = whole.further
    assert guarantee.check(whole).measured == min(o.further[0].measured for o in out if o.further)
    assert stream.figures["invariance"] == whole.recipe.figures["invariance"]
    assert stream.figures["invariance"]["repeated"] >= 14


def test_a_stream_that_forgets_what_subjects_were_shown_with_is_stopped():
    stream = RepositionStream(
        Reposition(l=2, m=2, window=2, seed=5), time="time", sensitive="value", quasi=["age"], subject="person"
    )
    snapshots = list(visits().snapshots())
    stream.push(*snapshots[:8])
    stream._run.signatures._known.clear()
    stream._run.signatures._families = [(0, 1, 2, 3, 4, 5)]
    with pytest.raises(GuaranteeNotMetError, match="other values than before"):
        stream.push(*snapshots[8:])
