"""The page in a real browser: everything drawn, nothing fetched, nothing wider than a phone, nothing cut on paper."""

import importlib.resources
import re
import subprocess

import numpy as np
import polars as pl
import pytest

from report.samples import certificate_of
from shoal import look
from shoal.report import render
from shoal.report.page import render_sheet
from studio.running import CHROMIUM, browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")

# How wide the page is, and what sticks out on the right.
RULER = """() => {
  const root = document.documentElement;
  const wide = [...document.querySelectorAll("body *")].filter(e => {
    const box = e.getBoundingClientRect();
    return box.width && box.right > root.clientWidth + 1 && !e.closest(".wide");
  });
  return { scroll: root.scrollWidth, client: root.clientWidth, wide: wide.slice(0, 5).map(e => e.className) };
}"""


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


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


def open_drawn(chromium, path, n_plots, width=1280):
    """The page when all its parts are open and all its plots are drawn, and what its console said."""
    opened, said = chromium.new_page(viewport={"width": width, "height": 800}), []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.goto(path.as_uri())
    assert opened.locator("details[open]").count() == 0
    opened.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true })")
    opened.wait_for_selector(f"[data-drawn='{n_plots}']")
    plots = opened.locator("div.plot").all()
    assert len(plots) == n_plots
    assert all(plot.locator(".main-svg").count() and plot.locator("path").count() for plot in plots)
    return opened, said


def test_every_plot_is_drawn_in_silence_also_on_paper(chromium, page):
    opened, said = open_drawn(chromium, page, 4, width=1600)
    assert opened.locator(".modebar-btn").count() == 0
    assert opened.screenshot().startswith(b"\x89PNG")
    printed = opened.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert 5 <= n_pages(printed) <= 14  # the sheet, and what is open
    # At the width of the paper.
    opened.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.wait_for_function("document.querySelector('.main-svg').getAttribute('width') == '700'")
    assert {svg.get_attribute("width") for svg in opened.locator(".main-svg").all()} == {"700"}
    assert said == []


