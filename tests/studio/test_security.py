"""What stands before every page, each rule with a request that breaks it."""

import pytest

from shoal.studio.app import ROOMS, build
from shoal.studio.context import Settings, Studio
from shoal.studio.passwords import Password
from shoal.studio.security import CONTENT_POLICY, host_name
from studio.conftest import PASSWORD, open_link, person

OPEN = {"/login", "/enter/{key}", "/open/{token}", "/static/{version}/{name}"}
"""Routes for everybody."""


def every_route():
    """Path and method of every route, with names that exist filled in."""
    names = {
        "task": "lunch",
        "table": "days.csv",
        "release": "none",
        "job": "0" * 16,
        "link": "1",
        "draft": "d",
        "number": "0",
    }
    for route in (route for room in ROOMS for route in room.router.routes):
        for method in route.methods:
            yield (
                route.path,
                route.path.format_map({**names, "key": "k", "token": "t", "version": "v", "name": "n"}),
                method,
            )


class TestHeaders:
    @pytest.mark.parametrize(
        "path", ["/", "/login", "/label", "/open/x", "/nowhere", "/static/x/y", "/%2e%2e/etc/passwd"]
    )
    def test_every_answer_has_them(self, visitor, path):
        headers = visitor.get(path).headers
        assert headers["content-security-policy"] == CONTENT_POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert "camera=()" in headers["permissions-policy"]
        assert "server" not in headers

    def test_the_policy_allows_no_inline_script_or_style_and_no_other_host(self):
        rules = dict(rule.strip().partition(" ")[::2] for rule in CONTENT_POLICY.split(";"))
        assert rules["default-src"] == "'none'"
        assert rules["script-src"] == rules["connect-src"] == rules["style-src"] == rules["form-action"] == "'self'"
        assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
        assert "unsafe" not in CONTENT_POLICY

    def test_no_page_has_inline_script_style_or_handlers(self, publisher, analyst, task):
        shown = [publisher.get(p).text for p in ("/", f"/tasks/{task}", "/tasks/new", f"/tasks/{task}/compare")]
        for page in [*shown, analyst.get("/label").text]:
            assert "<style" not in page
            assert " style=" not in page
            assert " onclick" not in page
            scripts = page.split("<script")[1:]
            assert all(' src="/static/' in s or ' type="application/json"' in s.partition(">")[0] for s in scripts)
            assert "http://" not in page.replace("http://127.0.0.1", "")
            assert "https://" not in page

    def test_only_files_of_ours_may_be_kept(self, visitor):
        from shoal.studio.assets import address_of

        for name, start in (("studio.css", b":root"), ("label.js", b"/* The label page"), ("plotly.min.js", b"/**")):
            answer = visitor.get(address_of(name))
            assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
            assert answer.content.startswith(start)
            plain = visitor.get(address_of(name), headers={"Accept-Encoding": "identity"})
            assert plain.content == answer.content
            assert visitor.get(f"/static/old/{name}").status_code == 404

    def test_https_is_insisted_on_where_it_is_used(self, project):
        studio = Studio(project, Settings(password=Password(PASSWORD), public_url="https://studio.example.org"))
        answer = person(studio).get("/login", headers={"Host": "studio.example.org"})
        assert answer.headers["strict-transport-security"] == "max-age=31536000"


class TestHosts:
    @pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "localhost", "[::1]:8765", "LOCALHOST"])
    def test_names_of_this_machine_are_answered(self, visitor, host):
        assert visitor.get("/login", headers={"Host": host}).status_code == 200

    @pytest.mark.parametrize(
        "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "192.168.1.5", ""]
    )
    def test_other_names_are_not(self, visitor, host):
        answer = visitor.get("/login", headers={"Host": host})
        assert answer.status_code == 421
        assert answer.headers["content-security-policy"] == CONTENT_POLICY

    def test_the_public_name_is_answered_and_addresses_where_others_are_let_in(self, project):
        settings = Settings(host="0.0.0.0", password=Password(PASSWORD), public_url="https://studio.example.org")
        visitor = person(Studio(project, settings))
        for host in ("studio.example.org", "192.168.1.5:8765"):
            assert visitor.get("/login", headers={"Host": host}).status_code == 200
        assert visitor.get("/login", headers={"Host": "evil.example"}).status_code == 421

    @pytest.mark.parametrize("host", ["a:b:c", "a,b", "[::1", "a b", "a:99999999"])
    def test_what_is_no_host_has_no_name(self, host):
        assert host_name(host) is None


