"""Wherever a publishing process is killed, there is a release with its map, once in the ledger, or nothing of it."""

import contextlib
import hashlib
import json
import os
import signal
import threading

import pytest

from publishing_processes import candidate, places, release, release_killed, release_killed_in_parts, start
from shard_examples import many_parts, small_candidate
from shoal import load_release, publish, verify
from shoal.cli.app import run
from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.files import leftovers
from shoal.ledger.file import read_ledger, recording, unfinished
from shoal.process.private_map import read_map
from shoal.release.private import load_or_make_key
from stream_processes import KILL_EVERY, PATIENCE

MOST = 200
"""Steps that no release takes."""


def certificate_of(out):
    return hashlib.sha256((out / "release.json").read_bytes()).hexdigest()


def leftovers_in(folder):
    return [p.name for p in folder.rglob("*") if any(w in p.name for w in ("partial", "replaced", "pending"))]


@pytest.mark.parametrize("replaced", [False, True], ids=["new", "replacing"])
def test_a_kill_at_any_step_leaves_a_release_with_its_map_once_in_the_ledger_or_nothing(tmp_path, replaced):
    outcomes = []
    for number in range(1, MOST, KILL_EVERY):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        out, private, book = places(folder).values()
        earlier = None
        if replaced:
            release(candidate(), **places(folder))
            earlier = certificate_of(out)
        code = start(release_killed, folder, number)
        assert code in (0, -signal.SIGKILL)
        there = certificate_of(out) if out.exists() else None
        is_new = there not in (None, earlier)
        if there is not None:
            assert verify(out).holds
            assert len(read_map(load_release(out), private)) == 12
        outcomes.append(is_new)
        # The ledger can be looked at as it is.
        if book.exists() and book.read_bytes():
            left, is_busy = unfinished(book)
            assert not is_busy
            recorded = [entry.certificate for entry in read_ledger(book)]
            assert recorded.count(there) + (left is not None and left.is_in_place) == (there is not None)
        # And the next run completes it.
        release(candidate(), **places(folder))
        assert leftovers_in(folder) == []
        recorded = [entry.certificate for entry in read_ledger(book)]
        assert len(set(recorded)) == len(recorded) == 1 + is_new + replaced
        assert recorded.count(there) == (there is not None)
        assert len(list(private.glob("pseudonyms-*.parquet"))) == len(recorded)
        if code == 0:
            break
    assert number > 15
    assert {*outcomes} == {False, True}
    assert outcomes == sorted(outcomes)  # once it is in place it stays


@pytest.mark.parametrize("kill_at", range(1, 9))
def test_a_kill_after_a_kill_of_the_first_release_does_not_lock_the_ledger(tmp_path, kill_at):
    out, book = tmp_path / "out", tmp_path / "ledger.jsonl"
    with contextlib.suppress(KeyboardInterrupt), recording(book, candidate(), out):
        # As a kill leaves it, once the note and the key are there.
        left = {path: path.read_bytes() for path in tmp_path.iterdir()}
        raise KeyboardInterrupt
    assert {path.name for path in left} == {f"ledger.jsonl{end}" for end in ("", ".key", ".pending")}
    for path, content in left.items():
        path.write_bytes(content)
        path.chmod(0o600)
    assert start(release_killed, tmp_path, kill_at) == -signal.SIGKILL
    release(candidate(), **places(tmp_path))
    assert leftovers_in(tmp_path) == []
    assert [entry.certificate for entry in read_ledger(book)] == [certificate_of(out)]


@pytest.mark.parametrize(
    "point",
    [
        "before the map is whole",
        "before the release is in place",
        "before the map is in place",
        "when the map is in place",
    ],
)
def test_in_parts_too(tmp_path, monkeypatch, point):
    assert start(release_killed_in_parts, tmp_path, point) == -signal.SIGKILL
    in_place = (tmp_path / "out").exists()
    assert in_place == ("map is in place" in point)
    if in_place:
        assert verify(tmp_path / "out").holds
        assert len(read_map(load_release(tmp_path / "out"), tmp_path / "private"))
    many_parts(monkeypatch)
    publish(small_candidate(), tmp_path / "next", private=tmp_path / "private")
    publish(small_candidate(), tmp_path / "out", private=tmp_path / "private", overwrite=True)
    assert leftovers_in(tmp_path) == []
    assert len(list((tmp_path / "private").glob("pseudonyms-*.parquet"))) == 2 + in_place


