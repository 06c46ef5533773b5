"""Subjects kept out of a release, and what attacks find of them."""

import json

import numpy as np
import pytest

import shoal
from shard_examples import items
from shoal import Microaggregation, NoisyAggregates, Panel, load_release, run_policy, simulate
from shoal.cli.app import run
from shoal.engines import Local, Memory, in_shards
from shoal.errors import InputError, ParameterError
from shoal.model.joined import join_candidates
from shoal.model.watcher import silent
from shoal.process.anonymization import anonymize_source
from shoal.process.hold_out import as_share, attack_whole, control_risks, gained_by, keep_out
from shoal.process.policy import parse_policy
from shoal.process.policy.schema import EnginePart
from shoal.process.release_attack import attack_release
from shoal.process.remembered import recall_held_out
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
    rest, out = keep_out(panel, 0.1, silent, seed=4)
    assert (rest.n_subjects, out.panel.n_subjects, len(out.names)) == (18, 2, 10)
    again = keep_out(panel, 0.1, silent, seed=4)[1]
    assert again.names == out.names
    changed = Panel(HOMES.values + 1.0, subjects=np.repeat(np.arange(20), 5))
    drawn = [keep_out(panel, 0.1, silent, seed=seed)[1].panel.ids.tolist() for seed in range(8)]
    others = [keep_out(changed, 0.1, silent, seed=seed)[1].panel.ids.tolist() for seed in range(8)]
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
        # A limit is on what is gained: half of all answers about membership are right by guessing.
        assert gained_by(*found[name]) == max(0.0, high)
    link, risk = found["known-points"]
    assert gained_by(link, risk) == risk.interval.high


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
    assert "for 100 subjects outside, " in certified["completion"]["sentence"]
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


@pytest.mark.parametrize("panel", [HOMES, in_shards(HOMES, Memory(), size=50)])
def test_too_few_to_compare_with_are_refused(panel):
    with pytest.raises(ParameterError, match=r"0\.001 of 100 subjects are 0, but a control needs at least 2"):
        keep_out(panel, 0.001, silent)


class TestShards:
    homes = Panel(HOMES.values, ids=HOMES.ids, subjects=[f"home {i // 2}" for i in range(100)], times=HOMES.times)

    def test_subjects_are_kept_out_whole_the_same_on_every_engine(self):
        found = []
        with Local() as local:
            for engine in (Memory(), local):
                rest, out = keep_out(in_shards(self.homes, engine, size=30), 0.3, silent, seed=1)
                assert rest.n_series + len(out.names) == 100
                assert (rest.n_subjects, rest.whole.n_missing) == (50 - out.panel.n_subjects, 0)
                assert 5 <= out.panel.n_subjects <= 25
                assert len(out.names) == 2 * out.panel.n_subjects
                assert sorted(out.panel.ids) == list(out.names)
                found.append(out.names)
        assert found[0] == found[1]
        other = keep_out(in_shards(self.homes, Memory(), size=30), 0.3, silent, seed=2)[1]
        changed = Panel(HOMES.values + 1.0, ids=HOMES.ids, subjects=self.homes.subjects)
        again = keep_out(in_shards(changed, Memory(), size=30), 0.3, silent, seed=1)[1]
        assert len({found[0], other.names, again.names}) == 3  # without the readings nobody draws the same

    def test_a_release_in_shards_is_compared_with_those_kept_out(self, tmp_path):
        engine = EnginePart(name="local", shard_size=30)
        out, keep = tmp_path / "out", tmp_path / "keep"
        anonymize_source(TABLE, Microaggregation(k=5), out, {}, engine=engine, hold_out=0.2, private=keep)
        names = json.loads(next(keep.glob("reading-*.json")).read_text())["held_out"]
        assert 5 < len(names) < 40
        release = load_release(out)
        assert release.published.n_series == 100 - len(names)
        inside = HOMES.take(np.flatnonzero(~np.isin(HOMES.ids.astype(str), names)))
        assert release.published.values.mean(axis=0) == pytest.approx(inside.values.mean(axis=0))
        found = attack_release(TABLE, {}, out, keep)
        assert found["membership"][1].control is not None
        assert shoal.judge(TABLE, out, private=keep, knows={"points": 5}).n_control == len(names)

    def test_the_command_keeps_out_in_shards(self, tmp_path, capsys):
        TABLE.write_parquet(tmp_path / "homes.parquet")
        arguments = ["--k", "5", "--hold-out", "20%", "--shard-size", "30", "--private", str(tmp_path / "keep")]
        assert run(["anonymize", str(tmp_path / "homes.parquet"), *arguments, "-o", str(tmp_path / "out")]) == 0
        assert "of 100 subjects are kept out of the release" in capsys.readouterr().out


