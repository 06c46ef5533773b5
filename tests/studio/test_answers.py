"""Labels are saved as given: once, in any order, taken back one by one."""

import sqlite3

import pytest

from shoal.cli.app import run
from shoal.errors import GuaranteeNotMetError, InputError, ReleaseError
from shoal.studio.app import NOT_SHOWN
from shoal.studio.store import ProjectStore
from studio.conftest import open_link


def give(analyst, position, answer):
    return analyst.send("/label/api/answer", {"position": position, "answer": answer})


def stored(studio, task="lunch"):
    return {(label.analyst, label.position): label.answer for label in studio.answers.labels(task)}


def test_an_answer_given_again_is_stored_once(studio, analyst):
    for _ in range(3):
        assert give(analyst, 0, "similar").status_code == 200
    assert stored(studio) == {("anna", 0): "similar"}


def test_another_answer_to_the_same_pair_is_refused_until_the_first_is_undone(studio, analyst):
    give(analyst, 0, "similar")
    refused = give(analyst, 0, "dissimilar")
    assert (refused.status_code, refused.json()) == (
        409,
        {"detail": "This pair already has another answer. Undo that one first."},
    )
    assert stored(studio) == {("anna", 0): "similar"}
    assert analyst.send("/label/api/undo", {"position": 0}).json()["done"] == 0
    assert give(analyst, 0, "dissimilar").status_code == 200
    assert stored(studio) == {("anna", 0): "dissimilar"}


def test_answers_may_come_in_any_order_and_the_first_open_pair_is_next(studio, analyst):
    for position in (7, 3, 0, 19):
        give(analyst, position, "undecided")
    state = analyst.state()
    assert (state["pair"]["position"], state["done"], state["last"]) == (1, 4, 19)


def test_a_question_that_is_not_asked_has_no_answer(studio, analyst):
    assert give(analyst, 20, "similar").status_code == 404
    assert give(analyst, 10**9, "similar").status_code == 404
    for wrong in (
        {"position": -1, "answer": "similar"},
        {"position": 0, "answer": "maybe"},
        {"position": 10**12},
        [1],
        7,
    ):
        refused = analyst.send("/label/api/answer", wrong)
        assert refused.status_code == 422
        assert set(refused.json()) == {"detail"}
        assert "maybe" not in refused.text
    assert stored(studio) == {}


def test_undo_takes_back_the_latest_one_and_twice_the_same_is_once(studio, analyst):
    for position in range(3):
        give(analyst, position, "similar")
    assert analyst.send("/label/api/undo", {"position": 1}).status_code == 409
    for _ in range(2):
        state = analyst.send("/label/api/undo", {"position": 2}).json()
        assert (state["pair"]["position"], state["done"], state["last"]) == (2, 2, 1)
    assert analyst.send("/label/api/undo", {"position": 1}).json()["last"] == 0