class TestForeignRequests:
    def test_a_form_without_its_token_changes_nothing(self, publisher, studio, task):
        for token in ("", "0" * 64, publisher.csrf[:-1]):
            publisher.csrf = token
            assert publisher.post(f"/tasks/{task}/links", {"analyst": "eve"}).status_code == 403
            assert publisher.client.post(f"/tasks/{task}/links", data={"analyst": "eve"}).status_code == 403
            header = {"X-CSRF-Token": token}
            assert (
                publisher.client.post(f"/tasks/{task}/links", data={"analyst": "eve"}, headers=header).status_code
                == 403
            )
        assert studio.links.of_task(task) == []

    def test_the_token_of_another_session_is_no_token(self, studio, publisher, analyst):
        analyst.csrf = publisher.csrf
        assert analyst.send("/label/api/answer", {"position": 0, "answer": "similar"}).status_code == 403
        assert len(studio.answers.labels("lunch")) == 0

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "http://127.0.0.1.evil.example:8765"},
            {"Origin": "http://127.0.0.1:9999"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site"},
            {"Sec-Fetch-Site": "cross-site", "Origin": "null"},
            {"Origin": "http://["},
        ],
    )
    def test_what_another_site_sends_is_refused_even_with_the_token(self, publisher, studio, task, headers):
        answer = publisher.post(f"/tasks/{task}/links", {"analyst": "eve"}, headers=headers)
        assert answer.status_code == 403
        assert "came from another site" in answer.text
        assert studio.links.of_task(task) == []

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"},
            {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
            {"Origin": "null"},
            {},
        ],
    )
    def test_what_our_own_pages_send_is_taken(self, publisher, studio, task, headers):
        assert publisher.post(f"/tasks/{task}/links", {"analyst": "anna"}, headers=headers).status_code == 200

    def test_every_change_asks_for_the_token(self, studio, publisher, analyst):
        for route, path, method in every_route():
            if method in ("GET", "HEAD") or route in OPEN:
                continue
            someone = analyst if route.startswith("/label") else publisher
            # An upload without a form has no place for a token; with one it is tested beside the uploads.
            expected = 400 if route == "/tables" else 403
            assert someone.client.request(method, path).status_code == expected, path
            answer = someone.client.request(method, path, json={"position": 0, "answer": "similar"})
            assert answer.status_code == expected, path
        assert len(studio.answers.labels("lunch")) == 0


