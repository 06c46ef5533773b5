"""What analysts were shown is a release: what is released later stays within it, and at least k are left of both."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from label_samples import fully_answered, telling_panel
from raw_search import leaks_in_bytes
from shard_examples import all_of
from shoal import Microaggregation, NoiseAddition, Panel, Steps, publish, simulate
from shoal.cli.app import run
from shoal.cli.sentences import Told, release_rows
from shoal.engines import Local, Memory, in_shards
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.features import Learned, ShownGroups
from shoal.labels import LabelTask, learn
from shoal.ledger.conflicts import judge_entries
from shoal.ledger.file import read_ledger
from shoal.streams import IncrementalMicroaggregation

K = 4


@pytest.fixture(scope="module")
def days():
    return simulate.occupancy(160, days=1, step="1h", seed=5)


@pytest.fixture(scope="module")
def task(days):
    return LabelTask.presanitised(days, k=K)


@pytest.fixture(scope="module")
def learned(task):
    found = learn(task, fully_answered(task, window=slice(9, 13)))
    return replace(found, figures=found.figures | {"used": True})  # what it learned is beside the point here


def shown_rows(task, panel):
    """The curve that stands for each series in a task: the groups anybody can form who has the panel."""
    rows = Microaggregation(k=task.guarantee["groups_of"]).anonymize(panel).values.reshape(panel.n_series, -1) + 0.0
    assert {row.tobytes() for row in rows} == {row.tobytes() for row in task.values}
    return rows


def crowds(shown, released, subjects):
    """For each series how many subjects have the same curve in both."""
    both = [a.tobytes() + b.tobytes() for a, b in zip(shown, np.ascontiguousarray(released), strict=True)]
    behind = {}
    for curve, subject in zip(both, subjects, strict=True):
        behind.setdefault(curve, set()).add(subject)
    return np.array([len(behind[curve]) for curve in both])


def test_task_and_release_leave_crowds_of_k(days, task, learned, tmp_path):
    assert task.guarantee["measured"] >= 4 * K
    candidate = Microaggregation(k=K, features=learned).anonymize(days)
    publish(candidate, tmp_path / "out", ledger=tmp_path / "ledger.jsonl")
    shown = shown_rows(task, days)
    left = crowds(shown, candidate.values, range(days.n_series))
    assert left.min() == K
    # Free to cross what was shown, the same metric leaves most of them in smaller crowds, and some alone.
    free = Microaggregation(k=K, features=replace(learned, shown=None)).anonymize(days)
    left = crowds(shown, free.values, range(days.n_series))
    assert (left < K).mean() > 0.3
    assert left.min() == 1


@pytest.mark.parametrize("engine", [Memory, Local])
def test_shards_stay_within_as_well(days, task, learned, engine, tmp_path):
    """Of a group that was shown a shard has at least some groups of the release, or all; absent are those of nobody."""
    shown = dict(zip(days.ids, shown_rows(task, days), strict=True))
    more = np.concatenate([days.values, days.values[::-1] + 1.0])
    kind = np.resize(list("aab"), 2 * days.n_series)
    both = Panel(more, ids=[*days.ids, *(f"other {i}" for i in range(days.n_series))], attributes={"kind": kind})
    with engine() as opened:
        shards = in_shards(both, opened, size=30)
        for method in (Microaggregation(k=K, features=learned), Microaggregation(k=K, within=task.shown_groups)):
            for one in (method, replace(method, attributes="kind")):
                candidate = one.anonymize(shards)
                assert candidate.n_shards > 3
                found = all_of(candidate)
                ids = [name for shard in found for name in shard.private.original.ids]
                assert sorted(ids) == sorted(both.ids)
                before = [shown.get(name, np.zeros(1)) for name in ids]
                released = np.concatenate([shard.values for shard in found])
                assert crowds(before, released, ids).min() >= K
                assert "shown_elsewhere" not in candidate.recipe.figures
        publish(candidate, tmp_path / "out")
        absent = in_shards(both.take(np.arange(2, both.n_series)), opened, size=30)
        with pytest.raises(GuaranteeNotMetError, match="their absence would identify them"):
            method.anonymize(absent)
        others = in_shards(both.take(np.arange(days.n_series, both.n_series)), opened, size=30)
        with pytest.raises(ParameterError, match="in which nobody in the panel was shown"):
            method.anonymize(others)
        elsewhere = Microaggregation(k=K, features=learned).anonymize(others)
        assert elsewhere.recipe.figures["shown_elsewhere"] == days.n_series


def test_a_metric_that_is_not_used_stays_within_as_well(days, task, learned):
    unused = replace(learned, figures=learned.figures | {"used": False})
    released = Microaggregation(k=K, features=unused).anonymize(days).values
    assert crowds(shown_rows(task, days), released, range(days.n_series)).min() == K


def test_other_features_stay_within_if_they_are_told(days, task, tmp_path):
    folder = task.save(tmp_path / "task")
    shutil.copy(folder / "shown.json", folder / "kept.json")
    files = (str(folder / "shown.json"), str(folder / "kept.json"))
    for within in (task.shown_groups, (task.shown_groups, task.shown_groups), *files):
        candidate = Microaggregation(k=5, within=within).anonymize(days)
        assert crowds(shown_rows(task, days), candidate.values, range(days.n_series)).min() >= 5
        assert candidate.recipe.parameters["within"] == "groups shown to analysts"
    free = Microaggregation(k=5).anonymize(days).values
    assert crowds(shown_rows(task, days), free, range(days.n_series)).min() < 5


def test_crowds_are_of_subjects_where_they_have_several_series(tmp_path):
    panel = simulate.occupancy(60, days=4, step="1h", seed=6)
    task = LabelTask.presanitised(panel, k=3)
    learned = learn(task, fully_answered(task, window=slice(9, 13)))
    candidate = Microaggregation(k=3, features=learned).anonymize(panel)
    publish(candidate, tmp_path / "out")
    assert crowds(shown_rows(task, panel), candidate.values, panel.subjects).min() == 3
    another_day = Panel(panel.values, ids=[f"{i} later" for i in panel.ids], times=panel.times, subjects=panel.subjects)
    with pytest.raises(GuaranteeNotMetError, match=r"240 of 240 series are of subjects whose other series .* several"):
        Microaggregation(k=3, features=learned).anonymize(another_day)


def test_the_gate_refuses_groups_that_cross_those_shown(days, task, learned, tmp_path):
    crossing = Microaggregation(k=K, features=replace(learned, shown=None)).anonymize(days)
    told = replace(crossing, private=replace(crossing.private, shown=task.shown_groups.within(days)))
    with pytest.raises(GuaranteeNotMetError, match=r"Together with what analysts were shown.*smallest has 1, 4 are"):
        publish(told, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


class TestPanels:
    def test_other_days_of_the_same_people_belong_to_their_group(self, days, task):
        order = np.random.default_rng(0).permutation(days.n_series)
        later = Panel(days.values[order] + 1.0, ids=[f" {i} " for i in days.ids[order]], times=days.times)
        assert_array_equal(task.shown_groups.within(later), task.shown_groups.within(days)[order])

    def test_people_who_were_not_shown_are_a_crowd_of_their_own(self, days, task, learned):
        others = Panel(days.values[::-1], ids=[f"other-{i}" for i in range(days.n_series)], times=days.times)
        assert (task.shown_groups.within(others) == -1).all()
        free = Microaggregation(k=K, features=replace(learned, shown=None)).anonymize(others)
        assert_array_equal(Microaggregation(k=K, features=learned).anonymize(others).values, free.values)
        both = Panel(
            np.concatenate([days.values, others.values[:9]]), ids=[*days.ids, *others.ids[:9]], times=days.times
        )
        candidate = Microaggregation(k=K, features=learned).anonymize(both)
        groups = [set(candidate.private.groups[part]) for part in (slice(0, 160), slice(160, 169))]
        assert not groups[0] & groups[1]

    def test_groups_in_which_nobody_here_was_shown_are_refused_and_a_metric_from_such_is_told(
        self, days, task, learned, tmp_path, capsys
    ):
        others = Panel(days.values, ids=[f"other-{i}" for i in range(days.n_series)], times=days.times)
        for within in (task.shown_groups, (task.shown_groups, ShownGroups.of(others, [0] * 160, k=K))):
            with pytest.raises(ParameterError, match="groups of a label task in which nobody in the panel was shown"):
                Microaggregation(k=K, within=within).anonymize(others)
        candidate = Microaggregation(k=K, features=learned).anonymize(others)
        assert candidate.recipe.figures["shown_elsewhere"] == 160
        assert "shown_elsewhere" not in Microaggregation(k=K, features=learned).anonymize(days).recipe.figures
        release = publish(candidate, tmp_path / "out")
        told = "The metric was learned from means of 160 subjects, none of whom is in this release"
        assert told in dict(release_rows(Told.of(release)))["metric"]
        assert told in (tmp_path / "out" / "report.html").read_text()

    def test_a_few_others_beside_those_shown_are_refused(self, days, learned):
        both = Panel(np.concatenate([days.values, days.values[:3]]), ids=[*days.ids, "x", "y", "z"], times=days.times)
        with pytest.raises(GuaranteeNotMetError, match=r"fewer than k=4 subjects here, the smallest 3"):
            Microaggregation(k=K, features=learned).anonymize(both)

    def test_people_whose_series_are_taken_for_several_people_are_refused(self, learned):
        values = np.random.default_rng(4).random((48, 6))
        people = Panel(values, subjects=[f"person-{i // 2}" for i in range(48)], ids=[f"day-{i}" for i in range(48)])
        task = LabelTask.presanitised(people, k=3, multiple=1, n_pairs=10)
        with pytest.raises(GuaranteeNotMetError, match=r"24 subject\(s\) whose series .* are several subjects here"):
            task.shown_groups.within(Panel(values, ids=people.ids))

    def test_a_release_with_a_smaller_k_than_the_task_promised_is_refused(self, days, learned):
        with pytest.raises(ParameterError, match=r"k=2 is below the k=4 that the label task promised"):
            Microaggregation(k=2, features=learned).anonymize(days)

    def test_a_few_who_are_missing_would_be_known_by_their_absence(self, days, learned):
        with pytest.raises(GuaranteeNotMetError, match=r"fewer than 4: their absence would identify them"):
            Microaggregation(k=K, features=learned).anonymize(days.take(np.arange(2, 160)))

    def test_a_k_beyond_the_groups_shown_is_refused(self, days, learned):
        with pytest.raises(GuaranteeNotMetError, match=r"groups that analysts were shown.*fewer than k=40 subjects"):
            Microaggregation(k=40, features=learned).anonymize(days)

    def test_an_attribute_is_kept_to_as_well(self, days, task, learned):
        shown = task.shown_groups.within(days)
        tariff = np.empty(160, dtype="<U1")
        for group in np.unique(shown):  # half of each
            tariff[shown == group] = np.resize(["a", "b"], int((shown == group).sum()))
        panel = Panel(days.values, ids=days.ids, times=days.times, attributes={"tariff": tariff})
        groups = Microaggregation(k=K, features=learned, within="tariff").anonymize(panel).private.groups
        for group in np.unique(groups):
            assert len(set(tariff[groups == group])) == len(set(shown[groups == group])) == 1


class TestFiles:
    def test_a_metric_keeps_who_was_shown_with_whom(self, days, learned, tmp_path):
        again = Learned.load(learned.save(tmp_path / "metric.npz"))
        assert again.digest() == learned.digest()
        assert_array_equal(again.shown.within(days), learned.shown.within(days))
        assert "shown" not in json.dumps(again.entry)
        assert replace(learned, shown=None).digest() != learned.digest()

    def test_neither_task_nor_metric_names_anybody(self, tmp_path):
        panel = telling_panel()
        task = LabelTask.presanitised(panel, k=2, multiple=1, n_pairs=60)
        task.save(tmp_path / "task")
        learn(task, fully_answered(task)).save(tmp_path / "metric.npz")
        for path in (tmp_path / "metric.npz", tmp_path / "task" / "shown.json"):
            assert leaks_in_bytes(path.read_bytes(), panel) == []

    @pytest.mark.parametrize(
        ("spoil", "error", "message"),
        [
            (lambda path: path.unlink(), InputError, r"has no shown\.json.*Restore it, or build the task again"),
            (lambda path: path.write_text("{}"), InputError, r"is not the shown\.json of a label task, or was changed"),
            (lambda path: path.write_text(path.read_text().replace('"k": 4', '"k": 2')), InputError, "was changed"),
            (
                lambda path: path.write_bytes(ShownGroups.of(Panel(np.eye(8)), [0] * 8, 4).as_bytes()),
                GuaranteeNotMetError,
                "about who was shown together does not match its curves",
            ),
        ],
    )
    def test_a_task_without_its_groups_is_not_opened(self, task, tmp_path, spoil, error, message):
        folder = task.save(tmp_path / "task")
        spoil(folder / "shown.json")
        with pytest.raises(error, match=message):
            LabelTask.load(folder)

    def test_public_and_released_series_leave_the_groups_free(self, days, tmp_path):
        publish(Microaggregation(k=K).anonymize(days), tmp_path / "out")
        for task in (LabelTask.public(days, statement="simulated"), LabelTask.released(tmp_path / "out")):
            assert task.shown_groups is None
            assert learn(task, fully_answered(task, window=slice(9, 13))).shown is None


class TestLedger:
    def test_a_task_is_recorded_and_a_release_judged_beside_it(self, days, tmp_path):
        ledger = tmp_path / "ledger.jsonl"
        task = LabelTask.presanitised(days, k=K, ledger=ledger)
        (entry,) = read_ledger(ledger)
        assert (entry.form, entry.certificate) == ("label task", task.digest)
        with pytest.raises(GuaranteeNotMetError, match=r"Together with 1 earlier release\(s\)"):
            publish(Microaggregation(k=5).anonymize(days), tmp_path / "free", ledger=ledger)
        learned = learn(task, fully_answered(task, window=slice(9, 13)))
        publish(Microaggregation(k=K, features=learned).anonymize(days), tmp_path / "out", ledger=ledger)
        verdict = judge_entries(read_ledger(ledger))
        assert (verdict.holds, verdict.smallest, verdict.promised) == (True, K, K)

    def test_a_task_that_breaks_an_earlier_promise_is_refused_and_not_recorded(self, days, tmp_path):
        ledger = tmp_path / "ledger.jsonl"
        LabelTask.presanitised(days, k=K, ledger=ledger)
        LabelTask.presanitised(days, k=K, seed=3, ledger=ledger)  # the same groups again
        with pytest.raises(GuaranteeNotMetError, match=r"Together with 2 earlier release\(s\)"):
            LabelTask.presanitised(days, k=3, ledger=ledger)
        assert len(read_ledger(ledger)) == 2

    def test_an_interrupted_first_record_is_no_lost_ledger(self, days, tmp_path, monkeypatch):
        def killed(*_):
            raise KeyboardInterrupt

        ledger = tmp_path / "ledger.jsonl"
        with monkeypatch.context() as patched:
            patched.setattr("shoal.ledger.file._write_line", killed)
            with pytest.raises(KeyboardInterrupt):
                LabelTask.presanitised(days, k=K, ledger=ledger)
        assert read_ledger(ledger) == ()
        LabelTask.presanitised(days, k=K, ledger=ledger)
        assert len(read_ledger(ledger)) == 1


def test_what_cannot_stay_within_is_refused(learned):
    with pytest.raises(ParameterError, match="A growing panel does not stay within groups that analysts were shown"):
        IncrementalMicroaggregation(Microaggregation(k=K, features=learned))
    with pytest.raises(ParameterError, match="A step does not recognise series by their names"):
        Steps((NoiseAddition(snr=10.0), Microaggregation(k=K, features=learned)))


@pytest.mark.parametrize("multiple", [0, True, 2.5])
def test_impossible_multiples_are_refused(days, multiple):
    with pytest.raises(ParameterError, match="multiple must be a whole number of at least 1"):
        LabelTask.presanitised(days, k=K, multiple=multiple)


def test_too_few_subjects_for_groups_that_large(days):
    with pytest.raises(ParameterError, match=r"groups of 4 times k=50 needs at least 200 subjects, the panel has 160"):
        LabelTask.presanitised(days, k=50)


def test_the_command_line_leaves_crowds_of_k(days, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = {"id": np.repeat(days.ids.astype(str), 24), "time": np.tile(days.times, 160), "value": days.values.ravel()}
    pl.DataFrame(rows).write_csv("days.csv")
    assert run(["label", "export", "days.csv", "--k", "4", "--ledger", "ledger.jsonl", "--analyst", "anna"]) == 0
    assert "must stay within the groups shown" in capsys.readouterr().out.replace("\n", " ")
    pairs = pl.read_parquet("task/for-anna/pairs.parquet").filter(pl.col("time").dt.hour().is_between(9, 12))
    apart = pairs.group_by("pair", maintain_order=True).agg(d=(pl.col("left") - pl.col("right")).abs().sum())
    alike = pl.when(pl.col("d") <= apart["d"].median()).then(pl.lit("similar")).otherwise(pl.lit("dissimilar"))
    handed = pl.read_csv("task/for-anna/labels.csv").select("pair", "for")
    apart.select("pair", label=alike).join(handed, on="pair").write_csv("task/for-anna/labels.csv")
    assert run(["label", "import", "task", "task/for-anna/labels.csv", "--analyst", "anna"]) == 0
    assert run(["learn", "task"]) == 0
    made = ["anonymize", "days.csv", "--ledger", "ledger.jsonl", "--private", "keep", "-o", "out"]
    assert run([*made, "--k", "5"]) == 1
    assert run([*made, "--k", "4", "--features", "metric.npz"]) == 0
    assert run(["ledger", "check", "ledger.jsonl"]) == 0
    assert "smallest crowd  4, promised 4" in capsys.readouterr().out
    # By what was handed out and what was released, and who is who.
    (map_,) = (tmp_path / "keep").glob("pseudonyms-*.parquet")
    names = pl.read_parquet(map_).select("id", "pseudonym")
    data = pl.read_parquet("out/data.parquet").join(names, left_on="id", right_on="pseudonym").sort("id_right", "time")
    order = np.argsort(days.ids.astype(str))
    released = data["value"].to_numpy().reshape(160, 24)
    shown = shown_rows(LabelTask.load("task"), days)[order]
    assert crowds(shown, released, range(160)).min() == 4