def test_the_same_works_by_plain_forms(studio, analyst):
    answer = analyst.post("/label/answer", {"position": "0", "answer": "similar"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/label")
    assert analyst.post("/label/answer", {"position": "0", "answer": "dissimilar"}).status_code == 409
    assert analyst.post("/label/undo", {"position": "5"}).status_code == 303
    assert stored(studio) == {("anna", 0): "similar"}
    assert analyst.post("/label/undo", {"position": "0"}).status_code == 303
    assert stored(studio) == {}


def test_after_the_last_answer_there_is_none_and_undo_brings_it_back(analyst):
    state = analyst.answer_all()
    assert (state["pair"], state["done"], state["last"]) == (None, 20, 19)
    page = analyst.get("/label").text
    assert '<section id="ask" hidden>' in page
    assert '<section id="finished">' in page
    assert analyst.send("/label/api/undo", {"position": 19}).json()["pair"]["position"] == 19


def test_the_curves_shown_are_those_the_label_is_about(studio, analyst):
    task = studio.answers.task("lunch")
    for _ in range(20):
        pair = analyst.state()["pair"]
        give(analyst, pair["position"], "similar")
        label = studio.answers.labels("lunch").labels[-1]
        assert pair["left"] == task.values[label.left].tolist()
        assert pair["right"] == task.values[label.right].tolist()


class TestActive:
    @pytest.fixture
    def active(self, studio, publisher):
        publisher.make_task("active", pairs=16, choice="active")
        return open_link(studio, publisher.make_link("active", "anna"))

    def test_every_question_comes_once_and_all_can_be_answered(self, studio, active):
        state = active.answer_all(lambda pair: "similar" if sum(pair["left"]) > sum(pair["right"]) else "dissimilar")
        assert state["done"] == 16
        assert sorted(label.position for label in studio.answers.labels("active")) == list(range(16))

    def test_a_question_once_shown_stays_whatever_others_answer(self, studio, publisher, active):
        for _ in range(9):
            give(active, active.state()["pair"]["position"], "dissimilar")
        shown = active.state()["pair"]
        ben = open_link(studio, publisher.make_link("active", "ben"))
        ben.answer_all(lambda pair: "similar" if pair["position"] % 2 else "dissimilar")
        assert active.state()["pair"] == shown
        give(active, shown["position"], "similar")
        following = active.state()["pair"]
        assert active.send("/label/api/undo", {"position": shown["position"]}).json()["pair"] == shown
        give(active, shown["position"], "dissimilar")
        assert active.state()["pair"] == following

    def test_a_question_not_yet_shown_has_no_answer(self, active):
        assert give(active, 15, "similar").status_code == 404


def test_a_task_whose_files_were_changed_is_not_shown(studio, publisher, analyst, project):
    path = project.folder / "tasks" / "lunch" / "task.json"
    path.write_text(path.read_text().replace('"question": "Are', '"question": "Were'))
    with pytest.raises(GuaranteeNotMetError):
        studio.answers.task("lunch")
    answer = analyst.get("/label")
    assert answer.status_code == 409
    assert NOT_SHOWN in answer.text
    assert "was changed after the task was saved" in publisher.get("/tasks/lunch").text


def test_a_transaction_that_fails_leaves_nothing(project):
    def insert_twice():
        with project.store.writing() as connection:
            connection.execute("insert into readings values ('a.csv', '{\"id\": \"b\"}')")
            connection.execute("insert into readings values ('a.csv', '{}')")

    with pytest.raises(sqlite3.IntegrityError):
        insert_twice()
    assert project.reading("a.csv") == {}


def test_a_foreign_or_newer_database_is_refused(tmp_path):
    path = tmp_path / "studio.sqlite"
    path.write_bytes(b"no database at all, but long enough to be looked at by SQLite" * 20)
    with pytest.raises(InputError, match=r"studio\.sqlite is not a database of a studio"):
        ProjectStore(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(ReleaseError, match="has format 99, and this version of Shoal reads up to 1"):
        ProjectStore(path)


def test_a_database_that_cannot_be_written_is_one_clear_line(tmp_path, monkeypatch, capsys):
    path = tmp_path / "studio.sqlite"
    path.mkdir()
    assert run(["studio", str(tmp_path), "--port", "0"]) == 2
    told = capsys.readouterr().err
    assert told.startswith("shoal: studio.sqlite cannot be opened for writing: Is a directory.")
    assert told.count("\n") == 1
    path.rmdir()

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("shoal.files.database.os.open", refuse)
        with pytest.raises(InputError, match=r"cannot be opened for writing: Permission denied\. Make it writable"):
            ProjectStore(path)
    with monkeypatch.context() as patch:
        # What SQLite says where the file can be written and the folder cannot.
        def odd(self):
            raise sqlite3.OperationalError("attempt to write a readonly database")

        patch.setattr(ProjectStore, "_connect", odd)
        with pytest.raises(InputError, match="cannot be opened for writing: attempt to write a readonly database"):
            ProjectStore(path)
