"""Formats with a definition, JSON, workbooks, and several files together."""

import io
import json
import zipfile
from datetime import date, datetime
from xml.sax.saxutils import escape

from read.layouts.readings import Book, day_range, layout, table


@layout("nem12_5min_two_nmis.csv", "NEM12 of 5 minutes, two NMIs with E1 and B1")
def _(name):
    book = Book(
        name, "Australia/Brisbane", [date(2024, 2, 29)], 5, ["QB00000001", "QB00000002"], ("B1", "E1"), level=0.05
    )
    lines = ["100,NEM12,202403010405,MDPX,RETX"]
    for m in book.ids:
        for c in ("E1", "B1"):
            lines.append(f"200,{m},B1E1,{c[::-1]},{c},N1,00{m[-4:]},KWH,5,20240401")
            values = ",".join(book.text(book.get(m, s, c)) for s in book.starts)
            lines.append(f"300,20240229,{values},A,,,20240301021500,")
    return book, "\r\n".join([*lines, "900", ""]).encode()


@layout("nem12_15min_mixed_quality.csv", "NEM12 of 15 minutes, three NMIs; V with 400 records, S14")
def _(name):
    nmis = ["VAAA000001", "VAAA000002", "VAAA000003"]
    book = Book(name, "Australia/Brisbane", day_range(date(2024, 6, 30), 2), 15, nmis, level=0.15)
    lines = ["100,NEM12,202407020101,MDPY,RETY"]
    for n, m in enumerate(nmis):
        lines.append(f"200,{m},E1,1,E1,,{7000 + n},kWh,15,")
        for i, (day, starts) in enumerate(book.days.items()):
            values = ",".join(book.text(book.get(m, s)) for s in starts)
            quality = "V" if (n, i) == (1, 0) else "S14" if n == 2 else "A"
            lines.append(f"300,{day:%Y%m%d},{values},{quality},{'32' if quality == 'S14' else ''},,20240702003012,")
            if quality == "V":
                lines += ["400,1,40,A,,", "400,41,50,F14,76,", "400,51,96,A,,"]
    return book, "\n".join([*lines, "900", ""]).encode()


def tag(name, content):
    return f"<espi:{name}>{content}</espi:{name}>"


def tags(**contents):
    return "".join(tag(name, content) for name, content in contents.items())


@layout(
    "espi_two_usage_points.xml",
    "ESPI with a prefix, two usage points, a block per day, multiplier -3",
    basis="UTC",
    names="any",
)
def _(name):
    points = ["3F2A", "77B0"]
    book = Book(name, "America/New_York", day_range(date(2023, 11, 4), 3), 60, points, decimals=3, level=600)
    root = "https://example.org/espi/1_1/resource"
    entries = []

    def entry(path, content, related=""):
        links = f'<link rel="self" href="{root}/{path}"/><link rel="up" href="{root}/{path.rpartition("/")[0]}"/>'
        links += f'<link rel="related" href="{root}/{related}"/>' if related else ""
        entries.append(f"<entry><id>urn:uuid:{len(entries):032x}</id>{links}<content>{content}</content></entry>\n")

    unit = tags(commodity=1, flowDirection=1, intervalLength=3600, powerOfTenMultiplier=-3, uom=72)
    entry("ReadingType/1", tag("ReadingType", unit))
    for point in points:
        entry(f"UsagePoint/{point}", tag("UsagePoint", tag("ServiceCategory", tag("kind", 0))))
        entry(f"UsagePoint/{point}/MeterReading/1", "<espi:MeterReading/>", "ReadingType/1")
        for n, starts in enumerate(book.days.values()):
            block = tag("interval", tags(duration=3600 * len(starts), start=int(starts[0].timestamp())))
            for s in starts:
                period = tags(duration=3600, start=int(s.timestamp()))
                block += "\n" + tag("IntervalReading", tags(timePeriod=period, value=round(book.get(point, s) * 1000)))
            entry(f"UsagePoint/{point}/MeterReading/1/IntervalBlock/{n}", tag("IntervalBlock", block))
    spaces = 'xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi"'
    return book, f'<?xml version="1.0" encoding="UTF-8"?>\n<feed {spaces}>\n{"".join(entries)}</feed>\n'.encode()


@layout(
    "api_results_newest_first.json", "results with consumption, interval_start, interval_end; newest first", basis="UTC"
)
def _(name):
    book = Book(name, "Europe/London", day_range(date(2023, 10, 28), 2), 30, ["api_results_newest_first"])
    results = [
        {
            "consumption": book.get(m, s),
            "interval_start": book.local(s).isoformat(),
            "interval_end": book.local(s + book.step).isoformat(),
        }
        for m, s in reversed(book.rows())
    ]
    return book, json.dumps(
        {"count": len(results), "next": None, "previous": None, "results": results}, indent=1
    ).encode()


@layout("meters_with_nested_readings.json", "an array of meters, each with its readings", basis="UTC")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 4, 9), 2), 30, ["2100040123456", "2100040123465"])
    book.blank(book.ids[1], [3, 4])
    meters = [
        {
            "mpan": m,
            "deviceType": "ESME",
            "readings": [
                {
                    "readAt": f"{s:%Y-%m-%dT%H:%M:%SZ}",
                    "primaryValue": None if book.text(book.get(m, s)) == "" else book.get(m, s),
                }
                for s in book.starts
            ],
        }
        for m in book.ids
    ]
    return book, json.dumps({"generatedAt": "2024-04-12T07:00:00Z", "unit": "kWh", "meters": meters}, indent=1).encode()


