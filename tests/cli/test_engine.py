"""Commands with --engine, and policies with an engine."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from engines.sessions import skip_without_java
from shard_examples import many_parts
from shoal import load_release, verify
from shoal.cli.app import run
from shoal.engines.java import find_java

LOCAL = ["--engine", "local", "--memory", "64MB"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A hundred and twenty series of two days, in a table of Parquet."""
    rng = np.random.default_rng(3)
    hours = pl.datetime_range(
        pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 2, 23), interval="1h", eager=True, time_unit="us"
    )
    day = 1 + np.sin(np.arange(48) / 24 * 2 * np.pi)
    values = np.round(rng.gamma(2.0, 1.0, (120, 1)) * day + rng.gamma(1.0, 0.3, (120, 48)), 3)
    frame = pl.DataFrame(
        {
            "id": np.repeat([f"meter-{i:03}" for i in range(120)], 48),
            "time": pl.concat([hours] * 120),
            "value": values.ravel(),
        }
    )
    path = tmp_path_factory.mktemp("tables") / "x.parquet"
    frame.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path)
    return path


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


POLICY = """
data: {{path: {table}}}
adversary: {{knows: {{points: 3}}, targets: 60}}
require: {{risk: {{at_most: {risk}}}, utility: {{information-loss: {{at_most: {loss}}}}}}}
method: {{name: microaggregation, k: {{search: [3, 6, 12]}}}}
search: {{sample: 1.0}}
release: {{to: out, private: private}}
engine: {engine}
"""


def write_policy(folder, table, *, risk=0.2, loss=0.9, engine="{name: local, memory: 64MB, shard_size: 40}"):
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(table=table, risk=risk, loss=loss, engine=engine))
    return path


@pytest.fixture
def _many_parts(monkeypatch):
    many_parts(monkeypatch, 8192)


