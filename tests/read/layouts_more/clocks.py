"""Ways of writing a time."""

from datetime import date, datetime

from read.layouts_more.readings import Book, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
AUTUMN = day_range(date(2023, 10, 28), 3)


@layout("six_digits_and_clock_without_noughts.csv", "240314 and 0, 15, 30, 100 .. 2345 in two columns")
def _(name):
    ids = ["501", "502"]
    book = Book(name, "Europe/London", MARCH, 15, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall:%y%m%d}", str(wall.hour * 100 + wall.minute), book.text(book.get(m, s))])
    return book, table(["METER", "YYMMDD", "HHMM", "KWH"], rows).encode()


@layout("zone_name_in_brackets_autumn.csv", "2023-10-29T02:15:00+02:00[Europe/Paris]", basis="UTC")
def _(name):
    ids = ["p1", "p2"]
    book = Book(name, "Europe/Paris", AUTUMN, 15, ids)
    rows = [[m, f"{book.local(s).isoformat()}[Europe/Paris]", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["point", "zonedDateTime", "kwh"], rows).encode()


@layout("weekday_first_gmt.csv", '"Thu, 14 Mar 2024 00:15:00 GMT"', basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["d1", "d2"])
    rows = [[f'"{s:%a, %d %b %Y %H:%M:%S} GMT"', m, book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["Date", "Device", "Energy"], rows).encode()


@layout("year_behind_the_zone_autumn.csv", "Sun Oct 29 02:15:00 CEST 2023, as a program prints a date", basis="UTC")
def _(name):
    book = Book(name, "Europe/Berlin", AUTUMN, 15, ["d1", "d2"])
    rows = [[m, f"{book.local(s):%a %b %d %H:%M:%S %Z %Y}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["device", "date", "kWh"], rows).encode()


@layout("ticks_of_100_nanoseconds.csv", "ticks of 100 ns since the year 1, 18 digits", basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["s1", "s2"])
    first = datetime(1, 1, 1, tzinfo=book.zone)
    rows = [[m, str(int((s - first).total_seconds()) * 10_000_000), book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["SensorId", "Ticks", "Value"], rows).encode()


@layout("hundred_nanoseconds_since_1601.csv", "file times: 100 ns since 1601, 18 digits", basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["s1", "s2"])
    first = datetime(1601, 1, 1, tzinfo=book.zone)
    rows = [[m, str(int((s - first).total_seconds()) * 10_000_000), book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["SensorId", "FileTime", "Value"], rows).encode()


@layout("microseconds_since_1970.csv", "16 digits", basis="UTC")
def _(name):
    book = Book(name, "UTC", MARCH, 15, ["s1", "s2"])
    rows = [[m, f"{epoch(s)}000000", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["node", "ts", "wh"], rows).encode()


@layout("day_numbers_and_fractions.csv", "spreadsheet dates as 45365 and times as 0.0208333333 in two columns")
def _(name):
    book = Book(name, "Europe/London", MARCH, 30, ["s1", "s2"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        fraction = (wall.hour * 60 + wall.minute) / 1440
        rows.append([m, str(45365 + (wall.date() - MARCH[0]).days), f"{fraction:.10f}", book.text(book.get(m, s))])
    return book, table(["Meter", "Date", "Time", "kWh"], rows).encode()


@layout("days_since_year_nought.csv", "datenum 739325.010416667, as a numerical program counts days")
def _(name):
    book = Book(name, "Europe/London", MARCH, 15, ["s1", "s2"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        days = wall.toordinal() + 366 + (wall.hour * 60 + wall.minute) / 1440
        rows.append([m, f"{days:.9f}", book.text(book.get(m, s))])
    return book, table(["meter", "datenum", "kWh"], rows).encode()


@layout("points_between_hours.csv", "14.03.2024 0.15 and 14.03.2024 23.45, points in the clock; decimal comma")
def _(name):
    ids = ["n1", "n2"]
    book = Book(name, "Europe/Helsinki", MARCH, 15, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall:%d.%m.%Y} {wall.hour}.{wall.minute:02d}", book.text(book.get(m, s), ",")])
    return book, table(["Käyttöpaikka", "Aika", "Kulutus kWh"], rows, ";").encode()


@layout("h_between_hours_and_minutes.csv", "14/03/2024 00h15; ends; two columns of powers in W; decimal comma")
def _(name):
    channels = ("Puissance soutirée (W)", "Puissance injectée (W)")
    book = Book(name, "Europe/Paris", MARCH, 15, ["09114000000017"], channels, decimals=1, level=900)
    rows = [
        [m, f"{book.end(s):%d/%m/%Y %Hh%M}", *(book.text(book.get(m, s, c), ",") for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["PRM", "Horodatage", *channels], rows, ";").encode()


@layout("week_of_a_year.csv", "2024-W11-4 and a half hour 1 .. 48 in two columns")
def _(name):
    ids = ["w1", "w2"]
    book = Book(name, "Europe/Stockholm", MARCH, 30, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        year, week, weekday = wall.isocalendar()
        period = wall.hour * 2 + wall.minute // 30 + 1
        rows.append([m, f"{year}-W{week:02d}-{weekday}", str(period), book.text(book.get(m, s))])
    return book, table(["meter", "day", "halfhour", "kwh"], rows).encode()


@layout("quarter_of_the_hour.csv", "a date, an hour 0 .. 23 and a quarter 1 .. 4 in three columns")
def _(name):
    ids = ["q1", "q2"]
    book = Book(name, "Europe/Berlin", MARCH, 15, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall:%d.%m.%Y}", str(wall.hour), str(wall.minute // 15 + 1), book.text(book.get(m, s), ",")])
    return book, table(["Zähler", "Datum", "Stunde", "Viertelstunde", "Arbeit [kWh]"], rows, ";").encode()


@layout(
    "midnight_without_a_clock.csv",
    "14/03/2024 alone at midnight, 14/03/2024 00:30:00 after it, as a grid control prints",
)
def _(name):
    ids = ["g1", "g2"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        midnight = not (wall.hour or wall.minute)
        rows.append([m, f"{wall:%d/%m/%Y}" if midnight else f"{wall:%d/%m/%Y %H:%M:%S}", book.text(book.get(m, s))])
    return book, table(["Meter", "ReadingDate", "Units"], rows).encode()


@layout(
    "both_ends_of_days_in_summer.csv",
    "a month-first clock of 12 hours over the autumn change, newest first",
    timezone="America/Chicago",
)
def _(name):
    ids = ["c1", "c2"]
    book = Book(name, "America/Chicago", day_range(date(2023, 11, 4), 3), 30, ids)
    rows = [
        [m, f"{book.wall(s).month}/{book.wall(s).day}/{book.wall(s):%Y %I:%M %p}", book.text(book.get(m, s))]
        for m in ids
        for s in reversed(book.starts)
    ]
    return book, table(["Account", "Usage Date", "kWh"], rows).encode()


@layout("days_below_thirteen.csv", "01/02/2024 .. 12/02/2024, nothing above 12: days follow each other", names="any")
def _(name):
    ids = ["e1", "e2"]
    book = Book(name, "Europe/London", day_range(date(2024, 2, 3), 4), 30, ids)
    rows = [
        [m, f"{day:%d/%m/%Y}", *(book.text(book.get(m, s)) for s in starts)]
        for m in ids
        for day, starts in book.days.items()
    ]
    return book, table(["Meter", "Date", *(f"HH{n:02d}" for n in range(1, 49))], rows).encode()
