"""What utilities and grid operators of America, Australia and elsewhere hand out."""

from datetime import date

from read.layouts_more.readings import Book, as_registers, at_odd_times, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
AUTUMN = day_range(date(2023, 11, 4), 3)


@layout(
    "us_import_export_inclusive_ends.csv", "lines about the customer; IMPORT and EXPORT; ends such as 00:59; $ of cost"
)
def _(name):
    channels = ("IMPORT (kWh)", "EXPORT (kWh)")
    book = Book(name, "America/Los_Angeles", MARCH, 60, ["5123456789"], channels, 2)
    above = (
        'Name,A CUSTOMER\nAddress,"1 MAIN ST, SPRINGFIELD CA 90000"\nAccount Number,5123456789\nService,Service 1\n\n'
    )
    rows = [
        [
            *("Electric usage", f"{book.wall(s):%Y-%m-%d}", f"{book.wall(s):%H}:00", f"{book.wall(s):%H}:59"),
            *(book.text(book.get(m, s, c)) for c in channels),
            f"${0.31 * book.get(m, s, channels[0]):.2f}",
            "",
        ]
        for m, s in book.rows()
    ]
    return book, (above + table(["TYPE", "DATE", "START TIME", "END TIME", *channels, "COST", "NOTES"], rows)).encode(
        "utf-8-sig"
    )


@layout(
    "us_int001_int100_autumn.csv",
    "INT001 .. INT100; 100 quarter hours on 11/05/2023, else INT097 .. INT100 are empty",
    timezone="America/Chicago",
)
def _(name):
    ids = ["BUSHIDG_COAST", "RESHIWR_COAST"]
    book = Book(name, "America/Chicago", AUTUMN, 15, ids)
    rows = []
    for m in ids:
        for day, starts in book.days.items():
            cells = [book.text(book.get(m, s)) for s in starts]
            rows.append([m, f"{day:%m/%d/%Y}", *cells, *[""] * (100 - len(cells))])
    return book, table(["PTYPE", "OPER_DAY", *(f"INT{i:03d}" for i in range(1, 101))], rows).encode()


@layout(
    "us_interval_gmt_and_operating_hour.csv",
    "INTERVALSTARTTIME_GMT and ENDTIME with -00:00, and the local day and hour as numbers",
    basis="UTC",
)
def _(name):
    ids = ["PGE-TAC", "SCE-TAC", "SDGE-TAC"]
    book = Book(name, "America/Los_Angeles", AUTUMN, 60, ids, decimals=2, level=9000)
    rows = []
    for m in ids:
        for day, starts in book.days.items():
            for n, s in enumerate(starts):
                stamps = [f"{t:%Y-%m-%dT%H:%M:%S}-00:00" for t in (s, s + book.step)]
                rows.append(
                    [
                        *stamps,
                        f"{day}",
                        str(n + 1),
                        "0",
                        m,
                        "Demand Forecast",
                        "SYS_FCST_ACT_MW",
                        book.text(book.get(m, s)),
                        "1",
                    ]
                )
    header = "INTERVALSTARTTIME_GMT,INTERVALENDTIME_GMT,OPR_DT,OPR_HR,OPR_INTERVAL,TAC_AREA_NAME,LABEL,"
    header += "XML_DATA_ITEM,MW,GROUP"
    return book, table(header.split(","), rows).encode()


@layout(
    "us_datetime_beginning_utc_and_ept.csv",
    "the beginning in UTC and by the eastern clock, 12 hours; regions above the load area",
    basis="UTC",
)
def _(name):
    areas = {"AECO": ("MIDATL", "AE"), "AEPAPT": ("WEST", "AEP"), "AEPIMP": ("WEST", "AEP"), "BC": ("MIDATL", "BC")}
    book = Book(name, "America/New_York", AUTUMN, 60, list(areas), level=3000)

    def stamp(time):
        return f"{time.month}/{time.day}/{time.year} {time.hour % 12 or 12}:{time:%M:%S %p}"

    rows = [
        [stamp(s), stamp(book.wall(s)), "RFC", *areas[m], m, book.text(book.get(m, s)), "True"] for m, s in book.rows()
    ]
    header = "datetime_beginning_utc,datetime_beginning_ept,nerc_region,mkt_region,zone,load_area,mw,is_verified"
    return book, table(header.split(","), rows).encode()


@layout(
    "us_hr_end_02x_in_rows.csv",
    "Hr_End 01 .. 24 in rows, 02X is the second from 1 to 2; temperatures beside",
    timezone="America/New_York",
)
def _(name):
    channels = ("DA_Demand", "RT_Demand", "Dry_Bulb", "Dew_Point")
    book = Book(name, "America/New_York", AUTUMN, 60, ["area"], channels, 1, 9000)

    for key in [key for key in book.values if key[1] in channels[2:]]:
        book.values[key] = round(book.values[key] / 200, 1)

    def hour(s):
        local = book.local(s)
        return f"{local.hour + 1:02d}" + ("X" if local.fold else "")

    rows = [
        [f"{book.wall(s):%Y-%m-%d}", hour(s), *(book.text(book.get("area", s, c)) for c in channels)]
        for s in book.starts
    ]
    return book, table(["Date", "Hr_End", *channels], rows).encode()


