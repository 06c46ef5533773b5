import datetime as dt
import json
from dataclasses import replace

import polars as pl
import pytest

from shoal.errors import ReleaseError
from shoal.model import EventTables
from shoal.streams import output
from shoal.streams.checkpoint import Checkpoint, read_checkpoints, write_checkpoint
from shoal.streams.output import Totals, write_snapshot
from shoal.streams.publisher import Commit, Publisher
from shoal.streams.reposition import PublishedSnapshot


def snapshot(number=0, time=dt.datetime(2024, 3, 1, 12), words=("a,b", "c"), **changes):
    records = pl.DataFrame({"time": [time] * 2, "group": [0, 0], "word": words, "size": [0.1, None]})
    counts = pl.DataFrame({"time": [time] * 2, "group": [0, 0], "x": ["p", "q"], "count": [1, 1]})
    return PublishedSnapshot(number, EventTables(records, counts, ("word", "size"), "x"), {0: 2}, {})


def nothing():
    some = snapshot().tables
    empty = replace(some, records=some.records.clear(), counts=some.counts.clear())
    return PublishedSnapshot(1, empty, {}, {"a": 3})


CHECKPOINT = Checkpoint(7, True, {"a": [1, None, 2**100]}, {"window": pl.DataFrame({"x": [1, 2], "__home": [0, 0]})})


def step(number):
    return Checkpoint(number, False, {"after": number}, {})


def test_checkpoints_read_back_as_they_were(tmp_path):
    assert read_checkpoints(tmp_path) is None
    write_checkpoint(tmp_path, CHECKPOINT).put_in_place()
    kept = read_checkpoints(tmp_path)
    assert (kept.state.number, kept.state.whole, kept.state.facts) == (7, True, CHECKPOINT.facts)
    assert kept.state.tables["window"].equals(CHECKPOINT.tables["window"])
    assert (kept.steps, kept.last_number) == ([], 7)


def test_steps_lead_on_from_the_state_up_to_a_gap(tmp_path):
    for checkpoint in (CHECKPOINT, *map(step, (5, 7, 8, 9, 11))):
        write_checkpoint(tmp_path, checkpoint).put_in_place()
    kept = read_checkpoints(tmp_path)
    assert kept.steps == [step(8), step(9)]
    # What stands behind the gap must not be taken for a step of what is written next.
    assert kept.last_number == 11
    (tmp_path / step(8).name).write_bytes(b"damaged")
    with pytest.raises(ReleaseError, match="it is damaged or of another version"):
        read_checkpoints(tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b"[]\n", lambda b: b[5:], lambda b: b + b"x"]
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    (tmp_path / "stream.state").write_bytes(damage(CHECKPOINT.to_bytes()))
    with pytest.raises(ReleaseError, match="it is damaged or of another version"):
        read_checkpoints(tmp_path)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("time", [5, dt.date(2024, 3, 1), dt.datetime(2024, 3, 1, 12, 30, 0, 250)])
def test_tables_are_written_aside_and_read_back(tmp_path, file_format, time):
    asides = write_snapshot(tmp_path, snapshot(time=time), file_format)
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    for aside in asides:
        aside.put_in_place()
    names = {f"data-00000001.{file_format}", f"sensitive-00000001.{file_format}"}
    assert {path.name for path in tmp_path.iterdir()} == names


