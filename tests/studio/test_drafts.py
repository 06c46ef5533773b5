"""From a table to a release without script: what each step takes, refuses and writes, and what a decision is about."""

import io
import json
import os
import re
import shutil
import zipfile

import pytest

from shoal import verify
from shoal.process.policy import parse_policy
from shoal.process.policy_run import run_policy
from studio.conftest import open_link, person
from studio.test_security import OPEN, every_route

METERS = "meter,at,kwh,tariff\n" + "".join(
    f"m{i},2024-01-01 {t:02d}:00,{i + t / 10},{'AB'[i % 2]}\n" for i in range(24) for t in range(24) if (i, t) != (3, 5)
)


@pytest.fixture
def meters(project):
    (project.folder / "data" / "meters.csv").write_text(METERS)
    return "meters.csv"


def officer(studio, publisher, draft):
    """Whoever got a link to the draft's sheet, and the digest of what they see."""
    page = publisher.post(f"/drafts/{draft}/review/links", {"officer": "dpo"}).text
    found = person(studio)
    link = re.search(r'class="link" readonly value="http://[^/]+([^"]+)"', page)[1]
    assert found.get(link).headers["location"] == "/review"
    page = found.get("/review").text
    found.csrf = re.search(r'name="csrf" value="([0-9a-f]{64})"', page)[1]
    found.link = link
    return found, re.search(r'name="digest" value="([0-9a-f]{64})"', page)[1]


def reviewed(publisher, draft):
    """The page of the review, once its sheet is made."""
    answer = publisher.get(f"/drafts/{draft}/review")
    if answer.status_code == 303:
        assert publisher.done(answer) == f"/drafts/{draft}/review"
        answer = publisher.get(f"/drafts/{draft}/review")
    return answer.text


HOSTILE = "<img src=x onerror=alert(1)>"


def test_names_and_words_of_others_stay_text_on_every_page(studio, publisher, project):
    """Of columns, of categories, and whatever a policy file says of title, publisher and purpose."""
    text = METERS.replace("meter,at,kwh,tariff", f"meter,at,kwh,{HOSTILE}").replace(",A\n", f",{HOSTILE}\n")
    (project.folder / "data" / "meters.csv").write_text(text)
    words = dict.fromkeys(("title", "publisher", "purpose"), HOSTILE)
    policy = {
        **words,
        "data": {"path": "meters.csv", "missing": "interpolate:2h"},
        "roles": {HOSTILE: "publish"},
        "adversary": {"knows": {"points": 2}},
        "method": {"name": "microaggregation", "k": 4},
        "require": {"risk": {"at_most": 1.0}},
    }
    opened = publisher.post("/drafts/open", files={"policy": ("p.yaml", json.dumps(policy).encode())})
    draft = opened.headers["location"].split("/")[2]
    publisher.post(f"/drafts/{draft}/explore/search")
    assert publisher.explore(draft)
    publisher.post(f"/drafts/{draft}/explore/choice", {"number": "0"})
    pages = {step: publisher.get(f"/drafts/{draft}/{step}").text for step in ("table", "purpose", "explore")}
    pages |= {
        "review": reviewed(publisher, draft),
        "home": publisher.get("/").text,
        "jobs": publisher.get("/jobs").text,
    }
    publisher.done(publisher.post(f"/drafts/{draft}/release"))
    pages |= {"release": publisher.get(f"/releases/{draft}").text}
    for where, page in pages.items():
        assert "<img src=x" not in page, where
    assert all("&lt;img src=x" in pages[where] for where in ("table", "purpose", "review", "release"))
    report = (project.release(draft) / "report.html").read_text()
    assert "<img src=x" not in report
    assert "&lt;img src=x" in report


