"""`shoal stream`: the whole way from lines and files to published snapshots, and what is refused."""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from read.test_typed_columns import COLUMNS as TYPES
from shoal import LDiversity, verify
from shoal.cli.app import run
from shoal.model import EventTables
from stream_processes import contents, events

SECRETS = ["hunter2", "4711", "alice"]
COLUMNS = ["--sensitive", "x", "--quasi", "age"]
METHOD = ["--l", "2", "--window", "3", "--seed", "1"]
PROGRAM = [sys.executable, "-c", "from shoal.cli.app import main; main()"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(n_snapshots=6, start=0):
    """Two events at each instant, of different values."""
    return [
        json.dumps({"time": t, "x": "ab"[i], "age": 30 + t + i, "name": "alice"})
        for t in range(start, start + n_snapshots)
        for i in range(2)
    ]


def stream(monkeypatch, arriving, *options, out="out", private="keep", method=METHOD, end="\n"):
    """Run the command on these lines, the last with this end; its exit code."""
    Path("stdin").write_text("\n".join(arriving) + (end if arriving else ""))
    kept = [] if private is None else ["--private", private]
    with Path("stdin").open() as file, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", file)
        return run(["stream", *method, *COLUMNS, *kept, "-o", out, *options])


def summary(out="out"):
    return json.loads(Path(out, "summary.json").read_text())


def refusal(capsys, *words):
    error = capsys.readouterr().err
    assert error.startswith("shoal: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert "Internal error" not in error
    for word in words:
        assert word in error
    assert not [secret for secret in SECRETS if secret in error]


def test_one_pair_of_files_per_snapshot_and_a_summary(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(4)) == 0
    names = sorted(path.name for path in (folder / "out").iterdir())
    tables = [f"{kind}-{n:08d}.parquet" for kind in ("data", "sensitive") for n in range(1, 5)]
    assert names == sorted([*tables, "summary.json", "snapshots.ndjson", "release.json"])
    assert verify("out").holds
    for n in range(1, 5):
        records, counts = (pl.read_parquet(f"out/{kind}-{n:08d}.parquet") for kind in ("data", "sensitive"))
        assert records.columns == ["time", "group", "age"]
        assert counts.columns == ["time", "group", "x", "count"]
        assert LDiversity(2).check(EventTables(records, counts, ("age",), "x")).holds
    assert summary() == {
        "method": {
            "name": "reposition",
            "parameters": {
                **{"l": 2, "window": 3, "cost": "linear", "suppression": None, "publish": "bucketised"},
                **{"plan": "rolling", "m": None, "remedy": "suppress", "tree": None, "within": 0.05},
            },
            "figures": {"first_window_optimal": True, "windows": {"optimal": 2, "limited": 0, "step": 0}},
        },
        "events": {"arrived": 8, "taken": 8, "published": 8, "suppressed": 0, "suppressed_share": 0.0, "waiting": 0},
        "snapshots": {"closed": 4, "published": 4},
        "moved": {"0": 8},
        "rejected": {"malformed": 0, "incomplete": 0, "unknown": 0, "late": 0, "duplicates": 0},
        "out_of_order": 0,
        "position": {"lines": 8},
        "finished": True,
    }
    printed = capsys.readouterr()
    assert "8 events in 4 snapshots" in printed.out
    assert printed.err == ""


def test_without_a_private_folder_this_is_said_once_and_nothing_is_kept(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(4), private=None) == 0
    assert capsys.readouterr().err == (
        "shoal: Without --private no state is kept: a stopped stream cannot be resumed.\n"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["out", "stdin"]


def test_the_state_is_for_its_owner_alone_and_not_in_the_published_folder(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    assert stat.S_IMODE((folder / "keep").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "keep" / "stream.state").stat().st_mode) == 0o600
    assert stream(monkeypatch, lines(6), private="out2/keep", out="out2") == 2
    refusal(capsys, "must not be inside the release")


@pytest.mark.parametrize("options", [[], ["--format", "csv"], ["--publish", "generalised"]])
def test_runs_that_hand_over_publish_what_one_run_publishes(monkeypatch, folder, options):
    whole = lines(9)
    assert stream(monkeypatch, whole, *options, out="one", private="one-kept") == 0
    for end in (3, 4, 9, 14):
        # Each time the input begins at its beginning: what is consumed is skipped.
        assert stream(monkeypatch, whole[:end], "--no-flush", *options) == 0
        assert summary()["position"] == {"lines": end}
        assert not summary()["finished"]
    assert stream(monkeypatch, whole, *options) == 0
    assert contents(folder / "out") == contents(folder / "one")


def test_an_input_can_go_on_after_the_last_line(monkeypatch, capsys, folder):
    whole = lines(9)
    assert stream(monkeypatch, whole, out="one", private="one-kept") == 0
    assert stream(monkeypatch, whole[:7], "--no-flush") == 0
    capsys.readouterr()
    assert stream(monkeypatch, [], "--continue", "--no-flush", "--json") == 0
    position = json.loads(capsys.readouterr().out)["position"]["lines"]
    assert position == 7
    assert stream(monkeypatch, whole[position:], "--continue") == 0
    assert contents(folder / "out") == contents(folder / "one")


def test_a_finished_stream_says_so_and_refuses_new_data(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(5)) == 0
    before = contents(folder / "out")
    capsys.readouterr()
    assert stream(monkeypatch, lines(5)) == 0
    assert capsys.readouterr().err == "shoal: This stream is finished; nothing was written.\n"
    assert stream(monkeypatch, lines(6)) == 2
    refusal(capsys, "finished", "new folders")
    assert stream(monkeypatch, lines(1), "--continue") == 2
    assert contents(folder / "out") == before


def test_without_a_seed_one_is_drawn_once_and_kept(monkeypatch, folder):
    unseeded = METHOD[:4]
    assert stream(monkeypatch, lines(4), "--no-flush", method=unseeded) == 0
    shutil.copytree("keep", "keep-then")
    found = []
    for _ in range(2):
        # Killed before it could tell its state, a stream publishes the same bytes again.
        assert stream(monkeypatch, lines(12), method=unseeded) == 0
        found.append(contents(folder / "out"))
        shutil.rmtree("keep")
        shutil.copytree("keep-then", "keep")
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--window", "4"], "window"),
        (["--l", "3"], "l"),
        (["--seed", "2"], "seed"),
        (["--every", "2"], "every"),
        (["--lateness", "2"], "lateness"),
        (["--known", "a", "--known", "b"], "known"),
        (["--id", "name"], "id"),
        (["--quasi", "name"], "quasi"),
        (["--format", "csv"], "format"),
        (["-o", "elsewhere"], "out"),
    ],
)
def test_a_restart_with_other_settings_is_refused_by_their_names(monkeypatch, capsys, options, name):
    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    capsys.readouterr()
    assert stream(monkeypatch, lines(6), *options) == 2
    refusal(capsys, f"other settings: {name}.")


def test_a_folder_that_holds_something_else_is_refused(monkeypatch, capsys, folder):
    (folder / "out").mkdir()
    (folder / "out" / "x").write_text("")
    assert stream(monkeypatch, lines(3)) == 2
    refusal(capsys, "is not empty")
    assert stream(monkeypatch, lines(3), out="stdin") == 2
    refusal(capsys, "not a folder")


def test_two_streams_cannot_share_a_state(monkeypatch, capsys, folder):
    from shoal.streams.checkpoint import locked

    (folder / "keep").mkdir(mode=0o700)
    with locked(folder / "keep"):
        assert stream(monkeypatch, lines(3)) == 2
    refusal(capsys, "Another stream is running")


def test_a_damaged_state_is_refused(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    state = folder / "keep" / "stream.state"
    state.write_bytes(state.read_bytes()[:-7])
    capsys.readouterr()
    assert stream(monkeypatch, lines(6)) == 2
    refusal(capsys, "cannot be read", "damaged")


def test_a_state_with_one_bit_changed_is_refused(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    state = folder / "keep" / "stream.state"
    content = bytearray(state.read_bytes())
    content[-100] ^= 1
    state.write_bytes(bytes(content))
    capsys.readouterr()
    assert stream(monkeypatch, lines(6)) == 2
    refusal(capsys, "cannot be read", "damaged")


def edit_nothing(facts, tables):
    pass


def edit_window(name, value):
    def edit(facts, tables):
        facts["operator"]["run"]["window"][name] = value

    return edit


def edit_arrivals(name, value):
    def edit(facts, tables):
        facts["arrivals"][name] = value

    return edit


def place_an_event_twice(facts, tables):
    facts["operator"]["run"]["window"]["placed"][0][0][0] += 1


def take_an_event_out_of_the_window(facts, tables):
    tables["window"] = tables["window"][1:]


def give_an_event_another_value(facts, tables):
    tables["window"] = tables["window"].with_columns(x=pl.lit("b"))


def make_ages_texts(facts, tables):
    tables["window"] = tables["window"].cast({"age": pl.String})


def forget_a_value(facts, tables):
    facts["operator"]["run"]["values"].pop()


def count_backwards(facts, tables):
    facts["totals"]["events"] = -1


def name_a_column_twice(facts, tables):
    facts["operator"]["columns"]["quasi"] *= 2


EDITS = [
    *(place_an_event_twice, take_an_event_out_of_the_window, give_an_event_another_value, make_ages_texts),
    *(forget_a_value, count_backwards, name_a_column_twice),
    *(edit_window("price", 2), edit_window("losses", [0.0]), edit_window("trials", []), edit_window("left", 1)),
    *(edit_window("left", 2**60), edit_window("entered", 2**60)),
    *(edit_window("homes", {}), edit_window("how", {"optimal": "often"}), edit_window("optimal_start", None)),
    *(edit_arrivals("types", ["text"]), edit_arrivals("closed", "six"), edit_arrivals("latest", 10**30)),
    *(edit_arrivals("position", ["3"]), edit_arrivals("arrived", [12, {}, 0]), edit_arrivals("kind", 0)),
]


@pytest.mark.parametrize("edit", [edit_nothing, *EDITS])
def test_a_state_that_was_edited_and_sealed_again_is_refused_at_once(monkeypatch, capsys, folder, edit):
    from shoal.streams.checkpoint import Checkpoint

    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    state = folder / "keep" / "stream.state"
    kept = Checkpoint.from_bytes(state.read_bytes())
    edit(kept.facts, kept.tables)
    state.write_bytes(kept.to_bytes())
    capsys.readouterr()
    found = stream(monkeypatch, lines(9))
    if edit is edit_nothing:
        assert found == 0
    else:
        assert found == 2
        refusal(capsys, "cannot be read", "damaged")


def test_a_published_folder_that_is_gone_is_noticed(monkeypatch, capsys, folder):
    whole = lines(9)
    assert stream(monkeypatch, whole[:-1], "--no-flush") == 0
    assert summary()["snapshots"]["published"] > 0
    shutil.rmtree(folder / "out")
    capsys.readouterr()
    assert stream(monkeypatch, whole) == 2
    refusal(capsys, "is gone")
    (folder / "out").mkdir()  # they were taken elsewhere
    assert stream(monkeypatch, whole) == 0


def test_a_line_that_is_cut_is_read_when_it_comes_whole(monkeypatch, folder):
    whole = lines(9)
    assert stream(monkeypatch, whole, out="one", private="one-kept") == 0
    assert stream(monkeypatch, [*whole[:5], whole[5][:-4]], "--no-flush", end="") == 0
    assert summary()["position"] == {"lines": 5}
    assert stream(monkeypatch, whole) == 0
    assert contents(folder / "out") == contents(folder / "one")


BAD = {
    "malformed": '{"time": 3, "x": "hunter2"',
    "incomplete": '{"time": "hunter2", "x": "a"}',
    "unknown": '{"time": 3, "x": "hunter2"}',
    "late": '{"time": 0, "x": "a", "age": 4711}',
    "duplicates": '{"time": 3, "x": "a", "name": "alice", "age": 4711}',
}


class TestBadEvents:
    """Counted by the stated rule, and the stream goes on; with --strict the first is an error."""

    @pytest.mark.parametrize("rule", BAD)
    def test_is_counted(self, monkeypatch, capsys, folder, rule):
        arriving = [line.replace("alice", f"person{n}") for n, line in enumerate(lines(6))]
        options = ["--known", "a", "--known", "b", "--id", "name"]
        assert stream(monkeypatch, arriving, *options, out="clean", private="clean-kept") == 0
        odd = BAD[rule].replace("alice", "person7")
        assert stream(monkeypatch, [*arriving[:8], odd, *arriving[8:]], *options) == 0
        assert summary()["rejected"] == {name: int(name == rule) for name in BAD}
        same = ("data-", "sensitive-")
        clean, found = contents(folder / "clean"), contents(folder / "out")
        assert {n: c for n, c in found.items() if n.startswith(same)} == {
            n: c for n, c in clean.items() if n.startswith(same)
        }
        published = b"".join(found.values())
        assert not [secret for secret in (*SECRETS, "person") if secret.encode() in published]
        capsys.readouterr()
        assert stream(monkeypatch, [*arriving[:8], odd, *arriving[8:]], *options, "--strict", out="o", private="p") == 2
        refusal(capsys, "The event at line 9 ")
        # What came before it is kept, and the stream can continue without --strict.
        assert stream(monkeypatch, [*arriving[:8], odd, *arriving[8:]], *options, out="o", private="p") == 0
        assert contents(folder / "o") == found

    def test_out_of_order_events_of_open_snapshots_are_taken(self, monkeypatch):
        arriving = lines(6)
        arriving[3], arriving[4] = arriving[4], arriving[3]
        assert stream(monkeypatch, arriving, "--lateness", "2") == 0
        assert summary()["out_of_order"] == 1
        assert summary()["events"]["taken"] == 12

    def test_snapshots_of_a_length(self, monkeypatch):
        assert stream(monkeypatch, lines(6), "--every", "3") == 0
        assert summary()["snapshots"]["published"] == 2

    def test_a_stream_without_any_good_event_publishes_nothing(self, monkeypatch, folder):
        assert stream(monkeypatch, ["{", "", "[]"]) == 0
        assert sorted(path.name for path in (folder / "out").iterdir()) == ["snapshots.ndjson", "summary.json"]
        assert summary()["rejected"]["malformed"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--known", "a"], "l=2 needs at least 2 different sensitive values, 1 are known"),
        (["--known", "a", "--known-file", "values"], "--known or --known-file"),
        (["--known-file", "nowhere"], "Cannot read 'nowhere'"),
        (["--every", "soon"], "every: give a positive length"),
        (["--every", "1h"], "every: the data has no timestamps"),
        (["--lateness", "-1"], "lateness"),
        (["--l", "1"], "l must be"),
        (["--window", "0"], "window must be"),
        (["--publish", "aloud"], "--publish"),
        (["--format", "xlsx"], "format must be parquet or csv"),
        (["--quasi", "x"], "two roles"),
        (["--quasi", "group"], "Column 'group' clashes with the column of that name"),
        (["--follow"], "--follow is for a folder"),
        (["--speed", "9"], "Unknown option --speed"),
    ],
)
def test_a_bad_option_is_refused_in_one_line(monkeypatch, capsys, folder, options, words):
    (folder / "values").write_text("a\nb\n")
    assert stream(monkeypatch, lines(3), *options) == 2
    refusal(capsys, words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "No such folder"),
        (["stdin"], "shoal stream - <"),
        (["source", "--continue", "--private", "keep"], "for standard input"),
        (["-", "--continue"], "need --private"),
        (["-", "--no-flush"], "need --private"),
    ],
)
def test_a_bad_source_is_refused_in_one_line(monkeypatch, capsys, folder, arguments, words):
    (folder / "source").mkdir()
    (folder / "stdin").write_text("")
    with Path("stdin").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert run(["stream", *arguments, *METHOD, *COLUMNS]) == 2
    refusal(capsys, words)


