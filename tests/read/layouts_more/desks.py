"""What offices keep in spreadsheets, databases print and systems send to each other."""

import io
import json
import zipfile
from datetime import date, timedelta

import xlsxwriter

from read.layouts_more.readings import Book, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
SPRING = day_range(date(2024, 3, 30), 3)


def workbook(fill):
    """The bytes of a workbook that a function fills."""
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as book:
        fill(book)
    return content.getvalue()


@layout(
    "date_once_a_day.csv",
    "the date stands in the first row of each day only, the cells below it are empty",
    names="any",
)
def _(name):
    ids = ["Hall", "Kitchen", "Workshop"]
    book = Book(name, "Europe/London", MARCH, 30, ids, decimals=2)
    rows = [
        [f"{day:%d/%m/%Y}" if n == 0 else "", f"{book.wall(s):%H:%M}", *(book.text(book.get(m, s)) for m in ids)]
        for day, starts in book.days.items()
        for n, s in enumerate(starts)
    ]
    return book, table(["Date", "Time", *(f"{m} (kWh)" for m in ids)], rows).encode()


@layout("meter_once_a_block.csv", "a pivot table: the meter stands in the first of its rows only; a total below each")
def _(name):
    ids = ["M-1001", "M-1002", "M-1003"]
    book = Book(name, "Europe/London", MARCH, 60, ids, decimals=2)
    rows = []
    for m in ids:
        rows += [
            [m if n == 0 else "", f"{book.wall(s):%Y-%m-%d %H:%M}", book.text(book.get(m, s))]
            for n, s in enumerate(book.starts)
        ]
        rows.append([f"{m} Total", "", f"{sum(book.get(m, s) for s in book.starts):.2f}"])
    rows.append(["Grand Total", "", f"{sum(book.values.values()):.2f}"])
    return book, table(["Meter", "Start", "Sum of kWh"], rows).encode()


@layout("row_labels_grand_total.csv", "a pivot table: Row Labels, a column per meter, Grand Total across and below")
def _(name):
    ids = ["Meter 1", "Meter 2", "Meter 3"]
    book = Book(name, "Europe/London", MARCH, 60, ids, decimals=2)
    rows = []
    for s in book.starts:
        cells = [book.get(m, s) for m in ids]
        rows.append([f"{book.wall(s):%d/%m/%Y %H:%M}", *(f"{v:.2f}" for v in (*cells, sum(cells)))])
    sums = [sum(book.get(m, s) for s in book.starts) for m in ids]
    rows.append(["Grand Total", *(f"{v:.2f}" for v in (*sums, sum(sums)))])
    return book, ("Sum of kWh,Column Labels,,,\n" + table(["Row Labels", *ids, "Grand Total"], rows)).encode()


@layout("sheet_per_month.xlsx", "a workbook with sheets Jan, Feb and Mar of the same columns and meters")
def _(name):
    ids = ["A17", "A18"]
    days = [date(2024, month, day) for month in (1, 2, 3) for day in (13, 14)]
    book = Book(name, "Europe/London", days, 60, ids)

    def fill(target):
        form = target.add_format({"num_format": "dd/mm/yyyy hh:mm"})
        for month, label in ((1, "Jan"), (2, "Feb"), (3, "Mar")):
            sheet = target.add_worksheet(label)
            sheet.write_row(0, 0, ["Meter", "Start", "kWh"])
            for n, (m, s) in enumerate((m, s) for m, s in book.rows() if book.wall(s).month == month):
                sheet.write(1 + n, 0, m)
                sheet.write_datetime(1 + n, 1, book.wall(s), form)
                sheet.write(1 + n, 2, book.get(m, s))

    return book, workbook(fill)


@layout(
    "title_logo_and_totals.xlsx",
    "a workbook: merged title, a blank row, the table from the second column on, formulas of sums below",
    names="any",
)
def _(name):
    ids = ["Block 1", "Block 2", "Block 3"]
    book = Book(name, "Europe/London", MARCH, 30, ids)

    def fill(target):
        form = target.add_format({"num_format": "dd/mm/yyyy hh:mm"})
        sheet = target.add_worksheet("Readings")
        sheet.merge_range("B1:E1", "Half-hourly consumption, kWh")
        sheet.write_row(2, 1, ["Start", *ids])
        for n, s in enumerate(book.starts):
            sheet.write_datetime(3 + n, 1, book.wall(s), form)
            sheet.write_row(3 + n, 2, [book.get(m, s) for m in ids])
        end = 3 + len(book.starts)
        sheet.write(end + 1, 1, "Total")
        for k, m in enumerate(ids):
            total = sum(book.get(m, s) for s in book.starts)
            sheet.write_formula(end + 1, 2 + k, f"=SUM({'CDE'[k]}4:{'CDE'[k]}{end})", None, total)

    return book, workbook(fill)


