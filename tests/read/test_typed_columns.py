"""Columns of every type that Arrow has, as anything: read, or refused in one line."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from read.support import SECRETS, refused
from shoal.engines import Local
from shoal.errors import ShoalError

ID = SECRETS[0]
EXTREMES = [0, 1, 2**63 - 1, -(2**63), 5, 5]
SMALL_EXTREMES = [0, 1, 2**31 - 1, -(2**31), 5, 5]
HOURS = [0, 3600, 7200, 10800, 14400, 18000]


def built(kind, numbers):
    """A column of these bits, which may be no values of its type."""
    bits = np.array(numbers, dtype=f"i{kind.bit_width // 8}")
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(bits.tobytes())])


def zoned(name):
    return built(pa.timestamp("s", name), HOURS)


COLUMNS = {
    "small whole numbers": pa.array([0, 1, 127, -128, 5, 5], pa.int8()),
    "whole numbers": pa.array(EXTREMES),
    "counts": pa.array([0, 1, 2**64 - 1, 2**63, 5, 5], pa.uint64()),
    "half floats": pa.array(np.array([0, 1, np.inf, -np.inf, np.nan, 65504], dtype=np.float16)),
    "floats": pa.array([0.0, 1.0, np.inf, -1.7e308, np.nan, 5e-324]),
    "flags": pa.array([True, False, None, True, True, False]),
    "decimals": pa.array(
        [Decimal("1.5"), Decimal("9" * 30 + ".99"), None, *map(Decimal, range(3))], pa.decimal128(38, 2)
    ),
    "long decimals": pa.array([Decimal("9" * 70), None, *map(Decimal, range(4))], pa.decimal256(76, 0)),
    "rounded decimals": pa.array([Decimal("1E+5")] * 6, pa.decimal128(10, -5)),
    "days": built(pa.date32(), SMALL_EXTREMES),
    "days in milliseconds": built(pa.date64(), EXTREMES),
    "seconds of a day": built(pa.time32("s"), [0, 1, 86_399, 86_400, -1, 2**31 - 1]),
    "microseconds of a day": built(pa.time64("us"), [0, 1, 2, 3, -1, 2**62]),
    "durations": built(pa.duration("s"), EXTREMES),
    "seconds": built(pa.timestamp("s"), EXTREMES),
    "nanoseconds": built(pa.timestamp("ns"), EXTREMES),
    "at the end of a calendar": built(pa.timestamp("us", "Pacific/Kiritimati"), [253402300799999999, 0, 1, 2, 3, 4]),
    "in a zone": zoned("Europe/Bratislava"),
    "at an offset": zoned("+05:30"),
    "in no zone": zoned("Nowhere/City"),
    "views of texts": pa.array(["a", "b", None, "", "é", "c"], pa.string_view()),
    "bytes": pa.array([b"a", b"\xff", None, b"", b"c", b"d"]),
    "bytes of a length": pa.array([b"ab", b"\xff\xfe", b"cd", b"ef", b"gh", b"ij"], pa.binary(2)),
    "views of bytes": pa.array([b"a", b"\xff", None, b"", b"c", b"d"], pa.binary_view()),
    "categories": pa.array([1, 2, None, 1, 2, 3]).dictionary_encode(),
    "categories of days": built(pa.date32(), SMALL_EXTREMES).dictionary_encode(),
    "lists": pa.array([[1.0], [2.0, 3.0], None, [], [np.inf], [1.0]]),
    "lists of a length": pa.array([[1.0, 2.0]] * 6, pa.list_(pa.float64(), 2)),
    "records": pa.array([{"a": 1}, None, {"a": 2}, {"a": None}, {"a": 3}, {"a": 4}]),
    "maps": pa.array([[("a", 1)], None, [], [("b", 2)], [("c", 3)], [("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "nothing": pa.nulls(6),
    "intervals": pa.array([(1, 2, 3)] * 6, pa.month_day_nano_interval()),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([3, 6], pa.int32()), pa.array(["a", "b"])),
}
PLAIN = {"id": pa.array([*"pppqqq"]), "time": zoned(None), "value": pa.array(np.arange(6.0))}
READ = {
    "panel": lambda table, name: shoal.read_panel(table, missing="keep"),
    "panel with it": lambda table, name: shoal.read_panel(table, missing="keep", quasi=[name]),
    "events": lambda table, name: shoal.read_events(table, time="time", sensitive="value", quasi=[name]),
    "sensitive": lambda table, name: shoal.read_events(table, time="time", sensitive=name),
    "look": lambda table, name: str(shoal.look(table)),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("name", ["id", "time", "value", "other"])
def test_a_column_of_any_type_is_read_or_refused(kind, name):
    table, said = pa.table(PLAIN | {name: COLUMNS[kind]}), []
    for read in READ.values():
        try:
            read(table, name)
        except ShoalError as error:
            said.append(str(error))
    assert not any("\n" in text for text in said)


def other(kind):
    return pa.table(PLAIN | {"other": COLUMNS[kind]})


def test_types_that_polars_does_not_know_are_read():
    for kind, shown in {
        "at an offset": "1970-01-01 01:00:00+00:00",
        "rounded decimals": "1E+5",
        "runs": "a",
        "intervals": "MonthDayNano(months=1, days=2, nanoseconds=3)",
    }.items():
        events = shoal.read_events(other(kind), time="time", sensitive="value", quasi=["other"])
        assert str(events.frame["other"][1]) == shown
    assert shoal.read_panel(pa.table(PLAIN | {"time": zoned("+05:30")}), missing="keep").n_instants == 6


def test_odd_times_of_typed_columns_are_refused():
    for kind in ("days", "seconds", "seconds of a day", "durations", "categories of days"):
        with refused("A column has dates outside the years 1 to 9999, times outside a day, or durations of more"):
            shoal.read_panel(other(kind), missing="keep", quasi=["other"])
    with refused("A column has times in a zone that is not in the time zone database"):
        shoal.read_panel(other("in no zone"), missing="keep", quasi=["other"])
    with refused("Column 'time' holds no readable time in 2 of 6 rows"):
        shoal.read_panel(pa.table(PLAIN | {"time": pa.array(EXTREMES)}))
    with refused("Column 'id' holds neither text nor integers"):
        shoal.look(pa.table(PLAIN | {"id": COLUMNS["lists"]}))


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        (pa.date32(), (-719_162, 2_932_896)),
        (pa.date64(), (-719_162 * 86_400_000, 2_932_896 * 86_400_000)),
        (pa.timestamp("s"), (-719_162 * 86_400, 2_932_897 * 86_400 - 1)),
        (pa.timestamp("ms"), (-719_162 * 86_400_000, 2_932_897 * 86_400_000 - 1)),
        (pa.timestamp("us"), (-719_162 * 86_400_000_000, 2_932_897 * 86_400_000_000 - 1)),
    ],
    ids=str,
)
def test_typed_dates_outside_the_calendar_are_refused(kind, ends, tmp_path):
    """Libraries end with an error when they write them out, or wrap around."""
    bits = pa.int32() if kind == pa.date32() else pa.int64()
    widest = 2 ** (bits.bit_width - 1) - 1

    def table(extremes):
        built = pa.array([0, *extremes, None], bits).view(kind)
        columns = {"id": [ID, "b", "c", "d"], "time": [1] * 4, "value": [1.0, 2.0, 3.0, 4.0], "built": built}
        return pa.table(columns)

    settings = {"missing": "keep", "quasi": ["built"]}
    assert shoal.read_panel(table(ends), **settings).n_series == 4
    day = 86_400_000 if kind == pa.date64() else 1
    for beyond in ((-widest, widest), (ends[0] - day, 0), (ends[1] + day, 0)):
        with refused("outside the years 1 to 9999"):
            shoal.read_panel(table(beyond), **settings)
    pq.write_table(table(beyond), tmp_path / "x.parquet")
    with refused("outside the years"), Local() as engine:
        shoal.read_panel(tmp_path / "x.parquet", **settings, engine=engine)
