"""Learning from a task's labels, and what each label has brought."""

import builtins

import numpy as np
import pytest

from label_samples import fully_answered, telling_panel
from shoal import Microaggregation, Panel
from shoal.errors import ParameterError
from shoal.features import LinearMetric
from shoal.labels import Label, Labels, LabelTask, curve, labelled_pairs, learn, metric
from shoal.labels.metric import _sizes


@pytest.fixture(scope="module")
def task():
    days = np.random.default_rng(3).gamma(2.0, size=(120, 12))
    return LabelTask.public(Panel(days), statement="simulated", n_pairs=330, repeats=0.1)


@pytest.fixture(scope="module")
def labels(task):
    return fully_answered(task, window=slice(3, 4))


def test_a_metric_is_learned_from_the_labelled_pairs(task, labels):
    learned = learn(task, labels)
    assert learned.digest() == LinearMetric().learn(*labelled_pairs(task, labels)).digest()
    assert learned.used
    assert learned.figures["n_pairs"] == 297
    assert int(np.abs(learned.layers[0][0]).sum(axis=0).argmax()) == 3
    assert learn(task, labels, seed=1).digest() != learned.digest()


def test_it_is_taken_for_features(task, labels):
    panel = Panel(np.random.default_rng(8).gamma(2.0, size=(60, 12)))
    learned = learn(task, labels)
    assert Microaggregation(k=4, features=learned).anonymize(panel).check().holds


def test_a_deep_metric_is_learned_as_well(task, labels):
    pytest.importorskip("torch")
    learned = learn(task, labels, "deep")
    assert learned.kind == "deep"
    assert learned.figures["n_pairs"] == 297


def test_without_torch_the_way_out_is_named(task, labels, monkeypatch):
    whole = builtins.__import__

    def without(name, *rest):
        if name == "torch":
            raise ImportError
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ParameterError, match=r"pip install 'shoal\[deep\]'"):
        learn(task, labels, "deep")


def test_too_few_labels_and_unknown_metrics_are_refused(task, labels):
    with pytest.raises(ParameterError, match="Learning needs at least 5 similar and 5 dissimilar pairs"):
        learn(task, Labels(tuple(labels)[:4]))
    for of in (learn, curve):
        with pytest.raises(ParameterError, match="metric must be one of: auto, linear, deep"):
            of(task, labels, "cubic")
    with pytest.raises(ParameterError, match="steps must be a whole number of at least 1"):
        curve(task, labels, steps=0)


class TestCurve:
    def test_it_rises_with_the_labels_and_ends_at_what_learning_finds(self, task, labels):
        points = curve(task, labels)
        assert [point.n_labels for point in points] == sorted({point.n_labels for point in points})
        assert points[-1].n_labels == len(labels)
        assert points[-1].learned > points[0].learned
        assert points[-1].learned - points[-1].euclidean > 2 * points[-1].error > 0
        figures = learn(task, labels).figures
        assert points[-1].learned == pytest.approx(figures["held_out_learned"], abs=0.03)
        # Learning draws what it holds out several times, the curve once.
        assert points[-1].euclidean == pytest.approx(figures["held_out_euclidean"], abs=0.1)

    def test_all_points_are_judged_on_the_same_pairs(self, task, labels):
        points = curve(task, labels)
        assert len(points) > 3
        assert len({point.euclidean for point in points}) == 1

    def test_a_point_learns_from_no_later_label_and_from_no_series_it_is_judged_on(self, task, labels, monkeypatch):
        seen = []

        def spy(train, held):
            seen.append((train, held))
            return held.distances(held.series)

        monkeypatch.setattr(metric, "_linear", lambda method, pairs: spy)
        points = curve(task, labels, steps=4)
        assert len(seen) == 3 * len(points)
        position = {row.tobytes(): at for at, row in enumerate(task.values)}
        for at, (train, held) in enumerate(seen):
            early = {label.pair for label in tuple(labels)[: points[at // 3].n_labels]}
            ends = [[position[train.series[end].tobytes()] for end in side] for side in (train.left, train.right)]
            assert {tuple(sorted(pair)) for pair in zip(*ends, strict=True)} <= early
            assert not set(held.left.tolist() + held.right.tolist()) & set(train.left.tolist() + train.right.tolist())

    def test_a_deep_one_can_be_drawn(self, task, labels):
        pytest.importorskip("torch")
        points = curve(task, labels, "deep", steps=2)
        assert points[-1].n_labels == len(labels)
        assert points[-1].euclidean == curve(task, labels)[-1].euclidean

    def test_with_few_labels_or_one_answer_there_is_none(self, task, labels):
        assert curve(task, Labels()) == []
        assert curve(task, Labels(tuple(labels)[:8])) == []
        alike = Labels(tuple(Label("anna", q.position, q.left, q.right, "similar") for q in task.plan("anna")))
        assert curve(task, alike) == []

    def test_actively_chosen_pairs_are_not_judged_on(self, monkeypatch):
        days = np.random.default_rng(3).gamma(2.0, size=(120, 12))
        active = LabelTask.public(Panel(days), statement="simulated", n_pairs=300, choice="active", common=0.7)
        labels = fully_answered(active, window=slice(3, 4))
        drawn = {question.pair for question in active.plan("anna")}
        judged = []
        whole = metric.HeldOut
        monkeypatch.setattr(metric, "HeldOut", lambda held, found: judged.append(held) or whole(held, found))
        assert curve(active, labels, steps=1)
        for held in judged:
            rows = {row.tobytes(): at for at, row in enumerate(active.values)}
            ends = [[rows[held.series[end].tobytes()] for end in side] for side in (held.left, held.right)]
            assert {(min(pair), max(pair)) for pair in zip(*ends, strict=True)} <= drawn
        assert sum(held.n_pairs for held in judged) > 20

    def test_without_uniform_pairs_all_are_judged_on(self):
        days = np.random.default_rng(3).gamma(2.0, size=(120, 12))
        active = LabelTask.public(Panel(days), statement="simulated", n_pairs=300, choice="active", common=0.0)
        assert curve(active, fully_answered(active, window=slice(3, 4)))

    def test_sizes_are_halves_with_one_step_between(self):
        assert _sizes(200, 5) == [50, 70, 100, 141, 200]
        assert _sizes(3, 8) == [0, 1, 2, 3]


def test_learning_from_two_series_of_one_person_is_no_different():
    """Labels are about curves; who is behind them plays no part."""
    task = LabelTask.presanitised(telling_panel(), k=2, multiple=1, n_pairs=80)
    assert learn(task, fully_answered(task)).figures["n_pairs"] == 72
