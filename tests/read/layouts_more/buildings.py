"""What homes, inverters and systems of building management write."""

import json
from datetime import date

from read.layouts_more.readings import Book, as_registers, at_odd_times, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)


@layout(
    "statistics_of_entities_across.csv",
    "entity_id,type,unit, then a column per hour such as 2024-03-14T00:00:00.000Z",
    basis="UTC",
)
def _(name):
    ids = ["sensor.grid_import", "sensor.heat_pump", "sensor.solar_yield"]
    book = Book(name, "UTC", MARCH, 60, ids)
    rows = [[m, "change", "kWh", *(book.text(book.get(m, s)) for s in book.starts)] for m in ids]
    header = ["entity_id", "type", "unit", *(f"{s:%Y-%m-%dT%H:%M:%S}.000Z" for s in book.starts)]
    return book, table(header, rows).encode()


@layout("statistics_mean_min_max.csv", "seconds since 1970 as 1710374400.0; mean, min and max in columns", basis="UTC")
def _(name):
    ids, channels = ["sensor.power_l1", "sensor.power_l2"], ("mean", "min", "max")
    book = Book(name, "UTC", MARCH, 60, ids, channels, 1, 900)
    for m, s in book.rows():
        book.values[m, "min", s], book.values[m, "max", s] = (round(book.get(m, s, "mean") * f, 1) for f in (0.5, 1.5))
    rows = [[m, f"{epoch(s)}.0", *(book.text(book.get(m, s, c)) for c in channels)] for m, s in book.rows()]
    return book, table(["statistic_id", "start_ts", *channels], rows).encode()


@layout(
    "inverter_log_of_eight_lines.csv",
    "sep=; a version; serial, type, name, quantity and kind stacked above dd.MM.yyyy HH:mm:ss;kWh;kW",
    names="any",
)
def _(name):
    book = Book(name, "Europe/Berlin", MARCH, 15, ["2110123456", "2110123457"], ("Power",))
    head = "sep=;\nVersion CSV1|Tool SE|Linebreaks CR/LF|Delimiter semicolon|Decimalpoint comma|Precision 3\n\n"
    head += (
        ";SN: 2110123456;SN: 2110123457\n;STP 10000;STP 8000\n;2110123456;2110123457\n;Power;Power\n;Analog;Analog\n"
    )
    head += "dd.MM.yyyy HH:mm:ss;kW;kW\n"
    rows = [
        [f"{book.wall(s):%d.%m.%Y %H:%M:%S}", *(book.text(book.get(m, s, "Power"), ",") for m in book.ids)]
        for s in book.starts
    ]
    return book, (head + table(None, rows, ";")).replace("\n", "\r\n").encode()


@layout("energy_produced_total_below.csv", "2024-03-14 00:00:00 -0700; the last line is Total", basis="UTC")
def _(name):
    book = Book(name, "America/Los_Angeles", MARCH, 15, ["roof"], decimals=0, level=900)
    rows = [[f"{book.local(s):%Y-%m-%d %H:%M:%S %z}", book.text(book.get(m, s))] for m, s in book.rows()]
    rows.append(["Total", f"{sum(book.values.values()):.0f}"])
    return book, table(["Date/Time", "Energy Produced (Wh)"], rows).encode()


@layout(
    "home_solar_battery_grid.csv",
    "Date time with an offset; powers of home, solar, battery and grid, negative ones too",
    basis="UTC",
)
def _(name):
    channels = ("Home (kW)", "Solar (kW)", "Powerwall (kW)", "Grid (kW)")
    book = Book(name, "America/Los_Angeles", MARCH[:1], 5, ["home"], channels, 1, 9)
    for key in [key for key in book.values if key[1] in channels[2:]]:
        book.values[key] = round(book.values[key] - 4, 1)
    rows = [[book.local(s).isoformat(), *(book.text(book.get(m, s, c)) for c in channels)] for m, s in book.rows()]
    return book, table(["Date time", *channels], rows).encode()


