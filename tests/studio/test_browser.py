"""Labels in a real browser, against a real server: table, task, link, answers, metric."""

import re
import sqlite3

import pytest

from shoal import simulate
from shoal.process.simulation import long_table
from studio.running import CHROMIUM, browser, running_studio, violations

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")

PHONE = {"width": 360, "height": 640}
# Plotly tries at its start whether images can be drawn pixelated, by an inline style; the content policy stops it, and
# nothing here needs it.
PROBE = "Applying inline style violates"


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with a table in it, and another one beside it to be uploaded."""
    folder = tmp_path_factory.mktemp("studio") / "project"
    (folder / "data").mkdir(parents=True)
    days = long_table(simulate.occupancy(60, days=1, step="1h", seed=8))
    days.write_csv(folder / "data" / "days.csv")
    days.write_csv(folder.parent / "office.csv")
    return folder


@pytest.fixture(scope="module")
def address(project):
    with running_studio(project) as found:
        yield found


def open_page(chromium, address, **more):
    """A page in a browser of its own, and what its console said."""
    page = chromium.new_context(**more).new_page()
    page.set_default_timeout(120_000)  # a busy machine is no failure
    page.said = []
    page.on("console", lambda message: PROBE in message.text or page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(address)
    return page


def shown(page, position):
    """Wait until a question, or the end, is on the page."""
    page.wait_for_selector(f"html[data-shown='{position}']")


def make_task(page, name, table="days.csv", pairs=20):
    page.get_by_role("link", name="Shoal studio").click()
    page.get_by_role("link", name="New label task").click()
    page.fill("#name", name)
    page.select_option("#table", table)
    page.fill("#k", "4")
    page.fill("#multiple", "1")
    page.fill("#pairs", str(pairs))
    page.get_by_role("button", name="Make the task").click()
    page.wait_for_url(f"**/tasks/{name}")


def make_link(page, analyst):
    page.fill("#analyst", analyst)
    page.get_by_role("button", name="Make a link").click()
    return page.input_value("#link")


def count(page):
    return page.text_content("#count")


def test_from_a_table_over_labels_to_a_metric(chromium, address, project):
    publisher = open_page(chromium, address)
    publisher.set_input_files("#file", str(project.parent / "office.csv"))
    publisher.get_by_role("button", name="Upload", exact=True).click()
    publisher.wait_for_url("**/tables/office.csv")
    make_task(publisher, "lunch", "office.csv")
    link = make_link(publisher, "anna")

    # Anna labels by keyboard alone, takes one answer back, closes the page.
    anna = open_page(chromium, link)
    anna.wait_for_selector("#plot .main-svg .scatterlayer path")
    for position in range(12):
        shown(anna, position)
        anna.keyboard.press("s" if position % 2 else "d")
    shown(anna, 12)
    assert count(anna) == "12 of 20"
    anna.keyboard.press("z")
    shown(anna, 11)
    assert count(anna) == "11 of 20"
    anna.keyboard.press("d")
    shown(anna, 12)
    assert anna.said == []
    context = anna.context
    anna.close()

    # She comes back, by the same link in another browser; it goes on where she was.
    context.close()
    anna = open_page(chromium, link)
    shown(anna, 12)
    assert count(anna) == "12 of 20"
    for position in range(12, 20):
        shown(anna, position)
        anna.keyboard.press("s" if position % 2 else "d")
    shown(anna, "end")
    assert anna.get_by_text("Done. Thank you.").is_visible()
    with sqlite3.connect(project / "studio.sqlite") as database:
        given = dict(database.execute("select position, answer from labels where task = 'lunch'").fetchall())
    expected = {p: "similar" if p % 2 else "dissimilar" for p in range(20)} | {11: "dissimilar"}
    assert given == expected

    publisher.reload()
    assert publisher.get_by_text("20 of 20").is_visible()
    publisher.get_by_role("button", name="Measure").click()
    publisher.wait_for_url("**/tasks/lunch#curve")
    assert publisher.get_by_text("Keep asking.").is_visible()
    publisher.get_by_role("button", name="Learn linear").click()
    publisher.wait_for_url("**/tasks/lunch#metrics")
    assert publisher.get_by_text(re.compile("The learned metric is (not )?used")).is_visible()
    publisher.get_by_role("link", name="Compare metrics").click()
    publisher.fill("#k", "4")
    publisher.get_by_role("button", name="Compare").click()
    publisher.get_by_role("heading", name="Loss on the segment from 11:00 to 14:00").wait_for()
    assert publisher.locator("svg.drawing rect").count() == 3
    assert publisher.said == []


def test_a_second_analyst_cannot_open_the_first_ones_task_and_a_dead_link_gets_a_plain_page(chromium, address, project):
    publisher = open_page(chromium, address)
    make_task(publisher, "one")
    first = make_link(publisher, "anna")
    publisher.goto(address.partition("/enter")[0])
    make_task(publisher, "two")
    second = make_link(publisher, "ben")

    anna, ben = open_page(chromium, first), open_page(chromium, second)
    shown(anna, 0)
    shown(ben, 0)
    anna.keyboard.press("s")
    shown(anna, 1)
    # Ben's token, in Anna's place, is Ben's task; there is no address that names a task.
    ben.goto(ben.url)
    assert count(ben) == "0 of 20"
    base = address.partition("/enter")[0]
    for path in ("/tasks/one", "/label/one", "/label?task=one", "/tables/days.csv", "/"):
        ben.goto(base + path)
        assert ben.get_by_text("1 of 20").count() == 0
        assert ben.url.endswith("/login") or "There is no such page" in ben.content() or "0 of 20" in ben.content()

    publisher.goto(f"{base}/tasks/one")
    publisher.get_by_role("button", name="Revoke the link of anna").click()
    publisher.get_by_text("revoked").wait_for()
    anna.keyboard.press("s")
    anna.get_by_text("This page opens with the link you were sent").wait_for()
    revoked = open_page(chromium, first)
    with sqlite3.connect(project / "studio.sqlite") as database:
        database.execute("update links set expires = created where analyst = 'ben'")
    expired = open_page(chromium, second)
    unknown = open_page(chromium, f"{base}/open/{'x' * 43}")
    pages = {page.content() for page in (revoked, expired, unknown)}
    assert len(pages) == 1
    assert "This link does not open anything" in pages.pop()
    assert expired.locator("form, a:not(.skip), script").count() == 0


def test_the_label_page_fits_a_phone_and_works_by_touch_and_by_tab_and_without_script(chromium, address):
    publisher = open_page(chromium, address)
    make_task(publisher, "phone")
    link = make_link(publisher, "anna")

    phone = open_page(chromium, link, viewport=PHONE, has_touch=True)
    shown(phone, 0)
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for button in phone.locator("#answer button").all():
        box = button.bounding_box()
        assert box["y"] + box["height"] <= PHONE["height"]
        assert min(box["width"], box["height"]) >= 44
    phone.get_by_role("button", name="similar").first.tap()
    shown(phone, 1)

    # By Tab and Enter: the focus is seen, and stays on the button for the next pair.
    tabbing = open_page(chromium, link)
    shown(tabbing, 1)
    for _ in range(9):
        tabbing.keyboard.press("Tab")
        if tabbing.evaluate("document.activeElement.value") == "dissimilar":
            break
    assert tabbing.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tabbing.keyboard.press("Enter")
    shown(tabbing, 2)
    assert tabbing.evaluate("document.activeElement.value") == "dissimilar"
    assert tabbing.get_attribute("#count", "aria-live") == "polite"

    plain = open_page(chromium, link, java_script_enabled=False)
    assert plain.locator("#plot svg.drawing path").count() == 2
    plain.get_by_role("button", name="undecided").click()
    assert count(plain) == "3 of 20"
    plain.get_by_role("button", name="undo").click()
    assert count(plain) == "2 of 20"
    assert phone.said + tabbing.said == []


def test_pages_about_labels_fit_a_phone_and_axe_finds_nothing_on_them(chromium, address):
    publisher = open_page(chromium, address, viewport=PHONE)
    make_task(publisher, "narrow")
    link = make_link(publisher, "anna")
    base = address.partition("/enter")[0]
    assert violations(publisher) == []
    for path in ("/tasks/narrow", "/tasks/new", "/tasks/narrow/compare", "/nowhere"):
        publisher.goto(base + path)
        assert publisher.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
        assert violations(publisher) == [], path
    assert [text for text in publisher.said if "404" not in text] == []
    anna = open_page(chromium, link)
    shown(anna, 0)
    assert violations(anna) == []
    assert violations(open_page(chromium, f"{base}/login", color_scheme="dark")) == []


def test_a_task_that_is_gone_is_said_once_and_not_asked_for_without_end(chromium, address, project):
    publisher = open_page(chromium, address)
    make_task(publisher, "gone")
    anna = open_page(chromium, make_link(publisher, "anna"))
    shown(anna, 0)
    asked = []
    anna.on("request", lambda request: asked.append(request.url))
    (project / "tasks" / "gone" / "task.json").rename(project / "gone.json")
    anna.keyboard.press("s")
    anna.get_by_text("This task cannot be shown at the moment").wait_for()
    anna.wait_for_timeout(500)
    assert [url.rpartition("/")[2] for url in asked] == ["answer", "state"]
    (project / "gone.json").rename(project / "tasks" / "gone" / "task.json")
    anna.keyboard.press("s")
    shown(anna, 1)


def test_an_answer_that_could_not_be_sent_is_said_and_can_be_given_again(chromium, address):
    publisher = open_page(chromium, address)
    make_task(publisher, "offline")
    anna = open_page(chromium, make_link(publisher, "anna"))
    shown(anna, 0)
    anna.context.set_offline(True)
    anna.keyboard.press("s")
    anna.get_by_text("That was not saved").wait_for()
    assert count(anna) == "0 of 20"
    anna.context.set_offline(False)
    anna.keyboard.press("s")
    shown(anna, 1)
    assert anna.locator("#trouble").is_hidden()
