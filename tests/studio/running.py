"""A real studio in a process of its own, and a real browser."""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

# The shell draws the same pages in a quarter of the processor time.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")


@contextmanager
def running_studio(project, *options, env=None):
    """`shoal studio` on a free port; gives the address it prints."""
    command = [sys.executable, "-c", "from shoal.cli.app import main; main()", "studio", str(project), "--port", "0"]
    process = subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    try:
        printed = ""
        for line in process.stdout:
            printed += line
            if found := re.search(r"^studio\s+(\S+)$", line, re.M):
                yield found[1]
                break
        else:
            raise AssertionError(f"the studio did not start: {printed}{process.stderr.read()}")
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        told = process.stderr.read()
        process.stdout.close()
        process.stderr.close()
    # Nothing failed inside, and nothing of a request was logged.
    assert told == "", told


@contextmanager
def browser():
    """Debian's Chromium, without a word to the outside."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"],
        )
        try:
            yield opened
        finally:
            opened.close()


def violations(page):
    """What axe-core finds on a page: the rule, and where it is broken."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found]
