"""Photograph every page of the studio for docs/studio.md, at a desk, in the dark and on a phone.

A publisher takes half-hourly readings of 400 homes from the raw table to a release that an officer approved, and asks
two analysts who mind lunch which days at an office are alike. Run: python tests/studio/pictures.py
"""

import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import polars as pl  # noqa: E402

from shoal import simulate  # noqa: E402
from shoal.process.simulation import long_table  # noqa: E402
from studio.running import browser, running_studio  # noqa: E402

PICTURES = ROOT / "docs" / "images"
LARGEST = 250_000  # bytes
VIEWS = {
    "": {"viewport": {"width": 1400, "height": 900}},
    "-dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "-phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}


def main(folder=PICTURES):
    with tempfile.TemporaryDirectory() as place, browser() as chromium:
        raw = Path(place) / "meters.csv"
        table = long_table(simulate.meters(400, days=7, step="30min", seed=5))
        table = table.rename({"id": "meter", "time": "read_at", "value": "kwh"}).with_columns(pl.col("kwh") / 1000)
        table.filter(pl.int_range(pl.len()) % 197 != 0).write_csv(raw)
        project = Path(place) / "evening-demand"
        (project / "data").mkdir(parents=True)
        long_table(simulate.occupancy(400, days=1, step="15min", seed=5)).write_parquet(project / "data/days.parquet")
        with running_studio(project) as address:
            Photographer(Path(folder), chromium, address).work(raw)


class Photographer:
    def __init__(self, folder, chromium, address):
        self.folder, self.chromium = folder, chromium
        self.base = address.partition("/enter")[0]
        self.page = self.new_page(VIEWS[""])
        self.page.goto(address)

    def new_page(self, view, **more):
        page = self.chromium.new_context(**view, **more).new_page()
        page.set_default_timeout(240_000)
        return page

    def work(self, raw):
        page = self.page
        page.set_input_files("#file", str(raw))
        page.get_by_role("button", name="Upload", exact=True).click()
        page.wait_for_url("**/tables/*")
        page.get_by_role("button", name="Prepare a release").click()
        page.wait_for_url("**/purpose")
        words = {"title": "Half-hourly use of 400 homes", "publisher": "Example Grid Ltd"}
        for name, text in (words | {"purpose": "research on evening demand", "risk": "12"}).items():
            page.fill(f"#{name}", text)
        page.fill("[name='at_most:0']", "0.6")
        page.check("#keep-window")
        page.check("#review")
        page.get_by_role("button", name="Save and explore").click()
        page.get_by_text("Complete.").wait_for()
        page.get_by_role("button", name="Review this one").click()
        page.wait_for_url("**/review")
        page.get_by_role("button", name="Make a link").click()
        link = page.input_value("#link")
        self.shoot_link("officer", link)
        officer = self.new_page(VIEWS[""])
        officer.goto(link)
        officer.fill("#name", "D. Officer")
        officer.get_by_role("button", name="Approve").click()
        officer.get_by_text("Approved", exact=True).wait_for()
        page.goto(f"{self.base}/drafts/meters/release")
        page.get_by_role("button", name="Check and release").click()
        page.get_by_text("Released", exact=True).wait_for()
        self.ask_analysts()
        for name in ("table", "purpose", "explore", "review"):
            self.shoot(name, f"/drafts/meters/{name}")
        pages = {"home": "/", "release": "/drafts/meters/release", "released": "/releases/meters", "jobs": "/jobs"}
        for name, path in (pages | {"task": "/tasks/lunch", "new-task": "/tasks/new"}).items():
            self.shoot(name, path)
        self.shoot("compare", "/tasks/lunch/compare")

    def ask_analysts(self):
        page = self.page
        page.goto(f"{self.base}/tasks/new?table=days.parquet")
        page.fill("#name", "lunch")
        page.fill("#k", "4")
        page.fill("#pairs", "120")
        page.fill("#question", "Alike for planning the canteen?")
        page.get_by_role("button", name="Make the task").click()
        page.wait_for_url("**/tasks/lunch")
        for analyst, share in (("anna", 1.0), ("ben", 0.55)):
            page.fill("#analyst", analyst)
            page.get_by_role("button", name="Make a link").click()
            link = page.input_value("#link")
            label(self.new_page(VIEWS[""]), link, share)
        self.shoot_link("label", link)
        page.goto(f"{self.base}/tasks/lunch")
        page.get_by_role("button", name="Measure").click()
        page.wait_for_url("**/tasks/lunch#curve")
        page.get_by_role("button", name="Learn linear").click()
        page.wait_for_url("**/tasks/lunch#metrics")
        page.goto(f"{self.base}/tasks/lunch/compare")
        page.fill("#k", "5")
        page.get_by_role("button", name="Compare").click()
        page.get_by_role("heading", name=re.compile("Loss on the")).wait_for()

    def shoot(self, name, path, views=VIEWS):
        for view in views:
            page = self.new_page(VIEWS[view], storage_state=self.page.context.storage_state())
            page.goto(self.base + path)
            self.keep(page, f"studio-{name}{view}.png")

    def shoot_link(self, name, link):
        for view, settings in VIEWS.items():
            page = self.new_page(settings)
            page.goto(link)
            self.keep(page, f"studio-{name}{view}.png")

    def keep(self, page, name):
        """The page as it is seen at first, small enough for documentation."""
        page.wait_for_load_state("networkidle")
        time.sleep(0.4)
        # Where this machine keeps its temporary files is no part of the picture.
        page.evaluate(
            "document.querySelectorAll('code').forEach("
            "e => { e.textContent = e.textContent.replace(/\\/\\S*(?=evening-demand)/, '/home/you/'); })"
        )
        path = self.folder / name
        page.screenshot(path=path)
        page.context.close()
        if (size := path.stat().st_size) > LARGEST:
            raise SystemExit(f"{path.name} would have {size} bytes; {LARGEST} are allowed")


def label(page, link, share):
    """An analyst who minds who is there from 11 to 14."""
    page.goto(link)
    page.wait_for_selector("#plot .main-svg")
    csrf = page.input_value("#answer [name=csrf]")
    api = page.url.replace("/label", "/label/api")
    state = page.request.get(f"{api}/state").json()
    total = state["total"]
    while state["pair"] and state["done"] < share * total:
        pair = state["pair"]
        apart = sum(abs(a - b) for a, b in zip(pair["left"][44:56], pair["right"][44:56], strict=True))
        said = "similar" if apart < 2.6 else "dissimilar"
        answer = page.request.post(
            f"{api}/answer", data={"position": pair["position"], "answer": said}, headers={"X-CSRF-Token": csrf}
        )
        assert answer.ok, answer.text()
        state = answer.json()
    page.context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
