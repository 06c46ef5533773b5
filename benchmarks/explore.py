"""Explore in the studio with 200 points of 10 000 x 336 readings: first point, moving a limit, weight of the page.

Run: python benchmarks/explore.py [--series 10000] [--points 200] [--write]
A real studio in a thread, a real search, a real browser. With --write it writes docs/results/explore.md. The targets
are 10 s to the first point on the screen, 100 ms from a moved limit to a page laid out anew, 6 MB for the whole page.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from shoal import simulate
from shoal.process.simulation import long_table
from shoal.studio.app import build
from shoal.studio.context import Settings, Studio
from shoal.studio.project import Project
from shoal.studio.server import configure

DOCS = Path(__file__).resolve().parents[1] / "docs" / "results" / "explore.md"
MOVES = 60
INSTANTS = 336

# From key to layout: what a person waits for. Reading a size makes the browser lay the page out.
MOVE = """() => {
  const line = document.querySelector(".limit.risk"), times = [];
  for (let i = 0; i < MOVES; i++) {
    const start = performance.now();
    line.dispatchEvent(new KeyboardEvent("keydown", { key: i % 3 ? "ArrowLeft" : "PageUp", bubbles: true }));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}""".replace("MOVES", str(MOVES))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=10_000)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), options.series, options.points)
    print("\n".join(f"{name:<42} {value}" for name, value in found.items()))
    if options.write:
        DOCS.write_text(page(options, found), encoding="utf-8")


def measure(folder: Path, n_series: int, n_points: int) -> dict[str, str]:
    project = Project(folder / "project")
    panel = simulate.meters(n_series, days=7, step="30min", seed=1)
    long_table(panel).write_parquet(project.folder / "data" / "meters.parquet")
    studio = Studio(project, Settings())
    # Grids of two methods; every point is another release.
    share = n_points // 4
    methods = [
        {"name": "microaggregation", "k": {"search": list(range(3, 3 + n_points - share))}},
        {"name": "noise-addition", "snr": {"search": [round(0.2 * 1.05**i, 4) for i in range(share)]}},
    ]
    name = studio.drafts.add(
        "meters.parquet", {"method": {"search": methods}, "search": {"points": n_points}, "title": "Use of meters"}
    )
    with serving(studio) as address, chromium() as browser:
        view = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        view.set_default_timeout(3_600_000)
        view.goto(f"{address}/enter/{studio.key}")
        view.goto(f"{address}/drafts/{name}/explore")
        start = time.perf_counter()
        view.get_by_role("button", name="Start the search").click()
        view.wait_for_selector(".plot .point")
        first = time.perf_counter() - start
        view.get_by_text(f"Complete. {n_points} of {n_points} points").wait_for()
        whole = time.perf_counter() - start
        moves, sent, shown = look_again(browser, f"{address}/enter/{studio.key}", f"{address}/drafts/{name}/explore")
        start = time.perf_counter()
        view.goto(f"{address}/drafts/{name}/explore?point=7")
        view.wait_for_selector("html[data-details='7']")
        detail = time.perf_counter() - start
    return {
        "first point on the screen": f"{first:.1f} s",
        f"all {n_points} points": f"{whole:.0f} s",
        "a point's curves, made for the first time": f"{detail:.1f} s",
        "points drawn": str(shown),
        "a limit moved, median": f"{statistics.median(moves):.1f} ms",
        "a limit moved, slowest": f"{max(moves):.1f} ms",
        "page with all it fetches, as sent": f"{sent / 1e6:.2f} MB",
        "processes waiting for a core meanwhile": f"{os.getloadavg()[1]:.0f}",
    }


def look_again(browser: Any, enter: str, address: str) -> tuple[list[float], int, int]:
    """The page anew, with an empty cache: times of moves, bytes that came, points drawn."""
    view = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    view.set_default_timeout(600_000)
    view.goto(enter)
    network = view.context.new_cdp_session(view)
    network.send("Network.enable")
    sent: list[int] = []
    network.on("Network.loadingFinished", lambda event: sent.append(event["encodedDataLength"]))
    view.goto(address)
    view.wait_for_selector("html[data-details]")
    shown = view.locator(".plot .point").count()
    return view.evaluate(MOVE), sum(sent), shown


@contextmanager
def serving(studio: Studio) -> Iterator[str]:
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
            studio.jobs.close()


@contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
        opened = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        try:
            yield opened
        finally:
            opened.close()


def page(options: argparse.Namespace, found: dict[str, str]) -> str:
    rows = "\n".join(f"| {name} | {value} |" for name, value in found.items())
    return f"""# Explore: how long it takes

See how long you wait in the studio for a search over {options.points} points, and how
quickly the page reacts to a changed limit.

Written by `python benchmarks/explore.py --write`: a studio, a search over {options.points} points of
{options.series:,} simulated meters with {INSTANTS} readings each, and Chromium, all on one machine with
{os.cpu_count()} cores. The search tries points on a sample of 2 000 subjects, as a run of the policy does.

| what | measured |
|---|---|
{rows}

The targets are 10 s to the first point, 100 ms for a limit, 6 MB for the page. *A limit moved* is the time from a key
press on the risk limit to the new layout, with colours, best choice, table and sentences updated; it needs no
request. The first point includes reading the table, not compiling the kernels, which happens once on a machine. The
last row shows how busy the machine was with other work: with many processes per core, times are longer.
"""


if __name__ == "__main__":
    main()
