"""A row per meter and day."""

import gzip
from datetime import date

from read.layouts.readings import FRENCH_MONTHS, Book, day_range, layout, table

UK = ("2000031234567", "2000031234576", "2000031234585")


def cells(book, name, day, channel="", n=None, **spelling):
    """The readings of a day as text, padded to n columns."""
    printed = [book.text(book.get(name, start, channel), **spelling) for start in book.days[day]]
    return printed + [""] * ((n or 0) - len(printed))


def clock(minutes, pattern="{:02d}:{:02d}", first=0, last=None):
    """Names of columns by the clock, `minutes` apart; `last` is what midnight at the end of the day is called."""
    names = [pattern.format(*divmod(minute, 60)) for minute in range(first, 1440 + first, minutes)]
    return names if last is None else [*names[:-1], last]


@layout("uk_hh01_flag_after_value.csv", "HH01, HH01 Flag, ... HH48, HH48 Flag; d/m/y; flag M without a value")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 3, 13), 3), 30, UK)
    book.blank(UK[1], range(52, 58))
    header = ["MPAN", "Settlement Date"]
    for n in range(1, 49):
        header += [f"HH{n:02d}", f"HH{n:02d} Flag"]
    rows = []
    for meter in UK:
        for day in book.days:
            row = [meter, f"{day:%d/%m/%Y}"]
            for i, cell in enumerate(cells(book, meter, day)):
                row += [cell, "M" if not cell else "E" if i % 17 == 3 else "A"]
            rows.append(row)
    return book, table(header, rows).encode()


@layout("uk_reading_1_50_autumn.csv", "Reading 1 .. Reading 50, pipes, 29-Oct-2023 has 50", timezone="Europe/London")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 3), 30, ["E0012", "E0047"], decimals=2)
    header = ["Meter ID", "Reading Date", *(f"Reading {n}" for n in range(1, 51))]
    rows = [[m, f"{day:%d-%b-%Y}", *cells(book, m, day, n=50)] for m in book.ids for day in book.days]
    return book, table(header, rows, "|").encode()


@layout(
    "uk_kwh_at_end_of_interval.csv", "kWh@00:30 .. kWh@24:00 are ends; a site has two meters, so the meter is the id"
)
def _(name):
    sites = {"K55A01": "North Depot", "K55A02": "North Depot", "K71C09": "Town Hall"}
    book = Book(name, "Europe/London", day_range(date(2024, 2, 27), 4), 30, list(sites), decimals=1, level=12)
    header = ["Site", "Meter", "Date", *(f"kWh@{c}" for c in clock(30, first=30))]
    rows = [[sites[m], m, f"{day:%Y/%m/%d}", *cells(book, m, day)] for day in book.days for m in book.ids]
    return book, table(header, rows, ";").encode()


@layout(
    "uk_end_times_with_seconds_two_quantities.csv", "00:30:00 .. 24:00:00 are ends; a row per quantity; a daily total"
)
def _(name):
    quantities = ("Active Import", "Reactive Import")
    book = Book(name, "Europe/London", day_range(date(2024, 1, 15), 2), 30, UK[:2], quantities)
    header = ["MPAN", "Quantity", "Date", *clock(30, "{:02d}:{:02d}:00", 30), "Daily Total"]
    rows = []
    for m in book.ids:
        for day in book.days:
            for quantity in quantities:
                total = sum(book.get(m, start, quantity) for start in book.days[day])
                rows.append([m, quantity, f"{day:%d-%m-%Y}", *cells(book, m, day, quantity), f"{total:.3f}"])
    return book, table(header, rows).encode()


@layout(
    "uk_t0000_spring.tsv",
    "T0000 .. T2330 by the local clock; 01:00 to 02:00 of 20230326 stays empty",
    timezone="Europe/London",
)
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 3, 25), 3), 30, ["1017", "1023", "1101"])
    labels = clock(30, "{:02d}{:02d}")
    rows = []
    for m in book.ids:
        for day in book.days:
            printed = {f"{book.wall(s):%H%M}": book.text(book.get(m, s)) for s in book.days[day]}
            rows.append([m, f"{day:%Y%m%d}", *(printed.get(label, "") for label in labels)])
    return book, table(["meter", "date", *(f"T{label}" for label in labels)], rows, "\t").encode()


@layout("uk_hh_0_47.csv", "hh_0 .. hh_47, periods counted from nought")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2013, 6, 3), 3), 30, ["H000131", "H000274", "H003020"])
    book.blank("H000274", [10, 11])
    header = ["household", "day", *(f"hh_{n}" for n in range(48))]
    return book, table(header, [[m, f"{day}", *cells(book, m, day)] for m in book.ids for day in book.days]).encode()


