"""Equal rows are stored once, and come back to the last bit."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from shoal import Panel
from shoal.model import repeated_rows
from shoal.model.repeated_rows import RepeatedRows, once, unpacked

VALUES = st.sampled_from([0.0, -0.0, 1.0, 2.0, 1e300, np.nan, np.nextafter(1.0, 2.0)])
SHAPES = st.sampled_from([(1, 1), (6, 2), (9, 3), (4, 2, 2)])


@given(x=hnp.arrays(np.float64, SHAPES, elements=VALUES), times=st.integers(1, 4))
def test_what_is_unpacked_is_what_was_packed(x, times):
    x = np.repeat(x, times, axis=0)
    found = unpacked(pickle.loads(pickle.dumps(once(x))))
    assert found.shape == x.shape
    assert found.tobytes() == x.tobytes()


@pytest.mark.parametrize(("n_different", "is_packed"), [(4, True), (50, True), (51, False), (100, False)])
def test_rows_are_packed_if_half_of_them_repeat_others(n_different, is_packed):
    rows = np.random.default_rng(1).integers(0, 3, (n_different, 40)).astype(float)
    found = once(rows[np.arange(100) % n_different])
    assert isinstance(found, RepeatedRows) is is_packed
    assert not is_packed or len(found.rows) == n_different


def test_rows_that_only_share_a_hash_stay_apart(monkeypatch):
    monkeypatch.setattr(repeated_rows, "_mixed", lambda bits: np.zeros(len(bits), dtype=np.uint64))
    x = np.arange(12.0).reshape(6, 2)
    assert once(x) is x


def test_a_panel_of_groups_takes_the_space_of_its_groups():
    values = np.repeat(np.random.default_rng(1).random((10, 500)), 10, axis=0)
    panel = Panel(values, ids=[f"m{i}" for i in range(100)])
    pickled = pickle.dumps(panel, protocol=5)
    assert len(pickled) < values.nbytes / 5
    again = pickle.loads(pickled)
    assert again.values.tobytes() == values.tobytes()
    assert not again.values.flags.writeable
    assert again.ids.tolist() == panel.ids.tolist()