def test_known_values_can_stand_in_a_file(monkeypatch, folder):
    (folder / "values").write_text("a\n\nb \n")
    assert stream(monkeypatch, [*lines(4), '{"time": 9, "x": "c"}'], "--known-file", "values") == 0
    assert summary()["rejected"]["unknown"] == 1


def write_files(source, kind, *numbers, rows=None):
    source.mkdir(exist_ok=True)
    for number in numbers:
        table = pl.DataFrame([json.loads(line) for line in rows or lines(2, start=2 * number)])
        path = source / f"part-{number}.{kind}.partial"
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
        path.rename(path.with_suffix(""))


class TestFolder:
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_runs_over_a_growing_folder_publish_what_one_run_publishes(self, folder, kind):
        source = folder / "source"
        options = [*METHOD, *COLUMNS]
        for number in range(4):
            write_files(source, kind, number)
            (source / f"part-{number + 1}.{kind}.tmp").write_text("not yet")
            (source / f".part-{number + 1}.{kind}").write_text("hidden")
            more = ["--no-flush"] if number < 3 else []
            assert run(["stream", "source", *options, "-o", "out", "--private", "keep", *more]) == 0
            assert summary()["position"] == {"files": number + 1, "rows": 4}
        assert run(["stream", "source", *options, "-o", "one"]) == 0
        assert contents(folder / "out") == contents(folder / "one")
        assert run(["stream", "source", *options, "-o", "out", "--private", "keep"]) == 0
        write_files(source, kind, 7)
        assert run(["stream", "source", *options, "-o", "out", "--private", "keep"]) == 2

    def test_the_same_events_from_lines_and_from_files_are_published_alike(self, monkeypatch, folder):
        write_files(folder / "source", "csv", 0, 1, 2)
        assert run(["stream", "source", *METHOD, *COLUMNS, "-o", "files"]) == 0
        assert stream(monkeypatch, lines(6)) == 0
        files, found = contents(folder / "files"), contents(folder / "out")
        # How much of the input is consumed is said in lines or in files.
        assert files.pop("summary.json") != found.pop("summary.json")
        assert files.pop("release.json") != found.pop("release.json")
        assert files == found

    def test_rows_with_too_many_entries_are_malformed(self, folder):
        (folder / "source").mkdir()
        rows = ["time,x,age", "0,a,30", "0,b,31,4711", "0,b,32", "7", "1,a,", "1,b,33", "", "9"]
        (folder / "source" / "a.csv").write_text("\n".join(rows))
        assert run(["stream", "source", *METHOD, *COLUMNS, "-o", "out"]) == 0
        assert summary()["rejected"]["malformed"] == 3
        assert summary()["events"]["taken"] == 4
        assert summary()["position"] == {"files": 1, "rows": 7}
        assert pl.read_parquet("out/data-00000001.parquet")["age"].sort().to_list() == [30, 32]

    @pytest.mark.parametrize("wrong", ["date", "text"])
    def test_damaged_columns_of_parquet(self, folder, capsys, wrong):
        """Dates that there are none of cost their event; text that is not UTF-8 is a damaged file."""
        (folder / "source").mkdir()
        born = pa.array([0, 1, 2**31 - 1, 3, 4], pa.int32()).view(pa.date32())
        text = pa.array([b"a", b"b", b"\xff\xfe", b"b", b"a"]).view(pa.string())
        columns = {"time": [0, 0, 0, 0, 0], "x": ["a", "b", "a", "b", "a"], "age": born if wrong == "date" else text}
        pq.write_table(pa.table(columns), folder / "source" / "a.parquet")
        code = run(["stream", "source", *METHOD, *COLUMNS, "-o", "out"])
        if wrong == "date":
            assert code == 0
            assert summary()["rejected"]["malformed"] == 1
            assert summary()["events"]["taken"] == 4
        else:
            assert code == 2
            assert "File 1 in 'source' cannot be read: it is damaged" in capsys.readouterr().err

    @pytest.mark.parametrize("kind", ["durations", "bytes", "lists", "records"])
    def test_parquet_with_columns_that_events_cannot_have(self, folder, capsys, kind):
        (folder / "source").mkdir()
        columns = {"time": [0] * 6, "x": [*"ababab"], "age": TYPES[kind]}
        if kind == "durations":
            columns["age"] = pa.array(range(6), pa.duration("s"))
        pq.write_table(pa.table(columns), folder / "source" / "a.parquet")
        assert run(["stream", "source", *METHOD, *COLUMNS, "-o", "out"]) == 2
        assert "Column 'age' must hold text, numbers, dates or times in every Parquet file." in capsys.readouterr().err

    def test_a_file_that_comes_too_late_is_told(self, folder, capsys):
        write_files(folder / "source", "csv", 1, 2)
        options = ["stream", "source", *METHOD, *COLUMNS, "-o", "out", "--private", "keep", "--no-flush"]
        assert run(options) == 0
        write_files(folder / "source", "csv", 0)
        assert run(options) == 0
        assert "1 files have names that sort before one already read" in capsys.readouterr().err
        assert summary()["events"]["arrived"] == 8

    def test_what_cannot_be_read_is_refused_without_naming_the_file(self, folder, capsys):
        options = ["stream", "source", *METHOD, *COLUMNS, "-o", "out", "--private", "keep"]
        write_files(folder / "source", "csv", 0)
        (folder / "source" / "part-alice.csv").write_text("time,x\n1,a\n")
        assert run(options) == 2
        refusal(capsys, "no column 'age'")
        (folder / "source" / "part-alice.csv").write_bytes(b"time,x,age\n1,\xff,2\n")
        assert run(options) == 2
        refusal(capsys, "File 2 in 'source' cannot be read")
        (folder / "source" / "part-alice.csv").unlink()
        (folder / "source" / "part-2.parquet").write_bytes(b"")
        assert run(options) == 2
        refusal(capsys, "CSV and Parquet")

    def test_a_file_that_lost_rows_is_refused(self, folder, capsys):
        options = ["stream", "source", *METHOD, *COLUMNS, "-o", "out", "--private", "keep", "--no-flush"]
        write_files(folder / "source", "csv", 0)
        assert run(options) == 0
        (folder / "source" / "part-0.csv").write_text("time,x,age\n")
        assert run(options) == 2
        refusal(capsys, "fewer rows than were read")


