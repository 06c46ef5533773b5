"""A search that is kept in a folder loses nothing and repeats nothing, whatever happens to its process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shoal.errors import InputError, ParameterError
from shoal.files.journal import Journal
from shoal.process import parse_policy, run_policy, simulate_table
from shoal.process.exploration import Exploration
from shoal.process.policy import policy_text
from shoal.release import load_release, verify

POLICY = """
data: {path: meters.parquet}
adversary: {knows: {points: 3, totals: day}}
require: {risk: {at_most: 0.3}, utility: {information-loss: {at_most: 0.95}}}
method:
  search:
    - {name: microaggregation, k: {search: [3, 5, 8]}}
    - {name: kp, k: 6, p: 2}
    - {name: noise-addition, snr: {search: [0.5, 2.0]}}
    - {steps: [{name: time-aggregation, step: 2h}, {name: microaggregation, k: {search: [4, 300]}}]}
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explored")
    simulate_table("meters", folder / "meters.parquet", {"n": 120, "days": 2})
    return folder


@pytest.fixture(scope="module")
def explored(base):
    exploration = Exploration(base / "kept", parse_policy(POLICY), base=base)
    assert exploration.state == "new"
    assert exploration.points() == []
    exploration.run()
    return exploration


def timeless(points):
    return [{name: one for name, one in point.items() if name != "seconds"} for point in points]


def test_every_point_of_every_method_is_there_with_risk_scores_and_lights(explored):
    points = explored.points()
    assert explored.state == "complete"
    assert not explored.is_running
    assert [point["number"] for point in points] == list(range(8))
    assert [(point["method"], point["label"]) for point in points] == [
        ("microaggregation", "k = 3"),
        ("microaggregation", "k = 5"),
        ("microaggregation", "k = 8"),
        ("kp", "k = 6, p = 2"),
        ("noise-addition", "snr = 0.5"),
        ("noise-addition", "snr = 2.0"),
        ("time-aggregation + microaggregation", "time-aggregation.step = 2h, microaggregation.k = 4"),
        ("time-aggregation + microaggregation", "time-aggregation.step = 2h, microaggregation.k = 300"),
    ]
    assert "needs at least 300 subjects" in points[7]["refused"]
    first = points[0]
    assert first["parameters"] == [["microaggregation", {"k": 3}]]
    assert first["risk_interval"][0] <= first["risk"] <= first["risk_interval"][1]
    assert first["risks"]["known-points"]["answers"] == "singling out"
    assert first["risks"]["known-totals"]["answers"] == "linkability"
    assert set(first["lights"]) == {"singling out", "linkability", "inference"}
    assert all(light["attack"] in first["risks"] for light in first["lights"].values())
    assert first["loss"] == first["scores"]["information-loss"]["value"]
    assert explored.purpose == {
        "measure": "information-loss",
        "meaning": first["scores"]["information-loss"]["meaning"],
        "unit": "share",
        "goal": "lower",
        "limit": 0.95,
    }
    json.dumps(points, allow_nan=False)


def test_the_folder_is_for_its_owner_alone_and_names_nobody(explored, base):
    explored.detail(0)
    files = [path for path in explored.folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"policy.yaml", "points.jsonl", "0.json"}
    assert explored.folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)
    import polars as pl

    names = set(pl.read_parquet(base / "meters.parquet")["id"].cast(str).to_list())
    assert len(names) == 120
    text = "".join(path.read_text() for path in files)
    assert not [name for name in names if f'"{name}"' in text]


def test_a_search_opens_again_with_its_points_and_not_for_another_policy(explored, base):
    again = Exploration.open(explored.folder, base=base)
    assert again.points() == explored.points()
    assert again.policy == explored.policy
    again.run()
    assert again.points() == explored.points()
    with pytest.raises(InputError, match="holds the search of another policy"):
        Exploration(explored.folder, parse_policy(POLICY + "seed: 1\n"), base=base)
    with pytest.raises(InputError, match="holds no search"):
        Exploration.open(base / "nowhere", base=base)


def test_a_stopped_search_goes_on_to_the_same_points(explored, base):
    other = Exploration(base / "stopped", explored.policy, base=base)
    other.run(stop=lambda: len(other.points()) >= 3)
    assert other.state == "stopped"
    assert len(other.points()) == 3
    assert other.stopped.sentence == "A person stopped the search after 3 of 8 planned points."
    policy = _to(other.policy_at(1), "by-hand")
    assert policy.search.explored.sentence == (
        "A person chose this point among 3 that had been tried, and ended the search after 3 of 8 planned trials."
    )
    certificate = run_policy(policy, base=base).release.certificate
    assert certificate["figures"]["process"]["explored"]["sentence"] == policy.search.explored.sentence
    assert policy.search.explored.sentence in (base / "by-hand" / "report.html").read_text()
    other.run(stop=lambda: True)  # nothing new is tried, and what was told stays true
    assert other.stopped.after == 3
    again = Exploration.open(base / "stopped", base=base)
    again.run()
    assert again.state == "complete"
    assert timeless(again.points()) == timeless(explored.points())


def test_a_line_half_written_is_not_there_and_is_written_anew(explored, base):
    folder = base / "torn"
    other = Exploration(folder, explored.policy, base=base)
    other.run(stop=lambda: len(other.points()) >= 2)
    journal = folder / "points.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert len(other.points()) == 1
    assert other.state == "running?"
    other.run()
    assert timeless(other.points()) == timeless(explored.points())
    assert len([line for line in Journal(journal).lines() if "point" in line]) == 8


