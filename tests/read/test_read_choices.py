"""Which column names the series, and which columns are readings, where several might: mistakes here are silent."""

import itertools

import numpy as np
import pytest

from shoal import read_panel

METERS = ["MTR-017", "MTR-018", "MTR-019"]
HOURS = [f"{day:02d}/03/2024 {hour:02d}:00" for day in (14, 15) for hour in range(24)]
RNG = np.random.default_rng(3)
USED = {key: round(float(RNG.uniform(0.1, 2)), 3) for key in itertools.product(METERS, HOURS)}
WHOLE = {key: int(1000 * value) for key, value in USED.items()}

# What a column beside meter, time and reading holds, given the number of the row and the meter's.
BESIDE = {
    "Account Number": lambda n, m: str(850012340 + m // 2),
    "Contract": lambda n, m: "C-1",
    "Serial Number": lambda n, m: f"E{m}A12345",
    "Name": lambda n, m: ["Ann Bo", "Cy Dee", "Ed Fox"][m],
    "Postcode": lambda n, m: f"LS{m} 4AP",
    "Tariff": lambda n, m: "E7" if m else "Std",
    "latitude": lambda n, m: f"{51.5 + m / 100:.4f}",
    "batch_id": lambda n, m: str(88001 + n // 40),
    "row": lambda n, m: str(n + 1),
    "quality": lambda n, m: "0" if n % 17 else "100",
    "is_summer": lambda n, m: str(n % 2),
    "interval_minutes": lambda n, m: "60",
    "unit_rate": lambda n, m: "0.27" if n % 2 else "0.13",
    "copy of it": None,
}


def written(beside, readings, name, order):
    keys = sorted(readings, key=lambda key: (HOURS.index(key[1]), key[0])) if order == "time" else list(readings)
    lines = [",".join([name, *beside, "Read at", "Units used"])]
    for n, (meter, hour) in enumerate(keys):
        reading = str(readings[meter, hour])
        cells = [reading if BESIDE[b] is None else BESIDE[b](n, METERS.index(meter)) for b in beside]
        lines.append(",".join([meter, *cells, hour, reading]))
    return "\n".join(lines)


def assert_read(path, readings):
    panel = read_panel(path, missing="keep")
    assert list(panel.ids) == METERS
    assert panel.n_channels == 1
    found = panel.values.reshape(len(METERS), len(HOURS))
    assert found.tolist() == [[readings[meter, hour] for hour in HOURS] for meter in METERS]


@pytest.mark.parametrize(("name", "readings", "order"), [("Site", USED, "time"), ("meter_id", WHOLE, "meter")])
@pytest.mark.parametrize("beside", BESIDE)
def test_one_column_beside_a_meter_is_no_series(beside, name, readings, order, tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text(written([beside], readings, name, order), encoding="utf-8")
    assert_read(path, readings)


def test_many_columns_beside_a_meter(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text(written(list(BESIDE), USED, "Site", "time"), encoding="utf-8")
    assert_read(path, USED)


@pytest.mark.parametrize("stamp", ["2024-03-14 {:02d}:00", "14/03/2024 {:02d}:00"])
def test_a_total_beside_meters_is_no_subject_even_if_each_column_is_said_to_be_one(stamp, tmp_path):
    rows = [[stamp.format(hour), *(round(float(v), 3) for v in RNG.uniform(0.1, 2, 3))] for hour in range(24)]
    lines = ["time,Flat 1,Flat 2,Flat 3,Total", *(",".join(map(str, [*row, round(sum(row[1:]), 3)])) for row in rows)]
    path = tmp_path / "flats.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert list(read_panel(path, layout="wide").ids) == ["Flat 1", "Flat 2", "Flat 3"]


def test_a_series_called_a_total_is_told(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("id,time,value\n" + "".join(f"{m},{t},1.5\n" for m in ("a", "b", "Total") for t in range(3)))
    assert any("1 series is named like a total of others" in line for line in read_panel(path).origin.notes)
    path.write_text("id,time,value\n" + "".join(f"{m},{t},1.5\n" for m in ("a", "b", "Totals Ltd") for t in range(3)))
    assert not any("total" in line for line in read_panel(path).origin.notes)