class TestCookies:
    def test_they_are_for_this_server_and_no_script(self, studio, visitor, publisher, task):
        answers = [
            visitor.get("/login"),
            person(studio).get(f"/enter/{studio.key}"),
            person(studio).get(publisher.make_link(task, "anna")),
        ]
        for answer in answers:
            cookie = answer.headers["set-cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=lax" in cookie
            assert "Path=/" in cookie
            assert "Domain" not in cookie
            assert "Secure" not in cookie  # over plain http it would never come back

    def test_behind_https_they_are_secure_and_bound_to_the_host(self, project):
        settings = Settings(password=Password(PASSWORD), public_url="https://studio.example.org")
        cookie = person(Studio(project, settings)).get("/login", headers={"Host": "studio.example.org"})
        cookie = cookie.headers["set-cookie"]
        assert cookie.startswith("__Host-shoal-visitor=")
        assert "Secure" in cookie

    def test_an_invented_cookie_is_nobody(self, studio, visitor):
        visitor.client.cookies.set("shoal-publisher", "x" * 43)
        visitor.client.cookies.set("shoal-analyst", "x" * 43)
        assert visitor.get("/").status_code == 303
        assert visitor.get("/label").status_code == 403


class TestWhoSeesWhat:
    def test_without_a_session_there_is_nothing_but_the_ways_in(self, studio, visitor, publisher, task):
        publisher.make_link(task, "anna")
        for route, path, method in every_route():
            if route in OPEN:
                continue
            answer = visitor.client.request(method, path)
            if route.startswith(("/label", "/review")):
                assert answer.status_code == 403, path
            elif method == "GET":
                assert (answer.status_code, answer.headers["location"]) == (303, "/login"), path
            else:
                assert answer.status_code == 401, path
            assert task not in answer.text

    def test_an_analyst_reaches_the_label_page_and_nothing_else(self, studio, analyst):
        for route, path, method in every_route():
            if route in OPEN or route.startswith("/label"):
                continue
            if route == "/review":
                assert analyst.client.request(method, path).status_code == 403
                continue
            answer = analyst.client.request(method, path, headers={"X-CSRF-Token": analyst.csrf})
            assert answer.status_code in ((303,) if method == "GET" else (401,)), path
            assert answer.headers.get("location", "/login") == "/login"

    def test_an_analysts_cookie_under_the_publishers_name_is_nobody(self, studio, analyst, publisher):
        eve = person(studio)
        eve.client.cookies.set(studio.publisher_cookie, analyst.client.cookies["shoal-analyst"])
        assert eve.get("/").status_code == 303
        eve.client.cookies.set("shoal-analyst", publisher.client.cookies[studio.publisher_cookie])
        assert eve.get("/label").status_code == 403

    def test_two_analysts_of_two_tasks_get_their_own_one(self, studio, publisher, analyst):
        publisher.make_task("other", pairs=10)
        ben = open_link(studio, publisher.make_link("other", "ben"))
        assert (analyst.state()["total"], ben.state()["total"]) == (20, 10)
        ben.answer_all("dissimilar")
        assert analyst.state()["done"] == 0
        assert len(studio.answers.labels("lunch")) == 0

    def test_an_analyst_is_told_neither_curves_nor_repetitions_nor_others(self, analyst):
        assert set(analyst.state()) == {"pair", "done", "total", "last"}
        assert set(analyst.state()["pair"]) == {"position", "left", "right"}
        page = analyst.get("/label").text
        assert not [word for word in ("repeat", "lunch", "anna", "days.csv") if word in page]

    @pytest.mark.parametrize(
        "path",
        [
            "/tables/..%2f..%2fetc%2fpasswd",
            "/tables/../studio.sqlite",
            "/tables/%2e%2e%2fstudio.sqlite",
            "/tasks/%2e%2e/compare",
            "/releases/..%2f..",
            "/releases/%00",
            "/data/days.csv",
            "/studio.sqlite",
            "/static/x/..%2f..%2fapp.py",
            "/tables/days.csv%00.csv",
        ],
    )
    def test_no_address_leads_to_a_file(self, publisher, path):
        answer = publisher.get(path)
        assert answer.status_code == 404
        assert "SQLite" not in answer.text


class TestFailures:
    def test_a_failure_shows_and_logs_nothing_of_what_failed(self, studio, publisher, capfd, monkeypatch):
        def fail():
            raise ValueError("person-0007 had 31.4159 kWh")

        monkeypatch.setattr(studio.project, "tables", fail)
        answer = publisher.get("/")
        assert answer.status_code == 500
        assert "Something went wrong" in answer.text
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        told = capfd.readouterr()
        assert told.err.startswith("shoal studio: internal error ValueError at test_security.py:")
        for text in (answer.text, told.err, told.out):
            assert "31.4159" not in text
            assert "person-0007" not in text

    def test_a_job_that_fails_tells_nothing_of_the_data(self, studio, publisher, capfd, monkeypatch):
        def fail(table):
            raise ValueError("person-0007 had 31.4159 kWh")

        monkeypatch.setattr(studio.project, "panel", fail)
        answer = publisher.done(publisher.post("/tasks", {"name": "a", "table": "days.csv"}))
        assert answer.status_code == 400
        assert "An internal error; its location is logged." in answer.text
        assert "31.4159" not in answer.text + "".join(capfd.readouterr())

    def test_a_wrong_field_is_named_and_not_quoted(self, publisher):
        answer = publisher.post("/tasks", {"name": "../31.4159", "table": "days.csv", "k": "1", "pairs": "many"})
        assert answer.status_code == 422
        assert "name: letters, digits, _ and - only, at most 64; k: at least 2; pairs: a whole number" in answer.text
        assert "31.4159" not in answer.text

    def test_a_failure_after_the_start_of_an_answer_is_logged_and_no_second_answer_sent(self, capfd):
        import anyio

        from shoal.studio.security import Quiet

        async def fails_late(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise ValueError("31.4159")

        sent = []

        async def keep(message):
            sent.append(message)

        anyio.run(Quiet(fails_late, page=None), {"type": "http"}, None, keep)
        assert [message["type"] for message in sent] == ["http.response.start"]
        assert "31.4159" not in capfd.readouterr().err


def test_the_application_is_wrapped_once_and_in_order(studio):
    names = []
    app = build(studio)
    while hasattr(app, "_app"):
        names.append(type(app).__name__)
        app = app._app
    assert names == ["SecureHeaders", "Quiet", "HostCheck", "BodyLimit", "OriginCheck"]
