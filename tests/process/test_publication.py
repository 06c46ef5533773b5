import json

import numpy as np
import pytest

from shoal import AggregateRule, Microaggregation, Panel, load_release, publish, verify
from shoal.errors import GuaranteeNotMetError
from shoal.process import anonymize_source


def day_panel(rng, n=60, **changes):
    times = np.datetime64("2024-01-01T00:00") + np.arange(48) * np.timedelta64(1, "h")
    return Panel(rng.gamma(2.0, size=(n, 48)), times=times, **changes)


def test_publish_writes_a_release_with_report_and_figures(tmp_path, rng):
    release = publish(Microaggregation(k=5).anonymize(day_panel(rng)), tmp_path / "out")
    assert sorted(p.name for p in release.path.iterdir()) == [
        "data.parquet",
        "datapackage.json",
        "release.json",
        "report.html",
    ]
    assert (
        release.certificate["method"]["summary"]
        == "Replace every series by the mean, or another aggregate, of at least k similar ones."
    )
    assert 0.0 < release.certificate["utility"]["information-loss"]["value"] < 1.0
    assert release.certificate["figures"]["crowd"] == 5
    assert load_release(tmp_path / "out").certificate == json.loads((tmp_path / "out" / "release.json").read_text())
    assert verify(tmp_path / "out").holds


def test_findings_that_the_publisher_accepted_are_in_the_report(tmp_path, rng):
    panel = day_panel(rng)
    late = Panel(panel.values, times=panel.times + np.timedelta64(433, "s"))
    release = publish(Microaggregation(k=5).anonymize(late), tmp_path / "out", accept=["timestamp-phase"])
    assert release.certificate["accepted"] == ["timestamp-phase"]
    assert "accepted these findings: timestamp-phase." in (tmp_path / "out" / "report.html").read_text()
    assert verify(tmp_path / "out").holds


def test_publish_refuses_what_does_not_check(tmp_path, rng):
    candidate = Microaggregation(k=5).anonymize(day_panel(rng))
    with pytest.raises(GuaranteeNotMetError, match="Nothing was written"):
        publish(candidate, tmp_path / "out", require=[AggregateRule()])
    assert list(tmp_path.iterdir()) == []


def test_no_raw_reading_is_anywhere_in_a_release(tmp_path, rng):
    values = np.round(rng.random((60, 48)) * 1e6 + 1e6, 3)  # ten digits each: unmistakable
    panel = day_panel(rng, ids=[f"secret-{i}" for i in range(60)])
    panel = Panel(values, ids=panel.ids, times=panel.times)
    publish(Microaggregation(k=5).anonymize(panel), tmp_path / "out", format="csv")
    for path in (tmp_path / "out").iterdir():
        content = path.read_text()
        assert "secret-" not in content
        assert not [v for v in values.ravel() if str(v) in content]


def test_withheld_cells_are_left_out_of_the_figures():
    candidate = Microaggregation(k=3).anonymize(Panel([[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]))
    assert np.isnan(candidate.originals.values[:, 1]).all()
    assert not candidate.shows_everybody
    whole = Microaggregation(k=3).anonymize(Panel([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert whole.originals is whole.private.original
    assert whole.shows_everybody


def test_an_occupied_folder_is_told_before_any_work(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(Exception, match="exists and is not a folder"):
        anonymize_source("nowhere.csv", None, tmp_path / "out", {})
