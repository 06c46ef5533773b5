"""Registers, whose readings only grow: the quick look at many rows finds what a loop over each finds."""

import numpy as np

from shoal.read.intervals import find_growing


def naive(row):
    present = row[~np.isnan(row)]
    is_long = len(present) >= 10 and present[-1] != present[0]
    return is_long, bool(is_long and np.all(np.diff(present) >= 0))


def test_growing_rows_are_those_a_loop_finds():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(200):
        rows = rng.integers(0, 3, (20, rng.integers(1, 30))).astype(float)
        rows = np.cumsum(rows, axis=1) if rng.random() < 0.6 else rows
        rows[rng.random(rows.shape) < rng.choice([0.0, 0.1, 0.6])] = np.nan
        found = list(zip(*(flags.tolist() for flags in find_growing(rows)), strict=True))
        assert found == [naive(row) for row in rows]
        seen |= set(found)
    assert seen == {(False, False), (True, False), (True, True)}
