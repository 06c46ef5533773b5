"""Photograph Explore for docs/explore.md: a real search over methods for 600 simulated homes.

Run: python tests/studio/explore_pictures.py
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

import polars as pl  # noqa: E402

from shoal import simulate  # noqa: E402
from shoal.process.simulation import long_table  # noqa: E402
from shoal.studio.context import Settings, Studio  # noqa: E402
from shoal.studio.project import Project  # noqa: E402
from studio.pictures import LARGEST, PICTURES, VIEWS  # noqa: E402
from studio.running import browser  # noqa: E402
from studio.test_explore_browser import serving  # noqa: E402

POLICY = {
    "title": "Half-hourly use of 600 homes, a week of March",
    "publisher": "City Energy",
    "purpose": "evening demand",
    "keep": [{"window": "17:00-20:00"}],
    "adversary": {"knows": {"points": 5}},
    "require": {"risk": {"at_most": 0.1}},
    "method": {
        "search": [
            {"name": "microaggregation", "k": {"search": [4, 5, 6, 8, 10, 12, 16, 20, 24]}},
            {"name": "kp", "k": {"search": [6, 10]}, "p": 3},
            {"name": "noise-addition", "snr": {"search": [0.3, 0.6, 1.5, 4.0]}},
            {
                "steps": [
                    {"name": "microaggregation", "k": {"search": [4, 8]}},
                    {"name": "time-aggregation", "step": "1h"},
                ]
            },
            {"name": "microaggregation", "k": {"search": [6, 12, 700]}, "features": "haar"},
        ]
    },
}


MEASURE = "utility.interest-loss:interest=window:17:00-20:00"


def main(folder=PICTURES):
    with tempfile.TemporaryDirectory() as place, browser() as chromium:
        project = Project(Path(place) / "city-energy")
        table = long_table(simulate.meters(600, days=7, step="30min", start="2024-03-01", seed=5))
        table.with_columns((pl.col("value") / 2000).alias("kwh")).drop("value").write_parquet(
            project.folder / "data" / "homes.parquet"
        )
        project.set_reading("homes.parquet", {"value": "kwh"})
        studio = Studio(project, Settings())
        name = studio.drafts.add("homes.parquet", POLICY)
        with serving(studio) as address:
            photograph(Path(folder), chromium, f"{address}/enter/{studio.key}", f"{address}/drafts/{name}/explore")
        studio.jobs.close()


def photograph(folder, chromium, enter, address):
    page = open_page(chromium, enter, address)
    page.get_by_role("button", name="Start the search").click()
    page.get_by_text("Complete.").wait_for()
    address += "?" + urlencode({"risk": 10, MEASURE: 0.65})
    for view, settings in VIEWS.items():
        page = open_page(chromium, enter, address, **settings)
        page.wait_for_selector("html[data-details]")
        if view == "-phone":
            page.evaluate("window.scrollTo(0, document.getElementById('limits').getBoundingClientRect().top - 140)")
        keep(page, folder / f"explore{view}.png")
    best, other = (
        page.locator(f".plot .point:not(.beaten){which}").last.get_attribute("data-key")[1:]
        for which in (".best", ":not(.best)")
    )
    page = open_page(chromium, enter, f"{address}&compared={best}&compared={other}")
    page.locator("#comparison-body .curves").nth(1).wait_for()
    keep(page.locator(".compare"), folder / "explore-compare.png")


def keep(shown, path):
    shown.screenshot(path=path)
    if (size := path.stat().st_size) > LARGEST:
        raise SystemExit(f"{path.name} would have {size} bytes; {LARGEST} are allowed")


def open_page(chromium, enter, address, **more):
    page = chromium.new_context(**({"viewport": {"width": 1400, "height": 900}} | more)).new_page()
    page.set_default_timeout(600_000)
    page.goto(enter)
    page.goto(address)
    return page


if __name__ == "__main__":
    main(*sys.argv[1:])
