"""`shoal edge`, as it is typed."""

import io
import json

import numpy as np
import polars as pl

from shoal.cli.app import run


def test_a_fleet_from_enrolment_to_release(tmp_path, capsys, monkeypatch):
    fleet, lines = tmp_path / "fleet", []
    for n in range(3):
        assert run(["edge", "enroll", str(tmp_path / f"m{n}"), "--device"]) == 0
        lines.append(capsys.readouterr().out)
    (tmp_path / "lines").write_text("".join(lines))
    terms = ["--lower", "0", "--upper", "4", "--scheme", "budget-uniform", "--w", "2", "--epsilon", "4"]
    assert run(["edge", "enroll", str(fleet), "--members", str(tmp_path / "lines"), *terms, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["meters"] == 3
    reports = []
    for n in range(3):
        assert run(["edge", "enroll", str(tmp_path / f"m{n}"), "--join", str(fleet)]) == 0
        monkeypatch.setattr("sys.stdin", io.StringIO("2026-01-01T00:00,1.0\n2026-01-01T00:30,2.0\n"))
        assert run(["edge", "meter", str(tmp_path / f"m{n}")]) == 0
        reports.append(capsys.readouterr().out)
    (tmp_path / "reports").write_text("".join(reports))
    assert run(["edge", "collect", str(fleet), str(tmp_path / "reports"), "-o", str(tmp_path / "out"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["reports"], told["refused"]) == (6, 0)
    assert told["guarantee"].startswith("Any 2 successive readings of a meter")
    assert run(["verify", str(tmp_path / "out"), "--accept-unjudged"]) == 0
    assert "no meter spent more than 4 of 4 in any 2 successive instants" in " ".join(capsys.readouterr().out.split())


def test_a_fleet_is_simulated_from_a_table(tmp_path, capsys):
    times = np.datetime64("2026-01-01T00:00", "ms") + np.arange(4) * np.timedelta64(30, "m")
    table = pl.DataFrame(
        {"id": np.repeat([f"m{n}" for n in range(6)], 4), "time": np.tile(times, 6), "value": np.ones(24)}
    )
    table.write_parquet(tmp_path / "meters.parquet")
    words = ["edge", "simulate", str(tmp_path / "meters.parquet"), "--lower", "0", "--upper", "4", "--way", "sum"]
    assert run([*words, "--w", "4", "-o", str(tmp_path / "out"), "--smooth"]) == 0
    assert "withheld" in capsys.readouterr().out
    assert (tmp_path / "out" / "release.json").exists()


def test_what_is_missing_is_told_in_one_line(tmp_path, capsys):
    assert run(["edge", "enroll", str(tmp_path / "f"), "--meters", "3"]) == 2
    assert "--lower and --upper are required" in capsys.readouterr().err
    assert run(["edge", "enroll", str(tmp_path / "f")]) == 2
    assert "Give --members FILE at the utility" in capsys.readouterr().err
    assert run(["edge", "collect", str(tmp_path / "f")]) == 2
    assert "cannot be read" in capsys.readouterr().err