class TestStopping:
    """Signals end a real process where its state is whole."""

    def started(self, *arguments, **options):
        kept = [*METHOD, *COLUMNS, "-o", "out", "--private", "keep"]
        return subprocess.Popen([*PROGRAM, "stream", *arguments, *kept], stdout=subprocess.PIPE, text=True, **options)

    def wait_for(self, number, process):
        until = time.monotonic() + 120
        while not Path(f"out/data-{number:08d}.parquet").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)

    @pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
    def test_a_followed_folder(self, folder, which):
        source = folder / "source"
        write_files(source, "csv", 0, 1, 2)
        process = self.started("source", "--follow")
        self.wait_for(2, process)
        write_files(source, "csv", 3)
        self.wait_for(4, process)
        process.send_signal(which)
        process.communicate(timeout=60)
        assert process.returncode == 0
        assert not summary()["finished"]
        assert summary()["position"] == {"files": 4, "rows": 4}
        assert run(["stream", "source", *METHOD, *COLUMNS, "-o", "out", "--private", "keep"]) == 0
        assert run(["stream", "source", *METHOD, *COLUMNS, "-o", "one"]) == 0
        assert contents(folder / "out") == contents(folder / "one")

    def test_a_pipe_that_stays_open(self, monkeypatch, folder):
        whole = lines(8)
        process = self.started(stdin=subprocess.PIPE)
        process.stdin.write("\n".join(whole[:11]) + '\n{"half a li')
        process.stdin.flush()
        self.wait_for(2, process)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        process.stdin.close()
        process.stdout.close()
        assert process.returncode == 0
        assert summary()["position"] == {"lines": 11}
        assert stream(monkeypatch, whole) == 0
        assert stream(monkeypatch, whole, out="one", private="one-kept") == 0
        assert contents(folder / "out") == contents(folder / "one")


