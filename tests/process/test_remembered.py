"""Reading options are given once."""

import json
import stat

import numpy as np
import pytest

from shoal.cli.app import run


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Hourly readings of 12 meters on a local clock, with names nobody would guess and a gap."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    rows = [
        f"m{meter},2024-05-01 {hour:02d}:00,{rng.random():.6f},{'ab'[meter % 2]}"
        for meter in range(12)
        for hour in range(24)
        if (meter, hour) != (4, 7)
    ]
    (tmp_path / "readings.csv").write_text("\n".join(["meter,measured at,kwh,tariff", *rows]) + "\n")
    return tmp_path


OPTIONS = [
    *("--id", "meter", "--time", "measured at", "--value", "kwh"),
    *("--missing", "interpolate:2h", "--timezone", "Europe/Dublin"),
]
ATTACK = ["attack", "out", "readings.csv", "--private", "keep", "--knows", "points=3", "--json"]
UTILITY = ["utility", "readings.csv", "out", "--private", "keep", "--measure", "information-loss", "--json"]


def published(*options):
    return run(["anonymize", "readings.csv", *options, "--k", "3", "-o", "out", "--private", "keep", "--json"])


def answer(capsys, command):
    capsys.readouterr()
    code = run(command)
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


def test_later_commands_read_as_the_release_was_read(table, capsys):
    assert published(*OPTIONS) == 0
    (kept,) = (table / "keep").glob("reading-*.json")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text())["reading"]["missing"] == "interpolate:2h"
    code, found, _ = answer(capsys, ATTACK)
    assert (code, "known-points" in found["attacks"]) == (0, True)
    assert len(found["read"]) == 1  # nothing but what was taken for a subject: the table is the same
    code, found, _ = answer(capsys, UTILITY)
    assert (code, found["paired"], found["notes"]) == (0, 12, [])


def test_what_is_remembered_can_come_from_a_policy(table, capsys):
    (table / "policy.yaml").write_text(
        "data: {path: readings.csv, id: meter, time: measured at, value: kwh, missing: {interpolate: 2h},"
        " timezone: Europe/Dublin}\n"
        "require: {risk: {at_most: 1.0}}\nmethod: {name: microaggregation, k: 3}\n"
        "release: {to: out, private: keep}\n"
    )
    assert run(["run", "policy.yaml", "--json"]) == 0
    assert answer(capsys, UTILITY)[1]["notes"] == []
    next((table / "keep").glob("reading-*.json")).unlink()
    assert answer(capsys, UTILITY)[0] == 2
    code, found, _ = answer(capsys, [*UTILITY, "--policy", "policy.yaml"])
    assert (code, found["notes"]) == (0, [])


def test_an_option_that_differs_is_named(table, capsys):
    assert published(*OPTIONS) == 0
    code, found, _ = answer(capsys, [*UTILITY, "--quasi", "tariff"])
    assert (code, found["notes"]) == (0, ["the table was read with other options than for the release: --quasi"])
    code, found, _ = answer(capsys, [*ATTACK, "--quasi", "tariff"])
    assert "the table was read with other options than for the release: --quasi" in found["read"]
    code, _, told = answer(capsys, [*UTILITY, "--timezone", "Europe/Berlin", "--align", "resample:2h"])
    assert code == 2
    assert "These options differ from those of the release: --align, --timezone." in told


def test_another_table_read_with_the_same_options_is_told_from_other_options(table, capsys):
    assert published(*OPTIONS) == 0
    text = (table / "readings.csv").read_text()
    (table / "readings.csv").write_text(text.replace("12:00,0.", "12:00,1."))
    said = ["the table is not the one the release was made from: it was read with the same options"]
    assert answer(capsys, UTILITY)[1]["notes"] == said


def test_releases_of_a_growing_panel_remember_too(table, capsys):
    options = [option for option in OPTIONS if option not in ("--missing", "interpolate:2h")]
    grown = ["grow", "readings.csv", *options, "--k", "3", "--private", "keep", "-o", "days", "--json"]
    assert run(grown) == 0
    reading = json.loads(next((table / "keep").glob("reading-*.json")).read_text())["reading"]
    assert (reading["id"], reading["missing"]) == ("meter", "keep")
    assert run(grown) == 0
    assert run([*grown, "--subject", "tariff"]) == 2
    assert "started with other settings: reading" in capsys.readouterr().err
