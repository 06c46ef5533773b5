"""Who gets in, and how fast somebody who does not may try again."""

import re

import pytest

from shoal.errors import InputError, ParameterError
from shoal.studio.context import Settings, Studio
from shoal.studio.passwords import Password, find_password
from shoal.studio.rate_limit import ALL_FREE, CLIENT_FREE, CLIENT_LONGEST, FORGET_SECONDS, MOST_CLIENTS, Slowing
from shoal.studio.sessions import MOST_OF_A_LINK, csrf_token
from studio.conftest import PASSWORD, open_link, person


def log_in(visitor, password):
    page = visitor.get("/login").text
    visitor.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)[1]
    return visitor.post("/login", {"password": password})


def test_the_key_of_this_start_opens_and_another_one_does_not(studio, visitor):
    assert visitor.get("/").headers["location"] == "/login"
    assert visitor.get("/enter/guess").status_code == 403
    assert visitor.get("/").status_code == 303
    answer = visitor.get(f"/enter/{studio.key}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert visitor.get("/").status_code == 200


def test_a_new_start_has_a_new_key_and_ends_the_old_sessions(project, studio, publisher, clock):
    assert publisher.get("/").status_code == 200
    again = Studio(project, Settings(), clock=clock)
    assert again.key != studio.key
    assert publisher.get("/").status_code == 303
    again.jobs.close()


def test_with_a_password_the_key_opens_nothing(locked_studio):
    visitor = person(locked_studio)
    assert visitor.get(f"/enter/{locked_studio.key}").status_code == 403
    assert log_in(visitor, "wrong").status_code == 403
    assert "That is not the password." in log_in(visitor, "wrong").text
    answer = log_in(visitor, PASSWORD)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert visitor.get("/").status_code == 200


def test_a_log_in_needs_the_token_of_its_form(locked_studio):
    visitor = person(locked_studio)
    assert visitor.post("/login", {"password": PASSWORD}).status_code == 403
    visitor.get("/login")
    visitor.csrf = "0" * 64
    assert visitor.post("/login", {"password": PASSWORD}).status_code == 403
    assert visitor.get("/").status_code == 303


def test_without_a_password_the_log_in_page_says_where_the_address_is(visitor):
    assert "address that it printed" in visitor.get("/login").text
    visitor.csrf = csrf_token(visitor.client.cookies["shoal-visitor"])
    assert visitor.post("/login", {"password": ""}).status_code == 403
    assert visitor.get("/").status_code == 303


def test_logging_out_ends_the_session_and_not_only_the_cookie(studio, publisher):
    cookies = dict(publisher.client.cookies)
    assert publisher.post("/logout").status_code == 200
    other = person(studio)
    other.client.cookies.update(cookies)
    assert other.get("/").status_code == 303


def test_a_session_ends_after_twelve_hours(publisher, clock):
    clock.now += 12 * 3600 - 1
    assert publisher.get("/").status_code == 200
    clock.now += 2
    assert publisher.get("/").status_code == 303


def test_guessing_the_password_is_slowed_and_waiting_helps(locked_studio, clock):
    visitor = person(locked_studio)
    for _ in range(CLIENT_FREE):
        assert log_in(visitor, "wrong").status_code == 403
    slowed = log_in(visitor, PASSWORD)
    assert (slowed.status_code, slowed.headers["retry-after"]) == (429, "1")
    assert "Wait 1 seconds" in slowed.text
    clock.now += 1
    assert log_in(visitor, "wrong").status_code == 403
    assert log_in(visitor, PASSWORD).headers["retry-after"] == "2"
    clock.now += 2
    assert log_in(visitor, PASSWORD).status_code == 303


def test_guessing_the_key_is_slowed_and_the_right_one_never_waits(studio, visitor):
    for _ in range(CLIENT_FREE):
        assert visitor.get("/enter/guess").status_code == 403
    assert visitor.get("/enter/guess").status_code == 429
    assert visitor.get(f"/enter/{studio.key}").status_code == 303
    assert visitor.get("/enter/guess").status_code == 429  # success does not clear the guesses


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_another_page_asks_for_is_no_attempt(visitor, site):
    for _ in range(10 * CLIENT_FREE):
        assert visitor.get("/enter/guess", headers={"Sec-Fetch-Site": site}).status_code == 403
    for _ in range(CLIENT_FREE):
        assert visitor.get("/enter/guess", headers={"Sec-Fetch-Site": "none"}).status_code == 403


def test_a_delay_grows_to_five_minutes_and_is_forgotten_after_an_hour(clock):
    slowing = Slowing(clock)
    waits = []
    for _ in range(14):
        assert slowing.attempt("a") == 0.0
        waits.append(slowing.attempt("a") if len(waits) + 1 >= CLIENT_FREE else 0.0)
        clock.now += waits[-1]
    assert waits == [0.0, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, *[CLIENT_LONGEST] * 3]
    clock.now += FORGET_SECONDS + 1
    assert slowing.attempt("a") == 0.0
    assert slowing.attempt("a") == 0.0


def test_guesses_sent_at_once_do_not_all_pass_before_the_first_has_failed(clock):
    slowing = Slowing(clock)
    assert [slowing.attempt("a") == 0.0 for _ in range(50)] == [True] * CLIENT_FREE + [False] * (50 - CLIENT_FREE)


def test_many_clients_together_are_slowed_and_success_is_no_failure(clock):
    slowing = Slowing(clock)
    for i in range(ALL_FREE):
        assert slowing.attempt(f"client {i}") == 0.0
    assert slowing.attempt("another") > 0.0
    clock.now += 1
    assert slowing.attempt("another") == 0.0
    slowing = Slowing(clock)
    for i in range(5 * ALL_FREE):
        assert slowing.attempt(f"client {i}") == 0.0
        slowing.succeeded(f"client {i}")


def test_only_so_many_clients_are_remembered(clock):
    slowing = Slowing(clock)
    for i in range(MOST_CLIENTS + 10):
        slowing.attempt(f"client {i}")
        clock.now += 20
    assert len(slowing._clients) <= MOST_CLIENTS


def test_a_host_for_others_needs_a_password():
    with pytest.raises(ParameterError, match=r"--host 0\.0\.0\.0 lets other machines in, so the publisher needs a"):
        Settings(host="0.0.0.0")
    with pytest.raises(ParameterError, match="so the publisher needs a password"):
        Settings(public_url="https://studio.example.org")
    assert Settings(host="0.0.0.0", password=Password(PASSWORD)).names
    assert Settings(host="::1").loopback
    assert Settings(host="localhost").loopback
    assert not Settings(host="studio.example", password=Password(PASSWORD)).loopback


@pytest.mark.parametrize("url", ["studio.example.org", "ftp://studio.example.org", "https://a.example/studio"])
def test_a_public_url_is_an_address_without_a_path(url):
    with pytest.raises(ParameterError, match="--public-url must be an address without a path"):
        Settings(public_url=url, password=Password(PASSWORD))


def test_a_password_comes_from_a_file_or_the_environment_and_is_long_enough(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOAL_STUDIO_PASSWORD", raising=False)
    assert find_password(None) is None
    monkeypatch.setenv("SHOAL_STUDIO_PASSWORD", PASSWORD)
    assert find_password(None).matches(PASSWORD)
    path = tmp_path / "password"
    path.write_text("another long one\n")
    assert find_password(path).matches("another long one")
    path.write_text("short\n")
    with pytest.raises(ParameterError, match="The password has fewer than 10 characters"):
        find_password(path)
    with pytest.raises(InputError, match=r"The password file '.*' cannot be read as text"):
        find_password(tmp_path / "nowhere")


def test_the_password_is_not_kept(locked_studio):
    kept = repr(vars(locked_studio.settings.password))
    assert PASSWORD not in kept


class TestLinks:
    def test_a_link_opens_its_task_until_it_expires(self, studio, publisher, task, clock):
        link = publisher.make_link(task, "anna", days=7)
        anna = open_link(studio, link)
        clock.now += 7 * 86_400 - 1
        assert anna.get("/label").status_code == 200
        clock.now += 2
        assert anna.get("/label").status_code == 403
        assert anna.get("/label/api/state").status_code == 403
        assert person(studio).get(link).status_code == 403

    def test_a_revoked_link_ends_its_sessions_and_no_others(self, studio, publisher, task):
        links = {name: publisher.make_link(task, name) for name in ("anna", "ben")}
        anna, ben = (open_link(studio, links[name]) for name in ("anna", "ben"))
        number = studio.links.of_task(task)[-1].link
        assert publisher.post(f"/tasks/{task}/links/{number}/revoke").status_code == 303
        assert anna.get("/label").status_code == 403
        assert person(studio).get(links["anna"]).status_code == 403
        assert ben.get("/label").status_code == 200

    def test_a_dead_link_says_nothing_about_what_exists(self, studio, publisher, task, clock):
        expired, revoked = (publisher.make_link(task, name, days=1) for name in ("anna", "ben"))
        studio.links.revoke(task, studio.links.of_task(task)[0].link)
        clock.now += 2 * 86_400
        answers = [person(studio).get(path) for path in (expired, revoked, "/open/" + "x" * 43, "/open/x")]
        assert {answer.status_code for answer in answers} == {403}
        assert len({answer.content for answer in answers}) == 1
        assert len({tuple(sorted(set(answer.headers) - {"date"})) for answer in answers}) == 1
        assert "set-cookie" not in answers[0].headers

    def test_only_hashes_of_tokens_cookies_and_keys_are_on_the_disk(self, studio, publisher, task, project):
        link = publisher.make_link(task, "anna")
        anna = open_link(studio, link)
        secrets = [link.rpartition("/")[2], studio.key, anna.csrf, publisher.csrf]
        secrets += [*anna.client.cookies.values(), *publisher.client.cookies.values()]
        assert len(secrets) == 6
        assert all(len(secret) >= 43 for secret in secrets)
        for path in project.folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert not [s for s in secrets if s.encode() in content], path.name
        files = list(project.folder.glob("studio.sqlite*"))
        assert files
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in files)

    def test_only_the_latest_sessions_of_a_link_are_kept(self, studio, publisher, task, project):
        links = [publisher.make_link(task, name) for name in ("anna", "ben")]
        ben = open_link(studio, links[1])
        anna = [open_link(studio, links[0]) for _ in range(MOST_OF_A_LINK + 5)]
        with project.store.reading() as connection:
            counts = dict(connection.execute("select link, count(*) from sessions group by link").fetchall())
        assert counts == {None: 1, 1: MOST_OF_A_LINK, 2: 1}
        assert [one.get("/label").status_code for one in anna] == [403] * 5 + [200] * MOST_OF_A_LINK
        assert ben.get("/label").status_code == 200
        assert publisher.get("/").status_code == 200

    def test_revoking_a_link_of_another_task_does_nothing(self, studio, publisher, task):
        publisher.make_link(task, "anna")
        publisher.make_task("other")
        number = studio.links.of_task(task)[0].link
        assert publisher.post(f"/tasks/other/links/{number}/revoke").status_code == 404
        assert studio.links.of_task(task)[0].revoked is None

    def test_the_link_is_shown_once(self, publisher, task):
        link = publisher.make_link(task, "anna")
        token = link.rpartition("/")[2]
        assert token not in publisher.get(f"/tasks/{task}").text
        assert token not in publisher.get("/").text
