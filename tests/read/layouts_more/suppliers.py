"""What suppliers, operators of networks and their portals hand out."""

import io
import json
from datetime import date

import xlsxwriter

from read.layouts_more.readings import Book, day_range, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
AUTUMN = day_range(date(2023, 10, 28), 3)


@layout("uk_gas_day_from_six.csv", "a gas day: 06:00 .. 05:00 across, those after midnight are of the next date")
def _(name):
    ids = ["7412345610", "7412345702"]
    book = Book(name, "Europe/London", day_range(date(2024, 1, 14), 4), 60, ids, decimals=2, level=9)
    rows = []
    for m in ids:
        for day in list(book.days)[:3]:
            within = book.starts[24 * (day - date(2024, 1, 14)).days + 6 :][:24]
            rows.append([m, f"{day:%d/%m/%Y}", *(book.text(book.get(m, s)) for s in within)])
    for m in ids:
        book.drop(m, [*range(6), *range(78, 96)])
    return book, table(["MPRN", "Gas Day", *(f"{h % 24:02d}:00" for h in range(6, 30))], rows).encode()


@layout("uk_min_max_average_behind.csv", "00:00:00 .. 23:30:00, then Total, Min, Max and Average of the day")
def _(name):
    ids = ["1012345678901", "1012345678915"]
    book = Book(name, "Europe/London", day_range(date(2024, 2, 26), 4), 30, ids, decimals=2, level=9)
    rows = []
    for m in ids:
        for day, starts in book.days.items():
            day_values = [book.get(m, s) for s in starts]
            figures = [sum(day_values), min(day_values), max(day_values), sum(day_values) / 48]
            cells = [book.text(v) for v in [*day_values, *figures]]
            rows.append(["Elm School", m, "kWh", f"{day:%d %B %Y}", *cells])
    clock = [f"{n // 2:02d}:{n % 2 * 30:02d}:00" for n in range(48)]
    header = ["Site", "Meter Point", "Unit", "Day", *clock, "Total", "Min", "Max", "Average"]
    return book, table(header, rows).encode()


@layout(
    "uk_flow_of_nested_records.txt", "records 25B, 26B, 35B and 66L: meter, quantity, date, then a line per half hour"
)
def _(name):
    ids = ["1200012345678", "1200012345687"]
    book = Book(name, "Europe/London", MARCH, 30, ids, ("AI", "RI"))
    lines = ["ZHV|0000123456|D0036001|H|DIST|X|SUPP|20240316060000||||OPER|"]
    for m in ids:
        lines.append(f"25B|{m}|")
        for c in book.channels:
            lines.append(f"26B|{c}|")
            for day, starts in book.days.items():
                lines.append(f"35B|{day:%Y%m%d}|")
                lines += [f"66L|A|{book.text(book.get(m, s, c))}|" for s in starts]
    lines.append(f"ZPT|0000123456|{len(lines) - 1}||1|20240316060001|")
    return book, "\n".join(lines).encode()


@layout(
    "uk_devices_of_a_property.json", "ranges of dates above; devices with an id, each with primaryValue and timestamp"
)
def _(name):
    ids = ["00-DB-12-34-56-78-90-A0", "00-DB-12-34-56-78-90-A1"]
    book = Book(name, "Europe/London", MARCH, 30, ids)
    whole = {
        "resource": "/mpxn/1234567891000/utility/electricity/consumption",
        "responseTimestamp": "2024-03-17T09:12:44.123Z",
        "start": "202403140000",
        "end": "202403152359",
        "granularity": "halfhour",
        "unit": "kWh",
        "availableCacheRange": {"start": "202201010000", "end": "202403160000"},
        "devices": [
            {
                "deviceId": m,
                "values": [
                    {"primaryValue": book.get(m, s), "timestamp": f"{book.wall(s):%Y-%m-%d %H:%M}"} for s in book.starts
                ],
            }
            for m in ids
        ],
    }
    return book, json.dumps(whole, indent=1).encode()


@layout("uk_sequence_length_and_unit.csv", "a number of the row, a length of 30 in all rows, kWh and kVArh by quantity")
def _(name):
    ids = ["1470001234567", "1470001234576"]
    book = Book(name, "Europe/London", MARCH, 30, ids, ("Active Import", "Reactive Import"))
    rows, n = [], 0
    for m in ids:
        for s in book.starts:
            for c in book.channels:
                n += 1
                unit = "kWh" if c.startswith("Active") else "kVArh"
                quality = "E" if n % 41 == 0 else "A"
                wall = f"{book.wall(s):%d-%m-%Y %H:%M}"
                rows.append([str(n), m, "E13A12345", c, wall, "30", book.text(book.get(m, s, c)), unit, quality])
    header = ["SeqNo", "MPAN", "MSN", "Measurement", "Period Start", "Period Length", "Reading", "UOM", "Flag"]
    return book, table(header, rows).encode()


