import contextlib
import datetime as dt
import hashlib
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from shoal.errors import ReleaseError
from shoal.model import EventTables
from shoal.streams import output
from shoal.streams.blocks import Block, Position, prefetched
from shoal.streams.checkpoint import BlockLog, Checkpoint, read_checkpoint, write_checkpoint
from shoal.streams.output import PublishedTotals, write_snapshot
from shoal.streams.publisher import Commit, Latency, Publisher
from shoal.streams.reposition import PublishedSnapshot


def snapshot(number=0, time=dt.datetime(2024, 3, 1, 12), words=("a,b", "c"), **changes):
    records = pl.DataFrame({"time": [time] * 2, "group": [0, 0], "word": words, "size": [0.1, None]})
    counts = pl.DataFrame({"time": [time] * 2, "group": [0, 0], "x": ["p", "q"], "count": [1, 1]})
    return PublishedSnapshot(number, EventTables(records, counts, ("word", "size"), "x"), {0: 2}, {})


def nothing():
    some = snapshot().tables
    empty = replace(some, records=some.records.clear(), counts=some.counts.clear())
    return PublishedSnapshot(1, empty, {}, {"a": 3})


CHECKPOINT = Checkpoint(7, {"a": [1, None, 2**100]}, {"window": pl.DataFrame({"x": [1, 2], "__home": [0, 0]})})


def block(number, n=3, **changes):
    frame = pl.DataFrame({"time": [str(number)] * n, "x": ["a", None, "b"][:n]})
    before, after = Position(n * number), Position(n * (number + 1), marks={"offsets": {"0": number}})
    malformed = np.array([False, True, False][:n])
    return Block(frame, malformed, np.arange(n * number + 1, n * number + n + 1), before, after, **changes)


def same(first, second):
    return (
        first.frame.equals(second.frame)
        and first.malformed.tolist() == second.malformed.tolist()
        and first.numbers.tolist() == second.numbers.tolist()
        and (first.before, first.after, first.untyped) == (second.before, second.after, second.untyped)
    )


def test_checkpoints_read_back_as_they_were(tmp_path):
    assert read_checkpoint(tmp_path) is None
    write_checkpoint(tmp_path, CHECKPOINT).put_in_place()
    kept = read_checkpoint(tmp_path)
    assert (kept.number, kept.facts) == (7, CHECKPOINT.facts)
    assert kept.tables["window"].equals(CHECKPOINT.tables["window"])


@pytest.mark.parametrize("gap", [False, True])
def test_blocks_read_back_as_they_were(gap):
    some = block(2, untyped=gap)
    some = replace(some, numbers=np.add(some.numbers, [0, 0, 5])) if gap else some
    assert same(Block.from_bytes(some.to_bytes()), some)


def test_what_a_kill_left_of_the_last_record_of_a_log_is_cut_off(tmp_path):
    log = BlockLog(tmp_path, 7)
    for number in range(3):
        log.append(block(number))
    log.append(None)
    log.close()
    whole = next(tmp_path.iterdir()).read_bytes()
    for cut in range(len(whole)):
        next(tmp_path.iterdir()).write_bytes(whole[:cut])
        log = BlockLog(tmp_path, 7)
        found = log.read()
        assert all(same(one, block(number)) for number, one in enumerate(found))
        assert len(found) < 4
        log.append(block(len(found)))
        assert same(log.read()[-1], block(len(found)))
        log.close()
    next(tmp_path.iterdir()).write_bytes(whole)
    assert BlockLog(tmp_path, 7).read()[-1] is None


def test_a_log_that_is_damaged_in_its_midst_is_refused(tmp_path):
    log = BlockLog(tmp_path, 7)
    log.append(block(0))
    log.append(block(1))
    path = next(tmp_path.iterdir())
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    with pytest.raises(ReleaseError, match="it is damaged"):
        log.read()


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-1], lambda b: b"", lambda b: b"[]\n", lambda b: b[5:], lambda b: b + b"x"]
)
def test_a_damaged_checkpoint_is_refused(tmp_path, damage):
    (tmp_path / "stream.state").write_bytes(damage(CHECKPOINT.to_bytes()))
    with pytest.raises(ReleaseError, match="it is damaged"):
        read_checkpoint(tmp_path)


