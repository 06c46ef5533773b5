"""Nothing stands in the pages of a published Parquet file that no row shows."""

import struct
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from release.test_canonical import findings, said
from shoal.release.canonical import parquet_blocks
from shoal.release.files import NotAPanelError
from shoal.release.lint.file_metadata import beside_rows

RAW = ["meter of Ann", "4711"]


def refusal(path, schema):
    with pytest.raises(NotAPanelError) as error:
        list(parquet_blocks(path, schema))
    return str(error.value)


def test_names_in_a_dictionary_that_no_row_has_are_found(out):
    path = out / "data.parquet"
    table = pq.read_table(path)
    ids = table["id"].combine_chunks().dictionary_encode()
    more = pa.DictionaryArray.from_arrays(ids.indices, pa.concat_arrays([ids.dictionary, pa.array(RAW)]))
    # The schema of Arrow would tell; without it the column is text like any other.
    pq.write_table(table.set_column(0, "id", more), path, compression="zstd", store_schema=False)
    assert b"meter of Ann" not in path.read_bytes()  # packed
    assert pq.read_table(path)["id"].to_pylist() == table["id"].to_pylist()
    assert "data.parquet holds 2 entries in a dictionary of column 'id' that no row uses" in findings(out)


def test_numbers_in_a_dictionary_that_no_row_has_are_found(tmp_path):
    schema = pa.schema([("value", pa.float64())])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table([[1.5, 47.11] * 4], schema=schema), path, compression="none", write_statistics=False)
    assert sum(block.num_rows for block in parquet_blocks(path, schema)) == 8
    content = path.read_bytes()
    assert content.count(b"\x03\xaa") == 1  # eight places in a dictionary of two, of one bit each
    path.write_bytes(content.replace(b"\x03\xaa", b"\x03\x00"))
    assert pq.read_table(path)["value"].to_pylist() == [1.5] * 8
    assert refusal(path, schema) == "holds 1 entries in a dictionary of column 'value' that no row uses"


def test_both_zeros_are_two_entries(tmp_path):
    schema = pa.schema([("value", pa.float64())])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table([[0.0, -0.0] * 4], schema=schema), path, compression="none", write_statistics=False)
    assert sum(block.num_rows for block in parquet_blocks(path, schema)) == 8
    path.write_bytes(path.read_bytes().replace(b"\x03\xaa", b"\x03\x00"))
    assert "holds 1 entries in a dictionary" in refusal(path, schema)


def test_statistics_of_a_page_that_are_not_those_of_its_rows_are_found(out):
    path = out / "data.parquet"
    largest = struct.pack("<d", max(pq.read_table(path)["value"].to_pylist()))
    content, footer = path.read_bytes(), pq.read_metadata(path).serialized_size + 8
    place = content.rindex(largest, 0, -footer)  # in the head of the page, after the dictionary
    path.write_bytes(content[:place] + struct.pack("<d", 47.11) + content[place + 8 :])
    assert "data.parquet has a page of column 'value' whose statistics do not match its rows" in findings(out)


def test_columns_that_share_bytes_are_found(tmp_path, monkeypatch):
    schema = pa.schema([("a", pa.int64()), ("b", pa.int64())])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table([[1, 2], [1, 2]], schema=schema), path)
    monkeypatch.setattr("shoal.release.parquet_pages._start", lambda chunk: 4)
    assert refusal(path, schema) == "has columns that share bytes"


@pytest.mark.parametrize("at", range(4, 60, 3))
def test_broken_pages_are_a_finding_or_no_release(out, at):
    path = out / "data.parquet"
    before, content = pq.read_table(path), bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(bytes(content))
    # A byte of packed names may give other names, which is another release and no broken one.
    assert "data.parquet" in said(out) or not pq.read_table(path).equals(before)


KINDS = {
    pl.String: st.text(max_size=40),
    pl.Boolean: st.booleans(),
    pl.Int8: st.integers(-128, 127),
    pl.UInt16: st.integers(0, 2**16 - 1),
    pl.UInt64: st.integers(0, 2**64 - 1),
    pl.Float32: st.floats(width=32, allow_nan=False),
    pl.Float64: st.floats(allow_nan=False),
    pl.Date: st.dates(),
}


@given(data=st.data(), kind=st.sampled_from(list(KINDS)), by=st.sampled_from(["polars", "pyarrow"]))
def test_what_the_libraries_write_is_read(tmp_path_factory, data, kind, by):
    values = data.draw(st.lists(st.none() | KINDS[kind], min_size=1, max_size=30))
    often = pl.Series("x", values * data.draw(st.sampled_from([1, 20])), dtype=kind)
    frame = often.to_frame()
    schema = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    plain = pa.schema([pa.field("x", pa.string() if schema.types[0] == pa.large_string() else schema.types[0])])
    path = Path(tmp_path_factory.mktemp("x")) / "x.parquet"
    if by == "polars":
        frame.write_parquet(path, compression="zstd")
    else:
        pq.write_table(frame.to_arrow().cast(plain), path, compression="zstd")
    read = pa.concat_tables(parquet_blocks(path, plain))["x"].to_pylist()
    np.testing.assert_array_equal(read, often.to_list())


def test_a_dictionary_that_was_given_up_is_read(tmp_path):
    values = np.random.default_rng(0).random(400_000)  # more than a dictionary of 1 MiB holds
    schema = pa.schema([("x", pa.float64())])
    pq.write_table(pa.table([values], schema=schema), tmp_path / "x.parquet", compression="zstd")
    assert pq.read_metadata(tmp_path / "x.parquet").row_group(0).column(0).has_dictionary_page
    assert sum(block.num_rows for block in parquet_blocks(tmp_path / "x.parquet", schema)) == 400_000


def test_a_footer_that_names_no_codec_is_refused(tmp_path):
    schema = pa.schema([("id", pa.string())])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table([["a", "b"] * 4], schema=schema), path, compression="zstd")
    assert sum(block.num_rows for block in parquet_blocks(path, schema)) == 8
    content = path.read_bytes()
    codec = b"\x19\x18\x02id\x15\x0c"  # the path of the column, and the codec after it
    assert content.count(codec) == 1
    path.write_bytes(content.replace(codec, codec[:-1] + b"\x73"))
    # Asked for its name, Arrow would end the process.
    with pytest.raises(ValueError, match="an unknown codec"):
        list(parquet_blocks(path, schema))
    path.write_bytes(content[:-8] + b"\xff\xff\xff\x7fPAR1")
    with pytest.raises(ValueError, match="no footer"):
        list(parquet_blocks(path, schema))


def test_size_statistics_of_another_schema_are_refused(tmp_path):
    schema = pa.schema([("id", pa.string())])
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table([["a", None] * 4], schema=schema), path, compression="zstd")
    content = path.read_bytes()
    optional = b"\x15\x0c\x25\x02\x18\x02id"  # type, repetition and name of the column
    assert content.count(optional) == 1
    assert beside_rows(path) == []
    # Of a column without gaps, there are no two levels to count: Arrow would end the process.
    for never_or_unknown in (b"\x25\x00", b"\x25\x3e"):
        path.write_bytes(content.replace(optional, optional.replace(b"\x25\x02", never_or_unknown)))
        for read in (lambda: list(parquet_blocks(path, schema)), lambda: beside_rows(path)):
            with pytest.raises(ValueError, match="size statistics that do not fit the schema"):
                read()
