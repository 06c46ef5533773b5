"""A project with a simulated table, a studio over it, and clients for each of the three who may come."""

import re
from functools import cache

import pytest
from starlette.testclient import TestClient

from shoal import LabelTask, simulate
from shoal.process.simulation import long_table
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.passwords import Password
from shoal.studio.project import Project
from studio.people import Clock, Person

PASSWORD = "a long password of the tests"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def project(tmp_path):
    """A folder with one day each of 40 persons, hour by hour."""
    made = Project(tmp_path / "project")
    long_table(days()).write_csv(tmp_path / "project/data/days.csv")
    return made


@cache
def days():
    return simulate.occupancy(40, days=1, step="1h", seed=3)


@pytest.fixture
def studio(project, clock):
    made = Studio(project, Settings(), clock=clock)
    yield made
    made.jobs.close()


@pytest.fixture
def locked_studio(project, clock):
    made = Studio(project, Settings(password=Password(PASSWORD)), clock=clock)
    yield made
    made.jobs.close()


@pytest.fixture
def visitor(studio):
    """Somebody without any session."""
    return person(studio)


@pytest.fixture
def publisher(studio):
    found = person(studio)
    assert found.get(f"/enter/{studio.key}").status_code == 303
    found.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', found.get("/").text)[1]
    return found


@pytest.fixture(scope="session")
def lunch():
    """20 questions about means of at least 4 persons; that the pages can make one is tested elsewhere."""
    return LabelTask.presanitised(days(), k=4, multiple=1, n_pairs=20)


@pytest.fixture
def task(project, lunch, clock):
    """A task called lunch."""
    project.add_task("lunch", lunch, "days.csv", clock())
    return "lunch"


@pytest.fixture
def analyst(studio, publisher, task):
    return open_link(studio, publisher.make_link(task, "anna"))


def person(studio):
    return Person(TestClient(build(studio), base_url="http://127.0.0.1:8765", follow_redirects=False))


def open_link(studio, link):
    """Whoever has a link, at the label page."""
    found = person(studio)
    answer = found.get(link)
    assert (answer.status_code, answer.headers["location"]) == (303, "/label")
    found.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', found.get("/label").text)[1]
    return found
