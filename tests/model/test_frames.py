"""A frame goes in, the same shape comes out: for every library, whatever its index, types and zone."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal import Panel, read_panel
from shoal.errors import ParameterError

ZONES = st.sampled_from([None, "UTC", "Europe/Bratislava", "Asia/Kathmandu"])
UNITS = st.sampled_from(["s", "ms", "us", "ns"])
SIZES = st.tuples(st.integers(4, 7), st.integers(2, 6))
FRAMES = settings(max_examples=60)
K = 2


def readings(n_series, n_instants, whole=False):
    """Readings of one scale, a gap in none of them, exact in 32 bits."""
    cells = np.arange(n_series * n_instants).reshape(n_series, n_instants)
    return 2.0 + (cells * 7 % 11) * (1.0 if whole else 0.25)


def clock(n, zone, unit):
    """Hours across the change to summer time."""
    return pd.date_range("2024-03-31T00:00", periods=n, freq="h", tz=zone, unit=unit)


@st.composite
def pandas_frames(draw):
    (n, m), layout = draw(SIZES), draw(st.sampled_from(["columns", "rows", "multi", "multi swapped", "series", "long"]))
    kind = draw(st.sampled_from(["float64", "float32", "Float64", "Float32", "double[pyarrow]", "int64", "Int64"]))
    times = clock(m, draw(ZONES), draw(UNITS)).rename(draw(st.sampled_from([None, "time", "when"])))
    named = draw(st.sampled_from(["str", "object", "int64", "category"]))
    ids = pd.Index(range(10, 10 + n) if named == "int64" else [f"meter_{i}" for i in range(n)])
    ids = ids.astype(named).rename(draw(st.sampled_from([None, "id", "meter"])))
    values = readings(n, m, kind.startswith(("i", "I")))
    if layout == "columns":
        return pd.DataFrame(values.T, index=times, columns=ids).astype(kind)
    if layout == "rows":
        return pd.DataFrame(values, index=ids, columns=times).astype(kind)
    if layout == "long":
        id_, time = ids.repeat(m), times[np.tile(np.arange(m), n)]
        name = draw(st.sampled_from(["value", "kwh"]))
        return pd.DataFrame({name: pd.Series(values.ravel()).astype(kind), "time": time, "id": id_})
    levels = [ids.repeat(m), times[np.tile(np.arange(m), n)]]
    index = pd.MultiIndex.from_arrays(levels if layout != "multi swapped" else levels[::-1])
    series = pd.Series(values.ravel(), index=index, name=draw(st.sampled_from(["value", "kwh", None]))).astype(kind)
    return series if layout == "series" else series.rename("kwh").to_frame()


FLOATING = {"int64": "float64", "Int64": "Float64"}
"""Types of whole numbers, and what means of them have where some are not whole."""


def same_kinds(ours, theirs):
    """Whether readings have the types that came, or else those of means that are not whole."""
    pairs = zip(map(str, ours), map(str, theirs), strict=True)
    return all(one == other or one == FLOATING.get(other) for one, other in pairs)


@given(frame=pandas_frames())
@FRAMES
def test_a_pandas_frame_comes_back_as_it_was(frame):
    equal = pd.testing.assert_series_equal if isinstance(frame, pd.Series) else pd.testing.assert_frame_equal
    equal(read_panel(frame, layout="auto" if is_long(frame) else "wide").to_pandas(), frame)


def is_long(frame):
    return isinstance(frame, pd.Series) or frame.index.nlevels == 2 or "id" in frame.columns


@given(came=pandas_frames())
@FRAMES
def test_a_result_has_the_shape_of_the_pandas_frame_and_fresh_names(came):
    result = shoal.anonymize(came, k=K, layout="auto" if is_long(came) else "wide").to_pandas()
    assert type(result) is type(came)
    assert result.shape == came.shape
    assert result.index.names == came.index.names
    if isinstance(came, pd.Series):
        assert result.name == came.name
        assert same_kinds([result.dtype], [came.dtype])
    else:
        assert result.columns.name == came.columns.name
        assert same_kinds(result.dtypes, came.dtypes) or "id" in came.columns
    for axis in range(came.ndim):
        mine, its = result.axes[axis], came.axes[axis]
        for level in range(its.nlevels):
            ours, theirs = mine.get_level_values(level), its.get_level_values(level)
            assert ours.dtype == theirs.dtype or str(theirs.dtype) == "category"
            assert type(ours) is type(theirs) or isinstance(theirs, pd.RangeIndex)
            if isinstance(theirs, pd.DatetimeIndex):
                assert set(ours) == set(theirs)
                assert getattr(ours, "freq", None) == getattr(theirs, "freq", None)
    assert not any("meter_" in str(name) for axis in result.axes for name in axis)


@st.composite
def tables(draw, library):
    (n, m), layout = draw(SIZES), draw(st.sampled_from(["long", "rows", "columns"]))
    zone, unit = draw(ZONES), draw(st.sampled_from(["ms", "us", "ns"]))
    times = pa.array(clock(m, zone, unit).as_unit(unit))
    names = [f"meter_{i}" for i in range(n)]
    whole = draw(st.booleans())
    ids = pa.array(range(n), pa.int32()) if whole else pa.array(names, pa.large_string())
    if library == "arrow" and not whole and draw(st.booleans()):
        ids = pa.array(names, pa.string()).dictionary_encode()
    kind = draw(st.sampled_from([pa.float32(), pa.float64()]))
    values = readings(n, m)
    if layout == "long":
        columns = {
            "time": times.take(pa.array(np.tile(np.arange(m), n))),
            "kwh": pa.array(values.ravel(), kind),
            "id": ids.take(pa.array(np.repeat(np.arange(n), m))),
        }
    elif layout == "rows":
        texts = [f"2024-03-31 {hour:02d}:30" for hour in range(m)]
        columns = {"id": ids} | {text: pa.array(values[:, t], kind) for t, text in enumerate(texts)}
    else:
        columns = {"time": times} | {name: pa.array(row, kind) for name, row in zip(names, values, strict=True)}
    return pa.table(columns)


@given(table=tables("arrow"))
@FRAMES
def test_an_arrow_table_comes_back_as_it_was(table):
    back = read_panel(table).to_arrow()
    assert back.schema.remove_metadata() == table.schema.remove_metadata()
    assert back.equals(table)
    result = shoal.anonymize(table, k=K).to_arrow()
    assert result.num_rows == table.num_rows
    if "id" in table.column_names:
        assert result.schema == back.schema
    else:
        assert result.schema.types == back.schema.types
        assert not set(result.column_names[1:]) & set(table.column_names)
    assert "meter_" not in str(result)


@given(table=tables("polars"))
@FRAMES
def test_a_polars_frame_comes_back_as_it_was(table):
    frame = pl.from_arrow(table)
    back = read_panel(frame).to_polars()
    assert back.schema == frame.schema
    assert back.equals(frame)
    result = shoal.anonymize(frame.lazy(), k=K).to_polars()
    assert result.shape == frame.shape
    assert list(result.schema.values()) == list(frame.schema.values())
    assert result.columns[0] == frame.columns[0]
    assert "meter_" not in str(result)


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b", "c", "d"])])
def test_names_that_are_categories_stay_categories(kind):
    frame = pl.DataFrame({"id": list("aabbccdd"), "time": [0, 1] * 4, "value": np.arange(8.0)})
    frame = frame.with_columns(pl.col("id").cast(kind))
    assert read_panel(frame).to_polars().schema == frame.schema
    assert type(shoal.anonymize(frame, k=2).to_polars().schema["id"]) is type(frame.schema["id"])


@given(size=SIZES, kind=st.sampled_from([np.float64, np.float32, np.int32]), channels=st.sampled_from([0, 1, 2]))
def test_an_array_comes_back_as_it_was(size, kind, channels):
    array = readings(*size, whole=True).astype(kind)
    array[0] += 1  # so that not all means are whole
    array = array if not channels else np.stack([array] * channels, axis=2)
    back = read_panel(array).to_numpy()
    assert back.dtype == kind
    np.testing.assert_array_equal(back, array)
    result = shoal.anonymize(array, k=K).to_numpy()
    whole = bool((result == np.rint(result)).all())
    assert (result.dtype, result.shape) == (kind if whole or kind is not np.int32 else np.float64, array.shape)


@given(
    size=SIZES, kind=st.sampled_from(["float64", "float32"]), turned=st.booleans(), unit=UNITS, channels=st.booleans()
)
def test_a_data_array_comes_back_as_it_was(size, kind, turned, unit, channels):
    n, m = size
    values, dims = readings(n, m).astype(kind), ["meter", "when"]
    coords = {"meter": [f"meter_{i}" for i in range(n)], "when": clock(m, None, unit).values}
    if channels:
        values, dims = np.stack([values, values + 1], axis=2), [*dims, "channel"]
        coords["channel"] = ["kwh", "volt"]
    array = xr.DataArray(values, dims=dims, coords=coords, name="kwh")
    array = array.transpose(*dims[::-1]) if turned else array
    xr.testing.assert_identical(read_panel(array).to_xarray(), array)
    result = shoal.anonymize(array, k=K).to_xarray()
    assert (result.dims, result.shape, result.dtype, result.name) == (array.dims, array.shape, array.dtype, "kwh")
    xr.testing.assert_equal(result.coords["when"], array.coords["when"])
    assert not set(result.coords["meter"].values) & set(array.coords["meter"].values)


KINDS = {"float32": "float32", "int64": "float64", "Int64": "Float64", "float64": "float64"}


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_every_value_column_has_its_own_type(library):
    cells = readings(6, 4, whole=True).ravel()
    frame = pd.DataFrame({"id": np.repeat([f"m{i}" for i in range(6)], 4), "time": list(clock(4, None, "us")) * 6})
    for kind in KINDS:
        frame[kind] = pd.array(cells.astype(int), dtype=kind)
    came = {"pandas": frame, "polars": pl.from_pandas(frame), "arrow": pa.Table.from_pandas(frame)}[library]
    released = getattr(shoal.anonymize(came, k=K, value=list(KINDS)), f"to_{library}")()
    if library == "pandas":
        assert released.dtypes[list(KINDS)].astype(str).to_dict() == KINDS
    else:
        released = pl.DataFrame(released)
        assert [released.schema[kind] for kind in KINDS] == [pl.Float32, *[pl.Float64] * 3]


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow", "numpy", "xarray"])
def test_whole_numbers_stay_whole_where_every_published_reading_is(library):
    """As with readings rounded to whole ones; a single one that is not makes all of them floating."""
    values = readings(6, 4, whole=True).astype("int32")
    ids, times = [f"m{i}" for i in range(6)], clock(4, None, "us")
    long = pd.DataFrame({"id": np.repeat(ids, 4), "time": list(times) * 6, "value": values.ravel()})
    came = {
        "pandas": long,
        "polars": pl.from_pandas(long),
        "arrow": pa.Table.from_pandas(long),
        "numpy": values,
        "xarray": xr.DataArray(values, dims=["id", "time"], coords={"id": ids, "time": times.values}),
    }[library]
    for round_to, kind in ((1.0, "int32"), (0.125, "float64" if library != "arrow" else "double")):
        method = shoal.Microaggregation(k=4, round_to=round_to)
        released = getattr(shoal.anonymize(came, method=method), f"to_{library}")()
        if library == "arrow":
            found = released.schema.field("value").type
        else:
            found = released["value"].dtype if library in ("pandas", "polars") else released.dtype
        assert str(found).lower() == kind


def test_numbers_beyond_a_type_are_not_pressed_into_it():
    panel = read_panel(np.array([[100, 127], [3, 4]], dtype="int8"))
    assert panel.to_numpy().dtype == "int8"
    assert Panel([[300.0, 1.0]], origin=panel.origin).to_numpy().dtype == "float64"


def test_columns_of_a_long_frame_are_found_and_come_back_under_their_names():
    times = clock(24, "Europe/Bratislava", "us")
    frame = pd.DataFrame(
        {
            "read_at": list(times) * 12,
            "meter": np.repeat([f"m{i}" for i in range(12)], 24),
            "kwh": readings(12, 24).ravel().astype("float32"),
        }
    )
    for came, back in ((frame, "to_pandas"), (pl.from_pandas(frame), "to_polars")):
        released = getattr(shoal.anonymize(came, k=3), back)()
        assert list(released.columns) == ["read_at", "meter", "kwh"]
        assert list(released.dtypes) == list(came.dtypes)


def test_types_of_wide_frames_are_those_of_their_readings_alone():
    wide = pd.DataFrame(readings(6, 96).astype("float32"), columns=clock(96, None, "us").astype(str))
    wide.insert(0, "id", [f"m{i}" for i in range(6)])
    assert set(shoal.anonymize(wide, k=K).to_pandas().dtypes[1:].astype(str)) == {"float32"}


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_envelopes_of_a_wide_frame_are_a_level_of_its_columns(layout, indexed):
    frame = pd.DataFrame(
        readings(12, 6).T.astype("float32"),
        index=clock(6, "UTC", "ms").rename("time"),
        columns=pd.Index([f"m{i}" for i in range(12)], name="id"),
    )
    frame = frame if layout == "columns" else frame.T
    came = frame if indexed else frame.reset_index()
    if not indexed and layout == "columns":
        came.columns.name = "id"
    result = shoal.anonymize(came, method=shoal.KP(k=3, p=2), suppression_limit=1.0)
    found, long = result.to_pandas(), result.to_polars()
    assert set(found.select_dtypes("float").dtypes.astype(str)) == {"float32"}
    if not indexed:
        found = found.set_index("time" if layout == "columns" else ["id", "level", "pattern"])
    low, high = (found.xs(end, axis=1, level=-1) for end in ("low", "high"))
    assert (low.to_numpy() <= high.to_numpy()).all()
    names = low.columns if layout == "columns" else low.index
    if indexed:
        assert list(names.names) == ["id", "level", "pattern"]
        assert found.index.equals(frame.index) if layout == "columns" else low.columns.equals(frame.columns)
    wide = low if layout == "rows" else low.T
    by_series = {(name, level, word): row.tolist() for (name, level, word), row in wide.iterrows()}
    expected = {
        (name, level, word): part["low"].to_list()
        for (name, level, word), part in long.group_by("id", "level", "pattern", maintain_order=True)
    }
    assert by_series == expected


def test_one_library_gives_the_frame_of_another():
    wide = pd.DataFrame(
        readings(5, 3).T, index=clock(3, "Europe/Bratislava", "us"), columns=[f"m{i}" for i in range(5)]
    )
    released = shoal.anonymize(wide, k=2)
    polars, arrow = released.to_polars(), released.to_arrow()
    assert polars.columns == arrow.column_names == ["time", *released.to_pandas().columns]
    assert polars.schema["time"] == pl.Datetime("us", "Europe/Bratislava")
    assert arrow.schema.field("time").type == pa.timestamp("us", "Europe/Bratislava")
    assert released.to_numpy().shape == (5, 3)
    assert released.to_xarray().attrs == {"timezone": "Europe/Bratislava"}


def test_a_panel_of_nobodys_frame_has_a_row_per_series_and_instant():
    panel = Panel([[1.0, 2.0], [3.0, np.nan]], ids=["a", "b"], attributes={"tariff": ["x", "y"]}, subjects=["p", "q"])
    frame = panel.to_polars()
    assert frame.columns == ["id", "time", "value", "tariff"]
    assert frame.rows() == [("a", 0, 1.0, "x"), ("a", 1, 2.0, "x"), ("b", 0, 3.0, "y"), ("b", 1, None, "y")]


def test_a_file_comes_back_under_the_names_of_its_columns(tmp_path):
    table = pl.DataFrame(
        {"meter": ["a", "a", "b", "b"], "at": ["2024-01-01", "2024-01-02"] * 2, "kwh": [1.0, 2.0, 3.0, 4.0]}
    )
    table.write_csv(tmp_path / "x.csv")
    frame = read_panel(tmp_path / "x.csv", id="meter", time="at", value="kwh").to_polars()
    assert frame.columns == ["meter", "at", "kwh"]
    assert frame["kwh"].to_list() == [1.0, 2.0, 3.0, 4.0]


def test_days_stay_days_and_periods_periods():
    days = pl.DataFrame(
        {
            "id": ["a", "a", "b", "b"],
            "time": pl.Series(["2024-01-01", "2024-01-02"] * 2).str.to_date(),
            "value": [1.0] * 4,
        }
    )
    assert read_panel(days).to_polars().schema == days.schema
    months = pd.DataFrame({"m1": [1.0, 2.0], "m2": [2.0, 3.0]}, index=pd.period_range("2024-01", periods=2, freq="M"))
    pd.testing.assert_frame_equal(read_panel(months).to_pandas(), months)


def test_steps_that_are_gathered_have_names_of_their_own():
    rows = pd.DataFrame(readings(4, 4), index=list("abcd"), columns=clock(4, None, "us"))
    frame = shoal.anonymize(rows, k=2, align="resample:2h").to_pandas()
    assert frame.columns.tolist() == clock(4, None, "us")[::2].tolist()


def test_a_data_set_comes_back_as_one_array_with_channels():
    times = clock(3, None, "us").values
    array = xr.DataArray(readings(4, 3), dims=["meter", "time"], coords={"time": times})
    result = shoal.anonymize(xr.Dataset({"kwh": array, "volt": array + 1}), k=2).to_xarray()
    assert result.dims == ("meter", "time", "channel")
    assert result.coords["channel"].values.tolist() == ["kwh", "volt"]
    assert result.coords["meter"].values.tolist() == [0, 1, 2, 3]


def test_parts_of_a_recording_have_the_times_of_one():
    hours = pd.date_range("2024-01-01", periods=48, freq="h")
    frame = pd.DataFrame(readings(4, 48).T, index=hours, columns=[f"m{i}" for i in range(4)])
    days = shoal.anonymize(frame, k=2, split="day").to_pandas()
    assert days.shape == (24, 8)
    assert (days.index.to_numpy() == read_panel(frame, split="day").times).all()


def test_a_column_that_is_published_comes_back_in_its_place():
    rows = pl.DataFrame({"id": list("abcdef"), "tariff": ["x", "y"] * 3, "0": np.arange(6.0), "1": np.ones(6)})
    result = shoal.anonymize(rows, method=shoal.Microaggregation(k=3, attributes="tariff")).to_polars()
    assert result.schema == rows.schema
    assert result["tariff"].value_counts()["count"].to_list() == [3, 3]


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(ParameterError, match="to_xarray needs xarray, which is not installed"):
        Panel([[1.0]]).to_xarray()
