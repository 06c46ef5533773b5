"""The closed service over HTTP: tokens, the studio's rules, one shape of answer, and the minimum."""

import itertools
import os
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from starlette.testclient import TestClient

from closed.places import MINIMUM, candidate_of, closed, random_question, raw_panel, selected
from shoal.cli.app import run
from shoal.closed import Count, Range
from shoal.errors import ParameterError
from shoal.studio import rate_limit
from shoal.studio.closed_app import ClosedSettings, build_closed
from shoal.studio.security import CONTENT_POLICY, FORM_BYTES
from studio.people import Clock
from studio.test_limits import ask as send_in_pieces

BASE = "http://127.0.0.1:8766"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def service(tmp_path, clock):
    return closed(tmp_path / "closed", candidate_of(raw_panel()), clock=clock, budget=500)


@pytest.fixture
def visitor(service):
    """Somebody without a token."""
    return TestClient(build_closed(service, ClosedSettings()), base_url=BASE, follow_redirects=False)


@pytest.fixture
def north(service):
    """A recipient with his token."""
    return client_of(service, service.register.create("north", 30)[1])


def client_of(service, secret, **settings_of):
    return TestClient(
        build_closed(service, ClosedSettings(**settings_of)),
        base_url=BASE,
        headers={"Authorization": f"Bearer {secret}"},
        raise_server_exceptions=False,
    )


COUNT = {"kind": "count"}


class TestAnswers:
    def test_a_recipient_asks_and_is_answered(self, north):
        answer = north.post("/ask", json=COUNT)
        assert answer.status_code == 200
        assert answer.json() == {"outcome": "answered", "value": 60.0, "reason": "", "questions_left": 499}
        assert north.get("/budget").json() == {"questions_left": 499}
        assert north.get("/about").json()["minimum_group"] == MINIMUM

    def test_a_refusal_has_the_status_and_the_shape_of_an_answer(self, north):
        nobody = {"kind": "count", "where": [{"kind": "range", "at": 0, "low": 1e9}]}
        refused, answered = north.post("/ask", json=nobody), north.post("/ask", json=COUNT)
        assert refused.status_code == answered.status_code
        assert list(refused.json()) == list(answered.json())
        assert dict(refused.headers).keys() == dict(answered.headers).keys()
        assert refused.json()["reason"] == "below-minimum"

    def test_the_minimum_holds_for_pairs_of_answers_over_http(self, north):
        published = candidate_of(raw_panel()).values
        rng = np.random.default_rng(9)
        told = set()
        for _ in range(200):
            question = random_question(rng, published)
            found = north.post("/ask", content=question.model_dump_json(), headers={"Content-Type": "application/json"})
            assert found.status_code == 200
            if found.json()["outcome"] == "answered":
                told.add(frozenset(np.flatnonzero(selected(published, question)).tolist()))
        assert len(told) > 20
        assert min(map(len, told)) >= MINIMUM
        for a, b in itertools.combinations(told, 2):
            assert not any(0 < len(rest) < MINIMUM for rest in (a - b, b - a, a & b))

    def test_differencing_pairs_isolate_nobody_over_http(self, north):
        published = candidate_of(raw_panel()).values
        for subject in range(0, 60, 4):
            at = float(published[subject, 0])
            counts = [
                north.post("/ask", json=Count(where=(Range(at=0, high=high),)).model_dump(exclude_none=True)).json()
                for high in (at, float(np.nextafter(at, -np.inf)))
            ]
            first, second = (found["value"] or 0.0 for found in counts)
            assert first - second >= MINIMUM

    @pytest.mark.parametrize(
        "body", [b"", b"{", b"[]", b'{"kind": "sum"}', b'{"kind": "count", "where": [{"kind": "range", "at": NaN}]}']
    )
    def test_what_is_no_question_is_told_so_and_not_quoted(self, north, service, body):
        answer = north.post("/ask", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert answer.json() == {"detail": "This is not a question for this service. See /openapi.json."}
        assert service.register.entries() == []

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 60_000,
            b'{"kind": "count", "where": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
            b'{"kind": "mean", "start": ' + b"9" * 60_000 + b"}",
            b'{"kind": "count", "where": [{"kind": "range", "at": 0, "low": 1e999}]}',
            b"\xff\xfe",
        ],
    )
    def test_bodies_made_to_break_a_parser_break_nothing(self, north, body):
        answer = north.post("/ask", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)


