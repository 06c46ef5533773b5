"""The publisher's pages: what they do, what they say when it does not work."""

import re
import shutil
import threading

import pytest

from shoal.labels import Label, Labels, load_labels, store_asked, store_labels
from shoal.studio import jobs
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.jobs import MOST_WAITING
from studio.conftest import open_link


def by_noon(left, right):
    """What somebody answers who minds who is there from 11 to 14."""
    return "similar" if abs(left[11:14] - right[11:14]).sum() < 0.8 else "dissimilar"


@pytest.fixture
def labelled(studio, publisher):
    """A task with 80 answers each of two analysts, given without the pages."""
    publisher.make_task("noon", pairs=80, k=2)
    task = studio.answers.task("noon")
    for name in ("anna", "ben"):
        for question in task.plan(name):
            studio.answers.give("noon", name, question.position, by_noon(*task.curves(question)))
    return "noon"


def test_the_start_page_lists_tables_tasks_and_releases(publisher, task):
    page = publisher.get("/").text
    assert '<a href="/tables/days.csv">days.csv</a>' in page
    assert '<a href="/tasks/lunch">lunch</a>' in page
    assert "A release is written only if its guarantee holds" in page
    places = [page.index(f'id="{part}"') for part in ("tables", "drafts", "releases", "tasks")]
    assert places == sorted(places)


def test_a_new_task_is_about_the_table_it_was_asked_for_from(publisher, project):
    shutil.copy(project.table("days.csv"), project.folder / "data" / "older.csv")
    page = publisher.get("/tables/older.csv").text
    address = re.search(r'href="(/tasks/new[^"]*)"', page)[1]
    assert '<option value="older.csv" selected>' in publisher.get(address).text


def test_a_task_says_what_it_promises_and_how_far_analysts_are(publisher, analyst, task):
    analyst.send("/label/api/answer", {"position": 0, "answer": "similar"})
    page = publisher.get(f"/tasks/{task}").text
    assert "Each curve is the mean of the series of at least 4 subjects." in page
    assert "1 of 20" in page
    assert "no pair was decided by two analysts" in page


def test_everybody_can_be_asked_about_more_pairs(studio, publisher, analyst, task):
    analyst.answer_all()
    assert analyst.state()["pair"] is None
    assert publisher.post(f"/tasks/{task}/pairs", {"pairs": "7"}).status_code == 303
    assert "27 questions for each analyst" in publisher.get(f"/tasks/{task}").text
    assert analyst.state()["total"] == 27
    assert analyst.answer_all("dissimilar")["done"] == 27
    labels = studio.answers.labels(task).of("anna")
    pairs = [tuple(sorted((label.left, label.right))) for label in labels if label.repeat_of is None]
    assert len(pairs) == len(set(pairs))
    # No more than there are.
    publisher.post(f"/tasks/{task}/pairs", {"pairs": "20000"})
    assert analyst.answer_all("undecided")["pair"] is None
    assert "Every pair of curves has been asked about." in publisher.get(f"/tasks/{task}").text


def test_a_task_of_public_series_needs_and_records_its_reason(publisher, studio):
    form = {"name": "open", "table": "days.csv", "source": "public", "pairs": "10"}
    refused = publisher.post("/tasks", form)
    assert refused.status_code == 400
    assert "Give the reason why these series are public" in refused.text
    form |= {"statement": "Simulated."}
    refused = publisher.post("/tasks", form)
    assert refused.status_code == 400
    assert "Confirm that these series are public and that anyone may see them as they are" in refused.text
    assert studio.project.tasks() == []
    assert "These series are public: anyone may see them as they are" in publisher.get("/tasks/new").text
    assert publisher.done(publisher.post("/tasks", form | {"confirmed": "yes"})) == "/tasks/open"
    task = studio.answers.task("open")
    assert (task.source, task.guarantee["statement"]) == ("public", "Simulated.")
    assert "“Simulated.”" in publisher.get("/tasks/open").text
    anna = open_link(studio, publisher.make_link("open", "anna"))
    assert "The publisher states that these series are public." in anna.get("/label").text


def test_a_task_that_cannot_be_protected_is_refused_and_not_written(publisher, project):
    page = publisher.done(publisher.post("/tasks", {"name": "big", "table": "days.csv", "k": "500"}))
    assert page.status_code == 400
    assert "groups of 4 times k=500 needs at least 2000 subjects" in page.text
    assert project.tasks() == []
    assert list((project.folder / "tasks").iterdir()) == []


def test_names_are_taken_once(publisher, task):
    again = publisher.post("/tasks", {"name": task, "table": "days.csv"})
    assert again.status_code == 400
    assert "The project already has a task lunch. Choose another name." in again.text


