import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.arrivals import arrive
from shoal.errors import InputError, ParameterError
from shoal.read.durations import parse_duration
from shoal.streams.arrivals import Arrivals
from shoal.streams.blocks import Block, Position, parse_lines
from shoal.streams.checkpoint import Checkpoint

times = st.one_of(st.integers(-3, 30), st.none())
events = st.one_of(
    st.none(),
    st.tuples(times, st.sampled_from(["a", "b", "c", None]), st.sampled_from([None, "1", "2", "3"])),
)


def as_line(event):
    if event is None:
        return b"no object"
    names = ("time", "x", "id")
    return json.dumps({name: entry for name, entry in zip(names, event, strict=True) if entry is not None}).encode()


def make(**options):
    every, lateness = options.pop("every", None), options.pop("lateness", 0)
    return Arrivals(
        time="time",
        sensitive="x",
        quasi=(),
        id="id",
        every=None if every is None else parse_duration(every, "every"),
        lateness=parse_duration(lateness, "lateness") if lateness else None,
        **options,
    )


def through_a_file(arrivals, **options):
    """What a restart does: state to bytes and back."""
    rows, facts = arrivals.state()
    kept = Checkpoint.from_bytes(Checkpoint(1, facts, {} if rows is None else {"open": rows}).to_bytes())
    fresh = make(**options)
    fresh.restore(kept.tables.get("open"), kept.facts)
    return fresh


def seen(snapshot):
    assert snapshot["time"].n_unique() == 1
    return snapshot["time"][0], snapshot["x"].to_list()


@given(
    arriving=st.lists(events, max_size=40),
    every=st.sampled_from([None, 1, 3, 7]),
    lateness=st.sampled_from([0, 1, 2, 9]),
    known=st.sampled_from([None, ("a", "b")]),
    cuts=st.lists(st.integers(0, 40), max_size=6),
    restart=st.booleans(),
)
def test_events_meet_the_fate_that_the_rules_give_them_one_by_one(arriving, every, lateness, known, cuts, restart):
    options = {"every": every, "lateness": lateness, "known": known}
    arrivals = make(**options)
    closed = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(arriving)], strict=True):
        raw = b"".join(as_line(event) + b"\n" for event in arriving[start:end])
        closed += [seen(s) for s in arrivals.take(parse_lines(raw, arrivals.columns, arrivals.position))]
        if restart:
            arrivals = through_a_file(arrivals, **options)
    expected, left, counts = arrive(arriving, every=every, lateness=lateness, known=known)
    assert closed == expected
    assert arrivals.arrived.rejected | {"out_of_order": arrivals.arrived.out_of_order} == counts
    assert arrivals.arrived.events == len(arriving)
    assert arrivals.position == Position(len(arriving))
    assert arrivals.n_open == sum(len(values) for _, values in left)
    assert [seen(snapshot) for snapshot in arrivals.finish()] == left
    assert arrivals.n_closed == len(expected) + len(left)
    assert arrivals.n_open == 0


def lines_of(*rows):
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def take_all(arrivals, raw):
    """Every snapshot, with those that are open at the end."""
    closed = list(arrivals.take(parse_lines(raw, arrivals.columns, arrivals.position)))
    return closed + list(arrivals.finish())


def test_times_on_a_clock_are_cut_to_days():
    arrivals = Arrivals(time="time", sensitive="x", quasi=(), every=parse_duration("1d", "every"))
    days = ["2024-03-01T23:59", "2024-03-01 07:00:00.5", "2024-03-02"]
    first, second = take_all(arrivals, lines_of(*({"time": day, "x": "a"} for day in days)))
    assert str(first["time"][0]) == "2024-03-01 00:00:00"
    assert (len(first), len(second)) == (2, 1)


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2024-03-01", "2024-03-02"], pl.Date),
        (["2024-03-01T10:00", "2024-03-02"], pl.Datetime("us")),
        (["2024-03-01T10:00Z", "2024-03-01T12:30+02:00"], pl.Datetime("us", "UTC")),
        ([5, "6"], pl.Int64),
    ],
)
def test_the_first_usable_time_decides_what_times_are(texts, kind):
    arrivals = Arrivals(time="time", sensitive="x", quasi=())
    odd = {"time": "2024-03-01T09:00Z" if kind != pl.Datetime("us", "UTC") else 9, "x": "a"}
    rows = [{"time": None, "x": "a"}, *({"time": text, "x": "a"} for text in texts), odd]
    first, second = take_all(arrivals, lines_of(*rows))
    assert first.schema["time"] == second.schema["time"] == kind
    assert arrivals.arrived.rejected["incomplete"] == 2


