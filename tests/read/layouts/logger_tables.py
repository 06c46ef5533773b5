"""Rows and columns as loggers, inverters, home automation and dashboards write them."""

from datetime import date

from read.layouts.other_rows import twelve, us
from read.layouts.readings import Book, day_range, layout, table


@layout("meter_over_quantity.csv", "two lines of header: the meter over the first of its columns, quantities below it")
def _(name):
    book = Book(
        name, "Europe/Paris", day_range(date(2024, 4, 2), 2), 30, ["TGBT", "CVC", "Serveurs"], ("P (kW)", "Q (kVAr)")
    )
    above = [""]
    for m in book.ids:
        above += [m, ""]
    rows = [
        [
            f"{book.wall(s):%d/%m/%Y %H:%M}",
            *(book.text(book.get(m, s, c), ",") for m in book.ids for c in book.channels),
        ]
        for s in book.starts
    ]
    return book, table(above, [["Date", *book.channels * 3], *rows], ";").encode()


@layout(
    "inverter_names_over_units.csv",
    "a header of names and a line [dd.MM.yyyy HH:mm];[Wh];[Wh];[%] below it; 5 minutes",
    names="any",
)
def _(name):
    channels = ("Energie | Symo 10.0-3-M", "Verbrauch", "Autarkie")
    book = Book(name, "Europe/Vienna", [date(2024, 6, 21)], 5, ["site"], channels, decimals=2, level=90)
    rows = [
        [f"{book.wall(s):%d.%m.%Y %H:%M}", *(book.text(book.get("site", s, c), ",") for c in channels)]
        for s in book.starts
    ]
    units = ["[dd.MM.yyyy HH:mm]", "[Wh]", "[Wh]", "[%]"]
    return book, table(["Datum und Uhrzeit", *channels], [units, *rows], ";").encode()


@layout("production_and_consumption_w.csv", "powers of one site in W; month first; empty at night", names="any")
def _(name):
    channels = ("Consumption (W)", "System Production (W)")
    book = Book(name, "America/Denver", day_range(date(2024, 1, 14), 2), 15, ["site"], channels, decimals=4, level=900)
    night = [i for i, s in enumerate(book.starts) if not 7 <= book.wall(s).hour < 18]
    book.blank("site", night, "System Production (W)")
    rows = [
        [f"{book.wall(s):%m/%d/%Y %H:%M}", *(book.text(book.get("site", s, c)) for c in reversed(channels))]
        for s in book.starts
    ]
    return book, table(["Time", *reversed(channels)], rows).encode()


@layout("entity_state_last_changed.csv", "entities of home automation; unavailable and unknown; UTC", basis="UTC")
def _(name):
    ids = ["sensor.dryer_energy", "sensor.heat_pump_energy"]
    book = Book(name, "Europe/Brussels", day_range(date(2024, 3, 30), 3), 60, ids, decimals=2)
    book.blank(ids[0], [7, 8])
    book.blank(ids[1], [30])
    rows = [
        [
            m,
            book.text(book.get(m, s), missing="unavailable" if m == ids[0] else "unknown"),
            f"{s:%Y-%m-%dT%H:%M:%S.000Z}",
        ]
        for m, s in book.rows()
    ]
    return book, table(["entity_id", "state", "last_changed"], rows).encode()


@layout(
    "minute_epoch_seconds.csv", "a minute apart by Unix time, energy of three phases and a sum of them", basis="UTC"
)
def _(name):
    channels = ("a_act_energy", "b_act_energy", "c_act_energy")
    book = Book(name, "UTC", [date(2024, 9, 1)], 1, ["minute_epoch_seconds"], channels, decimals=2, level=20)
    rows = [
        [str(int(s.timestamp())), *(book.text(book.get(book.ids[0], s, c)) for c in channels)]
        for s in book.starts[:300]
    ]
    book.values = {key: value for key, value in book.values.items() if key[2] < book.starts[300]}
    return book, table(["timestamp", *channels], rows).encode()


