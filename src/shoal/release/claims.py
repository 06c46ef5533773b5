"""What a certificate says about names and instants, beside what its data shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.model import EventTables, Profiles, Published
from shoal.model.keyed_names import NAME_LENGTH
from shoal.release.canonical import count_odd_names
from shoal.release.certificate import FILE_NAME, Certificate
from shoal.release.certifying import time_part

if TYPE_CHECKING:
    from shoal.release.parts_reading import PartsPublished


def name_findings(published: Published | EventTables | PartsPublished) -> list[str]:
    """Names that are no pseudonyms."""
    n_names, n_odd = _names(published)
    if not n_odd:
        return []
    return [
        f"{n_odd} of {n_names} names are not written as Shoal's pseudonyms are, with {NAME_LENGTH} hexadecimal digits: "
        "they may be identifiers"
    ]


def time_findings(published: Published | EventTables | PartsPublished, certificate: Certificate) -> list[str]:
    """Instants, step or zone that are not those of the data."""
    clock = published if isinstance(published, Published | EventTables) else published.clock
    if not len(clock.times) or time_part(clock.times, clock.timezone) == certificate.time:
        return []
    return [f"{FILE_NAME} says other instants, step or time zone than the data has"]


def pseudonym_notes(certificate: Certificate) -> list[str]:
    """A warning where whoever guesses a number can undo the names."""
    if certificate.pseudonyms != "insecure":
        return []
    return [
        "INSECURE PSEUDONYMS: names and the order of rows were drawn from a fixed seed; whoever guesses it can undo "
        "both. Such a release is for tests"
    ]


def _names(published: Published | EventTables | PartsPublished) -> tuple[int, int]:
    """How many names there are, and how many of them are not written as pseudonyms are; events have none."""
    if isinstance(published, EventTables):
        return 0, 0
    if not isinstance(published, Published):
        return published.n_series, published.n_odd_names
    names = published.names if isinstance(published, Profiles) else published.ids
    listed = [str(name) for name in (() if names is None else names)]
    return len(listed), count_odd_names(pa.array(listed, pa.string()))
