"""Photograph the studio for docs/studio.md: a table of 120 persons, two analysts who mind lunch, a learned metric.

Run: python tests/studio/pictures.py
"""

import re
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from shoal import simulate  # noqa: E402
from shoal.process.simulation import long_table  # noqa: E402
from studio.running import browser, running_studio  # noqa: E402

PICTURES = ROOT / "docs" / "images"
LARGEST = 250_000  # bytes


def main(folder=PICTURES):
    with tempfile.TemporaryDirectory() as place, browser() as chromium:
        project = Path(place) / "office-days"
        (project / "data").mkdir(parents=True)
        long_table(simulate.occupancy(400, days=1, step="15min", seed=5)).write_parquet(project / "data/days.parquet")
        with running_studio(project) as address:
            context = chromium.new_context(viewport={"width": 900, "height": 700})
            photograph(Path(folder), chromium, context.new_page(), address)


def photograph(folder, chromium, page, address):
    folder.mkdir(exist_ok=True)
    base = address.partition("/enter")[0]
    page.goto(address)
    page.goto(f"{base}/tasks/new")
    page.fill("#name", "lunch")
    page.fill("#k", "5")
    page.fill("#pairs", "240")
    page.fill("#question", "Alike for planning the canteen?")
    page.get_by_role("button", name="Make the task").click()
    page.wait_for_url("**/tasks/lunch", timeout=120_000)
    for analyst, share in (("anna", 1.0), ("ben", 0.55)):
        page.fill("#analyst", analyst)
        page.get_by_role("button", name="Make a link").click()
        link = page.input_value("#link")
        label(chromium, link, share, folder if analyst == "ben" else None)
    page.goto(f"{base}/tasks/lunch")
    page.get_by_role("button", name="Measure").click()
    page.wait_for_url("**/tasks/lunch#curve", timeout=120_000)
    for name in ("Learn linear", "Learn deep"):
        page.get_by_role("button", name=name).click()
        page.wait_for_url("**/tasks/lunch#metrics", timeout=240_000)
    page.goto(f"{base}/tasks/lunch")
    shoot(page, folder / "studio-task.png", height=None)
    page.goto(f"{base}/tasks/lunch/compare")
    page.fill("#k", "5")
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name=re.compile("Loss on the")).wait_for(timeout=240_000)
    shoot(page, folder / "studio-compare.png")
    page.goto(f"{base}/releases/new?metric=lunch.linear")
    page.fill("#name", "lunch-2024")
    page.get_by_role("button", name="Check and release").click()
    page.wait_for_url("**/releases/lunch-2024", timeout=120_000)
    # Where this machine keeps its temporary files is no part of the picture.
    page.evaluate(
        "document.querySelectorAll('.folder').forEach("
        "e => { e.textContent = e.textContent.replace(/\\/\\S*(?=office)/, '/home/you/'); })"
    )
    shoot(page, folder / "studio-release.png", height=None)
    page.goto(f"{base}/")
    shoot(page, folder / "studio-home.png")


def label(chromium, link, share, folder):
    """An analyst who minds who is there from 11 to 14, in a browser of his own."""
    context = chromium.new_context(viewport={"width": 900, "height": 700})
    page = context.new_page()
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
    if folder is not None:
        page.reload()
        page.wait_for_selector("#plot .main-svg")
        shoot(page, folder / "studio-label.png", height=700)
        for name, scheme in (("studio-label-phone.png", "light"), ("studio-label-phone-dark.png", "dark")):
            phone = chromium.new_context(
                viewport={"width": 360, "height": 640}, device_scale_factor=1.5, color_scheme=scheme, has_touch=True
            )
            small = phone.new_page()
            small.goto(link)
            small.wait_for_selector("#plot .main-svg")
            shoot(small, folder / name, height=640)
            phone.close()
    context.close()


def shoot(page, path, height=0):
    """The whole page, or its top."""
    page.wait_for_load_state("networkidle")
    time.sleep(0.3)
    if height:
        page.screenshot(path=path)
    else:
        page.screenshot(path=path, full_page=True)
    if (size := path.stat().st_size) > LARGEST:
        raise SystemExit(f"{path.name} would have {size} bytes; {LARGEST} are allowed")


if __name__ == "__main__":
    main(*sys.argv[1:])
