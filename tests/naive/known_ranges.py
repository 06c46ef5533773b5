"""Who fits readings that are known within an error, series by series."""

import math


def naive_candidates(known, published, within):
    """Rows that fit at most of the known instants; `known` maps an instant to what is known there."""
    fits = [
        sum(
            not math.isnan(row[t]) and abs(row[t] - value) <= within + 1e-12 * max(abs(row[t]), abs(value))
            for t, value in known.items()
        )
        for row in published
    ]
    return [j for j, count in enumerate(fits) if count == max(fits)]


def naive_told(candidates, published, true, known, within):
    """Other instants at which all candidates lie within a range that tells the true reading."""
    told = []
    for t in range(len(true)):
        shown = [published[j][t] for j in candidates]
        if t not in known and max(shown) - min(shown) <= 2 * within:
            told += [t] if abs((max(shown) + min(shown)) / 2 - true[t]) <= within else []
    return told
