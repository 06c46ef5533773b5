"""What analysts were shown of a table is a release: it is in the ledger, and a release of the table stays within it."""

import numpy as np
import pytest

from shoal import Microaggregation
from shoal.ledger.file import read_ledger
from shoal.process import policy_run
from shoal.studio.project import Project


@pytest.fixture
def noon(studio, publisher):
    """Groups of six are shown, and somebody to whom the hours from 11 to 14 matter has answered."""
    publisher.make_task("noon", k=2, multiple=3, pairs=16)
    task = studio.answers.task("noon")
    questions = task.plan("anna")
    apart = [float(np.abs(np.subtract(*task.curves(question))[11:14]).sum()) for question in questions]
    order = np.argsort(np.argsort(apart))
    for question, rank in zip(questions, order, strict=True):
        answer = "similar" if rank < len(questions) / 2 else "dissimilar"
        studio.answers.give("noon", "anna", question.position, answer)
    return task


@pytest.fixture
def published(monkeypatch):
    """The candidates that came to the gate."""
    found, publish = [], policy_run.publish

    def watched(candidate, *place, **how):
        found.append(candidate)
        return publish(candidate, *place, **how)

    monkeypatch.setattr(policy_run, "publish", watched)
    return found


def crowds(task, panel, released):
    """For each person how many have the same curve in what was shown and in what was released."""
    shown = Microaggregation(k=6).anonymize(panel).values + 0.0
    assert {row.tobytes() for row in shown} == {row.tobytes() for row in task.values}
    both = [a.tobytes() + b.tobytes() for a, b in zip(shown, released, strict=True)]
    return [both.count(pair) for pair in both]


@pytest.mark.parametrize("metric", ["generic", "linear"])
def test_task_and_release_leave_crowds_of_k(publisher, project, noon, published, metric):
    if metric != "generic":
        assert publisher.done(publisher.post("/tasks/noon/learn", {"metric": "linear"})) == "/tasks/noon#metrics"
    learned = str(project.metric_path("noon", "linear").resolve()) if metric != "generic" else ""
    assert publisher.release(k=2, metric=learned) == "/drafts/days/release"
    assert min(crowds(noon, project.panel("days.csv"), published[0].values)) >= 2
    assert [entry.form for entry in read_ledger(project.ledger)] == ["label task", "values"]


def test_the_ledger_refuses_what_crosses_the_groups_shown_and_cannot_be_skipped(publisher, project, noon, monkeypatch):
    skipped = publisher.release(k=2, ledger="")
    assert (skipped.status_code, "Analysts were shown means of subjects in days.csv" in skipped.text) == (400, True)
    monkeypatch.setattr(Project, "shown_groups", lambda *_: {})  # should the studio forget
    page = publisher.release(k=3)
    assert (page.status_code, "Together with 1 earlier release(s)" in page.text) == (409, True)
    assert project.releases() == []
