"""A row per reading, as European operators export them."""

from datetime import date

from read.layouts.readings import FRENCH_MONTHS, Book, day_range, layout, table

GERMAN = {3: "März", 4: "April"}
AUTUMN = day_range(date(2023, 10, 28), 3)
SPRING = day_range(date(2023, 3, 25), 3)


def until(book, start):
    """The clock at the end of an interval; midnight is 24:00."""
    text = f"{book.end(start):%H:%M}"
    return "24:00" if text == "00:00" else text


@layout(
    "de_lastgang_datum_von_bis.csv",
    "the meter in lines above the table; Datum;Uhrzeit von;Uhrzeit bis; 1.234,56; the hour from 02:00 twice, in order",
    timezone="Europe/Berlin",
)
def _(name):
    book = Book(name, "Europe/Berlin", AUTUMN, 15, ["DE0001234567800000000000000012345"], decimals=2, level=900)
    above = "Lastgang\nZählpunkt;DE0001234567800000000000000012345\nZeitraum;28.10.2023 - 30.10.2023\nEinheit;kW\n\n"
    rows = [
        [f"{book.wall(s):%d.%m.%Y}", f"{book.wall(s):%H:%M}", until(book, s), book.text(book.get(m, s), ",", "."), "W"]
        for m, s in book.rows()
    ]
    header = ["Datum", "Uhrzeit von", "Uhrzeit bis", "Wert (kW)", "Status"]
    return book, (above + table(header, rows, ";")).encode("cp1252")


@layout("at_datum_von_datum_bis_spring.csv", "Datum von;Datum bis with seconds; Ersatzwert", timezone="Europe/Vienna")
def _(name):
    ids = ["AT0031000000000000000000000012345", "AT0031000000000000000000000012346"]
    book = Book(name, "Europe/Vienna", SPRING, 60, ids, decimals=6)
    stamp = "%d.%m.%Y %H:%M:%S"
    rows = [
        [
            m,
            f"{book.wall(s):{stamp}}",
            f"{book.end(s):{stamp}}",
            book.text(book.get(m, s), ","),
            "X" if i % 29 == 5 else "",
        ]
        for i, (m, s) in enumerate(book.rows())
    ]
    return book, table(["Zählpunkt", "Datum von", "Datum bis", "Energiemenge in kWh", "Ersatzwert"], rows, ";").encode()


@layout("ch_zeitstempel_bezug_einspeisung.csv", "stamps are ends, 00:15 first; 1'234.5; import and export in columns")
def _(name):
    channels = ("Bezug 1.8.0 [Wh]", "Einspeisung 2.8.0 [Wh]")
    book = Book(
        name,
        "Europe/Zurich",
        day_range(date(2024, 6, 5), 2),
        15,
        ["CH1018601234500000000000000012345"],
        channels,
        1,
        700,
    )
    above = "# Messpunkt: CH1018601234500000000000000012345\n# Auflösung: 15 Minuten\n"
    rows = [
        [f"{book.end(s):%d.%m.%Y %H:%M}", *(book.text(book.get(m, s, c), thousands="'") for c in channels)]
        for m, s in book.rows()
    ]
    return book, (above + table(["Zeitstempel", *channels], rows, ";")).encode()


@layout("fi_datahub_utc.csv", "Alkuaika in UTC with Z; decimal comma; constant columns; BOM", basis="UTC")
def _(name):
    ids = ["643007572000000018", "643007572000000025"]
    book = Book(name, "Europe/Helsinki", AUTUMN[:2], 60, ids, decimals=6)
    book.drop(ids[1], [7, 8])
    header = ["Mittauspisteen tunnus", "Tuotteen tyyppi", "Resoluutio", "Yksikkötyyppi", "Lukeman tyyppi"]
    rows = [
        [m, "8716867000030", "PT1H", "kWh", "BN01", f"{s:%Y-%m-%dT%H:%M:%SZ}", book.text(book.get(m, s), ","), "OK"]
        for m, s in book.rows()
    ]
    return book, table([*header, "Alkuaika", "Määrä", "Laatu"], rows, ";").encode("utf-8-sig")


