"""What loggers, gateways, inverters and homes write."""

import json
from datetime import date, timedelta

from read.layouts_more.readings import Book, as_registers, at_odd_times, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
AUTUMN = day_range(date(2023, 10, 28), 3)


@layout(
    "plot_title_and_offset_in_the_name.csv",
    "a title; '#' counts rows; 'Date Time, GMT-05:00'; names with serial numbers; events in nearly empty columns",
    basis="UTC",
    names="any",
)
def _(name):
    book = Book(name, "Etc/GMT+5", MARCH, 15, ["10103587"], ("Temp", "RH"), decimals=3, level=60)
    rows = []
    for n, s in enumerate(book.starts, 1):
        cells = [book.text(book.get("10103587", s, c)) for c in ("Temp", "RH")]
        rows.append([str(n), f"{book.wall(s):%m/%d/%y %I:%M:%S %p}", *cells, "", "", ""])
    last = book.starts[-1]
    rows.append(
        [str(len(rows) + 1), f"{book.wall(last) + timedelta(minutes=4):%m/%d/%y %I:%M:%S %p}", "", "", "Logged", "", ""]
    )
    rows.append(
        [
            str(len(rows) + 1),
            f"{book.wall(last) + timedelta(minutes=5):%m/%d/%y %I:%M:%S %p}",
            "",
            "",
            "",
            "Logged",
            "Logged",
        ]
    )
    tail = "(LGR S/N: 10103587, SEN S/N: 10103587)"
    header = ['"#"', '"Date Time, GMT-05:00"', f'"Temp, °F {tail}"', f'"RH, % {tail}"']
    header += [
        '"Host Connected (LGR S/N: 10103587)"',
        '"Stopped (LGR S/N: 10103587)"',
        '"End Of File (LGR S/N: 10103587)"',
    ]
    return book, ('"Plot Title: Boiler house"\n' + table(header, rows)).encode("utf-8-sig")