def test_a_policy_file_does_not_say_where_anything_is_written(publisher, studio, meters, tmp_path):
    elsewhere = {
        "to": str(tmp_path / "x"),
        "private": str(tmp_path / "p"),
        "ledger": str(tmp_path / "l"),
        "overwrite": True,
    }
    text = json.dumps(
        {"data": {"path": "meters.csv"}, "release": elsewhere, "method": {"name": "microaggregation", "k": 4}}
    )
    opened = publisher.post("/drafts/open", files={"policy": ("p.yaml", text.encode())})
    draft = studio.drafts.get(opened.headers["location"].split("/")[2])
    assert str(tmp_path) not in str(draft.policy.release)
    assert (draft.policy.release.private, draft.policy.release.ledger) == (None, "ledger.jsonl")
    assert draft.policy.release.overwrite is False


def test_a_number_that_is_none_is_said_beside_its_field_and_the_rest_is_kept(publisher, meters):
    publisher.post(f"/tables/{meters}", {"id": "meter", "time": "at", "value": "kwh", "missing": "interpolate:2h"})
    fields = {"title": "Kept", "risk": "few", "measure:0": "information-loss", "at_most:0": "a third"}
    page = publisher.post("/drafts/meters/purpose", fields | {"method": "microaggregation", "microaggregation:k": "4"})
    assert page.status_code == 400
    assert 'value="Kept"' in page.text
    risk = page.text[page.text.index('id="risk"') :]
    assert "Write a percentage, such as 9." in risk[:800]
    assert "Write limits as numbers, such as 0.3 for 30 %." in page.text


class TestTable:
    def test_a_look_fills_in_the_columns_and_each_finding_has_its_choice(self, publisher, project, meters):
        page = publisher.get(f"/tables/{meters}").text
        for name, column in (("id", "meter"), ("time", "at")):
            field = re.search(rf'<select id="{name}".*?</select>', page, re.S)[0]
            assert f'<option value="{column}" selected>' in field
        assert 'name="value" value="kwh" checked' in page
        problems = page[page.index('id="problems"') : page.index('id="reading"')]
        assert "1 readings are missing" in problems
        assert '<select id="missing"' in problems
        assert "selected>fill gaps up to 2h" in problems
        assert page.count('id="missing"') == 1
        assert 'class="cover"' in page
        assert project.reading(meters) == {}

    def test_what_is_saved_holds_for_tasks_and_drafts_alike(self, publisher, project, meters):
        form = {"id": "meter", "time": "at", "value": "kwh", "missing": "interpolate:2h", "role:tariff": "publish"}
        answer = publisher.post(f"/tables/{meters}", form)
        assert answer.headers["location"] == "/drafts/meters/purpose"
        assert project.reading(meters) == {"id": "meter", "time": "at", "value": ["kwh"], "missing": "interpolate:2h"}
        policy = parse_policy(publisher.get("/drafts/meters/policy.yaml").text)
        assert (policy.data.id, policy.data.value, policy.roles) == ("meter", ["kwh"], {"tariff": "publish"})
        publisher.make_task("meters", table=meters, k=2, pairs=3)
        second = publisher.post(f"/tables/{meters}", form)
        assert second.headers["location"] == "/drafts/meters-2/purpose"
        home = publisher.get("/").text
        assert 'href="/drafts/meters/purpose"' in home
        assert 'href="/drafts/meters-2/purpose"' in home

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [({"complete": "half"}, "complete"), ({"align": "nowhere"}, "align"), ({"missing": "perhaps"}, "missing")],
    )
    def test_a_mistake_is_said_beside_its_field_and_nothing_is_saved(self, publisher, project, meters, wrong, field):
        answer = publisher.post(f"/tables/{meters}", {"id": "meter", "time": "at", "value": "kwh"} | wrong)
        assert answer.status_code == 400
        assert f'id="{field}-wrong"' in answer.text
        assert 'aria-invalid="true"' in answer.text
        assert publisher.get("/drafts/meters/purpose").status_code == 404


