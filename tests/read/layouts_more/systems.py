"""What control rooms, historians and buildings write."""

import json
from datetime import date

from read.layouts_more.readings import Book, as_registers, day_range, layout, table

MARCH = day_range(date(2024, 3, 14), 2)


@layout("tag_value_status_words.csv", "Tag,Timestamp,Value,Status; 'I/O Timeout' and 'No Data' in place of values")
def _(name):
    ids = ["SITE1:FEEDER_A.KW", "SITE1:FEEDER_B.KW", "SITE2:CHILLER.KW"]
    book = Book(name, "America/Chicago", MARCH, 30, ids, decimals=2, level=900)
    book.blank(ids[0], [4, 5, 40])
    book.blank(ids[2], [60])
    rows = []
    for n, (m, s) in enumerate(book.rows()):
        value = book.get(m, s)
        bad = value != value
        text = book.text(value, missing="No Data" if n % 2 else "I/O Timeout")
        rows.append([m, f"{book.wall(s):%d-%b-%y %H:%M:%S}", text, "Bad" if bad else "Good"])
    return book, table(["Tag", "Timestamp", "Value", "Status"], rows).encode()


@layout(
    "pairs_of_time_and_value_side_by_side.csv",
    "each tag has its own Time and Value columns; the tag above them; columns of unequal length",
)
def _(name):
    ids = ["AHU1.Power", "AHU2.Power", "Pump7.Power"]
    book = Book(name, "Europe/London", MARCH, 15, ids, decimals=1, level=60)
    book.drop(ids[1], [0, 1, 2, 50])
    book.drop(ids[2], range(180, 192))
    head = [[cell for m in ids for cell in (m, "")], ["Time", "Value"] * 3]
    columns = []
    for m in ids:
        mine = [(s, book.values[key]) for key in book.values for s in (key[2],) if key[0] == m]
        columns.append([[f"{book.wall(s):%d/%m/%Y %H:%M}", book.text(v)] for s, v in mine])
    rows = [
        [cell for column in columns for cell in (column[i] if i < len(column) else ["", ""])]
        for i in range(max(map(len, columns)))
    ]
    return book, table(None, head + rows).encode()


@layout(
    "quality_numbers_beside.csv",
    "DateTime,TagName,Value,vValue,Quality,QualityDetail,OPCQuality; seven digits of a second",
)
def _(name):
    ids = ["Plant.Line1.kW", "Plant.Line2.kW"]
    book = Book(name, "Europe/Prague", MARCH, 15, ids, decimals=3, level=60)
    rows = []
    for s in book.starts:
        for m in ids:
            text = book.text(book.get(m, s))
            rows.append([f"{book.wall(s):%Y-%m-%d %H:%M:%S}.0000000", m, text, text, "0", "192", "192"])
    return book, table(
        ["DateTime", "TagName", "Value", "vValue", "Quality", "QualityDetail", "OPCQuality"], rows
    ).encode()


@layout(
    "variables_validity_and_days.csv",
    '"VarName";"TimeString";"VarValue";"Validity";"Time_ms", millionths of a day since 1899',
)
def _(name):
    ids = ["Energie_1", "Energie_2"]
    book = as_registers(Book(name, "Europe/Berlin", MARCH, 15, ids, decimals=3, level=60))
    rows = []
    for s in book.starts:
        for m in ids:
            wall = book.wall(s)
            serial = 45365 + (wall - wall.replace(day=14, hour=0, minute=0)).total_seconds() / 86400
            stamp = f'"{wall:%d.%m.%Y %H:%M:%S}"'
            cells = [f'"{m}"', stamp, book.text(book.get(m, s), ","), "1", f"{serial * 1e6:.4f}".replace(".", ",")]
            rows.append(cells)
    header = ['"VarName"', '"TimeString"', '"VarValue"', '"Validity"', '"Time_ms"']
    return book, table(header, rows, ";").encode()


@layout(
    "unit_and_path_rows_below.csv", "names, then a line of paths, then a line of units, then a blank line", names="any"
)
def _(name):
    ids = [f"Meter {n}" for n in range(1, 6)]
    book = Book(name, "Europe/London", MARCH, 30, ids, decimals=2)
    head = [
        ["Timestamp", *ids],
        ["", *(f"/Campus/Block{n}/Elec" for n in range(1, 6))],
        ["", *("kWh" for _ in ids)],
        [""] * 6,
    ]
    rows = [[f"{book.wall(s):%d-%b-%Y %H:%M}", *(book.text(book.get(m, s)) for m in ids)] for s in book.starts]
    return book, table(None, head + rows).encode()


@layout("mixed_units_of_two_meters.csv", "Import (Wh) and Export (kWh) of one table: each as printed")
def _(name):
    ids = ["A-1", "A-2"]
    book = Book(name, "Europe/Dublin", MARCH, 30, ids, ("Import (Wh)", "Export (kWh)"))
    for m, s in book.rows():
        book.values[m, "Import (Wh)", s] = round(book.values[m, "Import (Wh)", s] * 1000)
    rows = [
        [
            m,
            f"{book.wall(s):%Y-%m-%d %H:%M}",
            f"{book.get(m, s, 'Import (Wh)'):.0f}",
            book.text(book.get(m, s, "Export (kWh)")),
        ]
        for m, s in book.rows()
    ]
    return book, table(["Meter", "From", "Import (Wh)", "Export (kWh)"], rows).encode()


