"""How many look alike in what is published: shared by the guarantees that require a crowd."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import ParameterError
from shoal.kernels.equal_rows import row_classes
from shoal.model import Candidate, Envelopes, EventsCandidate, EventTables, Judged, Panel, Profiles, Published

MOST_REPEATED = 1000
"""Largest number of rows a profile stands for when a check needs rows."""


def what_is_published(published: Judged) -> Published:
    """What a check must judge: series. Events have no crowd of series to count."""
    if isinstance(published, EventTables | EventsCandidate):
        raise ParameterError("This guarantee applies to series. Events are judged by l-diversity.")
    return published.published if isinstance(published, Candidate) else published


def published_panel(published: Judged) -> Panel:
    """What a check must judge, one row per series: a profile says the same about each of its subjects."""
    found = what_is_published(published)
    if isinstance(found, Profiles):
        flat = found.values.reshape(found.n_groups, found.n_instants, -1)
        # A forged count must not fill the memory; fewer rows only err towards "does not hold".
        return Panel(np.repeat(flat, np.minimum(found.crowds, MOST_REPEATED), axis=0), times=found.times)
    if isinstance(found, Envelopes):
        # The word and its level next to both ends, at every instant, so that series with different words differ.
        words = np.unique(np.array(found.patterns), return_inverse=True)[1].reshape(-1)
        marks = np.stack([words, found.levels], axis=1).astype(np.float64)
        repeated = np.broadcast_to(marks[:, None, :], (found.n_series, found.n_instants, 2))
        return Panel(np.concatenate([found.values, repeated], axis=2), times=found.times, subjects=found.subject_codes)
    return found


def value_classes(panel: Panel) -> NDArray[np.int64]:
    """For each series, the position of the first series with exactly the same values."""
    return row_classes(np.ascontiguousarray(panel.rows).view(np.uint64))


def published_classes(panel: Panel) -> NDArray[np.int64]:
    """For each series, the position of the first series published with exactly the same values and attributes."""
    codes = attribute_codes(panel)
    if not codes.shape[1]:
        return value_classes(panel)  # without a copy
    bits = np.ascontiguousarray(panel.rows).view(np.uint64)
    return row_classes(np.ascontiguousarray(np.column_stack([bits, codes])))


def attribute_codes(panel: Panel) -> NDArray[np.uint64]:
    """The published attributes of each series as numbers (series, attributes), equal where they are written alike."""
    codes = [_codes(column.tolist()) for column in panel.attributes.values()]
    return np.column_stack(codes) if codes else np.zeros((panel.n_series, 0), dtype=np.uint64)


def _codes(entries: list[Any]) -> NDArray[np.uint64]:
    """A number for each entry, equal for entries that are written alike."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(repr(entry), len(numbers)) for entry in entries], dtype=np.uint64)


def crowd_sizes(classes: NDArray[np.int64], subjects: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each series, the number of different subjects in its class."""
    n_subjects = int(subjects.max()) + 1
    pairs = np.unique(classes * n_subjects + subjects)
    sizes = np.bincount(pairs // n_subjects, minlength=len(classes))
    return sizes[classes].astype(np.int64)