@layout("short_years_no_leading_noughts.csv", "14.3.24 0:15 are ends; decimal comma; a remark in some rows")
def _(name):
    book = Book(name, "Europe/Berlin", MARCH, 15, ["Halle 3"])

    def stamp(time):
        return f"{time.day}.{time.month}.{time:%y} {time.hour}:{time:%M}"

    rows = [
        [stamp(book.end(s)), book.text(book.get(m, s), ","), "Ausfall Zähler?" if n == 40 else ""]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["Zeit", "Verbrauch kWh", "Bemerkung"], rows, ";").encode("cp1252")


@layout("page_called_workbook.xls", "a page of HTML with one table, called .xls, as portals make them")
def _(name):
    ids = ["00123456", "00123457"]
    book = Book(name, "America/Lima", MARCH, 15, ids)
    cells = [[m, f"{book.wall(s):%d/%m/%Y %H:%M}", book.text(book.get(m, s))] for m, s in book.rows()]
    lines = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>\n" for row in cells)
    head = "<tr><th>Suministro</th><th>Fecha y hora</th><th>kWh</th></tr>\n"
    page = '<html><head><meta charset="utf-8"><title>Perfil</title></head><body>\n<table border="1">\n'
    return book, (page + head + lines + "</table></body></html>\n").encode()


@layout(
    "printed_by_psql.txt", "columns between |, a line of ---+--- below the header, (192 rows) at the end", basis="UTC"
)
def _(name):
    ids = ["17", "18"]
    book = Book(name, "UTC", MARCH, 30, ids)
    lines = [f" {m:>8} | {s:%Y-%m-%d %H:%M:%S}+00 | {book.get(m, s):.3f}" for m, s in book.rows()]
    head = " meter_id |           ts           |  kwh  \n----------+------------------------+-------\n"
    return book, (head + "\n".join(lines) + f"\n({len(lines)} rows)\n\n").encode()


@layout("boxed_by_mysql.txt", "a box of + and - around the table and its header")
def _(name):
    ids = ["A-17", "A-18"]
    book = Book(name, "Europe/Rome", MARCH, 30, ids)
    rule = "+-------+---------------------+-------+\n"
    lines = "".join(f"| {m:<5} | {book.wall(s):%Y-%m-%d %H:%M:%S} | {book.get(m, s):.3f} |\n" for m, s in book.rows())
    head = "| meter | start_time          | kwh   |\n"
    return book, (rule + head + rule + lines + rule).encode()


@layout(
    "fields_name_tags_timestamp.jsonl", "a line per reading: fields, name, tags and seconds since 1970", basis="UTC"
)
def _(name):
    ids, channels = ["m-01", "m-02"], ("energy", "power")
    book = Book(name, "UTC", MARCH[:1], 15, ids, channels)
    lines = [
        {
            "fields": {c: book.get(m, s, c) for c in channels},
            "name": "meters",
            "tags": {"host": "gateway", "meter": m},
            "timestamp": epoch(s),
        }
        for m, s in book.rows()
    ]
    return book, "\n".join(map(json.dumps, lines)).encode()


