"""Explore in a real browser: points that appear, limits that move, keys, a phone, and what is handed out."""

import re
import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import uvicorn

from shoal.process.policy import parse_policy
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.explore_screen import Screen, ScreenLimit
from shoal.studio.project import Project
from shoal.studio.server import configure
from studio.explored import InventedExploration, draft_of
from studio.running import CHROMIUM, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@contextmanager
def serving(studio):
    """The studio on a free port, in a thread; gives its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(configure(build(studio), studio.settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("studio") / "project")
    (project.folder / "data" / "march.csv").write_text("id,time,value\n")
    made = Studio(project, Settings())
    yield made
    made.jobs.close()


@pytest.fixture(scope="module")
def address(studio):
    with serving(studio) as found:
        yield found


@pytest.fixture
def search():
    return InventedExploration()


@pytest.fixture
def draft(studio, search, monkeypatch):
    return draft_of(studio, "march.csv", search, monkeypatch)


def open_page(chromium, studio, address, draft, query="", **more):
    page = chromium.new_context(**({"viewport": {"width": 1400, "height": 900}} | more)).new_page()
    page.set_default_timeout(60_000)  # a busy machine is no failure
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(f"{address}/enter/{studio.key}")
    page.goto(f"{address}/drafts/{draft.name}/explore{query}")
    return page


def best(page):
    """The number of the point the plot shows as best."""
    found = page.evaluate("[...document.querySelectorAll('.plot .best')].map(e => e.dataset.key)")
    assert len(found) <= 1
    return int(found[0][1:]) if found else None


def limits(page):
    """The limits as the fields show them."""
    return float(page.input_value("[name=risk]")) / 100, float(page.input_value("[name='utility.window-error']")) / 100


def wanted(search, risk, loss):
    bound = ScreenLimit("window-error", "at_most", loss, "share")
    return Screen(risk, (bound,), None, ()).best(search.points(), "lower")


def barriers(page):
    """What axe-core finds, with everything unfolded."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    return [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]]


def drag(page, name, x, y):
    """Drag the grip of a limit."""
    box = page.locator(f".limit.{name} .grip").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    page.mouse.up()


def test_a_limit_moved_by_pointer_by_key_or_by_field_changes_choice_and_colours_at_once(
    chromium, studio, address, search, draft
):
    page = open_page(chromium, studio, address, draft)
    first = best(page)
    assert first == wanted(search, 0.1, 0.15)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    drag(page, "risk", -120, 0)
    risk, loss = limits(page)
    assert risk < 0.1
    assert best(page) == wanted(search, risk, loss) != first
    # Beyond the limit, a point is no longer one of those that meet it, nor is it said to.
    meets = page.evaluate("[...document.querySelectorAll('.plot .meets')].map(e => +e.dataset.key.slice(1))")
    points = {p["number"]: p for p in search.points() if p["refused"] is None}
    assert sorted(meets) == [n for n, p in points.items() if p["risk"] <= risk and p["loss"] <= loss]
    outside = next(n for n, p in points.items() if risk < p["risk"] < 0.1)
    assert "beyond the limit for risk" in page.get_attribute(f"[data-key=p{outside}]", "aria-label")

    page.locator(".limit.loss").focus()
    for key in ("ArrowUp", "PageUp", "ArrowDown"):
        before = limits(page)[1]
        page.keyboard.press(key)
        assert (limits(page)[1] > before) == (key != "ArrowDown")
        assert best(page) == wanted(search, *limits(page))
    assert page.get_attribute(".limit.loss", "aria-valuetext") == f"{100 * limits(page)[1]:.3g} %"

    page.fill("[name=risk]", "3.5")
    page.fill("[name='utility.window-error']", "40")
    assert best(page) == wanted(search, 0.035, 0.4)
    page.fill("[name='utility.window-error']", "1")
    assert best(page) is None
    assert "No point meets the limits" in page.text_content("#best")
    # All of that came from the page itself: nothing was asked but curves.
    assert not [url for url in asked if not re.search(r"/points/\d+$", url)]
    assert page.said == []


