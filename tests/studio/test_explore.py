"""The Explore page without script: points, limits, policies, the search; and that the choice is that of `shoal run`."""

import json
import re
import shutil
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model import Score
from shoal.process.policy import Limit, parse_policy
from shoal.process.search.frontier import Frontier, Limits, Point
from shoal.studio.explore_screen import Screen, ScreenLimit
from studio.explored import REFUSED, InventedExploration, draft_of

BASE = "/drafts/days/explore"


@pytest.fixture
def search():
    """A search that is complete."""
    return InventedExploration()


@pytest.fixture
def draft(studio, search, monkeypatch):
    """A draft with it."""
    return draft_of(studio, "days.csv", search, monkeypatch)


def embedded(answer):
    return json.loads(re.search(r'id="start">(.*?)</script>', answer.text)[1])


def marked(text):
    """The setting of the row that is marked as best."""
    return re.search(r'<tr id="row-(\d+)" class="chosen">', text)[1]


@given(
    figures=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=12),
    risk=st.integers(0, 8),
    loss=st.integers(0, 8),
    goal=st.sampled_from(["lower", "higher"]),
)
def test_the_best_point_is_the_one_a_run_would_choose_first(figures, risk, loss, goal):
    bound = "at_least" if goal == "higher" else "at_most"
    score = [Score(value / 8, goal, (0, 1)) for _, value in figures]
    tried = [Point({"k": i}, risk=at / 8, scores={"m": score[i]}) for i, (at, _) in enumerate(figures)]
    first = Frontier(Limits(risk / 8, {"m": Limit(**{bound: loss / 8})}), tuple(tried)).better_first()
    shown = [
        {"number": i, "refused": None, "risk": at / 8, "scores": {"m": {"value": value / 8}}}
        for i, (at, value) in enumerate(figures)
    ]
    best = Screen(risk / 8, (ScreenLimit("m", bound, loss / 8, "share"),), None, ()).best(shown, goal)
    assert best == (first[0] if first else None)


def test_without_script_points_are_a_table_and_limits_a_form(publisher, search, draft):
    page = publisher.get(BASE).text
    points = search.points()
    for point in points:
        assert f'id="{"row" if point["refused"] is None else "refused"}-{point["number"]}"' in page
    assert REFUSED in page
    first = marked(page)
    stricter = publisher.get(f"{BASE}?risk=6&utility.window-error=20").text
    assert marked(stricter) != first
    chosen = points[int(marked(stricter))]
    assert chosen["risk"] <= 0.06
    assert chosen["loss"] <= 0.2
    assert 'class="chosen"' not in publisher.get(f"{BASE}?risk=0&utility.window-error=1").text
    assert embedded(publisher.get(f"{BASE}?risk=6&utility.window-error=20&point=4&compared=4&compared=5")) | {
        "points": [],
        "purpose": {},
        "progress": {},
    } == {
        "base": BASE,
        "limits": {
            "risk": 0.06,
            "utility": [
                {
                    "measure": "window-error",
                    "bound": "at_most",
                    "value": 0.2,
                    "unit": "share",
                    "title": "window error",
                    "short": "loss",
                }
            ],
        },
        "point": 4,
        "compared": [4, 5],
        "state": "complete",
        "points": [],
        "purpose": {},
        "progress": {},
    }


def test_only_points_that_are_new_or_tried_again_come(publisher, search, draft):
    search.shown, search.state = 7, "stopped"
    everything = publisher.get(f"{BASE}/points").json()
    assert ([p["number"] for p in everything["points"]], everything["done"], everything["total"]) == (
        [*range(7)],
        7,
        60,
    )
    assert everything["state"] == "stopped"
    known = ",".join(p["version"] for p in everything["points"][:5])
    # One of those known was tried again, on more subjects.
    search.all[2] |= {"n_subjects": 6000}
    assert [p["number"] for p in publisher.get(f"{BASE}/points?known={known}").json()["points"]] == [2, 5, 6]


def test_the_policy_file_is_that_of_the_point_with_the_limits_on_the_screen(publisher, search, draft):
    answer = publisher.get(f"{BASE}/points/8/policy.yaml?risk=7&utility.window-error=12.5")
    assert answer.headers["content-disposition"] == 'attachment; filename="days-8.yaml"'
    wanted = search.policy_at(8, risk=0.07, utility={"window-error": 0.125})
    assert parse_policy(answer.text) == wanted


def test_a_choice_keeps_point_and_limits_and_leads_to_the_review(publisher, studio, draft):
    form = {"number": "8", "risk": "7", "utility.window-error": ""}
    answer = publisher.post(f"{BASE}/choice", form)
    assert (answer.status_code, answer.headers["location"]) == (303, "/drafts/days/review")
    now = studio.drafts.get("days")
    assert (now.chosen, now.chosen_at["risk"], now.chosen_at["utility"]) == (8, 0.07, {})
    # Whoever comes back finds what was chosen.
    again = embedded(publisher.get(BASE))
    assert (again["point"], again["limits"]["risk"]) == (8, 0.07)