class TestAnonymize:
    def test_shards_in_memory_and_on_an_engine_are_the_same_release(self, table, tmp_path, capsys):
        given = ["anonymize", str(table), "--k", "4", "--insecure-seed", "1", "--shard-size", "20"]
        ways = {"plain": [], "memory": ["--engine", "memory"], "local": LOCAL}
        for name, options in ways.items():
            assert run([*given, *options, "-o", str(tmp_path / name)]) == 0
        found = [contents(tmp_path / name) for name in ways]
        assert found[0] == found[1] == found[2]
        assert verify(tmp_path / "local").holds

    def test_without_a_size_little_data_is_one_shard_and_the_groups_those_in_memory(self, table, tmp_path, capsys):
        given = ["anonymize", str(table), "--k", "4", "--json"]
        assert run([*given, *LOCAL, "-o", str(tmp_path / "local")]) == 0
        local = json.loads(capsys.readouterr().out)
        assert run([*given, "-o", str(tmp_path / "memory")]) == 0
        memory = json.loads(capsys.readouterr().out)
        assert local["counts"] == memory["counts"]
        assert local["guarantees"] == memory["guarantees"]
        found = [load_release(tmp_path / name).values for name in ("local", "memory")]
        assert sorted(map(tuple, found[0].tolist())) == sorted(map(tuple, found[1].tolist()))

    @pytest.mark.usefixtures("_many_parts")
    @pytest.mark.parametrize("form", ["parquet", "csv"])
    def test_what_follows_a_release_works_on_parts(self, table, tmp_path, capsys, form):
        out, private = str(tmp_path / "out"), str(tmp_path / "private")
        made = ["anonymize", str(table), "--k", "4", *LOCAL, "--shard-size", "20", "--format", form]
        assert run([*made, "-o", out, "--private", private]) == 0
        assert "holds: 4, required 4" in capsys.readouterr().out
        assert len(list(Path(out).glob(f"data-*.{form}"))) > 2
        assert run(["verify", out, "--engine", "memory"]) == 0
        if form == "csv":
            return
        assert run(["verify", out, "--processes", "2"]) == 0
        assert run(["attack", out, str(table), "--private", private]) == 0
        assert run(["utility", str(table), out, "--private", private, "--measure", "information-loss"]) == 0
        assert run(["report", out, "-o", str(tmp_path / "again.html")]) == 0
        assert run(["query", out, "--range", "2024-01-01T00:00=0..1000"]) == 0
        page = Path(out, "report.html").read_text()
        assert "meter-0" not in page
        assert "Series of one group are published alike" in page

    def test_what_keeping_costs_is_said_of_a_release_in_shards_as_well(self, table, tmp_path, capsys):
        command = ["anonymize", str(table), "-o", str(tmp_path / "out"), "--k", "4", "--keep", "peaks"]
        assert run([*command, "--engine", "memory", "--shard-size", "12"]) == 0
        rows = [line.split(maxsplit=1)[0] for line in capsys.readouterr().out.splitlines()]
        assert rows.count("kept") == 2
        assert rows.count("cost") == 1

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--memory", "1GB"], "--memory needs an engine. Add --engine local."),
            (["--master", "local[2]"], "--master needs an engine. Add --engine spark."),
            (["--engine", "dask"], "--engine must be memory, local or spark, got 'dask'."),
            (["--engine", "local", "--master", "local[2]"], "--master belongs to --engine spark, not to local."),
            (["--engine", "spark", "--memory", "1GB"], "--memory belongs to --engine local, not to spark."),
            (["--engine", "spark", "--conf", "x"], "--conf takes a Spark setting and its value"),
            (["--engine", "local", "--processes", "0"], "--processes must be a whole number, at least 1."),
            (["--engine", "local", "--memory", "much"], "memory must be a number of bytes"),
            (["--engine", "local", "--sql", "select 1"], "None of the 1 columns of the table is an id or a time."),
            (["--engine", "local", "--ledger", "x"], "A ledger compares the groups of all releases in one place"),
            (["--shard-size", "0"], "--shard-size must be a whole number of subjects, at least 1."),
            (["--engine", "memory", "--processes", "2"], "--processes belongs to --engine local, not to memory."),
        ],
    )
    def test_what_cannot_be_is_told_in_a_line(self, table, tmp_path, capsys, options, message):
        assert run(["anonymize", str(table), "-o", str(tmp_path / "out"), "--k", "4", *options]) == 2
        assert message in capsys.readouterr().err
        assert not list(tmp_path.iterdir())

    def test_a_method_for_events_is_refused(self, table, tmp_path, capsys):
        out = str(tmp_path / "out")
        assert (
            run(["anonymize", str(table), "-o", out, *LOCAL, "--method", "reposition", "--l", "2", "--window", "2"])
            == 2
        )
        assert "reposition reads events, not series." in capsys.readouterr().err

    def test_a_guarantee_that_does_not_hold_writes_nothing(self, table, tmp_path, capsys):
        out = str(tmp_path / "out")
        assert run(["anonymize", str(table), "--k", "4", *LOCAL, "-o", out, "--require", "k-anonymity:k=50"]) == 1
        assert "k-anonymity k=50 does not hold: measured 4, required 50" in capsys.readouterr().err
        assert not list(tmp_path.iterdir())


