"""Layouts that a second trial brought up: periods in words, months by name."""

from datetime import UTC, date, datetime

from read.layouts_more.readings import Book, day_range, layout, table

MARCH = day_range(date(2024, 3, 14), 2)


def monthly(book):
    """What was used in whole months, at their first days."""
    book.values = {
        (name, channel, start): value
        for (name, channel, start), value in book.values.items()
        if book.wall(start).day == 1
    }
    return book


def by_period(spell):
    """A file with a row for each half hour, its number within the day spelt by a function."""

    def write(name):
        book = Book(name, "Europe/London", MARCH, 30, ["1200012345678", "1200012345687"])
        rows = []
        for m, s in book.rows():
            wall = book.wall(s)
            rows.append(
                [m, f"{wall:%Y-%m-%d}", spell(wall.hour * 2 + wall.minute // 30 + 1), book.text(book.get(m, s))]
            )
        return book, table(["MPAN", "Settlement Date", "Period", "kWh"], rows).encode()

    return write


layout("period_with_letters.csv", "HH01 .. HH48 in rows beside a date")(by_period(lambda n: f"HH{n:02d}"))
layout("period_of_48.csv", "1 of 48 .. 48 of 48 in rows beside a date")(by_period(lambda n: f"{n} of 48"))


@layout("hours_from_to_in_rows.csv", "0 - 1 .. 23 - 24 in rows beside a date; decimal comma")
def _(name):
    book = Book(name, "Europe/Rome", MARCH, 60, ["IT001E00000017"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall:%d/%m/%Y}", f"{wall.hour} - {wall.hour + 1}", book.text(book.get(m, s), ",")])
    return book, table(["POD", "Giorno", "Ora", "Energia kWh"], rows, ";").encode()


@layout("year_and_name_of_the_month.csv", "a year and a month by its name in two columns, a meter in the third")
def _(name):
    days = [date(year, month, 1) for year in (2022, 2023) for month in range(1, 13)]
    book = monthly(Book(name, "UTC", days, 1440, ["g-1", "g-2"], decimals=1, level=900))
    rows = [[f"{s:%Y}", f"{s:%B}", m, book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["Year", "Month", "Meter", "kWh"], rows).encode()


@layout("years_down_months_across.csv", "Year, Jan .. Dec and a total; two meters")
def _(name):
    days = [date(year, month, 1) for year in (2022, 2023) for month in range(1, 13)]
    book = monthly(Book(name, "UTC", days, 1440, ["g-1", "g-2"], decimals=1, level=900))
    rows = []
    for m in book.ids:
        for year in (2022, 2023):
            values = [book.get(m, datetime(year, month, 1, tzinfo=UTC)) for month in range(1, 13)]
            rows.append([m, str(year), *map(book.text, values), book.text(sum(values))])
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    return book, table(["Meter", "Year", *months, "Total"], rows).encode()


@layout("clock_followed_by_a_word.csv", "14.03.2024 00:30 Uhr; whole numbers of watts")
def _(name):
    book = Book(name, "Europe/Berlin", MARCH, 15, ["Halle"], decimals=0, level=900)
    rows = [[f"{book.wall(s):%d.%m.%Y %H:%M} Uhr", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["Zeitpunkt", "Leistung [W]"], rows, ";").encode()


@layout("day_parts_as_names.csv", "0, 0.0208333333333333 .. as a spreadsheet names half hours")
def _(name):
    ids = ["801", "802"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    rows = [
        [m, f"{day:%d/%m/%Y}", *(book.text(book.get(m, s)) for s in starts)]
        for m in ids
        for day, starts in book.days.items()
    ]
    return book, table(["Meter", "Date", *(f"{n / 48:.15g}" for n in range(48))], rows).encode()


@layout("twelve_digits_called_time.csv", "id,time,value with 202403140030: no mere number")
def _(name):
    ids = ["a", "b"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    rows = [[m, f"{book.wall(s):%Y%m%d%H%M}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["id", "time", "value"], rows).encode()


@layout("seconds_called_time.csv", "id,time,value with seconds since 1970: no mere number", basis="UTC")
def _(name):
    ids = ["a", "b"]
    book = Book(name, "UTC", MARCH, 30, ids)
    rows = [[m, str(int(s.timestamp())), book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["id", "time", "value"], rows).encode()