class TestTokens:
    @pytest.mark.parametrize("path", ["/about", "/budget", "/openapi.json", "/ask"])
    def test_without_one_nothing_is_told(self, visitor, path):
        answer = visitor.post(path, json=COUNT) if path == "/ask" else visitor.get(path)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "A token that opens this service is needed" in answer.json()["detail"]

    def test_wrong_expired_and_revoked_ones_look_the_same(self, service, visitor, clock, monkeypatch):
        monkeypatch.setattr(rate_limit, "CLIENT_FREE", 10**9)
        number, revoked = service.register.create("south", 30)
        _, expired = service.register.create("west", 1)
        service.register.revoke(number)
        clock.now += 2 * 86_400
        answers = [
            visitor.get("/about", headers={"Authorization": f"Bearer {secret}"})
            for secret in (revoked, expired, "x" * 43)
        ]
        assert {(a.status_code, a.text) for a in answers} == {(401, answers[0].text)}

    def test_guessing_is_slowed_and_does_not_lock_out_who_has_one(self, service, visitor, north, clock):
        statuses = [visitor.get("/about", headers={"Authorization": f"Bearer {i}"}).status_code for i in range(6)]
        assert statuses == [401, 401, 401, 429, 429, 429]
        late = visitor.get("/about", headers={"Authorization": "Bearer 9"})
        assert int(late.headers["retry-after"]) >= 1
        assert north.get("/about").status_code == 200
        clock.now += 4000
        assert visitor.get("/about").status_code == 401

    def test_a_token_in_the_address_is_no_token(self, service, visitor):
        _, secret = service.register.create("north", 1)
        assert visitor.get(f"/about?token={secret}&access_token={secret}").status_code == 401


class TestRules:
    @pytest.mark.parametrize("path", ["/about", "/nowhere", "/%2e%2e/closed.sqlite", "/closed.json"])
    def test_every_answer_has_the_headers(self, visitor, path):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"] == CONTENT_POLICY
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"

    def test_other_names_and_other_sites_are_refused(self, north):
        assert north.get("/about", headers={"Host": "evil.example"}).status_code == 421
        foreign = north.post("/ask", json=COUNT, headers={"Origin": "https://evil.example"})
        assert (foreign.status_code, foreign.json()["detail"]) == (403, "This came from another site.")

    @pytest.mark.parametrize("path", ["/ask", "/tables"])
    def test_bodies_are_limited_whatever_they_announce(self, service, path):
        app = build_closed(service, ClosedSettings())
        statuses, read = send_in_pieces(app, path, {"content-type": "application/json"}, [b" " * 4096] * 1000)
        assert statuses in ([413], [404])
        assert read <= FORM_BYTES + 4096

    def test_other_machines_are_let_in_only_on_purpose(self):
        with pytest.raises(
            ParameterError, match=r"--host 0\.0\.0\.0 lets other machines in. Confirm it with --let-others-in"
        ):
            ClosedSettings(host="0.0.0.0")
        with pytest.raises(ParameterError, match="--public-url lets other machines in"):
            ClosedSettings(public_url="https://answers.example.org")
        with pytest.raises(ParameterError, match="--public-url must be an address without a path"):
            ClosedSettings(public_url="https://answers.example.org/x", others=True)
        assert ClosedSettings(host="0.0.0.0", others=True).others

    def test_a_failure_tells_nothing_of_what_failed(self, service, north, capfd, monkeypatch):
        def fail(*_):
            raise ValueError("meter-7 had 31.4159")

        monkeypatch.setattr(service, "ask", fail)
        answer = north.post("/ask", json=COUNT)
        assert (answer.status_code, answer.json()["detail"]) == (500, "Something went wrong. Nothing was answered.")
        told = capfd.readouterr().err
        assert told.startswith("shoal serve: internal error ValueError at test_closed.py:")
        assert "31.4159" not in told + answer.text

    def test_the_application_is_wrapped_once_and_in_order(self, service):
        names, app = [], build_closed(service, ClosedSettings())
        while hasattr(app, "_app"):
            names.append(type(app).__name__)
            app = app._app
        assert names == ["SecureHeaders", "Quiet", "HostCheck", "BodyLimit", "OriginCheck"]


