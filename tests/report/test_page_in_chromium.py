"""The page in a real browser: everything drawn, nothing fetched, nothing wider than a phone, nothing cut on paper."""

import json
import re
import shutil
import subprocess

import pytest

from report.samples import certificate_of
from shoal.report import render

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")

PHONE = 360
# Headless windows have a least width, an inner frame has none.
FRAME = """<!DOCTYPE html><body style="margin:0"><iframe id="phone" src="page.html"
style="border:0;width:{width}px;height:800px"></iframe></body>"""
# Appended to a copy of the page: widths, and whatever sticks out on the right.
RULER = """<script>
addEventListener("load", function () {
  var root = document.documentElement, wide = [];
  document.querySelectorAll("body *").forEach(function (e) {
    var box = e.getBoundingClientRect();
    if (box.width && box.right > root.clientWidth + 1 && !e.closest(".wide")) wide.push(e.tagName + "." + e.className);
  });
  var found = { scroll: root.scrollWidth, client: root.clientWidth, wide: wide.slice(0, 5) };
  (window.parent || window).postMessage(JSON.stringify(found), "*");
});
</script>"""
EAR = """<script>addEventListener("message", function (m) { document.body.dataset.found = m.data; });</script>"""


def browse(folder, url, *options):
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        # The browser's own errands end here as well.
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        "--virtual-time-budget=20000",
        *options,
        url,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)


@pytest.fixture
def page(tmp_path, certificate):
    path = tmp_path / "page.html"
    path.write_text(render(certificate), encoding="utf-8")
    return path


@pytest.fixture
def largest(tmp_path, worst_figures):
    path = tmp_path / "page.html"
    certificate = certificate_of(worst_figures)
    certificate["counts"]["group_sizes"] = {str(size): 1 + 5000 // size for size in range(10, 5000)}
    certificate["risk"] = {"record-linkage": {"success": 0.02, "baseline": 0.01, "n_targets": 500}}
    certificate["guarantees"][0]["name"] = "word" * 40
    path.write_text(render(certificate), encoding="utf-8")
    return path


def drawn(dom):
    """Of each plot whether it holds a drawing, and lines in it."""
    parts = re.split(r'<div class="plot[ "]', dom.split('id="figures"')[0])[1:]
    return [("main-svg" in part, "<path" in part) for part in parts]


def test_every_plot_is_drawn_and_the_console_stays_silent(tmp_path, page):
    done = browse(tmp_path, page.as_uri(), "--dump-dom", "--enable-logging=stderr", "--v=0")
    assert drawn(done.stdout) == [(True, True)] * 4
    assert 'data-drawn="4"' in done.stdout
    assert "CONSOLE" not in done.stderr
    assert "modebar-btn" not in done.stdout.split('id="figures"')[0].split("</head>")[1]


def test_all_plots_of_eight_channels_are_drawn(tmp_path, largest):
    done = browse(tmp_path, largest.as_uri(), "--dump-dom")
    assert drawn(done.stdout) == [(True, True)] * 25


def asked_by_page(folder, path):
    """The addresses a page asked for, from the browser's log. The browser's own errands have another initiator."""
    log = folder / "net.json"
    browse(folder, path.as_uri(), "--dump-dom", f"--log-net-log={log}", "--net-log-capture-mode=Everything")
    lines = log.read_text(encoding="utf-8").splitlines()
    own = [line for line in lines if '"initiator":"null"' in line or '"initiator":"file:' in line]
    return {url for line in own for url in re.findall(r'"url":"((?:https?|wss?|ftp)[^"]*)"', line)}


def test_the_page_asks_no_host_for_anything(tmp_path, page):
    assert asked_by_page(tmp_path, page) == set()


def test_a_page_that_asks_would_be_noticed_and_the_policy_would_stop_ours(tmp_path, page):
    ask = '<img src="http://shoal.invalid/a.png"><script>fetch("https://shoal.invalid/b");</script>'
    curious = tmp_path / "curious.html"
    curious.write_text(f"<!DOCTYPE html><html><body>{ask}</body></html>", encoding="utf-8")
    assert asked_by_page(tmp_path, curious) == {"http://shoal.invalid/a.png", "https://shoal.invalid/b"}
    page.write_text(page.read_text(encoding="utf-8").replace("<header>", ask + "<header>"), encoding="utf-8")
    assert asked_by_page(tmp_path, page) == set()


@pytest.mark.parametrize("which", ["page", "largest"])
@pytest.mark.parametrize("width", [320, PHONE, 768])
def test_nothing_is_wider_than_the_screen(tmp_path, request, which, width):
    path = request.getfixturevalue(which)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("</body>\n</html>", RULER + "</body>\n</html>"), encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format(width=width) + EAR, encoding="utf-8")
    done = browse(tmp_path, frame.as_uri(), "--dump-dom", "--window-size=900,900")
    found = json.loads(re.search(r'data-found="([^"]*)"', done.stdout)[1].replace("&quot;", '"'))
    assert found["client"] <= width
    assert found["scroll"] <= found["client"], found
    assert found["wide"] == []


def test_a_screenshot_of_a_phone_can_be_taken(tmp_path, page):
    shot = tmp_path / "phone.png"
    browse(tmp_path, page.as_uri(), f"--screenshot={shot}", f"--window-size={PHONE},800")
    assert shot.read_bytes().startswith(b"\x89PNG")
    assert shot.stat().st_size > 10_000


def test_the_printed_report_has_its_pages(tmp_path, page):
    pdf = tmp_path / "report.pdf"
    browse(tmp_path, page.as_uri(), "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    printed = pdf.read_bytes()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 30_000
    n_pages = len(re.findall(rb"/Type\s*/Page\b", printed))
    assert 3 <= n_pages <= 8


def test_printing_draws_the_plots_at_the_width_of_the_paper_and_opens_the_figures(tmp_path, page):
    text = page.read_text(encoding="utf-8")
    press = '<script>addEventListener("load", function () { dispatchEvent(new Event("beforeprint")); });</script>'
    page.write_text(text.replace("</body>\n</html>", press + "</body>\n</html>"), encoding="utf-8")
    dom = browse(tmp_path, page.as_uri(), "--dump-dom", "--window-size=1600,900").stdout
    widths = {int(w) for w in re.findall(r'class="main-svg"[^>]* width="(\d+)"', dom)}
    assert widths == {676}
    assert re.search(r"<details open", dom)