@layout("item_datapoints.json", "name, a count, and data of time in milliseconds and a state in text", basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["House_Energy"])
    data = [{"time": epoch(s) * 1000, "state": book.text(book.get(m, s))} for m, s in book.rows()]
    return book, json.dumps({"name": "House_Energy", "datapoints": str(len(data)), "data": data}).encode()


@layout("result_d_and_v.json", "a status, a title, and result of d (a stamp) and v (a number in text)")
def _(name):
    book = Book(name, "Europe/Amsterdam", MARCH, 5, ["device"], decimals=1, level=400)
    result = [{"d": f"{book.wall(s):%Y-%m-%d %H:%M}", "v": book.text(book.get(m, s))} for m, s in book.rows()]
    return book, json.dumps({"result": result, "status": "OK", "title": "Graph day"}, indent=3).encode()


@layout("pairs_of_milliseconds_and_value.json", "nothing but an array of pairs; null for no value", basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 10, ["feed"], decimals=2)
    book.blank("feed", [17, 18, 130])
    pairs = [[epoch(s) * 1000, None if v != v else v] for (_, _, s), v in book.values.items()]
    return book, json.dumps(pairs).encode()


@layout(
    "year_month_day_hour_in_objects.json",
    "a device as key; objects of yr, mon, dom, dow, hr, min and three quantities",
    basis="UTC",
)
def _(name):
    channels = ("imp", "exp", "gep")
    book = Book(name, "UTC", MARCH, 60, ["U12345678"], channels, 0, 90000)
    rows = [
        {
            **{"yr": s.year, "mon": s.month, "dom": s.day, "dow": f"{s:%a}", "hr": s.hour, "min": s.minute},
            **{c: int(book.get(m, s, c)) for c in channels},
        }
        for m, s in book.rows()
    ]
    return book, json.dumps({"U12345678": rows}).encode()


@layout(
    "station_history_flags_status.csv",
    "history lines above; 14-Mar-24 12:15:00 AM GMT; { } and {ok} beside; the unit behind the number",
    basis="UTC",
)
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["/Station/Meter_1"], decimals=2, level=9)
    rows = [
        [f"{s:%d-%b-%y %I:%M:%S %p} GMT", "{ }", "{ok}" if n % 40 else "{stale}", f"{book.get(m, s):.2f} kW-hr"]
        for n, (m, s) in enumerate(book.rows())
    ]
    above = "history:/Station/Meter_1\n14-Mar-24 12:00 AM GMT to 16-Mar-24 12:00 AM GMT\n\n"
    return book, (above + table(["Timestamp", "Trend Flags", "Status", "Value"], rows)).encode()


@layout(
    "points_listed_above_end_of_report.csv",
    "a list of points, then <>Date,Time,Point_1 ..; No Data; stars and End of Report below",
    names="any",
)
def _(name):
    ids = ["B1.ELEC.KWH", "B2.ELEC.KWH", "B3.ELEC.KWH"]
    book = Book(name, "America/Chicago", MARCH, 15, ids, decimals=2, level=90)
    book.blank(ids[1], [11, 12])
    above = '"Key","Name:Suffix","Trend Definitions Used"\n'
    above += "".join(f'"Point_{n}:","{m}","","15 minutes"\n' for n, m in enumerate(ids, 1))
    above += '"Time Interval:","15 Minutes"\n"Date Range:","3/14/2024 00:00:00 - 3/15/2024 23:59:59"\n'
    above += '"Report Timings:","All Hours"\n""\n'
    rows = [
        [
            f'"{book.wall(s).month}/{book.wall(s).day}/{book.wall(s).year}"',
            f'"{book.wall(s):%H:%M:%S}"',
            *(f'"{book.text(book.get(m, s), missing="No Data")}"' for m in ids),
        ]
        for s in book.starts
    ]
    header = ['"<>Date"', '"Time"', *(f'"Point_{n}"' for n in (1, 2, 3))]
    below = " ******************************** End of Report *********************************\n"
    return book, (above + table(header, rows) + below).encode()