def test_what_arrives_is_published_while_the_input_stays_open(folder):
    """Delay is at most the window: no block is waited for."""
    receiver, sender = os.pipe()
    outcome = []

    def work():
        from shoal.methods import Reposition
        from shoal.process import StreamColumns, stream_events

        method = Reposition(l=2, window=3, seed=1)
        outcome.append(stream_events(receiver, method, folder / "out", StreamColumns("time", "x", ("age",))))

    thread = threading.Thread(target=work)
    thread.start()
    os.write(sender, ("\n".join(lines(5)) + "\n").encode())
    # The fifth instant closes the fourth, and three are held back.
    until = time.monotonic() + 120
    while not (folder / "out" / "data-00000001.parquet").exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    os.close(sender)
    thread.join()
    os.close(receiver)
    assert outcome[0]["snapshots"]["published"] == 5


def test_the_books_balance_on_messy_events(monkeypatch, folder):
    arriving = events(40, 10, seed=3).splitlines()
    Path("stdin").write_text("\n".join(arriving))
    with Path("stdin").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        options = ["--l", "3", "--window", "4", "--sensitive", "diagnosis", "--quasi", "age", "--id", "id"]
        assert run(["stream", *options, "-o", "out", "--format", "csv"]) == 0
    found = summary()
    counts = found["events"]
    assert counts["arrived"] == sum(bool(line) for line in arriving)
    assert (
        counts["taken"]
        == counts["arrived"] - sum(found["rejected"].values())
        == (counts["published"] + counts["suppressed"])
    )
    assert sum(len(pl.read_csv(path)) for path in (folder / "out").glob("data-*.csv")) == counts["published"]


