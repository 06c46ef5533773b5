"""The HTTP surface against its own description: whatever is sent, no server error, and an answer within our headers."""

import re

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from shoal import simulate
from shoal.process.simulation import long_table
from shoal.studio import rate_limit
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.project import Project
from shoal.studio.security import CONTENT_POLICY
from stream_processes import SOAK
from studio.conftest import open_link, person

EXAMPLES = 5 if SOAK else 1
"""For each operation, right and wrong, about something and about nothing, and each of the three who send them."""
EXISTING = {"task": "lunch", "table": "days.csv", "release": "days", "draft": "days", "link": 2}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A studio, and the headers of a publisher, of an analyst and of nobody."""
    patch = pytest.MonkeyPatch()
    # Slowed, most log-ins would be answered before they are looked at.
    patch.setattr(rate_limit, "CLIENT_FREE", 10**9)
    patch.setattr(rate_limit, "ALL_FREE", 10**9)
    folder = tmp_path_factory.mktemp("openapi") / "project"
    project = Project(folder)
    long_table(simulate.occupancy(20, days=1, step="2h", seed=1)).write_csv(folder / "data/days.csv")
    studio = Studio(project, Settings())
    publisher = person(studio)
    publisher.get(f"/enter/{studio.key}")
    publisher.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', publisher.get("/").text)[1]
    publisher.make_task("lunch", pairs=10, k=2)
    publisher.release(k=2)
    analyst = open_link(studio, publisher.make_link("lunch", "anna"))
    publisher.make_link("lunch", "ben")  # to be revoked
    yield studio, {"publisher": headers_of(publisher), "analyst": headers_of(analyst), "nobody": {}}
    studio.jobs.close()
    patch.undo()


def headers_of(someone):
    cookies = "; ".join(f"{name}={value}" for name, value in someone.client.cookies.items())
    return {"Cookie": cookies, "X-CSRF-Token": someone.csrf}


def operations(studio, headers):
    schema = schemathesis.openapi.from_asgi(
        "/openapi.json", build(studio), headers=headers | {"Host": "127.0.0.1:8765"}
    )
    return [found.ok() for found in schema.get_all_operations()]


def send(operation, headers, about=(False, True)):
    """Requests that the description allows and such that it does not, half of them about things that exist.

    Gives the statuses of the answers.
    """
    statuses = set()

    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        for existing in about:

            @given(case=operation.as_strategy(generation_mode=mode), about=st.just(existing))
            @settings(
                max_examples=EXAMPLES,
                derandomize=True,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            def each(case, about):
                statuses.add(status_of(case, headers, about))

            try:
                each()
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # what takes anything cannot be sent anything wrong
    return statuses


def status_of(case, headers, existing):
    if existing:
        for values in (case.path_parameters, case.body):
            if isinstance(values, dict):
                values.update({name: value for name, value in EXISTING.items() if name in values})
    sent = {**(case.headers or {}), **headers, "Host": "127.0.0.1:8765"}
    answer = case.call(base_url="http://127.0.0.1:8765", headers=sent, allow_redirects=False)
    assert answer.status_code < 500, case.as_curl_command()
    assert answer.headers["content-security-policy"] == [CONTENT_POLICY]
    return answer.status_code


def test_the_description_is_for_the_publisher_and_names_every_form(place):
    studio, headers = place
    found = person(studio).get("/openapi.json", headers=headers["publisher"]).json()
    assert {"/label/api/answer", "/tasks", "/drafts/{draft}/release", "/tables", "/login"} <= set(found["paths"])
    assert person(studio).get("/openapi.json", headers=headers["analyst"]).status_code == 303
    assert person(studio).get("/openapi.json").status_code == 303


@pytest.mark.parametrize("who", ["publisher", "analyst", "nobody"])
def test_whatever_is_sent_there_is_no_server_error(place, who):
    studio, headers = place
    about = (False, True) if who == "publisher" or SOAK else (True,)
    # Ending the session would hide the pages behind it.
    found = {
        o.label: send(o, headers[who], about)
        for o in operations(studio, headers["publisher"])
        if "logout" not in o.label
    }
    assert len(found) > 25
    if who == "publisher":
        assert {200, 303, 400, 404, 422} <= set().union(*found.values())
        # What was started in the background did not fail inside either.
        assert studio.jobs.listed()
        assert not [job for job in studio.jobs.listed() if "internal error" in job.message]
    elif who == "analyst":
        assert found["GET /label"] == {200}
        assert found["GET /"] == {303}
        assert found["POST /label/api/answer"] & {200, 404, 409}
    else:
        assert [label for label, statuses in found.items() if 200 in statuses] == ["GET /login"]


def test_a_server_error_would_be_noticed(place, monkeypatch):
    studio, headers = place
    monkeypatch.setattr(studio.project, "releases", lambda: 1 / 0)
    home = next(o for o in operations(studio, headers["publisher"]) if o.label == "GET /")
    with pytest.raises(AssertionError):
        send(home, headers["publisher"])
