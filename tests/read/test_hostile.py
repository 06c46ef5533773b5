"""Tables made to hurt: one clear line each, soon, without a traceback, in Python and on the command line."""

import gzip
import io
import itertools
import os
import time
import zipfile

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from read.support import SECRETS, refused
from shoal.cli.app import run
from shoal.engines import Local
from shoal.errors import InputError
from shoal.read import archives, documents, read_panel
from shoal.read.source_files import local_file

ID, VALUE = SECRETS[:2]
SECONDS = 10.0  # for each; most take far less
HEADER = b"id,time,value,note\n"
ROW = f"{ID},2024-01-01 00:00,{VALUE},x\n".encode()


def quote_in_a_column_nobody_reads(at, size=50_000_000):
    """Rows with a quotation mark that opens an entry and is never closed."""
    rows = ROW * (size // len(ROW))
    cut = int(len(rows) * at) // len(ROW) * len(ROW)
    return HEADER + rows[:cut] + ROW.replace(b",x", b',"x') + rows[cut:]


def zipped(members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def rows_and_one_more(last):
    return HEADER + ROW * 10_000 + last


BAD = {
    "binary": (lambda: os.urandom(100_000), "not text, Parquet or Excel"),
    "zero bytes late": (lambda: rows_and_one_more(b"a\0b,1,2,x\n"), "zero bytes in the middle"),
    "a million columns": (lambda: b"id," + b",".join(b"%d" % i for i in range(10**6)) + b"\na\n", "more than 200000"),
    "a header longer than a block": (lambda: b"id," + b"x" * (17 << 20), "The first line of a file is longer than 16"),
    "no line breaks": (lambda: HEADER + b"a," * (9 << 20), "longer than 4 MiB|a different number of"),
    "open quote at the top": (lambda: quote_in_a_column_nobody_reads(0.0), "longer than 4 MiB: perhaps a quotation"),
    "open quote near the end": (
        lambda: quote_in_a_column_nobody_reads(0.5, 20_000_000),
        "quotation mark (in a file )?is never",
    ),
    "open quote in the header": (
        lambda: HEADER.replace(b"note", b'"note') + ROW * 10**5,
        "quotation mark|different number",
    ),
    "two quotes far apart": (
        lambda: HEADER + ROW.replace(b",x", b',"x') + ROW * 9000 + ROW.replace(b",x", b',x"') + ROW,
        "quotation mark in a file is never closed",
    ),
    # The numbers of the intervals of a day; its place for them is looked for before readings are judged.
    "infinite beside a date": (
        lambda: HEADER.replace(b"time", b"date") + b"a,2024-03-01,1,x\n" * 20 + b"a,2024-03-01,inf,x\n",
        "infinite",
    ),
    "mixed encodings": (lambda: HEADER + "ä,1,2,x\n".encode() + ROW * 9 + "ä,1,2,x\n".encode("cp1252"), "UTF-8"),
    "empty": (lambda: b"", "is empty"),
    "only a header": (lambda: HEADER, "The table is empty"),
    "times beyond 64 bits": (lambda: HEADER + b"a,9223372036854775808,1,x\nb,9223372036854775808,1,x\n", "time"),
    "times at the edge of 64 bits": (lambda: HEADER + b"a,9223372036854775807,1,x\na,-9223372036854775808,1,x\n", "."),
    "zip bomb": (lambda: zipped({"m.csv": bytes(8 << 20)}), "unpacks to far more"),
    "gz bomb": (lambda: gzip.compress(HEADER + bytes(8 << 20)), "unpacks to far more|zero bytes|not text"),
    "gz bomb of text": (lambda: gzip.compress(HEADER + b"\n" * (8 << 20)), "unpacks to far more"),
    "zip in a zip": (lambda: zipped({"m.zip": zipped({"m.csv": HEADER})}), "packed file inside a packed file"),
    "workbook that is none": (lambda: zipped({"[Content_Types].xml": b"<x/>"}), "workbook cannot be read"),
    "deep JSON": (lambda: b"[" * 10**6, "JSON"),
    "XML bomb": (
        lambda: b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><x>&b;</x>',
        "XML",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_hostile_file_is_refused_in_one_line_and_soon(case, tmp_path, monkeypatch, capsys):
    make, pattern = BAD[case]
    monkeypatch.setattr(archives, "FREE_UNPACKED", 1 << 20)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_bytes(make())
    start = time.monotonic()
    with refused(pattern):
        read_panel("x.csv", layout="long" if case != "a million columns" else "auto")
    assert run(["anonymize", "x.csv", "--k", "2", "-o", "out"]) == 2
    assert time.monotonic() - start < 2 * SECONDS
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert "Traceback" not in said.err
    assert "Internal error" not in said.err
    assert not any(secret in said.err for secret in SECRETS)


def test_pipes_devices_and_circles_on_the_command_line(tmp_path, capsys):
    os.mkfifo(tmp_path / "x.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    for source in (tmp_path / "x.csv", "/dev/zero", tmp_path / "loop.csv"):
        assert run(["anonymize", str(source), "--k", "2", "-o", str(tmp_path / "out")]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_file_without_permission(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_bytes(HEADER + ROW)

    def closed(*_, **__):
        raise PermissionError(13, "Permission denied", f"{ID}.csv")

    monkeypatch.setattr("pathlib.Path.open", closed)  # the tests may run as root, who may read everything
    with refused("^A file cannot be opened: Permission denied"):
        read_panel(tmp_path / "x.csv")


def test_parquet_with_a_footer_of_nonsense(tmp_path):
    """Bytes of the footer changed at random: refused, or read as some table, never a crash or a flood of memory."""
    frame = pl.DataFrame({"id": ["a", "b"] * 50, "time": np.repeat(range(50), 2), "value": np.arange(100.0)})
    frame.write_parquet(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    random = np.random.default_rng(3)
    refusals = []
    for _ in range(150):
        broken = bytearray(whole)
        for place in random.integers(len(whole) - 8 - length, len(whole) - 4, size=random.integers(1, 4)):
            broken[place] = random.integers(256)
        (tmp_path / "x.parquet").write_bytes(broken)
        try:
            read_panel(tmp_path / "x.parquet", missing="keep")
        except InputError as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert not any("\n" in said for said in refusals)


def test_parquet_with_times_beyond_the_clock(tmp_path):
    times = {
        "uint64": pa.array([2**63, 2**64 - 1], pa.uint64()),
        "milliseconds": pa.array([2**62, 2**62 + 1], pa.timestamp("ms")),
    }
    for name, column in times.items():
        pq.write_table(pa.table({"id": [ID, ID], "time": column, "value": [1.0, 2.0]}), tmp_path / f"{name}.parquet")
        with refused("time"):
            read_panel(tmp_path / f"{name}.parquet")


def test_documents_within_limits(tmp_path, monkeypatch):
    path = tmp_path / "x"
    for make, read, pattern in (
        (b"[" * 10**6, documents.read_json, "nested too deeply"),
        (b'{"a": [1, 2', documents.read_json, "begins like JSON but is not valid JSON"),
        (b'[{"a": ' + b"9" * 10**5 + b"}]", documents.read_json, "begins like JSON but is not valid JSON"),
        (BAD["XML bomb"][0](), documents.read_xml, "defines entities"),
        (b"<a><b>", documents.read_xml, "begins like XML but is not valid XML"),
    ):
        path.write_bytes(make)
        with refused(pattern):
            read(local_file(path))
    path.write_bytes(b"<a>" * 10**5 + b"</a>" * 10**5)
    assert documents.read_xml(local_file(path)).tag == "a"
    path.write_bytes(b'{"a": 1}\n{"a": 2}\n')
    assert documents.read_json(local_file(path)) == [{"a": 1}, {"a": 2}]
    monkeypatch.setattr(documents, "MOST_DOCUMENT", 10)
    with refused("has more than 0 MiB"):
        documents.read_json(local_file(path))


def test_a_line_break_or_an_inch_inside_an_entry_is_no_damage(tmp_path):
    lines = [f'{name},{t},{t},"two\nlines"' for name, t in itertools.product("ab", range(4))]
    (tmp_path / "x.csv").write_bytes(HEADER + "\n".join(lines).encode() + b'\nc,0,1,5 inch\nc,1,1,5" wide\n')
    assert read_panel(tmp_path / "x.csv", missing="keep").n_series == 3


BLOCKS = "meter,time,kWh\n" + "".join(
    f"{'' if hour else f'M{day}'},0{day}/01/2024 0{hour}:00,1.5\n" for day in range(1, 9) for hour in range(10)
)
TWO_LINES = "date,M1,,M2,\n,kWh,kvarh,kWh,kvarh\n" + "".join(
    f"0{day}/01/2024 0{hour}:00,{day}.5,2.5,{hour}.5,4.5\n" for day in range(1, 9) for hour in range(10)
)
IN_QUOTES = "".join(f'"A,0{day}/01/2024 0{hour}:00,1.5"\n' for day in range(1, 9) for hour in range(10))


@pytest.mark.parametrize("text", [BLOCKS, TWO_LINES, IN_QUOTES], ids=["blocks", "two lines", "in quotes"])
def test_a_large_file_is_read_as_a_small_one(tmp_path, monkeypatch, text):
    (tmp_path / "x.csv").write_text(text)
    small = read_panel(tmp_path / "x.csv", missing="keep")
    monkeypatch.setattr("shoal.read.textfiles.SMALL", 1500)
    large = read_panel(tmp_path / "x.csv", missing="keep")
    assert list(large.ids) == list(small.ids)
    assert np.array_equal(large.times, small.times)
    assert np.array_equal(large.values, small.values, equal_nan=True)


@pytest.mark.parametrize("largest", [1 << 20, 1500], ids=["small", "streamed"])
def test_lines_that_are_not_rows_are_counted_over_all_files(tmp_path, monkeypatch, largest):
    monkeypatch.setattr("shoal.read.textfiles.SMALL", largest)
    rows = [f"{day:02}.01.{{year}} {hour:02}:00;1,5" for day in range(1, 9) for hour in range(10)]
    for year, broken in ((2024, 1), (2025, 0), (2026, 3)):
        lines = [f"{name};{row.format(year=year)}" for name in "AB" for row in rows]
        broken_lines = ["Mustermann 4711"] * broken
        (tmp_path / f"{year}.csv").write_text(
            "\n".join(["meter;time;kwh", *lines[:50], *broken_lines, *lines[50:], ""])
        )
    panel = read_panel(str(tmp_path / "*.csv"), missing="keep")
    assert panel.origin.reading["lines_skipped"] == 4
    assert any(note.startswith("4 lines are not read as rows") for note in panel.origin.notes)
    assert "Mustermann" not in str(panel.origin)


def test_one_line_that_is_no_row_is_named_in_the_singular(tmp_path):
    rows = [f"{name};{day:02}.01.2024 {hour:02}:00;1,5" for name in "AB" for day in range(1, 9) for hour in range(10)]
    (tmp_path / "x.csv").write_text("\n".join(["meter;time;kwh", *rows, "Mustermann 4711", ""]))
    told = read_panel(str(tmp_path / "x.csv"), missing="keep").origin.notes
    assert "1 line is not read as rows: headings, footers, incomplete rows" in told


def test_cells_filled_down_are_counted_over_all_files(tmp_path):
    (tmp_path / "x.csv").write_text(BLOCKS)
    (tmp_path / "y.csv").write_text(BLOCKS.replace("2024", "2025"))
    panel = read_panel(str(tmp_path / "*.csv"), missing="keep")
    assert panel.origin.reading["filled_down"] == 2 * 8 * 9


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BLOCKS, "entries are printed once for a block of rows: such a file must be read as a whole. Split it"),
        (IN_QUOTES, "its lines are not rows of cells: they are quoted as a whole"),
    ],
)
def test_a_file_too_large_to_be_seen_as_a_whole_is_refused(tmp_path, monkeypatch, text, why):
    for name in ("textfiles.SMALL", "textfiles.MOST_WHOLE", "containers.MOST_WHOLE"):
        monkeypatch.setattr(f"shoal.read.{name}", 1500)
    (tmp_path / "x.csv").write_text(text)
    with refused(f"MiB, and {why}"):
        read_panel(tmp_path / "x.csv")


def test_parquet_with_text_that_is_not_utf8(tmp_path):
    frame = pl.DataFrame({"id": [ID, "QZX0"] * 3, "time": [1, 1, 2, 2, 3, 3], "value": np.arange(6.0)})
    frame.write_parquet(tmp_path / "x.parquet", compression="uncompressed", statistics=False)
    whole = (tmp_path / "x.parquet").read_bytes()
    assert whole.count(b"QZX0") == 1
    (tmp_path / "x.parquet").write_bytes(whole.replace(b"QZX0", b"QZX\xb0"))
    with refused("cannot be read as Parquet: it is damaged"):
        read_panel(tmp_path / "x.parquet")
    with refused("damaged"), Local() as engine:
        read_panel(tmp_path / "x.parquet", engine=engine)
