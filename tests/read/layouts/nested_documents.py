"""JSON of interfaces and libraries, workbooks and Parquet with types."""

import io
import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from read.layouts.readings import Book, day_range, layout


@layout("data_viewer_homes.json", "homes with nodes of from, to, cost and consumption, four levels deep", basis="UTC")
def _(name):
    homes = ["96a14971-525a", "c70dcbe5-4485"]
    book = Book(name, "Europe/Oslo", day_range(date(2024, 3, 30), 2), 60, homes, decimals=3)
    book.blank(homes[1], [5, 6])
    trees = []
    for m in homes:
        nodes = []
        for s in book.starts:
            value = None if book.get(m, s) != book.get(m, s) else book.get(m, s)
            nodes.append(
                {
                    "from": book.local(s).isoformat(timespec="milliseconds"),
                    "to": book.local(s + book.step).isoformat(timespec="milliseconds"),
                    "cost": None if value is None else round(value * 0.91, 4),
                    "unitPrice": 0.91,
                    "consumption": value,
                    "consumptionUnit": "kWh",
                }
            )
        trees.append({"id": m, "consumption": {"nodes": nodes}})
    return book, json.dumps({"data": {"viewer": {"homes": trees}}}).encode()


@layout("readings_as_array_per_day.json", "an object per meter and day with an array of 48 values")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 14), 3), 30, ["1900012345678", "1900012345687"])
    days = [
        {"mpan": m, "date": f"{d}", "unit": "kWh", "values": [book.get(m, s) for s in starts]}
        for m in book.ids
        for d, starts in book.days.items()
    ]
    return book, json.dumps(days).encode()


@layout("object_of_arrays.json", "hourly: an array of times and one per sensor; units beside", names="any")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 2), 60, ["site"], ("load_kw", "temperature_2m"), decimals=1)
    hourly = {"time": [f"{s:%Y-%m-%dT%H:%M}" for s in book.starts]}
    hourly |= {c: [book.get("site", s, c) for s in book.starts] for c in book.channels}
    units = {"time": "iso8601", "load_kw": "kW", "temperature_2m": "°C"}
    whole = {"latitude": 52.52, "longitude": 13.42, "timezone": "GMT", "hourly_units": units, "hourly": hourly}
    return book, json.dumps(whole, ensure_ascii=False).encode()


@layout("meters_and_channels_as_keys.json", "ids and channels are the keys of objects", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 1), 30, ["M-11", "M-12", "M-13"], ("export", "import"))
    meters = {
        m: {c: [{"t": f"{s:%Y-%m-%dT%H:%M:%SZ}", "v": book.get(m, s, c)} for s in book.starts] for c in book.channels}
        for m in book.ids
    }
    return book, json.dumps({"meters": meters}).encode()


@layout("columns_index_data.json", "a frame as columns, index and data; milliseconds", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 2), 30, ["h1", "h2", "h3"])
    whole = {
        "columns": book.ids,
        "index": [int(s.timestamp() * 1000) for s in book.starts],
        "data": [[book.get(m, s) for m in book.ids] for s in book.starts],
    }
    return book, json.dumps(whole).encode()


@layout("objects_within_lines.ndjson", "meter and reading are objects of their own in each line", basis="UTC")
def _(name):
    book = Book(name, "Europe/Paris", day_range(date(2024, 10, 27), 1), 30, ["09-1", "09-2"])
    lines = [
        json.dumps(
            {
                "meter": {"id": m, "type": "electricity"},
                "reading": {"at": book.local(s).isoformat(), "kwh": book.get(m, s), "estimated": False},
            }
        )
        for m, s in book.rows()
    ]
    return book, ("\n".join(lines) + "\n").encode()


@layout("wide_records.json", "an array of objects with a key per meter")
def _(name):
    book = Book(name, "Europe/Athens", day_range(date(2024, 4, 1), 2), 60, ["Floor 1", "Floor 2", "Floor 3"])
    rows = [
        {"timestamp": f"{book.wall(s):%Y-%m-%d %H:%M:%S}"} | {m: book.get(m, s) for m in book.ids} for s in book.starts
    ]
    return book, json.dumps(rows, indent=1).encode()


