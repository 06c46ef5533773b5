"""A table that was protected once is not shown as it is."""

import json
import shutil

import numpy as np
import pytest

from shoal import Microaggregation, publish, read_panel, simulate
from shoal.process.simulation import long_table
from shoal.studio.hidden import hidden_tables
from studio.conftest import open_link, person

PUBLIC = {"name": "open", "table": "days.csv", "source": "public", "statement": "because", "confirmed": "yes"}


def release(publisher):
    return publisher.release()


def means(publisher):
    return publisher.done(publisher.post("/tasks", {"name": "means", "table": "days.csv", "k": "4", "multiple": "1"}))


def refusal(publisher, form=PUBLIC):
    """What the page of a refused task says."""
    answer = publisher.post("/tasks", form)
    return answer if answer.status_code != 303 else publisher.done(answer)


def test_a_table_of_means_is_not_public(publisher, project, task):
    answer = publisher.post("/tasks", PUBLIC)  # at once, before any job
    assert answer.status_code == 409
    assert "days.csv is private in this project" in answer.text
    assert project.tasks() == [task]


@pytest.mark.parametrize(
    ("table", "then"),
    [
        ("days.csv", release),
        ("days.csv", means),
        ("copy.csv", release),
    ],
)
def test_a_public_task_whose_series_were_protected_since_is_closed(studio, publisher, project, table, then):
    shutil.copy(project.table("days.csv"), project.folder / "data" / "copy.csv")
    publisher.done(publisher.post("/tasks", PUBLIC | {"table": table}))
    link = publisher.make_link("open", "anna")
    anna = open_link(studio, link)
    assert then(publisher) in ("/drafts/days/release", "/tasks/means")
    assert anna.get("/label").status_code == anna.get("/label/api/state").status_code == 403
    assert person(studio).get(link).status_code == 403
    answer = publisher.post("/tasks/open/links", {"analyst": "bob", "days": "7"})
    assert (answer.status_code, "shows series of days.csv as they are" in answer.text) == (409, True)
    assert "The links of this task are closed" in publisher.get("/tasks/open").text


def test_a_refused_release_closes_no_link(studio, publisher, project):
    publisher.done(publisher.post("/tasks", PUBLIC))
    anna = open_link(studio, publisher.make_link("open", "anna"))
    late = project.table("days.csv").read_text().replace(":00.000000", ":07.000000")
    project.table("days.csv").write_text(late)
    assert publisher.release().status_code == 409
    assert anna.get("/label").status_code == 200
    assert "closed" not in publisher.get("/tasks/open").text


def test_a_task_of_means_stays_open_beside_a_release(studio, publisher, project, task):
    anna = open_link(studio, publisher.make_link(task, "anna"))
    assert publisher.release() == "/drafts/days/release"
    assert anna.get("/label").status_code == 200


def test_neither_is_one_of_a_release(publisher, project):
    publisher.release()
    shutil.rmtree(project.release("days"))
    answer = refusal(publisher)
    assert (answer.status_code, "days.csv is private in this project" in answer.text) == (409, True)


def test_a_release_that_was_refused_makes_nothing_private(publisher, project):
    late = project.table("days.csv").read_text().replace(":00.000000", ":07.000000")
    project.table("days.csv").write_text(late)
    page = publisher.release()
    assert page.status_code == 409
    assert hidden_tables(project) == []
    assert publisher.done(publisher.post("/tasks", PUBLIC)) == "/tasks/open"


def test_nor_one_that_was_released_elsewhere(publisher, project):
    values = np.random.default_rng(5).random((40, 24))
    rows = [f"{i},{t},{v!r}\n" for i, row in enumerate(values.tolist()) for t, v in enumerate(row)]
    (project.folder / "data" / "days.csv").write_text("id,time,value\n" + "".join(rows))
    candidate = Microaggregation(k=4).anonymize(read_panel(project.table("days.csv")))
    publish(candidate, project.release("by-hand"))
    broken = project.release("broken")
    broken.mkdir()
    (broken / "release.json").write_text(json.dumps({"input": 7}))
    answer = refusal(publisher)
    assert (answer.status_code, "days.csv is private in this project" in answer.text) == (409, True)


def test_it_stays_private_when_the_task_is_gone_and_a_public_one_does_not_become_private(publisher, project, task):
    long_table(simulate.occupancy(40, days=1, step="2h", seed=9)).write_csv(project.folder / "data" / "other.csv")
    assert publisher.done(publisher.post("/tasks", PUBLIC | {"table": "other.csv"})) == "/tasks/open"
    for name in (task, "open"):
        shutil.rmtree(project.task_folder(name))
    assert hidden_tables(project) == ["days.csv"]


def test_a_task_that_was_made_before_this_was_recorded_is_looked_at(project, task):
    with project.store.writing() as connection:
        connection.execute("delete from identities")
    assert hidden_tables(project) == ["days.csv"]
    shutil.rmtree(project.task_folder(task))
    assert hidden_tables(project) == ["days.csv"]


def test_what_becomes_private_while_the_job_waits_is_refused(studio, publisher, project, lunch, monkeypatch):
    panel = project.panel

    def meanwhile(table, **more):
        project.add_task("lunch", lunch, "days.csv", 0.0)
        return panel(table, **more)

    monkeypatch.setattr(project, "panel", meanwhile)
    answer = refusal(publisher)
    assert (answer.status_code, "days.csv is private" in answer.text) == (409, True)


@pytest.mark.parametrize(
    "reading", [{}, {"align": "resample:2h", "complete": "0.75", "quantity": "power", "duplicates": "mean"}]
)
def test_a_copy_of_a_private_table_is_found_however_it_is_read(publisher, project, task, reading):
    shutil.copy(project.table("days.csv"), project.folder / "data" / "copy.csv")
    project.set_reading("copy.csv", reading)
    answer = refusal(publisher, PUBLIC | {"table": "copy.csv"})
    assert answer.status_code == 409
    assert "the same as a series of a private panel" in answer.text
    assert project.tasks() == [task]


def test_a_private_table_that_cannot_be_read_stops_the_comparison(publisher, project, task):
    shutil.copy(project.table("days.csv"), project.folder / "data" / "copy.csv")
    project.set_reading("days.csv", {"align": "nowhere"})
    answer = refusal(publisher, PUBLIC | {"table": "copy.csv"})
    assert answer.status_code == 400
    assert "The private table days.csv must be compared with these series but cannot be read" in answer.text
