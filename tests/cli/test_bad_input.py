"""Bad input: exit 2, one line, no traceback, and nothing of the data in the message."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from shoal import Microaggregation, Panel
from shoal.cli import app as cli
from shoal.cli.app import run
from shoal.release import release_candidate

SECRETS = ["alice", "bob", "carol", "4711.25", "hunter2"]


def table(**columns):
    base = {
        "id": ["alice", "alice", "bob", "bob", "carol", "carol"],
        "time": ["2024-01-01 00:00", "2024-01-01 01:00"] * 3,
        "value": ["4711.25", "2", "3", "4", "5", "6"],
    }
    return pl.DataFrame(base | columns)


NOTHING = table().clear()
BAD_TABLES = {
    "empty table": (NOTHING, "empty"),
    "empty value": (table(value=["4711.25", None, "3", "4", "5", "6"]), "missing"),
    "NaN": (table(value=["4711.25", "NaN", "3", "4", "5", "6"]), "missing"),
    "absent row": (table().head(5), "missing"),
    "duplicate": (pl.concat([table(), table().head(1).with_columns(value=pl.lit("7.25"))]), "duplicate"),
    "text": (table(value=["4711.25", "hunter2", "3", "4", "5", "6"]), "text"),
    "infinite": (table(value=["4711.25", "inf", "3", "4", "5", "6"]), "infinite"),
    "time zones": (
        table(time=["2024-01-01T00:00+01:00", "2024-01-01T01:00Z"] * 3),
        "time zone",
    ),
    "half zoned": (table(time=["2024-01-01T00:00", "2024-01-01T01:00Z"] * 3), "time zone"),
    "bad time": (table(time=["2024-01-01 00:00", "hunter2"] * 3), "time"),
    "uneven": (
        table(id=["alice"] * 3 + ["bob"] * 3, time=["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 07:00"] * 2),
        "even",
    ),
    "no id": (table(id=["alice", None, "bob", "bob", "carol", "carol"]), "id"),
    "huge value": (table(value=["4711.25", "1e200", "3", "4", "5", "6"]), "larger than"),
    "no time": (table().drop("time"), "repeat the id of another"),
}
BAD_OPTIONS = {
    "missing file": (["nowhere.csv", "--k", "2"], "nowhere.csv"),
    "unknown extension": (["x.docx", "--k", "2"], "x.docx"),
    "empty glob": (["nothing*.csv", "--k", "2"], "nothing*.csv"),
    "k too small": (["good.csv", "--k", "1"], "k must be a whole number of at least 2"),
    "k too large": (["good.csv", "--k", "4"], "needs at least 4 subjects, the panel has 3"),
    "k no number": (["good.csv", "--k", "ten"], "--k"),
    "k absent": (["good.csv"], "needs --k"),
    "no such option": (["good.csv", "-k", "2"], "No such option: -k. Try: shoal --help"),
    "no such interest": (["good.csv", "--k", "2", "--keep", "peak"], "shoal: --keep: 'peak' is not an interest"),
    "no such way with gaps": (["good.csv", "--k", "2", "--missing", "fill"], "shoal: --missing: give 'fail', 'drop-"),
    "k without value": (["good.csv", "--k"], "--k needs a value"),
    "refine without value": (["good.csv", "--k", "2", "--refine", "-o", "out"], "--refine needs a value"),
    "k beyond all": (["good.csv", "--k", "1" + "0" * 30], "k must be a whole number of at most"),
    "unknown method": (["good.csv", "--method", "magic", "--k", "2"], "Unknown method 'magic'"),
    "unknown option": (["good.csv", "--k", "2", "--speed", "9"], "Unknown option --speed"),
    "misspelt option": (["good.csv", "--k", "2", "--algoritm", "mdav"], "Did you mean --algorithm?"),
    "misspelt option of the command": (["good.csv", "--k", "2", "--pseudonym", "x"], "Did you mean --pseudonyms?"),
    "unknown algorithm": (["good.csv", "--k", "2", "--algorithm", "magic"], "--algorithm"),
    "unknown missing": (["good.csv", "--k", "2", "--missing", "guess"], "missing"),
    "unknown align": (["good.csv", "--k", "2", "--align", "bend"], "align"),
    "unknown layout": (["good.csv", "--k", "2", "--layout", "round"], "layout"),
    "unknown zone": (["good.csv", "--k", "2", "--timezone", "Mars/Base"], "zone"),
    "unknown column": (["good.csv", "--k", "2", "--value", "watt"], "watt"),
    "unknown guarantee": (["good.csv", "--k", "2", "--require", "magic"], "Unknown guarantee 'magic'"),
    "odd guarantee": (["good.csv", "--k", "2", "--require", "aggregate-rule:size"], "--require takes"),
    "unknown format": (["good.csv", "--k", "2", "--format", "xlsx"], "format must be"),
    "no source": (["--k", "2"], "source"),
    "broken sql": (["--k", "2", "--sql", "select hunter2 from 'good.csv'"], "SQL"),
    "target exists": (["good.csv", "--k", "2", "-o", "taken"], "not a folder"),
    "mistyped address": (["postgresql:/u:4711.25@h/db", "--sql", "s", "--k", "2"], "address"),
    "password": (["host=h user=u password=4711.25", "--k", "2"], "address"),
    "short option": (["good.csv", "-k", "2"], "-k"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().write_csv("good.csv")
    (tmp_path / "taken").write_text("")
    (tmp_path / "x.docx").write_text("")
    return tmp_path


def refused(arguments, word, capsys):
    assert run(["anonymize", "-o", "out", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    assert output.err.startswith("shoal: ")
    assert word.lower() in output.err.lower()
    assert "Traceback" not in output.err
    assert "Internal error" not in output.err
    return output.err


@pytest.mark.parametrize("case", BAD_TABLES)
@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_a_bad_table_is_refused_in_one_line_without_its_data(folder, capsys, case, file_format):
    frame, word = BAD_TABLES[case]
    frame.write_csv("bad.csv") if file_format == "csv" else frame.write_parquet("bad.parquet")
    error = refused([f"bad.{file_format}", "--k", "2"], word, capsys)
    assert not [secret for secret in SECRETS if secret in error]
    assert not (folder / "out").exists()


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_a_bad_option_is_refused_in_one_line(folder, capsys, case):
    arguments, word = BAD_OPTIONS[case]
    error = refused(arguments, word, capsys)
    assert not [secret for secret in SECRETS[:4] if secret in error]
    assert not (folder / "out").exists()


def test_the_good_table_is_not_refused():
    assert run(["anonymize", "good.csv", "--k", "2"]) == 0


@pytest.mark.parametrize("arguments", [["frobnicate"], ["verify"], ["verify", "nowhere"], ["--what"]])
def test_wrong_usage_is_one_line(arguments, capsys):
    assert run(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_real_program_exits_with_these_codes(folder):
    program = [sys.executable, "-c", "from shoal.cli.app import main; main()"]
    done = subprocess.run(
        [*program, "anonymize", "nowhere.csv", "--k", "2"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "shoal: No such file: nowhere.csv\n"


def test_a_bug_is_told_without_quoting_the_data(monkeypatch, capsys):
    def broken(*arguments, **options):
        raise ValueError("could not convert string to float: 'hunter2'")

    monkeypatch.setattr("shoal.process.anonymize_source", broken)
    assert run(["anonymize", "good.csv", "--k", "2"]) == 2
    error = capsys.readouterr().err
    assert "Internal error ValueError at test_bad_input.py" in error
    assert "hunter2" not in error


def test_an_interrupt_ends_quietly(monkeypatch, capsys):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("shoal.process.anonymize_source", interrupted)
    assert cli.run(["anonymize", "good.csv", "--k", "2"]) == 130


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify", "{}"],
        ["report", "{}"],
        ["query", "{}", "--range", "0=1..2"],
        ["policy", "check", "{}"],
        ["run", "{}"],
        ["anonymize", "{}", "--k", "2", "-o", "out"],
        ["anonymize", "good.csv", "--k", "2", "-o", "{}"],
        ["anonymize", "good.csv", "--k", "2", "-o", "out", "--private", "{}"],
        ["anonymize", "good.csv", "--k", "2", "-o", "out", "--ledger", "{}"],
        ["utility", "{}", "good.csv"],
        ["attack", "{}", "good.csv"],
        ["ledger", "check", "{}"],
        ["trace", "{}", "--private", "{}"],
        ["learn", "{}", "-o", "out"],
        ["policy", "init", "{}.csv"],
    ],
)
def test_a_name_too_long_for_the_system_is_told_in_a_line(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    table().write_csv("good.csv")
    code = run([argument.replace("{}", "x" * 5000) for argument in arguments])
    told = capsys.readouterr().err
    assert code == 2, told
    assert "Internal error" not in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("number", ["9" * 5000, "1e999", "nan", "0x10"])
def test_numbers_that_no_query_has_are_told_in_a_line(tmp_path, capsys, number):
    candidate = Microaggregation(k=3).anonymize(Panel(np.repeat(np.eye(3), 3, axis=0)))
    release_candidate(candidate, tmp_path / "out", summary="Test.")
    for asked in (f"{number}=1..2", f"0={number}..", f"0=..{number}"):
        run(["query", str(tmp_path / "out"), "--range", asked])
        assert "Internal error" not in capsys.readouterr().err


def test_a_number_in_words_is_told_with_what_was_wanted(tmp_path, capsys):
    (tmp_path / "x.csv").write_text("id,time,value\na,0,1\n")
    assert run(["anonymize", str(tmp_path / "x.csv"), "--k", "ten", "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "shoal: --k of microaggregation must be a whole number, got 'ten'.\n"


def test_the_list_of_commands_cuts_no_summary_off(capsys):
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "..." not in shown.partition("Commands:")[2]
