"""The publisher's pages: what they do, what they say when it does not work."""

import json
import threading

import pytest

from shoal import verify
from shoal.labels import Label, Labels, load_labels, store_asked, store_labels
from shoal.studio.jobs import MOST_WAITING, Jobs
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
    assert "A release is written only if its guarantee checks" in page


def test_a_task_says_what_it_promises_and_how_far_analysts_are(publisher, analyst, task):
    analyst.send("/label/api/answer", {"position": 0, "answer": "similar"})
    page = publisher.get(f"/tasks/{task}").text
    assert "Each curve is the mean of the series of at least 4 people." in page
    assert "1 of 20" in page
    assert "no pair was decided by two analysts" in page


def test_a_task_of_public_series_needs_and_records_its_reason(publisher, studio):
    form = {"name": "open", "table": "days.csv", "source": "public", "pairs": "10"}
    refused = publisher.post("/tasks", form)
    assert refused.status_code == 400
    assert "Say why these series are public" in refused.text
    form |= {"statement": "Simulated."}
    refused = publisher.post("/tasks", form)
    assert refused.status_code == 400
    assert "Confirm that these series are public and that anybody may see them as they are" in refused.text
    assert studio.project.tasks() == []
    assert "These series are public: anybody may see them as they are" in publisher.get("/tasks/new").text
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
    assert "The project has a task lunch. Choose another name." in again.text


def test_what_is_not_there_is_said_to_be_not_there(publisher, task):
    for path in ("/tasks/none", "/tasks/none/compare", "/tables/none.csv", "/releases/none", "/jobs/" + "0" * 16, "/x"):
        assert publisher.get(path).status_code == 404
    for path in ("/tasks/none/curve", "/tasks/none/learn", f"/tasks/{task}/links/99/revoke"):
        assert publisher.post(path).status_code == 404
    assert publisher.post("/tables/none.csv/reading", {"id": "a"}).status_code == 404
    assert publisher.post("/tasks", {"name": "a", "table": "none.csv"}).status_code == 400
    assert publisher.post("/releases", {"name": "a", "table": "none.csv"}).status_code == 400
    refused = publisher.post("/releases", {"name": "a", "table": "days.csv", "metric": "none.linear"})
    assert (refused.status_code, "The project has no such metric" in refused.text) == (400, True)


def test_how_a_table_is_read_is_said_once_and_holds_everywhere(publisher, project):
    table = "meter,at,kwh\n" + "".join(f"m{i},{t},{i + t / 10}\n" for i in range(8) for t in range(4))
    (project.folder / "data" / "meters.csv").write_text(table)
    page = publisher.get("/tables/meters.csv").text
    assert "The table cannot be read yet" in page
    form = {"id": "meter", "time": "at", "value": "kwh", "missing": " "}
    assert publisher.post("/tables/meters.csv/reading", form).headers["location"] == "/tables/meters.csv"
    assert project.reading("meters.csv") == {"id": "meter", "time": "at", "value": "kwh"}
    page = publisher.get("/tables/meters.csv").text
    assert "<dt>series</dt><dd>8</dd>" in page
    assert 'value="meter"' in page
    publisher.make_task("meters", table="meters.csv", k=2, pairs=3)


class TestLearning:
    def test_the_curve_is_drawn_and_says_whether_to_go_on(self, publisher, labelled):
        assert publisher.done(publisher.post(f"/tasks/{labelled}/curve")) == f"/tasks/{labelled}#curve"
        page = publisher.get(f"/tasks/{labelled}").text
        assert ("Go on asking." in page) != ("Stop asking." in page)
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
            ({"interest": "segment", "start": "noon", "end": "14:00"}, "A time of the day is written as in"),
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
        assert "generic" in publisher.get(f"/tasks/{task}/compare").text