@layout(
    "at_community_lines_above.csv",
    "MeteringpointID, Energy direction, Period start and end and Metercode in lines above the columns; Total first",
    names="any",
)
def _(name):
    ids = ["AT0030000000000000000000000000017", "AT0030000000000000000000000000025"]
    codes = ("Gesamtverbrauch lt. Messung [KWH]", "Eigendeckung gemeinschaftliche Erzeugung [KWH]")
    book = Book(name, "Europe/Vienna", MARCH, 15, ids, codes, decimals=6)
    pairs = [(m, c) for m in ids for c in codes]
    stamp = "%d.%m.%Y %H:%M:%S"
    head = [
        ["MeteringpointID", *(m for m, _ in pairs)],
        ["Energy direction", *("CONSUMPTION" for _ in pairs)],
        ["Period start", *("14.03.2024 00:00:00" for _ in pairs)],
        ["Period end", *("16.03.2024 00:00:00" for _ in pairs)],
        ["Metercode", *(c for _, c in pairs)],
        ["Total", *(book.text(sum(book.get(m, s, c) for s in book.starts), ",") for m, c in pairs)],
    ]
    rows = [[f"{book.wall(s):{stamp}}", *(book.text(book.get(m, s, c), ",") for m, c in pairs)] for s in book.starts]
    return book, table(None, head + rows, ";").encode("utf-8-sig")


@layout(
    "dk_market_document_points.json",
    "TimeSeries, Period with a resolution and its start, Points by position",
    basis="UTC",
)
def _(name):
    ids = ["571313100000000017", "571313100000000025"]
    book = Book(name, "Europe/Copenhagen", AUTUMN, 60, ids)
    result = []
    for m in ids:
        periods = [
            {
                "resolution": "PT1H",
                "timeInterval": {
                    "start": f"{starts[0]:%Y-%m-%dT%H:%M:%SZ}",
                    "end": f"{starts[-1] + book.step:%Y-%m-%dT%H:%M:%SZ}",
                },
                "Point": [
                    {
                        "position": str(n),
                        "out_Quantity.quantity": book.text(book.get(m, s)),
                        "out_Quantity.quality": "A04",
                    }
                    for n, s in enumerate(starts, 1)
                ],
            }
            for starts in book.days.values()
        ]
        series = {
            "mRID": m,
            "businessType": "A04",
            "curveType": "A01",
            "measurement_Unit.name": "KWH",
            "Period": periods,
        }
        document = {"mRID": "", "createdDateTime": "2023-11-02T08:14:00Z", "TimeSeries": [series]}
        result.append({"MyEnergyData_MarketDocument": document, "success": True, "errorCode": "10000"})
    return book, json.dumps({"result": result}).encode()


@layout(
    "es_winter_summer_flag_autumn.csv",
    "FechaHora is an end; a flag of 1 in summer and 0 in winter tells the doubled hour",
    timezone="Europe/Madrid",
)
def _(name):
    ids = ["ES0021000000000017AB0F", "ES0021000000000025CD0F"]
    book = Book(name, "Europe/Madrid", AUTUMN, 60, ids, ("ActivaEntrante", "ActivaSaliente"), decimals=0, level=900)
    rows = []
    for m, s in book.rows():
        summer = "1" if book.local(s + book.step).dst() else "0"
        cells = [book.text(book.get(m, s, c)) for c in book.channels]
        rows.append([m, f"{book.end(s):%Y/%m/%d %H:%M}", summer, *cells])
    return book, table(["CUPS", "FechaHora", "Verano", *book.channels], rows, ";").encode()


@layout(
    "no_nodes_from_to.json", "data, viewer, homes, consumption, nodes of from, to, consumption and cost", basis="UTC"
)
def _(name):
    book = Book(name, "Europe/Oslo", AUTUMN, 60, ["c70dcbe5-4485-4821-933d-a8a86452737b"])
    nodes = [
        {
            "from": book.local(s).isoformat(timespec="milliseconds"),
            "to": book.local(s + book.step).isoformat(timespec="milliseconds"),
            "cost": round(book.get(m, s) * 1.2345, 6),
            "unitPrice": 1.2345,
            "unitPriceVAT": 0.2469,
            "consumption": book.get(m, s),
            "consumptionUnit": "kWh",
        }
        for m, s in book.rows()
    ]
    home = {"id": book.ids[0], "consumption": {"nodes": nodes}}
    return book, json.dumps({"data": {"viewer": {"homes": [home]}}}).encode()