@layout("uk_hh_clock_in_name.csv.gz", "gzip; hh_0000 .. hh_2330 are starts")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 5, 14), 3), 30, UK)
    header = ["mpan", "read_date", "unit", *(f"hh_{c}" for c in clock(30, "{:02d}{:02d}"))]
    rows = [[m, f"{day}", "kWh", *cells(book, m, day)] for m in book.ids for day in book.days]
    return book, gzip.compress(table(header, rows).encode(), mtime=0)


@layout(
    "it_giorno_quarter_hour_ranges.csv",
    "00:00-00:15 .. 23:45-00:00; quoted decimal commas; rows end in a separator",
    names="any",
)
def _(name):
    book = Book(name, "Europe/Rome", day_range(date(2024, 9, 12), 4), 15, ["it_giorno_quarter_hour_ranges"], level=0.15)
    ranges = zip(clock(15), clock(15, first=15, last="00:00"), strict=True)
    header = ["Giorno", *(f"{start}-{end}" for start, end in ranges)]
    days = [[f"{day:%d/%m/%Y}", *cells(book, book.ids[0], day, decimal=",")] for day in book.days]
    rows = [[*(f'"{cell}"' for cell in day), ""] for day in days]
    return book, table(header, rows, ";").encode()


@layout(
    "it_pod_hour_ranges_spring.csv",
    "0-1 .. 23-24; 2-3 of 26/03/2023 stays empty; EA and ER in rows",
    timezone="Europe/Rome",
)
def _(name):
    pods = ["IT001E00123456", "IT001E00654321"]
    book = Book(name, "Europe/Rome", day_range(date(2023, 3, 25), 3), 60, pods, ("EA", "ER"), level=2)
    header = ["POD", "Data", "Energia", *(f"{h}-{h + 1}" for h in range(24))]
    rows = []
    for pod in pods:
        for day in book.days:
            for channel in book.channels:
                printed = {book.wall(s).hour: book.text(book.get(pod, s, channel), decimal=",") for s in book.days[day]}
                rows.append([pod, f"{day:%d/%m/%Y}", channel, *(printed.get(h, "") for h in range(24))])
    return book, table(header, rows, ";").encode()


@layout("ca_hour_1_24_us_dates.csv", "Hour 1 .. Hour 24; month first, as 3/13/2024 shows")
def _(name):
    book = Book(
        name, "America/Toronto", day_range(date(2024, 3, 11), 4), 60, ["J1000231", "J1000249", "J1000256"], decimals=2
    )
    header = ["Meter No.", "Read Date", "Unit", *(f"Hour {n}" for n in range(1, 25))]
    rows = [[m, f"{d.month}/{d.day}/{d.year}", "kWh", *cells(book, m, d)] for m in book.ids for d in book.days]
    return book, table(header, rows).encode()


@layout("es_h1_h25_both_changes.csv", "H1 .. H25; 23 hours on 26/03/2023, 25 on 29/10/2023", timezone="Europe/Madrid")
def _(name):
    days = [*day_range(date(2023, 3, 25), 3), *day_range(date(2023, 10, 28), 3)]
    book = Book(name, "Europe/Madrid", days, 60, ["ES0031000000000001JN0F", "ES0031000000000002JS0F"])
    header = ["CUPS", "FECHA", *(f"H{n}" for n in range(1, 26))]
    rows = [[m, f"{d:%d/%m/%Y}", *cells(book, m, d, n=25, decimal=",")] for m in book.ids for d in book.days]
    return book, table(header, rows, ";").encode()


@layout(
    "at_q1_q100_autumn.csv", "Q1 .. Q100 in Windows-1252; 100 quarter hours on 29.10.2023", timezone="Europe/Vienna"
)
def _(name):
    ids = ["AT0010000000000000001000000000001", "AT0010000000000000001000000000002"]
    book = Book(name, "Europe/Vienna", day_range(date(2023, 10, 28), 2), 15, ids, level=0.1)
    header = ["Zählpunktnummer", "Datum", *(f"Q{n}" for n in range(1, 101))]
    rows = [[m, f"{d:%d.%m.%Y}", *cells(book, m, d, n=100, decimal=",")] for m in book.ids for d in book.days]
    return book, table(header, rows, ";").encode("cp1252")


@layout(
    "nz_tp1_tp50_both_changes.csv",
    "trading periods TP1 .. TP50; 50 on 2 April, 46 on 24 September 2023",
    timezone="Pacific/Auckland",
)
def _(name):
    days = [*day_range(date(2023, 4, 1), 2), *day_range(date(2023, 9, 24), 2)]
    book = Book(name, "Pacific/Auckland", days, 30, ["ABY0111", "ALB0331"], ("I", "X"), decimals=2, level=300)
    header = ["POC", "Nwk_Code", "Unit_Measure", "Flow_Direction", "Trading_Date", *(f"TP{n}" for n in range(1, 51))]
    rows = [
        [m, "VECT", "KWH", flow, f"{d:%d/%m/%Y}", *cells(book, m, d, flow, 50)]
        for d in book.days
        for m in book.ids
        for flow in book.channels
    ]
    return book, table(header, rows).encode()


