"""One table of half-hourly readings, written in further ways that portals, reports and programs have."""

import json
from datetime import datetime, timedelta

import numpy as np
import pytest

from shoal import read_panel
from shoal.errors import InputError

IDS = ["1012345678901", "1012345678912", "1012345678923"]
HALF = timedelta(minutes=30)
STARTS = [datetime(2024, 5, 29) + n * HALF for n in range(96)]
VALUES = {m: np.round(np.random.default_rng(n).uniform(0.05, 3, 96), 3) for n, m in enumerate(IDS)}
CLOCK = [f"{n // 2:02d}:{n % 2 * 30:02d}" for n in range(48)]


def long(stamp, value="{:.3f}".format, header="meter,time,kwh", sep=","):
    rows = [sep.join([m, stamp(s), value(v)]) for m in IDS for s, v in zip(STARTS, VALUES[m], strict=True)]
    return "\n".join([header.replace(",", sep), *rows]) + "\n"


def days(names, values=VALUES, n=48, dates=("29/05/2024", "30/05/2024")):
    rows = [
        ",".join([m, date, *(f"{v:.3f}" for v in values[m][n * d : n * d + n])])
        for m in IDS
        for d, date in enumerate(dates)
    ]
    return "\n".join([",".join(["MPAN", "Date", *names]), *rows]) + "\n"


def once_for_each_block(text):
    seen = ""
    for line in text.splitlines():
        first, _, rest = line.partition(",")
        yield rest if not first else f"{'' if first == seen else first},{rest}"
        seen = first


TABLES = {
    "year last": long(lambda s: s.strftime("%a %b %d %H:%M:%S GMT %Y")),
    "negative in brackets": long(str, "({:.3f})".format),
    "a mark from a thousand on": long(str, lambda v: f"{round(1000 * v):,}".replace(",", "."), sep=";"),
    "last cells left out": long(str, lambda v: f"{v:.3f}" + ",E" * int(v > 2.7), header="meter,time,kwh,flag"),
    "date, hour and minute": long(lambda s: f"{s:%d/%m/%Y},{s.hour},{s.minute}", header="meter,date,hour,minute,kwh"),
    "an entry for each block": "\n".join(once_for_each_block(long(str))) + "\n",
    "columns without a meaning": days([f"c{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(48)]),
    "a start and an array": json.dumps(
        [
            {"id": m, "period": {"start": "2024-05-29T00:00:00", "resolution": "PT30M"}, "points": VALUES[m].tolist()}
            for m in IDS
        ]
    ),
    "a page": "<html><table><tr><th>Meter<th>Time<th>kWh</tr>"
    + "".join(
        f"<tr><td>{m}</td><td>{s:%d/%m/%Y %H:%M}</td><td>{v:.3f}</td></tr>"
        for m in IDS
        for s, v in zip(STARTS, VALUES[m], strict=True)
    )
    + "</table></html>",
    "positions in a period": "<doc>"
    + "".join(
        f"<series><meter>{m}</meter><period><start>2024-05-29T00:00</start><end>2024-05-31T00:00</end></period>"
        + "".join(
            f"<point><position>{n}</position><quantity>{v:.3f}</quantity></point>" for n, v in enumerate(VALUES[m], 1)
        )
        + "</series>"
        for m in IDS
    )
    + "</doc>",
}
FACTORS = {"negative in brackets": -1, "a mark from a thousand on": 1000}


@pytest.mark.parametrize("how", TABLES)
def test_the_same_readings(how, tmp_path):
    path = tmp_path / "table"
    path.write_text(TABLES[how])
    panel = read_panel(path)
    assert panel.times.astype("datetime64[us]").tolist() == STARTS
    assert list(panel.ids) == IDS
    expected = np.array([VALUES[m] for m in IDS]) * FACTORS.get(how, 1)
    assert np.allclose(panel.values, expected)


def test_hours_of_a_clock_with_twelve(tmp_path):
    hours = [f"{n % 12 or 12} {'AM' if n < 12 else 'PM'}" for n in range(24)]
    (tmp_path / "x.csv").write_text(days(hours, n=24, dates=[f"{d}/05/2024" for d in range(28, 32)]))
    panel = read_panel(tmp_path / "x.csv")
    assert panel.n_instants == 96
    assert np.array_equal(panel.values, [VALUES[m] for m in IDS])


def test_a_row_for_each_month_by_year_and_month(tmp_path):
    rows = [
        ",".join([m, "2024", str(month), *(f"{v:.2f}" for v in VALUES[m][: 30 + month % 2])])
        for m in IDS
        for month in (4, 5)
    ]
    (tmp_path / "x.csv").write_text("\n".join(["Meter,Year,Month," + ",".join(map(str, range(1, 32))), *rows]) + "\n")
    panel = read_panel(tmp_path / "x.csv", missing="keep")
    assert (str(panel.times[0])[:10], panel.n_instants) == ("2024-04-01", 61)


def test_an_identifier_that_merely_lacks_is_not_made_up(tmp_path):
    lines = long(str).splitlines()
    lines[5:8] = ["," + line.partition(",")[2] for line in lines[5:8]]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="3 of 288 rows have no identifier"):
        read_panel(tmp_path / "x.csv")