@layout(
    "se_datum_starttid_sluttid_spring.csv",
    "Windows-1252; Datum;Starttid;Sluttid; estimates",
    timezone="Europe/Stockholm",
)
def _(name):
    book = Book(name, "Europe/Stockholm", SPRING, 60, ["735999123000000014", "735999123000000021"], decimals=2, level=2)
    book.blank(book.ids[0], [30, 31])
    rows = []
    for i, (m, s) in enumerate(book.rows()):
        value = book.text(book.get(m, s), ",")
        status = "Saknas" if not value else "Beräknad" if i % 31 == 4 else "Uppmätt"
        rows.append([m, f"{book.wall(s):%Y-%m-%d}", f"{book.wall(s):%H:%M}", f"{book.end(s):%H:%M}", value, status])
    header = ["Anläggnings-ID", "Datum", "Starttid", "Sluttid", "Förbrukning (kWh)", "Mätvärdesstatus"]
    return book, table(header, rows, ";").encode("cp1252")


@layout(
    "nl_meterstanden_registers.csv", "four registers that only grow, read daily, newest first; kept as they are printed"
)
def _(name):
    channels = ("StandNormaal", "StandDal", "TerugleveringNormaal", "TerugleveringDal")
    ids = ["871687120000000011", "871687120000000028"]
    book = Book(name, "Europe/Amsterdam", day_range(date(2024, 4, 24), 10), 1440, ids, channels, 0, 9)
    for m in ids:
        for n, channel in enumerate(channels):
            reached = 4000.0 + 1111 * n
            for start in book.starts:
                reached = round(reached + book.values[m, channel, start])
                book.values[m, channel, start] = float(reached)
    rows = [
        [m, f"{book.wall(s):%Y-%m-%d}", *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in reversed(book.rows())
    ]
    return book, table(["EAN", "OpnameDatum", *channels], rows, ";").encode()


@layout(
    "es_fecha_hora_end_autumn.csv",
    "stamps are ends by the wall clock, so 02:00 comes twice; INV / VER says the same; two quantities",
    timezone="Europe/Madrid",
)
def _(name):
    channels = ("CONSUMO Wh", "GENERACION Wh")
    book = Book(name, "Europe/Madrid", AUTUMN, 60, ["ES0021000000000001AA0F"], channels, 0, 500)
    rows = [
        [
            m,
            f"{book.end(s):%Y/%m/%d %H:%M}",
            "1" if book.local(s + book.step).dst() else "0",
            *(book.text(book.get(m, s, c)) for c in channels),
        ]
        for m, s in book.rows()
    ]
    return book, table(["CUPS", "FECHA-HORA", "INV / VER", *channels], rows, ";").encode()


@layout("fr_jours_mois_en_lettres.csv", "daily kWh, 30 janv. 2024; Windows-1252; the id in the middle")
def _(name):
    ids = ["09114000000011", "09114000000028", "09114000000035"]
    book = Book(name, "Europe/Paris", day_range(date(2024, 1, 24), 14), 1440, ids, decimals=2, level=14)
    book.drop(ids[2], [4])
    rows = []
    for m, s in sorted(book.rows(), key=lambda row: row[1]):
        day = book.wall(s)
        rows.append([f"{day.day} {FRENCH_MONTHS[day.month - 1]} {day.year}", m, book.text(book.get(m, s), ",")])
    return book, table(["Journée", "Point de livraison", "Énergie consommée (kWh)"], rows, ";").encode("cp1252")


@layout("de_monatsname_spring.txt", "31. März 2024 01:00; pipes with blanks around them", timezone="Europe/Berlin")
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 3, 30), 3), 60, ["1EMH0011223344", "1EMH0011223351"])
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall.day}. {GERMAN[wall.month]} {wall.year} {wall:%H:%M}", book.text(book.get(m, s), ",")])
    return book, table(["Zähler", "Zeitpunkt", "Verbrauch kWh"], rows, " | ").encode()


@layout("pl_godzina_02a_02b.csv", "the doubled hour is 02a and 02b", timezone="Europe/Warsaw")
def _(name):
    book = Book(name, "Europe/Warsaw", AUTUMN, 15, ["PL0037000000000017"], decimals=3, level=0.2)
    rows = []
    for m, s in book.rows():
        local = book.local(s)
        doubled = local.date() == date(2023, 10, 29) and local.hour == 2
        letter = ("b" if local.fold else "a") if doubled else ""
        rows.append([m, f"{local:%Y-%m-%d %H}{letter}:{local:%M:%S}", book.text(book.get(m, s))])
    return book, table(["Punkt poboru", "Data i czas", "Energia pobrana [kWh]"], rows, ";").encode()