@layout(
    "object_name_and_path_with_unit.csv",
    "3/14/2024 12:15 AM; a path and a name of the same object; 12.5 kWh in the cell",
    names="any",
)
def _(name):
    ids = ["MTR-1", "MTR-2"]
    book = Book(name, "America/Chicago", MARCH, 15, ids, decimals=1, level=90)
    rows = [
        [
            f"{book.wall(s).month}/{book.wall(s).day}/{book.wall(s).year} {book.wall(s):%I:%M %p}",
            f"ADX-01:NAE-02/Trunk.{m}.Trend1",
            m,
            f"{book.get(m, s):.1f} kWh",
        ]
        for m, s in book.rows()
    ]
    return book, table(["Date / Time", "Name Path Reference", "Object Name", "Object Value"], rows).encode()


@layout(
    "heat_cost_allocators_by_month.csv",
    "readings at the end of months of allocators and water meters; flats with several devices; Windows-1252",
)
def _(name):
    ids = ["31245001", "31245002", "31245003", "44120001"]
    book = as_registers(Book(name, "Europe/Berlin", day_range(date(2023, 11, 30), 92), 1440, ids, decimals=0, level=9))
    ends = {date(2023, 11, 30), date(2023, 12, 31), date(2024, 1, 31), date(2024, 2, 29)}
    book.values = {key: value for key, value in book.values.items() if book.wall(key[2]).date() in ends}
    kinds = {"3": ("HKV", "Wohnzimmer", "Einheiten"), "4": ("WWZ", "Küche", "m³")}
    rows = [
        [
            "4711",
            f"WE {1 + n // 8:02d}",
            m,
            kinds[m[0]][0],
            kinds[m[0]][1],
            f"{book.wall(s):%d.%m.%Y}",
            book.text(v),
            kinds[m[0]][2],
        ]
        for n, ((m, _, s), v) in enumerate(book.values.items())
    ]
    header = "Liegenschaft;Nutzeinheit;Gerätenummer;Geräteart;Raum;Stichtag;Ablesewert;Einheit"
    return book, table(header.split(";"), rows, ";").encode("cp1252")


@layout(
    "radio_heat_meters_at_odd_seconds.csv",
    "readings by radio at any second; energy and volume that only grow; an error code in hexadecimal",
)
def _(name):
    ids, channels = ["67001234", "67001235", "67001236"], ("Energy [kWh]", "Volume [m3]")
    book = as_registers(Book(name, "Europe/Copenhagen", MARCH[:1], 60, ids, channels, 2, 20))
    for c in channels:
        part = at_odd_times(Part({key: v for key, v in book.values.items() if key[1] == c}))
        book.values = {key: v for key, v in book.values.items() if key[1] != c} | part.values
    rows = [
        [
            m,
            "KAM",
            "Heat",
            f"{book.wall(s):%Y-%m-%d %H:%M:%S}",
            *(book.text(book.get(m, s, c), ",") for c in channels),
            "0x00",
        ]
        for m, s in book.rows()
    ]
    return book, table(["Device ID", "Manufacturer", "Medium", "Timestamp", *channels, "Error"], rows, ";").encode()


class Part:
    def __init__(self, values):
        self.values = values


@layout("clock_and_obis_columns.csv", "Clock; columns named by OBIS codes; registers; a status such as 0x00")
def _(name):
    channels = ("1-0:1.8.0*255", "1-0:2.8.0*255", "1-0:3.8.0*255")
    book = as_registers(Book(name, "Europe/Vienna", MARCH, 15, ["1SAG0500012345"], channels))
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", "0x00", *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["Clock", "AMR profile status", *channels], rows, ";").encode()
