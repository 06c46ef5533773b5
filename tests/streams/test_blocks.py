import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.streams.blocks import Position, parse_lines

GOOD = [
    b'{"t": 1, "s": "x"}',
    b' {"s": "a\\nb\\u00e9", "t": -2.50, "other": {"deep": [1, null]}} ',
    b"{}",
    b'{"t": null, "s": true}\r',
    b'{"t": 123456789012345678901234567890, "s": [1]}',
]
BAD = [
    b"no object",
    b"5",
    b"[1, 2]",
    b"null",
    b'"text"',
    b'{"t": 1',
    b'{"t": 1} {"t": 2}',
    b'{"t": 1,}',
    b'{"t": 007}',
    b'{"t": NaN}',
    b'{"t": "\xff"}',
    b"{'t': 1}",
    b"\xef\xbb\xbf{}",
]
BLANK = [b"", b"  ", b"\r"]


def rows_of(block):
    return [
        (int(number), None if wrong else row)
        for number, wrong, row in zip(block.numbers, block.malformed, block.frame.rows(), strict=True)
    ]


@given(lines=st.lists(st.sampled_from(GOOD + BAD + BLANK), max_size=12), ended=st.booleans())
def test_lines_are_read_alike_together_and_one_by_one(lines, ended):
    raw = b"\n".join(lines) + b"\n" * (ended and bool(lines))
    n_lines = len(lines) if ended or not lines or lines[-1] else len(lines) - 1
    block = parse_lines(raw, ["t", "s"], Position(10))
    assert block.after == Position(10 + n_lines)
    apart = []
    for place, line in enumerate(lines):
        apart += rows_of(parse_lines(line + b"\n", ["t", "s"], Position(10 + place)))
    assert rows_of(block) == apart
    assert [number for number, row in apart if row is None] == [
        11 + place for place, line in enumerate(lines) if line in BAD
    ]


@given(raw=st.binary(max_size=60))
def test_no_bytes_are_too_odd_to_be_counted(raw):
    lines = raw.split(b"\n")
    block = parse_lines(raw, ["t"], Position())
    assert block.after.number == len(lines) - (lines[-1] == b"")
    assert len(block) <= len(lines)


def test_values_are_text_as_they_were_written():
    raw = b'{"t": 10, "s": "007"}\n{"t": 2.5, "s": true}\n{"t": "x", "s": null}\n'
    assert parse_lines(raw, ["t", "s"], Position()).frame.rows() == [("10", "007"), ("2.5", "true"), ("x", None)]


def test_a_block_tells_where_its_rows_stand():
    block = parse_lines(b'{"t": 1}\n\nbad\n{"t": 2}\n\n', ["t"], Position(100))
    assert [block.position(n).number for n in range(4)] == [100, 101, 103, 105]
    assert block.place(2) == "line 104"
    first, rest = block.split(1)
    assert (first.after, rest.before, rest.after) == (Position(101), Position(101), Position(105))
    assert rest.frame.equals(pl.DataFrame({"t": [None, "2"]}))


@pytest.mark.parametrize("n_bad", [1, 500, 1000])
def test_a_block_with_malformed_lines_keeps_the_others(n_bad):
    lines = [b'{"t": %d}' % i if i % 1000 >= n_bad else b'{"t": %d' % i for i in range(2000)]
    block = parse_lines(b"\n".join(lines), ["t"], Position())
    assert block.malformed.sum() == 2 * n_bad
    assert block.frame["t"].drop_nulls().to_list() == [str(i) for i in range(2000) if i % 1000 >= n_bad]