class TestReleases:
    def test_a_release_holds_and_says_where_it_is(self, publisher, project):
        form = {"name": "out", "table": "days.csv", "k": "4", "metric": "generic"}
        assert publisher.done(publisher.post("/releases", form)) == "/releases/out"
        page = publisher.get("/releases/out").text
        assert "Holds, checked on the published data just now: k-anonymity, measured 4, required 4" in page
        assert f"shoal verify {project.folder / 'releases' / 'out'}" in page
        assert not verify(project.folder / "releases" / "out").findings
        again = publisher.post("/releases", form)
        assert (again.status_code, "The project has a release out" in again.text) == (400, True)

    def test_a_release_keeps_what_the_form_says(self, publisher, project):
        form = {"name": "out", "table": "days.csv", "k": "4", "metric": "generic", "keep": "total, shape=2"}
        wrong = publisher.post("/releases", form | {"keep": "totals"})
        assert (wrong.status_code, "none of the interests" in wrong.text) == (400, True)
        assert publisher.done(publisher.post("/releases", form)) == "/releases/out"
        certificate = json.loads((project.folder / "releases" / "out" / "release.json").read_text())
        assert certificate["method"]["parameters"]["features"] == "keep:total,shape=2"

    def test_a_release_by_a_learned_metric_names_it_in_its_certificate(self, publisher, project, labelled):
        publisher.done(publisher.post(f"/tasks/{labelled}/learn", {"metric": "linear"}))
        form = {"name": "out", "table": "days.csv", "k": "2", "metric": f"{labelled}.linear"}
        assert publisher.done(publisher.post("/releases", form)) == "/releases/out"
        certificate = json.loads((project.folder / "releases" / "out" / "release.json").read_text())
        digest = project.metrics(labelled)["linear"].digest()
        assert certificate["method"]["parameters"]["features"]["sha256"] == digest
        assert "Grouped by a learned linear metric" in publisher.get("/releases/out").text

    def test_a_release_that_was_changed_is_shown_as_what_it_is(self, publisher, project):
        publisher.done(publisher.post("/releases", {"name": "out", "table": "days.csv", "k": "4"}))
        path = project.folder / "releases" / "out" / "data.parquet"
        path.write_bytes(path.read_bytes() + b"x")
        page = publisher.get("/releases/out").text
        assert "Does not hold" in page
        assert "Do not pass this folder on." in page

    def test_what_the_gate_refuses_is_a_clear_page_and_no_folder(self, publisher, project, monkeypatch):
        from shoal.errors import GuaranteeNotMetError
        from shoal.studio import releases

        def refuse(candidate, target, **more):
            raise GuaranteeNotMetError("k-anonymity does not hold: measured 1, required 4. Nothing was written.")

        monkeypatch.setattr(releases, "publish", refuse)
        page = publisher.done(publisher.post("/releases", {"name": "out", "table": "days.csv", "k": "4"}))
        assert page.status_code == 409
        assert "Refused" in page.text
        assert "measured 1, required 4" in page.text
        assert project.releases() == []

    def test_a_second_release_of_the_same_people_in_other_groups_is_refused(self, publisher, project):
        form = {"name": "first", "table": "days.csv", "k": "4"}
        assert publisher.done(publisher.post("/releases", form)) == "/releases/first"
        other = {"name": "second", "table": "days.csv", "k": "7"}
        page = publisher.done(publisher.post("/releases", other))
        assert page.status_code == 409
        assert "Together with 1 earlier release(s) of the same subjects" in page.text
        assert project.releases() == ["first"]
        assert publisher.done(publisher.post("/releases", other | {"ledger": "skip"})) == "/releases/second"

    def test_a_side_channel_stops_a_release_until_it_is_accepted_by_name(self, publisher, project):
        table = (project.folder / "data" / "days.csv").read_text()
        (project.folder / "data" / "late.csv").write_text(table.replace(":00.000000", ":07.000000"))
        form = {"name": "out", "table": "late.csv", "k": "4"}
        page = publisher.done(publisher.post("/releases", form))
        assert page.status_code == 409
        assert "timestamp-phase" in page.text
        form |= {"accept": "timestamp-phase, file-metadata"}
        assert publisher.done(publisher.post("/releases", form)) == "/releases/out"
        assert "timestamp-phase" in (project.folder / "releases" / "out" / "release.json").read_text()


class TestJobs:
    def test_a_page_of_a_job_reloads_itself_until_it_has_ended(self, studio, publisher):
        go = threading.Event()

        def work(progress):
            progress.start("counting fish")
            progress.advance(3, 7)
            go.wait(60)
            return "/tasks/new"

        name = studio.jobs.start("Waiting", work, back="/")
        queued = studio.jobs.start("Next", lambda progress: "/", back="/")
        while "counting fish: 3 of 7" not in (page := publisher.get(f"/jobs/{name}").text):
            pass
        assert '<meta http-equiv="refresh" content="2">' in page
        assert "Waiting for other jobs to end." in publisher.get(f"/jobs/{queued}").text
        assert "Under way" in publisher.get("/").text
        go.set()
        while (answer := publisher.get(f"/jobs/{name}")).status_code == 200:
            pass
        assert answer.headers["location"] == "/tasks/new"

    def test_only_so_many_wait(self, studio, publisher):
        go = threading.Event()
        for i in range(MOST_WAITING):
            studio.jobs.start(f"job {i}", lambda progress: str(go.wait(60)), back="/")
        refused = publisher.post("/tasks", {"name": "one-more", "table": "days.csv"})
        assert refused.status_code == 400
        assert f"{MOST_WAITING} jobs are waiting" in refused.text
        go.set()

    def test_what_waits_when_the_studio_stops_is_dropped(self):
        jobs, go = Jobs(), threading.Event()
        jobs.start("first", lambda progress: str(go.wait(60)), back="/")
        later = jobs.start("second", lambda progress: "/", back="/")
        jobs.close()
        go.set()
        assert jobs.find(later).status == "waiting"
