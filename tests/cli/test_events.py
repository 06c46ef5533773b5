"""Events from a table to a release, and questions to it, as a user would call them."""

import json
import re
import shutil

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal import Events, Reposition, publish
from shoal.cli.app import run

OPTIONS = ["--method", "reposition", "--l", "3", "--window", "3", "--sensitive", "diagnosis"]
QUASI = ["--quasi", "age", "--quasi", "sex", "--quasi", "region", "--id", "id"]


@pytest.fixture(scope="module")
def register(tmp_path_factory):
    """A table of 12 days of events."""
    path = tmp_path_factory.mktemp("register") / "x.parquet"
    assert run(["simulate", "events", "-o", str(path), "--n", "40", "--days", "12", "--seed", "1"]) == 0
    return path


@pytest.fixture
def anonymize(register, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *more: run(["anonymize", str(register), *OPTIONS, *QUASI, *more])


@pytest.fixture(scope="module")
def released(register):
    """A release of it; who changes it copies it first."""
    out, keep = register.parent / "out", register.parent / "keep"
    assert run(["anonymize", str(register), *OPTIONS, *QUASI, "-o", str(out), "--private", str(keep)]) == 0
    return out


@pytest.mark.parametrize(("publish", "form"), [("bucketised", "parquet"), ("generalised", "csv")])
def test_anonymize_verify_and_query(anonymize, tmp_path, capsys, publish, form):
    assert anonymize("-o", "out", "--publish", publish, "--format", form) == 0
    shown = capsys.readouterr().out
    assert "l-diversity" in shown
    assert "events in 12 snapshots" in shown
    apart = {f"sensitive.{form}"} if publish == "bucketised" else set()
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        f"data.{form}",
        "datapackage.json",
        "release.json",
        "report.html",
    } | apart
    assert run(["verify", "out"]) == 0
    capsys.readouterr()
    assert run(["query", "out", "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert everything["count"] == pytest.approx(everything["of"])
    window = ["--from", "2024-01-02", "--to", "2024-01-09"]
    assert run(["query", "out", *window, "--where", "age=..50", "--where", "diagnosis=asthma,gout", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert 0 < answer["count"] < answer["of"]


def test_no_identifier_leaves_and_the_publisher_keeps_where_each_event_went(released, register):
    ids = pl.read_parquet(register)["id"].cast(pl.String).to_list()
    assert "id" not in pl.read_parquet(released / "data.parquet").columns
    (kept,) = (register.parent / "keep").glob("pseudonyms-*.parquet")
    table = pl.read_parquet(kept)
    assert sorted(table["id"].cast(pl.String)) == sorted(ids)
    certificate = json.loads((released / "release.json").read_text())
    assert table["published"].null_count() == certificate["counts"]["suppressed"]
    assert "seed" not in certificate["method"]["parameters"]
    assert certificate["columns"]["withheld"] == 1
    assert (certificate["risk"], certificate["utility"]) == ({}, {})


def test_an_edited_count_exits_1(released, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(released, "out")
    table = pl.read_parquet("out/sensitive.parquet")
    table.with_columns(count=table["count"].scatter(0, 2)).write_parquet("out/sensitive.parquet")
    assert run(["verify", "out"]) == 1
    assert "sensitive.parquet was changed" in capsys.readouterr().out


def test_the_report_says_what_became_of_events(released):
    page = (released / "report.html").read_text()
    for words in ("12 snapshots", "moved to a later snapshot", "Figures of risk and utility are left out"):
        assert words in page


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--value", "age"], "--value applies to series"),
        (["--missing", "interpolate:2h"], "nothing can fill it"),
        (["--m", "3"], "these events have none"),
        (["--sensitive", "region"], "2 are named"),
        (["--require", "k-anonymity:k=3"], "judged by l-diversity"),
        (["--l", "11"], "the events have 10"),
        (["--cost", "cubic"], "linear, quadratic"),
        (["--pseudonyms", "keyed", "--private", "keep"], "this one holds events"),
    ],
)
def test_what_makes_no_sense_for_events_is_refused(anonymize, tmp_path, capsys, wrong, message):
    assert anonymize("-o", "out", *wrong) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--where", "zip=3"], "no column 'zip'"),
        (["--where", "age"], "COLUMN=VALUE"),
        (["--where", "age=old"], "cannot have"),
        (["--where", "sex=f..m"], "numbers and dates"),
        (["--where", "age=1", "--where", "age=2"], "two conditions"),
        (["--range", "0=1..2"], "use --from"),
        (["--from", "soon"], "dates or datetimes"),
    ],
)
def test_questions_that_make_no_sense_are_refused(released, capsys, asked, message):
    assert run(["query", str(released), *asked]) == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def waves(tmp_path, monkeypatch):
    """A register whose most frequent cause comes in waves: the release would have it last."""
    monkeypatch.chdir(tmp_path)
    days = {"heart": (40, 4), "cancer": (6, 20), "lung": (3, 14), "fall": (0, 10)}
    rows = [
        {"time": day, "age": 60 + n % 20, "cause": cause}
        for day in range(10)
        for cause, counts in days.items()
        for n in range(counts[day % 2])
    ]
    pl.DataFrame(rows).write_parquet("deaths.parquet")
    options = ["--method", "reposition", "--l", "3", "--window", "1", "--sensitive", "cause", "--quasi", "age"]
    return lambda *more: run(["anonymize", "deaths.parquet", *options, *more])


def test_a_register_whose_findings_would_be_reversed_exits_1(waves, tmp_path, capsys):
    assert waves("-o", "out") == 1
    told = " ".join(capsys.readouterr().err.split())
    assert "events (47.4 %) would be suppressed, more than the limit of 25 %" in told
    assert "The most frequent value of the originals is number 4 of the release" in told
    assert not (tmp_path / "out").exists()


def test_where_it_is_allowed_the_terminal_says_the_share_and_the_loss_by_value(waves, tmp_path, capsys):
    assert waves("-o", "out", "--suppression-limit", "0.6") == 0
    shown = capsys.readouterr()
    assert "suppressed     230 of 485 events (47.4 %)" in shown.out
    assert "no. 1 of the originals 45.4 % -> 13.7 %, no. 4 of the release" in shown.out
    assert shown.err.startswith("shoal: 230 of 485 events (47.4 %) were suppressed, so figures taken from the release")
    assert "heart" not in shown.out + shown.err
    assert waves("-o", "again", "--suppression-limit", "0.6", "--json") == 0
    figures = json.loads(capsys.readouterr().out)["suppression"]
    assert figures["share"] == 230 / 485
    assert figures["values"][0] == {"rank_before": 1, "rank_after": 4, "before": 220, "after": 35}
    assert "before" not in json.dumps(json.loads((tmp_path / "out" / "release.json").read_text())["figures"])
    assert waves("-o", "third", "--suppression-limit", "2") == 2


def test_one_risk_is_told_to_the_publisher_and_none_to_readers(waves, tmp_path, capsys):
    assert waves("-o", "out", "--suppression-limit", "0.6") == 0
    shown = capsys.readouterr().out
    assert "homogeneity    Someone who knows the quasi-identifiers" in shown
    assert shown.count("with a chance of") == 1
    assert "(485 events)" in shown
    certificate, page = ((tmp_path / "out" / name).read_text() for name in ("release.json", "report.html"))
    for text in (certificate, page):
        assert "with a chance of" not in text
        assert "before_highest" not in text
        assert "Figures of risk and utility are left out: for events they follow from who has which" in text


def test_who_shares_a_value_cannot_be_read_off_the_certificate(tmp_path):
    # The mean chance before protection is 2/3 exactly where the two of age 30 have the same diagnosis.
    def certificate(name, values):
        table = pl.DataFrame({"time": [0] * 6, "age": [30, 30, 40, 40, 50, 50], "diagnosis": values})
        candidate = Reposition(l=3, window=1, seed=1).anonymize(Events(table, sensitive="diagnosis", quasi=["age"]))
        return publish(candidate, tmp_path / name).certificate

    told = [
        certificate(name, values)
        for name, values in (("one", ["a", "a", "b", "c", "d", "e"]), ("other", ["a", "b", "a", "c", "d", "e"]))
    ]
    for part in ("risk", "utility", "figures", "counts", "method"):
        assert told[0][part] == told[1][part]


def test_attack_says_that_it_is_about_series(register, released, capsys):
    assert run(["attack", str(released), str(register), "--private", str(register.parent / "keep")]) == 2
    assert "this is a release of events" in capsys.readouterr().err


def test_quasi_identifiers_with_parts_of_a_microsecond_have_a_window_error(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    at = np.array(["2024-03-01T00:00:00.123456789"], dtype="datetime64[ns]") + np.arange(6)
    columns = {"time": [0, 0, 0, 1, 1, 1], "x": [*"abcabc"], "age": at}
    pq.write_table(pa.table(columns), "x.parquet")
    words = ["--method", "reposition", "--l", "2", "--window", "2", "--time", "time", "--sensitive", "x"]
    assert run(["anonymize", "x.parquet", *words, "--quasi", "age", "-o", "out"]) == 0
    figure = re.search(r"^window-error +(\S+) \(mean", capsys.readouterr().out, re.MULTILINE)
    assert figure
    assert float(figure[1]) >= 0.0