@layout(
    "quoted_utc_and_alarms.csv",
    "time(UTC) between single quotes; error, lowalarm and highalarm of noughts; two energies that only grow",
    basis="UTC",
)
def _(name):
    channels = ("Main Energy (kWh)", "Chiller Energy (kWh)")
    book = as_registers(Book(name, "UTC", MARCH, 15, ["gateway"], channels, decimals=2, level=9))
    rows = [
        [f"'{s:%Y-%m-%d %H:%M:%S}'", "0", "0", "0", *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["time(UTC)", "error", "lowalarm", "highalarm", *channels], rows).encode()


@layout(
    "offset_in_minutes_beside.csv",
    "a gateway and a device in lines of their own with a header each; UTC Offset (minutes) changes in autumn",
    basis="UTC",
)
def _(name):
    channels = ("Active Energy (kWh)", "Reactive Energy (kVARh)")
    book = as_registers(Book(name, "Europe/Paris", AUTUMN, 15, ["Feeder 3"], channels, decimals=1, level=9))
    above = "Gateway Name,Gateway SN,Gateway IP Address,Device Name,Device Type\nGW-2,3132,10.0.4.2,Feeder 3,PM3250\n\n"
    rows = [
        [
            "0",
            str(int(book.local(s).utcoffset().total_seconds() // 60)),
            f"{book.wall(s):%Y-%m-%d %H:%M:%S}",
            *(book.text(book.get(m, s, c)) for c in channels),
        ]
        for m, s in book.rows()
    ]
    return book, (above + table(["Error", "UTC Offset (minutes)", "Local Time Stamp", *channels], rows)).encode()


@layout(
    "names_and_bracketed_formats.csv", "a second line with [dd.MM.yyyy HH:mm] and [Wh] below the names", names="any"
)
def _(name):
    channels = ("Energy from inverter | Symo 10.0-3-M (1)", "Consumption", "Energy to grid")
    book = Book(name, "Europe/Vienna", MARCH, 5, ["roof"], channels, decimals=2, level=300)
    head = [["Date and time", *channels], ["[dd.MM.yyyy HH:mm]", "[Wh]", "[Wh]", "[Wh]"]]
    rows = [
        [f"{book.wall(s):%d.%m.%Y %H:%M}", *(book.text(book.get("roof", s, c)) for c in channels)] for s in book.starts
    ]
    return book, table(None, head + rows).encode("utf-8-sig")


@layout(
    "seconds_from_a_start.json",
    "an inverter as key; values keyed by seconds since the Start of the archive",
    basis="UTC",
    names="any",
)
def _(name):
    book = Book(name, "Europe/Berlin", MARCH[:1], 5, ["inverter/1", "inverter/2"], decimals=2, level=300)
    first = book.starts[0]
    data = {
        m: {
            "Data": {
                "EnergyReal_WAC_Sum_Produced": {
                    "Unit": "Wh",
                    "Values": {str(int((s - first).total_seconds())): book.get(m, s) for s in book.starts},
                }
            },
            "DeviceType": 99,
            "NodeType": 97,
            "Start": book.local(first).isoformat(),
            "End": book.local(book.starts[-1]).isoformat(),
        }
        for m in book.ids
    }
    return book, json.dumps({"Body": {"Data": data}, "Head": {"Timestamp": "2024-03-15T07:11:00+01:00"}}).encode()


@layout(
    "details_of_meters_by_type.json",
    "energyDetails; a type and values of date and value; at night there is no value",
    names="any",
)
def _(name):
    types = ("Consumption", "Production")
    book = Book(name, "Europe/Berlin", MARCH, 15, types, decimals=1, level=300)
    night = [i for i, s in enumerate(book.starts) if not 6 <= book.wall(s).hour < 19]
    book.drop("Production", night)
    meters = []
    for m in types:
        values = []
        for s in book.starts:
            entry = {"date": f"{book.wall(s):%Y-%m-%d %H:%M:%S}"}
            if (m, "", s) in book.values:
                entry["value"] = book.get(m, s)
            values.append(entry)
        meters.append({"type": m, "values": values})
    return book, json.dumps(
        {"energyDetails": {"timeUnit": "QUARTER_OF_AN_HOUR", "unit": "Wh", "meters": meters}}
    ).encode()


@layout(
    "unavailable_states.csv",
    "entity_id,state,last_changed; unavailable and unknown among the states; any second",
    basis="UTC",
)
def _(name):
    ids = ["sensor.dishwasher_power", "sensor.oven_power"]
    book = at_odd_times(Book(name, "UTC", MARCH, 5, ids, decimals=1, level=300), seconds=280)
    keys = list(book.values)
    for key in keys[7::53]:
        book.values[key] = float("nan")
    words = ("unavailable", "unknown")
    rows = [
        [m, book.text(v, missing=words[n % 2]), f"{s:%Y-%m-%dT%H:%M:%S}.{(n * 37) % 1000:03d}Z"]
        for n, ((m, _, s), v) in enumerate(book.values.items())
    ]
    book.values = {
        (m, c, s + timedelta(milliseconds=(n * 37) % 1000)): v for n, ((m, c, s), v) in enumerate(book.values.items())
    }
    return book, table(["entity_id", "state", "last_changed"], rows).encode()


@layout(
    "line_protocol.txt", "energy,meter=m1 kwh=0.123 and nanoseconds since 1970; no header", basis="UTC", names="any"
)
def _(name):
    ids = ["m1", "m2", "m3"]
    book = Book(name, "UTC", MARCH, 30, ids)
    lines = [f"energy,meter={m},site=north kwh={book.text(book.get(m, s))} {epoch(s)}000000000" for m, s in book.rows()]
    return book, "\n".join(lines).encode()


@layout("name_tags_nanoseconds.csv", "name,tags,time,value; tags such as meter=m1; nanoseconds since 1970", basis="UTC")
def _(name):
    ids = ["meter=m1", "meter=m2"]
    book = Book(name, "UTC", MARCH, 30, ids)
    rows = [["energy", m, f"{epoch(s)}000000000", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["name", "tags", "time", "value"], rows).encode()


@layout(
    "labels_as_names_of_columns.csv",
    "a panel of a dashboard: {instance=meter-1} across; values with a unit; epoch milliseconds in words",
    basis="local",
)
def _(name):
    ids = [f'{{instance="meter-{n}", job="site"}}' for n in range(1, 5)]
    book = Book(name, "Europe/Berlin", MARCH, 15, ids, decimals=0, level=300)
    rows = [
        [f'"{book.wall(s):%Y-%m-%d %H:%M:%S}"', *(f'"{book.text(book.get(m, s))} W"' for m in ids)] for s in book.starts
    ]
    quoted = ['"{}"'.format(m.replace('"', '""')) for m in ids]
    return book, table(['"Time"', *quoted], rows).encode()


@layout("meter_behind_prefixed_names.csv", "x_Timestamp, t_kWh, z_Avg Voltage (Volt), y_Freq (Hz), meter")
def _(name):
    ids = ["BR02", "BR03", "MH11"]
    channels = ("t_kWh", "z_Avg Voltage (Volt)", "y_Freq (Hz)")
    book = Book(name, "Asia/Kolkata", MARCH, 30, ids, channels)
    for m, s in book.rows():
        book.values[m, channels[1], s] = round(230 + 9 * book.values[m, channels[0], s], 3)
        book.values[m, channels[2], s] = round(50 + book.values[m, channels[0], s] / 9, 3)
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s, c)) for c in channels), m]
        for m, s in book.rows()
    ]
    return book, table(["x_Timestamp", *channels, "meter"], rows).encode()