@layout(
    "influx_annotated.csv",
    "#datatype lines, _start and _stop of the query in each row, a field per channel",
    basis="UTC",
)
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 2, 28), 2), 60, ["m-17", "m-18"], ("export", "import"))
    notes = (
        "#group,false,false,true,true,false,false,true,true,true\n"
        "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string,string\n"
        "#default,_result,,,,,,,,\n"
    )
    query = ("2024-02-28T00:00:00Z", "2024-03-01T00:00:00Z")
    header = ["", "result", "table", "_start", "_stop", "_time", "_value", "_field", "_measurement", "meter"]
    rows = []
    for n, (m, c) in enumerate((m, c) for m in book.ids for c in book.channels):
        rows += [
            ["", "", str(n), *query, f"{s:%Y-%m-%dT%H:%M:%SZ}", book.text(book.get(m, s, c)), c, "energy", m]
            for s in book.starts
        ]
    return book, (notes + table(header, rows)).replace("\n", "\r\n").encode()


@layout("header_behind_a_hash.csv", "comments with #, the last of them is the header; tabs")
def _(name):
    book = Book(name, "Europe/Oslo", day_range(date(2024, 3, 4), 2), 10, ["A1", "A2", "A3"], decimals=1, level=60)
    book.blank("A2", [100, 101, 102])
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s), missing="NaN") for m in book.ids)]
        for s in book.starts
    ]
    above = "# logger 3.2\n# power in W, ten minutes\n"
    return book, (above + table(["#Time", *book.ids], rows, "\t")).encode()


@layout(
    "program_header_of_four_lines.dat",
    "a line on the station, names, units and kinds; RECORD counts the rows",
    names="any",
)
def _(name):
    channels = ("Energy_Tot", "Power_Avg", "Temp_Avg")
    book = Book(name, "Etc/GMT-1", day_range(date(2024, 7, 1), 2), 30, ["station"], channels, decimals=2, level=30)
    book.blank("station", [12], "Temp_Avg")
    above = (
        '"TOA5","Station7","CR1000X","8110","CR1000X.Std.03.02","CPU:meter.CR1X","1234","HalfHour"\n'
        '"TIMESTAMP","RECORD","Energy_Tot","Power_Avg","Temp_Avg"\n'
        '"TS","RN","kWh","kW","Deg C"\n"","","Tot","Avg","Avg"\n'
    )
    rows = [
        [f'"{book.wall(s):%Y-%m-%d %H:%M:%S}"', str(4810 + i)]
        + [book.text(book.get("station", s, c), missing='"NAN"') for c in channels]
        for i, s in enumerate(book.starts)
    ]
    return book, (above + table(None, rows)).encode()


@layout("series_time_value.csv", "a dashboard's export: Series;Time;Value with offsets; sep= above", basis="UTC")
def _(name):
    book = Book(name, "Europe/Lisbon", day_range(date(2024, 10, 26), 2), 60, ["House 1", "House 2"], decimals=3)
    rows = [[f'"{m}"', book.local(s).isoformat(), book.text(book.get(m, s))] for m, s in book.rows()]
    return book, ("sep=;\n" + table(['"Series"', '"Time"', '"Value"'], rows, ";")).encode()


@layout("heat_meters_degrees.csv", "heat meters: MWh, m³, °C and °C in columns; 05.01.2024 1:00")
def _(name):
    channels = ("Energie [MWh]", "Rücklauf [°C]", "Volumen [m³]", "Vorlauf [°C]")
    book = Book(name, "Europe/Berlin", day_range(date(2024, 1, 5), 2), 60, ["70011", "70012", "70013"], channels)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        stamp = f"{wall:%d.%m.%Y} {wall.hour}:00"
        rows.append([m, stamp, *(book.text(book.get(m, s, c), ",") for c in channels)])
    return book, table(["Zählernummer", "Zeitpunkt", *channels], rows, ";").encode()


@layout("water_registers_month_in_letters.csv", "registers of water, Jan 28, 2024; a serial and an address beside")
def _(name):
    book = Book(
        name, "America/Chicago", day_range(date(2024, 1, 28), 20), 1440, ["80114", "80115"], decimals=2, level=3
    )
    for m in book.ids:
        total = 400.0 + int(m) % 7
        for s in book.starts:
            total = round(total + book.get(m, s), 2)
            book.values[m, "", s] = total
    streets = {"80114": '"4 Any Road, Anytown"', "80115": '"6 Any Road, Anytown"'}
    rows = [
        [m, f"SN{int(m) * 7}", streets[m], f'"{book.wall(s):%b} {book.wall(s).day}, 2024"', book.text(book.get(m, s))]
        for m, s in book.rows()
    ]
    return book, table(["Meter ID", "Serial", "Address", "Read Date", "Reading (kgal)"], rows).encode()


