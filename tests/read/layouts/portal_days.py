"""A row per meter and day, as portals of suppliers and data collectors write them."""

from datetime import date, timedelta

from read.layouts.day_rows import UK, cells, clock
from read.layouts.readings import Book, day_range, layout, table


@layout("half_hour_1_kwh.csv", "Half Hour 1 (kWh) .. Half Hour 48 (kWh); Mon 01/01/2024; the site beside the meter")
def _(name):
    sites = dict(zip(UK, ("Oak School", "Oak School", "Elm School"), strict=True))
    book = Book(name, "Europe/London", day_range(date(2024, 1, 1), 3), 30, UK, decimals=1, level=9)
    header = ["Site Name", "MPAN", "Date", "Total (kWh)", *(f"Half Hour {n} (kWh)" for n in range(1, 49))]
    rows = [
        [sites[m], m, f"{d:%a %d/%m/%Y}", f"{sum(book.get(m, s) for s in starts):.1f}", *cells(book, m, d)]
        for m in book.ids
        for d, starts in book.days.items()
    ]
    return book, table(header, rows).encode()


@layout("twelve_hour_clock_with_unit.csv", "12:00 AM kWh .. 11:30 PM kWh; 01-Jan-24; ids with leading noughts")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 1), 3), 30, ["0012345678", "0012345679"])
    names = [f"{h % 12 or 12}:{m:02d} {'AM' if h < 12 else 'PM'} kWh" for h in range(24) for m in (0, 30)]
    rows = [[m, f"{d:%d-%b-%y}", *cells(book, m, d)] for m in book.ids for d in book.days]
    return book, table(["Meter Serial Number", "Reading Date", *names], rows).encode()


@layout("flags_in_a_block_behind.csv", "00:00:00 .. 23:30:00, then a block of 48 flags; maximum and its time")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 30), 3), 30, UK[:2], decimals=2, level=5)
    labels = clock(30, "{:02d}:{:02d}:00")
    header = ["MPAN", "Date", *labels, *(f"{label} Est" for label in labels), "Max", "Time of Max"]
    rows = []
    for m in book.ids:
        for d, starts in book.days.items():
            values = [book.get(m, s) for s in starts]
            flags = ["E" if (i + d.day) % 19 == 3 else "A" for i in range(48)]
            peak = labels[values.index(max(values))]
            rows.append([m, f"{d:%d/%m/%Y}", *cells(book, m, d), *flags, f"{max(values):.2f}", peak])
    return book, table(header, rows).encode()


@layout("measurement_quantity_ai_ri.csv", "everything quoted; 0000 .. 2330; AI and RI in rows; rows end in a comma")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 2, 12), 2), 30, UK, ("AI", "RI"))
    header = ["MPAN Core", "Measurement Quantity", "Settlement Date", *clock(30, "{:02d}{:02d}"), ""]
    rows = [
        [m, c, f"{d:%Y-%m-%d}", *cells(book, m, d, c), ""] for m in book.ids for c in book.channels for d in book.days
    ]
    quoted = [[f'"{cell}"' for cell in row] for row in [header, *rows]]
    return book, table(None, quoted).encode()


@layout("ends_0030_to_0000.csv", "0030 .. 2330, 0000 are ends; 20240101")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 1), 3), 30, ["LG01", "LG02", "LG05"])
    book.blank("LG02", [70, 71])
    rows = [[m, f"{d:%Y%m%d}", *cells(book, m, d)] for m in book.ids for d in book.days]
    return book, table(["Channel ID", "ReadDate", *clock(30, "{:02d}{:02d}", 30, "0000")], rows).encode()


@layout("v01_v24_dotted_dates.csv", "2024.01.29; V01 .. V24; 1.234,5; a footer with sums")
def _(name):
    book = Book(name, "Europe/Budapest", day_range(date(2024, 1, 29), 4), 60, ["1001", "1002"], decimals=1, level=1500)
    header = ["Merohely", "Datum", *(f"V{n:02d}" for n in range(1, 25))]
    rows = [[m, f"{d:%Y.%m.%d}", *cells(book, m, d, decimal=",", thousands=".")] for m in book.ids for d in book.days]
    sums = []
    for n in range(24):
        total = sum(book.get(m, starts[n]) for m in book.ids for starts in book.days.values())
        sums.append(book.text(total, ",", "."))
    return book, table(header, [*rows, ["Osszesen", "", *sums]], ";").encode()


