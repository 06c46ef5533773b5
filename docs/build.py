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

from draw_rooms import write_pictures
from notebooks import main as run_notebooks

DOCS = Path(__file__).resolve().parent
PICTURE = DOCS / "images" / "report.png"
LARGEST_PICTURE = 300_000  # bytes; a README should open at once


def main() -> None:
    write_pictures()
    run_notebooks()
    photograph_report()
    tests = DOCS.parent / "tests" / "test_docs.py"
    failed = subprocess.run([sys.executable, "-m", "pytest", "-q", str(tests)], check=False).returncode
    sys.exit(failed or build_site())


def build_site() -> int:
    """The whole site in site/; a page that is in no menu, or a link that leads nowhere, is an error."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    # The theme's successor is not ready for all that is used here; its notice would be the only output.
    environment = {**os.environ, "PYTHONPATH": str(DOCS), "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=DOCS.parent, env=environment, check=False).returncode


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
