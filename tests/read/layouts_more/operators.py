"""What network operators and suppliers of Europe and Asia hand out."""

from datetime import date

from read.layouts_more.readings import Book, as_registers, day_range, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
AUTUMN = day_range(date(2023, 10, 28), 3)
SPRING = day_range(date(2024, 3, 30), 3)


def until_24(book, start, form="%H:%M"):
    text = f"{book.end(start):{form}}"
    return "24:00" if text == "00:00" else text


@layout(
    "fr_courbe_de_charge_r63.csv",
    "Date de debut and Date de fin are those of the order, the same in all rows; Horodate is an end; steps as PT30M",
)
def _(name):
    ids = ["30001234567801", "30001234567802", "30001234567803"]
    book = Book(name, "Europe/Paris", MARCH, 30, ids, decimals=0, level=4000)
    header = "Identifiant PRM;Type de donnees;Date de debut;Date de fin;Grandeur physique;Grandeur metier;Etape metier;"
    header += "Unite;Horodate;Valeur;Nature;Pas;Indice de vraisemblance"
    rows = [
        [
            *(m, "CDC", "2024-03-14", "2024-03-16", "PA", "CONS", "BRUT", "W"),
            *(f"{book.end(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s)), "B", "PT30M", "0"),
        ]
        for m, s in book.rows()
    ]
    return book, table(header.split(";"), rows, ";").encode("utf-8-sig")


@layout(
    "pt_diagrama_de_carga.csv", "2024/03/14 and 00:15 .. 24:00 in two columns; three powers; lines above; decimal comma"
)
def _(name):
    channels = ("Potência Ativa (kW)", "Potência Reativa Indutiva (kVAr)", "Potência Reativa Capacitiva (kVAr)")
    book = Book(name, "Europe/Lisbon", MARCH, 15, ["PT0002000012345678XY"], channels, level=40)
    above = (
        "Diagrama de carga\nCódigo Ponto de Entrega:;PT0002000012345678XY\nData de extração:;2024/03/20 10:12:44\n\n"
    )
    rows = [
        [
            f"{book.wall(s):%Y/%m/%d}",
            until_24(book, s),
            *(book.text(book.get(m, s, c), ",") for c in channels),
            "Medido",
        ]
        for m, s in book.rows()
    ]
    return book, (above + table(["Data", "Hora", *channels, "Estado"], rows, ";")).encode()


@layout(
    "de_ab_datum_ab_zeit_2a_2b.csv",
    "Ab-Datum;Ab-Zeit;Bis-Datum;Bis-Zeit; the doubled hour is 2A:00 .. 2A:45, then 2B:00 ..; a sum below",
    timezone="Europe/Berlin",
)
def _(name):
    book = Book(name, "Europe/Berlin", AUTUMN, 15, ["DE00056266802AO6G56M11SN51G21M24S"], decimals=2, level=60)

    def clock(instant):
        wall = book.local(instant)
        twice = wall.date() == date(2023, 10, 29) and wall.hour == 2
        return f"2{'B' if wall.fold else 'A'}:{wall:%M}" if twice else f"{wall:%H:%M}"

    rows = [
        [
            f"{book.wall(s):%d.%m.%Y}",
            clock(s),
            f"{book.end(s):%d.%m.%Y}",
            clock(s + book.step),
            book.text(book.get(m, s), ","),
            "W",
        ]
        for m, s in book.rows()
    ]
    total = sum(book.values.values())
    above = 'Zählpunkt;DE00056266802AO6G56M11SN51G21M24S\n"OBIS-Kennziffer";1-1:1.29.0\n'
    header = ["Ab-Datum", "Ab-Zeit", "Bis-Datum", "Bis-Zeit", "Profilwert [kWh]", "Status"]
    return book, (above + table(header, rows, ";") + f"Summe;;;;{total:.2f};\n".replace(".", ",")).encode("cp1252")


@layout(
    "de_liste_303_offset.csv",
    "Von and Bis as 202310290000+02, without colons; OBIS in rows; E wahrer and Ersatz in a status",
    basis="UTC",
)
def _(name):
    ids = ["DE0003070000000000000000000000101", "DE0003070000000000000000000000102"]
    book = Book(name, "Europe/Berlin", AUTUMN, 60, ids, ("1-1:1.29.0", "1-1:2.29.0"))

    def stamp(instant):
        local = book.local(instant)
        return f"{local:%Y%m%d%H%M}+{local.utcoffset().seconds // 3600:02d}"

    rows = [
        [m, c, stamp(s), stamp(s + book.step), book.text(v), "kWh", "67" if n % 31 == 4 else "220"]
        for n, ((m, c, s), v) in enumerate(book.values.items())
    ]
    return book, table(["MaLo", "OBIS", "Von", "Bis", "Menge", "Einheit", "Statuskennung"], rows, ";").encode()


@layout(
    "at_messzeitpunkt_spring.csv", "stamps are ends; no quarter hours from 02:00 to 03:00", timezone="Europe/Vienna"
)
def _(name):
    book = Book(name, "Europe/Vienna", SPRING, 15, ["AT0020000000000000000000020012345"])
    rows = [
        [f"{book.end(s):%d.%m.%Y %H:%M}", book.text(book.get(m, s), ","), "L1" if n % 17 else "L2"]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["Messzeitpunkt", "Gemessener Verbrauch (kWh)", "Qualität"], rows, ";").encode("utf-8-sig")


@layout("es_consumo_y_energia_vertida.csv", "fecha 2024/03/14, hora 01:00 .. 24:00 are ends; consumption and surplus")
def _(name):
    ids = ["ES0031000000000001JN0F", "ES0031000000000002JS0F"]
    channels = ("consumo_kWh", "energiaVertida_kWh")
    book = Book(name, "Europe/Madrid", MARCH, 60, ids, channels)
    rows = [
        [
            *(m, f"{book.wall(s):%Y/%m/%d}", until_24(book, s), book.text(book.get(m, s, channels[0]), ","), "Real"),
            book.text(book.get(m, s, channels[1]), ","),
        ]
        for m, s in book.rows()
    ]
    header = ["cups", "fecha", "hora", channels[0], "metodoObtencion", channels[1]]
    return book, table(header, rows, ";").encode()


@layout(
    "ie_daily_registers_newest_first.csv", "daily registers of several kinds in rows, newest first; kept as printed"
)
def _(name):
    kinds = (
        "24 hr Active Import Register (kWh)",
        "Night Active Import Register (kWh)",
        "Peak Active Import Register (kWh)",
    )
    book = as_registers(
        Book(name, "Europe/Dublin", day_range(date(2024, 2, 20), 12), 1440, ["10000123456"], kinds, level=20)
    )
    rows = [
        ["10000123456", "000000000031234567", book.text(v), c, f"{book.wall(s):%d-%m-%Y %H:%M}"]
        for (_, c, s), v in reversed(list(book.values.items()))
    ]
    return book, table(["MPRN", "Meter Serial Number", "Read Value", "Read Type", "Read Date and Time"], rows).encode()


@layout("uk_electricity_and_gas_utc.csv", "Timestamp (UTC); electricity and gas of a home in columns", basis="UTC")
def _(name):
    channels = ("Electricity (kWh)", "Gas (kWh)")
    book = Book(name, "UTC", day_range(date(2024, 3, 30), 3), 30, ["home"], channels)
    book.blank("home", [3, 4, 90], channels[1])
    rows = [
        [f"{s:%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s, c), missing="null") for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["Timestamp (UTC)", *channels], rows).encode()


@layout("nl_verbruik_hoog_laag_kosten.csv", "Begin;Eind; high and low tariff in columns; euros beside them")
def _(name):
    channels = ("Verbruik hoog (kWh)", "Verbruik laag (kWh)")
    book = Book(name, "Europe/Amsterdam", MARCH, 60, ["871687120000012345"], channels)
    rows = [
        [
            *(m, f"{book.wall(s):%d-%m-%Y %H:%M}", f"{book.end(s):%d-%m-%Y %H:%M}"),
            *(book.text(book.get(m, s, c), ",") for c in channels),
            f"€ {0.27 * book.get(m, s, channels[0]):.2f}".replace(".", ","),
        ]
        for m, s in book.rows()
    ]
    return book, table(["EAN", "Begin", "Eind", *channels, "Kosten"], rows, ";").encode("utf-8-sig")


@layout("pl_pobor_oddanie_24_00.csv", "2024-03-14 1:00 .. 2024-03-14 24:00 are ends; pobór and oddanie in rows")
def _(name):
    book = Book(name, "Europe/Warsaw", MARCH, 60, ["590322400000012345"], ("pobór", "oddanie"))
    rows = [
        [f"{book.wall(s):%Y-%m-%d} {book.wall(s).hour + 1}:00", book.text(v, ","), c]
        for (_, c, s), v in book.values.items()
    ]
    return book, table(["Data", "Wartość kWh", "Rodzaj"], rows, ";").encode("utf-8-sig")


@layout("gr_arithmos_parochis.csv", "Greek header; 14/03/2024 and 00:00 in two columns; decimal comma")
def _(name):
    ids = ["12345678-01", "12345679-02", "12345680-03"]
    book = Book(name, "Europe/Athens", MARCH, 15, ids)
    book.blank(ids[1], [5, 6])
    rows = [
        [m, f"{book.wall(s):%d/%m/%Y}", f"{book.wall(s):%H:%M}", book.text(book.get(m, s), ",")] for m, s in book.rows()
    ]
    return book, table(["Αριθμός παροχής", "Ημερομηνία", "Ώρα", "Κατανάλωση (kWh)"], rows, ";").encode("utf-8-sig")


@layout("ua_hour_ranges_in_rows.csv", "Cyrillic header; 14.03.2024 and 00:00 - 01:00 in two columns")
def _(name):
    ids = ["62X0000000000017", "62X0000000000025"]
    book = Book(name, "Europe/Kyiv", MARCH, 60, ids)
    rows = [
        [
            m,
            f"{book.wall(s):%d.%m.%Y}",
            f"{book.wall(s):%H:%M} - {until_24(book, s)}",
            book.text(book.get(m, s), ","),
        ]
        for m, s in book.rows()
    ]
    return book, table(["EIC-код", "Дата", "Година", "Обсяг споживання, кВт·год"], rows, ";").encode()


@layout("jp_half_hour_ranges_wide_tilde.csv", "0:00～0:30 .. 23:30～24:00 across; 2024/3/14; quoted; BOM")
def _(name):
    ids = ["0310012345678901234567", "0310012345678901234568"]
    book = Book(name, "Asia/Tokyo", MARCH, 30, ids, decimals=1, level=4)
    spans = [f"{i // 2}:{i % 2 * 30:02d}～{(i + 1) // 2}:{(i + 1) % 2 * 30:02d}" for i in range(48)]
    rows = [
        [f'"{m}"', f'"{day.year}/{day.month}/{day.day}"', *(f'"{book.text(book.get(m, s))}"' for s in starts)]
        for m in ids
        for day, starts in book.days.items()
    ]
    return book, table(["供給地点特定番号", "年月日", *spans], rows).encode("utf-8-sig")


@layout(
    "lt_data_valanda.csv", '"Data, valanda" in quotes; P+ and P-; a name and an address that is the same in all rows'
)
def _(name):
    channels = ('"P+, kWh"', '"P-, kWh"')
    book = Book(name, "Europe/Vilnius", MARCH, 60, ["12345678"], [c.strip('"') for c in channels])
    rows = [
        [
            "12345678",
            '"Vilnius, Gedimino pr. 1"',
            f"{book.wall(s):%Y-%m-%d %H:%M}",
            *(book.text(book.get(m, s, c)) for c in book.channels),
        ]
        for m, s in book.rows()
    ]
    return book, table(["Objekto numeris", "Objekto adresas", '"Data, valanda"', *channels], rows).encode()


@layout(
    "uk_national_demand_settlement_periods_autumn.csv",
    "29-OCT-2023 with settlement periods 1 .. 50; four demands in columns",
    timezone="Europe/London",
)
def _(name):
    channels = ("ND", "TSD", "ENGLAND_WALES_DEMAND", "EMBEDDED_WIND_GENERATION")
    book = Book(name, "Europe/London", AUTUMN, 30, ["gb"], channels, 0, 40000)
    rows = [
        [f"{day:%d-%b-%Y}".upper(), str(n + 1), *(book.text(book.get("gb", s, c)) for c in channels)]
        for day, starts in book.days.items()
        for n, s in enumerate(starts)
    ]
    return book, table(["SETTLEMENT_DATE", "SETTLEMENT_PERIOD", *channels], rows).encode()


@layout("de_marktdaten_originalaufloesung.csv", "Datum von;Datum bis; generation by source; 1.234,5 and - for no value")
def _(name):
    channels = tuple(
        f"{c} [MWh] Originalauflösungen" for c in ("Biomasse", "Wasserkraft", "Wind Onshore", "Photovoltaik")
    )
    book = Book(name, "Europe/Berlin", MARCH, 15, ["de"], channels, 2, 9000)
    book.blank("de", [7, 8, 9], channels[3])
    rows = [
        [
            f"{book.wall(s):%d.%m.%Y %H:%M}",
            f"{book.end(s):%d.%m.%Y %H:%M}",
            *(book.text(book.get(m, s, c), ",", ".", "-") for c in channels),
        ]
        for m, s in book.rows()
    ]
    return book, table(["Datum von", "Datum bis", *channels], rows, ";").encode("utf-8-sig")


@layout("fr_eco2mix_heures.csv", "tabs, Windows-1252; Périmètre and Nature the same in all rows; ND; a sentence below")
def _(name):
    channels = ("Consommation", "Prévision J-1", "Nucléaire", "Eolien")
    book = Book(name, "Europe/Paris", MARCH, 30, ["France"], channels, 0, 50000)
    book.blank("France", [90, 91], "Nucléaire")
    rows = [
        [
            "France",
            "Données temps réel",
            f"{book.wall(s):%Y-%m-%d}",
            f"{book.wall(s):%H:%M}",
            *(book.text(book.get(m, s, c), missing="ND") for c in channels),
        ]
        for m, s in book.rows()
    ]
    text = table(["Périmètre", "Nature", "Date", "Heures", *channels], rows, "\t")
    return book, (text + "L'opérateur ne pourra être tenu responsable de l'usage de ces données.\n").encode("cp1252")