def sealed(content):
    return hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def test_facts_that_are_none_are_refused(tmp_path):
    head, _, tables = CHECKPOINT.to_bytes().partition(b"\n")[2].partition(b"\n")
    changed = json.dumps(json.loads(head) | {"facts": [1]}).encode()
    (tmp_path / "stream.state").write_bytes(sealed(changed + b"\n" + tables))
    with pytest.raises(ReleaseError, match="it is damaged"):
        read_checkpoint(tmp_path)


def test_a_table_of_a_sealed_state_is_read_or_refused_whatever_byte_is_changed(tmp_path):
    head, _, tables = CHECKPOINT.to_bytes().partition(b"\n")[2].partition(b"\n")
    n_read = 0
    for place in range(len(tables)):
        changed = bytearray(tables)
        changed[place] ^= 0xFF
        (tmp_path / "stream.state").write_bytes(sealed(head + b"\n" + bytes(changed)))
        with contextlib.suppress(ReleaseError):
            read_checkpoint(tmp_path)
            n_read += 1
    assert n_read < len(tables)


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("time", [5, dt.date(2024, 3, 1), dt.datetime(2024, 3, 1, 12, 30, 0, 250)])
def test_tables_are_written_aside_and_read_back(tmp_path, file_format, time):
    written = write_snapshot(tmp_path, snapshot(time=time), file_format)
    assert all(path.name.startswith(".") for path in tmp_path.iterdir())
    for aside in written.asides:
        aside.put_in_place()
    names = {f"data-00000001.{file_format}", f"sensitive-00000001.{file_format}"}
    assert {path.name for path in tmp_path.iterdir()} == names
    assert {name: hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in names} == {
        name: digest for name, (digest, _) in written.digests.items()
    }


def test_times_in_a_csv_are_iso_and_utc_is_marked(tmp_path):
    zoned = dt.datetime(2024, 3, 1, 12, tzinfo=dt.UTC)
    for time, shown in ((zoned, "2024-03-01T12:00:00Z"), (zoned.replace(tzinfo=None), "2024-03-01T12:00:00")):
        write_snapshot(tmp_path, snapshot(time=time), "csv").asides[0].put_in_place()
        assert (tmp_path / "data-00000001.csv").read_text().splitlines()[1] == f'{shown},0,"a,b",0.1'


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_snapshot_from_which_all_has_gone_is_a_file_without_rows(tmp_path, file_format):
    for aside in write_snapshot(tmp_path, nothing(), file_format).asides:
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
    totals = PublishedTotals().plus(snapshot()).plus(nothing()).plus(replace(snapshot(), moved={1: 1, 0: 1}))
    values = {"p": (2, 0), "q": (2, 0), "a": (0, 3)}
    assert totals == PublishedTotals(snapshots=3, events=4, suppressed=3, moved={0: 3, 1: 1}, values=values)
    assert PublishedTotals.restored(json.loads(json.dumps(totals.facts()))) == totals
    found = totals.suppression
    assert (found.kept, found.lost) == (4, 3)
    assert [(loss.value, loss.before, loss.after) for loss in found.values] == [("a", 3, 0), ("p", 2, 2), ("q", 2, 2)]
    before_values_were_counted = {name: fact for name, fact in totals.facts().items() if name != "values"}
    assert PublishedTotals.restored(before_values_were_counted).plus(snapshot()).suppression.values == ()


class Door:
    """A gate that lets everything through."""

    def __init__(self, folder):
        self.folder, self.certified = folder, []

    def admit(self, snapshots):
        written = [write_snapshot(self.folder, one, "csv") for one in snapshots]
        return SimpleNamespace(asides=[aside for one in written for aside in one.asides])

    def certify(self, admitted, summary):
        assert all(aside.place.exists() for aside in admitted.asides)
        self.certified.append(summary)

    def sync(self):
        pass


