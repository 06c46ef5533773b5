"""What research archives and offices of statistics publish."""

import json
from datetime import date

from read.layouts_more.readings import Book, as_registers, at_odd_times, day_range, epoch, layout, table

MARCH = day_range(date(2024, 3, 14), 2)
MONTHS = day_range(date(2023, 1, 1), 366)
DUTCH = ["januari", "februari", "maart", "april", "mei", "juni", "juli"]
DUTCH += ["augustus", "september", "oktober", "november", "december"]


def monthly(book):
    """Keep the first day of each month: the book of monthly figures."""
    book.values = {key: value for key, value in book.values.items() if book.wall(key[2]).day == 1}
    return book


@layout("time_and_unix_of_appliances.csv", "Time and Unix say the same; nine powers, some seconds apart", basis="UTC")
def _(name):
    channels = ("Aggregate", *(f"Appliance{i}" for i in range(1, 4)))
    book = Book(name, "UTC", MARCH[:1], 15, ["house"], channels, 0, 900)
    first = {s: s for s in book.starts}
    moved = at_odd_times(Times(dict.fromkeys((("", "", s) for s in first), 0.0)), seconds=700).values
    shift = dict(zip(first, (key[2] for key in moved), strict=True))
    book.values = {(m, c, shift[s]): v for (m, c, s), v in book.values.items()}
    rows = [
        [f"{s:%Y-%m-%d %H:%M:%S}", str(epoch(s)), *(book.text(book.get(m, s, c)) for c in channels)]
        for m, s in book.rows()
    ]
    return book, table(["Time", "Unix", *channels], rows).encode()


class Times:
    def __init__(self, values):
        self.values = values


@layout("house_of_channels", "a folder of channel_1.dat .. without headers: seconds since 1970 and watts", basis="UTC")
def _(name):
    ids = ["channel_1", "channel_2", "channel_3"]
    book = Book(name, "UTC", MARCH[:1], 5, ids, decimals=0, level=900)
    return book, {
        f"{name}/{m}.dat": "".join(f"{epoch(s)} {book.get(m, s):.0f}\n" for s in book.starts).encode() for m in ids
    }


@layout("unix_ts_of_circuits.csv", "unix_ts and circuits of a house called WHE, RSE, GRE", basis="UTC", layout="long")
def _(name):
    channels = ("WHE", "RSE", "GRE", "MHE")
    book = Book(name, "UTC", MARCH[:1], 5, ["house"], channels, 0, 900)
    rows = [[str(epoch(s)), *(book.text(book.get(m, s, c)) for c in channels)] for m, s in book.rows()]
    return book, table(["unix_ts", *channels], rows).encode()


@layout("appliances_and_rooms_quoted.csv", "numbers in quotes; energy, temperatures and humidities in columns")
def _(name):
    channels = ("Appliances", "lights", "T1", "RH_1", "T2", "RH_2")
    book = Book(name, "Europe/Brussels", MARCH, 10, ["house"], channels, 2, 30)
    rows = [
        [f'"{book.wall(s):%Y-%m-%d %H:%M:%S}"', *(f'"{book.text(book.get(m, s, c))}"' for c in channels)]
        for m, s in book.rows()
    ]
    return book, table([f'"{c}"' for c in ("date", *channels)], rows).encode()


@layout("building_and_meter_code.csv", "building_id and meter, a code 0 .. 2 of the quantity; rows by time")
def _(name):
    ids, channels = ["0", "46", "105"], ("0", "1", "2")
    book = Book(name, "America/New_York", MARCH, 60, ids, channels, 4, 90)
    rows = [
        [m, c, f"{book.wall(s):%Y-%m-%d %H:%M:%S}", book.text(book.get(m, s, c))]
        for s in book.starts
        for m in ids
        for c in channels
    ]
    return book, table(["building_id", "meter", "timestamp", "meter_reading"], rows).encode()


@layout(
    "buildings_by_name_across.csv", "a column per building, named after an animal, a use and a person", layout="wide"
)
def _(name):
    ids = ["Panther_office_Hannah", "Panther_lodging_Cora", "Robin_education_Zenia", "Fox_parking_Tommie"]
    book = Book(name, "America/New_York", MARCH, 60, ids, decimals=4, level=90)
    book.blank(ids[2], [4, 5, 6])
    rows = [[f"{book.wall(s):%Y-%m-%d %H:%M:%S}", *(book.text(book.get(m, s)) for m in ids)] for s in book.starts]
    return book, table(["timestamp", *ids], rows).encode()


