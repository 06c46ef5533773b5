"""Rows to buckets, slowly: repeats, rows that differ, the table's own step, full buckets.

Plain Python. A reading that is missing is None.
"""

import itertools
from collections import Counter
from fractions import Fraction


class RefusedError(Exception):
    """The rows must not be gathered; the reason is its only argument."""


def settle(rows, duplicates):
    """Rows (name, time, reading) to {name: {time: reading}}, with the numbers of repeated and merged rows."""
    found, repeated, merged = {}, 0, 0
    for name, time, reading in rows:
        found.setdefault(name, {}).setdefault(time, []).append(reading)
    for series in found.values():
        for time, readings in series.items():
            different = []
            for reading in readings:
                if reading in different:
                    repeated += 1
                else:
                    different.append(reading)
            merged += len(different) - 1
            present = [reading for reading in different if reading is not None]
            series[time] = {
                "first": readings[0],
                "last": readings[-1],
                "mean": sum(present) / len(present) if present else None,
                "fail": readings[0],
            }[duplicates]
    if merged and duplicates == "fail":
        raise RefusedError("conflict")
    return found, repeated, merged


def differences(series):
    """Between successive times of one series."""
    times = sorted(series)
    return [after - before for before, after in itertools.pairwise(times)]


def most_frequent(lengths):
    """Of equally frequent ones the shortest."""
    counts = Counter(lengths)
    return min(counts, key=lambda length: (-counts[length], length))


def steps_of(found, bucket):
    """{name: step}: its own, or that of the table."""
    pooled = [length for series in found.values() for length in differences(series)]
    if not pooled:
        raise RefusedError("no step")
    usual = most_frequent(pooled)
    steps, n_explained = {}, 0
    for name, series in found.items():
        own = differences(series)
        step = most_frequent(own) if own else None
        if len(own) < 10 or 2 * own.count(step) < len(own) or bucket % step:
            step = usual
        steps[name] = step
        n_explained += own.count(step)
    if 2 * n_explained < len(pooled):
        raise RefusedError("irregular")
    if bucket % usual:
        raise RefusedError("does not divide")
    return steps


def gather(rows, *, bucket, bucket_of, length_of, by, duplicates="fail", complete="1"):
    """{(name, bucket): reading} without those missing, and counts of what was done; `complete` as text."""
    found, repeated, merged = settle(rows, duplicates)
    steps = None if complete == "any" else steps_of(found, bucket)
    counts = Counter(repeated=repeated, merged=merged)
    values = {}
    for name, series in found.items():
        inside = {}
        for time in sorted(series):
            if series[time] is not None:
                inside.setdefault(bucket_of(time), []).append(series[time])
        for place, readings in inside.items():
            n, full, value = len(readings), len(readings), combine(readings, by)
            if steps is not None:
                full = max(1, length_of(place) // steps[name])
            if n < full:
                if Fraction(n, full) < Fraction(complete):
                    counts["incomplete"] += 1
                    continue
                if by == "sum":
                    value = value * full / n
                counts["scaled" if by == "sum" else "partial"] += 1
            values[name, place] = value
    return values, {name: n for name, n in counts.items() if n}


def reason_of(work):
    """Why it is refused, or None."""
    try:
        work()
    except RefusedError as refusal:
        return refusal.args[0]
    return None


def combine(readings, by):
    """One of several, in the order of time."""
    if by == "mean":
        return sum(readings) / len(readings)
    return {"sum": sum, "min": min, "max": max, "first": lambda x: x[0], "last": lambda x: x[-1]}[by](readings)