@layout(
    "us_dataid_localminute_short_offset.csv",
    "offset of hours alone, -06; channels use, grid and solar; negative",
    basis="UTC",
)
def _(name):
    ids, channels = ["661", "1642", "2335"], ("use", "air1", "grid", "solar")
    book = Book(name, "America/Chicago", MARCH[:1], 15, ids, channels)
    for key in [key for key in book.values if key[1] == "grid"]:
        book.values[key] = round(book.values[key] - 0.4, 3)
    book.blank("1642", range(len(book.starts)), "solar")
    rows = [
        [m, f"{book.wall(s):%Y-%m-%d %H:%M:%S}-05", *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["dataid", "local_15min", *channels], rows).encode()


@layout(
    "us_building_model_out_columns.csv",
    "stamps are ends, 00:15 first; names such as out.electricity.total.energy_consumption",
)
def _(name):
    channels = tuple(f"out.{c}.energy_consumption" for c in ("electricity.total", "natural_gas.total", "site_energy"))
    ids = ["100007", "100012"]
    book = Book(name, "America/New_York", MARCH, 15, ids, channels, 6)
    rows = [
        [m, "True", f"{book.end(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["bldg_id", "applicability", "timestamp", *channels], rows).encode()


@layout(
    "us_time_bucket_zone_in_header.csv",
    "Time Bucket (America/New_York); circuits in columns; No CT where none is",
    names="any",
)
def _(name):
    channels = ("Home-Mains_A (kWhs)", "Home-Mains_B (kWhs)", "Home-Dryer (kWhs)")
    book = Book(name, "America/New_York", MARCH, 60, ["home"], channels, 6)
    rows = [
        [
            f"{book.wall(s):%m/%d/%Y %H:%M:%S}",
            *(book.text(book.get(m, s, c)) for c in channels[:2]),
            "No CT",
            book.text(book.get(m, s, channels[2])),
        ]
        for m, s in book.rows()
    ]
    header = ["Time Bucket (America/New_York)", *channels[:2], "Home-Spare (kWhs)", channels[2]]
    return book, table(header, rows).encode()


@layout(
    "us_epoch_newest_first_usage_generation.csv", "seconds since 1970, newest first; two powers, quoted", basis="UTC"
)
def _(name):
    channels = ("Usage [kW]", "Generation [kW]")
    book = Book(name, "America/Denver", MARCH[:1], 5, ["house"], channels, 6)
    rows = [[str(epoch(s)), *(book.text(book.get(m, s, c)) for c in channels)] for m, s in reversed(book.rows())]
    return book, table(['"Date & Time"', *(f'"{c}"' for c in channels)], rows).encode()


@layout(
    "us_water_reads_at_odd_times.csv",
    "registers of water in gallons, read about daily at any minute; 12-hour clock; Actual or Estimated",
)
def _(name):
    ids = ["80012345", "80012346", "80012347"]
    book = at_odd_times(
        as_registers(Book(name, "America/Phoenix", day_range(date(2024, 2, 20), 12), 1440, ids, decimals=0, level=900)),
        seconds=80000,
    )
    book.values = {(m, c, s.replace(second=0)): v for (m, c, s), v in book.values.items()}  # the file prints no seconds

    def stamp(time):
        return f"{time.month}/{time.day}/{time.year} {time.hour % 12 or 12}:{time:%M %p}"

    rows = [
        [
            m,
            f"{4400 + int(m[-1])} ELM ST",
            stamp(book.wall(s)),
            book.text(v),
            "Gallons",
            "Estimated" if n % 11 == 3 else "Actual",
        ]
        for n, ((m, _, s), v) in enumerate(book.values.items())
    ]
    return book, table(["Meter ID", "Service Address", "Reading Date", "Reading", "Unit", "Read Type"], rows).encode()


@layout(
    "au_con_gen_estimated_ranges.csv",
    "CON/GEN in rows; ESTIMATED? Yes or No; 00:00 - 00:30 .. 23:30 - 00:00 across",
)
def _(name):
    ids, kinds = ["61020012345", "61020012346"], ("Consumption", "Generation")
    book = Book(name, "Australia/Melbourne", MARCH, 30, ids, kinds)
    spans = [f"{i // 2:02d}:{i % 2 * 30:02d} - {(i + 1) // 2 % 24:02d}:{(i + 1) % 2 * 30:02d}" for i in range(48)]
    rows = [
        [m, "0123456", c, f"{day:%d/%m/%Y}", "No", *(book.text(book.get(m, s, c)) for s in starts)]
        for m in ids
        for c in kinds
        for day, starts in book.days.items()
    ]
    return book, table(["NMI", "METER SERIAL NUMBER", "CON/GEN", "DATE", "ESTIMATED?", *spans], rows).encode()


@layout(
    "au_records_c_i_d.csv",
    "a C line above and below, the header in an I line, readings in D lines; SETTLEMENTDATE is an end",
)
def _(name):
    ids = ["ADPBA1G", "BARCSF1", "ERARING"]
    book = Book(name, "Australia/Brisbane", MARCH[:1], 5, ids, decimals=5, level=90)
    rows = [
        [
            "D",
            "DISPATCH",
            "UNIT_SCADA",
            "1",
            f'"{book.end(s):%Y/%m/%d %H:%M:%S}"',
            m,
            book.text(book.get(m, s)),
            f'"{book.wall(s):%Y/%m/%d %H:%M:11}"',
        ]
        for s in book.starts
        for m in ids
    ]
    head = "C,NEMP.WORLD,DISPATCHSCADA,AEMO,PUBLIC,2024/03/15,00:05:17,0000000415,DISPATCHSCADA,0000000415\n"
    head += "I,DISPATCH,UNIT_SCADA,1,SETTLEMENTDATE,DUID,SCADAVALUE,LASTCHANGED\n"
    return book, (head + table(None, rows) + f'C,"END OF REPORT",{len(rows) + 3}\n').encode()


@layout(
    "ca_demand_report_backslashes.csv",
    r"lines that begin with \\; Date and Hour 1 .. 24, all year by standard time; two demands",
)
def _(name):
    channels = ("Market Demand", "Ontario Demand")
    book = Book(name, "America/Panama", day_range(date(2024, 3, 9), 3), 60, ["area"], channels, 0, 20000)
    rows = [
        [f"{book.wall(s):%Y-%m-%d}", str(book.wall(s).hour + 1), *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    above = "\\\\Hourly Demand Report,,,\n\\\\Created at March 12 2024 at 07:02:11,,,\n\\\\For 2024,,,\n"
    return book, (above + table(["Date", "Hour", *channels], rows)).encode()


@layout(
    "ca_contrat_kwh_temperature.csv",
    "newest first; decimal comma; codes between; a temperature beside; quoted contract",
)
def _(name):
    channels = ("kWh", "Température moyenne (°C)")
    book = Book(name, "America/Toronto", MARCH, 60, ["0312345678"], channels, 2, 2)
    rows = [
        [
            '"0312345678"',
            f"{book.wall(s):%Y-%m-%d %H:%M:%S}",
            book.text(book.get(m, s, "kWh"), ","),
            "R",
            book.text(book.get(m, s, channels[1]), ","),
            "R",
        ]
        for m, s in reversed(book.rows())
    ]
    header = ["Contrat", "Date et heure", "kWh", "Code de consommation", channels[1], "Code de température"]
    return book, table(header, rows, ";").encode("utf-8-sig")


@layout("ca_interval_start_with_address.csv", "a holder and an address in all rows; demand and power factor all N/A")
def _(name):
    book = Book(name, "America/Vancouver", MARCH, 60, ["4012345"], decimals=2)
    rows = [
        [
            *("A CUSTOMER", "'000012345678", "'4012345", f"{book.wall(s):%Y-%m-%d %H:%M}"),
            *(book.text(book.get(m, s)), "N/A", "N/A", "", '"1234 MAIN ST, APT 5"', "VANCOUVER"),
        ]
        for m, s in book.rows()
    ]
    header = "Account Holder,Account Number,Meter Number,Interval Start Date/Time,Net Consumption (kWh),Demand (kW),"
    header += "Power Factor (%),Estimated Usage,Service Address,City"
    return book, table(header.split(","), rows).encode()


@layout(
    "us_thermostat_report.csv", "comments with #, then Date and Time, modes in words, temperatures and seconds of fan"
)
def _(name):
    channels = ("Cool Set Temp (F)", "Heat Set Temp (F)", "Current Temp (F)", "Current Humidity (%RH)", "Fan (sec)")
    book = Book(name, "America/Chicago", MARCH[:1], 5, ["311012345678"], channels, 1, 60)
    above = "#Thermostat identifier: 311012345678\n#Thermostat name: Upstairs\n#Dates are in local time\n#\n"
    rows = [
        [
            *(f"{book.wall(s):%Y-%m-%d}", f"{book.wall(s):%H:%M:%S}", "heat", "heatStage1On" if n % 5 else "heatOff"),
            *(book.text(book.get(m, s, c)) for c in channels),
        ]
        for n, (m, s) in enumerate(book.rows())
    ]
    return book, (above + table(["Date", "Time", "System Setting", "System Mode", *channels], rows)).encode()
