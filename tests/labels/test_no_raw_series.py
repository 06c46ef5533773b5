"""No raw value, raw row or identifier reaches a task, its folder, or what an analyst is handed."""

import pickle
import traceback

import numpy as np
import pyarrow.parquet as pq
import pytest

from label_samples import answers, fully_answered, telling_panel
from raw_search import leaks_in_bytes, leaks_in_folder, leaks_in_object, leaks_in_text
from shoal import Microaggregation, Panel, publish
from shoal.errors import ShoalError
from shoal.labels import (
    Labels,
    LabelTask,
    advice,
    compare,
    curve,
    export_pairs,
    hand_out,
    learn,
    store_labels,
)

PUBLIC = telling_panel(seed=99)


def presanitised(panel, folder, **how):
    return LabelTask.presanitised(panel, k=4, multiple=1, **how)


def public(panel, folder, **how):
    return LabelTask.public(PUBLIC, statement="simulated", private=[panel], **how)


def released(panel, folder, **how):
    publish(Microaggregation(k=4).anonymize(panel), folder / "release")
    return LabelTask.released(folder / "release", private=[panel], **how)


def loaded(panel, folder, **how):
    return LabelTask.load(LabelTask.presanitised(panel, k=4, multiple=1, **how).save(folder / "loaded"))


@pytest.fixture(scope="module")
def panel():
    return telling_panel()


@pytest.mark.parametrize("choice", ["uniform", "active"])
@pytest.mark.parametrize("way", [presanitised, public, released, loaded])
def test_nothing_raw_reaches_a_task_or_its_files(panel, tmp_path, way, choice):
    task = way(panel, tmp_path, choice=choice, n_pairs=60)
    assert leaks_in_object(task, panel) == []
    assert leaks_in_object([task.certificate, task.guarantee, repr(task)], panel) == []
    labels = fully_answered(task)
    assert leaks_in_object(labels, panel) == []
    task.save(tmp_path / "task")
    store_labels(tmp_path / "task", labels)
    export_pairs(task, tmp_path / "handed", "anna")
    hand_out(tmp_path / "task", "bob", 7)
    learned = learn(task, labels)
    learned.save(tmp_path / "task" / "metric.npz")
    points = curve(task, labels)
    assert leaks_in_object([learned, points, advice(points, labels)], panel) == []
    for folder in ("task", "handed"):
        assert leaks_in_folder(tmp_path / folder, panel) == []


@pytest.mark.parametrize("way", [presanitised, loaded])
def test_what_is_shown_are_means_of_at_least_k_subjects(panel, tmp_path, way):
    task = way(panel, tmp_path, n_pairs=60)
    published = Microaggregation(k=4).anonymize(panel).values
    behind = {}
    for row, subject in zip(published, panel.subjects, strict=True):
        behind.setdefault(row.tobytes(), set()).add(subject)
    export_pairs(task, tmp_path / "handed", "anna")
    table = pq.read_table(tmp_path / "handed" / "pairs.parquet")
    assert table.column_names == ["pair", "time", "left", "right"]
    for side in ("left", "right"):
        for row in table[side].to_numpy().reshape(-1, panel.n_instants):
            assert len(behind[row.tobytes()]) >= 4


def test_the_folder_does_not_tell_which_curves_share_a_subject(panel, tmp_path):
    folder = LabelTask.presanitised(panel, k=4, multiple=1).save(tmp_path / "task")
    assert pq.read_table(folder / "series.parquet").column_names == ["series", "time", "value"]
    assert sorted(path.name for path in folder.iterdir()) == ["series.parquet", "shown.json", "task.json"]
    assert (folder / "shown.json").stat().st_mode & 0o077 == 0  # that one does, and is for its owner alone


def test_of_public_series_only_those_given_are_shown(panel, tmp_path):
    task = public(panel, tmp_path)
    assert {row.tobytes() for row in task.values} == {row.tobytes() for row in PUBLIC.values}


def test_the_comparison_gives_figures_and_no_values(panel):
    task = presanitised(panel, None, n_pairs=60)
    learned = learn(task, fully_answered(task))
    found = compare(panel, lambda x: x[:, 3:6].sum(axis=1), k=4, metrics={"linear": learned})
    assert leaks_in_object(found, panel) == []


def test_errors_quote_no_value_and_no_identifier(panel, tmp_path):
    broken = Panel(np.where(np.eye(48, 12) > 0, np.nan, panel.values), ids=panel.ids, subjects=panel.subjects)
    wrong = [
        lambda: LabelTask.presanitised(panel, k=25, multiple=1),
        lambda: LabelTask.presanitised(broken, k=4, multiple=1),
        lambda: LabelTask.public(panel, statement="simulated", private=[panel]),
        lambda: LabelTask(panel.values),
        lambda: learn(presanitised(panel, None), Labels()),
        lambda: learn(
            presanitised(panel, None), Labels(tuple(answers(PUBLIC_TASK, PUBLIC_TASK.plan("anna"), within=3.0)))
        ),
    ]
    for mistake in wrong:
        with pytest.raises(ShoalError) as caught:
            mistake()
        assert leaks_in_text("".join(traceback.format_exception_only(caught.value)), panel) == []


PUBLIC_TASK = LabelTask.public(PUBLIC, statement="simulated")


class TestThisSearch:
    """A search that cannot find anything would show nothing."""

    def test_a_raw_row_in_a_task_is_found(self, panel):
        task = LabelTask.public(panel, statement="a mistake")
        assert leaks_in_object(task, panel)
        assert leaks_in_bytes(pickle.dumps(task), panel)

    def test_one_raw_value_in_a_file_is_found(self, panel, tmp_path):
        LabelTask.public(Panel(panel.values[:2]), statement="a mistake").save(tmp_path / "task")
        assert leaks_in_folder(tmp_path / "task", panel)
        (tmp_path / "text").mkdir()
        (tmp_path / "text" / "a.txt").write_text(f"the value is {panel.values[3, 4]!r}")
        assert leaks_in_folder(tmp_path / "text", panel) == ["a.txt: value at " + leak_position(panel, 3, 4)]

    def test_an_identifier_is_found(self, panel, tmp_path):
        assert leaks_in_object({"who": [panel.ids[3]]}, panel)
        (tmp_path / "a.bin").write_bytes(b"\x00" + panel.subjects[5].encode())
        assert leaks_in_folder(tmp_path, panel)


def leak_position(panel, row, instant):
    return str(list(set(panel.values.ravel().tolist())).index(panel.values[row, instant]))
