"""Figures for notebooks: they show where plotly shows, and become a picture."""

import shutil

import numpy as np
import pytest

import shoal
from shoal import Panel
from shoal.report.charts import group_curves


def test_groups_are_drawn_from_low_to_high_and_only_those_with_a_crowd():
    values = np.repeat([[1.0, 3.0], [9.0, 9.0], [4.0, 6.0], [7.0, np.nan]], [3, 1, 4, 3], axis=0)
    panel = Panel(values)
    assert group_curves(panel, panel, crowd=3) == [
        (3, [1.0, 3.0]),
        (4, [4.0, 6.0]),
        (3, [7.0, None]),
    ]
    assert group_curves(panel, panel, crowd=5) == []
    assert len(group_curves(panel, panel, crowd=3, most=2)) == 2


def test_a_crowd_is_counted_in_subjects_not_in_series():
    panel = Panel(np.ones((4, 2)), subjects=["a", "a", "a", "b"])
    assert group_curves(panel, panel, crowd=3) == []


def test_of_several_channels_the_one_asked_for_is_drawn():
    values = np.stack([np.ones((6, 2)), np.full((6, 2), 5.0)], axis=2)
    released = shoal.anonymize(values, k=3)
    assert released.plot(channel=1).data[-1].y == (5.0, 5.0)
    with pytest.raises(shoal.errors.ParameterError, match="channel: give a position from 0 to 1"):
        released.plot(channel=2)


def test_a_figure_shows_in_notebooks():
    released = shoal.anonymize(simulated(), k=5)
    shown = released.plot()._repr_mimebundle_() if hasattr(released.plot(), "_repr_mimebundle_") else {}
    assert "Mean day" in (released.plot()._repr_html_() or "") or shown


@pytest.mark.skipif(not any(map(shutil.which, ("chromium", "google-chrome"))), reason="kaleido needs a browser")
def test_a_figure_becomes_a_picture(tmp_path, monkeypatch):
    pytest.importorskip("kaleido")
    if browser := shutil.which("chromium"):
        monkeypatch.setenv("BROWSER_PATH", browser)
    shoal.anonymize(simulated(), k=5).plot().write_image(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def simulated():
    return shoal.simulate.meters(40, days=1, seed=1)