def test_two_do_not_run_at_once_and_another_table_is_refused(explored, base, tmp_path):
    other = Exploration(base / "busy", explored.policy, base=base)
    with Journal(base / "busy" / "points.jsonl").writing():
        assert other.is_running
        with pytest.raises(InputError, match="is already running"):
            other.run()
    other.run(stop=lambda: True)
    simulate_table("meters", tmp_path / "meters.parquet", {"n": 120, "days": 2, "seed": 7})
    with pytest.raises(InputError, match="not the one that this search started with"):
        Exploration.open(base / "busy", base=tmp_path).run()


RUNNER = """
import sys
from pathlib import Path
from shoal.process.exploration import Exploration
Exploration.open(Path(sys.argv[1]), base=Path(sys.argv[2])).run()
"""


def test_a_killed_search_loses_no_point_and_tries_none_twice(explored, base):
    """Real processes, killed at different moments of the search. The points are those of one that was let be."""
    folder = base / "killed"
    exploration = Exploration(folder, explored.policy, base=base)
    kills = 0
    for wanted in (2, 5, 99):
        process = subprocess.Popen([sys.executable, "-c", RUNNER, str(folder), str(base)], env=os.environ)
        while process.poll() is None and len(exploration.points()) < wanted:
            time.sleep(0.01)
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 2
    assert exploration.state == "complete"
    assert timeless(exploration.points()) == timeless(explored.points())
    tried = [
        (line["point"]["number"], line["part"]) for line in Journal(folder / "points.jsonl").lines() if "point" in line
    ]
    assert len(tried) == len(set(tried)) == 8


def test_the_policy_of_a_point_runs_to_the_bytes_of_that_point(explored, base):
    """Export, open, run: the same point on the screen, and the same bytes as a search that chooses it."""
    for number in (1, 3, 6):
        policy = explored.policy_at(number, risk=1.0, utility={"information-loss": 1.0})
        text = policy_text(policy)
        assert parse_policy(text) == policy
        screen = Exploration(base / f"screen-{number}", parse_policy(text), base=base)
        screen.run()
        (point,) = screen.points()
        wanted = explored.points()[number]
        for name in ("method", "parameters", "risk", "risks", "scores", "loss", "guarantee", "on"):
            assert point[name] == wanted[name]
        assert screen.policy_at(0) == policy  # and what was tried before is not forgotten
        assert policy.search.explored.points == 8

    chosen = run_policy(_to(parse_policy(POLICY), "searched"), base=base, insecure_seed=1)
    number = next(
        point["number"]
        for point in explored.points()
        if dict(chosen.frontier.chosen.parameters)
        == {"method": point["method"], **{name: one for _, given in point["parameters"] for name, one in given.items()}}
    )
    run_policy(_to(explored.policy_at(number), "exported"), base=base, insecure_seed=1)
    for name in ("data.parquet",):
        assert (base / "searched" / name).read_bytes() == (base / "exported" / name).read_bytes()
    again = run_policy(_to(parse_policy(policy_text(explored.policy_at(number))), "again"), base=base, insecure_seed=1)
    for path in sorted((base / "exported").iterdir()):
        assert path.read_bytes() == (base / "again" / path.name).read_bytes(), path.name
    assert verify(again.release.path).holds
    assert (
        load_release(base / "exported").certificate["method"]["parameters"]["k"]
        == explored.points()[number]["parameters"][-1][1]["k"]
    )


def _to(policy, name):
    return policy.model_copy(update={"release": policy.release.model_copy(update={"to": name})})


def test_limits_on_screen_are_those_of_the_policy(explored):
    moved = explored.policy_at(0, risk=0.2, utility={"information-loss": 0.5})
    assert moved.require.risk.at_most == 0.2
    assert moved.require.utility["information-loss"].at_most == 0.5
    assert explored.policy_at(0).require == explored.policy.require
    with pytest.raises(ParameterError, match="is not a measure of this search"):
        explored.policy_at(0, utility={"no-such": 0.5})
    with pytest.raises(ParameterError, match="Point 99 was not tried"):
        explored.policy_at(99)


def test_a_detail_shows_groups_and_never_one_subject(explored, base):
    detail = explored.detail(1)
    assert len(detail["day"]["minutes"]) == len(detail["day"]["before"]) == len(detail["day"]["published"])
    assert len(detail["duration"]["share"]) == len(detail["duration"]["before"])
    assert detail["groups"]
    assert all(group["members"] >= 5 for group in detail["groups"])
    assert set(detail["curves"]) == {"known-points", "known-totals"}
    assert len(detail["curves"]["known-points"]["at"]) == len(detail["curves"]["known-points"]["success"])
    assert all(0 <= one["position"] < 120 and 0 <= one["success"] <= 1 for one in detail["worst"])
    assert parse_policy(detail["policy"]) == explored.policy_at(1)
    assert explored.detail(4)["groups"] == []  # noise: every curve is one subject's
    assert "needs at least 300" in explored.detail(7)["refused"]
    place = explored.folder / "details" / "1.json"
    made = place.stat().st_mtime_ns
    assert Exploration.open(explored.folder, base=Path("nowhere")).detail(1) == detail  # from the folder alone
    assert place.stat().st_mtime_ns == made


def test_differential_privacy_is_not_explored(base):
    with pytest.raises(ParameterError, match="differential privacy"):
        Exploration(
            base / "noisy",
            parse_policy("data: {path: x}\nmethod: {name: noisy-aggregates, epsilon: 1.0, lower: 0, upper: 10}"),
            base=base,
        )
