"""Subjects kept out of a release, and what attacks find of them."""

import json

import numpy as np
import pytest

import shoal
from shoal import Microaggregation, Panel, load_release, run_policy, simulate
from shoal.cli.app import run
from shoal.engines import Memory, in_shards
from shoal.errors import InputError, ParameterError
from shoal.model.watcher import silent
from shoal.process.anonymization import anonymize_source
from shoal.process.hold_out import as_share, keep_out
from shoal.process.policy import parse_policy
from shoal.process.release_attack import attack_release
from shoal.process.usefulness import measure_release

HOMES = simulate.meters(100, days=7, step="2h", families={"household": 1.0}, seed=3)
TABLE = HOMES.to_polars()


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A release of nine tenths, and the private folder."""
    place = tmp_path_factory.mktemp("held")
    anonymize_source(TABLE, Microaggregation(k=5), place / "out", {}, hold_out=0.1, private=place / "keep")
    return place / "out", place / "keep"


@pytest.mark.parametrize(("given", "share"), [("10%", 0.1), ("0.1", 0.1), (0.25, 0.25), (" 5 %", 0.05)])
def test_a_share_is_written_either_way(given, share):
    assert as_share(given) == pytest.approx(share)


@pytest.mark.parametrize("given", ["0", "60%", "ten", "-1%", "nan"])
def test_a_share_of_nobody_or_of_most_is_refused(given):
    with pytest.raises(ParameterError, match="hold-out is the share of subjects to keep out: 10%"):
        as_share(given)


def test_all_series_of_a_subject_are_kept_out_together_by_the_readings_and_the_seed():
    panel = Panel(HOMES.values, subjects=np.repeat(np.arange(20), 5))
    rest, out = keep_out(panel, 0.1, "keep", silent, seed=4)
    assert (rest.n_subjects, out.n_subjects, out.n_series) == (18, 2, 10)
    again = keep_out(panel, 0.1, "keep", silent, seed=4)[1]
    assert again.ids.tolist() == out.ids.tolist()
    changed = Panel(HOMES.values + 1.0, subjects=np.repeat(np.arange(20), 5))
    drawn = [keep_out(panel, 0.1, "keep", silent, seed=seed)[1].ids.tolist() for seed in range(8)]
    others = [keep_out(changed, 0.1, "keep", silent, seed=seed)[1].ids.tolist() for seed in range(8)]
    assert drawn != others  # without the readings nobody draws the same


def test_nobody_kept_out_is_in_the_release(released):
    out, keep = released
    release = load_release(out)
    assert release.published.n_series == 90
    kept = json.loads(next(keep.glob("reading-*.json")).read_text())["held_out"]
    assert len(kept) == 10
    assert set(kept) < {str(name) for name in HOMES.ids}
    inside = HOMES.take(np.flatnonzero(~np.isin(HOMES.ids.astype(str), kept)))
    own_mean = inside.values.mean(axis=0)
    assert release.published.values.mean(axis=0) == pytest.approx(own_mean)


def test_attacks_are_reported_beside_what_they_find_of_those_kept_out(released):
    out, keep = released
    found = attack_release(TABLE, {}, out, keep)
    assert list(found) == ["known-points", "known-totals", "copies", "completion", "membership"]
    for name in ("copies", "completion", "membership"):
        risk = found[name][1]
        assert risk.control is not None
        value, low, high = risk.excess
        assert low <= value <= high


def test_measures_and_judge_leave_out_those_kept_out(released):
    out, keep = released
    measured = {f.asked.label: f.score for f in measure_release(TABLE, out, {}, private=keep).findings}
    assert measured["mean-day-error:of=all"].value == pytest.approx(0.0, abs=1e-9)
    found = shoal.judge(TABLE, out, private=keep, knows={"points": 5})
    assert (found.n_original, found.n_control) == (90, 10)
    attacked = attack_release(TABLE, {}, out, keep, {"points": 5})
    assert {name: risk for name, (_, risk) in found.risks.items()} == {n: risk for n, (_, risk) in attacked.items()}
    with pytest.raises(InputError, match="series that were kept out of the release are not in the table"):
        attack_release(HOMES.take(np.arange(50)).to_polars(), {}, out, keep)


def test_a_policy_keeps_out_as_well_and_certifies_what_is_found(tmp_path):
    # Large enough for its figures to be told.
    simulate.meters(1_000, days=2, step="3h", seed=5).to_polars().write_parquet(tmp_path / "homes.parquet")
    text = (
        "data: {path: homes.parquet}\nmethod: {name: microaggregation, k: 10}\n"
        "require: {risk: {at_most: 0.5}}\nrelease: {to: out, private: keep, hold_out: 10%}"
    )
    release = run_policy(parse_policy(text), base=tmp_path).release
    assert release.published.n_series == 900
    certified = release.certificate["risk"]
    assert {"known-points", "copies", "completion", "membership"} <= set(certified)
    assert certified["completion"]["control"] is not None
    assert "of 100 subjects outside" in certified["completion"]["sentence"]
    with pytest.raises(
        ParameterError, match="the names of those kept out are written to the private folder: give private"
    ):
        parse_policy("release: {hold_out: 10%}")


def test_the_command_says_how_many_are_kept_out(tmp_path, capsys):
    TABLE.write_csv(tmp_path / "homes.csv")
    arguments = ["anonymize", str(tmp_path / "homes.csv"), "--k", "5", "--hold-out", "10%", "-o", str(tmp_path / "out")]
    assert run(arguments) == 2
    assert "Give --private DIR" in capsys.readouterr().err
    assert run([*arguments, "--private", str(tmp_path / "keep")]) == 0
    assert "10 of 100 subjects are kept out of the release" in capsys.readouterr().out


def test_too_few_to_compare_with_and_shards_are_refused():
    with pytest.raises(ParameterError, match=r"0\.01 of 100 subjects are 1, but a control needs at least 2"):
        keep_out(HOMES, 0.01, "keep", silent)
    with pytest.raises(ParameterError, match="hold-out works on panels in memory"):
        keep_out(in_shards(HOMES, Memory(), size=50), 0.1, "keep", silent)
