"""Published events read row by row, without frames: what window queries and the homogeneity attack should find."""

import json


def meets(value, condition):
    """A condition is ("between", low, high) or ("in", values)."""
    if value is None:
        return False
    return condition[1] <= value <= condition[2] if condition[0] == "between" else value in condition[1]


def count_events(events, start, end, where):
    """`events`: dicts with time and columns."""
    return sum(start <= e["time"] <= end and all(meets(e[c], w) for c, w in where.items()) for e in events)


def count_buckets(records, counts, sensitive, start, end, where):
    """Every record of a group with every sensitive value of it, each pair with the same chance."""
    total = 0.0
    for record in records:
        if not start <= record["time"] <= end:
            continue
        if not all(meets(record[c], w) for c, w in where.items() if c != sensitive):
            continue
        group = [c for c in counts if (c["time"], c["group"]) == (record["time"], record["group"])]
        size = sum(r["time"] == record["time"] and r["group"] == record["group"] for r in records)
        right = sum(c["count"] for c in group if sensitive not in where or meets(c[sensitive], where[sensitive]))
        total += right / size
    return total


def count_coarse_integers(records, sensitive, start, end, where):
    """Every whole number of a coarse range, every word of a coarse list, with the same chance."""
    total = 0.0
    inside = [r for r in records if start <= r["time"] <= end]
    inside = [r for r in inside if sensitive not in where or meets(r[sensitive], where[sensitive])]
    lowest = min((r["age_low"] for r in inside if r["age_low"] is not None), default=None)
    for record in inside:
        share = 1.0
        for column, condition in where.items():
            if column != sensitive:
                possible = possible_values(record, column, lowest)
                share *= sum(meets(v, condition) for v in possible) / len(possible)
        total += share
    return total


def possible_values(record, column, lowest=None):
    """What a coarse quasi-identifier may stand for; without a low end, some have no value, others one from `lowest`."""
    if column in record:
        return json.loads(record[column])
    low, high = record[f"{column}_low"], record[f"{column}_high"]
    if high is None:
        return [None]
    if low is None:
        return list(range(min(lowest, high), high + 1))
    return list(range(low, high + 1))


def covers(record, column, value):
    """Whether somebody with this value may be behind a coarse record."""
    low, high = record.get(f"{column}_low"), record.get(f"{column}_high")
    if column in record or low is not None or high is None:
        return value in possible_values(record, column)
    return value is None or value <= high


def suppressed_guess(target, reach, records, counts, sensitive, otherwise):
    """One of the values that are most frequent in most snapshots of `reach`, as far as these are published."""
    often = {}
    for time in reach:
        here = {}
        for row in records if counts is None else counts:
            if row["time"] == time:
                here[row[sensitive]] = here.get(row[sensitive], 0) + (1 if counts is None else row["count"])
        for value, n in here.items():
            often[value] = often.get(value, 0) + (n == max(here.values()))
    if not often:
        return otherwise
    top = [value for value, n in often.items() if n == max(often.values())]
    return (target[sensitive] in top) / len(top)


def posterior(target, place, instants, window, records, counts, quasi, sensitive):
    """Chance of the target's value over all published events it could be; None where there are none."""
    hits, right = 0.0, 0.0
    reach = instants[place : place + window]
    for record in records:
        if record["time"] not in reach:
            continue
        if counts is None:
            if all(covers(record, q, target[q]) for q in quasi):
                hits += 1
                right += record[sensitive] == target[sensitive]
        elif all(record[q] == target[q] for q in quasi):
            group = [c for c in counts if (c["time"], c["group"]) == (record["time"], record["group"])]
            size = sum(c["count"] for c in group)
            hits += 1
            right += sum(c["count"] for c in group if c[sensitive] == target[sensitive]) / size
    return right / hits if hits else None
