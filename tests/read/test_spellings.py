"""A panel written in a random spelling is read back equal: layouts, separators, marks, dates, clocks and order."""

import csv
import io
import json
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from read.support import refused
from shoal import read_panel

DATES = ("%Y-%m-%d", "%d/%m/%Y", "%d.%m.%Y", "%d-%b-%Y", "%Y%m%d", "%d %B %Y")
CLOCKS = ("%H:%M", "%H:%M:%S", "%I:%M %p")
LABELS = ("{:02d}:{:02d}", "[{:02d}:{:02d}]", "kWh {}:{:02d}", "T{:02d}{:02d}")
WORDS = {
    "id": ("MPAN", "meter_id", "Zählpunkt", "CUPS"),
    "time": ("Timestamp", "Zeit", "Horodate"),
    "value": ("kWh", "Wert"),
}


class Spelling:
    """How a panel of half-hourly readings is written."""

    def __init__(self, draw):
        self.separator = draw(st.sampled_from(",;\t|"))
        self.decimal = draw(st.sampled_from("." if self.separator == "," else ".,"))
        self.date = draw(st.sampled_from(DATES))
        self.clock = draw(st.sampled_from(CLOCKS))
        self.label = draw(st.sampled_from(LABELS))
        self.layout = draw(
            st.sampled_from(["long", "two columns", "start and end", "range", "day rows", "periods", "json"])
        )
        self.ends = draw(st.booleans())
        self.null = draw(st.sampled_from(["", "NA", "Null", "-", "n/e"]))
        self.preamble = draw(st.sampled_from(["", "Report of a utility\n\n", "Customer: nobody\nPeriod: all of it\n"]))
        self.footer = draw(st.sampled_from(["", "\nEnd of report\n"]))
        self.encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
        self.names = {part: draw(st.sampled_from(words)) for part, words in WORDS.items()}
        self.backward = draw(st.booleans())
        self.flag = draw(st.booleans())

    def __repr__(self):
        return str(vars(self))

    def number(self, value):
        return self.null if np.isnan(value) else f"{value:.3f}".replace(".", self.decimal)

    def day(self, time):
        return time.strftime(self.date)

    def stamp(self, time):
        return f"{self.day(time)} {time.strftime(self.clock)}"

    def write(self, ids, starts, values):
        header, rows = getattr(self, "_" + self.layout.replace(" ", "_"))(ids, starts, values)
        if self.layout == "json":
            return json.dumps({"meters": rows}).encode()
        rows = rows[::-1] if self.backward else rows
        text = io.StringIO()
        text.write(self.preamble)
        csv.writer(text, delimiter=self.separator, lineterminator="\n").writerows([header, *rows])
        return (text.getvalue() + self.footer).encode(self.encoding)

    def _rows(self, ids, starts, values):
        return [(name, time, values[n][t]) for n, name in enumerate(ids) for t, time in enumerate(starts)]

    def _long(self, ids, starts, values):
        late = timedelta(minutes=30 * self.ends)
        rows = [[name, self.stamp(t + late), self.number(v)] for name, t, v in self._rows(ids, starts, values)]
        return [self.names["id"], self.names["time"], self.names["value"]], rows

    def _two_columns(self, ids, starts, values):
        rows = [
            [self.day(t), t.strftime(self.clock), name, self.number(v)]
            for name, t, v in self._rows(ids, starts, values)
        ]
        return ["Datum", "Uhrzeit", self.names["id"], self.names["value"]], rows

    def _start_and_end(self, ids, starts, values):
        half = timedelta(minutes=30)
        rows = [
            [name, self.stamp(t), self.stamp(t + half), self.number(v), "A" if t.hour % 5 else "E"]
            for name, t, v in self._rows(ids, starts, values)
        ]
        return [self.names["id"], "from", "to", self.names["value"], "quality"], rows

    def _range(self, ids, starts, values):
        half = timedelta(minutes=30)
        rows = [
            [f"{self.stamp(t)} - {self.stamp(t + half)}", name, self.number(v)]
            for name, t, v in self._rows(ids, starts, values)
        ]
        return ["Interval", self.names["id"], self.names["value"]], rows

    def _by_day(self, ids, starts, values, labels):
        header = [
            self.names["id"],
            "Date",
            *(name for label in labels for name in ([label, "Flag"] if self.flag else [label])),
        ]
        rows = []
        for n, name in enumerate(ids):
            for first in range(0, len(starts), 48):
                cells = [self.number(v) for v in values[n][first : first + 48]]
                flagged = [cell for number in cells for cell in ([number, "A"] if self.flag else [number])]
                rows.append([name, self.day(starts[first]), *flagged])
        return header, rows

    def _day_rows(self, ids, starts, values):
        minutes = [30 * (t + self.ends) for t in range(48)]
        return self._by_day(ids, starts, values, [self.label.format(m // 60, m % 60) for m in minutes])

    def _periods(self, ids, starts, values):
        prefix = {"A": "HH", "B": "Period "}["A" if self.ends else "B"]
        return self._by_day(ids, starts, values, [f"{prefix}{n}" for n in range(1, 49)])

    def _json(self, ids, starts, values):
        return None, [
            {
                "meter": name,
                "unit": "kWh",
                "readings": [
                    {"start": t.isoformat(), "value": None if np.isnan(v) else round(float(v), 3)}
                    for t, v in zip(starts, values[n], strict=True)
                ],
            }
            for n, name in enumerate(ids)
        ]


@st.composite
def spellings(draw):
    return Spelling(draw)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spelling=spellings(), seed=st.integers(0, 99))
def test_a_panel_in_any_spelling_is_read_back_equal(tmp_path, spelling, seed):
    rng = np.random.default_rng(seed)
    starts = [datetime(2024, 2, 27) + timedelta(minutes=30 * t) for t in range(48 * 4)]
    ids = ["1300011000017", "1300011000026", "1300011000035"]
    values = np.round(rng.uniform(0.0, 3.0, (len(ids), len(starts))), 3)
    values[rng.uniform(size=values.shape) < 0.02] = np.nan
    values[:, [0, -1]] = 1.5  # the first and the last time tell starts from ends
    path = tmp_path / "table.dat"
    path.write_bytes(spelling.write(ids, starts, values))
    panel = read_panel(path, missing="keep")
    assert panel.ids.tolist() == ids
    kept = np.isin(np.array(starts, dtype="datetime64[us]"), panel.times)
    assert np.isnan(values[:, ~kept]).all()
    assert panel.times.tolist() == [time for time, there in zip(starts, kept, strict=True) if there]
    np.testing.assert_allclose(panel.values, values[:, kept])


@pytest.mark.parametrize("label", ["HH{}", "{}"])
def test_days_of_46_and_50_periods_need_a_zone(tmp_path, label):
    rows = [["meter", "Date", *(label.format(n) for n in range(1, 51))]]
    for day, n_periods in (("2023-03-26", 46), ("2023-07-01", 48), ("2023-10-29", 50)):
        rows.append(["a1", day, *(f"{n}.5" for n in range(1, n_periods + 1)), *[""] * (50 - n_periods)])
    (tmp_path / "x.csv").write_text("\n".join(",".join(row) for row in rows))
    with refused("2 readings lie beyond 24 hours, on days when the clock goes back. Give timezone="):
        read_panel(tmp_path / "x.csv", missing="keep")
    panel = read_panel(tmp_path / "x.csv", missing="keep", timezone="Europe/London")
    assert panel.n_instants == 46 + 48 + 50
    assert panel.n_missing == 0
    assert panel.times[46] == np.datetime64("2023-06-30T23:00")


def test_one_run_tells_every_problem_with_its_setting(tmp_path):
    times = ["2024-10-27 00:00", "2024-10-27 01:00", "2024-10-27 02:00", "2024-10-27 03:00", "2024-10-27 04:00"]
    rows = [("a", t, 1.0) for t in times] + [("b", t, 2.0) for t in times[:-1]] + [("a", times[0], 5.0)]
    table = pl.DataFrame(rows, orient="row", schema=["id", "time", "value"])
    with refused(
        "shows twice.* dst='first'.* Also: 1 of 10 rows are duplicates that differ.* duplicates='first'.* Also: .*gaps"
    ):
        read_panel(table, timezone="Europe/Bratislava")


def test_one_run_tells_every_problem_of_a_wide_table():
    times = [f"2024-05-01 0{hour}:00" for hour in (0, 1, 2, 4, 5, 5)]
    by_time = pl.DataFrame({"time": times, "m1": ["1", "x", "3", "4", "5", "6"], "m2": [900.0, 800, 700, 600, None, 9]})
    with refused(
        r"the readings of 1 are more than 10 times.*layout='wide'.* Also: 2 of 24 .*duplicates='first'.* "
        r"Also: The instants are not evenly spaced.*align="
    ):
        read_panel(by_time.with_columns(m3=pl.lit(1.0), m4=pl.lit(1.0)))
    typed = by_time.with_columns(m1=pl.Series([1.0, 2, 3, 4, 5, 6]), m3=pl.Series([1.0, 2, 3, 4, np.inf, 5]))
    with refused(
        r"the readings of . are more than 10 times.*layout='wide'.* Also: Column number 4, .*1 infinite values.* "
        r"Also: 1 of 6 rows repeat the time.*duplicates='first'.* Also: The instants are not evenly spaced.*align="
    ):
        read_panel(typed)
    by_series = pl.DataFrame({"id": ["a", "b", "a"], "age": [7, 8, 9], "0": ["1", "x", "2"], "1": [1.0, None, 2.0]})
    with refused(
        "Column number 3, .*holds text in 1 of 3 rows.* Also: 1 of 3 rows repeat the id.* duplicates='first'.* "
        "Also: Column 'age' changes within 1 of 2 series.* Omit it"
    ):
        read_panel(by_series, other="age")


def test_one_run_tells_every_problem_of_day_rows(tmp_path):
    def written(*days):
        rows = [["a1", day, *(cell if n == 5 else f"{n}.5" for n in range(50))] for day, cell in days]
        header = ",".join(["meter", "Date", *(f"HH{n}" for n in range(1, 51))])
        (tmp_path / "x.csv").write_text("\n".join([header, *(",".join(row) for row in rows)]) + "\n")

    written(("2023-10-28", "1.5"), ("2023-10-29", "bad entry 7"), ("2023-10-29", "2.5"), ("2023-10-31", "1.5"))
    with refused(
        "Column number 8, .*holds text in 1 .*null=.* Also: 8 readings lie beyond 24 hours.*timezone=.* "
        "Also: 1 of .* duplicates='first'"
    ):
        read_panel(tmp_path / "x.csv", missing="keep")
    written(("2023-10-28", "1.5"), ("", "bad entry 7"))
    with refused("have no time in column 'Date'.* Also: Column number 8, .*holds text.*null="):
        read_panel(tmp_path / "x.csv", missing="keep")


def test_settings_overrule_what_was_found(tmp_path):
    (tmp_path / "x.csv").write_text(
        "meter;when;kWh\n" + "".join(f"a;0{d}/03/2024 00:30;x\na;0{d}/03/2024 01:00;1,5\n" for d in (1, 2))
    )
    found = read_panel(tmp_path / "x.csv", missing="keep")
    assert found.times[0] == np.datetime64("2024-03-01T00:00")
    assert "times are ends" in found.origin.notes[1]
    assert found.origin.reading["interval"] == "end"
    given_ = read_panel(
        tmp_path / "x.csv", missing="keep", time_format="%m/%d/%Y %H:%M", interval="start", null="x", decimal=","
    )
    assert given_.times[0] == np.datetime64("2024-01-03T00:30")
    with refused("Column 'kWh' holds text in 2 of its cells. List the words that mean missing with null="):
        read_panel(tmp_path / "x.csv", missing="keep", null="y")


def test_registers_are_kept_and_told_and_differenced_on_request(tmp_path):
    lines = [f"a,2024-01-{1 + n // 24:02d} {n % 24:02d}:00,{100 + n * n % 7 + 9 * n}" for n in range(40)]
    (tmp_path / "x.csv").write_text("\n".join(["meter,time,kWh", *lines]))
    panel = read_panel(tmp_path / "x.csv", id="meter", value="kWh")
    assert any("readings only grow" in text for text in panel.origin.notes)
    used = read_panel(tmp_path / "x.csv", id="meter", value="kWh", register="difference")
    np.testing.assert_array_equal(used.values, np.diff(panel.values))


def test_channels_in_rows_become_channels(tmp_path):
    lines = [
        f"m{m},2024-01-01 {h:02d}:00,{kind},{h + m}.5"
        for m in (1, 2)
        for h in range(24)
        for kind in ("import", "export")
    ]
    (tmp_path / "x.csv").write_text("\n".join(["meter,stamp,direction,kWh", *lines]))
    panel = read_panel(tmp_path / "x.csv")
    assert panel.channels == ("export", "import")
    assert panel.values.shape == (2, 24, 2)
    assert read_panel(tmp_path / "x.csv", channel="direction").channels == panel.channels


def test_columns_may_be_named_by_their_position(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,0,1,2,3\na,1,2,3,4\nb,2,3,4,5\n")
    assert read_panel(path).values.tolist() == [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]]