@layout(
    "import_active_hh01_spring.csv",
    "hh01 .. hh48, the n-th half hour of the day; 46 on 31 March 2024; Import Active and Export Active",
    timezone="Europe/London",
)
def _(name):
    channels = ("Export Active", "Import Active")
    book = Book(name, "Europe/London", day_range(date(2024, 3, 30), 3), 30, UK[:2], channels)
    header = ["mpan", "channel", "date", "uom", *(f"hh{n:02d}" for n in range(1, 49))]
    rows = [
        [m, c, f"{d:%d/%m/%Y}", "kWh", *cells(book, m, d, c, 48)]
        for m in book.ids
        for d in book.days
        for c in reversed(channels)
    ]
    return book, table(header, rows).encode()


@layout("ten_minutes_ends.csv", "00:10 .. 24:00; a day of the week beside the date; n.a. and ***")
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 5, 13), 2), 10, ["Halle 1", "Halle 2"], decimals=1, level=8)
    book.blank("Halle 1", [20, 21])
    book.blank("Halle 2", [200])
    header = ["Messstelle", "Datum", "Wochentag", *clock(10, first=10)]
    week = ("Mo", "Di", "Mi", "Do", "Fr", "Sa", "So")
    rows = [
        [
            m,
            f"{d:%d.%m.%Y}",
            week[d.weekday()],
            *cells(book, m, d, decimal=",", missing="n.a." if m == "Halle 1" else "***"),
        ]
        for m in book.ids
        for d in book.days
    ]
    return book, table(header, rows, ";").encode()


@layout(
    "hour_3a_3b_both_changes.csv",
    "Hour 1, Hour 2, Hour 3A, Hour 3B, Hour 4 ..: 3B is the second 2 to 3; Hour 3A is empty in spring",
    timezone="Europe/Berlin",
)
def _(name):
    days = [*day_range(date(2024, 3, 30), 3), *day_range(date(2024, 10, 26), 3)]
    book = Book(name, "Europe/Berlin", days, 60, ["DE-N", "DE-S"], decimals=2, level=60)
    labels = ["1", "2", "3A", "3B", *map(str, range(4, 25))]
    rows = []
    for m in book.ids:
        for d, starts in book.days.items():
            printed = {}
            for s in starts:
                local = book.local(s)
                printed[local.hour, local.fold] = book.text(book.get(m, s))
            slots = [(h, f) for h in range(24) for f in ((0, 1) if h == 2 else (0,))]
            rows.append([f"{d:%d/%m/%Y}", m, *(printed.get(slot, "") for slot in slots)])
    return book, table(["Delivery day", "Area", *(f"Hour {label}" for label in labels)], rows).encode()


