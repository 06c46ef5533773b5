"""Whether a panel is the correct reading of a file."""

import math
from collections import defaultdict
from datetime import UTC
from zoneinfo import ZoneInfo

import numpy as np


def assert_correct(panel, rows, *, basis, zone, names="printed"):
    """The panel has exactly the values of these rows (id, time, value, channel), at the starts of their intervals.

    A single series may have any id, and a single channel any name; with names="any" so may all. A slot without a value
    is missing, whether the file prints it or not.
    """
    wanted = defaultdict(dict)
    for row in rows:
        if row["value"] is not None:
            wanted[row["id"], row["channel"]][np.datetime64(row["time"], "us")] = row["value"]
    found = series_of(panel, basis, zone)
    assert len(found) == len(wanted), f"{len(found)} series with values, correct are {len(wanted)}"
    if names == "any":
        pairs = matched(found, wanted)
    else:
        several = [len({key[i] for key in wanted}) > 1 for i in (0, 1)]
        named_found = {naming(key, several): series for key, series in found.items()}
        named_wanted = {naming(key, several): series for key, series in wanted.items()}
        unnamed = named_wanted.keys() - named_found.keys()
        assert not unnamed, f"{len(unnamed)} series have other names: {sorted(found)[:3]} for {sorted(unnamed)[:3]}"
        pairs = [(named_found[key], named_wanted[key]) for key in named_wanted]
    for n, (one, other) in enumerate(pairs):
        assert_same(one, other, n)


def series_of(panel, basis, zone):
    """The values of each id and channel by their time, in the basis of the correct reading."""
    times = np.asarray(panel.times).astype("datetime64[us]")
    if panel.timezone is not None and basis == "local":
        clock = ZoneInfo(zone)
        walls = [time.replace(tzinfo=UTC).astimezone(clock).replace(tzinfo=None) for time in times.tolist()]
        times = np.array(walls, dtype="datetime64[us]")
    values = panel.values if panel.values.ndim == 3 else panel.values[:, :, None]
    found = {}
    for i, name in enumerate(panel.ids):
        for c, channel in enumerate(panel.channels):
            there = np.flatnonzero(~np.isnan(values[i, :, c]))
            if len(there):
                found[str(name), channel] = {times[t]: float(values[i, t, c]) for t in there}
    return found


def naming(key, several):
    """What tells a series from the others."""
    return tuple(part for part, counts in zip(key, several, strict=True) if counts)


def matched(found, wanted):
    """Each series that was found with the correct one it has most values in common with."""
    left = list(wanted.values())
    pairs = []
    for series in found.values():
        best = max(left, key=lambda other: sum(other.get(time) == value for time, value in series.items()))
        left = [other for other in left if other is not best]
        pairs.append((series, best))
    return pairs


def assert_same(found, wanted, position):
    lacking, extra = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    if lacking or extra:
        first = f"found from {min(found)} to {max(found)}, correct from {min(wanted)} to {max(wanted)}"
        raise AssertionError(f"series {position}: {len(lacking)} times lacking, {len(extra)} too many; {first}")
    wrong = [time for time in wanted if not math.isclose(found[time], wanted[time], rel_tol=1e-9, abs_tol=1e-12)]
    assert not wrong, f"series {position}: {len(wrong)} values differ, first at {min(wrong)}"