def n_pages(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def test_the_sheet_is_one_page_of_paper(chromium, tmp_path, certificate):
    """A long one: every line that may be filled is, and the details stay folded."""
    certificate |= {"title": "word " * 40, "publisher": "name " * 40, "purpose": "aim " * 50, "date": "2026-11-16"}
    certificate["counts"] |= {"subjects": 12_345}
    certificate["columns"] = {"published": ["id", "time", "value"], "channels": ["kwh"], "withheld": 2}
    certificate["guarantees"] += [
        certificate["guarantees"][0] | {"name": name, "statement": "Each of them is among at least ten. " * 5}
        for name in ("nlk-anonymity", "l-diversity", "aggregate-rule")
    ]
    risk = {
        **{"success": 0.04, "interval": {"low": 0.02, "high": 0.07}, "baseline": 0.002, "n_targets": 500},
        **{"control": 1.0, "inferred": 0.1, "inferred_baseline": 0.01, "prosecutor": 0.05},
        "sentence": "Somebody who holds exact readings at 5 instants finds a target with a chance of 4 %. " * 3,
    }
    certificate["risk"] = {"known-points": risk, "known-totals": risk, "nearest-neighbour": risk}
    certificate["input"]["reading"] = {"merged": 4, "repeated": 3, "interpolated": 14, "dropped_series": 1}
    score = certificate["utility"]["information-loss"]
    names = [f"interest-loss:interest=window:1{n}:00-20:00" for n in range(5)]
    certificate["utility"] = dict.fromkeys(names, score)
    limits = {"risk": 0.09, "utility": {name: {"at_most": 0.4} for name in names}}
    certificate["figures"] |= {"process": {"kept": names, "limits": limits}, "left_out": "Some are left out. " * 10}
    path = tmp_path / "page.html"
    path.write_text(render(certificate), encoding="utf-8")
    opened = chromium.new_page()
    opened.goto(path.as_uri())
    assert n_pages(opened.pdf(prefer_css_page_size=True)) == 1
    # No number is broken: each stands on one line.
    opened.set_viewport_size({"width": 390, "height": 800})
    lines = "[...document.querySelectorAll('.sheet .n, .big')].map(e => e.getClientRects().length)"
    assert set(opened.evaluate(lines)) == {1}


def test_the_sheet_of_every_kind_of_release_and_of_every_length_is_one_page_of_paper(
    chromium, tmp_path, kinds, certificate
):
    """One after the other on pages of their own, with lists from short to full."""
    lengthened = []
    for n in range(0, 60, 3):
        sentence = "Who knows it finds it. " * n
        risk = {"success": 0.04, "baseline": 0.002, "n_targets": 500, "control": 0.9, "sentence": sentence}
        reading = {"interpolated": 14, "merged": 4, "repeated": 3, "dropped_series": 1, "dropped_instants": 2}
        further = [certificate["guarantees"][0] | {"name": f"further-{place}"} for place in range(n // 20)]
        lengthened.append(
            certificate
            | {"guarantees": [*certificate["guarantees"], *further]}
            | {"title": "word " * n, "purpose": "aim " * n, "risk": {"known-points": risk, "known-totals": risk}}
            | {"input": certificate["input"] | {"reading": dict(list(reading.items())[: n // 6])}}
        )
    every = [*kinds[1].values(), *lengthened]
    style = (importlib.resources.files("shoal.report") / "templates/page.css").read_text(encoding="utf-8")
    apart = "<style>.sheet { break-after: page !important } .sheet:last-child { break-after: avoid !important }</style>"
    path = tmp_path / "sheets.html"
    path.write_text(f"<style>{style}</style>{apart}<main>{''.join(map(render_sheet, every))}", encoding="utf-8")
    opened = chromium.new_page()
    opened.goto(path.as_uri())
    assert len({section.get_attribute("class") for section in opened.locator(".sheet").all()}) == 3
    assert n_pages(opened.pdf(prefer_css_page_size=True)) == len(every)


@pytest.mark.parametrize(("which", "n_plots"), [("page", 4), ("largest", 25)])
def test_nothing_is_wider_than_the_screen(chromium, request, which, n_plots):
    opened, _ = open_drawn(chromium, request.getfixturevalue(which), n_plots, width=320)
    for width in (320, 360, 768):
        opened.set_viewport_size({"width": width, "height": 800})
        opened.wait_for_timeout(300)
        found = opened.evaluate(RULER)
        assert found["client"] <= width
        assert found["scroll"] <= found["client"], found
        assert found["wide"] == [], width


def test_a_look_at_a_table_fits_a_phone_and_a_dark_screen(chromium, tmp_path):
    times = np.datetime64("2024-01-01", "us") + np.arange(96) * np.timedelta64(1, "h")
    ids = np.repeat([f"m{n}" for n in range(24)], 96)
    values = np.tile(1.5 + np.sin(np.arange(96) / 4), 24) + np.repeat(np.arange(24), 96) / 10
    table = pl.DataFrame(
        {"id": ids, "time": np.tile(times, 24), "value": values, "a_rather_long_name_of_a_column": "x"}
    )
    path = tmp_path / "look.html"
    path.write_text(look(table[:-30]).to_html(), encoding="utf-8")
    opened = chromium.new_page(viewport={"width": 320, "height": 800}, color_scheme="dark")
    opened.goto(path.as_uri())
    assert opened.locator("figure svg").count() == 3
    for width in (320, 768):
        opened.set_viewport_size({"width": width, "height": 800})
        found = opened.evaluate(RULER)
        assert found["scroll"] <= found["client"] <= width, found
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 18, 19)"


def asked_by_page(folder, path):
    """The addresses a page asked for, from the browser's log. The browser's own errands have another initiator."""
    log = folder / "net.json"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND"]  # the browser's own errands end here as well
    command += [f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=20000", "--dump-dom"]
    command += [f"--log-net-log={log}", "--net-log-capture-mode=Everything", path.as_uri()]
    subprocess.run(command, capture_output=True, check=True, timeout=300)
    lines = log.read_text(encoding="utf-8").splitlines()
    own = [line for line in lines if '"initiator":"null"' in line or '"initiator":"file:' in line]
    return {url for line in own for url in re.findall(r'"url":"((?:https?|wss?|ftp)[^"]*)"', line)}


def test_the_page_asks_no_host_for_anything_and_its_policy_would_stop_it(tmp_path, page):
    ask = '<img src="http://shoal.invalid/a.png"><script>fetch("https://shoal.invalid/b");</script>'
    curious = tmp_path / "curious.html"
    curious.write_text(f"<!DOCTYPE html><html><body>{ask}</body></html>", encoding="utf-8")
    assert asked_by_page(tmp_path, curious) == {"http://shoal.invalid/a.png", "https://shoal.invalid/b"}
    page.write_text(page.read_text(encoding="utf-8").replace("<header>", ask + "<header>"), encoding="utf-8")
    assert asked_by_page(tmp_path, page) == set()
