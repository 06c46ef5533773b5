"""Labelling in rounds, questions out and answers in."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial

import numpy as np
import polars as pl
import pytest

from label_samples import answers, telling_panel
from shoal import Microaggregation, publish
from shoal.errors import GuaranteeNotMetError, InputError, ParameterError
from shoal.features import Learned
from shoal.labels import (
    Labels,
    LabelTask,
    build_task,
    hand_out,
    is_task,
    learn_from,
    load_asked,
    load_labels,
    rounds,
    take_in,
)


def table_of(panel, path):
    n = panel.n_instants
    pl.DataFrame(
        {
            "id": np.repeat(panel.ids.astype(str), n),
            "subject": np.repeat(panel.subjects.astype(str), n),
            "time": np.tile(panel.times, panel.n_series),
            "value": panel.values.ravel(),
        }
    ).write_parquet(path)
    return path


def answer(folder, handed, analyst):
    """Fill in what was handed out, by the window total, and bring it back."""
    task = LabelTask.load(folder)
    asked = load_asked(folder, analyst)
    given = {label.position: label.answer for label in answers(task, asked, analyst)}
    path = handed / "labels.csv"
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    path.write_text("pair,label,for\n" + "".join(f"{n},{given[int(n)]},{word}\n" for n, _, word in lines))
    return path


def only_lines(path, keep):
    """The same file with the header and some of its lines."""
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *(lines[at] for at in keep)]) + "\n")
    return path


@pytest.fixture
def active(tmp_path):
    task = LabelTask.presanitised(telling_panel(), k=2, multiple=1, n_pairs=60, choice="active", common=0.4)
    return task.save(tmp_path / "task")


def test_active_choice_goes_in_rounds(active):
    task = LabelTask.load(active)
    handed = hand_out(active, "anna")
    assert (handed.folder, handed.n_pairs, handed.n_left) == (active / "for-anna", 22, 38)
    found = take_in(active, answer(active, handed.folder, "anna"), "anna")
    assert (found.n_new, len(found.labels)) == (22, 22)
    for number, left in ((2, 18), (3, 0)):
        before = load_labels(active)
        handed = hand_out(active, "anna", 20)
        assert (handed.folder.name, handed.n_left) == (f"for-anna.{number}", left)
        asked = load_asked(active, "anna")[-handed.n_pairs :]
        assert list(asked) == task.questions(before, "anna", 20)
        found = take_in(active, answer(active, handed.folder, "anna"), "anna")
    assert len(found.labels) == 60
    assert found.consistency.value == 1.0
    assert found.agreement is None
    with pytest.raises(ParameterError, match="There is no further question for analyst 'anna'"):
        hand_out(active, "anna", 20)


def test_several_analysts_are_asked_and_compared(tmp_path):
    folder = LabelTask.presanitised(telling_panel(), k=2, multiple=1, n_pairs=60).save(tmp_path / "task")
    for analyst in ("anna", "bob"):
        handed = hand_out(folder, analyst)
        assert (handed.n_pairs, handed.n_left) == (60, 0)
        found = take_in(folder, answer(folder, handed.folder, analyst), analyst)
    assert found.labels.analysts == ("anna", "bob")
    assert found.agreement.alpha == 1.0
    assert found.agreement.n_pairs >= 27
    assert found.advice.reason


def test_what_was_handed_out_is_answered_first(active):
    handed = hand_out(active, "anna")
    with pytest.raises(InputError, match="Analyst 'anna' has not answered 22 of 22 questions handed out"):
        hand_out(active, "anna", 5)
    hand_out(active, "bob")
    answer(active, handed.folder, "anna")
    take_in(active, handed.folder / "labels.csv", "anna")
    with pytest.raises(ParameterError, match="With choice='active' further questions depend on the labels"):
        hand_out(active, "anna")
    with pytest.raises(ParameterError, match="The next round must have at least 1 question"):
        hand_out(active, "anna", 0)


def test_the_same_labels_may_come_again_and_others_only_on_request(active):
    handed = hand_out(active, "anna")
    path = answer(active, handed.folder, "anna")
    take_in(active, path, "anna")
    assert take_in(active, path, "anna").n_new == 0
    only_lines(path, [0, 1])
    path.write_text(re.sub("similar|dissimilar", "undecided", path.read_text().replace("dissimilar", "similar")))
    with pytest.raises(InputError, match=r"2 of 2 labels differ from those that analyst 'anna' gave before"):
        take_in(active, path, "anna")
    assert load_labels(active).counts()["undecided"] == 0
    assert take_in(active, path, "anna", replace=True).labels.counts()["undecided"] == 2


def test_labels_of_somebody_who_was_asked_nothing_are_refused(active):
    path = answer(active, hand_out(active, "anna").folder, "anna")
    hand_out(active, "bob")
    with pytest.raises(
        InputError,
        match=r"Nothing was handed out to analyst 'analyst' from this task.* \(--analyst\): anna, bob\.",
    ):
        take_in(active, path, "analyst")
    with pytest.raises(InputError, match="these questions were not handed out to analyst 'bob' from this task"):
        take_in(active, path, "bob")
    assert load_labels(active) == Labels()


def test_before_anything_is_handed_out_nothing_is_taken_in(active, tmp_path):
    with pytest.raises(InputError, match=r"Nothing was handed out to analyst 'anna'.* Export pairs first\."):
        take_in(active, tmp_path / "labels.csv", "anna")


def test_labels_of_another_task_are_refused(active, tmp_path):
    other = LabelTask.presanitised(telling_panel(seed=1), k=2, multiple=1, n_pairs=60).save(tmp_path / "other")
    path = answer(other, hand_out(other, "anna").folder, "anna")
    hand_out(active, "anna")
    with pytest.raises(InputError, match="these questions were not handed out to analyst 'anna' from this task"):
        take_in(active, path, "anna")
    assert load_labels(active) == Labels()


def test_a_folder_that_is_none_is_no_task(tmp_path):
    with pytest.raises(InputError, match="nothing' is not a label task: No such file or directory"):
        hand_out(tmp_path / "nothing", "anna")
    with pytest.raises(InputError, match="nothing' is not a label task: No such file or directory"):
        take_in(tmp_path / "nothing", tmp_path / "labels.csv", "anna")


def at_once(*works):
    """What several threads give, or raise. A lock on a file is of whoever opened it, be that a process or a thread."""
    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(work) for work in works]
    return [one.exception() or one.result() for one in running]


def test_two_imports_at_once_lose_nothing(active, tmp_path, monkeypatch):
    handed = hand_out(active, "anna").folder
    whole = answer(active, handed, "anna").read_text()
    halves = []
    for name, keep in (("one", range(11)), ("other", range(11, 22))):
        (tmp_path / name).write_text(whole)
        halves.append(only_lines(tmp_path / name, keep))
    both_have_read = threading.Barrier(2)

    def load_and_wait(folder):
        found = load_labels(folder)
        # Without a lock the other one has read by now as well; with it there is nothing to wait for.
        with suppress(threading.BrokenBarrierError):
            both_have_read.wait(timeout=0.5)
        return found

    monkeypatch.setattr(rounds, "load_labels", load_and_wait)
    found = at_once(*(partial(rounds.take_in, active, path, "anna") for path in halves))
    assert not [one for one in found if isinstance(one, Exception)]
    assert [label.position for label in load_labels(active)] == list(range(22))
    assert [path.name for path in (active / "labels").iterdir()] == ["anna.csv"]


def test_one_analyst_is_handed_a_round_once_however_often_it_is_asked_for_at_once(active):
    found = at_once(*[partial(hand_out, active, "anna")] * 2)
    assert sum(isinstance(one, Exception) for one in found) == 1
    assert sorted(path.name for path in active.glob("for-*")) == ["for-anna"]
    assert len(load_asked(active, "anna")) == 22


def test_an_empty_template_is_no_answer(active):
    handed = hand_out(active, "anna")
    with pytest.raises(InputError, match=r"has no labels\. Fill in the column label"):
        take_in(active, handed.folder / "labels.csv", "anna")


def test_a_changed_task_takes_nothing_in_and_hands_nothing_out(active):
    handed = hand_out(active, "anna")
    path = answer(active, handed.folder, "anna")
    text = (active / "task.json").read_text()
    (active / "task.json").write_text(text.replace('"k": 2', '"k": 3'))
    for act in (
        lambda: take_in(active, path, "anna"),
        lambda: hand_out(active, "bob"),
        lambda: learn_from(active, active / "m.npz"),
    ):
        with pytest.raises(GuaranteeNotMetError, match=r"task\.json was changed"):
            act()


class TestBuilding:
    def test_from_a_table_with_k(self, tmp_path):
        table = table_of(telling_panel(), tmp_path / "x.parquet")
        task = build_task(table, {}, k=4, multiple=1, n_pairs=20)
        assert task.source == "presanitised"
        assert task.digest == LabelTask.presanitised(telling_panel(), k=4, multiple=1).digest
        assert not is_task(tmp_path)

    def test_from_a_public_table(self, tmp_path):
        table, other = (table_of(telling_panel(seed), tmp_path / f"{seed}.parquet") for seed in (0, 1))
        task = build_task(table, {}, public="simulated", private=[other])
        assert task.guarantee["parameters"] == {"compared_with_series": 48}
        with pytest.raises(GuaranteeNotMetError, match="48 of 48 series are the same as a series of a private panel"):
            build_task(table, {}, public="simulated", private=[other, table])

    def test_from_a_release(self, tmp_path):
        publish(Microaggregation(k=4).anonymize(telling_panel()), tmp_path / "out")
        assert build_task(str(tmp_path / "out"), {}).digest == LabelTask.released(tmp_path / "out").digest
        with pytest.raises(ParameterError, match="one of the two, and neither for a release"):
            build_task(tmp_path / "out", {}, k=4)
        private = telling_panel()
        task = build_task(tmp_path / "out", {}, private=[table_of(private, tmp_path / "x.parquet")])
        assert task.source == "released"

    @pytest.mark.parametrize("given", [{}, {"k": 4, "public": "simulated"}])
    def test_one_of_the_two_must_be_said(self, tmp_path, given):
        with pytest.raises(ParameterError, match=r"Give k, the smallest crowd .* or public with the reason"):
            build_task(tmp_path / "never-read.csv", {}, **given)

    def test_private_tables_are_for_public_series(self, tmp_path):
        with pytest.raises(ParameterError, match="Private tables are compared with public series"):
            build_task(tmp_path / "never-read.csv", {}, k=4, private=["x.csv"])


class TestLearning:
    def test_the_metric_is_saved_and_not_written_over(self, active, tmp_path):
        take_in(active, answer(active, hand_out(active, "anna").folder, "anna"), "anna")
        learned = learn_from(active, tmp_path / "new" / "metric.npz", seed=3)
        assert Learned.load(tmp_path / "new" / "metric.npz").digest() == learned.digest()
        assert learned.figures["seed"] == 3
        with pytest.raises(InputError, match=r"metric\.npz' exists\. Choose another name or remove it"):
            learn_from(active, tmp_path / "new" / "metric.npz")
        with pytest.raises(ParameterError, match=r"The metric's file name must end in \.npz"):
            learn_from(active, tmp_path / "metric.json")
        (tmp_path / "file").write_text("")
        with pytest.raises(InputError, match=r"Cannot write '.*metric\.npz': "):
            learn_from(active, tmp_path / "file" / "metric.npz")

    def test_without_labels_nothing_is_learned(self, active, tmp_path):
        with pytest.raises(ParameterError, match=r"none is decided\. Label pairs first"):
            learn_from(active, tmp_path / "metric.npz")
        assert load_labels(active) == Labels()
