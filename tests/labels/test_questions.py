"""Which pairs are asked about, in which order, and which of them twice."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from label_samples import answers, fully_answered, telling_panel
from shoal import Panel
from shoal.features.interests import ends_of
from shoal.labels import Label, Labels, LabelTask
from shoal.labels.questions import (
    APART,
    Asking,
    draw_pairs,
    number_of,
    plan_common,
    plan_uniform,
    repeat_slots,
)


@given(n_curves=st.integers(2, 40))
def test_pairs_are_numbered_as_a_loop_numbers_them(n_curves):
    pairs = [(a, b) for a in range(n_curves) for b in range(a + 1, n_curves)]
    numbers = np.arange(len(pairs))
    left, right = ends_of(numbers, n_curves)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == pairs
    assert number_of(right, left, n_curves).tolist() == numbers.tolist()


@given(
    n_curves=st.integers(2, 30),
    n_pairs=st.integers(1, 120),
    repeats=st.floats(0, 0.5),
    common=st.floats(0, 1),
    seed=st.integers(0, 5),
)
def test_a_plan_has_different_pairs_and_repeats_some_late_with_sides_exchanged(
    n_curves, n_pairs, repeats, common, seed
):
    asking = Asking(n_pairs=n_pairs, repeats=repeats, common=common, seed=seed)
    n_fresh, n_common, n_repeats = asking.counts(n_curves)
    plans = {name: plan_uniform(asking, n_curves, name) for name in ("anna", "bob")}
    pairs = {}
    for name, plan in plans.items():
        assert [question.position for question in plan] == list(range(n_fresh + n_repeats))
        fresh = [question for question in plan if question.repeat_of is None]
        again = [question for question in plan if question.repeat_of is not None]
        assert len(fresh) == n_fresh
        assert len(again) == n_repeats
        pairs[name] = {question.pair for question in fresh}
        assert len(pairs[name]) == n_fresh
        assert all(0 <= question.left < n_curves and 0 <= question.right < n_curves for question in plan)
        assert len({question.repeat_of for question in again}) == n_repeats
        for question in again:
            first = plan[question.repeat_of]
            assert first.repeat_of is None
            assert (first.left, first.right) == (question.right, question.left)
            if n_fresh - APART - 1 >= n_repeats:
                assert question.position - question.repeat_of > APART
            else:
                assert question.position >= n_fresh
    assert len(pairs["anna"] & pairs["bob"]) >= n_common
    first = [question.pair for question in plan_common(asking, n_curves, "anna")]
    assert len(set(first)) == n_common
    assert set(first) <= pairs["anna"] & pairs["bob"]


def test_all_pairs_are_equally_likely():
    drawn = Counter()
    for seed in range(2000):
        plan = plan_uniform(Asking(n_pairs=3, repeats=0.0, seed=seed), 5, "anna")
        drawn.update((question.left, question.right) for question in plan)
    # 20 ordered pairs, 6 000 draws: 300 each, with a standard deviation of about 17.
    assert len(drawn) == 20
    assert max(abs(n - 300) for n in drawn.values()) < 80


def test_common_pairs_are_in_nobodys_order():
    asking = Asking(n_pairs=60, repeats=0.0, common=1.0)
    anna, bob = (plan_uniform(asking, 40, name) for name in ("anna", "bob"))
    assert {question.pair for question in anna} == {question.pair for question in bob}
    assert [question.pair for question in anna] != [question.pair for question in bob]


def test_no_common_pairs_are_hardly_any_common_pairs():
    asking = Asking(n_pairs=60, repeats=0.0, common=0.0)
    anna, bob = ({question.pair for question in plan_uniform(asking, 200, name)} for name in ("anna", "bob"))
    assert len(anna & bob) < 5


def test_pairs_to_leave_out_are_left_out():
    rng = np.random.default_rng(0)
    without = np.arange(0, 40)
    found = draw_pairs(rng, 10, 100, without=without)
    assert sorted(found.tolist()) == [40, 41, 42, 43, 44]


def test_where_there_are_fewer_pairs_all_are_asked():
    task = LabelTask.public(Panel(np.arange(8.0).reshape(4, 2)), statement="simulated", n_pairs=200)
    assert task.n_pairs == 6 + 6
    assert len(task.plan("anna")) == 12
    assert task.certificate["questions"] == 12


def test_two_curves_make_one_question():
    task = LabelTask.public(Panel([[1.0, 2.0], [3.0, 4.0]]), statement="simulated", n_pairs=1)
    (question,) = task.plan("anna")
    assert question.pair == (0, 1)
    for shown, position in zip(task.curves(question), (question.left, question.right), strict=True):
        assert shown.tolist() == task.values[position].tolist()


class TestNext:
    @pytest.fixture(params=["uniform", "active"])
    def task(self, request):
        return LabelTask.presanitised(
            telling_panel(), k=2, multiple=1, n_pairs=100, repeats=0.2, common=0.3, choice=request.param, seed=3
        )

    def test_they_are_the_same_each_time(self, task):
        labels = Labels()
        for _ in range(4):
            questions = task.questions(labels, "anna", 15)
            assert task.questions(labels, "anna", 15) == questions
            assert (
                LabelTask.presanitised(
                    telling_panel(), k=2, multiple=1, n_pairs=100, repeats=0.2, common=0.3, choice=task.choice, seed=3
                ).questions(labels, "anna", 15)
                == questions
            )
            labels = labels.and_also(answers(task, questions))

    def test_everything_is_asked_once_and_some_of_it_twice(self, task):
        labels = fully_answered(task)
        assert [label.position for label in labels] == list(range(100))
        fresh = [label.pair for label in labels if label.repeat_of is None]
        assert len(fresh) == len(set(fresh)) == 80
        given = {label.position: label for label in labels}
        for label in labels:
            if label.repeat_of is not None:
                first = given[label.repeat_of]
                assert (first.left, first.right) == (label.right, label.left)
                assert label.position - first.position > APART
        assert task.questions(labels, "anna", 5) == []

    def test_what_was_undone_is_asked_again(self, task):
        labels = Labels(tuple(answers(task, task.questions(Labels(), "anna", 20))))
        undone = Labels(tuple(label for label in labels if label.position != 7))
        assert task.questions(undone, "anna", 1)[0].position == 7

    def test_undecided_is_an_answer(self, task):
        (first,) = task.questions(Labels(), "anna", 1)
        labels = Labels((Label("anna", first.position, first.left, first.right, "undecided"),))
        assert task.questions(labels, "anna", 1)[0].position == first.position + 1

    def test_another_analyst_starts_at_the_beginning(self, task):
        labels = fully_answered(task)
        assert task.questions(labels, "bob", 3) == task.questions(Labels(), "bob", 3)
        assert task.plan("bob") != task.plan("anna")

    def test_asked_for_one_at_a_time_or_not_the_common_part_is_the_same(self, task):
        labels = Labels()
        for _ in range(10):
            labels = labels.and_also(answers(task, task.questions(labels, "anna", 1)))
        together = answers(task, task.questions(Labels(), "anna", 10))
        assert list(labels) == together


@pytest.mark.parametrize("choice", ["uniform", "active"])
@pytest.mark.parametrize("answer", ["undecided", "similar"])
@pytest.mark.parametrize("at_once", [1, 4, 100])
@pytest.mark.parametrize(("n_curves", "n_pairs", "repeats"), [(6, 17, 0.12), (6, 40, 0.5), (3, 12, 0.5), (2, 2, 0.5)])
def test_as_many_questions_come_as_were_said(choice, answer, at_once, n_curves, n_pairs, repeats):
    values = np.random.default_rng(0).normal(size=(n_curves, 5))
    task = LabelTask.public(
        Panel(values), statement="simulated", n_pairs=n_pairs, repeats=repeats, choice=choice, common=0.2
    )
    labels = Labels()
    while questions := task.questions(labels, "anna", at_once):
        labels = labels.and_also(Label("anna", q.position, q.left, q.right, answer, q.repeat_of) for q in questions)
    assert sorted(label.position for label in labels) == list(range(task.n_pairs))
    given = {label.position: label for label in labels}
    again = [label for label in labels if label.repeat_of is not None]
    assert len({label.repeat_of for label in again}) == len(again)
    assert all(given[label.repeat_of].pair == label.pair and label.repeat_of < label.position for label in again)


def test_slots_for_repetitions_are_late_where_that_can_be():
    assert min(repeat_slots(Asking(n_pairs=100, repeats=0.1, common=0.0), 50, "anna")) > APART
    assert repeat_slots(Asking(n_pairs=10, repeats=0.2, common=0.0), 50, "anna") == {8, 9}
    assert len(repeat_slots(Asking(n_pairs=100, repeats=0.1, common=1.0), 50, "anna")) == 10
