"""The publisher's workbench in a real browser: from raw CSV to a signed release, by clicks and by the policy file.

Every page passes axe-core, at a desk and in the dark on a phone; and two publishers are apart.
"""

import json
import re
import time
from contextlib import ExitStack

import polars as pl
import pytest

from shoal import simulate, verify
from shoal.process.simulation import long_table
from studio.running import CHROMIUM, browser, running_studio, violations

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")

MOST_CLICKS = 12
DESK, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}


class Clicks:
    """Counts what a person clicks, and looks at every page they come by."""

    def __init__(self, page):
        self.page, self.n, self.seen = page, 0, {}

    def click(self, role, name, **more):
        self.look()
        self.n += 1
        self.page.get_by_role(role, name=name, **more).first.click()

    def look(self):
        self.seen[re.sub(r"[0-9a-f]{16}", "JOB", self.page.url.partition("?")[0])] = violations(self.page)


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A week of 60 homes under names of columns that nobody told the studio, with gaps."""
    table = long_table(simulate.meters(60, days=3, step="1h", seed=3))
    table = table.rename({"id": "meter", "time": "read_at", "value": "kwh"})
    path = tmp_path_factory.mktemp("raw") / "meters.csv"
    table.filter(pl.int_range(pl.len()) % 97 != 0).write_csv(path)
    return path


def open_page(chromium, address, **more):
    page = chromium.new_context(viewport=DESK, **more).new_page()
    page.set_default_timeout(120_000)
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda error: page.said.append(str(error)))
    page.goto(address)
    return page


def explored(page):
    page.get_by_text("Complete.").wait_for()
    page.get_by_role("button", name="Review this one").wait_for()


def approve(chromium, link):
    """What the officer does: reads, signs, approves."""
    theirs = Clicks(open_page(chromium, link))
    theirs.page.fill("#name", "D. Officer")
    theirs.click("button", "Approve")
    theirs.page.get_by_text("Approved", exact=True).wait_for()
    theirs.look()
    assert theirs.page.said == []
    return theirs


def test_from_raw_csv_to_a_signed_release_and_the_same_through_the_policy_file(chromium, raw, tmp_path):
    project = tmp_path / "project"
    with running_studio(project) as address:
        page = open_page(chromium, address)
        mine = Clicks(page)
        begun = time.monotonic()
        mine.look()
        mine.n += 1  # the file is chosen
        page.set_input_files("#file", str(raw))
        mine.click("button", "Upload", exact=True)
        page.wait_for_url("**/tables/meters.csv")
        mine.click("button", "Prepare a release")
        page.wait_for_url("**/purpose")
        for name, text in (("title", "Use of 60 homes"), ("publisher", "Example Grid"), ("risk", "40")):
            page.fill(f"#{name}", text)
        page.fill("[name='at_most:0']", "0.9")
        mine.n += 1
        page.check("#review")
        mine.click("button", "Save and explore")
        page.wait_for_url("**/explore")
        explored(page)
        mine.click("button", "Review this one")
        page.wait_for_url("**/review")
        mine.click("button", "Make a link")
        theirs = approve(chromium, page.input_value("#link"))
        mine.n += theirs.n
        mine.click("link", "Release")
        page.wait_for_url("**/release")
        mine.click("button", "Check and release")
        page.get_by_text("Released", exact=True).wait_for()
        mine.look()
        seconds = time.monotonic() - begun
        assert mine.n <= MOST_CLICKS, mine.n
        print(f"{mine.n} clicks, {seconds:.0f} s, with axe-core on every page")
        certificate = json.loads((project / "releases/meters/release.json").read_text())
        assert certificate["approval"]["by"] == "D. Officer"
        assert not verify(project / "releases/meters").findings

        # Every page on the way, the others, and all of them in the dark on a phone.
        base = address.partition("/enter")[0]
        rest = ["/", "/jobs", "/tasks/new", "/releases/meters", "/tables/meters.csv"]
        steps = [f"/drafts/meters/{step}" for step in ("table", "purpose", "explore", "review", "release")]
        small = open_page(chromium, base, color_scheme="dark", storage_state=page.context.storage_state())
        small.set_viewport_size(PHONE)
        for path in rest + steps:
            small.goto(base + path)
            mine.seen[f"{path} on a phone"] = violations(small)
            assert small.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path
            if path in rest:
                page.goto(base + path)
                mine.look()
        assert {where: found for where, found in (mine.seen | theirs.seen).items() if found} == {}
        assert page.said + small.said == []

        # The policy file, in a project of its own, gives the same release.
        page.goto(f"{base}/drafts/meters/purpose")
        with page.expect_download() as download:
            page.get_by_role("link", name="Download").click()
        policy = tmp_path / "policy.yaml"
        download.value.save_as(policy)
    other = tmp_path / "other"
    (other / "data").mkdir(parents=True)
    (other / "data/meters.csv").write_bytes(raw.read_bytes())
    with running_studio(other) as address:
        page = open_page(chromium, address)
        page.get_by_text("Open a policy file", exact=True).click()
        page.set_input_files("#policy", str(policy))
        page.get_by_role("button", name="Open it").click()
        page.wait_for_url("**/purpose")
        assert page.input_value("#title") == "Use of 60 homes"
        page.get_by_role("button", name="Save and explore").click()
        explored(page)
        page.get_by_role("button", name="Review this one").click()
        page.wait_for_url("**/review")
        page.get_by_role("button", name="Make a link").click()
        approve(chromium, page.input_value("#link"))
        page.get_by_role("link", name="Release").first.click()
        page.get_by_role("button", name="Check and release").click()
        page.get_by_text("Released", exact=True).wait_for()
    again = json.loads((other / "releases/meters/release.json").read_text())
    for part in ("method", "guarantees", "counts", "utility", "risk", "title"):
        assert again[part] == certificate[part]


def test_two_publishers_are_apart_in_one_browser(chromium, raw, tmp_path):
    with ExitStack() as stack:
        one, two = (tmp_path / name for name in ("one", "two"))
        (one / "data").mkdir(parents=True)
        (one / "data/meters.csv").write_bytes(raw.read_bytes())
        first, second = (stack.enter_context(running_studio(folder)) for folder in (one, two))
        page = open_page(chromium, first)
        page.goto(f"{first.partition('/enter')[0]}/tables/meters.csv")
        page.get_by_role("button", name="Prepare a release").click()
        page.wait_for_url("**/drafts/meters/purpose")
        # Neither key opens the other's studio, and being let into one does not let out of the other.
        key = first.rpartition("/")[2]
        base = second.partition("/enter")[0]
        page.goto(f"{base}/enter/{key}")
        assert page.get_by_text("This link does not open anything").is_visible()
        page.goto(f"{base}/drafts/meters/purpose")
        assert page.url.endswith("/login")
        page.goto(second)
        assert page.get_by_text("meters").count() == 0
        for path in ("/drafts/meters/purpose", "/tables/meters.csv", "/drafts/meters/policy.yaml"):
            assert page.goto(base + path).status == 404
        assert page.goto(f"{first.partition('/enter')[0]}/drafts/meters/purpose").status == 200
