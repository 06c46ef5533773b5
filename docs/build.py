"""Make what the documentation takes from the code, run it all, and build the site.

Run: make docs
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from draw_rooms import write_pictures
from method_table import write_tables
from notebooks import main as run_notebooks

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "images" / "report.png"
COLOURS = ("#1f6f8b", "#d1495b", "#5a8f5a", "#7d5ba6", "#b8860b", "#333333")
LARGEST_PICTURE = 300_000  # bytes; a README should open at once


def main() -> None:
    write_pictures()
    write_tables()
    run_notebooks()
    photograph_report()
    draw_before_after()
    tests = DOCS.parent / "tests" / "test_docs.py"
    failed = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tests)], check=False).returncode
    sys.exit(failed or build_site())


def build_site() -> int:
    """The whole site in site/; a page that is in no menu, or a link that leads nowhere, is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    # The theme's successor is not ready for all that is used here; its notice would be the only output.
    environment = {**os.environ, "PYTHONPATH": str(DOCS), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=DOCS.parent, env=environment, check=False).returncode


def draw_before_after() -> None:
    """The picture at the top of the README: simulated households as they were, and as they are published."""
    from plotly.subplots import make_subplots

    import shoal

    homes = shoal.simulate.meters(60, days=1, families={"household": 1.0}, seed=4)
    published = shoal.Microaggregation(k=10).anonymize(homes).values
    curves, groups = np.unique(published, axis=0, return_inverse=True)
    titles = (f"{homes.n_series} simulated households", f"as published: {len(curves)} curves, each shared by 10")
    figure = make_subplots(cols=2, shared_yaxes=True, subplot_titles=titles, horizontal_spacing=0.04)
    hours = np.arange(homes.n_instants)
    for column, rows, width in ((1, homes.values, 1), (2, published, 3)):
        for row, group in zip(rows, groups.ravel(), strict=True):
            line = {"color": COLOURS[group % len(COLOURS)], "width": width}
            figure.add_scatter(x=hours, y=row, mode="lines", line=line, opacity=0.7, row=1, col=column)
    figure.update_xaxes(title="hour of the day", tickvals=[0, 6, 12, 18, 23])
    figure.update_yaxes(title="W", col=1)
    figure.update_layout(template="plotly_white", showlegend=False, margin={"l": 60, "r": 20, "t": 40, "b": 50})
    figure.write_image(DOCS / "images" / "before-after.png", width=1000, height=360)


def photograph_report() -> None:
    """Photograph the top of the page that `shoal demo` writes."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        print("chromium is not installed: docs/images/report.png stays as it is")
        return
    PICTURE.parent.mkdir(exist_ok=True)
    # The browser's profile may still be written to while it is being removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        release = Path(folder) / "shoal-demo"
        shoal = [sys.executable, "-c", "from shoal.cli.app import main; main()"]
        subprocess.run([*shoal, "demo", "--out", str(release)], check=True, stdout=subprocess.DEVNULL)
        picture = Path(folder) / "report.png"
        command = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=10000",
            "--window-size=1000,1520",
            "--force-device-scale-factor=0.8",
            f"--screenshot={picture}",
            (release / "report.html").as_uri(),
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
        if (size := picture.stat().st_size) > LARGEST_PICTURE:
            sys.exit(f"docs/images/report.png would have {size} bytes; {LARGEST_PICTURE} are allowed")
        shutil.copyfile(picture, PICTURE)


if __name__ == "__main__":
    main()
