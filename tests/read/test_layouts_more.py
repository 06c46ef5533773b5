"""A second set of layouts, written apart from the reader; each with its correct reading."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from read.correct_readings import assert_correct
from read.layouts.make_layouts import main
from read.layouts_more.make_layouts_more import MORE
from shoal import read_panel

# Layouts that are not understood yet. A layout that is read correctly must leave this list: xfail is strict.
OPEN = {
    "au_records_c_i_d.csv",
    "buildings_by_name_across.csv",
    "ca_demand_report_backslashes.csv",
    "clock_and_obis_columns.csv",
    "date_once_a_day.csv",
    "de_ab_datum_ab_zeit_2a_2b.csv",
    "de_liste_303_offset.csv",
    "fr_eco2mix_heures.csv",
    "heat_cost_allocators_by_month.csv",
    "house_of_channels",
    "load_document_positions_spring.xml",
    "meter_once_a_block.csv",
    "meter_readings_with_type.xml",
    "metered_data_sequences.xml",
    "months_in_dutch.csv",
    "page_called_workbook.xls",
    "pl_pobor_oddanie_24_00.csv",
    "points_listed_above_end_of_report.csv",
    "residential_files_date_hour",
    "response_data_period_of_an_hour.json",
    "station_history_flags_status.csv",
    "statistics_tsv_with_flags.tsv",
    "time_and_unix_of_appliances.csv",
    "unix_ts_of_circuits.csv",
    "us_building_model_out_columns.csv",
    "us_dataid_localminute_short_offset.csv",
    "us_datetime_beginning_utc_and_ept.csv",
    "us_hr_end_02x_in_rows.csv",
    "year_month_day_hour_in_objects.json",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    main(folder, MORE)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return folder, manifest, pq.read_table(folder / "expected.parquet")


@pytest.mark.parametrize(
    "name",
    [pytest.param(layout.file, marks=pytest.mark.xfail if layout.file in OPEN else ()) for layout in MORE],
)
def test_layout_is_read_correctly(name, written):
    folder, manifest, expected = written
    entry = manifest[name]
    panel = read_panel(folder / "files" / name, missing="keep", timezone=entry["timezone"])
    rows = expected.filter(pc.equal(expected["file"], name)).to_pylist()
    assert_correct(panel, rows, basis=entry["basis"], zone=entry["zone"], names=entry["names"])