@layout("percent_and_exclamation_comments.txt", "% and ! begin lines of comment, also between readings; tabs")
def _(name):
    ids = ["F01", "F02"]
    book = Book(name, "Europe/Oslo", MARCH, 30, ids)
    lines = ["% logger 3, firmware 1.02", "! exported 2024-03-16", "meter\ttime\tkwh"]
    for n, (m, s) in enumerate(book.rows()):
        if n == 60:
            lines.append("% battery changed")
        lines.append(f"{m}\t{book.wall(s):%Y-%m-%d %H:%M}\t{book.text(book.get(m, s))}")
    return book, "\n".join(lines).encode()


@layout("days_of_objects_of_clocks.json", "a meter, then dates, then 00:00 .. 23:30 are keys of numbers")
def _(name):
    ids = ["N-100", "N-101"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    whole = {
        m: {f"{day}": {f"{book.wall(s):%H:%M}": book.get(m, s) for s in starts} for day, starts in book.days.items()}
        for m in ids
    }
    return book, json.dumps(whole).encode()


@layout(
    "columns_keyed_by_row_numbers.json",
    "a frame as columns: each name holds an object from row number to entry",
    basis="UTC",
)
def _(name):
    ids = ["h1", "h2"]
    book = Book(name, "UTC", MARCH, 30, ids)
    rows = book.rows()
    whole = {
        "household": {str(n): m for n, (m, _) in enumerate(rows)},
        "time": {str(n): int(s.timestamp() * 1000) for n, (_, s) in enumerate(rows)},
        "kwh": {str(n): book.get(m, s) for n, (m, s) in enumerate(rows)},
    }
    return book, json.dumps(whole).encode()


@layout(
    "slash_date_in_text.json",
    r'"When":"\/Date(1710374400000)\/" as older services write; Meters with Readings',
    basis="UTC",
)
def _(name):
    ids = ["G4-017", "G4-018"]
    book = Book(name, "UTC", MARCH, 30, ids)
    meters = [
        {
            "MeterId": m,
            "Readings": [
                {"When": f"/Date({int(s.timestamp() * 1000)})/", "Kwh": book.get(m, s), "Estimated": False}
                for s in book.starts
            ],
        }
        for m in ids
    ]
    return book, json.dumps({"d": {"Meters": meters}}).replace("/Date(", r"\/Date(").replace(")/", r")\/").encode()


@layout("whole_lines_in_quotes.csv", "each line stands in quotes as a whole, as a spreadsheet saves a pasted file")
def _(name):
    ids = ["6001", "6002"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    lines = ["MPAN,Date,Time,kWh"]
    lines += [f"{m},{book.wall(s):%d/%m/%Y},{book.wall(s):%H:%M},{book.text(book.get(m, s))}" for m, s in book.rows()]
    return book, "".join(f'"{line}"\r\n' for line in lines).encode()


@layout("carriage_returns_alone.txt", "lines end in a carriage return alone, tabs between")
def _(name):
    ids = ["7001", "7002"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    rows = [[m, f"{book.wall(s):%d/%m/%Y %H:%M}", book.text(book.get(m, s))] for m, s in book.rows()]
    return book, table(["Meter", "Start", "kWh"], rows, "\t").replace("\n", "\r").encode()


@layout("level_names_of_a_frame.csv", "two levels of names above, the name of the index in a third line")
def _(name):
    ids, channels = ["M1", "M2", "M3"], ("import", "export")
    book = Book(name, "Europe/London", MARCH, 30, ids, channels)
    pairs = [(m, c) for m in ids for c in channels]
    head = [["meter", *(m for m, _ in pairs)], ["flow", *(c for _, c in pairs)], ["time", *("" for _ in pairs)]]
    rows = [
        [f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s, c)) for m, c in pairs)] for s in book.starts
    ]
    return book, table(None, head + rows).encode()


@layout(
    "header_one_shorter.txt",
    "row numbers in front have no name, so the header is one field shorter; quoted text; blanks",
)
def _(name):
    ids = ["k1", "k2"]
    book = Book(name, "Europe/Vienna", MARCH, 60, ids)
    rows = [
        [f'"{n}"', f'"{m}"', f'"{book.wall(s):%Y-%m-%d %H:%M:%S}"', book.text(book.get(m, s))]
        for n, (m, s) in enumerate(book.rows(), 1)
    ]
    return book, ('"household" "time" "kwh"\n' + table(None, rows, " ")).encode()


@layout("unnamed_row_numbers.csv", "the first column has no name and counts rows; a frame as programs save it")
def _(name):
    ids = ["k1", "k2", "k3"]
    book = Book(name, "Europe/Vienna", MARCH, 60, ids)
    rows = [
        [str(n), m, f"{book.wall(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s)), "ACORN-E"]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["", "household", "tstp", "energy(kWh/hh)", "Acorn"], rows).encode()


@layout(
    "rules_and_rows_affected.csv", "a line of hyphens below the header, (96 rows affected) below the table", basis="UTC"
)
def _(name):
    ids = ["771", "772"]
    book = Book(name, "UTC", MARCH, 60, ids, decimals=4)
    rows = [[m, f"{s:%Y-%m-%d %H:%M:%S}.0000000 +00:00", book.text(book.get(m, s))] for m, s in book.rows()]
    head = "MeterId,ReadAt,Consumption\n-------,------,-----------\n"
    return book, (head + table(None, rows) + "\n(96 rows affected)\n").encode()