class TestDescription:
    def test_it_names_every_address(self, north):
        found = north.get("/openapi.json").json()
        assert set(found["paths"]) == {"/about", "/budget", "/ask"}

    @pytest.mark.parametrize("known", [True, False])
    def test_whatever_is_sent_there_is_no_server_error(self, service, known, monkeypatch):
        monkeypatch.setattr(rate_limit, "CLIENT_FREE", 10**9)
        monkeypatch.setattr(rate_limit, "ALL_FREE", 10**9)
        secret = service.register.create("north", 30)[1]
        host, token = {"Host": "127.0.0.1:8766"}, {"Authorization": f"Bearer {secret}"}
        app = build_closed(service, ClosedSettings())
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=host | token)
        # What the description says of tokens would be made up and sent in the place of ours.
        wrong = {"Authorization": "Bearer wrong"}
        found = {
            operation.label: send(operation, host | (token if known else wrong))
            for operation in (each.ok() for each in schema.get_all_operations())
        }
        assert set(found) == {"GET /about", "GET /budget", "POST /ask"}
        if known:
            assert {200, 422} <= found["POST /ask"] <= {200, 400, 401, 405, 422}
        else:
            assert set().union(*found.values()) <= {400, 401, 405, 422}


def send(operation, headers):
    """Requests that the description allows and such that it does not; gives the statuses of the answers."""
    statuses = set()
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(
            max_examples=40,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def each(case):
            sent = {**(case.headers or {}), **headers}
            answer = case.call(base_url=BASE, headers=sent, allow_redirects=False)
            assert answer.status_code < 500, case.as_curl_command()
            statuses.add(answer.status_code)

        try:
            each()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE
    return statuses


class TestCommand:
    def test_tokens_are_made_listed_and_revoked_and_the_log_is_shown(self, service, tmp_path, capsys):
        folder = str(tmp_path / "closed")
        assert run(["serve", "token", "list", folder]) == 0
        assert capsys.readouterr().out == "tokens  none\n"
        assert run(["serve", "token", "create", folder, "--recipient", "north"]) == 0
        said = capsys.readouterr().out
        secret = re.search(r"^secret  (\S+)$", said, re.M)[1]
        assert len(secret) >= 43
        assert run(["serve", "token", "list", folder]) == 0
        said = capsys.readouterr().out
        assert re.match(r"1  good     until \d{4}-\d\d-\d\d  north", said)
        assert secret not in said
        assert run(["serve", "token", "revoke", folder, "1"]) == 0
        assert run(["serve", "token", "list", folder, "--json"]) == 0
        assert '"state": "revoked"' in capsys.readouterr().out
        assert run(["serve", "token", "revoke", folder, "7"]) == 2
        assert "There is no token 7" in capsys.readouterr().err
        assert run(["serve", "log", folder]) == 0
        assert capsys.readouterr().out == "log     whole\n"

    def test_the_log_names_questions_and_exits_1_when_tampered_with(self, service, tmp_path, capsys):
        import sqlite3

        token = service.find(service.register.create("north", 1)[1])
        service.ask(token, Count())
        folder = str(tmp_path / "closed")
        assert run(["serve", "log", folder]) == 0
        assert 'token 1  answered  {"kind":"count","where":[]}' in capsys.readouterr().out
        connection = sqlite3.connect(tmp_path / "closed" / "closed.sqlite")
        connection.executescript("drop trigger log_is_never_changed; update log set token = 1, at = 0;")
        connection.close()
        assert run(["serve", "log", folder, "--json"]) == 1
        assert '"first_odd": 1' in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["nowhere"], "is neither a closed folder"),
            (["closed", "--host", "0.0.0.0"], "lets other machines in"),
        ],
    )
    def test_what_cannot_be_served_is_one_line(self, service, tmp_path, monkeypatch, capsys, arguments, told):
        monkeypatch.chdir(tmp_path)
        assert run(["serve", *arguments]) == 2
        assert told in capsys.readouterr().err

    def test_a_real_service_answers_and_logs_no_token(self, service, tmp_path):
        _, secret = service.register.create("north", 10_000 / 24)  # the clock of the fixture stands in 2023
        command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "serve", str(tmp_path / "closed")]
        with service.register.database.writing() as connection:
            connection.execute("update tokens set expires = 9e9")
        process = subprocess.Popen(
            [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        try:
            address = next(m[1] for line in process.stdout if (m := re.match(r"service\s+(\S+)$", line)))
            request = urllib.request.Request(
                address,
                data=b'{"kind": "count"}',
                headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert b'"value":60.0' in answer.read()
        finally:
            process.send_signal(signal.SIGINT)
            rest, told = process.communicate(timeout=20)
        assert secret not in rest + told
        assert told == ""
