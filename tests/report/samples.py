"""Daily curves that belong to nobody, and the certificate of a release made of them."""

import numpy as np


def daily_curves(rng, n_series=120, n_days=7, step=60):
    """Evening and morning peaks of different height, and their times."""
    minutes = np.arange(0, n_days * 1440, step)
    hour = minutes % 1440 / 60
    base = 0.3 + 0.5 * np.exp(-(((hour - 7.5) / 1.3) ** 2)) + 0.9 * np.exp(-(((hour - 19) / 2.2) ** 2))
    values = rng.lognormal(0, 0.4, (n_series, 1)) * (base + 0.1 * rng.random((n_series, len(minutes))))
    return values, np.datetime64("2024-01-01T00:00") + minutes * np.timedelta64(1, "m")


def grouped(values, size):
    """Means over groups of rows of similar level."""
    order = np.argsort(np.nan_to_num(values.reshape(len(values), -1)).sum(axis=1), kind="stable")
    published = values.copy()
    for group in np.array_split(order, max(1, len(values) // size)):
        published[group] = values[group].mean(axis=0)
    return published


def certificate_of(figures, **changes):
    certificate = {
        "shoal": "0.1.0",
        "format": 1,
        "form": "values",
        "method": {
            "name": "microaggregation",
            "summary": "Replace every series by the mean of at least k similar ones.",
            "parameters": {"k": 10, "algorithm": "mdav"},
            "figures": {"cells_withheld": 0},
        },
        "guarantees": [
            {
                "name": "k-anonymity",
                "parameters": {"k": 10, "per": "subject"},
                "statement": "Every published series equals those of at least 9 other subjects at all instants.",
                "checked_by": "anyone",
                "verdict": {"holds": True, "measured": 12, "required": 10, "witness": 77, "note": ""},
            }
        ],
        "counts": {
            "series": 12_345,
            "subjects": 12_001,
            "instants": 168,
            "channels": 1,
            "missing": 17,
            "groups": 1_001,
            "smallest_group": 12,
            "largest_group": 14,
            "group_sizes": {"12": 900, "13": 100, "14": 1},
        },
        "time": {"first": "2024-01-01T00:00:00", "last": "2024-01-07T23:00:00", "step": "1h", "timezone": None},
        "input": {"kind": "file", "sha256": ["3f" * 32], "rows": 168_000, "panel_sha256": "ab" * 32},
        "columns": {"published": ["id", "time", "value"], "withheld": 2},
        "pseudonyms": "random",
        "files": {"data.parquet": {"sha256": "cd" * 32, "bytes": 1234}},
        "utility": {
            "information-loss": {
                "value": 0.3123,
                "goal": "lower",
                "range": [0.0, 1.0],
                "meaning": "squared changes as a share of the variation between series",
            }
        },
        "risk": {},
        "figures": figures,
        "versions": {"python": "3.11.7", "numpy": "2.1.0"},
        "seal": "ee" * 32,
    }
    return certificate | changes