@layout("parallel_arrays.json", "per meter an array of timestamps and an array of values")
def _(name):
    book = Book(name, "Europe/Oslo", day_range(date(2024, 2, 5), 2), 60, ["707057500000000011", "707057500000000028"])
    series = [
        {
            "meterId": m,
            "timestamps": [f"{book.wall(s):%Y-%m-%dT%H:%M:%S}" for s in book.starts],
            "values": [book.get(m, s) for s in book.starts],
        }
        for m in book.ids
    ]
    return book, json.dumps(series).encode()


@layout("reading_per_line.jsonl", "a JSON object per line, numbers as text", basis="UTC")
def _(name):
    book = Book(name, "UTC", day_range(date(2024, 12, 30), 2), 30, ["a", "b"])
    lines = [
        json.dumps(
            {"meter_id": m, "time": f"{s:%Y-%m-%dT%H:%M:%S+00:00}", "value": book.text(book.get(m, s)), "quality": "A"}
        )
        for m, s in book.rows()
    ]
    return book, ("\n".join(lines) + "\n").encode()


def per_meter(book):
    """A file per meter; what the meter is called is in the name of the file alone."""
    return {
        f"{m}.csv": table(
            ["timestamp", "kwh"],
            [[f"{book.wall(s):%Y-%m-%d %H:%M}", book.text(book.get(m, s))] for n, s in book.rows() if n == m],
        ).encode()
        for m in book.ids
    }


@layout("one_per_meter", "a folder with a file per meter, named after it")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 8, 3), 2), 30, ["mac000231", "mac000480", "mac001007"])
    book.drop("mac000480", [90, 91, 92, 93, 94, 95])
    return book, {f"{name}/{file}": data for file, data in per_meter(book).items()}


@layout("one_per_meter.zip", "a zip with a file per meter, named after it")
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 8, 3), 2), 30, ["mac000231", "mac000480", "mac001007"])
    return book, zipped({f"export/{file}": data for file, data in per_meter(book).items()})


def zipped(parts):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
# Formats of cells by position: general, date, time, date and time.
FORMATS = (0, 14, 20, 22)
EPOCH = datetime(1899, 12, 30)


def relations(**targets):
    items = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets.items(), 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{items}</Relationships>'


def workbook(rows):
    """The smallest workbook with one sheet; a cell is text, a number, or a number with the position of its format."""
    lines = []
    for row in rows:
        line = ""
        for cell in row:
            if isinstance(cell, str):
                line += f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' if cell else "<c/>"
            else:
                number, style = cell if isinstance(cell, tuple) else (cell, 0)
                line += f'<c s="{style}"><v>{number}</v></c>'
        lines.append(f"<row>{line}</row>")
    styles = "".join(
        f'<xf numFmtId="{code}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>' for code in FORMATS
    )
    plain = "<fonts><font/></fonts><fills><fill/></fills><borders><border/></borders><cellStyleXfs><xf/></cellStyleXfs>"
    types = "".join(
        f'<Override PartName="/xl/{part}.xml" ContentType="{KIND}.{kind}+xml"/>'
        for part, kind in (("workbook", "sheet.main"), ("worksheets/sheet1", "worksheet"), ("styles", "styles"))
    )
    rels = '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    sheet = '<sheets><sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">{rels}{types}</Types>',
        "_rels/.rels": relations(officeDocument="xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{OFFICE}">{sheet}</workbook>',
        "xl/_rels/workbook.xml.rels": relations(worksheet="worksheets/sheet1.xml", styles="styles.xml"),
        "xl/styles.xml": f'<styleSheet xmlns="{SHEETS}">{plain}<cellXfs>{styles}</cellXfs></styleSheet>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SHEETS}"><sheetData>{"".join(lines)}</sheetData></worksheet>',
    }
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    return zipped({name: (head + text).encode() for name, text in parts.items()})


@layout("pt_data_hora_consumo.xlsx", "a workbook: lines above the table, dates and hours as text, ends 00:15 .. 24:00")
def _(name):
    book = Book(
        name, "Europe/Lisbon", day_range(date(2024, 5, 20), 2), 15, ["PT0002000000000001AA"], decimals=3, level=0.6
    )
    rows = [["Leituras"], ["CPE", "PT0002000000000001AA"], ["Unidade", "kW"], [""]]
    rows.append(["Data", "Hora", "Consumo registado (kW)", "Estado"])
    for m, s in book.rows():
        hour = f"{book.end(s):%H:%M}"
        rows.append([f"{book.wall(s):%Y/%m/%d}", "24:00" if hour == "00:00" else hour, book.get(m, s), "Real"])
    return book, workbook(rows)


@layout(
    "day_rows_with_real_dates.xlsx",
    "a workbook: a row per meter and day; dates and the times in the header are numbers with a format",
)
def _(name):
    book = Book(name, "Europe/London", day_range(date(2024, 6, 1), 3), 30, ["MSN-44", "MSN-45"], decimals=2)
    rows = [["Serial", "Date", *((round(n / 48, 10), 2) for n in range(48))]]
    rows += [
        [m, ((datetime(d.year, d.month, d.day) - EPOCH).days, 1), *(book.get(m, s) for s in starts)]
        for m in book.ids
        for d, starts in book.days.items()
    ]
    return book, workbook(rows)


@layout(
    "rows_with_real_stamps.xlsx", "a workbook: a row per reading, stamps are numbers with a format of date and time"
)
def _(name):
    book = Book(name, "Europe/Paris", day_range(date(2024, 6, 3), 2), 30, ["PDL-1", "PDL-2"], decimals=2)
    rows = [["Compteur", "Horodatage", "kWh"]]
    for m, s in book.rows():
        rows.append([m, (round((book.wall(s) - EPOCH).total_seconds() / 86400, 10), 3), book.get(m, s)])
    return book, workbook(rows)