def test_a_stream_that_suppresses_much_warns_and_exits_1_and_what_is_published_stays(monkeypatch, capsys, folder):
    arriving = [json.dumps({"time": t, "x": x, "age": 30}) for t in range(6) for x in "aaaab"]
    assert stream(monkeypatch, arriving, method=["--l", "2", "--window", "1"]) == 1
    shown = capsys.readouterr()
    assert "suppressed    18 of 30 events (60 %)" in shown.out
    assert "Loss by value: no. 1 of the originals 80 % -> 50 %, no. 1 of the release; no. 2" in shown.err
    assert "18 of 30 events (60 %) were suppressed, so figures taken from the release may differ much" in shown.err
    assert "more than the limit of 25 %. A stream is judged at the end of a run" in " ".join(shown.err.split())
    assert len(list((folder / "out").glob("data-*"))) == 6
    assert summary()["events"]["suppressed_share"] == 0.6
    assert "values" not in json.dumps(summary())  # by value it stays with the publisher
    assert stream(monkeypatch, arriving, "--suppression-limit", "2", out="other", private=None) == 2


def test_the_loss_by_value_of_a_stream_goes_on_after_a_stop(monkeypatch, capsys):
    arriving = [json.dumps({"time": t, "x": x, "age": 30}) for t in range(6) for x in "aaaab"]
    options = ("--no-flush", "--suppression-limit", "1")
    assert stream(monkeypatch, arriving[:17], *options, method=["--l", "2", "--window", "1"]) == 0
    capsys.readouterr()
    assert stream(monkeypatch, arriving, "--suppression-limit", "1", method=["--l", "2", "--window", "1"]) == 0
    assert "Loss by value: no. 1 of the originals 80 % -> 50 %" in capsys.readouterr().err


