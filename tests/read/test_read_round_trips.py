"""One table, every way in: the same panel comes out."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from read.support import IDS, TIMES, VALUES, assert_small_panel
from shoal.model import Role
from shoal.read import read_panel


def test_long_csv(long, tmp_path):
    long.write_csv(tmp_path / "x.csv")
    panel = read_panel(tmp_path / "x.csv")
    assert_small_panel(panel)
    assert panel.roles.columns(Role.IDENTIFIER) == ("id",)
    assert panel.roles.columns(Role.TIME) == ("time",)
    assert panel.roles.columns(Role.VALUE) == ("value",)


def test_long_tsv_and_other_separators(long, tmp_path):
    long.write_csv(tmp_path / "x.tsv", separator="\t")
    long.write_csv(tmp_path / "x.csv", separator=";")
    assert_small_panel(read_panel(str(tmp_path / "x.tsv")))
    assert_small_panel(read_panel(str(tmp_path / "x.csv")))


def test_packed_csv_with_byte_order_mark_and_windows_lines(long, tmp_path):
    text = "\ufeff" + long.write_csv().replace("\n", "\r\n")
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert_small_panel(read_panel(tmp_path / "x.csv.gz"))


def test_quoted_names_and_line_breaks_inside_quotes(tmp_path):
    (tmp_path / "x.csv").write_text('"id","the\nclock","value, kWh"\n"a\nb",0,"1.5"\n"a\nb",1,"2.5"\n')
    panel = read_panel(tmp_path / "x.csv", time="the\nclock", value="value, kWh")
    assert panel.ids.tolist() == ["a\nb"]
    assert panel.values.tolist() == [[1.5, 2.5]]


def test_long_parquet(long, tmp_path):
    for name in ("x.parquet", "x.pq"):
        long.write_parquet(tmp_path / name)
        assert_small_panel(read_panel(tmp_path / name))


def test_folder_and_pattern_read_all_files(long, tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    long[:5].write_parquet(tmp_path / "deep" / "1.parquet")
    long[5:].select("value", "time", "id").write_parquet(tmp_path / "deep" / "er" / "2.parquet")
    (tmp_path / "deep" / "_SUCCESS").touch()
    (tmp_path / "deep" / ".3.parquet.crc").touch()
    panel = read_panel(tmp_path / "deep")
    assert_small_panel(panel)
    assert len(panel.origin.sha256) == 2
    assert_small_panel(read_panel(f"{tmp_path}/**/*.parquet"))


def test_pattern_relative_to_the_working_directory(long, tmp_path, monkeypatch):
    long.write_csv(tmp_path / "x1.csv")
    monkeypatch.chdir(tmp_path)
    assert_small_panel(read_panel("x?.csv"))


def test_files_with_different_types_of_one_column(long, tmp_path):
    long[:5].write_parquet(tmp_path / "1.parquet")
    long[5:].with_columns(pl.col("value").cast(pl.String), pl.col("time").dt.cast_time_unit("ns")).write_parquet(
        tmp_path / "2.parquet"
    )
    assert_small_panel(read_panel(tmp_path))


def test_frames(long):
    table = long.to_arrow()
    assert_small_panel(read_panel(long))
    assert_small_panel(read_panel(long.lazy()))
    assert_small_panel(read_panel(long.with_columns(pl.col("id").cast(pl.Categorical))))
    assert_small_panel(read_panel(table))
    assert_small_panel(read_panel(table.combine_chunks().to_batches()[0]))
    assert_small_panel(read_panel(table.to_reader()))


def test_pandas(long):
    frame = pd.DataFrame(long.to_dict(as_series=False))
    assert_small_panel(read_panel(frame))
    assert_small_panel(read_panel(frame.astype({"id": "category", "value": "object"})))
    assert_small_panel(read_panel(frame.set_index(["id", "time"])))
    assert_small_panel(read_panel(frame[frame.value > -10]))
    assert read_panel(frame).origin.kind == "frame"


def test_pandas_period_index(wide_instants):
    frame = pd.DataFrame(
        dict(zip(IDS, VALUES, strict=True)), index=pd.period_range("2024-03-01", periods=4, freq="30min")
    )
    assert_small_panel(read_panel(frame, layout="wide"))


def test_wide_row_per_series(wide_series, tmp_path):
    wide_series.write_csv(tmp_path / "x.csv")
    assert_small_panel(read_panel(tmp_path / "x.csv"))
    assert_small_panel(read_panel(wide_series[::-1]))
    shuffled = wide_series.select("id", *reversed(wide_series.columns[1:]))
    assert_small_panel(read_panel(shuffled, layout="wide"))
    frame = pd.DataFrame(VALUES, index=pd.Index(IDS, name="id"), columns=pd.DatetimeIndex(TIMES))
    assert_small_panel(read_panel(frame))


def test_wide_row_per_series_without_timestamps_has_positions():
    panel = read_panel(pl.DataFrame({"id": ["b", "a"], "x": [1, 2], "y": [3, 4]}), layout="wide")
    assert panel.values.tolist() == [[2, 4], [1, 3]]
    assert panel.times.tolist() == [0, 1]


def test_a_subject_column_is_found_by_its_name():
    table = pl.DataFrame({"id": ["a", "b", "c"], "Subject": ["s", "s", "t"], "0": [1.0, 2.0, 3.0]})
    panel = read_panel(table)
    assert panel.n_subjects == 2
    assert panel.n_instants == 1
    long = pl.DataFrame({"id": [1, 2], "subject": ["s", "s"], "time": [0, 0], "value": [1.0, 2.0]})
    assert read_panel(long).n_subjects == 1
    by_instant = pl.DataFrame({"time": [0, 1], "subject": [1.0, 2.0], "b": [3.0, 4.0]})
    assert read_panel(by_instant, layout="wide").ids.tolist() == ["b", "subject"]


def test_wide_row_per_instant(wide_instants, tmp_path):
    wide_instants.write_parquet(tmp_path / "x.parquet")
    assert_small_panel(read_panel(tmp_path / "x.parquet", layout="wide"))
    assert_small_panel(read_panel(wide_instants.select("time", "c-03", "a-01", "b-02").reverse(), layout="wide"))
    frame = pd.DataFrame(dict(zip(IDS, VALUES, strict=True)), index=pd.DatetimeIndex(TIMES))
    assert_small_panel(read_panel(frame, layout="wide"))


def test_wide_columns_can_be_chosen(wide_series, wide_instants):
    assert read_panel(wide_series, value=wide_series.columns[1:3]).n_instants == 2
    assert read_panel(wide_instants, value=["a-01", "c-03"], layout="wide").ids.tolist() == ["a-01", "c-03"]
    both = wide_instants.with_columns(id=pl.lit("x"))
    assert read_panel(both, time="time", value=IDS, layout="wide").n_series == 3


def test_arrays():
    panel = read_panel(VALUES)
    assert panel.values.tolist() == VALUES.tolist()
    assert panel.times.tolist() == [0, 1, 2, 3]
    assert panel.origin.kind == "array"
    assert read_panel(np.dstack([VALUES, VALUES])).n_channels == 2
    assert read_panel(np.array([[True, False]])).values.tolist() == [[1.0, 0.0]]


def test_masked_entries_are_missing():
    panel = read_panel(np.ma.masked_array([[1, 2, 3]], mask=[[False, True, False]]), missing="keep")
    np.testing.assert_array_equal(panel.values, [[1.0, np.nan, 3.0]])


def test_sql_over_files(long, tmp_path):
    long.write_parquet(tmp_path / "x.parquet")
    panel = read_panel(sql=f"select id, time, value from '{tmp_path}/x.parquet'")
    assert_small_panel(panel)
    assert panel.origin.kind == "sql"
    assert panel.origin.sha256 == ()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "polars", "pandas", "lazy", "arrow"])
def test_sql_over_a_source_calls_it_input(long, tmp_path, suffix):
    source = {"polars": long, "pandas": pd.DataFrame(long.to_dict(as_series=False)), "lazy": long.lazy()}.get(suffix)
    if suffix == "arrow":
        source = long.to_arrow()
    elif source is None:
        source = tmp_path / f"it's.{suffix}"
        getattr(long, f"write_{suffix}")(source)
    # The source twice, since a stream could be used up by the first.
    panel = read_panel(
        source, sql="select i.id, i.time, i.value from input i join (select distinct id from input) using (id)"
    )
    assert_small_panel(panel)
    assert len(panel.origin.sha256) == (suffix in ("csv", "parquet"))


def test_names_are_found_in_any_case_and_by_synonym(long):
    assert_small_panel(read_panel(long.rename({"id": "Series_ID", "time": "TIMESTAMP", "value": "Value"})))
    assert_small_panel(read_panel(long.rename({"id": "m", "time": "t", "value": "v"}), id="m", time="t", value="v"))


def test_identifiers_keep_their_text(tmp_path):
    (tmp_path / "x.csv").write_text("id,time,value\n007,0,1\nNA, 1,\n007,1,2\nNA,0,nan\n")
    panel = read_panel(tmp_path / "x.csv", missing="keep")
    assert panel.ids.tolist() == ["007", "NA"]
    assert np.isnan(panel.values[1]).all()


def test_integer_identifiers_become_text_in_the_order_of_numbers():
    for type_ in (pl.Int8, pl.Int64, pl.Float64):
        table = pl.DataFrame({"id": [10, 9, 10, 9], "time": [0, 0, 1, 1], "value": [1, 2, 3, 4]})
        panel = read_panel(table.with_columns(pl.col("id").cast(type_)))
        assert panel.ids.tolist() == ["9", "10"]
        assert panel.values.tolist() == [[2, 4], [1, 3]]


def test_several_values_are_channels(long):
    panel = read_panel(long.with_columns(twice=2 * pl.col("value")), value=["value", "twice"])
    assert panel.channels == ("value", "twice")
    assert panel.values[:, :, 0].tolist() == VALUES.tolist()
    assert panel.values[:, :, 1].tolist() == (2 * VALUES).tolist()


@pytest.mark.parametrize("type_", [pl.Boolean, pl.UInt8, pl.Int64, pl.Float32, pl.Decimal(10, 2), pl.String])
def test_values_of_any_number_type(type_):
    table = pl.DataFrame({"id": ["a", "a"], "time": [0, 1], "value": [0, 1]})
    column = pl.Series(["0", "1"]) if type_ == pl.String else table["value"].cast(type_)
    assert read_panel(table.with_columns(value=column)).values.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("word", ["", "NA", "na", "NaN", "nan", "NULL", "null", " "])
def test_words_for_missing(tmp_path, word):
    (tmp_path / "x.csv").write_text(f"id,time,value\na,0,1\na,1,{word}\na,2,3\n")
    panel = read_panel(tmp_path / "x.csv", missing="keep")
    np.testing.assert_array_equal(panel.values, [[1.0, np.nan, 3.0]])


def test_other_missing_bits_become_the_one_pattern(tmp_path):
    odd = np.array([0x7FF8000000000123], dtype=np.uint64).view(np.float64)[0]
    table = pa.table({"id": ["a", "a"], "time": [0, 1], "value": pa.array([odd, 1.0])})
    panel = read_panel(table, missing="keep")
    assert panel.values.view(np.uint64)[0, 0] == np.array(np.nan).view(np.uint64)


def test_origin_has_the_digest_of_each_file(long, tmp_path):
    import hashlib

    long[:6].write_parquet(tmp_path / "b.parquet")
    long[6:].write_parquet(tmp_path / "a.parquet")
    origin = read_panel(tmp_path).origin
    digests = [hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() for name in ("a.parquet", "b.parquet")]
    assert origin.kind == "file"
    assert list(origin.sha256) == digests
    assert origin.n_rows == 12


def test_the_source_is_left_untouched(long):
    before = long.clone()
    array = VALUES.copy()
    array[0, 1] = np.nan
    kept = array.copy()
    read_panel(long)
    read_panel(array, missing="interpolate:3")
    assert long.equals(before)
    np.testing.assert_array_equal(array, kept)