def test_what_is_not_there_is_said_to_be_not_there(publisher, task):
    for path in ("/tasks/none", "/tasks/none/compare", "/tables/none.csv", "/releases/none", "/jobs/" + "0" * 16, "/x"):
        assert publisher.get(path).status_code == 404
    for path in ("/tasks/none/curve", "/tasks/none/learn", f"/tasks/{task}/links/99/revoke"):
        assert publisher.post(path).status_code == 404
    assert publisher.post("/tables/none.csv", {"id": "a"}).status_code == 404
    assert publisher.post("/tasks", {"name": "a", "table": "none.csv"}).status_code == 400
    for path in ("table", "purpose", "review", "release", "policy.yaml"):
        assert publisher.get(f"/drafts/none/{path}").status_code == 404
    assert publisher.post("/drafts/none/release").status_code == 404
    refused = publisher.post(f"/tasks/{task}/draft", {"metric": "linear"})
    assert (refused.status_code, "The project has no such metric" in refused.text) == (400, True)


class TestLearning:
    def test_the_curve_is_drawn_and_says_whether_to_go_on(self, publisher, labelled):
        assert publisher.done(publisher.post(f"/tasks/{labelled}/curve")) == f"/tasks/{labelled}#curve"
        page = publisher.get(f"/tasks/{labelled}").text
        assert ("Keep asking." in page) != ("Stop asking." in page)
        assert "Score on held-out pairs" in page
        assert 'class="line learned"' in page
        assert "after 160 labels" in page

    def test_agreement_and_consistency_are_those_of_the_labels(self, publisher, labelled):
        page = publisher.get(f"/tasks/{labelled}").text
        assert "<dt>agreement (alpha)</dt><dd>1.00" in page  # both answer by one rule
        assert "<dt>consistency</dt><dd>100 %" in page

    def test_a_metric_is_learned_kept_and_compared(self, studio, publisher, project, labelled):
        page = publisher.done(publisher.post(f"/tasks/{labelled}/learn", {"metric": "linear"}))
        assert page == f"/tasks/{labelled}#metrics"
        learned = project.metrics(labelled)["linear"]
        assert learned.statement in publisher.get(f"/tasks/{labelled}").text
        assert set(load_labels(project.task_folder(labelled))) == set(studio.answers.labels(labelled))
        form = {"table": "days.csv", "interest": "segment", "start": "11:00", "end": "14:00", "k": "2"}
        page = publisher.done(publisher.post(f"/tasks/{labelled}/compare", form))
        text = publisher.get(page).text
        assert "Loss on the segment from 11:00 to 14:00" in text
        rows = project.result(labelled, "compare")["rows"]
        assert [row["name"] for row in rows] == ["generic", "linear", "wanted"]
        assert rows[2]["loss"] < rows[0]["loss"]
        assert text.count('class="bar ') == 3

    def test_labels_that_came_in_by_file_are_not_replaced(self, studio, publisher, project, labelled):
        folder, task = project.task_folder(labelled), studio.answers.task(labelled)
        first = task.plan("anna")[0]
        by_file = Label("anna", 0, first.left, first.right, "undecided")
        store_asked(folder, "anna", [first])
        store_labels(folder, Labels((by_file,)))
        publisher.done(publisher.post(f"/tasks/{labelled}/learn", {"metric": "linear"}))
        assert load_labels(folder).of("anna").labels == (by_file,)
        assert len(load_labels(folder).of("ben")) == task.n_pairs

    def test_nothing_is_learned_from_too_few_labels(self, publisher, analyst, task):
        analyst.send("/label/api/answer", {"position": 0, "answer": "similar"})
        page = publisher.done(publisher.post(f"/tasks/{task}/learn", {"metric": "linear"}))
        assert page.status_code == 400
        assert 'role="alert"' in page.text
        assert publisher.get(f"/tasks/{task}").status_code == 200

    @pytest.mark.parametrize(
        ("form", "why"),
        [
            ({"interest": "segment"}, "A window needs a start and an end"),
            ({"interest": "window-total", "start": "14:00", "end": "11:00"}, "A window must end after it starts"),
            ({"interest": "segment", "start": "noon", "end": "14:00"}, "A time of the day has the form"),
        ],
    )
    def test_a_window_that_is_none_is_said_at_once(self, publisher, task, form, why):
        answer = publisher.post(f"/tasks/{task}/compare", {"table": "days.csv"} | form)
        assert answer.status_code == 400
        assert why in answer.text

    @pytest.mark.parametrize("interest", ["arrival", "departure", "time-occupied", "window-total"])
    def test_every_interest_can_be_compared(self, publisher, task, interest):
        form = {"table": "days.csv", "interest": interest, "start": "11", "end": "14", "above": "0.5", "k": "4"}
        assert publisher.done(publisher.post(f"/tasks/{task}/compare", form)) == f"/tasks/{task}/compare"
        page = publisher.get(f"/tasks/{task}/compare").text
        unit = "in the unit of the data" if interest == "window-total" else "(min|h)"
        assert re.search(rf'<th scope="row">generic</th><td class="number">[0-9.,]+ {unit}', page)