class TestPurpose:
    def test_the_form_is_the_policy_and_the_policy_the_form(self, publisher, project):
        form = {
            "title": "Days",
            "keep": ["peaks", "window"],
            "weight:peaks": "2",
            "window:from": "11:00",
            "window:to": "14:00",
            "method": ["microaggregation", "kp"],
            "microaggregation:k": "4, 5",
            "kp:k": "6",
            "kp:p": "2",
            "knows": ["known-points", "known-totals"],
            "held:known-points": "3",
            "risk": "12.5",
            "measure:0": "information-loss",
            "at_most:0": "0.4",
            "review": "yes",
            "stay": "yes",
        }
        publisher.post("/tables/days.csv")
        form["keep"] = []
        assert publisher.post("/drafts/days/purpose", form).status_code == 303
        text = publisher.get("/drafts/days/policy.yaml").text
        policy = parse_policy(text)
        assert policy.method == {
            "search": [{"name": "microaggregation", "k": {"search": [4, 5]}}, {"name": "kp", "k": 6, "p": 2}]
        }
        assert policy.require.risk.at_most == 0.125
        assert policy.adversary.knows == {"points": 3, "totals": "day"}
        assert policy.release.review == "required"
        # The file opens as the same screens, beside the first.
        opened = publisher.post("/drafts/open", files={"policy": ("p.yaml", text.encode())})
        assert opened.headers["location"] == "/drafts/days-2/purpose"
        shown = [publisher.get(f"/drafts/{name}/purpose").text.replace(name, "") for name in ("days", "days-2")]
        fields = [re.findall(r"<input[^>]*>|<option[^>]*selected[^>]*>", page) for page in shown]
        assert [f for f in fields[0] if "csrf" not in f] == [f for f in fields[1] if "csrf" not in f]
        assert parse_policy(publisher.get("/drafts/days-2/policy.yaml").text) == policy

    def test_what_the_form_has_no_field_for_is_kept(self, publisher):
        text = (
            "data: {path: data/days.csv}\nseed: 7\n"
            "method: {search: [{name: microaggregation, k: 4, algorithm: v-mdav}, "
            "{name: nlk, n: 2, l: 5, k: 3}]}\nadversary: {knows: {known-points: {n: 3, choose: peaks}}}\n"
        )
        publisher.post("/drafts/open", files={"policy": ("p.yaml", text.encode())})
        page = publisher.get("/drafts/days/purpose").text
        assert "v-mdav" in page
        form = {
            "method": ["given0", "nlk"],
            "nlk:n": "2",
            "nlk:l": "5",
            "nlk:k": "3",
            "knows": "known-points",
            "stay": "yes",
        }
        assert publisher.post("/drafts/days/purpose", form | {"risk": "9"}).status_code == 303
        policy = parse_policy(publisher.get("/drafts/days/policy.yaml").text)
        assert {"name": "microaggregation", "k": 4, "algorithm": "v-mdav"} in policy.method["search"]
        assert policy.adversary.knows == {"known-points": {"n": 3, "choose": "peaks"}}
        assert policy.seed == 7

    def test_a_second_window_of_a_policy_file_is_kept_too(self, publisher):
        text = (
            "data: {path: data/days.csv}\nkeep: [{window: 06:00-09:00}, {window: 17:00-20:00, weight: 2}, values=0.5]\n"
        )
        publisher.post("/drafts/open", files={"policy": ("p.yaml", text.encode())})
        assert "window:17:00-20:00=2, values=0.5" in publisher.get("/drafts/days/purpose").text
        form = {"keep": "window", "window:from": "06:00", "window:to": "09:00", "also-kept": "yes", "risk": "9"}
        form |= {"method": "microaggregation", "knows": "known-points", "stay": "yes"}
        assert publisher.post("/drafts/days/purpose", form).status_code == 303
        policy = parse_policy(publisher.get("/drafts/days/policy.yaml").text)
        assert policy.keep == ["window:06:00-09:00", "window:17:00-20:00=2", "values=0.5"]

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"method": ""}, "Tick a method to try."),
            ({"knows": ""}, "an adversary who knows nothing is not a test"),
            ({"model": "agreement"}, "Model: agreement needs recipient, purpose and expires"),
            ({"risk": "much"}, "Write a percentage, such as 9."),
            ({"keep": "window", "window:from": "late"}, "keep"),
        ],
    )
    def test_a_mistake_is_said_and_nothing_saved(self, publisher, wrong, said):
        publisher.post("/tables/days.csv")
        form = {"method": "microaggregation", "knows": "known-points", "risk": "9"} | wrong
        answer = publisher.post("/drafts/days/purpose", {name: text for name, text in form.items() if text})
        assert answer.status_code == 400
        assert said in answer.text
        assert "title" not in publisher.get("/drafts/days/policy.yaml").text

    def test_a_policy_about_another_table_says_what_to_do(self, publisher):
        text = b"data: {path: elsewhere.csv}"
        answer = publisher.post("/drafts/open", files={"policy": ("p.yaml", text)})
        assert (answer.status_code, "elsewhere.csv, which is not in the project. Upload it" in answer.text) == (
            400,
            True,
        )
        answer = publisher.post("/drafts/open", files={"policy": ("p.yaml", b"methods: 3")})
        assert (answer.status_code, "methods is not a field of a policy. Is method meant?" in answer.text) == (
            400,
            True,
        )


