"""Real tables beside the repository."""

import numpy as np

from read.support import refused
from shoal.read import read_events, read_panel


def test_hourly_meters(shared_data):
    panel = read_panel(shared_data / "energyhack_sk_meters" / "energyhack_hourly_4weeks.parquet")
    assert panel.values.shape == (990, 672)
    assert panel.n_missing == 0
    assert len(panel.origin.sha256) == 1


def test_the_real_day_of_23_hours(shared_data):
    path = shared_data / "energyhack_sk_meters" / "energyhack_15min_dst_fortnight.parquet"
    with refused(
        "1 of 1339 steps differ from the usual one. One step is longer by an hour, as when summer time begins"
    ):
        read_panel(path)
    panel = read_panel(path, timezone="Europe/Bratislava")
    assert panel.values.shape == (123, 14 * 96 - 4)
    utc = read_panel(path, time="timestamp_utc")
    np.testing.assert_array_equal(panel.times, utc.times)
    np.testing.assert_array_equal(panel.values, utc.values)
    days = read_panel(path, timezone="Europe/Bratislava", align="resample:1d:sum")
    assert days.n_instants == 14
    np.testing.assert_allclose(days.values.sum(), panel.values.sum())


def test_static_attributes_by_join(shared_data):
    folder = shared_data / "energyhack_sk_meters"
    sql = f"""
        select i.*, m.tariff, m.zip from input i join '{folder}/energyhack_meters.parquet' m using (series_id)
    """
    panel = read_panel(folder / "energyhack_hourly_4weeks.parquet", sql=sql, quasi=["tariff", "zip"])
    assert panel.values.shape == (990, 672)
    assert len(set(panel.attributes["tariff"].tolist())) <= 6


def test_households_with_gaps(shared_data):
    path = shared_data / "sgsc_households" / "sgsc_halfhourly_8weeks_2013.parquet"
    with refused("^3 of 91 series have gaps: 157 of 244,608 cells are missing"):
        read_panel(path)
    assert read_panel(path, missing="interpolate:2h,drop-series").values.shape == (88, 2688)
    assert read_panel(path, missing="drop-instants").values.shape == (91, 2688 - 157)


def test_ragged_households(shared_data):
    panel = read_panel(shared_data / "sgsc_households" / "sgsc_halfhourly.parquet", missing="keep")
    assert panel.n_series == 101
    assert panel.values.size - panel.n_missing == 2_710_454


def test_cases(shared_data):
    events = read_events(
        shared_data / "hk_covid_cases" / "hk_covid_cases.parquet",
        sensitive="classification",
        quasi=["age", "gender", "residency"],
    )
    assert events.n_events == 15_435
    assert events.frame["timestamp"].n_unique() == 687
