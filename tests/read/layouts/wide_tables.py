"""A column per meter, or a row per meter with a column per instant."""

from datetime import date

from read.layouts.readings import Book, day_range, layout, table


@layout("units_below_the_header.csv", "a column per meter; a line with units under the header; day first")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 2, 28), 3), 30, ["MTR-101", "MTR-102", "MTR-103"])
    book.blank("MTR-102", [60, 61])
    rows = [[f"{book.wall(s):%d/%m/%Y %H:%M}", *(book.text(book.get(m, s)) for m in book.ids)] for s in book.starts]
    return book, table(["Timestamp", *book.ids], [["", "kWh", "kWh", "kWh"], *rows]).encode()


@layout("header_of_three_lines.csv", "meter, unit and quantity stacked above the columns; ids are in the first line")
def _(name):
    book = Book(
        name, "Europe/Zurich", day_range(date(2024, 10, 1), 2), 60, ["4711", "4712", "4715"], decimals=2, level=5
    )
    above = table(None, [["Zähler", *book.ids], ["Einheit", *["kWh"] * 3], ["Zeit", *["Wirkenergie"] * 3]], ";")
    rows = [
        [f"{book.wall(s):%d.%m.%Y %H:%M}", *(book.text(book.get(m, s), ",") for m in book.ids)] for s in book.starts
    ]
    return book, (above + table(None, rows, ";")).encode()


@layout(
    "row_per_meter_instants_as_columns.csv",
    "a row per meter, columns 2024-03-01T00:00 ..; tariff and postcode beside the id",
)
def _(name):
    book = Book(name, "Europe/London", [date(2024, 3, 1)], 30, ["M-01", "M-02", "M-03", "M-04"])
    rows = [
        [m, "E7" if i % 2 else "STD", "AB1", *(book.text(book.get(m, s)) for s in book.starts)]
        for i, m in enumerate(book.ids)
    ]
    header = ["meter", "tariff", "postcode", *(f"{book.wall(s):%Y-%m-%dT%H:%M}" for s in book.starts)]
    return book, table(header, rows).encode()


@layout("row_per_meter_dates_as_columns.csv", "daily totals, columns 01/03/2024 .. 16/03/2024, day first")
def _(name):
    ids = ["7712345601", "7712345602", "7712345603"]
    book = Book(name, "Europe/London", day_range(date(2024, 3, 1), 16), 1440, ids, decimals=1, level=30)
    book.blank(ids[1], [3])
    header = ["MPRN", *(f"{day:%d/%m/%Y}" for day in book.days)]
    return book, table(header, [[m, *(book.text(book.get(m, s)) for s in book.starts)] for m in ids]).encode()


@layout(
    "cz_cas_od_cas_do_spring.csv",
    "date, from and to, then a column per EAN; rows end in a separator",
    timezone="Europe/Prague",
)
def _(name):
    ids = ["859182400100000017", "859182400100000024"]
    book = Book(name, "Europe/Prague", day_range(date(2024, 3, 30), 3), 15, ids, decimals=2, level=0.5)
    rows = [
        [
            f"{book.wall(s):%d.%m.%Y}",
            f"{book.wall(s):%H:%M}",
            f"{book.end(s):%H:%M}",
            *(book.text(book.get(m, s), ",") for m in ids),
            "",
        ]
        for s in book.starts
    ]
    return book, table(["Datum", "Cas od", "Cas do", *ids], rows, ";").encode()


@layout("status_after_every_meter.csv", "a column per meter, each followed by one called Status")
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 11, 12), 3), 60, ["Z-1001", "Z-1002", "Z-1003"])
    book.blank("Z-1003", [10])
    header, rows = ["Zeit"], []
    for m in book.ids:
        header += [m, "Status"]
    for i, s in enumerate(book.starts):
        row = [f"{book.wall(s):%Y-%m-%d %H:%M}"]
        for m in book.ids:
            value = book.text(book.get(m, s), ",")
            row += [value, "F" if not value else "E" if i % 13 == 2 else "G"]
        rows.append(row)
    return book, table(header, rows, ";").encode()


@layout(
    "column_per_flat_autumn.csv", "a column per flat by the local clock, 1:00 and 1:30 twice", timezone="Europe/London"
)
def _(name):
    flats = ["Flat 1", "Flat 2", "Flat 3"]
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 2), 30, flats)
    rows = []
    for s in book.starts:
        wall = book.wall(s)
        rows.append([f"{wall:%d-%b-%y} {wall.hour}:{wall:%M}", *(book.text(book.get(m, s)) for m in flats)])
    return book, table(["Local time", *flats], rows).encode()