def commit(number, *, whole=False):
    checkpoint = Checkpoint(number, {"after": number}, {}) if whole else None
    summary = {"snapshots": {"published": number + 1}}
    return Commit([snapshot(number)], summary, block(number), checkpoint)


@pytest.fixture
def places(tmp_path):
    out, private = tmp_path / "out", tmp_path / "private"
    out.mkdir()
    private.mkdir()
    return out, private


def test_commits_are_put_in_place_in_order_once_their_blocks_are_in_the_log(places):
    out, private = places
    door, acknowledged = Door(out), []
    with Publisher(out, private, door, acknowledged.append) as publisher:
        publisher.submit(commit(0, whole=True))
        for number in (1, 2):
            publisher.submit(commit(number), publisher.keep(block(number)))
        publisher.submit(commit(3, whole=True), publisher.keep(block(3)))
        publisher.submit(commit(4), publisher.keep(block(4)))
    assert [summary["snapshots"]["published"] for summary in door.certified] == [1, 2, 3, 4, 5]
    assert [one.before.number for one in acknowledged] == [0, 3, 6, 9, 12]
    assert len(list(out.glob("data-*.csv"))) == 5
    assert read_checkpoint(private).facts == {"after": 3}
    # The log before the last state is gone.
    assert len(list(private.iterdir())) == 2
    log = BlockLog(private, 3)
    assert [one.before.number for one in log.read()] == [12]
    log.close()
    assert publisher.latency.facts()["p50_ms"] > 0


def test_nothing_follows_a_snapshot_that_could_not_be_written(places, monkeypatch):
    out, private = places
    right = output._read_back

    def wrong(path, *arguments):
        return right(path, *arguments).clear() if "00000002" in path.name else right(path, *arguments)

    monkeypatch.setattr(output, "_read_back", wrong)

    def submit_all():
        with Publisher(out, private, Door(out)) as publisher:
            publisher.submit(commit(0, whole=True))
            for number in range(1, 5):
                publisher.submit(commit(number), publisher.keep(block(number)))

    with pytest.raises(ReleaseError, match="does not read back"):
        submit_all()
    assert read_checkpoint(private).facts == {"after": 0}
    assert {path.name for path in out.iterdir()} == {"data-00000001.csv", "sensitive-00000001.csv"}


def test_what_a_killed_run_left_aside_is_removed(places):
    out, private = places
    write_checkpoint(private, CHECKPOINT)
    write_snapshot(out, snapshot(), "csv")
    with Publisher(out, private, Door(out)):
        assert not [*private.iterdir(), *out.iterdir()]


def test_a_full_or_missing_disk_is_told_in_one_line(tmp_path):
    with (
        pytest.raises(ReleaseError, match="Cannot write the stream: No such file or directory"),
        Publisher(tmp_path / "gone", None, Door(tmp_path / "gone")) as publisher,
    ):
        publisher.submit(commit(0))


def test_quantiles_of_the_latency_are_right_within_a_tenth():
    latency = Latency()
    assert latency.facts() is None
    for milliseconds in range(1, 1001):
        latency.add(milliseconds / 1000, 2)
    found = latency.facts()
    assert found["p50_ms"] == pytest.approx(500, rel=0.1)
    assert found["p99_ms"] == pytest.approx(990, rel=0.1)


def test_what_is_read_ahead_comes_in_order_and_so_does_what_goes_wrong():
    def items():
        yield from range(5)
        raise ValueError("the end")

    found = []
    with pytest.raises(ValueError, match="the end"), prefetched(items()) as ahead:
        found.extend(ahead)
    assert found == [0, 1, 2, 3, 4]
    with prefetched(iter(range(1000))) as ahead:
        assert next(ahead) == 0