@layout("stamps_at_24_00.csv", "01/31/2024 24:00 ends the day; ends, 01:00 first")
def _(name):
    book = Book(
        name, "America/New_York", day_range(date(2024, 1, 30), 3), 60, ["Unit 1", "Unit 2"], decimals=1, level=80
    )
    rows = [
        [m, f"{book.wall(s):%m/%d/%Y} {book.wall(s).hour + 1:02d}:00", book.text(book.get(m, s))]
        for m, s in book.rows()
    ]
    return book, table(["Unit", "Hour Ending", "MWh"], rows).encode()


@layout(
    "interval_in_one_cell_autumn.csv",
    "29.10.2023 02:00 - 02:15 twice in order; everything quoted; rows end in a separator",
    timezone="Europe/Berlin",
)
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2023, 10, 28), 2), 15, ["DE0099-1", "DE0099-2"], level=0.3)
    rows = [
        [m, f"{book.wall(s):%d.%m.%Y %H:%M} - {book.end(s):%H:%M}", book.text(book.get(m, s), ","), ""]
        for m, s in book.rows()
    ]
    quoted = [[f'"{cell}"' if cell else "" for cell in row] for row in [["Zählpunkt", "Zeitraum", "kWh", ""], *rows]]
    return book, table(None, quoted, ";").encode()


@layout("period_of_the_day_in_rows.csv", "date and 00:00-00:30 in two columns; a weekday; a footer of three lines")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 5, 30), 3), 30, ["MSN001", "MSN002"], decimals=2)
    rows = [
        [
            f"{book.wall(s):%A}",
            f"{book.wall(s):%d %B %Y}",
            f"{book.wall(s):%H:%M}-{book.end(s):%H:%M}",
            m,
            book.text(book.get(m, s)),
        ]
        for s in book.starts
        for m in book.ids
    ]
    values = list(book.values.values())
    footer = [
        ["Total", "", "", "", f"{sum(values):.2f}"],
        ["Average", "", "", "", f"{sum(values) / len(values):.2f}"],
        ["Maximum", "", "", "", f"{max(values):.2f}"],
    ]
    return book, table(["Weekday", "Date", "Period", "Meter", "kWh"], rows + footer).encode()


@layout("wide_with_statistics_below.csv", "a column per meter; Min, Max, Mean and Sum below; 1.234,56; -- for no value")
def _(name):
    book = Book(name, "Europe/Rome", day_range(date(2024, 3, 4), 2), 60, ["Q1", "Q2", "Q3"], decimals=2, level=1600)
    book.blank("Q2", [10, 11, 12])
    rows = [
        [f"{book.wall(s):%d/%m/%Y %H.%M}", *(book.text(book.get(m, s), ",", ".", "--") for m in book.ids)]
        for s in book.starts
    ]
    for word, take in (("Min", min), ("Max", max), ("Media", lambda v: sum(v) / len(v)), ("Totale", sum)):
        kept = [[v for (n, _, _), v in book.values.items() if n == m and v == v] for m in book.ids]
        rows.append([word, *(book.text(take(values), ",", ".") for values in kept)])
    return book, table(["Data e ora", *book.ids], rows, ";").encode()


@layout("local_and_utc_wide_autumn.csv", "Start (local) and Start (UTC) before a column per meter; autumn", basis="UTC")
def _(name):
    book = Book(name, "Europe/Stockholm", day_range(date(2023, 10, 28), 3), 60, ["SE-1", "SE-2", "SE-3"], decimals=2)
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M}", f"{s:%Y-%m-%d %H:%M}", *(book.text(book.get(m, s), ",") for m in book.ids)]
        for s in book.starts
    ]
    return book, table(["Start (local)", "Start (UTC)", *book.ids], rows, ";").encode()


@layout(
    "is_dst_beside_the_hour.csv", "is_dst 1 or 0 tells the doubled hour; rows in no order", timezone="Europe/Madrid"
)
def _(name):
    book = Book(name, "Europe/Madrid", day_range(date(2023, 10, 28), 2), 60, ["c-1", "c-2"])
    rows = []
    for m, s in sorted(book.rows(), key=lambda row: (row[1].minute * 7 + row[1].hour * 11) % 24):
        local = book.local(s)
        rows.append([f"{local:%Y-%m-%d}", f"{local:%H:%M}", str(int(bool(local.dst()))), m, book.text(book.get(m, s))])
    return book, table(["date", "time", "is_dst", "cups", "kwh"], rows).encode()


