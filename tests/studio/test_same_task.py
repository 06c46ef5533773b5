"""Links, labels and metrics belong to one task, and not to whatever stands under its name later."""

import shutil

import pytest

from shoal import LabelTask
from shoal.errors import ParameterError
from shoal.studio.app import NOT_SHOWN
from shoal.studio.project import identity
from studio.conftest import days, open_link, person

OTHER = "contains another task than the one its links and labels belong to"


@pytest.mark.parametrize("where", ["tasks", "links", "labels"])
def test_a_name_is_not_taken_again_after_its_folder_was_removed(publisher, analyst, project, task, where):
    analyst.send("/label/api/answer", {"position": 0, "answer": "similar"})
    shutil.rmtree(project.task_folder(task))
    with project.store.writing() as connection:
        for other in {"tasks", "identities", "links", "labels"} - {where}:
            if other == "links":
                connection.execute("delete from sessions where link not null")
            connection.execute(f"delete from {other}")
    refused = publisher.post("/tasks", {"name": task, "table": "days.csv"})
    assert refused.status_code == 400
    assert "The project had a task lunch, whose links and labels are kept. Choose another name." in refused.text


def test_a_task_that_could_not_be_written_leaves_its_name(project, lunch, monkeypatch):
    def fail(self, folder):
        raise OSError

    with monkeypatch.context() as patch:
        patch.setattr(LabelTask, "save", fail)
        with pytest.raises(OSError):  # noqa: PT011 - any
            project.add_task("lunch", lunch, "days.csv", 0.0)
    project.add_task("lunch", lunch, "days.csv", 0.0)
    with pytest.raises(ParameterError, match="The project already has a task lunch"):
        project.add_task("lunch", lunch, "days.csv", 0.0)


@pytest.mark.parametrize("change", [{"k": 5}, {"seed": 1}, {"n_pairs": 10}, {"question": "Alike?"}])
def test_a_folder_replaced_by_hand_is_refused(studio, publisher, analyst, project, task, change):
    link = publisher.make_link(task, "ben")
    folder = project.task_folder(task)
    kept = project.folder / "kept"
    folder.rename(kept)
    LabelTask.presanitised(days(), **{"k": 4, "multiple": 1, "n_pairs": 20} | change).save(folder)
    for path in (f"/tasks/{task}", f"/tasks/{task}/compare"):
        page = publisher.get(path)
        assert page.status_code == 409
        assert OTHER in page.text
    for path in ("links", "learn", "curve"):
        assert OTHER in publisher.post(f"/tasks/{task}/{path}", {"analyst": "eve"}).text
    ben = person(studio)
    ben.get(link)
    for someone in (analyst, ben):
        assert NOT_SHOWN in someone.get("/label").text
    assert analyst.send("/label/api/answer", {"position": 0, "answer": "similar"}).status_code == 409
    shutil.rmtree(folder)
    kept.rename(folder)
    assert analyst.send("/label/api/answer", {"position": 0, "answer": "similar"}).status_code == 200
    assert publisher.get(f"/tasks/{task}").status_code == 200


def test_a_folder_put_there_by_hand_is_remembered_from_its_first_page_on(studio, publisher, project, lunch):
    folder = project.task_folder("hand")
    lunch.save(folder)
    anna = open_link(studio, publisher.make_link("hand", "anna"))
    shutil.rmtree(folder)
    LabelTask.presanitised(days(), k=5, multiple=1, n_pairs=20).save(folder)
    assert NOT_SHOWN in anna.get("/label").text
    assert OTHER in publisher.get("/tasks/hand").text


def test_an_identity_is_that_of_the_files(project, lunch):
    lunch.save(project.task_folder("a"))
    assert identity(LabelTask.load(project.task_folder("a"))) == identity(lunch)


@pytest.mark.parametrize("gone", ["task.json", "series.parquet"])
def test_an_analyst_learns_nothing_from_a_task_that_is_gone(publisher, analyst, project, task, gone):
    (project.task_folder(task) / gone).unlink()
    shown = [analyst.get("/label"), analyst.get("/label/api/state")]
    shown += [analyst.send(f"/label/api/{what}", {"position": 0, "answer": "similar"}) for what in ("answer",)]
    shown.append(analyst.post("/label/answer", {"position": "0", "answer": "similar"}))
    for answer in shown:
        assert answer.status_code == 409
        assert NOT_SHOWN in answer.text
        assert not [word for word in (str(project.folder), task, gone, "tasks/") if word in answer.text]