def parquet(columns):
    packed = io.BytesIO()
    pq.write_table(pa.table(columns), packed, compression="zstd")
    return packed.getvalue()


@layout(
    "dictionary_ids_and_decimals.parquet", "ids and quality as dictionaries, decimals, times of a zone", basis="UTC"
)
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 10, 26), 2), 30, ["mp-1", "mp-2"])
    rows = book.rows()
    return book, parquet(
        {
            "metering_point": pa.array([m for m, _ in rows]).dictionary_encode(),
            "quality": pa.array(["A" if i % 9 else "E" for i in range(len(rows))]).dictionary_encode(),
            "start": pa.array([s for _, s in rows], pa.timestamp("ns", "Europe/Berlin")),
            "kwh": pa.array([Decimal(book.text(book.get(m, s))) for m, s in rows], pa.decimal128(12, 3)),
        }
    )


@layout("day_rows_as_lists.parquet", "a date and a list of 48 values per row; ids are whole numbers")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 14), 3), 30, ["1001", "1002"])
    days = [(m, d) for m in book.ids for d in book.days]
    return book, parquet(
        {
            "meter_id": pa.array([int(m) for m, _ in days], pa.int64()),
            "date": pa.array([d for _, d in days], pa.date32()),
            "readings": pa.array([[book.get(m, s) for s in book.days[d]] for m, d in days], pa.list_(pa.float64())),
        }
    )


@layout("date_and_time_types.parquet", "a date, a time of day and an end in columns of their own types")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 14), 2), 30, ["x1", "x2"], decimals=2)
    rows = book.rows()
    return book, parquet(
        {
            "day": pa.array([book.wall(s).date() for _, s in rows], pa.date32()),
            "time": pa.array([book.wall(s).time() for _, s in rows], pa.time32("s")),
            "house": [m for m, _ in rows],
            "kwh": pa.array([book.get(m, s) for m, s in rows]),
        }
    )


@layout(
    "tags_beside_columns_and_values.json", "a series per meter: tags, names of columns, an array of rows", basis="UTC"
)
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 1), 30, ["m-1", "m-2"])
    series = [
        {
            "name": "energy",
            "tags": {"meter": m},
            "columns": ["time", "kwh"],
            "values": [[f"{s:%Y-%m-%dT%H:%M:%SZ}", book.get(m, s)] for s in book.starts],
        }
        for m in book.ids
    ]
    return book, json.dumps({"results": [{"statement_id": 0, "series": series}]}).encode()


@layout("samples_of_metrics.json", "a metric with labels and pairs of Unix time and text", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 1), 30, ["plug-1", "plug-2"], decimals=1, level=300)
    result = [
        {
            "metric": {"__name__": "power_watts", "device": m},
            "values": [[int(s.timestamp()), book.text(book.get(m, s))] for s in book.starts],
        }
        for m in book.ids
    ]
    return book, json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


@layout("array_per_meter_and_date.json", "meters, then dates, are the keys of arrays of 48 values")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 14), 3), 30, ["S-1", "S-2"])
    whole = {m: {f"{d}": [book.get(m, s) for s in starts] for d, starts in book.days.items()} for m in book.ids}
    return book, json.dumps(whole).encode()


@layout("features_with_coordinates.json", "a feature per reading; coordinates are no readings", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 1), 30, ["f1", "f2"])
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [1.25, 51.5]},
            "properties": {"meter": m, "time": f"{s:%Y-%m-%dT%H:%M:%SZ}", "kwh": book.get(m, s)},
        }
        for m, s in book.rows()
    ]
    return book, json.dumps({"type": "FeatureCollection", "features": features}).encode()


@layout(
    "array_of_states_per_entity.json", "an array per entity; states are text, a name is the same for all", basis="UTC"
)
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 4, 1), 1), 30, ["sensor.attic", "sensor.cellar"])
    whole = [
        [
            {
                "entity_id": m,
                "state": book.text(book.get(m, s)),
                "last_changed": f"{s:%Y-%m-%dT%H:%M:%S+00:00}",
                "attributes": {"unit_of_measurement": "kWh", "friendly_name": "Energy"},
            }
            for s in book.starts
        ]
        for m in book.ids
    ]
    return book, json.dumps(whole).encode()
