"""Slow and plain answers to compare with; nothing of Shoal in here."""

import itertools
import math


def naive_pivot(rows):
    """Rows (id, time, value) to ids, times and a matrix as lists, None where nothing was read."""
    cells = {(name, time): value for name, time, value in rows}
    ids = sorted({name for name, _, _ in rows})
    times = sorted({time for _, time, _ in rows})
    return ids, times, [[cells.get((name, time)) for time in times] for name in ids]


def naive_interpolate(series, longest):
    """Fill runs of at most `longest` missing entries between two that are there."""
    filled = list(series)
    present = [t for t, value in enumerate(series) if not math.isnan(value)]
    for left, right in itertools.pairwise(present):
        n_missing = right - left - 1
        if 0 < n_missing <= longest:
            for t in range(left + 1, right):
                filled[t] = series[left] + (t - left) / (right - left) * (series[right] - series[left])
    return filled
