import os
import threading
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.streams import lines as module
from shoal.streams.blocks import Position
from shoal.streams.lines import Lines
from shoal.streams.stop_request import stopping


def read(pieces, position=0, **options):
    """What is read of these pieces, written to a pipe one after another: line numbers and times."""
    receiver, sender = os.pipe()

    def write():
        for piece in pieces:
            os.write(sender, piece)
        os.close(sender)

    thread = threading.Thread(target=write)
    thread.start()
    with stopping() as stop:
        blocks = list(Lines(receiver, ["t"], Position(position), **options).blocks(stop))
    thread.join()
    os.close(receiver)
    rows = [row for b in blocks for row in zip(b.numbers.tolist(), b.frame["t"].to_list(), strict=True)]
    return rows, blocks[-1].after.number if blocks else None


@given(cuts=st.lists(st.integers(0, 60), max_size=5), skipped=st.integers(0, 6), ended=st.booleans())
def test_lines_are_the_same_however_they_arrive(cuts, skipped, ended):
    raw = b'{"t": 1}\n{"t": 2}\n\nbad\n{"t": 5}' + b"\n" * ended
    ends = [0, *sorted(cuts), len(raw)]
    pieces = [raw[a:b] for a, b in pairwise(ends)]
    rows, last = read(pieces, skipped)
    expected = [(1, "1"), (2, "2"), (4, None), (5, "5")]
    assert rows == [row for row in expected if row[0] > skipped]
    assert last == (5 if skipped < 5 else None)


def test_an_input_that_goes_on_is_not_skipped():
    assert read([b'{"t": 7}\n'], 6, skip=False) == ([(7, "7")], 7)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_line_that_is_too_long_is_malformed_wherever_blocks_end(monkeypatch, size):
    monkeypatch.setattr(module, "LONGEST", 40)
    raw = b'{"t": 1}\n{"t": "' + b"x" * 100 + b'"}\n{"t": 3, "y": "' + b"x" * 10 + b'"}\n{"t": 4, "z": "' + b"y" * 90
    pieces = [raw[start : start + size] for start in range(0, len(raw), size)]
    assert read(pieces) == ([(1, "1"), (2, None), (3, "3"), (4, None)], 4)


def test_an_empty_input_has_no_blocks():
    assert read([]) == ([], None)