def test_what_no_window_could_save_is_said_of_a_whole_stream_only(monkeypatch, capsys):
    # What comes later may save with a wider window what is lost by now: here as many b as there were a.
    arriving = [json.dumps({"time": t, "x": x, "age": 30}) for t in range(6) for x in ("aaaab" if t < 3 else "abbbb")]
    method, allowed = ["--l", "2", "--window", "1"], ("--suppression-limit", "1")
    assert stream(monkeypatch, arriving[:16], "--no-flush", *allowed, method=method) == 0
    told = capsys.readouterr().err
    assert "Loss by value so far: no. 1 of the originals 80 % -> 50 %" in told
    assert "No window suppresses less" not in told
    assert "This covers the events that have left the window; the stream can continue." in told
    assert stream(monkeypatch, arriving, *allowed, method=method) == 0
    told = capsys.readouterr().err
    assert "at l = 2 all events in one window need 0 %" in told
    assert "so far" not in told
    assert "the stream can continue" not in told
    assert stream(monkeypatch, arriving[:15], *allowed, out="short", private=None, method=method) == 0
    assert "No window suppresses less at l = 2" in capsys.readouterr().err


def test_a_stream_that_loses_little_is_not_warned_of(monkeypatch, capsys):
    assert stream(monkeypatch, lines()) == 0
    told = capsys.readouterr().err
    assert "Loss by value" not in told
    assert "suppressed" not in told