@layout("homes_with_imputed", "a folder of files named by hashes: timestamp, kWh and imputed, a flag of 0 and 1")
def _(name):
    ids = ["00f2a1b3c4", "5e77d09912", "a3b19fe044"]
    book = Book(name, "Europe/Madrid", MARCH, 60, ids, decimals=2)
    parts = {}
    for m in ids:
        rows = [
            [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s)), "1" if i % 17 == 3 else "0"]
            for i, s in enumerate(book.starts)
        ]
        parts[f"{name}/{m}.csv"] = table(["timestamp", "kWh", "imputed"], rows).encode()
    return book, parts


@layout("apartments_without_header", "a folder of Apt1_2016.csv ..: a stamp and a power, no header")
def _(name):
    ids = ["Apt1_2016", "Apt2_2016", "Apt10_2016"]
    book = Book(name, "America/New_York", MARCH, 15, ids, decimals=9)
    return book, {
        f"{name}/{m}.csv": table(
            None, [[f"{book.wall(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s))] for s in book.starts]
        ).encode()
        for m in ids
    }


@layout("circuits_with_units_in_brackets.csv", "Date & Time, use [kW], gen [kW], FurnaceHRV [kW], CellarOutlets [kW]")
def _(name):
    channels = ("use [kW]", "gen [kW]", "FurnaceHRV [kW]", "CellarOutlets [kW]", "DuctHeaterHRV [kW]")
    book = Book(name, "America/New_York", MARCH, 30, ["HomeA"], channels, decimals=9)
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s, c)) for c in channels)] for m, s in book.rows()
    ]
    return book, table(["Date & Time", *channels], rows).encode()


@layout(
    "array_id_year_day_hhmm.dat",
    "a number of the array, a year, the day of the year and 15 .. 2400, ends; no header",
    names="any",
    layout="long",
)
def _(name):
    book = Book(name, "Etc/GMT+7", MARCH, 15, ["station"], ("kW", "degC"), decimals=2, level=30)
    rows = []
    for m, s in book.rows():
        end = book.end(s)
        hhmm = end.hour * 100 + end.minute or 2400
        day = (end - timedelta(minutes=1)).timetuple().tm_yday
        rows.append(["115", "2024", str(day), str(hhmm), *(book.text(book.get(m, s, c)) for c in book.channels)])
    return book, table(None, rows).encode()


@layout("year_day_of_year_and_hhmm.csv", "Year, DOY and HHMM in columns with names")
def _(name):
    ids = ["T1", "T2"]
    book = Book(name, "Etc/GMT-1", MARCH, 30, ids, decimals=2, level=30)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        day = str(wall.timetuple().tm_yday)
        rows.append([m, str(wall.year), day, f"{wall:%H%M}", book.text(book.get(m, s))])
    return book, table(["Tower", "Year", "DOY", "HHMM", "Energy_kWh"], rows).encode()
