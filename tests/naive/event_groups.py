"""Groups of published events, by going through the rows of the tables (lists of dicts)."""


def naive_bucketised(records, counts, value):
    """{(time, group): (size, largest count)}; (0, 1) where the tables do not agree on a group."""
    found = {}
    for key in {(row["time"], row["group"]) for row in [*records, *counts]}:
        size = sum((row["time"], row["group"]) == key for row in records)
        own = [row for row in counts if (row["time"], row["group"]) == key]
        often = {v: sum(row["count"] for row in own if row[value] == v) for v in {row[value] for row in own}}
        sound = size > 0 and sum(often.values()) == size and all(row["count"] > 0 for row in own)
        found[key] = (size, max(often.values())) if sound else (0, 1)
    return found


def naive_generalised(records, value):
    """{coarse columns: (size, largest count)}."""
    found = {}
    for record in records:
        key = tuple(entry for name, entry in record.items() if name != value)
        found.setdefault(key, []).append(record[value])
    return {key: (len(values), max(values.count(v) for v in values)) for key, values in found.items()}