def test_what_cannot_be_is_said(publisher, visitor, studio, draft):
    refused = publisher.client.post(f"{BASE}/choice", data={"number": "8", "risk": "7"})
    assert refused.status_code == 403
    assert studio.drafts.get("days").chosen is None
    for wrong, text in (
        ({"number": "", "risk": "7"}, "No point is selected"),
        ({"number": "8", "risk": "lots"}, "The limit for risk is not a number"),
        ({"number": "8", "risk": "101"}, "from 0 to 100 %"),
        ({"number": "8", "risk": "7", "utility.window-error": "nan"}, "The limit for window error is not a number"),
    ):
        answer = publisher.post(f"{BASE}/choice", wrong)
        assert (answer.status_code, text in answer.text) == (400, True), text
    for path in ("/points/999", "/points/12", "/points/12/policy.yaml"):  # 12 was refused
        assert publisher.get(BASE + path).status_code == 404
    for path in ("", "/points", "/points/8", "/points/8/policy.yaml"):
        assert visitor.get(BASE + path).headers.get("location") == "/login"


def test_words_of_a_point_cannot_become_script(publisher, search, draft):
    search.all[0] |= {"label": "</script><script>alert(1)</script>", "guarantee": "<b onclick=x>"}
    page = publisher.get(BASE).text
    assert "<script>alert" not in page
    assert "<b onclick" not in page
    assert embedded(publisher.get(BASE))["points"][0]["label"].startswith("</script>")


def test_figures_json_has_no_word_for_are_no_figures(publisher, search, draft):
    search.all[0]["scores"]["window-error"]["value"] = np.inf
    search.detail = lambda number: {"day": {"before": [float("nan"), 1.0]}}
    assert embedded(publisher.get(BASE))["points"][0]["scores"]["window-error"]["value"] is None
    assert publisher.get(f"{BASE}/points/0").json()["day"] == {"before": [None, 1.0]}


def test_the_search_is_begun_stopped_and_continued(publisher, search, draft):
    search.shown, search.state = 0, "new"
    page = publisher.get(BASE).text
    assert "No point yet." in page
    assert "Start the search" in page
    search.pause_at = 3
    assert publisher.post(f"{BASE}/search").headers["location"] == BASE
    assert wait_for(publisher, done=3)["state"] == "running"
    publisher.post(f"{BASE}/stop")
    assert wait_for(publisher, state="stopped")["done"] == 3
    assert "Continue the search" in publisher.get(BASE).text
    publisher.post(f"{BASE}/search")
    whole = wait_for(publisher, state="complete")
    assert [p["number"] for p in whole["points"]] == list(range(60))


def test_a_real_search_shows_its_points_their_curves_and_the_policy_of_each(publisher, studio):
    fields = {
        "method": {"name": "microaggregation", "k": {"search": [4, 8, 50]}},
        "require": {"risk": {"at_most": 0.5}},
    }
    studio.drafts.add("days.csv", fields)
    assert "No point yet." in publisher.get(BASE).text
    publisher.post(f"{BASE}/search")
    found = wait_for(publisher, state="complete")
    assert [(p["label"], p["refused"] is None) for p in found["points"]] == [
        ("k = 4", True),
        ("k = 8", True),
        ("k = 50", False),
    ]
    four, eight = found["points"][:2]
    assert four["risk"] > eight["risk"]
    assert four["scores"]["information-loss"]["value"] < eight["scores"]["information-loss"]["value"]
    assert re.fullmatch(r"[\d.]+ %", four["loss_text"])
    # What the page draws is there, and the original is never that of few.
    detail = publisher.get(f"{BASE}/points/0").json()
    assert detail["day"]["axis"] == "clock"
    assert len(detail["day"]["minutes"]) == len(detail["day"]["before"]) == len(detail["day"]["published"]) == 24
    assert len(detail["duration"]["share"]) == len(detail["duration"]["before"])
    assert all(group["members"] >= 4 for group in detail["groups"])
    assert four["lights"]["singling out"]["attack"] in detail["risks"]
    assert parse_policy(publisher.get(f"{BASE}/points/0/policy.yaml").text).method == {
        "name": "microaggregation",
        "k": 4,
    }
    assert 'class="chosen"' in publisher.get(BASE).text


def test_a_search_whose_folder_was_removed_begins_again(publisher, studio):
    draft = studio.drafts.add("days.csv", {"method": {"name": "microaggregation", "k": {"search": [4]}}})
    publisher.post(f"{BASE}/search")
    wait_for(publisher, state="complete")
    shutil.rmtree(studio.drafts.get(draft).exploration.folder)
    assert "No point yet." in publisher.get(BASE).text
    publisher.post(f"{BASE}/search")
    assert wait_for(publisher, state="complete")["problem"] == ""


def test_a_search_under_way_turns_to_settings_that_were_changed(publisher, studio, search, draft, monkeypatch):
    search.shown, search.pause_at = 0, 2
    publisher.post(f"{BASE}/search")
    wait_for(publisher, done=2)
    later = InventedExploration(8, 0, "new")
    monkeypatch.setattr(type(draft), "exploration", property(lambda _: later))
    studio.drafts.save(draft.name, {"require": {"risk": {"at_most": 0.2}}})
    assert [p["number"] for p in wait_for(publisher, state="complete")["points"]] == list(range(8))
    assert search.state == "stopped"


def wait_for(publisher, **wanted):
    """How far the search is, once it is so far."""
    for _ in range(1000):
        found = publisher.get(f"{BASE}/points").json()
        if wanted.items() <= found.items():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{wanted} did not come, but {found['state']}, {found['done']}")
