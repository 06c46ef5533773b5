"""Tables of several shapes that programs exchange."""

import io
import json
import zipfile
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from read.layouts_more.readings import Book, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)


@layout("stacked_value_columns.csv", "variable and value: time, meter, variable (kwh, volts), value")
def _(name):
    ids, channels = ["a1", "a2"], ("kwh", "volts")
    book = Book(name, "Europe/London", MARCH, 60, ids, channels)
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M}", m, c, book.text(book.get(m, s, c))]
        for c in channels
        for m in ids
        for s in book.starts
    ]
    return book, table(["time", "meter", "variable", "value"], rows).encode()


@layout(
    "customer_and_two_meters.csv", "customer, meter, postcode and tariff beside readings; the meter names the series"
)
def _(name):
    ids = ["MTR-01", "MTR-02", "MTR-03"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    owner = {"MTR-01": "C900", "MTR-02": "C900", "MTR-03": "C901"}
    rows = [
        [
            owner[m],
            m,
            "LS1 4AP" if m < "MTR-03" else "LS2 9JT",
            "E7",
            f"{book.wall(s):%Y-%m-%dT%H:%M}",
            book.text(book.get(m, s)),
        ]
        for m, s in book.rows()
    ]
    return book, table(["customer", "meter", "postcode", "tariff", "from", "kwh"], rows).encode()


@layout("lists_of_times_and_values.parquet", "a row per meter with a list of times and a list of values", basis="UTC")
def _(name):
    ids = ["l1", "l2"]
    book = Book(name, "UTC", MARCH, 30, ids)
    whole = pa.table(
        {
            "meter": ids,
            "times": pa.array([[s.replace(tzinfo=None) for s in book.starts]] * 2, pa.list_(pa.timestamp("us"))),
            "kwh": [[book.get(m, s) for s in book.starts] for m in ids],
        }
    )
    content = io.BytesIO()
    pq.write_table(whole, content)
    return book, content.getvalue()


@layout("times_as_dates_and_int_minutes.parquet", "a date type, a minute of the day as an integer, decimals as numbers")
def _(name):
    ids = [17, 18]
    book = Book(name, "Europe/Madrid", MARCH, 15, [str(m) for m in ids])
    rows = book.rows()
    whole = pa.table(
        {
            "meter_id": pa.array([int(m) for m, _ in rows], pa.int32()),
            "day": pa.array([book.wall(s).date() for _, s in rows], pa.date32()),
            "minute_of_day": pa.array([book.wall(s).hour * 60 + book.wall(s).minute for _, s in rows], pa.int16()),
            "wh": pa.array([book.get(m, s) for m, s in rows], pa.float32()).cast(pa.float64()),
        }
    )
    for m, s in rows:
        book.values[m, "", s] = float(pa.scalar(book.get(m, s), pa.float32()).as_py())
    content = io.BytesIO()
    pq.write_table(whole, content)
    return book, content.getvalue()


@layout("readings_of_a_parent.xml", "<meter id='..'><reading at='..' kwh='..'/>: everything in attributes", basis="UTC")
def _(name):
    ids = ["x1", "x2"]
    book = Book(name, "UTC", MARCH, 30, ids)
    parts = ['<?xml version="1.0"?>\n<export created="2024-03-16T10:00:00Z">\n']
    for m in ids:
        parts.append(f'<meter id="{m}" unit="kWh">\n')
        parts += [f'<reading at="{s:%Y-%m-%dT%H:%M:%SZ}" kwh="{book.text(book.get(m, s))}"/>\n' for s in book.starts]
        parts.append("</meter>\n")
    return book, "".join([*parts, "</export>\n"]).encode()


@layout("telemetry_by_key.json", "a key per quantity with an array of ts and value in text", basis="UTC", names="any")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["device"], ("power", "energy"), decimals=1, level=300)
    whole = {
        c: [{"ts": epoch(s) * 1000, "value": book.text(book.get("device", s, c))} for s in reversed(book.starts)]
        for c in book.channels
    }
    return book, json.dumps(whole).encode()


@layout(
    "messages_with_payload.jsonl",
    "a topic such as site/m1/energy and a payload of ts and value per line",
    basis="UTC",
    names="any",
)
def _(name):
    ids = ["site/m1/energy", "site/m2/energy"]
    book = Book(name, "UTC", MARCH, 15, ids)
    lines = [
        json.dumps({"topic": m, "qos": 1, "payload": {"ts": f"{s:%Y-%m-%dT%H:%M:%S.000Z}", "value": book.get(m, s)}})
        for s in book.starts
        for m in ids
    ]
    return book, "\n".join(lines).encode()


@layout(
    "month_files.zip", "a zip of 2024-01.csv and 2024-02.csv: a day in the rows, a column per hour, two meters in each"
)
def _(name):
    ids = ["z1", "z2"]
    days = [date(2024, 1, 30), date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 2)]
    book = Book(name, "Europe/Rome", days, 60, ids)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as whole:
        for month in (1, 2):
            rows = [
                [m, f"{d:%d/%m/%Y}", *(book.text(book.get(m, s), ",") for s in starts)]
                for m in ids
                for d, starts in book.days.items()
                if d.month == month
            ]
            header = ["POD", "Data", *(f"H{n}" for n in range(1, 25))]
            whole.writestr(f"2024-{month:02d}.csv", table(header, rows, ";"))
    return book, content.getvalue()


@layout(
    "net_signed_and_quality_0_1.csv",
    "a valid flag of 0 and 1 and a sample count beside readings; net power below nought",
)
def _(name):
    ids = ["PV-1", "PV-2"]
    book = Book(name, "Europe/Berlin", MARCH, 15, ids, decimals=2, level=30)
    for m, s in book.rows():
        if 10 <= book.wall(s).hour < 15:
            book.values[m, "", s] = -book.values[m, "", s]
    rows = [
        [
            f"{book.wall(s):%Y-%m-%d %H:%M:%S}",
            m,
            book.text(book.get(m, s)),
            "1" if n % 31 else "0",
            "15" if n % 37 else "14",
        ]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["timestamp", "system", "net_power_kw", "valid", "n_samples"], rows).encode()


@layout("prices_and_costs_beside.csv", "a unit price, a standing charge, a cost and the tariff beside kWh", names="any")
def _(name):
    book = Book(name, "Europe/London", MARCH, 30, ["home"])
    rows = []
    for m, s in book.rows():
        price = 24.5 if 7 <= book.wall(s).hour < 23 else 9.3
        kwh = book.get(m, s)
        stamps = [f"{book.wall(s):%Y-%m-%d %H:%M}", f"{book.end(s):%Y-%m-%d %H:%M}"]
        rows.append(
            [
                *stamps,
                book.text(kwh),
                str(price),
                f"{price * kwh / 100:.5f}",
                "0.53",
                f"£{price * kwh / 100 + 0.53:.2f}",
            ]
        )
    header = ["Start", "End", "Consumption (kWh)", "Unit Rate (p/kWh)", "Cost (£)", "Standing Charge (£)", "Total"]
    return book, table(header, rows).encode()


@layout("two_files_of_the_same_days", "a folder: electricity.csv and gas.csv of the same meters' homes", names="any")
def _(name):
    ids = ["electricity", "gas"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    parts = {
        f"{name}/{m}.csv": table(
            ["Consumption (kWh)", "Start", "End"],
            [
                [
                    book.text(book.get(m, s)),
                    f"{book.local(s).isoformat()}",
                    f"{book.local(s + book.step).isoformat()}",
                ]
                for s in book.starts
            ],
            ", ",
        ).encode()
        for m in ids
    }
    return book, parts