@pytest.mark.parametrize("shards", [False, True])
def test_a_result_in_python_is_compared_with_those_kept_out(shards, tmp_path):
    data = in_shards(HOMES, Memory(), size=30) if shards else TABLE
    result = shoal.anonymize(data, k=5, hold_out="20%")
    n_out = len(result.held_out.names)
    assert (result.candidate.n_series if shards else len(result.candidate.published)) == 100 - n_out
    found = result.attack(n_targets=20)
    for name in ("copies", "completion", "membership"):
        value, low, high = found[name].excess
        assert low <= value <= high
    assert result.attack("membership").control == found["membership"].control
    with pytest.raises(ParameterError, match="who is kept out is written to the private folder"):
        result.publish(tmp_path / "out")
    release = result.publish(tmp_path / "out", private=tmp_path / "keep")
    assert len(recall_held_out(tmp_path / "keep", release)) == n_out
    assert "copies" not in shoal.anonymize(TABLE, k=5).attack(n_targets=20)


def test_figures_of_shards_are_those_of_memory():
    """With everybody in the sample, the attacks find what they find in one piece."""
    rest, out = keep_out(in_shards(HOMES, Memory(), size=30), 0.2, silent)
    candidate = Microaggregation(k=5).anonymize(rest)
    whole = join_candidates(candidate.map(items), names=True)
    expected = attack_whole(whole.private.original, whole.published, out.panel)
    found = control_risks(candidate, out)
    assert {name: risk for name, (risk, _) in found.items()} == {name: risk for name, (_, risk) in expected.items()}


NOISE = NoisyAggregates(epsilon=1.0, lower=0.0, upper=1.0)


def test_one_subject_decides_who_is_kept_out_and_so_more_than_noise_covers(rng):
    x = rng.random((200, 1)).round()
    other = x.copy()
    other[7] = 1.0 - other[7]
    sums = [[keep_out(Panel(one), 0.5, silent, seed)[0].values.sum() for one in (x, other)] for seed in range(10)]
    assert np.abs(np.diff(sums)).max() > 1.0


def test_differential_privacy_and_hold_out_are_refused_together(tmp_path):
    message = "hold-out keeps no differential privacy: who is kept out is drawn by the readings"
    with pytest.raises(ParameterError, match=message):
        shoal.anonymize(HOMES, method=NOISE, hold_out=0.1)
    with pytest.raises(ParameterError, match=message):
        anonymize_source(TABLE, NOISE, tmp_path / "out", {}, hold_out=0.1, private=tmp_path / "keep")
    TABLE.write_parquet(tmp_path / "homes.parquet")
    epsilon = "model: closed, closed: {epsilon: 0.1, lower: 0, upper: 5}"
    noisy = "{name: noisy-aggregates, epsilon: 1, lower: 0, upper: 5}"
    for method, more in ((noisy, "model: publish"), ("{name: microaggregation, k: 5}", epsilon)):
        release = f"{{to: out, private: keep, hold_out: 10%, {more}}}"
        text = f"data: {{path: homes.parquet}}\nmethod: {method}\nrelease: {release}\n"
        with pytest.raises(ParameterError, match=message):
            run_policy(parse_policy(text), base=tmp_path)
    assert not (tmp_path / "out").exists()