def test_points_appear_while_the_search_runs_and_it_can_be_stopped(chromium, studio, address, search, draft):
    search.shown, search.state = 0, "new"
    search.pause_at = 5
    page = open_page(chromium, studio, address, draft)
    assert page.get_by_text("No point yet.").is_visible()
    page.get_by_role("button", name="Start the search").click()
    page.wait_for_selector("html[data-points='5']")
    assert page.locator(".plot .point").count() == 5
    assert page.locator("#rows tr").count() == 5
    assert "Searching. 5 of 60 points" in page.text_content("#count")
    page.get_by_role("button", name="Stop the search").click()
    search.pause_at = 30
    page.get_by_role("button", name="Continue the search").click()
    page.wait_for_selector("html[data-points='30']")
    assert best(page) == wanted(search, 0.1, 0.15)
    assert page.locator("#refused-list li").count() == 2
    search.pause_at = None
    page.get_by_text("Complete. 60 of 60 points").wait_for()
    assert page.locator(".plot .point").count() == sum(p["refused"] is None for p in search.all)
    assert page.said == []


def test_by_keys_alone_a_point_is_found_compared_handed_out_and_chosen(chromium, studio, address, search, draft):
    page = open_page(chromium, studio, address, draft, "?risk=12&utility.window-error=14")
    chosen = best(page)
    page.locator(f"[data-key=p{chosen}]").focus()
    page.keyboard.press("ArrowRight")
    key = page.evaluate("document.activeElement.dataset.key")
    by_risk = sorted((p["risk"], p["number"]) for p in search.points() if p["refused"] is None)
    place = [number for _, number in by_risk].index(chosen)
    assert key == f"p{by_risk[place + 1][1]}"
    assert page.locator("[data-key^=p][tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_selector(f"html[data-details='{key[1:]}']")
    assert page.locator("#details svg.curves").count() == 4
    page.keyboard.press("c")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("c")
    page.locator("#comparison-body .curves").nth(1).wait_for()
    heads = page.locator("#comparison-head th").all_text_contents()
    assert len(heads) == 2
    # Of two figures that differ, one is marked as better.
    assert page.locator("#comparison-body tr:has-text('window error') .badge").count() == 1

    number = int(page.input_value("#review [name=number]"))
    with page.expect_download() as got:
        page.get_by_role("link", name="Policy file").click()
    handed_out = parse_policy(Path(got.value.path()).read_text(encoding="utf-8"))
    assert handed_out == search.policy_at(number, risk=0.12, utility={"window-error": 0.14})
    # The address is the screen: it opens as it was.
    page.wait_for_url(re.compile("compared=.*compared="))
    shown = parse_qs(urlsplit(page.url).query)
    assert (shown["risk"], shown["utility.window-error"], shown["point"]) == (["12"], ["14"], [str(number)])
    page.reload()
    page.locator("#comparison-body .curves").nth(1).wait_for()
    assert barriers(page) == []
    assert page.locator(".plot .selected").get_attribute("data-key") == f"p{number}"
    with page.expect_response("**/explore/choice") as answered:
        page.get_by_role("button", name="Review this one").click()
    assert answered.value.headers["location"] == f"/drafts/{draft.name}/review"
    now = studio.drafts.get(draft.name)
    assert (now.chosen, now.chosen_at["risk"], now.chosen_at["utility"]) == (number, 0.12, {"window-error": 0.14})


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_cut_off_a_finger_moves_a_limit_and_nobody_is_kept_out(
    chromium, studio, address, search, draft, scheme
):
    page = open_page(
        chromium, studio, address, draft, viewport={"width": 390, "height": 844}, has_touch=True, color_scheme=scheme
    )
    page.wait_for_selector("html[data-details]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = limits(page)[0]
    drag(page, "risk", -40, 0)
    assert limits(page)[0] < before
    mark = page.locator(".plot .point:not(.beaten)").first
    mark.tap(force=True)
    page.locator("#selected").scroll_into_view_if_needed()
    assert page.locator("#selected-name").is_visible()
    assert barriers(page) == []
    assert page.said == []