class TestRefusals:
    def test_a_refused_release_leaves_nothing_in_the_private_folder(self, tmp_path, monkeypatch):
        from shoal.release import gate

        def refuse(*given):
            raise GuaranteeNotMetError("refused late")

        monkeypatch.setattr(gate, "settle", refuse)
        with pytest.raises(GuaranteeNotMetError, match="refused late"):
            publish(candidate(), tmp_path / "out", private=tmp_path / "private")
        assert list((tmp_path / "private").iterdir()) == []

    def test_nothing_private_goes_into_another_release(self, tmp_path, capsys):
        publish(candidate(), tmp_path / "first")
        inside = tmp_path / "first" / "sub"
        for given, what in (
            ({"private": inside}, "The private folder"),
            ({"private": tmp_path / "first"}, "The private folder"),
            ({"ledger": tmp_path / "first" / "ledger.jsonl"}, "The ledger"),
        ):
            with pytest.raises(ReleaseError, match=f"{what} must not be inside a release"):
                publish(candidate(), tmp_path / "second", **given)
        with pytest.raises(ReleaseError, match="A release must not be inside a release"):
            publish(candidate(), inside)
        (tmp_path / "link").symlink_to(tmp_path / "first")
        with pytest.raises(ReleaseError, match="The ledger must not be inside a release"):
            publish(candidate(), tmp_path / "second", ledger=tmp_path / "link" / "ledger.jsonl")
        assert verify(tmp_path / "first").holds
        assert not (tmp_path / "second").exists()


class TestLeftovers:
    def test_links_and_pipes_are_not_swept(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "file").write_text("stays")
        private = tmp_path / "private"
        private.mkdir(mode=0o700)
        for folder, prefix, suffix in ((tmp_path, ".out.partial-", ""), (private, ".pseudonyms-", ".partial")):
            (folder / f"{prefix}link{suffix}").symlink_to(tmp_path / "elsewhere")
            os.mkfifo(folder / f"{prefix}pipe{suffix}")
        thread = threading.Thread(target=publish, args=(candidate(), tmp_path / "out"), kwargs={"private": private})
        thread.daemon = True  # it would wait for ever
        thread.start()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        assert (tmp_path / "elsewhere" / "file").read_text() == "stays"
        assert (tmp_path / ".out.partial-link").is_symlink()

    def test_a_map_that_is_being_written_is_left_alone(self, tmp_path):
        alive = tmp_path / "private" / ".pseudonyms-alive.partial"
        alive.parent.mkdir(mode=0o700)
        alive.write_bytes(b"")
        lock = leftovers.hold(alive)
        try:
            publish(candidate(), tmp_path / "out", private=tmp_path / "private")
            assert alive.exists()
        finally:
            os.close(lock)
        publish(candidate(), tmp_path / "again", private=tmp_path / "private")
        assert not alive.exists()


def test_of_many_who_make_the_first_key_at_once_all_get_the_same(tmp_path):
    for attempt in range(20):
        folder = tmp_path / f"{attempt}"
        folder.mkdir()
        barrier, keys = threading.Barrier(8), []

        def make(folder=folder, barrier=barrier, keys=keys):
            barrier.wait()
            keys.append(load_or_make_key(folder))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(set(keys)) == 1
        assert len(keys) == 8
        assert len(keys[0]) == 64


def test_a_stream_that_was_killed_at_its_end_completes_its_summary(tmp_path, capfd):
    events = tmp_path / "events"
    events.mkdir()
    rows = [f"{t},{30 + i},{'abcd'[i % 4]}" for t in range(4) for i in range(8)]
    (events / "a.csv").write_text("time,age,result\n" + "\n".join(rows) + "\n")
    command = ["stream", str(events), "--sensitive", "result", "--quasi", "age", "--l", "2", "--window", "2"]
    command += ["-o", str(tmp_path / "out"), "--private", str(tmp_path / "private")]
    assert run(command) == 0
    whole = (tmp_path / "out" / "summary.json").read_bytes()
    assert json.loads(whole)["finished"]
    # As a kill before the last summary leaves it.
    stale = json.loads(whole) | {"finished": False}
    (tmp_path / "out" / "summary.json").write_text(json.dumps(stale))
    capfd.readouterr()
    assert run(command) == 0
    assert "its summary was completed" in capfd.readouterr().err
    assert (tmp_path / "out" / "summary.json").read_bytes() == whole
    assert run(command) == 0
    assert "finished; nothing was written" in capfd.readouterr().err