def test_subjects_who_come_back_show_the_same_values_across_stops(monkeypatch, capsys, folder):
    chance = random.Random(3)
    people = {f"name-{n}": chance.choice("abcd") for n in range(40)}
    arriving = [
        json.dumps({"time": day, "person": name, "age": 30, "x": people[name]})
        for day in range(12)
        for name in chance.sample(sorted(people), 24)
    ]
    arriving.insert(30, arriving[29].replace("name-", " name-"))  # twice in one snapshot
    arriving.insert(60, json.dumps({"time": 2, "age": 30, "x": "a"}))  # nobody's
    options = ["--subject", "person", "--m", "3", "--suppression-limit", "1"]
    assert stream(monkeypatch, arriving, *options, out="whole", private="keep0") == 0
    shown = capsys.readouterr()
    assert "repeated      1 events beyond the first" in shown.out
    assert "1 repeated" in shown.out
    for end in (100, 200):
        assert stream(monkeypatch, arriving[:end], *options, "--no-flush") == 0
    assert stream(monkeypatch, arriving, *options) == 0
    assert contents(Path("out")) == contents(Path("whole"))
    assert summary()["rejected"]["incomplete"] == 1
    found = verify("out")
    assert found.not_judged == ("m-invariance",)
    assert not found.findings
    said = json.loads(Path("out/release.json").read_text())
    assert [part["verdict"]["holds"] for part in said["guarantees"]] == [True, True]
    assert said["columns"]["withheld"] == 1
    assert said["method"]["figures"]["invariance"]["repeated"] == 1
    assert not any(b"name-" in content for content in contents(Path("out")).values())


