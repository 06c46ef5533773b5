"""What the page says, what it never says, and that it stays small and alone."""

import copy
import itertools
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from report.samples import certificate_of, daily_curves, grouped
from shoal.model import Panel
from shoal.report import page as page_module
from shoal.report import render, summarise
from shoal.report.plots import MAX_BARS, group_bars
from shoal.report.words import every, file_size, marked, measure_name, moment, number, percent, plural

EVIL = "<script>alert('x')</script>\"'&</style></noscript><img src=x onerror=alert(1)>"


class Reader(HTMLParser):
    """The text of a page without its scripts, and every attribute of its tags."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.words, self.inside, self.json = [], [], [], ""
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.words.append(data)
        elif self.inside[-1][1].get("id") == "figures":
            self.json += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


def with_everywhere(part, text):
    """The same structure with every string and every key replaced."""
    if isinstance(part, dict):
        known = {"guarantees", "verdict", "holds", "parameters", "method", "summary", "counts", "columns", "published"}
        known |= {
            "name",
            "statement",
            "note",
            "figures",
            "axis",
            "at",
            "kind",
            "channels",
            "profile",
            "bands",
            "duration",
        }
        known |= {
            "original",
            "files",
            "utility",
            "input",
            "time",
            "versions",
            "value",
            "goal",
            "range",
            "meaning",
            "reason",
        }
        known |= {"risk", "seal", "shoal", "form", "pseudonyms", "sha256", "bytes", "timezone", "step", "first", "last"}
        return {key if key in known else f"{key} {text}": with_everywhere(value, text) for key, value in part.items()}
    if isinstance(part, list):
        return [with_everywhere(value, text) for value in part]
    return text if isinstance(part, str) and part not in ("clock", "time", "index") else part


def test_the_page_states_the_facts_of_the_certificate(certificate):
    reader = Reader(render(certificate))
    for fact in [
        "Shoal release report",
        "12,001 subjects",
        "12,345 series",
        "168 instants each, one every hour",
        "From 1 January 2024, 00:00 to 7 January 2024, 23:00",
        "Missing readings: 17",
        "Replace every series by the mean of at least k similar ones.",
        "k = 10, algorithm = mdav",
        "1,001 groups of 12 to 14 members",
        "Published columns: id, time, value. Read but not published: 2 columns, identifiers included.",
        "fresh random pseudonyms",
        "Every published series equals those of at least 9 other subjects at all instants.",
        "Holds k-anonymity, k = 10, per subject",
        "measured 12",
        "required 10",
        "Anyone can check this",
        "shoal verify FOLDER",
        "1,001 groups: the smallest has 12 members, the largest 14. The most frequent size is 12 (900 groups).",
        "Information loss 0.312",
        "Squared changes as a share of the variation between series; lower is better",
        "covers at least 10 subjects, none of whom makes up more than 90 % of it",
        "Mean day",
        "The original peaks at 19:00",
        "Load duration curve",
        "Spread between subjects",
        "Mean of each fifth of the subjects, from the lowest to the highest, at each time of day; the originals are "
        "blurred a little so that nobody's reading can be worked out by subtraction.",
        "release, lowest to highest fifth second to fourth fifth middle fifth original, middle fifth the other fifths",
        "What a reader may conclude",
        "What a reader may not conclude",
        "cd" * 32,
        "ee" * 32,
        "1.2 kB",
        "168,000",
        "3.11.7",
    ]:
        assert fact in reader.text, fact
    assert "Does not hold" not in reader.text


def test_the_witness_and_the_names_of_subjects_are_not_on_the_page(certificate):
    certificate["guarantees"][0]["verdict"]["witness"] = {"series": 770_077, "instants": [990_099]}
    text = Reader(render(certificate)).text
    assert "770" not in text
    assert "990" not in text


def test_no_reading_is_on_the_page(rng):
    values, times = daily_curves(rng, n_series=60, n_days=2)
    values = np.round(values, 2) + 31_337
    values[17, 5] = 76_543.21
    panel, published = Panel(values, times=times), Panel(grouped(values, 10), times=times)
    page = render(certificate_of(summarise(panel, published, 10)))
    own = page.replace(page_module._plotly(), "")
    assert "76543" not in own
    assert "76,543" not in own
    assert "7.654" not in own


def test_a_guarantee_that_does_not_hold_is_said_in_red_and_stops_the_conclusions(certificate):
    certificate["guarantees"].append(
        {
            "name": "aggregate-rule",
            "parameters": {"size": 15, "share": 0.15},
            "statement": "Each published aggregate covers at least 15 subjects.",
            "checked_by": "publisher",
            "verdict": {"holds": False, "measured": 0.2312, "required": 0.15, "witness": 3, "note": "Three dominate."},
        }
    )
    page = render(certificate)
    reader = Reader(page)
    assert [a["class"] for a in reader.all("article")] == ["verdict holds", "verdict fails"]
    assert "Does not hold aggregate-rule, size = 15, share = 0.15" in reader.text
    assert "measured 0.2312" in reader.text
    assert "Three dominate." in reader.text
    assert "Only the publisher can check this" in reader.text
    assert "Do not share this release." in reader.text
    assert "What a reader may conclude" not in reader.text


def test_a_verdict_that_is_not_plainly_true_does_not_hold(certificate):
    for holds in (None, "yes", 1):
        certificate["guarantees"][0]["verdict"]["holds"] = holds
        assert "verdict fails" in render(certificate)
    assert "No guarantee" in render(certificate_of({}, guarantees=[]))


def test_a_page_can_be_made_without_seal_figures_risk_and_time(certificate):
    for name in ("seal", "figures", "risk", "time"):
        del certificate[name]
    text = Reader(render(certificate)).text
    assert "12,345 series" in text
    assert "Mean day" not in text


def test_even_an_empty_certificate_gives_a_page():
    assert "No guarantee" in Reader(render({})).text


@pytest.mark.parametrize("wrong", [None, 3, "text", [], [1, None], {"at": 1}, {"x": {"y": [{}]}}])
def test_figures_of_the_wrong_shape_are_left_out_not_crashed_on(certificate, wrong):
    for name in certificate:
        changed = copy.deepcopy(certificate)
        changed[name] = wrong
        assert "Shoal release report" in render(changed)
    for path in (["axis"], ["axis", "at"], ["channels"], ["channels", 0], ["channels", 0, "profile"]):
        changed = copy.deepcopy(certificate)
        part = changed["figures"]
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = wrong
        assert "Shoal release report" in render(changed)


def test_hostile_text_is_escaped_everywhere(certificate):
    page = render(with_everywhere(certificate, EVIL))
    own = page.replace(page_module._plotly(), "")
    assert own.count("<script") == 3
    assert "<img" not in own
    assert "onerror=alert(1)>" not in own
    reader = Reader(page)
    assert not [attrs for _, attrs in reader.tags if any(name.startswith("on") for name in attrs)]
    assert EVIL[:20] in reader.text


def test_hostile_text_reaches_no_plot(certificate):
    certificate["figures"]["channels"][0]["name"] = EVIL
    certificate["counts"]["group_sizes"] = {EVIL: 3, "12": 4, "13": EVIL}
    data = json.loads(Reader(render(certificate)).json)
    assert "alert" not in json.dumps(data)
    assert data["groups"] == {"labels": ["12"], "bars": [4]}


def test_nothing_is_loaded_from_outside(certificate):
    reader = Reader(render(certificate))
    for _, attrs in reader.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster", "xlink:href"):
            assert attrs.get(name) is None or attrs[name].startswith("#")
    assert not reader.all("link")
    assert not reader.all("base")
    policy = next(a["content"] for a in reader.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    style = "".join(re.findall(r"<style>(.*?)</style>", render(certificate), flags=re.S))
    assert "url(" not in style
    assert "@import" not in style


def test_plotly_is_inside_once(certificate):
    page = render(certificate)
    assert page.count(page_module._plotly()) == 1


def test_the_largest_page_is_below_5_000_000_bytes(worst_figures):
    long = "\U0001f41f&<\"'" * 2000
    huge = with_everywhere(certificate_of(worst_figures), long)
    huge["counts"]["group_sizes"] = {str(size): 10**9 + size for size in range(10, 50_000)}
    huge["guarantees"] = huge["guarantees"] * 100
    huge["utility"] = {f"{i}{long}": next(iter(huge["utility"].values())) for i in range(500)}
    huge["risk"] = {f"{i}{long}": {"success": 0.1, "interval": {"low": 0.1, "high": 0.2}} for i in range(500)}
    for part in ("versions", "files", "input", "columns"):
        huge[part] = {f"{i}{long}": long for i in range(1000)}
    huge["method"]["parameters"] = {f"{i}": [long] * 1000 for i in range(1000)}
    assert len(render(certificate_of(worst_figures)).encode()) <= 5_000_000
    page = render(huge)
    assert len(page.encode()) <= 5_000_000
    assert "Shoal release report" in page


def test_the_page_does_without_plots_where_the_script_does_not_fit(certificate, monkeypatch):
    monkeypatch.setattr(page_module, "_plotly", lambda: "x" * 5_000_000)
    page = render(certificate)
    reader = Reader(page)
    assert len(page) < 200_000
    assert not reader.all("script")
    assert "The original peaks at 19:00" in reader.text
    assert len(reader.all("table")) > 1


def test_every_plot_says_in_words_what_it_shows(certificate):
    plots = [a for a in Reader(render(certificate)).all("div") if a.get("class") == "plot"]
    assert [p["data-plot"] for p in plots] == ["profile", "duration", "bands", "groups"]
    for plot in plots:
        assert plot["role"] == "img"
        assert re.search(r"\d", plot["aria-label"])


def test_headings_step_down_one_level_at_a_time(rng, certificate, worst_figures):
    for figures in (certificate["figures"], worst_figures):
        levels = [int(tag[1]) for tag, _ in Reader(render(certificate_of(figures))).tags if re.fullmatch(r"h\d", tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_readers_without_scripts_get_a_short_table(certificate):
    page = render(certificate)
    tables = re.findall(r"<noscript>\s*<table>(.*?)</table>", page, flags=re.S)
    assert len(tables) == 1
    assert 8 <= tables[0].count("<tr>") <= 14
    assert "Mean day" in tables[0]


def test_channels_have_a_section_each_and_those_not_drawn_are_counted(worst_figures):
    reader = Reader(render(certificate_of(worst_figures)))
    assert len([a for a in reader.all("section") if a.get("class") == "channel"]) == 8
    assert "1 further channel not drawn." in reader.text


def test_risk_stands_beside_guessing(certificate):
    certificate["risk"] = {
        "record-linkage": {
            "success": 0.021,
            "interval": {"low": 0.015, "high": 0.03},
            "baseline": 0.002,
            "n_targets": 5000,
        }
    }
    text = Reader(render(certificate)).text
    assert "Record linkage 2.1 % (1.5 % to 3 %) 0.2 % – 5,000" in text


def test_what_is_not_shown_says_why(rng):
    values, times = daily_curves(rng, n_series=20, n_days=2)
    panel = Panel(values, times=times)
    text = Reader(render(certificate_of(summarise(panel, panel, 10)))).text
    assert "Not shown. Bands need at least 50 subjects, five crowds of 10; there are 20." in text
    text = Reader(render(certificate_of(summarise(panel, panel, 50)))).text
    assert "Not shown: no instant has a crowd of 50 subjects." in text


def test_the_sentence_about_fifths_gives_both_ends_of_both_sides(certificate):
    bands = certificate["figures"]["channels"][0]["bands"]
    for side, low in (("original", 1.5), ("published", 2.5)):
        bands[side] = {f"p{q}": [low * q] * 24 for q in (10, 30, 50, 70, 90)}
    said = "Averaged over the day, the lowest fifth of the subjects averages "
    text = Reader(render(certificate)).text
    assert said + "15 and the highest 135 in the original, 25 and 225 in the release." in text
    bands["original"] = {f"p{q}": [None] * 24 for q in (10, 30, 50, 70, 90)}
    assert said + "25 and the highest 225 in the release." in Reader(render(certificate)).text
    bands["published"] = None
    assert "Not shown. At no point were there five crowds of 10 subjects" in Reader(render(certificate)).text


def test_local_clock_times_name_their_zone(rng):
    values, times = daily_curves(rng, n_series=20, n_days=2)
    panel = Panel(values, times=times, timezone="Europe/Bratislava")
    text = Reader(render(certificate_of(summarise(panel, panel, 2)))).text
    assert "Clock times in Europe/Bratislava." in text
    assert "The original peaks at 20:00" in text


@pytest.mark.parametrize("n_sizes", [1, 2, 40, 41, 1000, 100_000])
def test_group_sizes_fill_at_most_40_bars_and_lose_no_group(n_sizes):
    bars = group_bars({"group_sizes": {str(10 + i): 1 + i % 3 for i in range(n_sizes)}})
    assert len(bars["bars"]) == len(bars["labels"]) <= MAX_BARS
    assert sum(bars["bars"]) == sum(1 + i % 3 for i in range(n_sizes))


def test_sentences_about_groups():
    assert group_bars({"group_sizes": {"10": 50}})["sentence"] == "All 50 groups have 10 members."
    assert group_bars({"group_sizes": {"10": 1}})["sentence"] == "There is 1 group, with 10 members."
    assert group_bars({"group_sizes": {}}) is None


def test_numbers_are_written_as_people_write_them():
    assert [number(n) for n in (0, 7, 1234567, 0.31234, 1234.5678, -2.5, 0.00001234, 1e20)] == [
        "0",
        "7",
        "1,234,567",
        "0.3123",
        "1,235",
        "−2.5",
        "1.234 × 10⁻⁵",
        "1 × 10²⁰",
    ]
    assert [number(n) for n in (None, float("nan"), float("inf"), -(10**400))] == ["–", "–", "∞", "−∞"]
    assert [percent(p) for p in (0.0, 0.0001, 0.021, 1.0)] == ["0 %", "less than 0.1 %", "2.1 %", "100 %"]
    assert [plural(1, "series"), plural(2, "series"), plural(2, "day")] == ["1 series", "2 series", "2 days"]
    assert [file_size(n) for n in (None, 12, 1234, 5_000_000, 2.5e9)] == ["–", "12 bytes", "1.2 kB", "5.0 MB", "2.5 GB"]
    assert [every(s) for s in ("1h", "30m", "15min", "fortnight")] == [
        "every hour",
        "every 30 minutes",
        "every 15 minutes",
        "every fortnight",
    ]
    assert [moment(t) for t in ("2024-02-03T04:05:06", 17)] == ["3 February 2024, 04:05:06", "17"]


def test_marked_words_are_escaped_first():
    assert marked("**a <b>** and `x & y`") == "<b>a &lt;b&gt;</b> and <code>x &amp; y</code>"


def test_findings_that_were_let_pass_are_said():
    text = render({"counts": {}, "guarantees": [], "accepted": ["timestamp-phase", "<b>"]})
    assert "accepted these findings: timestamp-phase, &lt;b&gt;." in text
    assert "accepted these findings" not in render({"counts": {}, "guarantees": []})


def test_the_sheet_says_what_the_release_is_called_and_invents_no_name(certificate):
    text = Reader(render(certificate)).text
    assert "Anonymized time series Publisher not named · purpose not stated 12,001 subjects, 12,345 series ·" in text
    called = {"title": "Use of 600 homes", "publisher": "Example Grid", "purpose": "research on demand"}
    text = Reader(render(certificate | called | {"date": "2026-11-16"})).text
    assert "Use of 600 homes Published by Example Grid · for research on demand 12,001 subjects, 12,345 series" in text
    assert "published 16 November 2026" in text
    assert "What is lost for research on demand" in text
    assert "not named" not in text


def test_the_sheet_has_no_more_lines_than_a_page_has_room_for(certificate):
    others = ("nlk-anonymity", "kp-anonymity", "l-diversity", "aggregate-rule")
    certificate["guarantees"] += [certificate["guarantees"][0] | {"name": name} for name in others]
    page = render(certificate)
    sheet = page[page.index('class="sheet') : page.index('class="details"')]
    assert max(part.count("<li>") for part in sheet.split("<ul>")[2:]) == 7
    assert sheet.split("<ul>")[1].count("<li>") <= 9
    assert "2 further guarantees below, under Details." in sheet
    lines = re.findall(r"(\d+) more below, under Details", sheet)
    assert lines
    assert "That two aggregates may safely be subtracted" in page[page.index('class="details"') :]


def test_bars_are_full_where_a_figure_is_best(certificate):
    loss = certificate["utility"]["information-loss"]
    certificate["utility"] = {
        "information-loss": loss | {"value": 8.68e-16, "unit": "share"},
        "prediction": loss | {"goal": "higher", "value": 0.25, "unit": "share"},
    }
    page = render(certificate)
    assert re.findall(r'class="fill" width="([\d.]+)"', page) == ["100.0", "25.0"]
    assert "0 % on a scale from 100 %, the worst, to 0 %, the best" in page
    assert not re.search(r"\de[-−+]?\d", Reader(page).text)


def test_the_mean_reading_of_a_window_that_was_kept_stands_on_the_sheet(certificate):
    kept = ["peak-height-error", "peak-time-error", "interest-loss:interest=window:17:00-20:00"]
    certificate["figures"]["process"] = {"kept": kept}
    profile = certificate["figures"]["channels"][0]["profile"]
    before, after = (sum(profile[side][17:20]) / 3 for side in ("original", "published"))
    text = Reader(render(certificate)).text
    assert f"Mean reading from 17:00 to 20:00 {before:.3g} {after:.3g}" in text
    certificate["utility"]["interest-loss:interest=window:17:00-20:00"] = {
        "value": 1.04,
        "goal": "lower",
        "range": [0.0, None],
        "meaning": "distance",
        "unit": "data",
    }
    # Over 21 readings of a week.
    told = f"Typical error of a reading from 17:00 to 20:00 {1.04 / 21**0.5:.3g} in the unit of the data"
    assert told in Reader(render(certificate)).text
    certificate["time"]["step"] = None
    said = (
        "What had to be kept (window 17:00-20:00): Euclidean distance of a series from its original, on average 1.04 "
        "in the unit of the data"
    )
    assert said in Reader(render(certificate)).text


def test_loss_by_category_stands_below_the_figure_of_everybody(certificate):
    rows = [
        {"category": name, "series": 60, "scores": {"information-loss": {"value": value, "unit": "share"}}}
        for name, value in (("<b>day</b>", 0.25), ("night", 0.4))
    ]
    certificate["utility"]["information-loss"]["unit"] = "share"
    certificate["figures"]["categories"] = {"column": "tariff", "rows": rows}
    page = render(certificate)
    assert "by tariff: <b>day</b> 25 %, night 40 %" in Reader(page).text
    assert "<b>day</b>" not in page
    for wrong in ({"rows": [{"category": "x"}]}, {"rows": 5}, [], {"rows": [{"scores": {"information-loss": 3}}]}):
        certificate["figures"]["categories"] = wrong
        assert "by tariff" not in Reader(render(certificate)).text


def test_the_sheet_tells_the_zone_of_its_clock_and_that_nobody_dated_it(certificate):
    assert "time zone" not in Reader(render(certificate)).text
    certificate["time"] |= {"first": "2024-01-01T00:00:00+01:00", "timezone": "Europe/Bratislava"}
    text = Reader(render(certificate)).text
    assert "1 January 2024 to 7 January 2024, time zone Europe/Bratislava" in text
    assert "date of publication not stated" in text


def test_the_method_is_described_by_the_parameters_that_were_asked_for():
    given = {"k": 12, "algorithm": "auto", "gain": 0.2, "levels": 5, "attributes": [], "within": None, "threads": 2}
    method = {"name": "microaggregation", "summary": "Replace every series.", "parameters": given}
    assert "Here k = 12, threads = 2." in Reader(render(certificate_of({}, method=method))).text


def test_figures_say_in_words_how_they_were_taken():
    names = ("ramp-error", "ramp-error:of=pooled", "peak-time-error:of=all", "seasonality-shift:period=week")
    assert [measure_name(name) for name in names] == [
        "Ramp error",
        "Ramp error, all series in one",
        "Peak time error, of the mean of all series",
        "Seasonality shift, weekly",
    ]
