"""What is refused, and that the message says it without a value or an identifier."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from read.support import SECRETS, refused
from shoal.errors import ParameterError
from shoal.read import read_panel

ID, VALUE, PASSWORD, ILLNESS = SECRETS


def long_table(n=4, **columns):
    return pl.DataFrame({"id": [ID] * n, "time": range(n), "value": [77123.25] * n} | columns)


# files


def test_missing_file():
    with refused(r"^No such file: nowhere\.csv$"):
        read_panel("nowhere.csv")


def test_a_query_given_as_source():
    with refused("^The source is not the name of a file. Give a query as sql="):
        read_panel(f"select '{ILLNESS}' from " + "x" * 5000)
    with refused("^The source is not the name of a file"):
        read_panel("select *\nfrom x")


def test_unknown_kind_of_file(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\x7fELF\x02\x01\x01\0\0\0" + ID.encode())
    with refused(r"^1 of 1 files at .*x\.csv are not text, Parquet or Excel"):
        read_panel(tmp_path / "x.csv")


def test_folder_without_tables_and_pattern_without_match(tmp_path):
    with refused(r"^No file with a name ending in \.csv, .* at "):
        read_panel(tmp_path)
    with refused(r"^No file with a name ending in \.csv, .* at "):
        read_panel(f"{tmp_path}/*.csv")


def test_folder_with_both_kinds(tmp_path):
    long_table().write_csv(tmp_path / "x.csv")
    long_table().write_parquet(tmp_path / "x.parquet")
    with refused("holds 1 CSV and 1 Parquet files. Keep one kind"):
        read_panel(tmp_path)


def test_pattern_that_is_none(tmp_path):
    with refused(r"cannot be read: \*\* must stand alone between slashes"):
        read_panel(f"{tmp_path}/**.csv")


def test_files_with_other_columns(tmp_path):
    long_table().write_csv(tmp_path / f"{ID}-1.csv")
    long_table(more=[1] * 4).write_csv(tmp_path / f"{ID}-2.csv")
    with refused(r"^File 2 of 2 in .* has other columns than the first \(4 against 3\)"):
        read_panel(tmp_path)


def test_damaged_parquet(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 nothing of the kind PAR1")
    with refused("x.parquet cannot be read as Parquet: it is damaged or of another kind"):
        read_panel(path)
    long_table(20_000, value=np.random.default_rng(1).normal(size=20_000)).write_parquet(path, compression="zstd")
    whole = bytearray(path.read_bytes())
    whole[1000:9000] = bytes(8000)
    path.write_bytes(whole)
    with refused("x.parquet cannot be read as Parquet"):
        read_panel(path)


def test_damaged_gzip(tmp_path):
    packed = gzip.compress(long_table(10_000).write_csv().encode())
    (tmp_path / "x.csv.gz").write_bytes(packed[: len(packed) // 2])
    with refused("x.csv.gz cannot be unpacked: it is damaged or of another kind"):
        read_panel(tmp_path / "x.csv.gz")


def test_rows_of_another_length(tmp_path):
    (tmp_path / "x.csv").write_text(f"id,time,value\n{ID},1,{VALUE}\n{ID},2\n")
    with refused("x.csv has rows with a different number of columns than its header"):
        read_panel(tmp_path / "x.csv")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_text_in_another_encoding_is_read(tmp_path, encoding):
    (tmp_path / "x.csv").write_bytes("id,time,value\nmüller,1,2\n".encode(encoding))
    assert read_panel(tmp_path / "x.csv").ids.tolist() == ["müller"]


def test_mixed_encodings(tmp_path):
    row = f"ä{ID},1,2\n"
    (tmp_path / "x.csv").write_bytes(b"id,time,value\n" + row.encode() + row.encode("latin-1"))
    with refused("x.csv mixes UTF-8 and Windows-1252 text. Save it as UTF-8"):
        read_panel(tmp_path / "x.csv")


def test_no_header(tmp_path):
    (tmp_path / "x.csv").write_text("")
    with refused("^.*x.csv is empty: there must be at least a line that names the columns"):
        read_panel(tmp_path / "x.csv")


@pytest.mark.parametrize("shape", ["csv", "parquet", "frame", "wide series", "wide instants", "sql"])
def test_no_rows(tmp_path, shape):
    table = long_table(0).cast({"id": pl.String, "time": pl.Int64, "value": pl.Float64})
    if shape in ("csv", "parquet"):
        getattr(table, f"write_{shape}")(tmp_path / f"x.{shape}")
    source = {
        "frame": table,
        "wide series": table.select("id", pl.col("value").alias("a")),
        "wide instants": table.select("time", pl.col("value").alias("a")),
        "sql": table.to_arrow(),
    }.get(shape, tmp_path / f"x.{shape}")
    with refused("^The table is empty: it has no rows"):
        read_panel(source, sql="select * from input" if shape == "sql" else None)


# other sources


def test_nothing_to_read():
    with refused("^Nothing to read: give a source, or sql=", ParameterError):
        read_panel()


def test_objects_that_are_no_table():
    with refused("^Cannot read an object of the type dict. Give a path, a numpy array, a frame"):
        read_panel({"id": [ID]})
    with refused("^The Arrow stream of the source is not a table"):
        read_panel(pl.Series([1.0, 77123.25]))


def test_addresses_are_not_echoed():
    with refused("^This kind of address cannot be read"):
        read_panel(f"mysql://me:{PASSWORD}@host/db", sql="select 1")
    with refused("^A database needs sql=", ParameterError):
        read_panel(f"postgresql://me:{PASSWORD}@host/db")


def test_lazy_queries_that_fail():
    with refused("^The polars query cannot be collected"):
        read_panel(pl.DataFrame({"id": [ID]}).lazy().select("nothing"))
    broken = long_table().lazy().with_columns(value=pl.col("id").cast(pl.Float64))
    with refused("^The polars query cannot be collected"):
        read_panel(broken)


def test_arrays():
    with refused(r"^An array needs 2 dimensions .* this one has the shape \(3,\)"):
        read_panel(np.zeros(3))
    with refused(r"shape \(0, 3\)"):
        read_panel(np.zeros((0, 3)))
    with refused("^1 of 4 values are infinite"):
        read_panel(np.array([[1, np.inf], [1, 2]]))
    with refused("^The array holds something other than numbers"):
        read_panel(np.array([[VALUE + "x"]]))
    with refused("^The array holds something other than numbers"):
        read_panel(np.array([[1 + 2j]]))
    for more in ({"id": "id"}, {"timezone": "UTC"}, {"sql": "select 1"}):
        with refused("^An array has no columns", ParameterError):
            read_panel(np.zeros((2, 2)), **more)


def test_pandas_oddities():
    frame = pd.DataFrame({("a", "b"): [1.0]})
    with refused("^The frame has 2 levels of column names"):
        read_panel(frame)
    with refused("^The index and a column of the frame are both called 'id'"):
        read_panel(pd.DataFrame({"id": [ID]}, index=pd.Index([1], name="id")))


# columns


@pytest.mark.parametrize("part", ["id", "time", "value", "subject", "quasi", "sensitive", "other"])
def test_named_column_that_is_not_there(part):
    with refused("^There is no column 'nope' among the 3 columns of the table"):
        read_panel(long_table(), **{part: "nope"})


def test_names_of_columns_are_not_listed():
    table = pl.DataFrame({ID: [1.0], "b": [2.0]})
    with refused("^None of the 2 columns of the table is an id or a time. For a long table, name id="):
        read_panel(table)
    with refused("^There is no column 'time' among the 2 columns"):
        read_panel(table, time="time")


@pytest.mark.parametrize(
    ("part", "words"), [("id", "id or series_id"), ("time", "time or timestamp"), ("value", "value")]
)
def test_long_layout_without_a_column(part, words):
    with refused(f"^None of the 2 columns of the table is called {words}. Name the {part} column with {part}="):
        read_panel(long_table().drop(part), layout="long")


def test_id_and_time_without_value():
    with refused("^The table has an id and a time but none of its 3 columns is called value"):
        read_panel(long_table().rename({"value": "kwh"}))


def test_repeated_names(tmp_path):
    (tmp_path / "x.csv").write_text("id,time,value,value\na,0,1,2\n")
    with refused("^2 columns of the table are called 'value'"):
        read_panel(tmp_path / "x.csv", value="value")
    with refused("^2 columns could be the value. Say which with value="):
        read_panel(tmp_path / "x.csv")
    with refused("^2 columns could be the id. Say which with id="):
        read_panel(long_table(ID=["b"] * 4))


def test_one_column_for_two_parts():
    with refused("^Column 'id' is named for two roles", ParameterError):
        read_panel(long_table(), id="id", subject="id")


@pytest.mark.parametrize(
    "given", [{"id": 3}, {"id": ["id"]}, {"value": [3]}, {"quasi": 3}, {"value": []}, {"time": ""}]
)
def test_names_that_are_none(given):
    with refused("^(id|time|value|quasi): (give the name|name at least)", ParameterError):
        read_panel(long_table(), **given)


def test_unknown_layout():
    with refused("^layout: give 'auto', 'long' or 'wide'", ParameterError):
        read_panel(long_table(), layout="tall")


def test_wide_tables_of_both_kinds_or_none():
    table = pl.DataFrame({"id": [ID], "time": [1], "a": [1.0]})
    with refused("^A wide table has an id column .* or a time column .*, not both"):
        read_panel(table, layout="wide")
    with refused("^The wide table has no columns with values"):
        read_panel(pl.DataFrame({"id": [ID]}))
    with refused("^subject, quasi, sensitive and other need a row per series", ParameterError):
        read_panel(pl.DataFrame({"time": [1], "a": [1.0], "b": [2.0]}), quasi="b")


# identifiers and values


def test_missing_identifiers_are_counted(tmp_path):
    (tmp_path / "x.csv").write_text(f'id,time,value\n{ID},0,1\n,1,2\n"",2,3\n')
    with refused("^2 of 3 rows have no identifier in column 'id'"):
        read_panel(tmp_path / "x.csv")
    with refused("^1 of 3 rows have no identifier"):
        read_panel(pl.DataFrame({"id": [1, None, 2], "time": [0, 0, 0], "value": [1, 2, 3]}))
    with refused("^1 of 2 rows have no identifier"):
        read_panel(pl.DataFrame({"id": ["a", None], "x": [1, 2]}))


def test_identifiers_of_other_types(tmp_path):
    with refused("^Column 'id' holds fractional numbers"):
        read_panel(long_table(1, id=[77123.25]))
    with refused("^Column 'id' holds fractional numbers"):
        read_panel(long_table(1, id=[float("inf")]))
    with refused("^Column 'id' holds neither text nor integers"):
        read_panel(long_table(1, id=[[1, 2]]))
    long_table(1).write_parquet(tmp_path / "1.parquet")
    long_table(1, id=[5]).write_parquet(tmp_path / "2.parquet")
    with refused("^Column 'id' holds numbers in one part of the source and text in another"):
        read_panel(tmp_path)


def test_text_among_values_is_counted_and_placed(tmp_path):
    rows = [f"{ID},{t},{ILLNESS if t in (16, 17, 30) else VALUE}" for t in range(40)]
    (tmp_path / "x.csv").write_text("\n".join(["id,time,value", *rows]))
    with refused("^Column 'value' holds text in 3 of 40 rows, the first in data row 17, counted from 1. Write numbers"):
        read_panel(tmp_path / "x.csv")


def test_text_among_values_of_frames():
    mixed = pd.DataFrame({"id": [ID] * 3, "time": [0, 1, 2], "value": [1.0, ILLNESS, None]})
    with refused("^Column 'value' holds text in 1 of 3 rows, the first in data row 2, "):
        read_panel(mixed)
    with refused("^Column 'value' holds text in 4 of 4 rows, the first in data row 1, "):
        read_panel(long_table(value=["1,5"] * 4))


def test_text_in_wide_tables_names_no_column():
    for first in ("id", "time"):
        table = pl.DataFrame({first: [1, 2], "x": [1.0, 2.0], ID: ["3.5", ILLNESS]})
        with refused("Column number 3, counted from 1, holds text in 1 of 2 rows, the first in data row 2, "):
            read_panel(table)


def test_infinite_values_beside_gaps_to_fill_are_refused_without_a_warning():
    rows = [("a", t, 1.0) for t in range(3)] + [("b", 0, np.inf), ("b", 2, -np.inf)]
    with refused("^Column 'value' holds 2 infinite values in 5 rows"):
        read_panel(pl.DataFrame(rows, schema=["id", "time", "value"], orient="row"), missing="interpolate:1")


def test_infinite_values():
    with refused("^Column 'value' holds 2 infinite values in 4 rows"):
        read_panel(long_table(value=[1.0, np.inf, -np.inf, 2.0]))
    with refused("^Column 'value' holds 1 infinite values in 4 rows"):
        read_panel(long_table(value=["1", "2", "inf", "3"]))


def test_values_of_other_types():
    with refused("^Column 'value' holds neither numbers nor text .its type is large_list."):
        read_panel(long_table(1, value=[[1.0]]))
    with refused("^Column 'value' holds neither numbers nor text .its type is struct."):
        read_panel(long_table(1, value=[{ILLNESS: 1}]))


def test_wide_repeats():
    with refused("1 of 3 rows repeat the id of another, with 1 other readings; a wide table has one row per series"):
        read_panel(pl.DataFrame({"id": [ID, ID, "b"], "x": [1, 2, 3]}))
    with refused(
        "^1 of 3 rows repeat the time of another, with 1 other readings; a wide table has one row per instant"
    ):
        read_panel(pl.DataFrame({"time": [1, 1, 2], ID: [1, 2, 3]}), layout="wide")
    table = pa.table([[1], [1.0], [2.0]], names=["time", ID, ID])
    with refused("^1 of 2 series columns repeat the name of another"):
        read_panel(table)
    table = pa.table([[1], [1.0], [2.0]], names=["id", "2024-01-01", "2024-01-01 00:00"])
    with refused("^1 of 2 columns repeat the time of another"):
        read_panel(table)


def test_wide_columns_that_are_partly_timestamps():
    table = pl.DataFrame({"id": [ID], "age": [77], "2024-01-01": [1.0], "2024-01-02": [2.0]})
    with refused("^1 of 3 columns have names that are not timestamps. Name them as quasi="):
        read_panel(table)
    assert read_panel(table, value=["2024-01-01", "2024-01-02"]).n_instants == 2
    with refused("^timezone: the names of the columns are not timestamps", ParameterError):
        read_panel(pl.DataFrame({"id": [ID], "a": [1.0]}), layout="wide", timezone="UTC")


def test_a_table_of_attributes_does_not_pass_for_a_panel():
    table = pl.DataFrame({"id": [ID], "age": [77], "income": [1.0]})
    with refused("^The names of 2 of 2 columns next to the id are neither timestamps nor numbers"):
        read_panel(table)
    assert read_panel(table, layout="wide").n_instants == 2
    assert read_panel(table, value=["income"]).n_instants == 1
    assert read_panel(table.rename({"age": "0", "income": "1"})).n_instants == 2


def test_wide_instants_must_be_even():
    with refused("^The instants are not evenly spaced: 1 of 2 steps"):
        read_panel(pl.DataFrame({"id": ["a"], "2024-01-01": [1], "2024-01-02": [1], "2024-01-05": [1]}))


# static columns


def test_static_columns_that_change():
    table = long_table(6, id=["a", "a", "b", "b", "c", "c"], time=[0, 1] * 3).with_columns(
        ill=pl.Series([ILLNESS, "x", "x", "x", ILLNESS, "y"])
    )
    for part in ("quasi", "sensitive", "other", "subject"):
        with refused("^Column 'ill' changes within 2 of 3 series; a static column must have one value per series"):
            read_panel(table, **{part: "ill"})


def test_nested_static_columns():
    for nested in ([[1]], [{ILLNESS: 1}]):
        with refused("^Column 'more' holds nested entries"):
            read_panel(long_table(1, more=nested), quasi="more")


def test_series_without_subject():
    table = long_table(3, id=["a", "b", "c"], time=[0] * 3).with_columns(home=pl.Series([ID, None, None]))
    with refused("^2 of 3 series have no subject in column 'home'"):
        read_panel(table, subject="home")


# a source that does not stand still


@pytest.mark.parametrize("layout", ["long", "wide", "times", "rows"])
def test_a_source_that_changes_between_readings(layout):
    query = {
        "long": "select 'a' || floor(1e9 * random())::bigint as id, 0 as time, 1.0 as value",
        "wide": "select 'a' || floor(1e9 * random())::bigint as id, 1.0 as x",
        "times": "select 'a' as id, floor(1e9 * random())::bigint as time, 1.0 as value",
        "rows": "select floor(1e9 * random())::bigint as time, 1.0 as x",
    }[layout]
    with refused("^The source returned different rows on the second pass"):
        read_panel(sql=query)


def test_a_long_table_whose_id_has_another_name_does_not_pass_for_a_wide_one():
    table = pl.DataFrame({"meter": [1000, 1001], "time": [0, 1], "value": [1.0, 2.0], "temp": [3.0, 4.0]})
    with refused("^The table has a time and a value but no column called id or series_id. Name the id column with id="):
        read_panel(table)
    assert read_panel(table, layout="wide").n_series == 3
    assert read_panel(table, id="meter", missing="keep").n_series == 2


def test_integer_times_beyond_the_range_are_refused():
    table = pl.DataFrame({"id": ["a", "a"], "time": pl.Series([1, 2**63], dtype=pl.UInt64), "value": [1.0, 2.0]})
    with refused("holds no readable time in 1 of 2 rows"):
        read_panel(table)


def test_an_engine_given_as_a_word_is_refused_with_the_way_out():
    with pytest.raises(
        ParameterError, match=r"engine is an engine, such as shoal.engines.Local\(\), not the word 'local'"
    ):
        read_panel(pl.DataFrame({"id": ["a"], "time": [0], "value": [1.0]}), engine="local")
