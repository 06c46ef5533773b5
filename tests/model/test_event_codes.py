import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.model.event_codes import as_numbers, count_rows, dense_codes, sort_rows, take_rows, text_codes

texts = st.lists(st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["a", "A", "ä", "𝔞", ""])), max_size=30)


@given(texts)
def test_codes_of_texts_are_their_ranks_with_missing_first(entries):
    codes, n = text_codes(pl.Series(entries, dtype=pl.String))
    present = sorted({entry for entry in entries if entry is not None})
    shift = int(None in entries)
    assert codes.tolist() == [0 if entry is None else present.index(entry) + shift for entry in entries]
    assert n == len(present) + shift


@given(st.lists(st.one_of(st.integers(-5, 5), st.integers(-(2**62), 2**62)), max_size=30))
def test_dense_codes_are_ranks(keys):
    different = sorted(set(keys))
    found = dense_codes(np.array(keys, dtype=np.int64))
    assert found.tolist() == [different.index(key) for key in keys]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["b", "a", None, "c"]),
            st.integers(-3, 3),
            st.sampled_from([dt.date(2024, 1, 1), dt.date(2023, 1, 1)]),
            st.one_of(st.none(), st.floats(-2, 2)),
            st.one_of(st.none(), st.integers(0, 2)),
        ),
        max_size=20,
    ),
    st.sampled_from([["text", "number", "day"], ["number", "real", "text"], ["gap", "text"]]),
)
def test_rows_are_sorted_as_polars_sorts_them(rows, names):
    kinds = {"text": pl.String, "number": pl.Int64, "day": pl.Date, "real": pl.Float64, "gap": pl.Int8}
    frame = pl.DataFrame(rows, schema=kinds, orient="row")
    assert sort_rows(frame, names).select(names).equals(frame.sort(names).select(names))
    counted = frame.group_by(names).len("n").sort(names)
    assert count_rows(frame[names], "n").equals(counted.cast({"n": pl.Int64}))


def test_keys_that_do_not_fit_into_one_number_are_sorted_as_well():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": rng.permutation(3000) for i in range(8)})
    assert sort_rows(frame, frame.columns).equals(frame.sort(frame.columns))


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([3, 1], dtype=pl.Int32),
        pl.Series([dt.date(1970, 1, 3), dt.date(1969, 12, 31)]),
        pl.Series([dt.datetime(1970, 1, 1, 0, 0, 1)], dtype=pl.Datetime("us", "Europe/Vienna")),
        pl.Series([dt.datetime(1970, 1, 1, 0, 0, 1)], dtype=pl.Datetime("ms")),
    ],
)
def test_times_are_numbers_as_polars_counts_them(column):
    assert as_numbers(column).tolist() == column.to_physical().to_list()


def test_rows_by_number():
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
    assert take_rows(frame, np.array([2, 0, 2])).equals(frame[[2, 0, 2]])
