"""The layouts beside the repository in other spellings: other separators, headers that say nothing, columns in another
order, other dates and decimal marks, blank lines, constant columns. What they say stays the same, so does the reading.
"""

import csv
import json
from datetime import datetime

import pyarrow.parquet as pq
import pytest

from read.correct_readings import assert_correct
from shoal import read_panel


def respelt(text, by="%Y-%m-%d", was="%d/%m/%Y"):
    return format(datetime.strptime(text.strip(), was), by)


def twelve(text):
    """14:30 as 2:30 PM."""
    hour, minute = text.strip().split(":")
    return f"{int(hour) % 12 or 12}:{minute} {'AM' if int(hour) < 12 else 'PM'}"


def comma(text):
    return text.replace(".", ",")


def dot(text):
    return text.replace(",", ".")


def neutral(rows):
    """The same columns with names that say nothing."""
    return [[f"c{n}" for n in range(1, len(rows[0]) + 1)], *rows]


def printed(rows, separator=",", newline="\n"):
    return "".join(separator.join(row) + newline for row in rows)


def periods_without_names(rows):
    """Date and total first, the id last, decimal commas, no names."""
    return printed(neutral([[row[1], *map(comma, row[2:]), row[0]] for row in rows[1:]]), ";")


def hours_reordered(rows):
    return printed(neutral([[method, hour, dot(kwh), respelt(day), m] for m, day, hour, kwh, method in rows[1:]]), "|")


def settlement_periods_reversed(rows):
    return printed(neutral([[kwh, kind, n, respelt(day, "%d.%m.%Y"), m] for m, day, n, kind, kwh in rows[2:]]), "\t")


def translated_with_constants(rows):
    header = ["area", "point", "from", "to", "amount", "unit", "quality", "kind", "version"]
    lines = [printed([header])]
    for point, start, end, amount, unit, quality, kind in rows[1:]:
        stamps = [respelt(stamp, "%Y-%m-%dT%H:%M:%S", "%d-%m-%Y %H:%M:%S") for stamp in (start, end)]
        blank = "\n" if stamps[0].endswith("T00:00:00") else ""
        lines.append(blank + printed([["1", point, *stamps, dot(amount), unit, quality, kind, "2"]]))
    return "".join(lines)


def clock_for_numbers(rows):
    """30, 100, .. 2400 as 00:30, 01:00, .. 24:00; ISO dates; the id last."""
    clock = [f"{name:0>4}"[:2] + ":" + f"{name:0>4}"[2:] for name in rows[0][2:]]
    return printed(
        [["day", *clock, "point"], *([respelt(row[1]), *map(comma, row[2:]), row[0]] for row in rows[1:])], ";"
    )


def intervals_without_names(rows):
    body = [
        [m.strip("'"), respelt(day, was="%m/%d/%Y"), revised, twelve(start), twelve(end), kwh, flag, kind]
        for m, day, revised, start, end, kwh, flag, kind in rows[1:]
    ]
    return printed(neutral(body), "|")


def clock_as_periods(rows):
    header = ["A", "B", "C", *(f"P{n:02d}" for n in range(1, 49))]
    return printed(
        [header, *([m, unit, respelt(day, was="%d/%m/%y"), *map(comma, row)] for m, unit, day, *row in rows[1:])], ";"
    )


def transposed(rows):
    """A row per meter; the stamps are the names of the columns."""
    across = [list(row) for row in zip(*rows, strict=True)]
    return printed([["series", *across[0][1:]], *across[1:]], "\t")


def oldest_first(rows):
    body = [
        [respelt(end, "%Y-%m-%d %H:%M", "%d-%m-%Y %H:%M"), kind, m, serial, value]
        for m, serial, value, kind, end in rows[1:]
    ]
    return printed(neutral(body[::-1]), "\t")


