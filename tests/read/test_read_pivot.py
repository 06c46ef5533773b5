"""Long tables against the naive pivot, in batches of every size."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from read.oracle import naive_pivot
from shoal.read import read_panel, tables

NAMES = st.sampled_from(["a", "b", "10", "9", "é", "Z", "a b"])


@st.composite
def long_tables(draw):
    """Rows with different (id, time) on an even grid of integers, shuffled, with gaps."""
    step = draw(st.sampled_from([1, 7]))
    n_times = draw(st.integers(1, 5))
    keys = st.tuples(NAMES, st.integers(0, n_times - 1))
    chosen = draw(st.lists(keys, min_size=1, max_size=20, unique=True))
    name = chosen[0][0]
    # Every time occurs, so that the grid is even.
    keys = list(dict.fromkeys(chosen + [(name, t) for t in range(n_times)]))
    values = draw(st.lists(st.floats(-1e6, 1e6) | st.just(float("nan")), min_size=len(keys), max_size=len(keys)))
    return draw(st.permutations([(n, step * t, v) for (n, t), v in zip(keys, values, strict=True)]))


@given(rows=long_tables(), batch_cells=st.integers(1, 30))
def test_pivot_equals_naive(rows, batch_cells):
    ids, times, matrix = naive_pivot(rows)
    table = pl.DataFrame(rows, schema=["id", "time", "value"], orient="row", strict=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BATCH_CELLS", batch_cells)
        panel = read_panel(table, missing="keep")
    assert panel.ids.tolist() == ids
    assert panel.times.tolist() == times
    np.testing.assert_array_equal(panel.values, np.array(matrix, dtype=float))


def test_the_same_rows_in_another_order_give_the_same_panel(long):
    digests = {read_panel(long.sample(fraction=1.0, shuffle=True, seed=seed)).digest() for seed in range(5)}
    assert len(digests) == 1