@layout("kr_hours_across.csv", "Korean header; 20240314; 1시 .. 24시 across")
def _(name):
    ids = ["0612345678", "0612345679", "0612345680"]
    book = Book(name, "Asia/Seoul", MARCH, 60, ids, decimals=2)
    rows = [
        [m, f"{day:%Y%m%d}", *(book.text(book.get(m, s)) for s in starts)]
        for m in ids
        for day, starts in book.days.items()
    ]
    return book, table(["고객번호", "검침일자", *(f"{h}시" for h in range(1, 25))], rows).encode("utf-8-sig")


@layout("cn_year_month_day_signs.csv", "2024年3月14日 00:15; Chinese header; ends of quarter hours of two households")
def _(name):
    ids = ["3301234567890", "3301234567891"]
    book = Book(name, "Asia/Shanghai", MARCH, 15, ids)
    rows = []
    for m, s in book.rows():
        wall = book.wall(s)
        rows.append([m, f"{wall.year}年{wall.month}月{wall.day}日 {wall:%H:%M}", book.text(book.get(m, s))])
    return book, table(["户号", "时间", "用电量(kWh)"], rows).encode("utf-8-sig")


@layout(
    "il_lines_above_quote_in_the_name.csv",
    "Hebrew lines about the customer; a date and a start; a quotation mark inside a name",
)
def _(name):
    book = Book(name, "Asia/Jerusalem", day_range(date(2024, 2, 14), 2), 15, ["meter"])
    above = 'שם לקוח,כתובת\n"פלוני אלמוני","הרצל 1, חיפה"\n\nמספר חוזה,מספר מונה\n"0346123456","23012345"\n\n'
    rows = [
        [f'"{book.wall(s):%d/%m/%Y}"', f'"{book.wall(s):%H:%M}"', book.text(book.get(m, s))] for m, s in book.rows()
    ]
    header = ["תאריך", "מועד תחילת הפעימה", '"צריכה בקוט""ש"']
    return book, (above + table(header, rows)).encode("utf-8-sig")


@layout(
    "in_load_survey_hyphens.csv",
    "lines about the meter; 14-03-2024 and 00:00-00:30 in two columns; kWh, kVAh and volts",
)
def _(name):
    channels = ("kWh", "kVAh", "Avg Voltage")
    book = Book(name, "Asia/Kolkata", MARCH, 30, ["LT0123456"], channels, decimals=2)
    for s in book.starts:
        book.values["LT0123456", "Avg Voltage", s] = round(225 + book.values["LT0123456", "kWh", s], 2)
    above = "Load Survey Report,,,,\nMeter No,LT0123456,,,\nCT Ratio,100/5,,,\n,,,,\n"
    rows = [
        [
            f"{book.wall(s):%d-%m-%Y}",
            f"{book.wall(s):%H:%M}-{book.end(s):%H:%M}".replace("-00:00", "-24:00"),
            *(book.text(book.get(m, s, c)) for c in channels),
        ]
        for m, s in book.rows()
    ]
    return book, (above + table(["Date", "Interval", *channels], rows)).encode()


