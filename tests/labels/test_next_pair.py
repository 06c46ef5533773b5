"""Active choice: uncertain pairs first, and no pair twice."""

from dataclasses import replace

import numpy as np
import pytest

from label_samples import answers, fully_answered, telling_panel
from shoal import Panel, simulate
from shoal.errors import ParameterError
from shoal.features.interests import Segment, distances
from shoal.labels import Label, Labels, LabelTask, learn
from shoal.labels.next_pair import _spread


@pytest.fixture(scope="module")
def task():
    curves = np.random.default_rng(5).gamma(2.0, size=(150, 12))
    return LabelTask.public(Panel(curves), statement="simulated", n_pairs=300, choice="active", common=0.2)


def test_chosen_pairs_lie_nearer_to_the_border_than_others(task):
    matters = {"window": slice(3, 4), "within": 1.0}
    labels = Labels(tuple(answers(task, task.plan("anna"), **matters)))

    def beyond(questions):
        return np.mean([abs(abs(task.values[q.left, 3] - task.values[q.right, 3]) - 1.0) for q in questions])

    chosen = [question for question in task.questions(labels, "anna", 20) if question.repeat_of is None]
    assert beyond(chosen) < 0.6 * beyond(task.plan("bob"))


def test_before_both_answers_are_known_pairs_are_drawn(task):
    labels = Labels(tuple(Label("anna", q.position, q.left, q.right, "similar") for q in task.plan("anna")))
    chosen = [question for question in task.questions(labels, "anna", 20) if question.repeat_of is None]
    assert len({question.pair for question in chosen}) == len(chosen) > 10
    assert not {question.pair for question in chosen} & {label.pair for label in labels}


def test_questions_handed_out_together_are_about_different_curves(task):
    labels = Labels(tuple(answers(task, task.plan("anna"))))
    chosen = [question for question in task.questions(labels, "anna", 40) if question.repeat_of is None]
    ends = [end for question in chosen for end in question.pair]
    assert len(set(ends)) == len(ends)


def test_spreading_takes_every_curve_once_before_any_twice():
    left, right = np.array([0, 0, 1, 3, 0]), np.array([1, 2, 2, 4, 4])
    assert _spread(left, right, 2).tolist() == [0, 3]
    assert _spread(left, right, 3).tolist() == [0, 3, 1]
    assert _spread(left, right, 9).tolist() == [0, 3, 1, 2, 4]


def test_pairs_of_others_come_only_when_no_fresh_ones_are_left():
    small = LabelTask.public(
        Panel(telling_panel().values[:6]), statement="simulated", n_pairs=12, repeats=0.0, common=0.0, choice="active"
    )
    labels = fully_answered(small, "anna")
    left = small.questions(labels, "bob", 3)
    assert not {question.pair for question in left} & {label.pair for label in labels}
    labels = labels.and_also(answers(small, left, "bob"))
    more = small.questions(labels, "bob", 20)
    assert len(more) == 9
    assert len({question.pair for question in (*left, *more)}) == 12


def test_labels_of_another_task_are_refused(task):
    foreign = Labels(tuple(Label("bob", at, 0, 150 + at, "similar") for at in range(4)))
    with pytest.raises(ParameterError, match="4 of 4 labels name curves that the task, which has 150, does not have"):
        task.questions(foreign, "anna", 200)


@pytest.mark.soak
def test_for_a_stretch_of_the_day_it_teaches_at_least_as_much_as_chance():
    """Mean over five offices of the correlation with the true distances of days the metric has not seen."""
    lunch = Segment("11:00", "14:00")
    found = {"uniform": [], "active": []}
    for seed in range(5):
        days = simulate.occupancy(80, days=5, step="30min", seed=100 + seed)
        unseen = simulate.occupancy(60, days=5, step="30min", seed=500 + seed).values
        one, other = np.random.default_rng(seed).integers(len(unseen), size=(2, 2000))
        for choice, correlations in found.items():
            task = LabelTask.presanitised(
                days, k=3, multiple=1, n_pairs=120, choice=choice, repeats=0.0, common=0.3, seed=seed
            )
            learned = learn(task, _lunch_labels(task, lunch))
            apart = replace(learned, figures=learned.figures | {"used": True}).distances(unseen[one], unseen[other])
            correlations.append(np.corrcoef(apart, distances(lunch, unseen[one], unseen[other]))[0, 1])
    assert np.mean(found["active"]) > np.mean(found["uniform"])
    assert np.mean(found["active"]) > 0.97


def _lunch_labels(task, lunch):
    what = lunch.of(task.values)
    apart = np.linalg.norm(what[:, None] - what[None, :], axis=2)
    border = np.median(apart[np.triu_indices(len(what), 1)])
    labels = Labels()
    while questions := task.questions(labels, "anna", 5):
        labels = labels.and_also(
            Label("anna", q.position, q.left, q.right, "similar" if apart[q.left, q.right] <= border else "dissimilar")
            for q in questions
        )
    return labels
