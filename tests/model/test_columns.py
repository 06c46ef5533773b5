"""Static columns in plain types."""

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from shoal.model import Envelopes
from shoal.model.columns import missing_entries, plain_column


def objects(*entries):
    column = np.empty(len(entries), dtype=object)
    column[:] = entries
    return column


@pytest.mark.parametrize(
    ("column", "kind", "entries"),
    [
        (np.array([1, 2], dtype=np.int8), "i", [1, 2]),
        (np.array([1, 2], dtype=np.uint64), "i", [1, 2]),
        (np.array([2**63, 0], dtype=np.uint64), "f", [2.0**63, 0.0]),
        (np.array([1.5, 2.0], dtype=np.float32), "f", [1.5, 2.0]),
        (np.array([True, False]), "b", [True, False]),
        (np.array(["a", "b"]), "O", ["a", "b"]),
        (np.array(["2024-01-01", "NaT"], dtype="datetime64[ns]"), "O", ["2024-01-01T00:00:00.000000000", None]),
        (objects(1, 2), "i", [1, 2]),
        (objects(1, 2**70), "f", [1.0, 2.0**70]),
        (objects(1, 2.5), "f", [1.0, 2.5]),
        (objects(1, Decimal("2.5")), "f", [1.0, 2.5]),
        (objects(True, False), "b", [True, False]),
        (objects(True, None), "O", ["True", None]),
        (objects(True, 1), "O", ["True", "1"]),
        (objects("a", None, float("nan"), pd.NA, pd.NaT), "O", ["a", None, None, None, None]),
        (objects(dt.date(2024, 1, 2), "x"), "O", ["2024-01-02", "x"]),
        (objects(None, None), "O", [None, None]),
    ],
)
def test_entries_in_the_plainest_type(column, kind, entries):
    plain = plain_column(column)
    assert plain.dtype.kind == kind
    assert plain.tolist() == entries
    assert missing_entries(plain).tolist() == [entry is None for entry in entries]
    assert plain is not column


def test_a_missing_number_is_nan():
    plain = plain_column(objects(1, None, 3))
    assert plain.dtype == np.float64
    assert missing_entries(plain).tolist() == [False, True, False]
    assert missing_entries(plain_column(np.array([1.0, np.nan]))).tolist() == [False, True]


def test_envelopes_can_be_sent_to_a_worker():
    published = Envelopes([[0.0]] * 2, [[1.0]] * 2, [1, 1], ["a", "a"], [0], sensitive={"c": ["x", "y"]})
    again = pickle.loads(pickle.dumps(published))
    assert again.digest() == published.digest()
    assert again.sensitive["c"].tolist() == ["x", "y"]
