"""Facts about each stretch of a growing panel: its instants, its subjects, whether it is the same as before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.model import Origin, Panel

_SETTINGS = (
    "layout",
    "missing",
    "align",
    "duplicates",
    "complete",
    "quantity",
    "quantity_from",
    "timezone",
    "sql",
)
"""What a certificate may say about the reading. The number of rows would reveal how many were away that day."""


def span_of(panel: Panel) -> tuple[int, int]:
    """The first and the last instant as whole numbers."""
    first, last = panel.times[[0, -1]].astype(np.int64).tolist()
    return first, last


def with_readings(panel: Panel) -> Panel:
    """The series that have any reading."""
    rows: NDArray[np.int64] = np.flatnonzero(~np.isnan(panel.rows).all(axis=1))
    if not len(rows):
        raise InputError(f"None of the {panel.n_series} series has a reading. Leave this stretch out.")
    if len(rows) == panel.n_series:
        return panel
    return panel.take(rows)


def digest_of(panel: Panel) -> str:
    """SHA-256 of the readings and their subjects, independent of the order of the series."""
    order = np.argsort(np.array(names_of(panel)), kind="stable")
    subjects = None if panel.subjects is None else panel.subjects[order]
    return Panel(
        panel.values[order],
        ids=panel.ids[order],
        times=panel.times,
        subjects=subjects,
        channels=panel.channels,
        timezone=panel.timezone,
        copy=False,
    ).digest()


def names_of(panel: Panel) -> list[str]:
    """The names of the series, as texts."""
    return [str(name) for name in panel.ids.tolist()]


def subjects_of(panel: Panel) -> list[str]:
    """Who is behind each series, as texts."""
    return names_of(panel) if panel.subjects is None else [str(subject) for subject in panel.subjects.tolist()]


def columns_of(panel: Panel) -> dict[str, Any]:
    """What must stay the same from stretch to stretch. Identifiers, because 17 and 17.0 would be two series."""
    kinds = sorted({type(name).__name__ for name in panel.ids.tolist()})
    if len(kinds) > 1:
        raise InputError(f"The identifiers of the series are of several types: {', '.join(kinds)}. Use one.")
    return {
        "channels": list(panel.channels),
        "time zone": panel.timezone,
        "type of times": "integers" if panel.times.dtype.kind == "i" else "timestamps",
        "type of identifiers": kinds,
        "subjects": panel.subjects is not None,
    }


COLUMN_FACTS = {
    "channels": list,
    "time zone": str | None,
    "type of times": str,
    "type of identifiers": list,
    "subjects": bool,
}
"""The types of what `columns_of` gives."""


def settings_only(origin: Origin | None) -> Origin | None:
    """Where a panel came from, without counts of what was read."""
    if origin is None:
        return None
    reading = {name: value for name, value in origin.reading.items() if name in _SETTINGS}
    return Origin(origin.kind, origin.sha256, None, reading)