@layout("fr_jour_0h30_24h00.csv", "0h30 .. 24h00 are ends; dates such as 28 févr. 2024; Windows-1252")
def _(name):
    book = Book(
        name,
        "Europe/Paris",
        day_range(date(2024, 2, 28), 3),
        30,
        ["30001610071843", "30001610071950"],
        decimals=0,
        level=400,
    )
    labels = clock(30, "{}h{:02d}", 30)
    rows = [
        [m, f"{d.day} {FRENCH_MONTHS[d.month - 1]} {d.year}", *cells(book, m, d)] for m in book.ids for d in book.days
    ]
    return book, table(["N° PRM", "Journée", *labels], rows, ";").encode("cp1252")


@layout("de_stunden_von_bis.csv", "hours as 00-01 .. 23-24; 1.234,5")
def _(name):
    book = Book(
        name,
        "Europe/Berlin",
        day_range(date(2024, 4, 15), 4),
        60,
        ["MaLo-51238696012", "MaLo-51238696020"],
        decimals=1,
        level=1100,
    )
    header = ["Marktlokation", "Tag", *(f"{h:02d}-{h + 1:02d}" for h in range(24))]
    rows = [[m, f"{d:%d.%m.%y}", *cells(book, m, d, decimal=",", thousands=".")] for m in book.ids for d in book.days]
    return book, table(header, rows, ";").encode()


@layout(
    "us_hour_ending_02x_autumn.csv",
    "HE01, HE02, HE02X, HE03 ..: HE02X is the second 1 to 2 am",
    timezone="America/New_York",
)
def _(name):
    book = Book(name, "America/New_York", day_range(date(2023, 11, 4), 3), 60, ["40071", "40072", "40115"])
    labels = ["01", "02", "02X", *(f"{h:02d}" for h in range(3, 25))]
    rows = []
    for m in book.ids:
        for day in book.days:
            printed = cells(book, m, day)
            if len(printed) == 24:
                printed.insert(2, "")
            rows.append([m, f"{day:%m/%d/%Y}", *printed])
    return book, table(["Meter", "Date", *(f"HE{label}" for label in labels)], rows).encode()


@layout("plain_1_48.csv", "columns called 1 .. 48; newest day first; id last")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2022, 12, 28), 4), 30, ["SM-7", "SM-9"], decimals=4)
    header = ["date", *(str(n) for n in range(1, 49)), "meter_id"]
    rows = [[f"{d}", *cells(book, m, d), m] for d in reversed(list(book.days)) for m in book.ids]
    return book, table(header, rows).encode()


@layout("fi_kulutus_tunti_sarakkeet.csv", "klo 00 .. klo 23; every day followed by its sum; dates as 1.2.2024")
def _(name):
    book = Book(
        name, "Europe/Helsinki", day_range(date(2024, 1, 30), 4), 60, ["643007000000001", "643007000000002"], decimals=2
    )
    header = ["Käyttöpaikka", "Päivä", *(f"klo {h:02d}" for h in range(24)), "Yhteensä"]
    rows = []
    for m in book.ids:
        for d in book.days:
            total = f"{sum(book.get(m, s) for s in book.days[d]):.2f}".replace(".", ",")
            rows.append([m, f"{d.day}.{d.month}.{d.year}", *cells(book, m, d, decimal=","), total])
    return book, table(header, rows, ";").encode("utf-8-sig")


@layout("month_rows_day_1_31.csv", "a row per meter and month, a column per day of the month; daily totals")
def _(name):
    book = Book(name, "Europe/Vienna", day_range(date(2024, 1, 1), 60), 1440, ["W-501", "W-502"], decimals=1, level=25)
    rows = []
    for m in book.ids:
        for month in (1, 2):
            days = [start for day, (start,) in book.days.items() if day.month == month]
            printed = [book.text(book.get(m, start)) for start in days]
            rows.append([m, f"2024-{month:02d}", *printed, *[""] * (31 - len(printed))])
    return book, table(["meter", "month", *map(str, range(1, 32))], rows).encode()


@layout("weekday_and_ranges_with_blanks.csv", "Fri 01 Mar 2024; 00:00 - 00:30; total and maximum behind the readings")
def _(name):
    book = Book(
        name, "Europe/London", day_range(date(2024, 3, 1), 3), 30, ["Sports Hall", "Library"], decimals=1, level=20
    )
    ranges = zip(clock(30), clock(30, first=30, last="00:00"), strict=True)
    header = ["Building", "Day", *(f"{start} - {end}" for start, end in ranges), "Total kWh", "Max kWh"]
    rows = []
    for m in book.ids:
        for day, starts in book.days.items():
            values = [book.get(m, start) for start in starts]
            rows.append([m, f"{day:%a %d %b %Y}", *cells(book, m, day), f"{sum(values):.1f}", f"{max(values):.1f}"])
    return book, table(header, rows).encode()