class TestJobs:
    @pytest.fixture
    def work(self, monkeypatch):
        """A kind of work that counts fish until it is told to go on."""
        go = threading.Event()

        def count(studio, arguments, progress):
            progress.start("counting fish")
            progress.advance(3, 7)
            while not go.wait(0.01):
                progress.advance(3, 7)
            return "/tasks/new"

        monkeypatch.setitem(jobs._KINDS, "fish", count)
        return go

    def test_a_page_of_a_job_reloads_itself_until_it_has_ended(self, studio, publisher, work):
        name = studio.jobs.start("Waiting", "fish", {}, back="/")
        queued = studio.jobs.start("Next", "fish", {"again": 1}, back="/")
        while "counting fish: 3 of 7" not in (page := publisher.get(f"/jobs/{name}").text):
            pass
        assert '<meta http-equiv="refresh" content="2">' in page
        assert "Waiting for other jobs to end." in publisher.get(f"/jobs/{queued}").text
        assert "In progress" in publisher.get("/").text
        listed = publisher.get("/jobs").text
        assert '<progress max="7" value="3"' in listed
        assert "Next" in listed
        work.set()
        while (answer := publisher.get(f"/jobs/{name}")).status_code == 200:
            pass
        assert answer.headers["location"] == "/tasks/new"

    def test_a_job_can_be_stopped_and_begun_again(self, studio, publisher, work):
        name = studio.jobs.start("Counting", "fish", {}, back="/")
        queued = studio.jobs.start("Next", "fish", {"again": 1}, back="/")
        while studio.jobs.find(name).status != "running":
            pass
        for job in (name, queued):
            assert publisher.post(f"/jobs/{job}/stop").status_code == 303
            while not studio.jobs.find(job).ended:
                pass
            assert "It was stopped" in publisher.get(f"/jobs/{job}").text or job == queued
        work.set()
        again = publisher.post(f"/jobs/{name}/again").headers["location"].rpartition("/")[2]
        while not (found := studio.jobs.find(again)).ended:
            pass
        assert (found.status, found.kind) == ("done", "fish")

    def test_nothing_of_a_job_that_has_ended_stays_in_memory(self, studio, work):
        names = [studio.jobs.start("Counting", "fish", {"pond": i}, back="/") for i in range(4)]
        for name in names[1:3]:
            studio.jobs.stop(name)
        work.set()
        while not all(studio.jobs.find(name).ended for name in names):
            pass
        studio.jobs._worker.shutdown()
        assert [studio.jobs.find(name).status for name in names] == ["done", "stopped", "stopped", "done"]
        assert (studio.jobs._stops, studio.jobs._live) == ({}, {})

    def test_the_same_work_is_not_begun_twice(self, studio, work):
        first = studio.jobs.start("Counting", "fish", {"pond": 1}, back="/")
        assert studio.jobs.start("Counting", "fish", {"pond": 1}, back="/") == first
        assert studio.jobs.start("Counting", "fish", {"pond": 2}, back="/") != first
        work.set()

    def test_only_so_many_wait(self, studio, publisher, work):
        for i in range(MOST_WAITING):
            studio.jobs.start(f"job {i}", "fish", {"pond": i}, back="/")
        refused = publisher.post("/tasks", {"name": "one-more", "table": "days.csv"})
        assert refused.status_code == 400
        assert f"{MOST_WAITING} jobs are waiting" in refused.text
        work.set()

    def test_what_had_not_ended_goes_on_in_the_next_studio(self, project, clock, work):
        first = Studio(project, Settings(), clock=clock)
        running, waiting = (first.jobs.start("Counting", "fish", {"pond": i}, back="/") for i in range(2))
        while first.jobs.find(running).status != "running":
            pass
        first.jobs.close()
        work.set()
        second = Studio(project, Settings(), clock=clock)
        build(second)
        while not all(second.jobs.find(job).status == "done" for job in (running, waiting)):
            pass
        second.jobs.close()

    def test_work_that_ends_the_studio_is_not_begun_for_ever(self, project, clock, work):
        work.set()
        with project.store.writing() as connection:
            connection.execute(
                "insert into jobs (job, title, kind, arguments, back, status, starts, at) "
                "values ('0123456789abcdef', 'Deadly', 'fish', '{}', '/', 'running', ?, 0)",
                (jobs.MOST_STARTS,),
            )
        studio = Studio(project, Settings(), clock=clock)
        build(studio)
        while not (found := studio.jobs.find("0123456789abcdef")).ended:
            pass
        assert found.status == "failed"
        studio.jobs.close()
