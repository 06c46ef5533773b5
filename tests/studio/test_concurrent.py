"""Two hundred answers at once, to a real server: none is lost, none is stored twice."""

import http.client
import json
import sqlite3
import threading
from urllib.parse import urlsplit

import pytest

from shoal import LabelTask, simulate
from shoal.studio.project import Project
from shoal.studio.tokens import ProjectLinks
from studio.running import running_studio

N = 200


class Client:
    """A connection of its own to the server, with an analyst's session."""

    def __init__(self, host, link):
        self.host = host
        self.cookie = self._ask("GET", link)[1]["set-cookie"].partition(";")[0]
        page = self._ask("GET", "/label")[2].decode()
        self.csrf = page.partition('name="csrf" value="')[2][:64]

    def _ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection(self.host, timeout=120)
        cookie = {"Cookie": self.cookie} if hasattr(self, "cookie") else {}
        connection.request(method, path, body, {**cookie, **(headers or {})})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, content

    def give(self, position, answer):
        body = json.dumps({"position": position, "answer": answer})
        headers = {"Content-Type": "application/json", "X-CSRF-Token": self.csrf}
        return self._ask("POST", "/label/api/answer", body, headers)[0]


@pytest.fixture
def running(tmp_path):
    """A studio with a task of more than 200 questions, and links of two analysts."""
    project = Project(tmp_path / "project")
    task = LabelTask.presanitised(simulate.occupancy(120, days=1, step="1h", seed=4), k=4, multiple=1, n_pairs=N + 20)
    assert task.n_pairs == N + 20
    project.add_task("lunch", task, "days.csv", 0.0)
    links = ProjectLinks(project.store, lambda: 4e9)
    tokens = [links.create("lunch", name, 1) for name in ("anna", "ben")]
    with running_studio(project.folder) as address:
        host = urlsplit(address).netloc
        yield project, [Client(host, f"/open/{token}") for token in tokens]


def all_at_once(jobs):
    """Start each in a thread of its own, let them go together; gives what they return."""
    gate, results = threading.Barrier(len(jobs)), [None] * len(jobs)

    def run(i, job):
        gate.wait()
        results[i] = job()

    threads = [threading.Thread(target=run, args=(i, job)) for i, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def stored(project):
    with sqlite3.connect(project.folder / "studio.sqlite") as database:
        rows = database.execute("select analyst, position, answer, number from labels").fetchall()
    database.close()
    return rows


def test_two_hundred_answers_at_once_are_each_stored_once(running):
    project, (anna, ben) = running
    expected = {("anna", p): ("similar", "dissimilar", "undecided")[p % 3] for p in range(N)}
    assert all_at_once([lambda p=p, said=said: anna.give(p, said) for (_, p), said in expected.items()]) == [200] * N
    rows = stored(project)
    assert {(analyst, position): answer for analyst, position, answer, _ in rows} == expected
    assert len(rows) == N
    assert sorted(number for *_, number in rows) == list(range(1, N + 1))

    # The same again, each twice, and another analyst between them: nothing doubles, nothing mixes.
    again = [lambda p=p, said=said: anna.give(p, said) for (_, p), said in list(expected.items())[:60]]
    others = [lambda p=p: ben.give(p, "similar") for p in range(60)]
    assert set(all_at_once([*again, *others, *again])) == {200}
    assert len(stored(project)) == N + 60

    # Two answers to one question: the first one counts, the other is told.
    codes = all_at_once([lambda said=said: ben.give(150, said) for said in ["similar", "dissimilar"] * 10])
    assert sorted(set(codes)) == [200, 409]
    assert codes.count(200) == 10
    assert len(stored(project)) == N + 61
