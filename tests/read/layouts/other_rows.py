"""A row per reading, as operators outside Europe, databases and spreadsheets write them."""

from datetime import date, datetime

from read.layouts.readings import Book, day_range, layout, table

US_AUTUMN = day_range(date(2023, 11, 4), 3)


def twelve(wall):
    """A time with AM or PM, as 1:30 AM."""
    return f"{wall.hour % 12 or 12}:{wall:%M} {'AM' if wall.hour < 12 else 'PM'}"


def us(wall):
    return f"{wall.month}/{wall.day}/{wall.year}"


@layout(
    "us_start_time_duration_autumn.csv",
    "lines above the table; 1:00 AM twice on 11/5/2023; a column with the length of the interval; two quantities",
    timezone="America/Los_Angeles",
)
def _(name):
    book = Book(name, "America/Los_Angeles", US_AUTUMN, 15, ["05412233"], ("Consumption", "Generation"), 4, 0.3)
    above = 'Name,A CUSTOMER\nAddress,"1 ANY STREET, ANYTOWN CA"\nAccount Number,000000000\nDisclaimer,"As is."\n\n'
    rows = [
        [m, us(book.wall(s)), twelve(book.wall(s)), "15", *(book.text(book.get(m, s, c)) for c in book.channels)]
        for m, s in book.rows()
    ]
    return book, (above + table(["Meter Number", "Date", "Start Time", "Duration", *book.channels], rows)).encode()


@layout(
    "us_hour_ending_dst_flag_wide.csv",
    "a column per load zone; HourEnding 01:00 .. 24:00; 02:00 twice on 11/05/2023, the second with DSTFlag Y",
    timezone="America/Chicago",
    layout="wide",
)
def _(name):
    zones = ["COAST", "EAST", "FAR_WEST", "NORTH"]
    book = Book(name, "America/Chicago", US_AUTUMN, 60, zones, decimals=2, level=9000)
    rows = []
    for s in book.starts:
        wall = book.wall(s)
        flag = "Y" if book.local(s).fold else "N"
        rows.append([f"{wall:%m/%d/%Y}", f"{wall.hour + 1:02d}:00", *(book.text(book.get(m, s)) for m in zones), flag])
    return book, table(["OperDay", "HourEnding", *zones, "DSTFlag"], rows).encode()


@layout("us_time_zone_column_autumn.csv", "EDT or EST beside the stamp; 01:00:00 twice", timezone="America/New_York")
def _(name):
    book = Book(name, "America/New_York", US_AUTUMN, 60, ["CAPITL", "CENTRL", "DUNWOD"], decimals=1, level=1500)
    rows = [
        [f'"{book.wall(s):%m/%d/%Y %H:%M:%S}"', f'"{book.local(s):%Z}"', f'"{m}"', book.text(book.get(m, s))]
        for s in book.starts
        for m in book.ids
    ]
    return book, table(['"Time Stamp"', '"Time Zone"', '"Name"', '"Integrated Load"'], rows).encode()


@layout("us_interval_end_hhmm.csv", "ends as bare numbers, 15 .. 2400; quality A, E, and M without a value")
def _(name):
    book = Book(name, "America/Chicago", day_range(date(2024, 1, 30), 2), 15, ["1008901", "1008902"], level=0.2)
    book.blank("1008901", [100, 101, 102])
    rows = []
    for i, (m, s) in enumerate(book.rows()):
        end = book.end(s)
        number = end.hour * 100 + end.minute or 2400
        value = book.text(book.get(m, s))
        quality = "M" if not value else "E" if i % 23 == 7 else "A"
        rows.append([m, f"{book.wall(s):%m/%d/%Y}", str(number), value, quality])
    return book, table(["ESIID", "READ_DATE", "INTERVAL_END", "KWH", "QUAL"], rows, "|").encode()


@layout(
    "us_account_meter_12_hour_clock.csv", "3/11/24 and 12:00 AM; an account with two meters, so the meter is the id"
)
def _(name):
    accounts = {"5501": "A-1001", "5502": "A-1001", "5777": "A-2040"}
    book = Book(name, "America/Denver", day_range(date(2024, 3, 11), 4), 60, list(accounts), decimals=2)
    book.drop("5777", [50, 51, 52])
    rows = [
        [
            accounts[m],
            m,
            f"{book.wall(s).month}/{book.wall(s).day}/{book.wall(s):%y}",
            twelve(book.wall(s)),
            book.text(book.get(m, s)),
        ]
        for m, s in book.rows()
    ]
    return book, table(["Account Number", "Meter", "Read Date", "Read Time", "Usage (kWh)"], rows).encode()