def test_times_in_a_csv_are_iso_and_utc_is_marked(tmp_path):
    zoned = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
    for time, shown in ((zoned, "2024-03-01T12:00:00Z"), (zoned.replace(tzinfo=None), "2024-03-01T12:00:00")):
        write_snapshot(tmp_path, snapshot(time=time), "csv")[0].put_in_place()
        assert (tmp_path / "data-00000001.csv").read_text().splitlines()[1] == f'{shown},0,"a,b",0.1'


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_snapshot_from_which_all_has_gone_is_a_file_without_rows(tmp_path, file_format):
    for aside in write_snapshot(tmp_path, nothing(), file_format):
        aside.put_in_place()
    read = pl.read_csv if file_format == "csv" else pl.read_parquet
    assert read(tmp_path / f"data-00000002.{file_format}").shape == (0, 4)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_what_does_not_read_back_is_not_published(tmp_path, monkeypatch, file_format):
    right = output._to_bytes
    monkeypatch.setattr(output, "_to_bytes", lambda table, kind: right(table.reverse(), kind))
    with pytest.raises(ReleaseError, match=f"data-00000001.{file_format} does not read back as it was written"):
        write_snapshot(tmp_path, snapshot(), file_format)


def test_totals_add_up_and_survive_json():
    totals = Totals().plus(snapshot()).plus(nothing()).plus(replace(snapshot(), moved={1: 1, 0: 1}))
    values = {"p": (2, 0), "q": (2, 0), "a": (0, 3)}
    assert totals == Totals(snapshots=3, events=4, suppressed=3, moved={0: 3, 1: 1}, values=values)
    assert Totals.restored(json.loads(json.dumps(totals.facts()))) == totals
    found = totals.suppression
    assert (found.kept, found.lost) == (4, 3)
    assert [(loss.value, loss.before, loss.after) for loss in found.values] == [("a", 3, 0), ("p", 2, 2), ("q", 2, 2)]
    before_values_were_counted = {name: fact for name, fact in totals.facts().items() if name != "values"}
    assert Totals.restored(before_values_were_counted).plus(snapshot()).suppression.values == ()


def commit(number):
    checkpoint = Checkpoint(number, number % 3 == 0, {"after": number}, {})
    return Commit([snapshot(number)], checkpoint, {"snapshots": number + 1})


def test_commits_are_written_in_order(tmp_path):
    out, private = tmp_path / "out", tmp_path / "private"
    out.mkdir()
    private.mkdir()
    with Publisher(out, private, "csv") as publisher:
        for number in range(5):
            publisher.submit(commit(number))
    assert len(list(out.glob("data-*.csv"))) == 5
    kept = read_checkpoints(private)
    assert (kept.state.facts, kept.steps) == ({"after": 3}, [step(4)])
    # Steps that a whole state covers are gone.
    assert len(list(private.iterdir())) == 2
    assert json.loads((out / "summary.json").read_text()) == {"snapshots": 5}


def test_nothing_follows_a_snapshot_that_could_not_be_written(tmp_path, monkeypatch):
    out, private = tmp_path / "out", tmp_path / "private"
    out.mkdir()
    private.mkdir()
    right = output._read_back

    def wrong(path, *arguments):
        return right(path, *arguments).clear() if "00000002" in path.name else right(path, *arguments)

    monkeypatch.setattr(output, "_read_back", wrong)

    def submit_all():
        with Publisher(out, private, "csv") as publisher:
            for number in range(5):
                publisher.submit(commit(number))

    with pytest.raises(ReleaseError, match="does not read back"):
        submit_all()
    assert read_checkpoints(private).state.facts == {"after": 0}
    assert [path.name for path in private.iterdir()] == ["stream.state"]
    assert {path.name for path in out.iterdir()} == {"data-00000001.csv", "sensitive-00000001.csv", "summary.json"}


def test_a_state_that_a_killed_run_left_aside_is_removed(tmp_path):
    write_checkpoint(tmp_path, CHECKPOINT)
    write_checkpoint(tmp_path, step(8))
    with Publisher(tmp_path, tmp_path, "csv"):
        assert not list(tmp_path.iterdir())


def test_a_full_or_missing_disk_is_told_in_one_line(tmp_path):
    with (
        pytest.raises(ReleaseError, match="Cannot write the stream: No such file or directory"),
        Publisher(tmp_path / "gone", None, "csv") as publisher,
    ):
        publisher.submit(commit(0))