def test_m_without_a_subject_is_refused_before_anything_is_read(monkeypatch, capsys, folder):
    assert stream(monkeypatch, lines(4), "--m", "3") == 2
    refusal(capsys, "--subject")
    assert not Path("out").exists()
    assert run(["stream", ".", "--engine", "spark", "--key", "k", *METHOD, *COLUMNS, "--m", "3", "--subject", "p",
                "--private", "keep", "-o", "out"]) == 2  # fmt: skip
    refusal(capsys, "--engine local")


@pytest.mark.parametrize("frame", [{"other": ["1"]}, {"time": [7], "x": [1], "age": [31]}], ids=["names", "types"])
def test_a_log_with_other_columns_is_refused_though_its_sums_fit(monkeypatch, capsys, frame):
    from shoal.streams.blocks import Block, Position
    from shoal.streams.checkpoint import BlockLog, read_checkpoint

    assert stream(monkeypatch, lines(6), "--no-flush") == 0
    before = contents(Path("out"))
    log = BlockLog(Path("keep"), read_checkpoint(Path("keep")).number)
    log.append(Block(pl.DataFrame(frame), np.zeros(1, dtype=bool), np.array([13]), Position(12), Position(13)))
    log.close()
    capsys.readouterr()
    assert stream(monkeypatch, lines(8)) == 2
    refusal(capsys, "The state in 'keep' cannot be read: it is damaged")
    assert contents(Path("out")) == before
