"""Labels, and the pairs that follow from them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from label_samples import telling_panel
from shoal.errors import ParameterError
from shoal.labels import Label, Labels, LabelTask, labelled_pairs


@pytest.fixture(scope="module")
def task():
    return LabelTask.public(telling_panel(), statement="simulated")


def test_they_are_counted(task):
    labels = Labels(
        (
            Label("bob", 0, 1, 2, "similar"),
            Label("anna", 0, 1, 2, "undecided"),
            Label("anna", 1, 3, 2, "dissimilar"),
        )
    )
    assert labels.counts() == {"similar": 1, "dissimilar": 1, "undecided": 1}
    assert labels.n_decided == 2
    assert labels.analysts == ("anna", "bob")
    assert [label.position for label in labels.of("anna")] == [0, 1]
    assert len(labels) == 3
    assert len(Labels()) == 0


def test_two_labels_for_one_question_are_refused():
    with pytest.raises(ParameterError, match=r"Analyst 'anna' has 2 labels for position 4\. Keep one"):
        Labels((Label("anna", 4, 1, 2, "similar"), Label("anna", 4, 1, 2, "similar")))
    Labels((Label("anna", 4, 1, 2, "similar"), Label("bob", 4, 1, 2, "similar")))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("anna", 0, 1, 2, "maybe"), "An answer must be one of: similar, dissimilar, undecided"),
        (("", 0, 1, 2, "similar"), "A label needs the name of the analyst"),
        (("anna", 0, 2, 2, "similar"), "A label concerns two different curves"),
        (("anna", -1, 1, 2, "similar"), "positions count from 0"),
        (("anna", 0, -1, 2, "similar"), "positions count from 0"),
    ],
)
def test_impossible_labels_are_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Label(*wrong)


def test_most_answers_about_a_pair_count_and_ties_are_left_out(task):
    labels = Labels(
        (
            Label("anna", 0, 5, 6, "similar"),
            Label("anna", 1, 1, 2, "similar"),
            Label("anna", 2, 9, 8, "dissimilar"),
            Label("anna", 3, 3, 4, "undecided"),
            Label("bob", 0, 2, 1, "dissimilar"),
            Label("bob", 1, 6, 5, "similar"),
            Label("carl", 0, 1, 2, "dissimilar"),
            Label("carl", 1, 8, 9, "similar"),
            Label("anna", 20, 9, 8, "dissimilar", repeat_of=2),
            Label("bob", 2, 10, 11, "similar"),
            Label("carl", 2, 11, 10, "dissimilar"),
        )
    )
    pairs = labelled_pairs(task, labels)
    assert_array_equal(pairs.left, task.values[[5, 1, 8]])
    assert_array_equal(pairs.right, task.values[[6, 2, 9]])
    assert pairs.similar.tolist() == [True, False, False]
    assert pairs.similar.dtype == np.bool_


def test_without_labels_there_are_no_pairs(task):
    assert labelled_pairs(task, Labels()).left.shape == (0, 12)


def test_labels_of_another_task_are_refused(task):
    with pytest.raises(ParameterError, match="1 of 1 labels name curves that the task, which has 48, does not have"):
        labelled_pairs(task, Labels((Label("anna", 0, 1, 48, "similar"),)))