@layout(
    "summer_letter_behind_the_stamp.csv",
    "P1 telegrams: 231029021500S, then 231029021500W; registers of import and export",
    timezone="Europe/Amsterdam",
    names="any",
)
def _(name):
    channels = ("1.8.1", "2.8.1")
    book = Book(name, "Europe/Amsterdam", day_range(date(2023, 10, 28), 2), 15, ["p1"], channels, level=0.3)
    for c in channels:
        total = 1200.0
        for s in book.starts:
            total = round(total + book.get("p1", s, c), 3)
            book.values["p1", c, s] = total
    rows = [
        [
            f"{book.local(s):%y%m%d%H%M%S}{'S' if book.local(s).dst() else 'W'}",
            *(book.text(book.get("p1", s, c)) for c in channels),
        ]
        for s in book.starts
    ]
    return book, table(["timestamp", *channels], rows).encode()


@layout("fixed_width_without_header.txt", "no header: meter, 20240229, 0030, value, in columns by blanks")
def _(name):
    book = Book(name, "Europe/Helsinki", day_range(date(2024, 2, 28), 2), 30, ["100017", "100025", "100033"])
    lines = [f"{m}  {book.wall(s):%Y%m%d}  {book.wall(s):%H%M}  {book.text(book.get(m, s)):>9}" for m, s in book.rows()]
    return book, ("\n".join(lines) + "\n").encode()


@layout(
    "twelve_hour_range_rows_spring.csv",
    "3/10/2024 1:30 AM is followed by 3:00 AM; end beside; $ of cost",
    timezone="America/Chicago",
)
def _(name):
    book = Book(name, "America/Chicago", day_range(date(2024, 3, 9), 3), 30, ["91-77"], decimals=2)
    rows = []
    for m, s in book.rows():
        wall, end = book.wall(s), book.end(s)
        value = book.get(m, s)
        stamps = [f"{us(time)} {twelve(time)}" for time in (wall, end)]
        rows.append([m, *stamps, book.text(value), f"${value * 0.1423:.2f}"])
    return book, table(["Meter", "Start", "End", "Usage kWh", "Cost"], rows).encode()


@layout("day_in_its_own_line.csv", "a line with the date above the rows of each day; 00:15 first are ends", names="any")
def _(name):
    book = Book(name, "Europe/Zurich", day_range(date(2024, 2, 28), 3), 15, ["A", "B"], decimals=2)
    text = table(["Uhrzeit", "A", "B"], [], ";")
    for day, starts in book.days.items():
        text += f"{day:%d.%m.%Y};;\n"
        for n, s in enumerate(starts, 1):
            text += f"{n // 4:02d}:{n % 4 * 15:02d};" + ";".join(book.text(book.get(m, s), ",") for m in "AB") + "\n"
    return book, text.encode()


@layout(
    "key_of_the_row_called_id.csv", "a table of a database: id numbers the rows, the meter is in meter_id", basis="UTC"
)
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 5, 6), 2), 30, ["501", "502"])
    rows = [
        [str(88010 + n), m, f"{s:%Y-%m-%d %H:%M:%S}+00", book.text(book.get(m, s)), f"{s:%Y-%m-%d} 23:59:59+00"]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["id", "meter_id", "timestamp", "value", "created_at"], rows).encode()


@layout("local_before_utc_autumn.csv", "local_time, in which an hour comes twice, stands before utc_time", basis="UTC")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 2), 30, ["A1", "A2"])
    rows = [
        [m, f"{book.wall(s):%Y-%m-%d %H:%M:%S}", f"{s:%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s))]
        for m, s in book.rows()
    ]
    return book, table(["meter", "local_time", "utc_time", "kwh"], rows).encode()


@layout("plain_columns_autumn.csv", "a column per meter and ISO stamps of the local clock", timezone="Europe/London")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 2), 30, ["m1", "m2", "m3"])
    rows = [[f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s)) for m in book.ids)] for s in book.starts]
    return book, table(["time", *book.ids], rows).encode()