class TestRun:
    def test_a_policy_with_an_engine_is_searched_on_a_sample_and_decided_on_all(self, table, tmp_path, capsys):
        assert run(["run", str(write_policy(tmp_path, table)), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["process"]["chosen"] == {"k": 6}
        assert told["risk"]["known-points"]["n_targets"] == 60
        assert verify(tmp_path / "out").holds
        assert "information-loss" in told["utility"]

    def test_nothing_is_written_where_no_point_meets_both(self, table, tmp_path, capsys):
        policy = write_policy(tmp_path, table, risk=0.1, loss=0.0001)
        assert run(["run", str(policy)]) == 1
        assert "Nothing was written" in capsys.readouterr().err
        assert [path.name for path in tmp_path.iterdir()] == ["policy.yaml"]

    def test_the_command_line_goes_before_the_policy(self, table, tmp_path, capsys):
        policy = write_policy(tmp_path, table, engine="spark")
        assert run(["run", str(policy), *LOCAL]) == 0
        assert verify(tmp_path / "out").holds

    @pytest.mark.parametrize(
        ("engine", "message"),
        [
            ("dask", "line 8 (engine: dask): engine"),
            ("{name: local, master: x}", "master and conf belong to spark"),
            ("{name: spark, memory: 2GB}", "memory and processes belong to local"),
            ("{name: spark, cores: 4}", "engine.cores is not a field of a policy"),
        ],
    )
    def test_a_wrong_engine_in_a_policy_is_told_with_its_line(self, table, tmp_path, capsys, engine, message):
        assert run(["run", str(write_policy(tmp_path, table, engine=engine))]) == 2
        assert message in capsys.readouterr().err

    def test_other_ways_out_are_refused(self, table, tmp_path, capsys):
        path = write_policy(tmp_path, table)
        path.write_text(path.read_text().replace("to: out,", "to: out, model: closed,"))
        assert run(["run", str(path)]) == 2
        assert "release.model: closed works in memory, not in shards" in capsys.readouterr().err


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from pyspark import SparkContext
from pyspark.sql import SparkSession
from shard_examples import repeated_candidate
from shoal import publish
from shoal.cli.app import run
from shoal.engines import Spark
with Spark(conf={{"spark.rdd.compress": "false"}}) as engine:
    context = engine.session.sparkContext
    assert (context.master, context.appName) == ("local[1]", "nightly"), "as it was submitted"
    given = context.getConf()
    assert given.get("spark.rdd.compress") == "false"
    assert given.get("spark.sql.session.timeZone") == "UTC", "ours, where nothing is said"
    assert given.get("spark.executorEnv.OMP_NUM_THREADS") == "2", "theirs, where something is"
    publish(repeated_candidate(engine), {out!r}, insecure_seed=2)
assert SparkContext._active_spark_context is None
assert run(["verify", {out!r}, "--engine", "spark", "--master", "local[2]"]) == 2, "not where it was submitted"
session = SparkSession.builder.getOrCreate()
assert run(["verify", {out!r}, "--engine", "spark"]) == 0
assert session.range(3).count() == 3, "a session of somebody else's stays open"
"""


@pytest.mark.soak
def test_a_script_runs_where_spark_submit_said(tmp_path):
    submit = Path(sys.executable).with_name("spark-submit")
    skip_without_java()
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[1]), out=str(tmp_path / "out")))
    settings = ["--master", "local[1]", "--name", "nightly"]
    for setting in ("sql.shuffle.partitions=2", "ui.enabled=false", "executorEnv.OMP_NUM_THREADS=2"):
        settings += ["--conf", f"spark.{setting}"]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(find_java().home)}
    found = subprocess.run(
        [str(submit), *settings, str(script)], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert found.returncode == 0, found.stdout  # spark-submit hands on a script's errors there as well
    assert found.stdout.count("verdict      holds") == 1
    assert "spark-submit was given the master local[1], but local[2] is requested here." in found.stdout
    assert verify(tmp_path / "out").holds


@pytest.mark.soak
def test_spark_publishes_by_command_what_the_other_engine_does(table, tmp_path, capsys):
    skip_without_java()
    options = ["anonymize", str(table), "--k", "6", "--insecure-seed", "5", "--shard-size", "30"]
    spark = ["--engine", "spark", "--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=2"]
    command = [sys.executable, "-m", "shoal", *options, *spark, "-o", "spark"]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert run([*options, *LOCAL, "-o", str(tmp_path / "local")]) == 0
    assert contents(tmp_path / "spark") == contents(tmp_path / "local")
