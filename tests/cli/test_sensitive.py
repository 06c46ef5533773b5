"""Sensitive columns on the command line, from a table to a verified release."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shoal.cli.app import run
from shoal.release.certificate import digest_file, read_certificate


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Sixty walks with an illness, a cost that is often zero, and a truth value."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n, length = 60, 8
    static = {
        "illness": rng.choice(["flu", "cold", "none", "asthma", "gout"], size=n),
        "cost": np.where(rng.random(n) < 0.4, 0.0, rng.lognormal(4.0, 1.0, size=n)).round(2),
        "smoker": rng.random(n) < 0.5,
        "town": rng.choice(["A", "B"], size=n),
    }
    frame = pl.DataFrame(
        {"id": np.repeat([f"meter-{i:02d}" for i in range(n)], length), "time": np.tile(np.arange(length), n)}
        | {"value": rng.normal(size=(n, length)).cumsum(axis=1).ravel()}
        | {name: np.repeat(column, length) for name, column in static.items()}
    )
    frame.write_parquet("x.parquet")
    frame.write_csv("x.csv")
    return frame


def anonymize(*arguments, source="x.parquet", l="3"):
    return run(["anonymize", source, "--method", "kp", "--k", "6", "--p", "3", *(["--l", l] if l else []), *arguments])


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("source", ["x.parquet", "x.csv"])
def test_columns_are_published_and_verified(table, capsys, source, file_format):
    options = ["--sensitive", "illness", "--sensitive", "cost", "--quasi", "town", "--format", file_format, "-o", "out"]
    assert anonymize(*options, source=source) == 0
    shown = capsys.readouterr().out
    assert "l-diversity       holds: 3, required 3 (size of a group over its most frequent value" in shown
    assert "sensitive         illness, cost (" in shown
    assert "entries perturbed" in shown
    assert "entries exchanged" in shown
    attributes = (pl.read_parquet if file_format == "parquet" else pl.read_csv)(f"out/attributes.{file_format}")
    assert attributes.columns == ["id", "illness", "cost"]
    certificate = json.loads(Path("out/release.json").read_text())
    n_suppressed = certificate["method"]["figures"]["series_suppressed"]
    assert len(attributes) == 60 - n_suppressed
    if not n_suppressed:
        true = table.group_by("id").first()["illness"]
        assert attributes["illness"].sort().to_list() == true.sort().to_list()
    assert certificate["columns"]["withheld"] == 2
    assert [g["name"] for g in certificate["guarantees"]] == ["kp-anonymity", "l-diversity"]
    assert run(["verify", "out"]) == 0
    assert "l-diversity   holds: measured 3.0, required 3" in capsys.readouterr().out
    assert run(["verify", "out", "--json"]) == 0
    assert [g["name"] for g in json.loads(capsys.readouterr().out)["guarantees"]] == ["kp-anonymity", "l-diversity"]
    page = Path("out/report.html").read_text()
    assert "l-diversity" in page
    assert "sensitive entries were changed to a number near the true one" in page
    assert "each value occurs as often as before" in page
    assert "meter-" not in page


def test_json_counts_what_was_changed(table, capsys):
    assert anonymize("--sensitive", "illness", "-o", "out", "--json") == 0
    figures = json.loads(capsys.readouterr().out)["method"]["figures"]
    assert figures["sensitive_exchanged"] > 0
    assert figures["sensitive_perturbed"] == figures["sensitive_beyond_epsilon"] == 0


def test_without_l_the_column_stays_behind(table, capsys):
    assert anonymize("--sensitive", "illness", "-o", "out", l=None) == 0
    assert "sensitive" not in capsys.readouterr().out
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "data.parquet",
        "datapackage.json",
        "patterns.parquet",
        "release.json",
        "report.html",
    ]


@pytest.mark.parametrize(
    ("options", "l", "code", "message"),
    [
        ((), "3", 2, "l needs a sensitive column, and the panel has none. Name one with --sensitive, or omit l."),
        (("--sensitive", "illness"), "4", 2, "l=4 is above p=3"),
        (("--sensitive", "smoker"), "2", 2, "Column 'smoker' cannot be made 2-diverse by exchange"),
        (("--sensitive", "illness", "--epsilon", "-1"), "2", 2, "epsilon must be a number of at least 0"),
        (("--sensitive", "illness", "--require", "l-diversity:l=2"), None, 1, "no sensitive column is published"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(table, capsys, tmp_path, options, l, code, message):
    assert anonymize(*options, "-o", "out", l=l) == code
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_forged_entry_exits_1_and_names_the_row(table, capsys, tmp_path):
    out = tmp_path / "out"
    assert anonymize("--sensitive", "illness", "-o", "out") == 0
    attributes, patterns = (pl.read_parquet(out / f"{name}.parquet") for name in ("attributes", "patterns"))
    data = pl.read_parquet(out / "data.parquet").group_by("id", maintain_order=True).agg("low", "high")
    keys = list(zip(data["low"].to_list(), data["high"].to_list(), patterns["level"], patterns["pattern"], strict=True))
    smallest = min(keys, key=keys.count)  # of three to five: one of a value is all it may have
    row, other = [i for i, key in enumerate(keys) if key == smallest][:2]
    spoiled = attributes["illness"].scatter(other, attributes["illness"][row])
    attributes.with_columns(spoiled).write_parquet(out / "attributes.parquet")
    certificate = read_certificate(out)
    files = certificate.files | {"attributes.parquet": digest_file(out / "attributes.parquet")}
    (out / "release.json").write_bytes(certificate.model_copy(update={"files": files}).sealed().as_bytes())
    capsys.readouterr()
    assert run(["verify", "out"]) == 1
    told = capsys.readouterr().out
    assert "l-diversity does not hold" in told
    assert f"attributes row {row}" in told