@layout("us_demand_with_thousands.csv", 'start and end in a row; quoted "1,234.5"')
def _(name):
    book = Book(
        name, "America/New_York", day_range(date(2024, 7, 14), 2), 30, ["Chiller Plant", "Main"], decimals=1, level=1200
    )
    rows = [
        [
            m,
            f"{book.wall(s):%Y-%m-%d %H:%M}",
            f"{book.end(s):%Y-%m-%d %H:%M}",
            f'"{book.text(book.get(m, s), thousands=",")}"',
        ]
        for m, s in book.rows()
    ]
    return book, table(["Meter Name", "Interval Start", "Interval End", "Demand (kW)"], rows).encode()


@layout(
    "au_local_time_autumn.csv", "2/04/2023 2:30 AM twice; import and export in columns", timezone="Australia/Sydney"
)
def _(name):
    days = day_range(date(2023, 4, 1), 2)
    book = Book(name, "Australia/Sydney", days, 30, ["NCCC0000001", "NCCC0000002"], ("Import kWh", "Export kWh"))
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        stamp = f"{wall.day}/{wall:%m/%Y} {twelve(wall)}"
        rows.append([m, stamp, *(book.text(book.get(m, s, c)) for c in book.channels)])
    return book, table(["NMI", "Local Time", *book.channels], rows).encode()


@layout("in_time_block_1_96.csv", "a quarter hour by its number in the day, 1 .. 96; date and number in two columns")
def _(name):
    book = Book(name, "Asia/Kolkata", day_range(date(2024, 5, 30), 2), 15, ["HT-204", "HT-311"], decimals=2, level=30)
    rows = [
        [m, f"{day:%d-%m-%Y}", str(block), book.text(book.get(m, start))]
        for m in book.ids
        for day, starts in book.days.items()
        for block, start in enumerate(starts, 1)
    ]
    return book, table(["Meter Sl No", "Date", "Time Block", "Active Energy kWh"], rows).encode()


@layout("iso_basic_utc.csv", "20230326T0030Z", basis="UTC")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 3, 25), 2), 30, ["m1", "m2", "m3"])
    book.drop("m2", [20])
    rows = [[f"{s:%Y%m%dT%H%MZ}", m, book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["ts", "meter", "kwh"], rows).encode()


@layout("epoch_milliseconds.tsv", "milliseconds since 1970", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 3, 31), 2), 30, ["dev-a4c1", "dev-a4c2"], decimals=1, level=300)
    rows = [[m, str(int(s.timestamp() * 1000)), book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["device_id", "ts_ms", "power_w"], rows, "\t").encode()


@layout("oracle_timestamps.csv", "01-MAR-24 12.30.00.000000 AM")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 2, 28), 3), 60, ["900001", "900002"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        stamp = f"{wall:%d}-{wall:%b}-{wall:%y} {wall:%I.%M.%S}.000000 {wall:%p}".upper()
        rows.append([f'"{m}"', f'"{stamp}"', book.text(book.get(m, s)).removeprefix("0")])
    return book, table(['"METER_ID"', '"READ_TS"', '"READ_VALUE"'], rows).encode()


@layout("spreadsheet_serial_dates.csv", "days since 30 December 1899 with a fraction, as a spreadsheet saves them")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 6, 10), 3), 30, ["B1-Light", "B1-Heat"], decimals=2)
    rows = []
    for m, s in book.rows():
        days = (book.wall(s) - datetime(1899, 12, 30)).total_seconds() / 86400
        rows.append([m, f"{days:.6f}", book.text(book.get(m, s))])
    return book, table(["Point", "Date/Time", "kWh"], rows).encode()


@layout("words_for_missing.csv", "#N/A, NaN, n/a and --- stand for no value; blank lines between meters")
def _(name):
    book = Book(name, "Europe/Dublin", day_range(date(2024, 9, 1), 2), 30, ["100", "200", "300"])
    words = ("#N/A", "NaN", "n/a", "---")
    for m in book.ids:
        book.blank(m, [5, 17, 40, 41])
    blocks = []
    for n, m in enumerate(book.ids):
        rows = [
            [m, f"{book.wall(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s), missing=words[(n + i) % 4])]
            for i, s in enumerate(book.starts)
        ]
        blocks.append(table(None, rows, ";"))
    return book, ("meter;timestamp;kwh\n" + "\n".join(blocks)).encode()


@layout("unicode_text_from_a_spreadsheet.txt", "UTF-16 with tabs, CRLF, 27/03/2024 00:30:00")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 3, 27), 2), 30, ["Küche", "Büro"])
    rows = [[m, f"{book.wall(s):%d/%m/%Y %H:%M:%S}", book.text(book.get(m, s))] for m, s in book.rows()]
    text = table(["Sub-meter", "Reading time", "kWh"], rows, "\t").replace("\n", "\r\n")
    return book, b"\xff\xfe" + text.encode("utf-16-le")


