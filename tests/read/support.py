"""What the tests of reading share: one small table in every shape, and how a refusal must look."""

import contextlib
import traceback

import numpy as np
import polars as pl
import pytest

from shoal.errors import InputError

# Planted in tables that are refused; must never turn up in a message or a printed traceback.
SECRETS = ("meter-of-mr-novak", "77123.25", "s3cr3t-passw0rd", "diagnosis-x")


@contextlib.contextmanager
def refused(pattern, error=InputError):
    """The block is refused with one line that matches, without a secret in it or in the traceback of the error."""
    with pytest.raises(error, match=pattern) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message
    printed = "".join(traceback.format_exception_only(caught.value))
    # What Python would print below the frames: the chain of errors that led here.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    for secret in SECRETS:
        assert secret not in message
        assert secret not in printed


IDS = ["a-01", "b-02", "c-03"]
TIMES = np.datetime64("2024-03-01T00:00", "us") + np.arange(4) * np.timedelta64(30, "m")
VALUES = np.array([[1.0, 2.5, 3.0, 4.0], [0.1, 0.2, 0.30000000000000004, 0.4], [-1.0, 0.0, 1e-300, 1e130]])


@pytest.fixture
def long():
    """A long table, rows shuffled."""
    rows = [
        {"id": name, "time": time, "value": value}
        for name, series in zip(IDS, VALUES.tolist(), strict=True)
        for time, value in zip(TIMES.tolist(), series, strict=True)
    ]
    return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=3)


@pytest.fixture
def wide_series():
    """A row per series, a column per instant."""
    columns = {str(time).replace("T", " "): VALUES[:, t] for t, time in enumerate(TIMES.astype("datetime64[s]"))}
    return pl.DataFrame({"id": IDS} | columns)


@pytest.fixture
def wide_instants():
    """A row per instant, a column per series."""
    return pl.DataFrame({"time": TIMES} | dict(zip(IDS, VALUES, strict=True)))


def assert_small_panel(panel):
    """The panel is the small table."""
    assert panel.ids.tolist() == IDS
    assert panel.times.tolist() == TIMES.tolist()
    assert panel.values.tolist() == VALUES.tolist()
    assert panel.timezone is None
    assert not panel.values.flags.writeable