@layout("clock_down_dates_across.csv", "a row per time of day, a column per date, of one meter named above the table")
def _(name):
    book = Book(name, "Europe/Madrid", day_range(date(2024, 2, 26), 7), 30, ["K8-0041"], decimals=2)
    rows = [
        [
            f"{h:02d}:{m:02d}",
            *(book.text(book.get("K8-0041", starts[2 * h + m // 30])) for starts in book.days.values()),
        ]
        for h in range(24)
        for m in (0, 30)
    ]
    above = "Meter,K8-0041\nUnit,kWh\n\n"
    return book, (above + table(["Time", *(f"{d:%d/%m/%Y}" for d in book.days)], rows)).encode()


@layout(
    "totals_below_every_meter.csv", "rows of a meter are followed by a line with its sums; 1 Jan 2024; Mac line ends"
)
def _(name):
    book = Book(name, "Europe/Dublin", day_range(date(2024, 1, 1), 3), 30, ["10301234567", "10301234568"], decimals=2)
    header = ["MPRN", "Date", *(f"{c}-{e}" for c, e in zip(clock(30), clock(30, first=30), strict=True))]
    rows = []
    for m in book.ids:
        rows += [[m, f"{d.day} {d:%b %Y}", *cells(book, m, d)] for d in book.days]
        sums = [sum(book.get(m, starts[n]) for starts in book.days.values()) for n in range(48)]
        rows.append(["Total", "", *(f"{value:.2f}" for value in sums)])
    return book, table(header, rows).replace("\n", "\r").encode()


@layout("dates_with_midnight_and_zone.csv", "2024-01-01T00:00:00Z is the day of 48 columns p1 .. p48", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 1, 1), 3), 30, ["ab-1", "ab-2", "ab-3"])
    book.drop("ab-2", range(48, 96))
    rows = [
        [m, f"{d}T00:00:00Z", *cells(book, m, d)]
        for m in book.ids
        for d in book.days
        if (m, "", book.days[d][0]) in book.values
    ]
    return book, table(["meter", "day", *(f"p{n}" for n in range(1, 49))], rows).encode()


@layout("week_rows.csv", "weekly m3 by ISO week, 2024-W01")
def _(name):
    weeks = [date(2024, 1, 1) + timedelta(weeks=i) for i in range(9)]
    book = Book(name, "Europe/Amsterdam", weeks, 1440, ["G4-001", "G4-002", "G4-003"], decimals=2, level=90)
    rows = [[m, f"{book.wall(s):%G-W%V}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["meter", "week", "m3"], rows).encode()


@layout(
    "clock_with_a_second_hour_behind.csv",
    "00:00 .. 23:30, then 01:00 (2) and 01:30 (2), which are empty but on 29 October 2023",
    timezone="Europe/London",
)
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 3), 30, UK[:2])
    slots = [(h, m, 0) for h in range(24) for m in (0, 30)] + [(1, 0, 1), (1, 30, 1)]
    header = ["MPAN", "Date", *(f"{h:02d}:{m:02d}{' (2)' if again else ''}" for h, m, again in slots)]
    rows = []
    for meter in book.ids:
        for day, starts in book.days.items():
            printed = {}
            for s in starts:
                local = book.local(s)
                printed[local.hour, local.minute, local.fold] = book.text(book.get(meter, s))
            rows.append([meter, f"{day:%d/%m/%Y}", *(printed.get(slot, "") for slot in slots)])
    return book, table(header, rows).encode()


@layout("number_and_range_in_the_name.csv", "HH1 (00:00-00:30) .. HH48 (23:30-24:00)")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 30), 3), 30, UK[:2])
    ranges = zip(clock(30), clock(30, first=30), strict=True)
    header = ["MPAN", "Date", *(f"HH{n} ({start}-{end})" for n, (start, end) in enumerate(ranges, 1))]
    return book, table(header, [[m, f"{d:%d/%m/%Y}", *cells(book, m, d)] for m in book.ids for d in book.days]).encode()


@layout(
    "clock_on_day_nought.csv", "30/12/1899 00:30:00 .. 31/12/1899 00:00:00: times as a spreadsheet prints them, ends"
)
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 1, 30), 3), 30, UK[:2])
    ends = [f"30/12/1899 {c}" for c in clock(30, "{:02d}:{:02d}:00", 30, "00:00:00")]
    rows = [[m, f"{d:%d/%m/%Y}", *cells(book, m, d)] for m in book.ids for d in book.days]
    return book, table(["MPAN", "Date", *ends[:-1], "31/12/1899 00:00:00"], rows).encode()


MONTHS = [date(2023, month, 1) for month in range(1, 13)]


@layout("months_across.csv", "a row per meter, columns Jan-23 .. Dec-23")
def _(name):
    book = Book(name, "Europe/London", MONTHS, 1440, ["77001", "77002", "77003"], decimals=1, level=900)
    rows = [[m, *(book.text(book.get(m, s)) for s in book.starts)] for m in book.ids]
    return book, table(["MPRN", *(f"{d:%b-%y}" for d in MONTHS)], rows).encode()


@layout("months_by_name_in_rows.csv", "January 2023 and a reading of gas in m3")
def _(name):
    book = Book(name, "Europe/London", MONTHS, 1440, ["g1", "g2"], decimals=1, level=90)
    rows = [[m, f"{book.wall(s):%B %Y}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["meter", "month", "m3"], rows).encode()
