"""The file of the ledger: what is in it, what is refused, and what a crash leaves."""

import hashlib
import json
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from ledger_examples import FEBRUARY, JANUARY, grouped, publish
from shoal import verify
from shoal.cli.app import run
from shoal.errors import GuaranteeNotMetError, ReleaseError
from shoal.guarantees import AggregateRule
from shoal.ledger import file as ledger_room
from shoal.ledger import groups as ledger_groups
from shoal.ledger.conflicts import judge_entries
from shoal.ledger.file import read_ledger, recording, unfinished
from shoal.ledger.groups import GroupMembership, hash_text


def without_chain(line):
    """A line as format 3 wrote it."""
    content = json.loads(line) | {"format": 3}
    del content["chain"], content["sum"]
    content["sum"] = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    return json.dumps(content).encode() + b"\n"


class TestTheFile:
    def test_it_holds_hashes_and_parameters_and_no_data(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        release = publish(grouped(JANUARY), tmp_path / "out", ledger=book)
        entry = json.loads(book.read_text())
        assert b"house" not in book.read_bytes()
        assert entry["method"] == "microaggregation"
        assert entry["guarantees"] == [{"name": "k-anonymity", "parameters": {"k": 3, "per": "subject"}}]
        assert entry["files"]["data.parquet"] == release.certificate["files"]["data.parquet"]["sha256"]
        assert entry["counts"] == release.certificate["counts"]
        assert entry["time"] == release.certificate["time"]
        assert stat.S_IMODE(book.stat().st_mode) == 0o600
        key = tmp_path / "ledger.jsonl.key"
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert key.read_bytes() not in book.read_bytes()
        assert verify(tmp_path / "out").holds

    def test_hashes_depend_on_the_key_and_numbers_on_chance(self, tmp_path):
        panel = grouped(np.arange(60) // 3)
        for name in "abc":
            publish(panel, tmp_path / name, ledger=tmp_path / ("two" if name == "c" else "one"))
        first, second = (entry.members for entry in read_ledger(tmp_path / "one"))
        third = read_ledger(tmp_path / "two")[0].members
        assert first.subjects == second.subjects != third.subjects
        assert first.groups != second.groups
        assert not set(first.unpacked().subjects.tolist()) & set(third.unpacked().subjects.tolist())

    def test_a_ledger_in_the_release_is_refused(self, tmp_path):
        with pytest.raises(ReleaseError, match="The ledger must not be inside the release"):
            publish(grouped(JANUARY), tmp_path / "out", ledger=tmp_path / "out" / "ledger.jsonl")

    def test_a_place_that_cannot_be_opened_is_told(self, tmp_path):
        with pytest.raises(ReleaseError, match=r"Cannot open the ledger .*: No such file or directory"):
            publish(grouped(JANUARY), tmp_path / "out", ledger=tmp_path / "none" / "ledger.jsonl")
        with pytest.raises(ReleaseError, match="Cannot read the ledger"):
            read_ledger(tmp_path / "none")

    def test_a_full_disk_before_the_release_is_told(self, tmp_path, monkeypatch):
        def full(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(ledger_room, "_announce", full)
        with pytest.raises(ReleaseError, match=r"Cannot write next to the ledger .*: No space left on device"):
            publish(grouped(JANUARY), tmp_path / "out", ledger=tmp_path / "ledger.jsonl")
        assert not (tmp_path / "out").exists()

    def test_a_lost_a_foreign_and_an_open_key_are_refused(self, tmp_path):
        book, key = tmp_path / "ledger.jsonl", tmp_path / "ledger.jsonl.key"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        content = key.read_bytes()
        key.unlink()
        with pytest.raises(ReleaseError, match=r"The key of the ledger, .*, is gone"):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        key.write_bytes(content)
        key.chmod(0o644)
        with pytest.raises(ReleaseError, match=r"can be read by others\. Run: chmod 600"):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        key.chmod(0o600)
        key.write_bytes(b"another")
        with pytest.raises(ReleaseError, match="is not the key that the releases of the ledger were recorded with"):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        assert not (tmp_path / "b").exists()

    @pytest.mark.parametrize("how", ["emptied", "gone"])
    def test_a_ledger_that_lost_its_releases_is_refused(self, tmp_path, how):
        book, key = tmp_path / "ledger.jsonl", tmp_path / "ledger.jsonl.key"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        whole = book.read_bytes()
        book.write_bytes(b"") if how == "emptied" else book.unlink()
        for _ in range(2):
            with pytest.raises(ReleaseError, match=r"records nothing, but its key exists: .* start again .* remove"):
                publish(grouped(FEBRUARY), tmp_path / "b", ledger=book)
        assert not (tmp_path / "b").exists()
        with pytest.raises(ReleaseError, match="records nothing, but its key exists"):
            read_ledger(book)
        book.write_bytes(whole)
        publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        book.unlink()
        key.unlink()
        publish(grouped(FEBRUARY), tmp_path / "c", ledger=book)
        assert len(read_ledger(book)) == 1

    def test_a_note_tells_that_lines_are_gone(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        with recording(book, grouped(JANUARY), tmp_path / "b"):
            pass  # nothing is recorded: as after a kill
        book.write_bytes(b"")
        message = r"The ledger has 0 release\(s\), but had 1 when the last one was started"
        with pytest.raises(ReleaseError, match=message):
            publish(grouped(FEBRUARY), tmp_path / "b", ledger=book)
        with pytest.raises(ReleaseError, match=message):
            unfinished(book)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ([f"{i}.0" for i in range(12)], range(12)),
            ([f"{i}.0" for i in range(12)], [float(i) for i in range(12)]),
            ([f"house {i} " for i in range(12)], None),
            ([f"house {i}  " for i in range(12)], [f"house {i}  " for i in range(12)]),
            ([f"ho\u0302tel {i}" for i in range(12)], [f"h\u00f4tel {i}" for i in range(12)]),
            (None, None),
        ],
        ids=["floating", "still floating", "space", "still two spaces", "accents", "plain"],
    )
    def test_lines_of_the_first_format_are_read_and_their_subjects_known_again(
        self, tmp_path, monkeypatch, first, second
    ):
        book = tmp_path / "ledger.jsonl"
        with monkeypatch.context() as patched:
            # As it was: every subject by its exact spelling.
            patched.setattr(ledger_groups, "hash_subject", lambda key, subject: hash_text(key, str(subject)))
            publish(grouped(JANUARY, ids=first, k=4), tmp_path / "a", ledger=book)
        content = json.loads(book.read_bytes()) | {"format": 1}
        # These came with formats 3 and 4.
        del content["sum"], content["members"]["series"], content["members"]["keyed"], content["chain"]
        content["sum"] = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
        book.write_text(json.dumps(content) + "\n")
        with pytest.raises(GuaranteeNotMetError, match="smallest has 3, 4 were promised"):
            publish(grouped(FEBRUARY, ids=second, k=4), tmp_path / "b", ledger=book)
        publish(grouped(JANUARY, ids=second, k=4), tmp_path / "b", ledger=book)
        assert [entry.format for entry in read_ledger(book)] == [1, 6]

    @pytest.mark.parametrize("how", ["front", "middle", "order", "twice", "unchained"])
    def test_lines_removed_moved_or_added_are_noticed(self, tmp_path, how):
        book = tmp_path / "ledger.jsonl"
        for name in "abc":
            publish(grouped(JANUARY), tmp_path / name, ledger=book)
        first, second, third = lines = book.read_bytes().splitlines(keepends=True)
        assert len(read_ledger(book)) == 3
        lines, number = {
            "front": ([second, third], 1),
            "middle": ([first, third], 2),
            "order": ([second, first, third], 1),
            "twice": ([first, second, second, third], 3),
            "unchained": ([first, without_chain(second), third], 2),
        }[how]
        book.write_bytes(b"".join(lines))
        message = f"Line {number} of the ledger does not follow from the lines before it: some were removed, added"
        with pytest.raises(ReleaseError, match=message):
            read_ledger(book)
        with pytest.raises(ReleaseError, match=message):
            publish(grouped(JANUARY), tmp_path / "d", ledger=book)
        assert not (tmp_path / "d").exists()
        assert run(["ledger", "check", str(book)]) == 2

    @pytest.mark.parametrize("how", ["a line", "part of a line", "all but one"])
    def test_lines_cut_off_the_end_are_noticed(self, tmp_path, how):
        book = tmp_path / "ledger.jsonl"
        for name in "abc":
            publish(grouped(JANUARY), tmp_path / name, ledger=book)
        lines = book.read_bytes().splitlines(keepends=True)
        left = {"a line": lines[:2], "part of a line": [*lines[:2], lines[2][:40]], "all but one": lines[:1]}[how]
        book.write_bytes(b"".join(left))
        message = rf"The ledger has {min(len(left), 2)} release\(s\), but had 3: lines were cut off its end"
        with pytest.raises(ReleaseError, match=message):
            read_ledger(book)
        with pytest.raises(ReleaseError, match=message):
            publish(grouped(JANUARY), tmp_path / "d", ledger=book)
        assert not (tmp_path / "d").exists()
        assert run(["ledger", "check", str(book)]) == 2
        book.write_bytes(b"".join(lines))
        publish(grouped(JANUARY), tmp_path / "d", ledger=book)
        assert len(read_ledger(book)) == 4

    def test_a_ledger_that_nobody_counted_is_counted_from_the_next_line_on(self, tmp_path):
        book, count = tmp_path / "ledger.jsonl", tmp_path / "ledger.jsonl.count"
        for name in "ab":
            publish(grouped(JANUARY), tmp_path / name, ledger=book)
        count.unlink()
        assert len(read_ledger(book)) == 2
        publish(grouped(JANUARY), tmp_path / "c", ledger=book)
        assert count.read_text() == "3\n"
        # A kill between the line and its count leaves one line more, which is no harm.
        count.write_text("2\n")
        assert len(read_ledger(book)) == 3
        count.write_text("many\n")
        with pytest.raises(ReleaseError, match="the number of releases in the ledger, is damaged"):
            read_ledger(book)

    def test_a_ledger_without_a_chain_is_read_and_the_next_line_covers_it(self, tmp_path, capsys):
        book = tmp_path / "ledger.jsonl"
        for name in "ab":
            publish(grouped(JANUARY), tmp_path / name, ledger=book)
        older = b"".join(without_chain(line) for line in book.read_bytes().splitlines())
        book.write_bytes(older)
        publish(grouped(JANUARY), tmp_path / "c", ledger=book)
        assert [entry.chain is None for entry in read_ledger(book)] == [True, True, False]
        assert run(["ledger", "check", str(book)]) == 0
        assert "the first 2 lines do not name the line before" in " ".join(capsys.readouterr().out.split())
        book.write_bytes(b"".join(book.read_bytes().splitlines(keepends=True)[1:]))
        with pytest.raises(ReleaseError, match="Line 2 of the ledger does not follow"):
            read_ledger(book)

    def test_two_spellings_on_record_stay_two_subjects(self):
        groups = np.array([0, 1, 2])
        members = GroupMembership(np.array([3, 5, 8], dtype=np.uint64), groups, groups + 3, k=1, p=1)
        renamed = members.renamed({3: 9, 5: 8, 8: 8, 7: 1})
        assert renamed.subjects.tolist() == [5, 8, 9]
        assert renamed.groups.tolist() == [1, 2, 0]
        assert renamed.subgroups.tolist() == [4, 5, 3]

    def test_a_changed_line_is_found_out(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        book.write_text(book.read_text().replace('"k": 3', '"k": 2', 1))
        with pytest.raises(ReleaseError, match="Line 1 of the ledger is damaged"):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)

    def test_an_unfinished_line_is_not_there_and_is_removed(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)
        whole = book.read_bytes()
        book.write_bytes(whole + whole[: len(whole) // 2])
        assert len(read_ledger(book)) == 1
        publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        assert len(read_ledger(book)) == 2


class TestCrashes:
    def test_a_refused_release_leaves_no_trace(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        with pytest.raises(GuaranteeNotMetError, match="aggregate-rule does not hold"):
            publish(grouped(JANUARY), tmp_path / "a", ledger=book, require=[AggregateRule(size=6, share=0.01)])
        assert read_ledger(book) == ()
        assert unfinished(book) == (None, False)
        assert sorted(p.name for p in tmp_path.iterdir()) == ["ledger.jsonl"]
        publish(grouped(JANUARY), tmp_path / "a", ledger=book)

    def test_a_full_disk_after_the_release_is_told_and_made_up_for(self, tmp_path, monkeypatch):
        book = tmp_path / "ledger.jsonl"
        append = ledger_room._append

        def full(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(ledger_room, "_append", full)
        with pytest.raises(
            ReleaseError, match="The release is in place, but the ledger could not be written: No space"
        ):
            publish(grouped(JANUARY, k=4), tmp_path / "a", ledger=book)
        assert verify(tmp_path / "a").holds
        left, _ = unfinished(book)
        assert left.is_in_place
        monkeypatch.setattr(ledger_room, "_append", append)
        with pytest.raises(GuaranteeNotMetError, match="Together with 1 earlier"):
            publish(grouped(FEBRUARY, k=4), tmp_path / "b", ledger=book)
        assert len(read_ledger(book)) == 1
        assert unfinished(book) == (None, False)

    def test_a_release_changed_before_it_is_recorded_is_told(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        with recording(book, grouped(JANUARY), tmp_path / "a") as record:
            release = publish(grouped(JANUARY), tmp_path / "a")
            (tmp_path / "a" / "release.json").write_text("{}")
            with pytest.raises(ReleaseError, match="was changed before the ledger could record it"):
                record(release)

    @pytest.mark.parametrize("how", ["cut", "empty", "a list", "bytes", "changed", "of the first format"])
    def test_a_damaged_note_is_told_in_one_line(self, tmp_path, how):
        book, note = tmp_path / "ledger.jsonl", tmp_path / "ledger.jsonl.pending"
        with recording(book, grouped(JANUARY), tmp_path / "a"):
            whole = note.read_bytes()
        damaged = {
            "cut": whole[:40],
            "empty": b"",
            "a list": b"[]",
            "bytes": b"\xff" + whole,
            "changed": whole.replace(b'"k": 3', b'"k": 2'),
            "of the first format": b'{"folder": "a", "before": null, "members": {}}',
        }[how]
        note.write_bytes(damaged)
        message = r"ledger.jsonl.pending', the note about a release .*, is damaged\. Check .* remove the note\.$"
        with pytest.raises(ReleaseError, match=message):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        with pytest.raises(ReleaseError, match=message):
            unfinished(book)
        assert read_ledger(book) == ()
        assert note.read_bytes() == damaged
        assert not (tmp_path / "b").exists()

    def test_a_note_that_cannot_be_read_is_told(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        book.touch()
        (tmp_path / "ledger.jsonl.pending").mkdir()
        with pytest.raises(ReleaseError, match=r"Cannot read '.*ledger.jsonl.pending': Is a directory"):
            unfinished(book)
        with pytest.raises(ReleaseError, match=r"Cannot read the ledger .*: No such file"):
            unfinished(tmp_path / "none")

    def test_a_note_of_the_first_format_is_recorded_in_it(self, tmp_path):
        book, note = tmp_path / "ledger.jsonl", tmp_path / "ledger.jsonl.pending"
        with recording(book, grouped(JANUARY), tmp_path / "a"):
            publish(grouped(JANUARY), tmp_path / "a")
        content = json.loads(note.read_bytes())
        note.write_text(json.dumps({name: content[name] for name in ("folder", "before", "members")}))
        publish(grouped(JANUARY), tmp_path / "b", ledger=book)
        assert [entry.format for entry in read_ledger(book)] == [1, 6]

    def test_a_first_release_in_place_whose_key_is_gone_is_refused(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        with recording(book, grouped(JANUARY), tmp_path / "a"):
            publish(grouped(JANUARY), tmp_path / "a")
        (tmp_path / "ledger.jsonl.key").unlink()
        with pytest.raises(ReleaseError, match=r"The key of the ledger, .*, is gone"):
            publish(grouped(JANUARY), tmp_path / "b", ledger=book)

    def test_replacing_a_release_keeps_both_on_record(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        for _ in range(2):
            publish(grouped(JANUARY), tmp_path / "a", ledger=book, overwrite=True)
        assert len(read_ledger(book)) == 2

    @pytest.mark.parametrize("moment", ["before", "between", "inside"])
    def test_a_killed_process_leaves_a_readable_ledger_and_is_told(self, tmp_path, moment):
        book = tmp_path / "ledger.jsonl"
        publish(grouped(np.arange(12) // 6, ids=[f"x{i}" for i in range(12)]), tmp_path / "first", ledger=book)
        kill_at(moment, tmp_path, book)
        assert len(read_ledger(book)) == 1
        left, is_busy = unfinished(book)
        assert not is_busy
        in_place = moment != "before"
        assert (tmp_path / "out").exists() == left.is_in_place == in_place
        publish(grouped(np.repeat([0], 12), ids=[f"y{i}" for i in range(12)]), tmp_path / "next", ledger=book)
        assert len(read_ledger(book)) == (3 if in_place else 2)
        assert unfinished(book) == (None, False)

    def test_of_two_publishers_at_once_the_later_sees_the_earlier(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        outcomes = []

        def one(name, groups):
            try:
                publish(grouped(groups, k=4), tmp_path / name, ledger=book)
                outcomes.append("published")
            except GuaranteeNotMetError:
                outcomes.append("refused")

        threads = [threading.Thread(target=one, args=(f"{i}", (JANUARY, FEBRUARY)[i % 2])) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == ["published"] * 3 + ["refused"] * 3
        assert judge_entries(read_ledger(book)).holds

    def test_whoever_looks_while_another_publishes_is_told(self, tmp_path):
        book = tmp_path / "ledger.jsonl"
        with recording(book, grouped(JANUARY), tmp_path / "a"):
            assert unfinished(book) == (None, True)


def kill_at(moment, folder, book):
    """Publish in another process that is killed, really, at a moment of its life."""
    script = f"""
import os, signal
import numpy as np
from shoal import Microaggregation, Panel
from shoal.ledger import file as ledger
from shoal.files import whole_folder as folder
from shoal.release import release_candidate

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

def half(descriptor, *rest):
    write(descriptor, b'{{"format": 1, "recorded"')
    die()

write = os.write
if {moment!r} == "before":
    folder._put_in_place = die
elif {moment!r} == "between":
    ledger._append = die
else:
    ledger.os.write = half
panel = Panel(np.random.default_rng(0).random((12, 4)), ids=[f"house {{i}}" for i in range(12)])
candidate = Microaggregation(k=3).anonymize(panel)
with ledger.recording({str(book)!r}, candidate, {str(folder / "out")!r}) as record:
    record(release_candidate(candidate, {str(folder / "out")!r}, summary="Test."))
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
