"""Reposition on Structured Streaming: every key as `shoal stream` would publish it alone, through crashes as well."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

from shoal import LDiversity, Reposition, verify
from shoal.cli.app import run
from shoal.engines.structured_streaming import reposition_stream
from shoal.engines.structured_streaming.keys import folder_name, key_seed
from shoal.engines.structured_streaming.source import arriving_files
from shoal.errors import InputError, ParameterError, ReleaseError
from shoal.model import EventTables
from shoal.process import StreamColumns, stream_events
from shoal.read.durations import parse_duration
from shoal.streams import Arrivals, RepositionStream
from shoal.streams.blocks import Block, Position
from stream_processes import SOAK, events

PATIENCE = 400
"""Seconds after which a process is taken to hang: on a busy machine Spark alone needs a minute to start."""

METHOD = Reposition(l=2, window=3, seed=5)
COLUMNS = {"time": "time", "sensitive": "diagnosis", "quasi": ["age"], "id": "id"}
WANTED = ["time", "age", "diagnosis", "id", "region"]
OPTIONS = ["--l", "2", "--window", "3", "--seed", "5", "--lateness", "2", "--id", "id"]
OPTIONS += ["--sensitive", "diagnosis", "--quasi", "age"]
REGIONS = ["east", "north", "south"]


def table(n_snapshots=16, seed=3):
    """Events with late ones, duplicates and ones out of order; some have no region."""
    return pl.DataFrame([json.loads(line) for line in events(n_snapshots, 12, seed).splitlines() if line[:2] == '{"'])


def write_files(folder, frame, n_files=6, kind="parquet", start=0):
    """The events in some files, which appear one after another."""
    folder.mkdir(exist_ok=True)
    size = -(-len(frame) // n_files)
    for number in range(n_files):
        path = folder / f"part-{start + number:03d}.{kind}"
        part = frame[number * size : (number + 1) * size]
        {"parquet": part.write_parquet, "csv": part.write_csv, "json": part.write_ndjson}[kind](path)
        moment = 1_700_000_000 + 10 * (start + number)
        os.utime(path, (moment, moment))
    return folder


def stream(spark, source, place, *, files_per_batch=None, method=METHOD, **settings):
    """The stream of a folder from Python."""
    if files_per_batch is None:
        found = arriving_files(spark, source, WANTED)
        frame, order = found.frame, found.order
    else:
        reader = spark.readStream.schema(spark.read.parquet(str(source)).schema)
        frame = reader.option("maxFilesPerTrigger", files_per_batch).parquet(str(source))
        frame = frame.select("*", "_metadata.file_name", "_metadata.file_block_start")
        order = ["file_name", "file_block_start"]
    settings = {**COLUMNS, "lateness": "2", "key": "region", "order": order, "private": place / "keep"} | settings
    return reposition_stream(frame, method, place / "out", **settings)


def files_of(folder):
    """Every file below a folder, hidden ones with them, by its path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def by_hand(frame):
    """What the operator publishes for these events alone, with everything that arrives at once."""
    seed = key_seed(METHOD.seed, frame["region"][0])
    arrivals = Arrivals(**COLUMNS, lateness=parse_duration("2", "lateness"))
    operator = RepositionStream(Reposition(l=2, window=3, seed=seed), time="time", sensitive="diagnosis", quasi=["age"])
    numbers = pl.int_range(1, len(frame) + 1, eager=True).to_numpy()
    malformed = numbers < 0
    whole = Block(frame.select(arrivals.columns), malformed, numbers, Position(), Position(len(frame)), untyped=False)
    published = [out for snapshot in arrivals.take(whole) for out in operator.push(snapshot)]
    published += [out for snapshot in arrivals.finish() for out in operator.push(snapshot)]
    return arrivals.arrived, published + operator.flush()


def uncertified(files):
    """The tables alone: the gate comes after the engine, and how much of the input is consumed is counted otherwise."""
    return {name: content for name, content in files.items() if name.endswith((".parquet", ".csv"))}