@layout(
    "tr_cekis_veris.csv", "14.03.2024 00:00 and 1.234,567; Turkish header in Windows-1254; two quantities", names="any"
)
def _(name):
    channels = ("Çekiş (kWh)", "Veriş (kWh)")
    book = Book(name, "Europe/Istanbul", MARCH, 60, ["40Z0000012345678"], channels, level=2500)
    rows = [
        [m, f"{book.wall(s):%d.%m.%Y %H:%M}", *(book.text(book.get(m, s, c), ",", ".") for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["Sayaç No", "Tarih", *channels], rows, ";").encode("cp1254")


@layout(
    "au_keys_beside_readings.csv", "CALENDAR_KEY and EVENT_KEY are numbers of other tables; four energies of customers"
)
def _(name):
    ids = ["8147703", "8150103", "8487285"]
    channels = ("GENERAL_SUPPLY_KWH", "CONTROLLED_LOAD_KWH", "GROSS_GENERATION_KWH")
    book = Book(name, "Australia/Sydney", MARCH, 30, ids, channels)
    for s in book.starts:
        book.values[ids[1], channels[2], s] = 0.0
    rows = [
        [
            m,
            f"{book.wall(s):%Y-%m-%d %H:%M:%S}",
            str(12402 + n % 96),
            "8016",
            *(book.text(book.get(m, s, c)) for c in channels),
        ]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, table(["CUSTOMER_ID", "READING_DATETIME", "CALENDAR_KEY", "EVENT_KEY", *channels], rows, ", ").encode()


@layout("us_hour_of_a_month_by_days.csv", "a month in a title; hours down, days 1 .. 31 across", names="any")
def _(name):
    days = day_range(date(2024, 1, 1), 31)
    book = Book(name, "America/Denver", days, 60, ["feeder"], decimals=1, level=50)
    rows = [
        [f"{hour:02d}:00", *(book.text(book.get("feeder", book.days[day][hour])) for day in days)] for hour in range(24)
    ]
    above = "Feeder load (kWh)\nMonth: January 2024\n\n"
    return book, (above + table(["Hour", *(str(d.day) for d in days)], rows)).encode()


@layout(
    "fi_resolution_and_series_type.csv",
    "BOM; a point, a product number, PT15M, a unit; stamps in UTC; MISSING where none is",
    basis="UTC",
)
def _(name):
    ids = ["643007572000000017", "643007572000000025"]
    book = Book(name, "Europe/Helsinki", AUTUMN, 15, ids, decimals=6)
    book.blank(ids[0], [5, 6, 7])
    rows = []
    for m, s in book.rows():
        value = book.get(m, s)
        quality = "MISSING" if value != value else "OK"
        rows.append(
            [m, "8716867000030", "PT15M", "kWh", "BN01", f"{s:%Y-%m-%dT%H:%M:%SZ}", book.text(value, ","), quality]
        )
    header = [
        "Metering Point GSRN",
        "Product",
        "Resolution",
        "Unit Type",
        "Reading Type",
        "Start Time",
        "Quantity",
        "Quality",
    ]
    return book, table(header, rows, ";").encode("utf-8-sig")


@layout("it_attributes_e1_e96.xml", "a POD, a month, and a line per day whose attributes E1 .. E96 are the readings")
def _(name):
    ids = ["IT001E00000017", "IT001E00000025"]
    book = Book(name, "Europe/Rome", MARCH, 15, ids)
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<FlussoMisure CodFlusso="PDO">\n']
    for m in ids:
        parts.append(f"<DatiPod><Pod>{m}</Pod><MeseAnno>03/2024</MeseAnno><Curva>\n")
        for day, starts in book.days.items():
            cells = " ".join(f'E{n}="{book.text(book.get(m, s), ",")}"' for n, s in enumerate(starts, 1))
            parts.append(f'<Ea Dt="{day:%d/%m/%Y}" {cells}/>\n')
        parts.append("</Curva></DatiPod>\n")
    return book, "".join([*parts, "</FlussoMisure>\n"]).encode()


@layout(
    "real_dates_and_real_times.xlsx",
    "a workbook: a date in one column, a time of day in the next, three meters in the third",
)
def _(name):
    ids = ["B1-Lighting", "B1-Lifts", "B2-Chiller"]
    book = Book(name, "Europe/London", MARCH, 30, ids, decimals=2)
    content = io.BytesIO()
    with xlsxwriter.Workbook(content, {"in_memory": True}) as whole:
        sheet = whole.add_worksheet("Export")
        day_format, clock = whole.add_format({"num_format": "dd/mm/yyyy"}), whole.add_format({"num_format": "hh:mm"})
        sheet.write_row(0, 0, ["Reading Date", "Reading Time", "Meter Name", "Units"])
        for i, (m, s) in enumerate(book.rows(), 1):
            wall = book.wall(s)
            sheet.write_datetime(i, 0, wall.replace(hour=0, minute=0), day_format)
            sheet.write_number(i, 1, (wall.hour * 60 + wall.minute) / 1440, clock)
            sheet.write_string(i, 2, m)
            sheet.write_number(i, 3, book.get(m, s))
    return book, content.getvalue()


@layout(
    "water_reverse_flow_and_alarms.csv",
    "litres per hour, below nought for reverse flow; an alarm in words; m3 register beside",
    names="any",
)
def _(name):
    ids = ["8SEN0123456789", "8SEN0123456790"]
    book = Book(name, "Europe/Zurich", MARCH, 60, ids, ("Register (m3)", "Hourly flow (l)"), decimals=0, level=90)
    for n, m in enumerate(ids):
        total = 100.0 + n
        for i, s in enumerate(book.starts):
            if i % 19 == 4:
                book.values[m, "Hourly flow (l)", s] = -2.0
            total += book.values[m, "Hourly flow (l)", s] / 1000
            book.values[m, "Register (m3)", s] = round(total, 3)
    rows = [
        [
            m,
            (book.wall(s)).isoformat(),
            f"{book.get(m, s, 'Register (m3)'):.3f}",
            f"{book.get(m, s, 'Hourly flow (l)'):.0f}",
            "Backflow" if book.get(m, s, "Hourly flow (l)") < 0 else "",
        ]
        for m, s in book.rows()
    ]
    return book, table(["Device", "Local time", "Register (m3)", "Hourly flow (l)", "Alarm"], rows, ";").encode()