class TestReview:
    def test_a_release_waits_for_the_approval_of_what_was_shown(self, studio, publisher, project):
        draft = publisher.choose(review="yes", **{"microaggregation:k": "4, 5"})
        refused = publisher.post(f"/drafts/{draft}/release")
        assert (refused.status_code, "requires an officer to approve" in refused.text) == (409, True)
        sheet = reviewed(publisher, draft)
        assert "at least 3 other" in sheet
        someone, digest = officer(studio, publisher, draft)
        page = someone.get("/review").text
        assert "at least 3 other" in page
        # They see one sheet and nothing else.
        assert someone.get("/").headers["location"] == "/login"
        assert someone.get(f"/drafts/{draft}/table").headers["location"] == "/login"
        assert someone.get("/label").status_code == 403
        no = someone.post("/review", {"decision": "refused", "name": "D. Officer", "digest": digest})
        assert no.status_code == 400
        assert 'id="reason-wrong">Give the reason for your refusal' in no.text
        assert 'value="D. Officer"' in no.text  # what was typed is kept
        nobody = someone.post("/review", {"decision": "refused", "name": " ", "digest": digest})
        assert all(f'id="{name}-wrong"' in nobody.text for name in ("name", "reason"))
        # The days are few: some figures are for the officer alone, and the page says which.
        assert "Figures of risk and loss are shown only here." in page
        someone.post("/review", {"decision": "refused", "name": "D. Officer", "reason": "too few", "digest": digest})
        assert "too few" in publisher.get(f"/drafts/{draft}/review").text
        assert publisher.post(f"/drafts/{draft}/release").status_code == 409
        # Another choice has another sheet, and needs another decision.
        publisher.post(f"/drafts/{draft}/explore/choice", {"number": "1"})
        assert "at least 4 other" in reviewed(publisher, draft)
        stale = someone.post("/review", {"decision": "approved", "name": "D. Officer", "digest": digest})
        assert (stale.status_code, "changed the draft since you saw it" in stale.text) == (409, True)
        new = re.search(r'name="digest" value="([0-9a-f]{64})"', someone.get("/review").text)[1]
        assert new != digest
        someone.post("/review", {"decision": "approved", "name": "D. Officer", "reason": "as agreed", "digest": new})
        assert (
            "approved by D. Officer" in publisher.get("/").text
            or "Approved" in publisher.get(f"/drafts/{draft}/review").text
        )
        # The first choice was refused, so it still is.
        publisher.post(f"/drafts/{draft}/explore/choice", {"number": "0"})
        reviewed(publisher, draft)
        assert publisher.post(f"/drafts/{draft}/release").status_code == 409
        publisher.post(f"/drafts/{draft}/explore/choice", {"number": "1"})
        reviewed(publisher, draft)
        assert publisher.done(publisher.post(f"/drafts/{draft}/release")) == f"/drafts/{draft}/release"
        certificate = json.loads((project.release(draft) / "release.json").read_text())
        assert certificate["approval"]["by"] == "D. Officer"
        assert certificate["method"]["parameters"]["k"] == 5

    def test_a_table_that_changed_after_the_approval_is_not_released(self, studio, publisher, project):
        draft = publisher.choose(review="yes")
        reviewed(publisher, draft)
        someone, digest = officer(studio, publisher, draft)
        someone.post("/review", {"decision": "approved", "name": "D. Officer", "digest": digest})
        path = project.table("days.csv")
        times, text = path.stat(), path.read_text()
        changed = text.replace(",0.0\n", ",1.0\n", 1) if ",0.0\n" in text else text.replace("0", "1", 1)
        path.write_text(changed)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        assert publisher.post(f"/drafts/{draft}/release").status_code == 409
        assert project.releases() == []

    def test_a_link_ends_when_it_expires_or_is_revoked(self, studio, publisher, clock):
        draft = publisher.choose(review="yes")
        reviewed(publisher, draft)
        someone, digest = officer(studio, publisher, draft)
        token = someone.link.rpartition("/")[2]
        assert token not in (studio.project.folder / "studio.sqlite").read_bytes().decode("latin-1")
        link = studio.links.of_task(f"review/{draft}")[0].link
        publisher.post(f"/drafts/{draft}/review/links/{link}/revoke")
        assert someone.get("/review").status_code == 403
        assert person(studio).get(someone.link).status_code == 403
        other, _ = officer(studio, publisher, draft)
        clock.now += 15 * 86_400
        assert other.get("/review").status_code == 403
        assert someone.post("/review", {"decision": "approved", "name": "x", "digest": digest}).status_code == 403

    def test_an_officer_reaches_the_sheet_and_nothing_else(self, studio, publisher):
        draft = publisher.choose(review="yes")
        reviewed(publisher, draft)
        someone, _ = officer(studio, publisher, draft)
        for route, path, method in every_route():
            if route in OPEN or route == "/review":
                continue
            answer = someone.client.request(
                method, path.replace("/d/", f"/{draft}/"), headers={"X-CSRF-Token": someone.csrf}
            )
            expected = 403 if route.startswith("/label") else 303 if method == "GET" else 401
            assert (answer.status_code, answer.headers.get("location", "/login")) == (expected, "/login"), path
        assert studio.drafts.get(draft).chosen is not None
        assert not studio.drafts.get(draft).is_released

    def test_a_label_link_opens_no_review_and_the_other_way_round(self, studio, publisher, task):
        draft = publisher.choose(review="yes", k=4)
        reviewed(publisher, draft)
        someone, _ = officer(studio, publisher, draft)
        anna = open_link(studio, publisher.make_link(task, "anna"))
        assert anna.get("/review").status_code == 403
        anna.client.cookies.set(studio.officer_cookie, anna.client.cookies[studio.analyst_cookie])
        someone.client.cookies.set(studio.analyst_cookie, someone.client.cookies[studio.officer_cookie])
        assert anna.get("/review").status_code == 403
        assert someone.get("/label").status_code == 403


