"""What a certificate says about names and instants, beside what its data shows."""

from __future__ import annotations

import pyarrow as pa

from shoal.model import EventTables, Profiles, Published
from shoal.model.keyed_names import NAME_LENGTH
from shoal.release.canonical import count_odd_names
from shoal.release.certificate import FILE_NAME, Certificate
from shoal.release.certifying import time_part
from shoal.release.form import Form


def name_findings(published: Published | EventTables) -> list[str]:
    """Names that are no pseudonyms."""
    n_names, n_odd = _names(published)
    if not n_odd:
        return []
    return [
        f"{n_odd} of {n_names} names are not written as Shoal's pseudonyms are, with {NAME_LENGTH} hexadecimal digits: "
        "they may be identifiers"
    ]


def time_findings(published: Published | EventTables, certificate: Certificate) -> list[str]:
    """Instants, step or zone that are not those of the data."""
    zoned = certificate.time.timezone != ""
    if not len(published.times) or (zoned and time_part(published.times, published.timezone) == certificate.time):
        return []
    return [f"{FILE_NAME} says other instants, step or time zone than the data has"]


def column_findings(form: Form, published: Published | EventTables, certificate: Certificate) -> list[str]:
    """Columns, channels or bands that are not those of the data."""
    said = certificate.columns
    found = form.columns(published, 0)
    same = found.model_copy(update={"withheld": said.withheld}) == said and said.withheld >= 0
    return [] if same else [f"{FILE_NAME} says other columns than the data has"]


def count_findings(certificate: Certificate) -> list[str]:
    """Counts that contradict each other: they are the publisher's word, but not any word."""
    counts = certificate.counts
    n_channels = 1 if certificate.form == "envelopes" else len(certificate.columns.channels)
    if certificate.form == "events":
        wrong = counts.suppressed is not None and counts.suppressed < 0
    else:
        wrong = not 0 <= counts.subjects <= counts.series or counts.channels != n_channels or counts.missing < 0
        wrong = wrong or (certificate.form == "envelopes" and counts.missing > 0)
    return [f"{FILE_NAME} has counts that contradict each other"] if wrong else []


def pseudonym_notes(certificate: Certificate) -> list[str]:
    """A warning where whoever guesses a number can undo the names."""
    if certificate.pseudonyms != "insecure":
        return []
    return [
        "INSECURE PSEUDONYMS: names and the order of rows were drawn from a fixed seed; whoever guesses it can undo "
        "both. Such a release is for tests"
    ]


def _names(published: Published | EventTables) -> tuple[int, int]:
    """How many names there are, and how many of them are not written as pseudonyms are; events have none."""
    if isinstance(published, EventTables):
        return 0, 0
    names = published.names if isinstance(published, Profiles) else published.ids
    listed = [str(name) for name in (() if names is None else names)]
    return len(listed), count_odd_names(pa.array(listed, pa.string()))