@layout("year_month_day_hour_minute.csv", "the time in five columns of numbers")
def _(name):
    book = Book(name, "Europe/Paris", day_range(date(2024, 2, 28), 3), 30, ["11", "12", "13"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        parts = (wall.year, wall.month, wall.day, wall.hour, wall.minute)
        rows.append([m, *map(str, parts), book.text(book.get(m, s))])
    return book, table(["house", "year", "month", "day", "hour", "minute", "kwh"], rows).encode()


@layout(
    "date_and_hour_0_23.csv", "hours 0 .. 23 in a column; rows by hour, so that no two of a meter follow each other"
)
def _(name):
    book = Book(name, "Europe/Athens", day_range(date(2024, 4, 28), 4), 60, ["GR-01", "GR-02", "GR-03"], decimals=2)
    rows = [
        [f"{book.wall(s):%Y-%m-%d}", str(book.wall(s).hour), m, book.text(book.get(m, s))]
        for s in book.starts
        for m in book.ids
    ]
    return book, table(["date", "hour", "supply", "consumption"], rows).encode()


@layout("hu_dates_with_dots_autumn.csv", "2023.10.29. 2:15, twice in order; decimal comma", timezone="Europe/Budapest")
def _(name):
    days = day_range(date(2023, 10, 28), 2)
    book = Book(name, "Europe/Budapest", days, 15, ["HU000210F11-S00000000000000000017"], ("+A (kWh)", "-A (kWh)"))
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        stamp = f"{wall:%Y.%m.%d.} {wall.hour}:{wall:%M}"
        rows.append([m, stamp, *(book.text(book.get(m, s, c), ",") for c in book.channels)])
    return book, table(["POD", "Időpont", *book.channels], rows, ";").encode()


@layout("zone_behind_the_stamp.csv", "29.10.2023 02:15 CEST, then 02:15 CET; newest first", timezone="Europe/Berlin")
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2023, 10, 28), 2), 15, ["Haus 4"], decimals=2, level=3)
    rows = [[f"{book.local(s):%d.%m.%Y %H:%M %Z}", book.text(book.get(m, s), ",")] for m, s in reversed(book.rows())]
    return book, table(["Zeit", "Leistung [kW]"], rows, ";").encode()


@layout("offset_without_colon.csv", "2023-10-29 02:00:00 +0200", basis="UTC")
def _(name):
    book = Book(
        name, "Europe/Amsterdam", day_range(date(2023, 10, 29), 1), 15, ["site-1", "site-2"], decimals=0, level=900
    )
    rows = [[m, f"{book.local(s):%Y-%m-%d %H:%M:%S %z}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["Site", "Date/Time", "Energy Produced (Wh)"], rows).encode()


@layout("unit_behind_every_number.csv", "0.42 kWh in each cell of a column per meter")
def _(name):
    book = Book(
        name, "Europe/London", day_range(date(2024, 7, 30), 2), 30, ["Meter 1", "Meter 2", "Meter 3"], decimals=2
    )
    rows = [
        [f'"{book.wall(s):%Y-%m-%d %H:%M:%S}"', *(book.text(book.get(m, s)) + " kWh" for m in book.ids)]
        for s in book.starts
    ]
    return book, table(['"Time"', *book.ids], rows).encode()


@layout(
    "header_again_and_total_at_the_end.csv",
    "files put behind each other: the header comes again; the last line is a sum",
)
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 1, 30), 3), 60, ["Z1", "Z2"], decimals=2)
    header = ["Zähler", "Datum", "Zeit", "kWh"]
    parts = []
    for m in book.ids:
        rows = [
            [m, f"{book.wall(s):%d.%m.%Y}", f"{book.wall(s):%H:%M}", book.text(book.get(m, s), ",")]
            for s in book.starts
        ]
        parts.append(table(header, rows, ";"))
    total = sum(book.values.values())
    return book, ("".join(parts) + table(None, [["Summe", "", "", book.text(total, ",")]], ";")).encode()


@layout("columns_by_blanks.txt", "columns lined up by blanks, right-aligned numbers")
def _(name):
    book = Book(name, "Europe/Dublin", day_range(date(2024, 3, 1), 2), 30, ["1002", "1004", "10010"])
    lines = [f"{'MeterID':<10}{'Date':<12}{'Time':<8}{'kWh':>8}"]
    for m, s in book.rows():
        lines.append(f"{m:<10}{book.wall(s):%Y-%m-%d}  {book.wall(s):%H:%M}   {book.text(book.get(m, s)):>8}")
    return book, ("\n".join(lines) + "\n").encode()