def alone(frame, folder, kind, key):
    """The files of `shoal stream` on one machine for the events of one key."""
    write_files(folder / "source", frame, 1, kind)
    method = Reposition(l=2, window=3, seed=key_seed(5, key))
    columns = StreamColumns("time", "diagnosis", ("age",), "id")
    stream_events(folder / "source", method, folder / "out", columns, lateness="2", private=folder / "keep")
    return uncertified(files_of(folder / "out"))


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory):
    """A source of some files and what is published of it in one batch."""
    place = tmp_path_factory.mktemp("undisturbed")
    write_files(place / "source", table())
    summary = stream(spark, place / "source", place)
    return place, summary


def test_every_key_is_published_as_the_operator_alone_publishes_it(undisturbed):
    place, summary = undisturbed
    assert sorted(path.name for path in (place / "out").iterdir()) == [
        *(f"region={region}" for region in REGIONS),
        "summary.json",
    ]
    counted = {"arrived": 0, "late": 0, "duplicates": 0, "out_of_order": 0, "snapshots": 0}
    for region in REGIONS:
        arrived, expected = by_hand(table().filter(pl.col("region") == region))
        folder = place / "out" / f"region={region}"
        names = [f"{part}-{n + 1:08d}.parquet" for n in range(len(expected)) for part in ("data", "sensitive")]
        assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "summary.json"])
        for n, snapshot in enumerate(expected):
            records, counts = (pl.read_parquet(folder / f"{p}-{n + 1:08d}.parquet") for p in ("data", "sensitive"))
            assert records.equals(snapshot.tables.records)
            assert counts.equals(snapshot.tables.counts)
            assert records.is_empty() or LDiversity(2).check(EventTables(records, counts, ("age",), "diagnosis")).holds
        counted["arrived"] += arrived.events
        counted["late"] += arrived.rejected["late"]
        counted["duplicates"] += arrived.rejected["duplicates"]
        counted["out_of_order"] += arrived.out_of_order
        counted["snapshots"] += len(expected)
    lost = table()["region"].null_count()
    # The rules have something to do, or the comparison has shown nothing.
    assert all(counted.values())
    assert lost
    assert summary["rejected"] | {"late": counted["late"], "duplicates": counted["duplicates"]} == summary["rejected"]
    assert summary["rejected"]["without_key"] == lost
    assert summary["events"]["arrived"] == len(table()) == counted["arrived"] + lost
    assert summary["out_of_order"] == counted["out_of_order"]
    assert summary["snapshots"]["published"] == counted["snapshots"]
    assert summary["events"]["waiting"] == 0
    assert summary["finished"]
    assert json.loads((place / "out" / "summary.json").read_text()) == summary


def test_the_files_are_those_of_shoal_stream_for_each_key_byte_for_byte(undisturbed, tmp_path):
    place, _ = undisturbed
    for region in REGIONS:
        (tmp_path / region).mkdir()
        expected = alone(table().filter(pl.col("region") == region), tmp_path / region, "parquet", region)
        found = files_of(place / "out" / f"region={region}")
        assert uncertified(found) == expected


def test_what_waits_is_for_its_owner_alone_and_forgotten_at_the_end(undisturbed):
    place, _ = undisturbed
    assert (place / "keep").stat().st_mode & 0o077 == 0
    states = sorted((place / "keep" / "keys").rglob("state-*"))
    assert len(states) == 1 + len(REGIONS)
    assert not [path for path in states if path.stat().st_mode & 0o077]


@pytest.mark.soak  # as does whatever goes on after a failure below
def test_where_batches_end_makes_no_difference(spark, undisturbed, tmp_path):
    place, _ = undisturbed
    stream(spark, place / "source", tmp_path, files_per_batch=1)
    assert files_of(tmp_path / "out") == files_of(place / "out")


