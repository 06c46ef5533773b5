"""One clock: what people read and write is in the time zone of the data, over both changes of the clock.

The oracle is zoneinfo of the standard library; Shoal itself uses the database of polars.
"""

import datetime as dt
import json
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from closed.places import closed, recipient
from shoal import Microaggregation, Panel, publish, read_panel, verify
from shoal.attacks.ground import align
from shoal.attacks.habits import find_slots
from shoal.attacks.totals import find_steps
from shoal.closed import Mean
from shoal.errors import InputError, ParameterError
from shoal.model import Events
from shoal.process.question import ask
from shoal.queries import RangeCount, WindowCount
from shoal.release.certification import time_part
from shoal.release.sequence import _when
from shoal.report import render
from shoal.report.axis import clock_times, common_axis
from shoal.studio.charts import axis_of

N_METERS = 6
CHANGES = [
    # The day of the change; local times that this clock skips, and those that it shows twice.
    pytest.param("Europe/Dublin", "2024-03-31", ["01:00", "01:30"], [], id="Dublin, spring"),
    pytest.param("Europe/Dublin", "2024-10-27", [], ["01:00", "01:30"], id="Dublin, autumn"),
    pytest.param("America/New_York", "2024-03-10", ["02:00", "02:30"], [], id="New York, spring"),
    pytest.param("America/New_York", "2024-11-03", [], ["01:00", "01:30"], id="New York, autumn"),
    pytest.param("Australia/Lord_Howe", "2024-10-06", ["02:00"], [], id="Lord Howe, spring"),
    pytest.param("Australia/Lord_Howe", "2024-04-07", [], ["01:30"], id="Lord Howe, autumn"),
]
over_both_changes = pytest.mark.parametrize(("zone", "day", "skipped", "twice"), CHANGES)


def instants_of(zone, day):
    """Every half hour from midnight of the day before to midnight after the change, as zoneinfo has them."""
    first = dt.datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)) - dt.timedelta(days=1)
    last = dt.datetime.fromisoformat(day).replace(tzinfo=ZoneInfo(zone)) + dt.timedelta(days=1)
    utc, end, found = first.astimezone(dt.UTC), last.astimezone(dt.UTC), []
    while utc < end:
        found.append(utc.astimezone(ZoneInfo(zone)))
        utc += dt.timedelta(minutes=30)
    return found


def panel_of(zone, day):
    """Meters that all show the number of the half hour, so that an answer tells which instant it is of."""
    moments = instants_of(zone, day)
    utc = np.array([m.astimezone(dt.UTC).replace(tzinfo=None) for m in moments], dtype="datetime64[us]")
    values = np.tile(np.arange(len(moments), dtype=float), (N_METERS, 1))
    return Panel(values, times=utc, timezone=zone), moments


@over_both_changes
def test_reading_places_what_the_clock_showed(zone, day, skipped, twice):
    panel, moments = panel_of(zone, day)
    with_offsets = pl.DataFrame(
        {"id": "a", "time": [m.isoformat() for m in moments], "value": np.arange(len(moments), dtype=float)}
    )
    read = read_panel(with_offsets, timezone=zone)
    assert read.times.tolist() == panel.times.tolist()
    assert read.timezone == zone
    wall = with_offsets.with_columns(time=pl.Series([m.replace(tzinfo=None).isoformat() for m in moments]))
    assert read_panel(wall, timezone=zone).times.tolist() == panel.times.tolist()
    if twice:
        with pytest.raises(InputError, match=f"{2 * len(twice)} rows fall into the hour that its clock shows twice"):
            read_panel(wall, timezone=zone, dst="fail")


@over_both_changes
def test_the_closed_service_answers_for_the_hour_that_was_asked_for(tmp_path, zone, day, skipped, twice):
    panel, moments = panel_of(zone, day)
    service = closed(tmp_path / "closed", Microaggregation(k=5).anonymize(panel), budget=1000, budget_in_all=1000)
    token = recipient(service)
    about = service.about()
    assert [about["first"], about["last"]] == [moments[0].isoformat(), moments[-1].isoformat()]
    for place, moment in enumerate(moments):
        exact = service.ask(token, Mean(start=moment.isoformat(), end=moment.isoformat()))
        assert exact.value == place
        wall = moment.replace(tzinfo=None).isoformat()
        answer = service.ask(token, Mean(start=wall, end=wall))
        if wall[:10] == day and wall[11:16] in twice:
            assert answer.reason == "not-understood"
        else:
            assert answer.value == place
    for time in skipped:
        assert service.ask(token, Mean(start=f"{day}T{time}", end=f"{day}T{time}")).reason == "not-understood"
    evening = service.ask(token, Mean(start=f"{day}T18:00", end=f"{day}T18:00"))
    assert moments[int(evening.value)].strftime("%H:%M") == "18:00"


