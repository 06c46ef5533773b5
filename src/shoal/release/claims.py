"""What a certificate says compared with what its data shows, and what nothing in the folder can show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from shoal.methods.aggregates import THIRDS
from shoal.model import Envelopes, EventTables, Profiles, Published, Scenarios, Suppression, Verdict
from shoal.model.keyed_names import JOINABLE, JOINABLE_COPIES, NAME_LENGTH
from shoal.model.words import names_apart
from shoal.release.canonical import count_odd_names
from shoal.release.certificate import AGREEMENT_FILE, FILE_NAME, PUBLISHERS_WORDS, Certificate, GuaranteePart
from shoal.release.certification import time_part
from shoal.release.form import Form
from shoal.release.suppression import readers_figures


def name_findings(published: Published | EventTables) -> list[str]:
    """Names that are not pseudonyms."""
    n_names, n_odd = _names(published)
    if not n_odd:
        return []
    return [
        f"{n_odd} of {n_names} names are not written as Shoal's pseudonyms are, with {NAME_LENGTH} hexadecimal digits: "
        "they may be identifiers"
    ]


def time_findings(published: Published | EventTables, certificate: Certificate) -> list[str]:
    """Instants, step or zone that differ from those of the data."""
    zoned = certificate.time.timezone != ""
    if not len(published.times) or (zoned and time_part(published.times, published.timezone) == certificate.time):
        return []
    return [f"{FILE_NAME} states other instants, another step or another time zone than the data has"]


def column_findings(form: Form[Any, Any], published: Published | EventTables, certificate: Certificate) -> list[str]:
    """Columns, channels or bands that differ from those of the data."""
    said = certificate.columns
    found = form.columns(published, 0)
    same = found.model_copy(update={"withheld": said.withheld}) == said and said.withheld >= 0
    return [] if same else [f"{FILE_NAME} states other columns than the data has"]


def count_findings(certificate: Certificate, published: Published | EventTables) -> list[str]:
    """Counts that contradict each other: they are the publisher's word, but must be consistent."""
    counts = certificate.counts
    n_channels = len(certificate.columns.channels)
    if isinstance(published, EventTables):
        lost, figures = counts.suppressed or 0, certificate.method.figures
        said = {"events": published.n_events + lost, "published": published.n_events, "suppressed": lost}
        told = readers_figures(published, Suppression(published.n_events, lost)) if lost >= 0 else {}
        wrong = lost < 0 or any(figures.get(name, count) != count for name, count in said.items())
        wrong = wrong or certificate.figures.get("suppression", {}) != told
    else:
        wrong = not 0 <= counts.subjects <= counts.series or counts.channels != n_channels or counts.missing < 0
        wrong = wrong or (certificate.form == "envelopes" and counts.missing > 0)
    return [f"{FILE_NAME} has counts that contradict each other"] if wrong else []


def range_findings(published: Published | EventTables) -> list[str]:
    """Ranges that end before they begin, thirds or levels out of order, and words with letters of another level."""
    if isinstance(published, EventTables) and not published.bucketised:
        ranges = [
            (name, ends)
            for name in published.quasi
            if len(ends := [end for end in (f"{name}_low", f"{name}_high") if end in published.records.columns]) == 2
        ]
        turned = {name: int((published.records[a] > published.records[b]).sum()) for name, (a, b) in ranges}
        return [f"{n} ranges of column {name!r} end before they begin" for name, n in turned.items() if n]
    if isinstance(published, Scenarios):
        return published.faults()
    if isinstance(published, Profiles) and published.bands[1:] == THIRDS:
        thirds = published.values[..., 1:]
        # Means of equal readings may differ in their last digits.
        slack = 1e-9 * np.abs(thirds).max(axis=-1, initial=0.0)
        n = int((np.diff(thirds, axis=-1) < -slack[..., None]).any(axis=-1).sum())
        return [f"at {n} instants of profiles the thirds are not in ascending order"] if n else []
    if isinstance(published, Envelopes):
        words = set(zip(published.patterns, published.levels.tolist(), strict=True))
        n = sum(any(not 0 <= ord(letter) - ord("a") < level for letter in word) for word, level in words)
        return [f"{n} different patterns have letters that their level does not have"] if n else []
    return []


def told_apart(certificate: Certificate) -> list[tuple[GuaranteePart, str]]:
    """Each promise and its name, with the parameters in which it differs from others of that name."""
    parts = certificate.guarantees
    return list(zip(parts, names_apart([(part.name, part.parameters) for part in parts]), strict=True))


def measured_findings(part: GuaranteePart, found: Verdict, name: str, *, exact: bool) -> list[str]:
    """A measured figure that differs from the data; without `exact`, since the publisher saw more, one that is better.

    A figure that must not exceed a limit, such as inferable instants, is a bound that depends on the order of the
    search.
    """
    said = part.verdict.measured
    if said is None or found.measured is None:
        same = said is found.measured
    elif found.measured < found.required:
        same = 0 <= said <= found.required
    else:
        same = said == found.measured or (not exact and said < found.measured)
    return [] if same else [f"{FILE_NAME} states another measured figure for {name} than the data has"]


def pseudonym_findings(certificate: Certificate) -> list[str]:
    """A note about keyed names that differs from the expected one."""
    said = {"keyed": (JOINABLE,) if certificate.agreement is None else (JOINABLE_COPIES,)}
    if certificate.pseudonyms_note in said.get(certificate.pseudonyms, ("",)):
        return []
    return [f"{FILE_NAME} does not say who can join its pseudonyms"]


def unchecked_parts(certificate: Certificate) -> tuple[str, ...]:
    """What the publisher says in words and figures that nothing in the folder confirms."""
    figures = {"utility": certificate.utility, "risk": certificate.risk, "figures": certificate.figures}
    texts = [name for name in ("report.html", AGREEMENT_FILE) if name in certificate.files]
    called = [name for name in (*PUBLISHERS_WORDS, "approval") if getattr(certificate, name)]
    return (*called, "method", "input", "versions", *(name for name, part in figures.items() if part), *texts)


def pseudonym_notes(certificate: Certificate) -> list[str]:
    """A warning if anyone who guesses a number can undo the names."""
    if certificate.pseudonyms != "insecure":
        return []
    return [
        "INSECURE PSEUDONYMS: names and row order were drawn from a fixed seed; anyone who guesses it can undo both. "
        "Such a release is for tests"
    ]


def _names(published: Published | EventTables) -> tuple[int, int]:
    """How many names there are, and how many of them are not written as pseudonyms are; events have none."""
    if isinstance(published, EventTables):
        return 0, 0
    names = published.names if isinstance(published, Profiles) else published.ids
    listed = [str(name) for name in (() if names is None else names)]
    return len(listed), count_odd_names(pa.array(listed, pa.string()))