@layout(
    "observations_of_datastreams.json", "value: observations of phenomenonTime, result and a Datastream", basis="UTC"
)
def _(name):
    ids = ["Meter north", "Meter south"]
    book = Book(name, "UTC", MARCH, 60, ids)
    value = [
        {
            "@iot.id": 1000 + n,
            "phenomenonTime": f"{s:%Y-%m-%dT%H:%M:%S.000Z}",
            "resultTime": None,
            "result": book.get(m, s),
            "Datastream": {"name": m, "unitOfMeasurement": {"symbol": "kWh"}},
        }
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, json.dumps({"@iot.count": len(value), "value": value}, indent=1).encode()


def points(book, name, tag, number, quantity):
    return "".join(
        f"<{tag}><{number}>{n}</{number}><{quantity}>{book.get(name, s):.3f}</{quantity}></{tag}>\n"
        for n, s in enumerate(book.starts, 1)
    )


@layout(
    "load_document_positions_spring.xml",
    "a period with its start in UTC and PT60M; points have a position and a quantity; two areas",
    basis="UTC",
)
def _(name):
    ids = ["10YAT-APG------L", "10YCZ-CEPS-----N"]
    book = Book(name, "Europe/Vienna", SPRING, 60, ids, level=9000)
    first, last = book.starts[0], book.starts[-1] + book.step
    text = '<?xml version="1.0" encoding="UTF-8"?>\n'
    text += '<GL_MarketDocument xmlns="urn:iec62325.351:tc57wg16:451-6:generationloaddocument:3:0">\n'
    text += "<mRID>a1b2c3</mRID><revisionNumber>1</revisionNumber><type>A65</type>\n"
    for n, m in enumerate(ids, 1):
        text += f"<TimeSeries><mRID>{n}</mRID><businessType>A04</businessType>"
        text += f'<outBiddingZone_Domain.mRID codingScheme="A01">{m}'
        text += "</outBiddingZone_Domain.mRID><quantity_Measure_Unit.name>MAW</quantity_Measure_Unit.name>\n<Period>"
        text += f"<timeInterval><start>{first:%Y-%m-%dT%H:%MZ}</start><end>{last:%Y-%m-%dT%H:%MZ}</end></timeInterval>"
        text += "<resolution>PT60M</resolution>\n"
        text += f"{points(book, m, 'Point', 'position', 'quantity')}</Period></TimeSeries>\n"
    return book, (text + "</GL_MarketDocument>\n").encode()


@layout(
    "metered_data_sequences.xml",
    "an interval with start and end, a resolution of 15 MIN, observations with a sequence and a volume; one point",
    basis="UTC",
)
def _(name):
    book = Book(name, "Europe/Zurich", MARCH, 15, ["CH1018601234500000000000000011642"])
    first, last = book.starts[0], book.starts[-1] + book.step
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<rsm:ValidatedMeteredData_12 xmlns:rsm="http://www.strom.ch">\n'
    text += "<rsm:ValidatedMeteredData_HeaderInformation><rsm:InstanceDocument><rsm:DocumentID>eslevu1</rsm:DocumentID>"
    text += "</rsm:InstanceDocument></rsm:ValidatedMeteredData_HeaderInformation>\n"
    text += "<rsm:MeteringData><rsm:DocumentID>1</rsm:DocumentID>\n"
    text += f"<rsm:Interval><rsm:StartDateTime>{first:%Y-%m-%dT%H:%M:%SZ}</rsm:StartDateTime>"
    text += f"<rsm:EndDateTime>{last:%Y-%m-%dT%H:%M:%SZ}</rsm:EndDateTime></rsm:Interval>\n"
    text += "<rsm:Resolution><rsm:Resolution>15</rsm:Resolution><rsm:Unit>MIN</rsm:Unit></rsm:Resolution>\n"
    text += "<rsm:ConsumptionMeteringPoint>"
    text += f"<rsm:VSENationalID>{book.ids[0]}</rsm:VSENationalID></rsm:ConsumptionMeteringPoint>\n"
    for n, s in enumerate(book.starts, 1):
        text += f"<rsm:Observation><rsm:Position><rsm:Sequence>{n}</rsm:Sequence></rsm:Position>"
        text += f"<rsm:Volume>{book.get(book.ids[0], s):.3f}</rsm:Volume></rsm:Observation>\n"
    return book, (text + "</rsm:MeteringData>\n</rsm:ValidatedMeteredData_12>\n").encode()


@layout(
    "meter_readings_with_type.xml",
    "MeterReading of a Meter: Readings with a timeStamp, a value and a ReadingType of two kinds",
    basis="UTC",
)
def _(name):
    ids = ["1100000001", "1100000002"]
    channels = ("0.0.2.4.1.1.12.0.0.0.0.0.0.0.0.3.72.0", "0.0.2.4.19.1.12.0.0.0.0.0.0.0.0.3.72.0")
    book = Book(name, "America/New_York", MARCH, 60, ids, channels)
    text = '<?xml version="1.0"?>\n<m:MeterReadings xmlns:m="http://iec.ch/TC57/2011/MeterReadings#">\n'
    for m in ids:
        text += f"<m:MeterReading><m:Meter><m:mRID>{m}</m:mRID></m:Meter>\n"
        for s in book.starts:
            for c in channels:
                text += f"<m:Readings><m:timeStamp>{s:%Y-%m-%dT%H:%M:%SZ}</m:timeStamp>"
                text += f'<m:value>{book.get(m, s, c):.3f}</m:value><m:ReadingType ref="{c}"/></m:Readings>\n'
        text += "</m:MeterReading>\n"
    return book, (text + "</m:MeterReadings>\n").encode()


@layout("days_in_a_zip_of_books.zip", "a zip of a CSV per day with the same meters; dates only in the rows")
def _(name):
    ids = ["4001", "4002", "4003"]
    book = Book(name, "Europe/Madrid", day_range(date(2024, 3, 14), 3), 60, ids)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for day, starts in book.days.items():
            rows = [
                [m, f"{book.wall(s):%d/%m/%Y}", f"{book.wall(s).hour + 1}", book.text(book.get(m, s), ",")]
                for m in ids
                for s in starts
            ]
            info = zipfile.ZipInfo(f"medidas_{day + timedelta(days=1):%Y%m%d}.csv", (2024, 3, 20, 0, 0, 0))
            archive.writestr(info, table(["Punto de medida", "Fecha", "Hora", "Energía (kWh)"], rows, ";"))
    return book, content.getvalue()