def test_dates_cut_to_hours_are_times_of_a_local_clock():
    arrivals = Arrivals(time="time", sensitive="x", quasi=(), every=parse_duration("1h", "every"))
    (first,) = take_all(arrivals, lines_of({"time": "2024-03-01", "x": "a"}))
    assert first.schema["time"] == pl.Datetime("us")


def test_a_length_on_the_clock_does_not_fit_whole_numbers():
    arrivals = Arrivals(time="time", sensitive="x", quasi=(), every=parse_duration("1h", "every"))
    with pytest.raises(ParameterError, match="every: the data has no timestamps"):
        list(arrivals.take(parse_lines(lines_of({"time": 1, "x": "a"}), arrivals.columns, Position())))


def test_columns_get_their_types_from_what_comes_before_the_first_closing_wherever_blocks_end():
    rows = [
        {"time": 0, "age": 30, "height": 1.5, "zip": "007", "x": "a"},
        {"time": 0, "age": None, "height": 2, "zip": "1010", "x": "b"},
        {"time": 1, "age": 41, "height": "", "zip": "1020", "x": "b"},
        {"time": 1, "age": "forty", "height": 2, "zip": "1020", "x": "b"},
        {"time": 2, "age": 41.5, "height": 2, "zip": "1020", "x": "b"},
        {"time": 2, "age": 41, "height": 1.25, "zip": 1020, "x": "b"},
    ]
    for size in (1, 2, 3, 6):
        arrivals = Arrivals(time="time", sensitive="x", quasi=("age", "height", "zip"))
        found = []
        for start in range(0, len(rows), size):
            raw = lines_of(*rows[start : start + size])
            found += arrivals.take(parse_lines(raw, arrivals.columns, arrivals.position))
        found += arrivals.finish()
        table = pl.concat(found)
        assert table.schema == {
            "time": pl.Int64,
            "age": pl.Int64,
            "height": pl.Float64,
            "zip": pl.String,
            "x": pl.String,
        }
        assert table.rows() == [
            (0, 30, 1.5, "007", "a"),
            (0, None, 2.0, "1010", "b"),
            (1, 41, None, "1020", "b"),
            (2, 41, 1.25, "1020", "b"),
        ]
        assert arrivals.arrived.rejected["incomplete"] == 2


def test_tables_that_have_types_keep_them():
    def block(frame):
        n = len(frame)
        return Block(frame, np.zeros(n, bool), np.arange(1, n + 1), Position(), Position(n), untyped=False)

    arrivals = Arrivals(time="time", sensitive="x", quasi=("a", "b"))
    found = list(arrivals.take(block(pl.DataFrame({"time": [1, 1], "a": ["1", ""], "b": [1, 2], "x": [True, False]}))))
    found += arrivals.take(block(pl.DataFrame({"time": [2, 2], "a": [3, 4], "b": [2.5, 2.0], "x": ["q", "q"]})))
    found += arrivals.finish()
    assert pl.concat(found).rows() == [(1, "1", 1, "true"), (1, "", 2, "false"), (2, "4", 2, "q")]
    assert arrivals.arrived.rejected["incomplete"] == 1


def test_known_values_get_the_type_of_their_column():
    arrivals = Arrivals(time="time", sensitive="x", quasi=(), known=["3", "12"])
    assert arrivals.known_values() is None
    take_all(arrivals, lines_of({"time": 1, "x": 3}, {"time": 1, "x": "4"}, {"time": 2, "x": 12}))
    assert sorted(arrivals.known_values()) == [3, 12]
    assert arrivals.arrived.rejected["unknown"] == 1


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        (b"{", "malformed"),
        (b'{"time": "hunter2", "x": "a"}', "incomplete"),
        (b'{"time": 9, "x": "hunter2"}', "not among the known"),
        (b'{"time": 0, "x": "a"}', "late"),
        (b'{"time": 5, "x": "a", "id": 7}', "duplicate"),
    ],
)
def test_strict_stops_at_the_first_rejected_event_and_names_its_line_and_rule(line, rule):
    arrivals = make(strict=True, known=["a"])
    good = b'{"time": 1, "x": "a"}\n\n{"time": 5, "x": "a", "id": 7}\n'
    raw = good + line + b'\n{"time": 6, "x": "a"}\n'
    taking = arrivals.take(parse_lines(raw, arrivals.columns, Position()))
    assert seen(next(taking)) == (1, ["a"])
    with pytest.raises(InputError, match=f"The event at line 4 .*{rule}") as caught:
        next(taking)
    assert "hunter2" not in str(caught.value)
    # What came before is taken, and the state is that before the line.
    assert arrivals.position == Position(3)
    assert (arrivals.arrived.events, sum(arrivals.arrived.rejected.values())) == (2, 0)


def test_a_column_has_one_part():
    with pytest.raises(ParameterError, match="has two roles"):
        Arrivals(time="time", sensitive="x", quasi=("x",))