class TestRelease:
    def test_a_release_holds_says_where_it_is_and_comes_as_one_file(self, publisher, project, tmp_path):
        assert publisher.release() == "/drafts/days/release"
        page = publisher.get("/releases/days").text
        assert "Holds, checked on the published data just now: k-anonymity, measured 4, required 4" in page
        assert f"shoal verify {project.folder / 'releases' / 'days'}" in page
        archive = zipfile.ZipFile(io.BytesIO(publisher.get("/releases/days/release.zip").content))
        archive.extractall(tmp_path / "unpacked")
        assert not verify(tmp_path / "unpacked" / "days").findings
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        # Begun again, as after a kill, it leads to the same release.
        assert publisher.done(publisher.post("/drafts/days/release")) == "/drafts/days/release"

    def test_the_policy_of_a_draft_run_by_hand_gives_the_same_release(self, publisher, project):
        draft = publisher.choose(ledger="", **{"microaggregation:k": "4, 5"})
        policy = parse_policy(publisher.get(f"/drafts/{draft}/policy.yaml").text)
        run_policy(policy, base=project.folder, insecure_seed=1)
        publisher.done(publisher.post(f"/drafts/{draft}/release"))
        ours, theirs = (
            json.loads((folder / "release.json").read_text())
            for folder in (project.release(draft), project.folder / "out")
        )
        for part in ("method", "guarantees", "counts", "utility", "risk", "figures"):
            assert ours[part] == theirs[part]

    def test_what_the_ledger_refuses_is_said_as_what_it_is(self, publisher, project):
        assert publisher.release(k=4) == "/drafts/days/release"
        page = publisher.release(k=7)
        assert page.status_code == 409
        assert "Together with 1 earlier release(s) of the same subjects" in page.text
        assert "The guarantee does not hold" not in page.text
        assert project.releases() == ["days"]
        assert publisher.release(k=7, ledger="") == "/drafts/days-3/release"

    def test_a_side_channel_stops_a_release_until_it_is_accepted_by_name(self, publisher, project):
        table = (project.folder / "data" / "days.csv").read_text()
        (project.folder / "data" / "late.csv").write_text(table.replace(":00.000000", ":07.000000"))
        page = publisher.release("late.csv")
        assert (page.status_code, "timestamp-phase" in page.text) == (409, True)
        assert publisher.release("late.csv", accept="timestamp-phase, file-metadata") == "/drafts/late-2/release"
        assert "timestamp-phase" in (project.release("late-2") / "release.json").read_text()

    def test_an_agreement_and_a_closed_service_are_made_as_the_policy_says(self, publisher, project):
        form = {"recipient": "Institute", "recipient-purpose": "forecasts", "expires": "2030-06-30", "ledger": ""}
        assert publisher.release(model="agreement", **form) == "/drafts/days/release"
        assert "Institute" in (project.release("days") / "AGREEMENT.md").read_text()
        assert publisher.release(model="closed", ledger="") == "/drafts/days-2/release"
        assert (project.folder / "closed/days-2/release/release.json").is_file()
        assert "shoal serve" in publisher.get("/drafts/days-2/release").text
        assert "days-2" not in project.releases()

    def test_a_release_that_was_changed_is_shown_as_what_it_is_and_not_handed_out(self, publisher, project):
        publisher.release()
        path = project.release("days") / "data.parquet"
        path.write_bytes(path.read_bytes() + b"x")
        page = publisher.get("/releases/days").text
        assert "Does not hold" in page
        assert "Do not share this folder." in page
        assert publisher.get("/releases/days/release.zip").status_code == 409

    def test_a_release_by_a_learned_metric_names_it(self, studio, publisher, project, task):
        loaded = studio.answers.task(task)
        for position, question in enumerate(loaded.plan("anna")):
            studio.answers.give(task, "anna", question.position, "similar" if position % 2 else "dissimilar")
        publisher.done(publisher.post(f"/tasks/{task}/learn", {"metric": "linear"}))
        metric = str(project.metric_path(task, "linear").resolve())
        shutil.rmtree(project.folder / "releases")
        (project.folder / "releases").mkdir()
        begun = publisher.post(f"/tasks/{task}/draft", {"metric": "linear"}).headers["location"]
        assert f'<option value="{metric}" selected>' in publisher.get(begun).text
        assert publisher.release(k=4, metric=metric) == "/drafts/days-2/release"
        certificate = json.loads((project.release("days-2") / "release.json").read_text())
        assert certificate["method"]["parameters"]["features"]["sha256"] == project.metrics(task)["linear"].digest()


def test_the_exploration_of_a_draft_is_of_its_policy_as_it_stands(studio, publisher):
    name = publisher.choose(k=4)
    assert studio.drafts.get(name).chosen == 0
    form = {"method": "microaggregation", "knows": "known-points", "held:known-points": "2", "risk": "100"}
    form |= {"ledger": "yes", "stay": "yes"}
    publisher.post(f"/drafts/{name}/purpose", form | {"microaggregation:k": "5"})
    changed = studio.drafts.get(name)
    assert (changed.chosen, changed.is_explored) == (None, False)
    # Words alone change no point, and whoever goes back finds their points again.
    publisher.post(f"/drafts/{name}/purpose", form | {"microaggregation:k": "4", "title": "New words"})
    again = studio.drafts.get(name)
    assert (again.chosen, again.chosen_policy.title) == (0, "New words")
