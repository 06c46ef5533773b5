"""Range counts in SQL are those in memory."""

import numpy as np
import polars as pl
import pytest

from shoal import Panel
from shoal.errors import InputError, ParameterError
from shoal.model import Envelopes, Profiles
from shoal.queries import PatternSimilarity, RangeCount, count_in_table, random_queries

MOMENTS = np.array(["2024-03-01", "2024-03-02", "2024-03-03"], dtype="M8[us]")


def long_table(times, n_rows, name="id", **columns):
    rows = np.repeat([f"p{i:03d}" for i in range(n_rows)], len(times))
    data = {name: rows, "time": np.tile(times, n_rows)}
    return pl.DataFrame(data | {key: np.asarray(value).ravel() for key, value in columns.items()})


@pytest.mark.parametrize("times", [np.arange(3), MOMENTS, "zoned"])
def test_over_envelopes(tmp_path, rng, times):
    zoned = isinstance(times, str)
    times = MOMENTS if zoned else times
    low = rng.integers(0, 8, size=(60, 3)) / 2
    high = low + rng.choice([0.0, 0.5, 3.0], size=low.shape)
    published = Envelopes(low, high, levels=[1] * 60, patterns=["aaa"] * 60, times=times)
    table = long_table(times, 60, low=low, high=high)
    if zoned:
        table = table.with_columns(pl.col("time").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Bratislava"))
    table.sample(fraction=1.0, shuffle=True, seed=1).write_parquet(tmp_path / "data.parquet")
    for query in random_queries(Panel(low, times=times), 30, "range", seed=4):
        assert count_in_table(tmp_path / "data.parquet", query) == pytest.approx(query.count(published), rel=1e-12)
    assert count_in_table(tmp_path, RangeCount({times[0]: (-9.0, -8.0)})) == 0.0
    assert count_in_table(tmp_path, RangeCount({times[0]: (-np.inf, np.inf)})) == 60.0


@pytest.mark.parametrize("missing", [None, np.nan])
def test_over_values_with_gaps(tmp_path, rng, missing):
    x = rng.integers(0, 6, size=(50, 3)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    table = long_table(np.arange(3), 50, value=x)
    if missing is None:
        table = table.with_columns(pl.col("value").fill_nan(None))
    table.write_parquet(tmp_path / "data.parquet")
    for ranges in ({0: (1.0, 3.0)}, {0: (1.0, 5.0), 2: (0.0, 3.0)}, {1: (-np.inf, np.inf), 2: (2.0, np.inf)}):
        assert count_in_table(tmp_path, RangeCount(ranges)) == RangeCount(ranges).count(Panel(x))


def test_a_series_without_a_row_for_an_instant_is_in_no_range_there(tmp_path, rng):
    x = rng.integers(0, 6, size=(50, 3)).astype(float)
    x[rng.random(x.shape) < 0.2] = np.nan
    long_table(np.arange(3), 50, value=x).filter(pl.col("value").is_not_nan()).write_parquet(tmp_path / "data.parquet")
    ranges = RangeCount({0: (1.0, 5.0), 2: (0.0, 3.0)})
    assert count_in_table(tmp_path, ranges) == ranges.count(Panel(x))


def test_over_group_profiles(tmp_path, rng):
    means, counts = rng.normal(size=(20, 3)), rng.integers(3, 9, size=20)
    means[4, 1] = np.nan
    groups = Profiles(means[:, :, None, None], counts, ("mean",), np.arange(3), ("value",))
    table = long_table(np.arange(3), 20, name="group", count=np.repeat(counts, 3), mean=means)
    table.with_columns(pl.col("mean").fill_nan(None)).write_parquet(tmp_path / "data.parquet")
    for ranges in ({0: (-0.5, 0.5)}, {0: (-1.0, 1.0), 1: (-1.0, 1.0)}):
        assert count_in_table(tmp_path, RangeCount(ranges)) == RangeCount(ranges).count(groups) > 0


class TestRefusals:
    @pytest.fixture
    def folder(self, tmp_path):
        long_table(np.arange(2), 2, value=np.ones(4)).write_parquet(tmp_path / "data.parquet")
        return tmp_path

    def test_an_instant_that_is_not_there(self, folder):
        with pytest.raises(ParameterError, match="asks for 1 of its 2 instants that the data does not have"):
            count_in_table(folder, RangeCount({0: (0.0, 1.0), 7: (0.0, 1.0)}))

    def test_datetimes_of_whole_numbers(self, folder):
        with pytest.raises(
            ParameterError, match="instants of the table are whole numbers, but those of the query are not"
        ):
            count_in_table(folder, RangeCount({"2024-01-01": (0.0, 1.0)}))

    def test_patterns(self, folder):
        with pytest.raises(ParameterError, match="Ask for patterns in memory"):
            count_in_table(folder, PatternSimilarity([1.0, 2.0], within=0.1))

    def test_a_file_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match=r"data.parquet does not exist"):
            count_in_table(tmp_path, RangeCount({0: (0.0, 1.0)}))

    def test_a_file_that_is_no_parquet(self, tmp_path):
        (tmp_path / "data.parquet").write_text("id,time,value\n")
        with pytest.raises(InputError, match="cannot be read as a published table"):
            count_in_table(tmp_path, RangeCount({0: (0.0, 1.0)}))

    def test_a_table_of_another_form(self, tmp_path):
        pl.DataFrame({"id": [1], "time": [0], "kwh": [1.0]}).write_parquet(tmp_path / "data.parquet")
        with pytest.raises(InputError, match=r"not a table .* It has 3 columns"):
            count_in_table(tmp_path, RangeCount({0: (0.0, 1.0)}))


def test_brackets_in_the_name_of_a_release_are_no_pattern(tmp_path):
    for name, n in (("rel[ab]", 3), ("rela", 7)):
        (tmp_path / name).mkdir()
        long_table(np.arange(2), n, value=np.zeros((n, 2))).write_parquet(tmp_path / name / "data.parquet")
    assert count_in_table(tmp_path / "rel[ab]", RangeCount({0: (0.0, 1.0)})) == 3.0