@layout("residential_files_date_hour", "a folder of Residential_1.csv ..: date, hour 0 .. 23 and energy_kWh")
def _(name):
    ids = ["Residential_1", "Residential_2", "Residential_3"]
    book = Book(name, "America/Vancouver", MARCH, 60, ids, decimals=2)
    book.blank(ids[1], [9])
    return book, {
        f"{name}/{m}.csv": table(
            ["date", "hour", "energy_kWh"],
            [[f"{book.wall(s):%Y-%m-%d}", str(book.wall(s).hour), book.text(book.get(m, s))] for s in book.starts],
        ).encode()
        for m in ids
    }


@layout(
    "utc_and_cet_cest_registers_interpolated.csv",
    "utc_timestamp and cet_cest_timestamp; registers across; the last column names what was interpolated",
    basis="UTC",
    names="any",
)
def _(name):
    ids = ["DE_KN_industrial1_grid_import", "DE_KN_residential1_grid_import", "DE_KN_residential1_pv"]
    book = as_registers(Book(name, "Europe/Berlin", day_range(date(2023, 10, 28), 3), 60, ids))
    rows = [
        [
            f"{s:%Y-%m-%dT%H:%M:%SZ}",
            f"{book.local(s):%Y-%m-%dT%H:%M:%S%z}",
            *(book.text(book.get(m, s)) for m in ids),
            " | ".join(ids[: n % 3]) if n % 20 == 7 else "",
        ]
        for n, s in enumerate(book.starts)
    ]
    return book, table(["utc_timestamp", "cet_cest_timestamp", *ids, "interpolated"], rows).encode()


@layout(
    "statistics_tsv_with_flags.tsv",
    "the first column joins four codes; months across, newest last; ': ' is missing and 12.3 p provisional",
    names="any",
)
def _(name):
    ids = [f"M,IC_OBS,E7000,GWH,{land}" for land in ("AT", "BE", "DK", "FI")]
    book = monthly(Book(name, "Europe/Luxembourg", MONTHS, 1440, ids, level=9000))
    gone = next(key for key in list(book.values)[17:])
    book.values[gone] = float("nan")
    months = sorted({key[2] for key in book.values})
    rows = [
        [
            m,
            *(
                (": " if book.get(m, s) != book.get(m, s) else f"{book.get(m, s):.3f} ") + ("p" if n > 10 else "")
                for n, s in enumerate(months)
            ),
        ]
        for m in ids
    ]
    header = ["freq,nrg_bal,siec,unit,geo\\TIME_PERIOD", *(f"{book.wall(s):%Y-%m} " for s in months)]
    return book, table(header, rows, "\t").encode()


@layout("months_in_dutch.csv", "2023 januari .. 2024 januari in rows; a region; thousands with a point; quoted")
def _(name):
    ids = ["Drenthe (PV)", "Utrecht (PV)"]
    book = monthly(Book(name, "Europe/Amsterdam", MONTHS, 1440, ids, decimals=1, level=9000))
    rows = [
        [f'"{m}"', f'"{book.wall(s).year} {DUTCH[book.wall(s).month - 1]}"', f'"{book.text(v, ",", ".")}"']
        for (m, _, s), v in book.values.items()
    ]
    return book, table(['"Regio\'s"', '"Perioden"', '"Levering elektriciteit (mln kWh)"'], rows, ";").encode(
        "utf-8-sig"
    )


@layout("sdmx_observations.csv", "a data flow, codes, TIME_PERIOD as 2023-01, OBS_VALUE and OBS_STATUS")
def _(name):
    ids = ["AT", "CZ", "HU"]
    book = monthly(Book(name, "Europe/Vienna", MONTHS, 1440, ids, decimals=1, level=900))
    rows = [
        ["ESTAT:NRG_CB_EM(1.0)", "M", m, "GWH", f"{book.wall(s):%Y-%m}", book.text(v), "A" if n % 9 else "P"]
        for n, ((m, _, s), v) in enumerate(book.values.items())
    ]
    header = "DATAFLOW,FREQ,REF_AREA,UNIT_MEASURE,TIME_PERIOD,OBS_VALUE,OBS_STATUS"
    return book, table(header.split(","), rows).encode()


@layout(
    "response_data_period_of_an_hour.json",
    "response, data; period 2024-03-14T00 without minutes; codes and names of the same thing; numbers in text",
    names="any",
)
def _(name):
    ids, channels = {"CISO": "California ISO", "PJM": "PJM"}, {"D": "Demand", "NG": "Net generation"}
    book = Book(name, "UTC", MARCH, 60, list(ids), list(channels), 0, 20000)
    data = [
        {
            "period": f"{s:%Y-%m-%dT%H}",
            "respondent": m,
            "respondent-name": ids[m],
            "type": c,
            "type-name": channels[c],
            "value": book.text(v),
            "value-units": "megawatthours",
        }
        for (m, c, s), v in book.values.items()
    ]
    return book, json.dumps({"response": {"total": len(data), "dateFormat": "YYYY-MM-DDTHH24", "data": data}}).encode()
