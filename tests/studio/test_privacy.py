"""No raw value and no identifier is in any page, for anybody, whatever was done before."""

import re

import numpy as np
import polars as pl
import pytest

from shoal.studio.app import ROOMS
from studio.conftest import open_link, person
from studio.people import Person

N_PERSONS, N_INSTANTS = 24, 12


@pytest.fixture
def raw(project):
    """A table whose every value is like no other: 1000 to 1287 with digits of their own behind the point."""
    random = np.random.default_rng(7)
    values = 1000.0 + np.arange(N_PERSONS * N_INSTANTS).reshape(N_PERSONS, N_INSTANTS)
    values = random.permuted(values.ravel()).reshape(values.shape) + np.round(random.random(values.shape), 6) / 1.1
    ids = [f"household-{1 + 37 * i:05d}" for i in range(N_PERSONS)]
    pl.DataFrame(
        {
            "id": np.repeat(ids, N_INSTANTS),
            "time": np.tile(np.arange(N_INSTANTS), N_PERSONS),
            "value": values.ravel(),
            "diagnosis": np.repeat([f"diagnosis-{i}" for i in range(N_PERSONS)], N_INSTANTS),
        }
    ).write_csv(project.folder / "data" / "raw.csv")
    # Six digits are enough to know a value by; pages round to fewer only where they show aggregates.
    texts = {f"{v:.2f}" for v in values.ravel()} | {repr(float(v)) for v in values.ravel()}
    return {"ids": ids, "texts": texts, "values": values}


class Recorder(Person):
    """Keeps every answer."""

    def __init__(self, client):
        super().__init__(client)
        self.answers = []
        client.event_hooks["response"].append(lambda answer: self.answers.append(answer))


def found_in(text, raw):
    numbers = {f"{float(n):.2f}" for n in re.findall(r"\d+\.\d+", text)} | set(re.findall(r"\d+\.\d+", text))
    return numbers & raw["texts"] | {i for i in raw["ids"] if i in text} | set(re.findall(r"diagnosis-\d+", text))


def test_the_search_would_find_a_value_or_an_identifier(raw):
    value = float(raw["values"][3, 4])
    assert found_in(f"<p>{value}</p>", raw)
    assert found_in(f"[{value!r}, 1.0]", raw)
    assert found_in(f"{value:.3f}", raw)
    assert found_in("household-00038", raw) == {"household-00038"}
    assert not found_in("<p>12.5 MB of 24 series</p>", raw)


def test_no_answer_of_the_studio_holds_a_raw_value_or_identifier(studio, publisher, raw):
    one = Recorder(publisher.client)
    one.csrf = publisher.csrf
    one.make_task("task", table="raw.csv", k=3, pairs=30)
    one.make_task("active", table="raw.csv", k=3, pairs=12, choice="active")
    analysts = []
    for task, name in (("task", "anna"), ("task", "ben"), ("active", "anna")):
        two = Recorder(person(studio).client)
        two.client.cookies = open_link(studio, one.make_link(task, name)).client.cookies
        two.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', two.get("/label").text)[1]
        two.answer_all(lambda pair: "similar" if pair["position"] % 2 else "dissimilar")
        two.get("/label")
        analysts.append(two)
    window = {"table": "raw.csv", "interest": "window-total", "start": "2", "end": "5", "k": "3"}
    one.done(one.post("/tasks/task/curve"))
    one.done(one.post("/tasks/task/learn", {"metric": "linear"}))
    one.done(one.post("/tasks/task/compare", window))
    one.done(one.post("/tasks/task/compare", window | {"interest": "segment"}))
    metric = str(studio.project.metric_path("task", "linear").resolve())
    one.release("raw.csv", k=3, metric=metric)
    one.done(one.get("/drafts/raw/review"))
    one.make_draft("raw.csv", k=300)
    one.post("/tables/raw.csv", {"value": "diagnosis"})
    one.get("/tables/raw.csv")
    one.done(one.post("/tasks", {"name": "wrong", "table": "raw.csv"}))
    names = {
        "task": "task",
        "table": "raw.csv",
        "release": "raw",
        "draft": "raw",
        "number": "0",
        "job": "0" * 16,
        "link": "1",
        "key": "k",
        "token": "t",
    }
    for route in (route for room in ROOMS for route in room.router.routes):
        for someone in (one, *analysts):
            if "GET" in route.methods:
                someone.get(route.path.format_map({**names, "version": "v", "name": "n"}))
    seen = [answer.text for someone in (one, *analysts) for answer in someone.answers]
    assert len(seen) > 150
    assert sum("<!DOCTYPE html>" in text for text in seen) > 40
    for text in seen:
        assert not found_in(text, raw)


def test_every_curve_an_analyst_gets_is_published_for_at_least_k_subjects(studio, publisher, raw):
    publisher.make_task("task", table="raw.csv", k=4, pairs=40)
    task = studio.answers.task("task")
    anna = open_link(studio, publisher.make_link("task", "anna"))
    curves = []
    anna.answer_all(lambda pair: curves.extend([pair["left"], pair["right"]]) or "undecided")
    assert len(curves) == 2 * task.n_pairs
    allowed = {tuple(row): crowd for row, crowd in zip(task.values.tolist(), task.crowds.tolist(), strict=True)}
    assert all(allowed[tuple(curve)] >= 4 for curve in curves)
    shown = np.array(curves)
    assert not np.isin(shown, raw["values"]).any()
