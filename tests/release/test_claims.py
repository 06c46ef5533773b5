"""What a certificate says and its data contradicts is found, and what nothing in the folder shows is named."""

import json
from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from release.test_canonical import findings, reseal
from shoal import KP, Events, Microaggregation, NoisyAggregates, Reposition, publish, verify
from shoal.cli.app import run
from shoal.errors import ParameterError
from shoal.model.keyed_names import JOINABLE
from shoal.release import ReleaseOptions, release_candidate
from small_release import small_panel


def release(candidate, to, **options):
    release_candidate(candidate, to, summary="Test.", **options)
    return to


def edit(path, change):
    change(pl.read_parquet(path)).write_parquet(path, compression="zstd")


MEASURED = "release.json states another measured figure for k-anonymity than the data has"


@pytest.mark.parametrize("measured", [2, 4, 1000, 3.5, None])
def test_a_measured_figure_that_the_data_does_not_have_is_found(out, measured):
    assert findings(out, guarantees__0__verdict__measured=measured) == MEASURED


def test_in_subjects_who_are_not_shown_no_crowd_is_larger_than_in_series(tmp_path):
    candidate = Microaggregation(k=3).anonymize(small_panel(subjects=np.repeat(np.arange(7), 2)))
    out = release(candidate, tmp_path / "out")
    ((_, verdict),) = verify(out).verdicts
    reseal(out, guarantees__0__verdict__measured=verdict.measured)
    assert not verify(out).findings
    reseal(out, guarantees__0__verdict__measured=verdict.measured + 1)
    assert verify(out).findings == (MEASURED,)


@pytest.mark.parametrize(("place", "letter"), [(0, "z"), (2, "c"), (1, "A"), (3, "1"), (0, "é")])
def test_words_have_only_letters_of_their_level(tmp_path, place, letter):
    out = release(KP(k=6, p=3).anonymize(small_panel()), tmp_path / "out")
    assert verify(out).holds

    def spoil(table):
        word = table["pattern"][0]
        other = word[:place] + letter + word[place + 1 :]
        return table.with_columns(
            level=pl.lit(2, pl.Int64),
            pattern=pl.when(pl.col("pattern") == word).then(pl.lit(other)).otherwise("pattern"),
        )

    edit(out / "patterns.parquet", spoil)
    assert "different patterns have letters that their level does not have" in findings(out)


def test_ranges_of_coarse_events_begin_before_they_end(tmp_path):
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"time": np.repeat([0, 1], 30), "age": rng.integers(0, 90, 60), "x": list("abc") * 20})
    method = Reposition(l=2, window=2, publish="generalised", seed=1)
    out = release(method.anonymize(Events(table, sensitive="x", quasi=["age"])), tmp_path / "out")
    assert verify(out).holds
    turned = (pl.col("age_high").alias("age_low"), pl.col("age_low").alias("age_high"))
    edit(out / "data.parquet", lambda t: t.with_columns(*turned).sort(t.columns))
    assert "ranges of column 'age' end before they begin" in findings(out)


def test_thirds_are_in_ascending_order(tmp_path):
    panel = small_panel(values=np.random.default_rng(5).gamma(2.0, size=(14, 6)))
    candidate = Microaggregation(k=9, form="profiles", aggregate="quantiles").anonymize(panel)
    out = release(candidate, tmp_path / "out")
    assert verify(out).holds
    edit(out / "data.parquet", lambda t: t.with_columns(pl.col("q17").alias("q83"), pl.col("q83").alias("q17")))
    assert findings(out) == "at 6 instants of profiles the thirds are not in ascending order"


def test_thirds_of_equal_readings_are(tmp_path):
    panel = small_panel(values=np.full((14, 6), 0.1))
    release(Microaggregation(k=9, form="profiles", aggregate="quantiles").anonymize(panel), tmp_path / "out")
    assert verify(tmp_path / "out").holds


@pytest.fixture
def suppressed(tmp_path):
    table = pl.DataFrame({"time": [0] * 20, "age": list(range(20)), "x": ["a"] * 10 + ["b"] * 6 + ["c"] * 4})
    candidate = Reposition(l=3, window=1, seed=1).anonymize(Events(table, sensitive="x", quasi=["age"]))
    return release(candidate, tmp_path / "out", suppression_limit=1.0)


def test_a_release_that_says_what_it_suppressed_holds(suppressed):
    assert verify(suppressed).holds


@pytest.mark.parametrize(
    "changes",
    [
        {"counts__suppressed": 0},
        {"counts__suppressed": 1},
        {"counts__suppressed": -5},
        {"method__figures__suppressed": 0},
        {"method__figures__published": 20},
        {"method__figures__events": 1000},
        {"figures__suppression__share": 0.01},
        {"figures__suppression__order_open": "no"},
        {"figures": {}},
    ],
)
def test_counts_of_suppression_that_contradict_each_other_are_found(suppressed, changes):
    assert "release.json has counts that contradict each other" in findings(suppressed, **changes)


def test_what_is_said_of_pseudonyms_is_what_they_are(out):
    assert "does not say who can join its pseudonyms" in findings(out, pseudonyms_note=JOINABLE)
    assert findings(out, pseudonyms="keyed", pseudonyms_note=JOINABLE) == ""
    assert "does not say who can join its pseudonyms" in findings(out, pseudonyms_note="Nobody can.")
    assert "does not say who can join its pseudonyms" in findings(out, pseudonyms_note="")


def test_the_publishers_own_words_are_named(tmp_path, capsys):
    publish(Microaggregation(k=3).anonymize(small_panel()), tmp_path / "out")
    report = tmp_path / "out" / "report.html"
    report.write_text("<p>No attack succeeded.</p>")
    reseal(tmp_path / "out", method__summary="Approved by the ministry.")
    outcome = verify(tmp_path / "out")
    assert outcome.holds
    assert outcome.unchecked == ("method", "input", "versions", "figures", "report.html")
    assert run(["verify", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "unchecked    method, input, versions, figures, report.html: the publisher's own words"
    )
    private = NoisyAggregates(epsilon=1.0, lower=0.0, upper=9.0).anonymize(small_panel())
    called = {
        "title": "Use of 14 homes",
        "publisher": "Example Grid",
        "purpose": "research",
        "date": date(2026, 11, 16),
    }
    named = release(private, tmp_path / "named", **called)
    written = json.loads((named / "release.json").read_text())
    assert {name: written[name] for name in called} == {**called, "date": "2026-11-16"}
    assert verify(named).unchecked == (*called, "method", "input", "versions")
    assert not set(called) & set(json.loads((tmp_path / "out" / "release.json").read_text()))
    assert verify(release(private, tmp_path / "bare")).unchecked == ("method", "input", "versions")


@pytest.mark.parametrize("wrong", ["", "  ", "a\nb", "x" * 201, 7])
def test_what_a_release_is_called_is_a_line_of_text(wrong):
    for name in ("title", "publisher", "purpose"):
        with pytest.raises(ParameterError, match=f"{name} must be one line of text, at most 200 characters"):
            ReleaseOptions(**{name: wrong})
    with pytest.raises(ParameterError, match="date must be a day, such as 2026-11-16"):
        ReleaseOptions(date=datetime(2026, 11, 16))