@layout(
    "ee_block_per_meter_autumn.csv",
    "a block of lines per meter, its id above it; the hour from 03:00 twice",
    timezone="Europe/Tallinn",
)
def _(name):
    ids = ["38ZEE-00000001-A", "38ZEE-00000002-B", "38ZEE-00000003-C"]
    book = Book(name, "Europe/Tallinn", AUTUMN[:2], 60, ids)
    blocks = []
    for m in ids:
        rows = [
            [f"{book.wall(s):%d.%m.%Y %H:%M}", f"{book.end(s):%d.%m.%Y %H:%M}", book.text(book.get(m, s), ",")]
            for s in book.starts
        ]
        blocks.append(f"Mõõtepunkt;{m}\nÜhik;kWh\n" + table(["Algus", "Lõpp", "Kogus"], rows, ";"))
    return book, "\n".join(blocks).encode()


@layout("de_obis_in_rows_offset.csv", "an OBIS number per row is the channel; offsets in the stamps", basis="UTC")
def _(name):
    channels = ("1-1:1.29.0", "1-1:2.29.0")
    ids = ["50694562318", "50694562326"]
    book = Book(name, "Europe/Berlin", AUTUMN[1:2], 60, ids, channels, level=0.2)
    rows = [
        [
            m,
            c,
            book.local(s).isoformat(),
            book.local(s + book.step).isoformat(),
            book.text(book.get(m, s, c), ","),
            "kWh",
            "Ersatzwert" if i % 37 == 5 else "gemessen",
        ]
        for i, s in enumerate(book.starts)
        for m in ids
        for c in channels
    ]
    return book, table(["Marktlokation", "OBIS", "Von", "Bis", "Wert", "Einheit", "Status"], rows, ";").encode()


@layout("de_nachgestelltes_minus.csv", "SAP: 20240301 and 001500 in two columns; a minus behind the number is export")
def _(name):
    book = Book(name, "Europe/Berlin", day_range(date(2024, 3, 1), 2), 15, ["4100012345", "4100012346"], level=1.5)
    for m, s in book.rows():
        if 9 <= book.wall(s).hour < 16:
            book.values[m, "", s] = -book.values[m, "", s]
    rows = []
    for m, s in book.rows():
        value = book.get(m, s)
        text = book.text(abs(value), ",") + ("-" if value < 0 else " ")
        rows.append([m, f"{book.wall(s):%Y%m%d}", f"{book.wall(s):%H%M%S}", text, "KWH"])
    return book, table(["Anlage", "Datum", "Uhrzeit", "Profilwert", "ME"], rows, ";").encode()


@layout(
    "cz_datum_plus_a_minus_a.csv",
    "ends, 24:00 last; +A and -A of one meter, each with a Status; rows end in ;",
    names="any",
)
def _(name):
    channels = ("+A", "-A")
    book = Book(name, "Europe/Prague", day_range(date(2024, 8, 19), 2), 15, ["784703"], channels, 3, 1.2)
    rows = []
    for m, s in book.rows():
        day = f"{book.wall(s):%d.%m.%Y}"
        row = [f"{day} {until(book, s)}"]
        for c in channels:
            row += [book.text(book.get(m, s, c), ","), "naměřená data OK"]
        rows.append([*row, ""])
    header = ['"Datum"', '"+A/784703 [kW]"', '"Status"', '"-A/784703 [kW]"', '"Status"', ""]
    return book, table(header, rows, ";").encode()


@layout(
    "dk_hour_utc_hour_dk.csv",
    "one column in UTC, one by the local clock; the first settles the doubled hour",
    basis="UTC",
)
def _(name):
    book = Book(name, "Europe/Copenhagen", AUTUMN, 60, ["101", "147", "751"], decimals=3, level=4000)
    rows = [
        [f"{s:%Y-%m-%dT%H:%M:%S}", f"{book.wall(s):%Y-%m-%dT%H:%M:%S}", m, book.text(book.get(m, s), ",")]
        for m, s in sorted(book.rows(), key=lambda row: row[1], reverse=True)
    ]
    return book, table(["HourUTC", "HourDK", "MunicipalityNo", "ConsumptionkWh"], rows, ";").encode()


@layout("offset_in_its_own_column.csv", "local time and +02:00 or +01:00 in two columns; rows in no order", basis="UTC")
def _(name):
    book = Book(name, "Europe/Brussels", AUTUMN[1:], 30, ["mp-0017", "mp-0023"])
    rows = []
    for m, s in book.rows():
        offset = f"{book.local(s):%z}"
        rows.append([m, f"{book.wall(s):%Y-%m-%d %H:%M:%S}", f"{offset[:3]}:{offset[3:]}", book.text(book.get(m, s))])
    rows = rows[::-3] + rows[-2::-3] + rows[-3::-3]
    return book, table(["metering_point", "local_time", "utc_offset", "kwh"], rows).encode()
