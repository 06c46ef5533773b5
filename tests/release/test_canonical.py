"""Series that differ in the bytes of a release are not taken for equal, whatever they look like once they are read."""

import struct

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from forgery import reseal
from shard_examples import many_parts, repeated_candidate
from shoal import KP, Events, Microaggregation, Panel, Reposition, verify
from shoal.errors import ReleaseError
from shoal.release import release_candidate
from small_release import small_panel

N, T = 14, 6


def findings(out, **changes):
    reseal(out, **changes)
    outcome = verify(out)
    assert outcome.holds == (not outcome.findings)
    return " | ".join(outcome.findings)


def said(out):
    """The same, or why there is nothing to verify."""
    try:
        return findings(out)
    except ReleaseError as error:
        return str(error)


def write(path, change, **options):
    """The table of a file, changed, written by the same library."""
    pq.write_table(change(pq.read_table(path)), path, compression="zstd", **options)


def column(name, make):
    def change(table):
        place = table.schema.get_field_index(name)
        return table.set_column(place, name, make(table[name].combine_chunks()))

    return change


def tagged(values):
    """The same numbers as decimals, in which every series has a scale of its own where it is printed."""
    return pa.array([None if v is None else round(v * 10**9) for v in values.to_pylist()]).cast(pa.decimal128(38, 9))


def texts(values):
    """The same numbers as text, every series with other zeros at its end."""
    return pa.array([f"{value}{'0' * (row // T)}" for row, value in enumerate(values.to_pylist())])