def german_without_preamble(rows):
    header = ["Art", "Datum", "von", "bis", "Menge", "Einheit", "Kosten", "Bemerkung"]
    body = [
        [
            kind,
            respelt(day, "%d.%m.%Y", "%Y-%m-%d"),
            start,
            end,
            comma(usage),
            unit,
            comma(cost.strip("$")) + " $",
            note,
        ]
        for kind, day, start, end, usage, unit, cost, note in rows[5:]
    ]
    return printed([header, *body], ";", "\n\n")


def value_first(rows):
    missing = {"Null": "NA"}
    body = [[missing.get(kwh.strip(), kwh.strip()), stamp[:19], tariff, m] for m, tariff, stamp, kwh in rows[1:]]
    return printed([["kwh", "when", "tariff", "household"], *body], "\t")


def stamps_in_one_column(rows):
    def stamp(day, clock):
        return respelt(f"{day} {clock}", "%Y-%m-%d %H:%M", "%d-%m-%Y %H:%M:%S")

    return printed(
        [
            ["register", "point", "from", "to", "volume", "unit", "status"],
            *(
                [row[7], row[4].strip('="'), stamp(*row[:2]), stamp(*row[2:4]), dot(row[8]), row[9], row[10]]
                for row in rows[1:]
            ),
        ]
    )


def flags_after_all_values(rows):
    header = ["Point", "Type", "Day", *(f"V{n}" for n in range(1, 51)), *(f"Q{n}" for n in range(1, 51))]
    return printed(
        [header, *([row[2], row[3], respelt(row[6], "%d %b %Y"), *row[8::2], *row[7::2]] for row in rows[1:])], ";"
    )


RESPELLINGS = {
    "uk_drax_hh1_hh50_clockchange.csv": (",", periods_without_names),
    "es_datadis_cnmc_hora_1_25.csv": (";", hours_reordered),
    "uk_opus_settlement_period_rows.csv": (",", settlement_periods_reversed),
    "dk_eloverblik_hourly.csv": (";", translated_with_constants),
    "uk_generic_bare_integer_end_times.csv": (",", clock_for_numbers),
    "us_smt_texas_interval_consumption_generation.csv": (",", intervals_without_names),
    "uk_sse_units_lag_lead_rows.csv": (",", clock_as_periods),
    "pt_uci_loaddiagrams_wide_decimal_comma.txt": (";", transposed),
    "ie_esb_hdf_kw_reverse_end_time.csv": (",", oldest_first),
    "us_pge_opower_15min_fallback.csv": (",", german_without_preamble),
    "uk_lcl_low_carbon_london.csv": (",", value_first),
    "be_fluvius_registers_quarter_hour.csv": (";", stamps_in_one_column),
    "uk_brookgreen_readtype_value_pairs_hh50.csv": (",", flags_after_all_values),
}


def assert_read_as(original, path, formats):
    entry = json.loads((formats / "manifest.json").read_text(encoding="utf-8"))[original]
    rows = pq.read_table(formats / "expected" / f"{original.rpartition('.')[0]}.parquet").to_pylist()
    zone = entry["zone"] if entry["basis"] == "UTC" and "/" in entry["zone"] and " " not in entry["zone"] else None
    panel = read_panel(path, missing="keep", timezone=zone)
    assert_correct(panel, rows, basis=entry["basis"], zone=entry["zone"])


@pytest.mark.parametrize("original", RESPELLINGS)
def test_the_same_table_in_another_spelling(original, shared_data, tmp_path):
    formats = shared_data / "formats"
    separator, respell = RESPELLINGS[original]
    with (formats / original).open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file, delimiter=separator) if row]
    path = tmp_path / "respelt.csv"
    path.write_text(respell(rows), encoding="utf-8")
    assert_read_as(original, path, formats)


def test_an_array_of_readings_with_names_that_say_nothing(shared_data, tmp_path):
    original = "uk_n3rgy_v1_consumption.json"
    values = json.loads((shared_data / "formats" / original).read_text(encoding="utf-8"))["values"]
    path = tmp_path / "respelt.json"
    path.write_text(
        json.dumps([{"c1": row["timestamp"], "c2": row["value"]} for row in values[::-1]]), encoding="utf-8"
    )
    assert_read_as(original, path, shared_data / "formats")