@over_both_changes
@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_everything_about_a_release_is_in_local_time(tmp_path, zone, day, skipped, twice, file_format):
    panel, moments = panel_of(zone, day)
    release = publish(Microaggregation(k=3).anonymize(panel), tmp_path / "out", format=file_format)
    assert verify(tmp_path / "out").holds
    assert release.published.times.tolist() == panel.times.tolist()
    time = json.loads((tmp_path / "out" / "release.json").read_text())["time"]
    assert [time["first"], time["last"]] == [moments[0].isoformat(), moments[-1].isoformat()]
    assert dict(time_part(release.published.times, zone)) == time
    if file_format == "csv":
        shown = pl.read_csv(tmp_path / "out" / "data.csv")["time"].to_list()
        assert shown == [m.isoformat() for m in moments] * N_METERS
    page = (tmp_path / "out" / "report.html").read_text()
    before = moments[0]
    assert f"From {before.day} {before:%B} {before.year}, 00:00 to {moments[-1].day}" in page
    assert f", 23:30, time zone {zone}." in page
    for place in (0, 2, 3, 36, 50, 51, 52, 60, len(moments) - 1):
        exact = ask(tmp_path / "out", ranges=[(moments[place].isoformat(), place, place)])
        assert exact.count == N_METERS
        wall = moments[place].replace(tzinfo=None).isoformat()
        if wall[:10] == day and wall[11:16] in twice:
            with pytest.raises(ParameterError, match="shows the time of a query twice"):
                ask(tmp_path / "out", ranges=[(wall, place, place)])
        else:
            assert ask(tmp_path / "out", ranges=[(wall, place, place)]).count == N_METERS
    for text in skipped:
        with pytest.raises(ParameterError, match="skips the time of a query"):
            ask(tmp_path / "out", ranges=[(f"{day}T{text}", 0.0, 1.0)])


@over_both_changes
def test_axes_of_report_and_label_page_are_local(zone, day, skipped, twice):
    panel, moments = panel_of(zone, day)
    wall = [m.strftime("%Y-%m-%dT%H:%M") for m in moments]
    assert clock_times(panel).tolist() == [(m.hour * 60 + m.minute) * 60_000_000 for m in moments]
    # Half a day, so that the axis is of times, not of the hours of a day.
    part = Panel(panel.values[:, 40:64], times=panel.times[40:64], timezone=zone)
    assert common_axis(part, part, 100).at == wall[40:64]
    assert [at[:16] for at in axis_of(panel.times, zone)["at"]] == wall


@over_both_changes
def test_days_an_adversary_knows_begin_at_local_midnight(zone, day, skipped, twice):
    panel, moments = panel_of(zone, day)
    times = align("KnownTotals", panel, panel).times
    midnights = [place for place, m in enumerate(moments) if (m.hour, m.minute) == (0, 0)]
    assert find_steps(times, "day").tolist() == midnights
    shown = {(m.hour * 60 + m.minute) * 60_000_000 for m in moments}
    assert set(find_slots(times, "day").tolist()) == shown


@over_both_changes
def test_windows_of_events_are_local(zone, day, skipped, twice):
    moments = instants_of(zone, day)
    utc = pl.Series([m.astimezone(dt.UTC).replace(tzinfo=None) for m in moments], dtype=pl.Datetime("us"))
    times = utc.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    events = Events(pl.DataFrame({"time": times, "result": ["x"] * len(moments)}), sensitive="result")
    evening = sum(m.date().isoformat() == day and m.hour >= 18 for m in moments)
    assert WindowCount(f"{day}T18:00", f"{day}T23:30", {}).count(events) == evening == 12
    for text in twice:
        with pytest.raises(ParameterError, match="shows the time of a query twice"):
            WindowCount(f"{day}T{text}", f"{day}T23:30", {}).count(events)
    for text in skipped:
        with pytest.raises(ParameterError, match="skips the time of a query"):
            WindowCount(f"{day}T{text}", f"{day}T23:30", {}).count(events)


def test_a_release_of_before_is_not_called_local():
    """Certificates that gave the ends in UTC and without an offset: the report says UTC."""
    time = {"first": "2024-07-01T00:00:00", "last": "2024-07-31T22:30:00", "step": "30min", "timezone": "Europe/Dublin"}
    page = render({"time": time, "counts": {"series": 3, "subjects": 3, "instants": 2}})
    assert "31 July 2024, 22:30, time zone UTC." in page
    local = time | {"first": "2024-07-01T00:00:00+01:00", "last": "2024-07-31T23:30:00+01:00"}
    page = render({"time": local, "counts": {"series": 3, "subjects": 3, "instants": 2}})
    assert "31 July 2024, 23:30, time zone Europe/Dublin." in page


def test_releases_of_a_sequence_are_ordered_by_the_moment_not_by_the_text():
    first, second = "2024-10-27T01:30:00+01:00", "2024-10-27T01:00:00+00:00"
    assert first > second
    assert _when(first) < _when(second)
    assert _when("2024-10-27T01:30:00+01:00") == _when("2024-10-27T00:30:00.000000")


def test_a_fixed_offset_is_a_zone_too(tmp_path):
    times = np.datetime64("2024-01-01T00:00") + np.arange(4) * np.timedelta64(1, "h")
    panel = Panel(np.tile(np.arange(4.0), (6, 1)), times=times, timezone="+05:30")
    assert RangeCount({"2024-01-01T06:30": (1.0, 1.0)}).count(panel) == 6.0
    assert axis_of(panel.times, "+05:30")["at"][0] == "2024-01-01T05:30:00"
    publish(Microaggregation(k=3).anonymize(panel), tmp_path / "out", format="csv")
    assert pl.read_csv(tmp_path / "out" / "data.csv")["time"][0] == "2024-01-01T05:30:00+05:30"
    assert verify(tmp_path / "out").holds