def payloads(values):
    """NaN everywhere, the bits of every series others."""
    bits = np.uint64(0x7FF8000000000000) + np.repeat(np.arange(len(values) // T, dtype=np.uint64), T)
    return pa.array(bits.view(np.float64))


def some_null(values):
    """NaN in one half of the series, nothing in the other."""
    return pa.array([np.nan if i // T % 2 else None for i in range(len(values))], pa.float64())


TYPES = {
    "decimal128": (column("value", tagged), "another type in column 'value'"),
    "text": (column("value", texts), "another type in column 'value'"),
    "float32": (column("value", lambda v: v.cast(pa.float32())), "another type in column 'value'"),
    "NaN with bits of its own": (
        column("value", payloads),
        "row 0 (counted from 0) holds NaN where nothing may be",
    ),
    "null beside NaN": (column("value", some_null), f"row {T} (counted from 0) holds NaN where nothing may be"),
    "nanoseconds": (column("time", lambda t: t.cast(pa.timestamp("ns"))), "another type in column 'time'"),
    "milliseconds": (column("time", lambda t: t.cast(pa.timestamp("ms"))), "another type in column 'time'"),
    "a zone of its own": (column("time", lambda t: t.cast(pa.timestamp("us", tz="Europe/Dublin"))), "column 'time'"),
    "times as text": (column("time", lambda t: t.cast(pa.string())), "another type in column 'time'"),
    "whole numbers as ids": (column("id", lambda i: pa.array(np.repeat(np.arange(len(i) // T), T))), "column 'id'"),
    "binary ids": (column("id", lambda i: i.cast(pa.binary())), "another type in column 'id'"),
    "a dictionary of ids": (column("id", lambda i: i.dictionary_encode()), "another type in column 'id'"),
    "columns that are never null": (
        lambda t: t.cast(pa.schema([f.with_nullable(False) for f in t.schema])),
        "another type in column 'id'",
    ),
    "a note in the file": (
        lambda t: t.replace_schema_metadata({"source": "meter-0"}),
        "data.parquet carries 1 note(s) in its metadata that Shoal does not write",
    ),
    "a note at a column": (
        lambda t: t.cast(t.schema.set(2, t.schema.field(2).with_metadata({"unit": "meter-0"}))),
        "data.parquet carries 1 note(s) in its metadata that Shoal does not write",
    ),
    "another order": (
        lambda t: pa.concat_tables([t.slice(T, T), t.slice(0, T), t.slice(2 * T)]),
        "series 1 is not in the order of the names, or occurs twice",
    ),
    "plain names": (
        column("id", lambda i: pa.array([f"ann {n // T:02}" for n in range(len(i))])),
        "14 of 14 names are not written as Shoal's pseudonyms are",
    ),
}


@pytest.mark.parametrize("name", TYPES)
def test_a_table_that_only_looks_like_what_was_released_is_found(out, name):
    change, finding = TYPES[name]
    write(out / "data.parquet", change)
    assert finding in findings(out)


@pytest.fixture
def in_parts(tmp_path, monkeypatch):
    many_parts(monkeypatch)
    release_candidate(repeated_candidate(), tmp_path / "out", summary="Test.", insecure_seed=2)
    return tmp_path / "out"


@pytest.mark.parametrize("name", [name for name in TYPES if name not in ("another order", "plain names")])
def test_so_it_is_in_parts(in_parts, name):
    change, finding = TYPES[name]
    write(in_parts / "data-00001.parquet", change)
    assert finding.replace("data.parquet", "data-00001.parquet") in findings(in_parts)


def test_plain_names_in_parts_are_found(in_parts):
    path = in_parts / "data-00002.parquet"
    n = pq.read_metadata(path).num_rows // T
    write(path, column("id", lambda i: pa.array([f"zoe {r // T:02}" for r in range(len(i))])))
    assert f"{n} of {n} names are not written as Shoal's pseudonyms are" in findings(in_parts)


def test_bytes_between_pages_and_footer_are_found(out):
    path = out / "data.parquet"
    content, footer = path.read_bytes(), pq.read_metadata(path).serialized_size + 8
    path.write_bytes(content[:-footer] + b"the readings of meter-0" + content[-footer:])
    assert findings(out) == "data.parquet holds 23 byte(s) that belong to no column"


def test_statistics_that_are_not_those_of_the_rows_are_found(out):
    path = out / "data.parquet"
    content = path.read_bytes()
    largest = struct.pack("<d", max(pq.read_table(path)["value"].to_pylist()))
    place = content.rindex(largest)
    path.write_bytes(content[:place] + struct.pack("<d", 4999.0) + content[place + 8 :])
    assert "has statistics of column 'value' that do not match its rows" in findings(out)


def test_a_second_table_that_nothing_checks_is_found(out):
    (out / "data.csv").write_text("id,time,value\nmeter-0,0,4999.0\n")
    assert "release.json names 1 file(s) that no release of this form has" in findings(out)
    (out / "data.csv").rename(out / "attributes.parquet")
    assert "release.json names 1 file(s) that no release of this form has" in findings(out)


@pytest.mark.parametrize(
    "changes",
    [
        {"time__first": "2019-01-01T00:00:00.000000"},
        {"time__last": "2030-01-01T00:00:00.000000"},
        {"time__step": "1d"},
    ],
)
def test_instants_that_the_data_contradicts_are_found(out, changes):
    assert (
        findings(out, **changes)
        == "release.json states other instants, another step or another time zone than the data has"
    )


def test_a_zone_that_the_data_contradicts_is_found(out, tmp_path):
    assert "another type in column 'time'" in findings(out, time__timezone="Europe/Dublin")
    zoned = Microaggregation(k=3).anonymize(small_panel(timezone="Europe/Dublin"))
    release_candidate(zoned, tmp_path / "zoned", summary="Test.")
    assert findings(tmp_path / "zoned") == ""
    assert "another type in column 'time'" in findings(tmp_path / "zoned", time__timezone="Europe/Paris")
    release_candidate(zoned, tmp_path / "csv", summary="Test.", format="csv")
    assert findings(tmp_path / "csv") == ""
    assert "row 0 (counted from 0) holds something that is no instant" in findings(
        tmp_path / "csv", time__timezone=None
    )


def test_insecure_pseudonyms_are_said_aloud(candidate, tmp_path):
    release_candidate(candidate, tmp_path / "seeded", summary="Test.", insecure_seed=1)
    release_candidate(candidate, tmp_path / "random", summary="Test.")
    notes = {name: " ".join(verify(tmp_path / name).notes) for name in ("seeded", "random")}
    assert notes["seeded"].startswith("INSECURE PSEUDONYMS: ")
    assert "INSECURE" not in notes["random"]


def per_series(change):
    """Change the lines of every other series."""

    def spoil(text):
        header, *lines = text.splitlines()
        changed = [change(line) if row // T % 2 else line for row, line in enumerate(lines)]
        return "\n".join([header, *changed]) + "\n"

    return spoil


ODD_TEXT = f"data.csv row {T} (counted from 0) is not written as Shoal writes it"

TEXTS = {
    "a trailing zero": (per_series(lambda line: line + "0"), ODD_TEXT),
    "an exponent": (per_series(lambda line: line + "e0"), ODD_TEXT),
    "a plus": (per_series(lambda line: line.replace(",2024", ",+2024")), ODD_TEXT),
    "a space in the time": (per_series(lambda line: line.replace("T", " ")), "holds something that is no instant"),
    "a fraction of zero": (per_series(lambda line: line.replace(":00,", ":00.0,")), ODD_TEXT),
    "a quoted id": (per_series(lambda line: '"' + line.replace(",", '",', 1)), ODD_TEXT),
    "a quoted value": (per_series(lambda line: line.replace(":00,", ':00,"') + '"'), "something that is no number"),
    "a return": (per_series(lambda line: line + "\r"), "row"),
    "no last line break": (lambda text: text[:-1], "data.csv"),
    "a blank line": (lambda text: text.replace("\n", "\n\n", 1), "data.csv"),
    "a further column": (per_series(lambda line: line + ",meter-0"), "data.csv"),
    "a comment": (lambda text: text + "# made of meter-0\n", "data.csv"),
    "NaN": (per_series(lambda line: line.rpartition(",")[0] + ",NaN"), "holds NaN where nothing may be"),
    "a quoted header": (lambda text: text.replace("id,", '"id",', 1), "data.csv"),
    "a byte-order mark": (lambda text: "\ufeff" + text, "data.csv"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_of_a_csv_that_reads_the_same_and_is_not_is_found(candidate, tmp_path, name):
    release_candidate(candidate, tmp_path / "csv", summary="Test.", format="csv")
    path = tmp_path / "csv" / "data.csv"
    spoil, finding = TEXTS[name]
    before = path.read_text()
    path.write_bytes(spoil(before).encode())
    assert path.read_bytes() != before.encode()
    assert finding in said(tmp_path / "csv")


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
@pytest.mark.parametrize("numbers", ["tiny", "huge", "zeros", "whole", "gaps"])
def test_what_shoal_writes_verifies_whatever_the_numbers(tmp_path, numbers, file_format):
    rng = np.random.default_rng(1)
    values = {
        "tiny": rng.normal(size=(4, 5)) * 1e-300,
        "huge": rng.normal(size=(4, 5)) * 1e60,
        "zeros": np.array([[0.0, -0.0, 0.0, -0.0, 5e-324]] * 4),
        "whole": rng.integers(-(10**17), 10**17, (4, 5)).astype(float),
        "gaps": np.where(rng.random((4, 5)) < 0.5, np.nan, 1e16),
    }[numbers]
    panel = Panel(np.repeat(values, 3, axis=0), times=np.arange(5))
    candidate = Microaggregation(k=3).anonymize(panel)
    release_candidate(candidate, tmp_path / "out", summary="Test.", format=file_format, accept=("gap-patterns",))
    assert verify(tmp_path / "out").findings == ()


def test_blocks_of_a_long_csv_join(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.release.canonical._CSV_BLOCK", 100)
    monkeypatch.setattr("shoal.release.canonical.BLOCK_ROWS", 7)
    candidate = Microaggregation(k=3).anonymize(small_panel())
    for file_format in ("csv", "parquet"):
        release_candidate(candidate, tmp_path / file_format, summary="Test.", format=file_format)
        assert findings(tmp_path / file_format) == ""
    path = tmp_path / "csv" / "data.csv"
    lines = path.read_text().splitlines()
    lines[40] += "0"
    path.write_text("\n".join(lines) + "\n")
    assert "data.csv row 39 (counted from 0) is not written as Shoal writes it" in findings(tmp_path / "csv")


def test_words_and_levels_of_patterns_are_of_their_types(tmp_path):
    release_candidate(KP(k=4, p=2).anonymize(small_panel()), tmp_path / "out", summary="Test.")
    assert findings(tmp_path / "out") == ""
    path = tmp_path / "out" / "patterns.parquet"
    before = path.read_bytes()
    write(path, column("level", lambda c: c.cast(pa.int32())))
    assert "patterns.parquet has another type in column 'level' than Shoal writes" in findings(tmp_path / "out")
    path.write_bytes(before)
    write(path, lambda t: t.replace_schema_metadata({"of": "meter-0"}))
    assert "patterns.parquet carries 1 note(s)" in findings(tmp_path / "out")


@pytest.mark.parametrize("texts", [["x"], ["1"] * 7, ["9" * 5000], ["2024-13-01"], ["2024-01-01", "2024"]])
def test_forged_instants_of_patterns_are_a_finding(tmp_path, texts):
    release_candidate(KP(k=4, p=2).anonymize(small_panel()), tmp_path / "out", summary="Test.")
    assert "pattern_times that are not instants" in findings(tmp_path / "out", columns__pattern_times=texts)


def events():
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "day": np.repeat(np.arange(3), 30),
            "age": rng.integers(20, 60, 90).astype(float) / 2,
            "result": [["flu", "cold", "cough"][i % 3] for i in range(90)],
        }
    )
    return Reposition(l=3, window=3, seed=1).anonymize(Events(frame, time="day", sensitive="result", quasi=["age"]))


def test_numbers_of_events_have_one_type_and_no_nan(tmp_path):
    release_candidate(events(), tmp_path / "out", summary="Test.", format="parquet")
    assert findings(tmp_path / "out") == ""
    path = tmp_path / "out" / "data.parquet"
    before = path.read_bytes()
    write(path, column("age", lambda c: c.cast(pa.float32())))
    assert "data.parquet has another type in column 'age' than Shoal writes" in findings(tmp_path / "out")
    path.write_bytes(before)
    write(path, column("age", lambda c: pa.array([np.nan] * len(c))))
    assert "row 0 (counted from 0) holds NaN where nothing may be" in findings(tmp_path / "out")


@pytest.mark.parametrize(
    "spoil",
    [lambda t: t.replace(".5\n", ".50\n"), lambda t: t.replace("\n", "\r\n"), lambda t: t.replace("age", '"age"')],
)
def test_texts_of_events_are_those_that_are_written(tmp_path, spoil):
    release_candidate(events(), tmp_path / "out", summary="Test.", format="csv")
    assert findings(tmp_path / "out") == ""
    path = tmp_path / "out" / "data.csv"
    assert spoil(path.read_text()) != path.read_text()
    path.write_bytes(spoil(path.read_text()).encode())
    assert "is not written as Shoal writes it" in findings(tmp_path / "out")


def bomb(path, n_rows):
    """Rows that pack to nothing."""
    table = pa.table(
        {
            "id": pa.array(["0" * 16]).take(pa.array(np.zeros(n_rows, np.int64))),
            "time": pa.array(np.zeros(n_rows, np.int64), pa.timestamp("us")),
            "value": pa.array(np.zeros(n_rows)),
        }
    )
    pq.write_table(table, path, compression="zstd", row_group_size=n_rows)


def test_more_rows_than_are_counted_are_refused_by_the_footer(out, monkeypatch):
    bomb(out / "data.parquet", 1_000_000)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)  # not one row is read
    assert f"data.parquet has 1000000 rows, release.json counts {N * T}" in findings(out)


def test_a_table_that_would_fill_the_memory_is_refused_before_it_is_read(out, monkeypatch):
    bomb(out / "data.parquet", 1_000_000)
    reseal(out, counts__series=1_000_000, counts__instants=1)
    monkeypatch.setattr("os.sysconf", lambda name: 1000)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", None)  # not one row is read
    with pytest.raises(ReleaseError, match="more than this machine has memory"):
        verify(out)


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({"columns__published": ["id", "time", "kwh"]}, "release.json states other columns than the data has"),
        ({"columns__bands": ["mean"]}, "release.json states other columns than the data has"),
        ({"columns__pattern_times": ["x"]}, "release.json states other columns than the data has"),
        ({"columns__withheld": -1}, "release.json states other columns than the data has"),
        ({"counts__subjects": 15}, "release.json has counts that contradict each other"),
        ({"counts__subjects": -1}, "release.json has counts that contradict each other"),
        ({"counts__channels": 2}, "release.json has counts that contradict each other"),
        ({"guarantees__0__verdict__required": 2}, "says that k-anonymity requires something else than it does"),
        (
            {"time__timezone": ""},
            "release.json states other instants, another step or another time zone than the data has",
        ),
    ],
)
def test_columns_and_counts_that_the_data_contradicts_are_found(out, changes, finding):
    assert finding in findings(out, **changes)


def test_a_certificate_that_is_too_large_is_not_read(out, monkeypatch):
    monkeypatch.setattr("shoal.release.certificate.LARGEST", 1000)
    with pytest.raises(ReleaseError, match=r"release\.json has more than 1000 bytes, too many for a certificate"):
        verify(out)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"shoal": ' * 5000, '{"format": ' + "9" * 5000 + "}", "NaN", '"\\ud800"']
)
def test_texts_that_are_no_certificate_are_a_finding(out, text):
    (out / "release.json").write_text(text)
    assert "its content and its seal do not agree" in verify(out).findings[0]
