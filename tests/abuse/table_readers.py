"""Tables and policies: marked ones of our own, and the files that the tests of reading have."""

import gzip
import io
import json

import polars as pl
import xlsxwriter
import yaml

import shoal
from abuse.mutation import dump_tree, mutate_bytes, mutate_cells, mutate_tree
from abuse.reader import TESTS, Reader


def marked_tables():
    """Small tables in several shapes, every identifier and value marked."""
    stamps = [f"2024-03-01 {h:02d}:00" for h in range(6)]
    rows = [(f"QZX{i:04d}", t, f"73917.{7 * i + h:03d}") for i in range(5) for h, t in enumerate(stamps)]
    long = "id,time,value\n" + "".join(f"{i},{t},{v}\n" for i, t, v in rows)
    with_static = "meter;postcode;timestamp;kwh\n" + "".join(f"{i};QZXp{i[-1]};{t};{v}\n" for i, t, v in rows)
    days = "id,date," + ",".join(f"{h:02d}:00" for h in range(6)) + "\n"
    days += "".join(f"QZX{i:04d},2024-03-01," + ",".join(f"73917.{i}{h}" for h in range(6)) + "\n" for i in range(5))
    events = "id,time,age,result\n" + "".join(f"QZX{i},{i // 4},73917.{i},QZX{'abc'[i % 3]}\n" for i in range(24))
    lines = "".join(json.dumps({"id": i, "time": t, "value": float(v)}) + "\n" for i, t, v in rows)
    plain = json.dumps([{"id": i, "time": t, "value": float(v)} for i, t, v in rows], indent=1)
    return {
        "csv": [long.encode(), with_static.encode(), days.encode(), events.encode()],
        "ndjson": [lines.encode()],
        "json": [plain.encode()],
        "parquet": [parquet(long)],
        "xlsx": [workbook(long)],
        "csv.gz": [gzip.compress(long.encode(), mtime=0)],
    }


def parquet(text):
    buffer = io.BytesIO()
    pl.read_csv(io.BytesIO(text.encode())).write_parquet(buffer)
    return buffer.getvalue()


def workbook(text):
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        sheet = book.add_worksheet()
        for number, line in enumerate(text.splitlines()):
            sheet.write_row(number, 0, line.split(","))
    return buffer.getvalue()


def mutate_table(rng, content, other):
    if rng.random() < 0.6 and (cells := mutate_cells(rng, content)) is not None:
        return cells
    return mutate_bytes(rng, content, other)


SETTINGS = [{}, {}, {}, {"missing": "keep"}, {"missing": "drop-series"}, {"missing": {"interpolate": "2h"}}]
SETTINGS += [{"align": "resample:2h"}, {"duplicates": "mean"}, {"layout": "long"}, {"layout": "wide"}]
SETTINGS += [
    {"id": "id", "time": "time", "value": "value"},
    {"timezone": "Europe/Bratislava"},
    {"register": "difference"},
]


def read_a_table(path, rng):
    kind = rng.randrange(8)
    if kind == 0:  # takes four times as long as the others
        str(shoal.look(path))
    elif kind <= 2:
        shoal.read_events(path, sensitive=rng.choice(["result", "value"]), quasi=["age"], time="time")
    else:
        shoal.read_panel(path, **rng.choice(SETTINGS))


def table_readers(work):
    found = [
        Reader(f"table.{ending}", work / f"table.{ending}", seeds, mutate_table, read_a_table, is_table=True)
        for ending, seeds in marked_tables().items()
    ]
    by_ending = {}
    for path in sorted((TESTS / "read/layouts/files").iterdir()):
        if path.is_file() and path.stat().st_size < 8000:
            by_ending.setdefault(path.suffix, []).append(path.read_bytes())
    for ending, seeds in by_ending.items():
        found.append(Reader(f"layout{ending}", work / f"layout{ending}", seeds, mutate_table, read_a_table))
    return found


POLICY = """\
title: Half-hourly use
data: {path: meters.csv, id: meter, subject: account, time: timestamp, value: kwh, missing: {interpolate: 2h}}
roles: {tariff: publish, postcode: identifier, diagnosis: sensitive}
adversary: {knows: {points: 5}, scenario: prosecutor}
keep: [peaks, {window: 17:00-20:00}]
require: {risk: {at_most: 0.09}, utility: {normalized-divergence: {at_most: 0.12}}}
method: {name: microaggregation, k: {search: [4, 8, 12]}}
release: {model: publish, to: out}
"""
OTHER_POLICY = """\
data:
  path: x.parquet
method:
  search:
  - {name: microaggregation, k: {search: [8, 12]}}
  - {name: kp, k: 10, p: 3}
engine: local
release:
  model: closed
  to: out
"""


def mutate_policy(rng, content, other):
    if rng.random() < 0.4:
        return mutate_bytes(rng, content, other)
    tree = mutate_tree(rng, yaml.safe_load(content))
    if rng.random() < 0.5:
        return dump_tree(rng, tree)
    return yaml.safe_dump(tree, allow_unicode=True).encode(errors="surrogatepass")


def read_a_policy(path, rng):
    shoal.load_policy(path)


def policy_readers(work):
    seeds = [POLICY.encode(), OTHER_POLICY.encode()]
    return [Reader("policy", work / "policy.yaml", seeds, mutate_policy, read_a_policy)]