def test_a_batch_that_was_done_but_not_committed_is_done_again_to_the_same_bytes(
    spark, undisturbed, tmp_path, monkeypatch
):
    place, _ = undisturbed
    for n_heard in (0, 2) if SOAK else (2,):
        heard = []

        def fail(self, rows, heard=heard, n_heard=n_heard):
            heard.append(rows)
            if len(heard) > n_heard:
                raise OSError("the driver dies when the workers are done")

        with monkeypatch.context() as patch:
            patch.setattr("shoal.engines.structured_streaming.run.Run._hear", fail)
            with pytest.raises(InputError, match=r"could not continue the stream: OSError\. What is published stays"):
                stream(spark, place / "source", tmp_path, files_per_batch=1)
        numbers = {int(path.name[-12:]) for path in (tmp_path / "keep" / "keys").rglob("state-*")}
        assert max(numbers) == n_heard  # ahead of what Spark has committed
    stream(spark, place / "source", tmp_path, files_per_batch=1)
    assert files_of(tmp_path / "out") == files_of(place / "out")


DRIVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from engines.sessions import CONF
from engines.test_structured_streaming import stream
from shoal.engines.session import session
stream(session("local[1]", CONF), Path(sys.argv[2]), Path(sys.argv[3]), files_per_batch=1)
"""


def test_a_driver_killed_in_the_midst_goes_on_to_the_same_bytes(spark, undisturbed, tmp_path):
    source, expected = undisturbed[0] / "source", files_of(undisturbed[0] / "out")
    out, temporary = tmp_path / "out", tmp_path / "temporary"
    temporary.mkdir()
    arguments = [sys.executable, "-c", DRIVER, str(Path(__file__).parents[1]), str(source), str(tmp_path)]
    process = subprocess.Popen(arguments, env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE
    while len(list(out.glob("*/data-*"))) < 7:
        assert process.poll() is None, "the driver ended before it could be killed"
        assert time.monotonic() < until, "the driver hangs"
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = {name: content for name, content in files_of(out).items() if name.endswith(".parquet")}
    assert 7 <= sum("/data-" in name for name in before) < sum("/data-" in name for name in expected)
    time.sleep(1)  # its workers may end a moment later
    stream(spark, source, tmp_path, files_per_batch=1)
    assert files_of(out) == expected
    # Nothing was published twice: what was there is there, the same.
    whole = {name: content for name, content in before.items() if "partial" not in name}
    assert whole
    assert whole.items() <= expected.items()


def test_a_stream_that_follows_takes_new_files_until_it_is_told_to_end(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "source", table()[:100], 1)
    summary = tmp_path / "out" / "summary.json"

    def arrived():
        return json.loads(summary.read_text())["events"]["arrived"] if summary.exists() else 0

    def somebody():
        until = time.monotonic() + PATIENCE
        while arrived() < 100 and time.monotonic() < until:
            time.sleep(0.05)
        write_files(tmp_path / "source", table()[100:150], 1, start=1)
        while arrived() < 150 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    other = threading.Thread(target=somebody)
    other.start()
    common = ["stream", "source", "--engine", "spark", "--key", "region", *OPTIONS, "--private", "keep"]
    assert run([*common, "--follow"]) == 0
    other.join()
    assert arrived() == 150
    assert json.loads(summary.read_text())["events"]["waiting"] > 0
    assert not json.loads(summary.read_text())["finished"]


@pytest.mark.parametrize("kind", ["csv", pytest.param("json", marks=pytest.mark.soak)])
def test_text_from_the_command_line_is_published_as_without_spark(spark, tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    frame = table(8)
    source = write_files(tmp_path / "source", frame, 2, kind)
    with (source / f"part-001.{kind}").open("a") as file:
        file.write("1,2,3,hunter2,5,6,7,8,9\n" if kind == "csv" else "{oops\n")
    common = ["stream", "source", "--engine", "spark", "--key", "region", *OPTIONS, "--master", "local[2]"]
    assert run([*common, "--private", "keep", "-o", "out", "--json"]) == 0
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert printed.err == ""
    assert summary["rejected"]["malformed"] == 1
    assert summary["rejected"]["without_key"] == frame["region"].null_count()
    assert summary["key"] == {"column": "region", "values": 3}
    for region in REGIONS:
        (tmp_path / region).mkdir()
        expected = alone(frame.filter(pl.col("region") == region), tmp_path / region, "csv", region)
        found = files_of(tmp_path / "out" / f"region={region}")
        assert uncertified(found) == expected


def test_a_stream_goes_on_with_new_files_and_is_finished_once(spark, undisturbed, tmp_path, monkeypatch, capsys):
    place, whole = undisturbed
    monkeypatch.chdir(tmp_path)
    size = len(table()) // 2
    write_files(tmp_path / "source", table()[:size], 2)
    common = ["stream", "source", "--engine", "spark", "--key", "region", *OPTIONS, "--private", "keep"]
    assert run([*common, "--no-flush"]) == 0
    assert "waiting" in capsys.readouterr().out
    write_files(tmp_path / "source", table()[size:], 2, start=2)
    assert run([*common, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": "out", **whole}
    found = files_of(tmp_path / "out")
    assert uncertified(found) == uncertified(files_of(place / "out"))
    for region in REGIONS:
        assert verify(tmp_path / "out" / f"region={region}").holds
    assert run(common) == 0
    assert files_of(tmp_path / "out") == found
    assert "This stream is finished; nothing was written." in capsys.readouterr().err
    write_files(tmp_path / "source", table()[:5], 1, start=4)
    assert run(common) == 2
    assert "This stream is finished, so nothing can be added." in capsys.readouterr().err
    assert run([*common, "--lateness", "3"]) == 2
    assert "started with other settings: lateness." in capsys.readouterr().err
    found = files_of(tmp_path / "out")
    assert uncertified(found) == uncertified(files_of(place / "out"))
    for region in REGIONS:
        assert verify(tmp_path / "out" / f"region={region}").holds


def test_a_snapshot_is_never_replaced_by_another(spark, undisturbed, tmp_path, monkeypatch):
    place, _ = undisturbed
    with monkeypatch.context() as patch:
        patch.setattr("shoal.engines.structured_streaming.run.Run._hear", lambda self, rows: 1 / 0)
        with pytest.raises(InputError, match="ZeroDivisionError"):
            stream(spark, place / "source", tmp_path, flush=False)
    published = tmp_path / "out" / "region=east" / "data-00000001.parquet"
    published.write_bytes(published.read_bytes()[:-1])
    with pytest.raises(ReleaseError, match="position 0 was published before and would differ now"):
        stream(spark, place / "source", tmp_path, flush=False)


def test_a_state_ahead_of_sparks_checkpoint_is_refused(spark, undisturbed, tmp_path):
    place, _ = undisturbed
    stream(spark, place / "source", tmp_path, files_per_batch=2, flush=False)
    (tmp_path / "keep" / "spark").rename(tmp_path / "elsewhere")
    with pytest.raises(ReleaseError, match="ahead of Spark's checkpoint"):
        stream(spark, place / "source", tmp_path, files_per_batch=2)


def test_strict_names_the_rule_and_no_value(spark, tmp_path):
    frame = pl.DataFrame({"time": [1, 9, 1], "age": [1, 2, 4711], "diagnosis": ["a", "b", "hunter2"], "id": [1, 2, 3]})
    source = write_files(tmp_path / "source", frame.with_columns(region=pl.lit("alice")), 1)
    with pytest.raises(InputError) as told:
        stream(spark, source, tmp_path, strict=True)
    assert (
        str(told.value)
        == "The event at line 3 is late: its snapshot is closed. Omit --strict to count and skip such events."
    )
    assert not list(tmp_path.glob("out/*/data-*"))
    lost = write_files(tmp_path / "lost", frame.with_columns(region=pl.lit(None, pl.String)), 1)
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match=r"3 events cannot be read or have no 'region'\. Omit --strict"):
        stream(spark, lost, tmp_path / "other", strict=True)


def test_a_damaged_file_is_told_by_sparks_name_for_it_and_what_was_read_stays_out_of_messages(spark, tmp_path):
    frame = pl.DataFrame({"time": [1, 2], "age": [4711, 2], "diagnosis": ["hunter2", "b"], "id": [1, 2]})
    source = write_files(tmp_path / "source", frame.with_columns(region=pl.lit("alice")), 1)
    (source / "part-001.parquet").write_bytes((source / "part-000.parquet").read_bytes()[:-200] + b"hunter2")
    with pytest.raises(InputError, match=r"(cannot read|could not continue)") as told:
        stream(spark, source, tmp_path)
    assert told.value.__cause__ is None
    assert not [secret for secret in ("hunter2", "4711", "alice", "Exception:") if secret in str(told.value)]


def test_what_is_impossible_is_refused_before_anything_is_written(spark, undisturbed, tmp_path):
    source = undisturbed[0] / "source"
    for error, words, settings in [
        (ParameterError, "cannot be the time, the sensitive value or the id", {"key": "id"}),
        (InputError, "There is no column 'nowhere' among the", {"key": "nowhere"}),
        (InputError, "There is no column 'offset' among the", {"order": ["offset"]}),
        (ParameterError, "needs at least 2 different sensitive values, 1 are known", {"known": ["a"]}),
        (ReleaseError, "must not be inside the release", {"private": tmp_path / "out" / "keep"}),
    ]:
        with pytest.raises(error, match=words):
            stream(spark, source, tmp_path, **settings)
    with pytest.raises(ParameterError, match="must be a streaming frame"):
        reposition_stream(
            spark.range(1), METHOD, tmp_path / "out", private=tmp_path / "keep", key="region", order=[], **COLUMNS
        )
    (tmp_path / "open").mkdir(mode=0o755)
    with pytest.raises(ReleaseError, match=r"can be read by others\. Run: chmod 700"):
        stream(spark, source, tmp_path, private=tmp_path / "open")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--engine", "spark"], "--engine spark needs --key"),
        (["--engine", "spark", "--key", "region"], "--engine spark needs --private"),
        (["--engine", "flink"], "--engine must be local or spark, got 'flink'."),
        (["--key", "region"], "--key applies to Spark. Add --engine spark"),
        (["--engine", "spark", "--key", "r", "--private", "p", "--conf", "memory=1"], "--conf takes a Spark setting"),
        (["--engine", "spark", "--key", "r", "--private", "p", "--continue"], "On Spark, a stream is a folder of"),
    ],
)
def test_options_that_do_not_go_together_are_told(tmp_path, monkeypatch, capsys, options, words):
    monkeypatch.chdir(tmp_path)
    assert run(["stream", "source", "--sensitive", "x", "--l", "2", "--window", "2", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_session_that_runs_is_used_and_another_is_refused(spark):
    from shoal.engines.session import opened, session

    with opened("local[2]") as found:
        assert found is spark
    assert spark.range(3).count() == 3
    with pytest.raises(
        ParameterError, match=r"master local\[2\] already runs in this process, but local\[4\] was requested"
    ):
        opened("local[4]").__enter__()
    with pytest.raises(ParameterError, match=r"other settings than requested: spark\.x\. Stop it"):
        opened("local[2]", {"spark.x": "1"}).__enter__()
    with pytest.raises(ParameterError, match=r"local\[2\] already runs in this process\. Use that one"):
        session("local[2]")


def test_folders_are_named_as_partitions_and_no_value_can_leave_them():
    assert folder_name("region", "north") == "region=north"
    assert folder_name("a=b", "../x") == "a%3Db=..%2Fx"
    assert folder_name("region", "Zürich 1") == "region=Zürich 1"
    assert folder_name("r", "100%") != folder_name("r", "100%25")
    with pytest.raises(InputError, match="A value of the key 'region' is too long for a folder name"):
        folder_name("region", "x" * 300)


def test_keys_do_not_share_their_chance():
    seeds = {key_seed(seed, key) for seed in (0, 1, 2**100) for key in ("a", "b", "")}
    assert len(seeds) == 9
    assert key_seed(5, "north") == key_seed(5, "north")
