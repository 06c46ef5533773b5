"""A release next to the originals it was made from: what measures compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import InputError, ParameterError
from shoal.model import Envelopes, Events, EventTables, Panel, Profiles, Release
from shoal.process.hold_out import behind
from shoal.process.private_map import read_map
from shoal.process.remembered import Reading
from shoal.read import read_events, read_panel

Positions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class MatchedRows:
    """Originals and the published curves that stand for them, row by row."""

    originals: Panel
    curves: Panel
    rows: Positions
    """In the order of the file, the position of the original that each published name stands for; -1 for none."""
    published: Positions
    """For each of the originals, the position in the file of the name that it is published under."""


@dataclass(frozen=True, eq=False)
class Compared:
    """What is known about a published table and its originals."""

    published: Any
    form: str
    """What is published: values, profiles, scenarios, envelopes or events."""
    original: Panel | Events
    whole: Panel | None
    """All published curves, whomever they stand for, at the instants of `whole_original`; none for events."""
    whole_original: Panel | None
    pairs: MatchedRows | None
    """None if it is not known who is who."""
    notes: tuple[str, ...] = ()
    advice: str = "Give --private DIR to match them."
    """What the publisher can do if it is not known."""


def compare(source: Any, settings: Mapping[str, Any], release: Release, private: Path | None) -> Compared:
    """Read the originals and pair them with a release; `private` is the folder that says who is who.

    It also remembers how the release was read; `settings` override that.
    """
    reading = Reading.of(release, private, settings)
    with reading.explained():
        return _compare(source, reading, release, private)


def _compare(source: Any, reading: Reading, release: Release, private: Path | None) -> Compared:
    published, settings = release.published, reading.settings
    form = str(release.certificate["form"])
    if isinstance(published, EventTables):
        return Compared(published, form, _events(source, settings), None, None, None)
    original, _ = behind(read_panel(source, **settings), release, private)
    whole = _curves(published)
    common = _common_instants(original, whole, release)
    pairs = None
    if private is not None:
        first = _first_row(published)
        of_original, of_published = _who_is_who(original, release, private)
        rows = np.full(len(first), -1)
        rows[of_published] = of_original
        curves = _part(whole, first[of_published], np.arange(whole.n_instants))
        pairs = MatchedRows(_part(original, of_original, common), curves, rows, of_published)
    everyone = np.arange(original.n_series)
    notes = () if private is None else reading.notes(original, release, private)
    return Compared(published, form, original, whole, _part(original, everyone, common), pairs, notes)


def _curves(published: Panel | Profiles | Envelopes) -> Panel:
    """A curve for each published series: for a profile as many as it counts, for an envelope the middle."""
    if isinstance(published, Panel):
        return published
    if isinstance(published, Envelopes):
        return Panel(published.middles, times=published.times, channels=published.channels, timezone=published.timezone)
    means = np.repeat(published.values[..., 0], published.counts, axis=0)
    return Panel(
        means if published.n_channels > 1 else means[:, :, 0],
        times=published.times,
        channels=published.channels,
        timezone=published.timezone,
    )


def _first_row(published: Panel | Profiles | Envelopes) -> Positions:
    """For each published name, the first of its rows among the curves."""
    if isinstance(published, Profiles):
        return np.cumsum(published.counts) - published.counts
    return np.arange(published.n_series)


def _common_instants(original: Panel, whole: Panel, release: Release) -> Positions:
    """Positions in the original of the published instants, for panels that share them; envelopes may have fewer."""
    if original.n_channels != whole.n_channels:
        raise InputError(
            f"The release has {whole.n_channels} value(s) per instant, the table as read {original.n_channels}. Name "
            "the same columns as for the release."
        )
    places = np.flatnonzero(np.isin(original.times, whole.times)) if _same_kind(original, whole) else np.arange(0)
    may_lack = isinstance(release.published, Envelopes)
    if len(places) < whole.n_instants or (len(places) < original.n_instants and not may_lack):
        coarse = _coarse(release, whole)
        raise InputError(
            f"The release has {whole.n_instants} instants, the table as read {original.n_instants}; {len(places)} are "
            f"the same. Read the table as for the release{coarse}."
        )
    return places


def _coarse(release: Release, whole: Panel) -> str:
    """How to read a table in the steps of a release: as the release was read, if that is known."""
    align = str(release.certificate["input"]["reading"].get("align", ""))
    step = release.certificate["time"]["step"]
    if align.startswith("resample:") and "," not in align:
        return f", or in the steps of the release with align='{align}'"
    return f", or in the steps of the release with align='resample:{step}'" if step and _has_clock(whole) else ""


def _has_clock(panel: Panel) -> bool:
    return panel.times.dtype.kind == "M"


def _same_kind(original: Panel, whole: Panel) -> bool:
    """Whether instants can be compared: both numbers, both in UTC, or both local clock times."""
    zones = original.timezone is None, whole.timezone is None
    return _has_clock(original) == _has_clock(whole) and zones[0] == zones[1]


def _part(panel: Panel, rows: Positions, columns: Positions) -> Panel:
    """Some series at some instants, without identifiers."""
    if len(rows) == panel.n_series and len(columns) == panel.n_instants and (np.diff(rows) == 1).all():
        return panel
    return Panel(
        panel.values[rows][:, columns],
        times=panel.times[columns],
        subjects=panel.subject_codes[rows],
        channels=panel.channels,
        timezone=panel.timezone,
    )


def _who_is_who(original: Panel, release: Release, private: Path) -> tuple[Positions, Positions]:
    """Positions of originals and of the published names they have, as many as are published."""
    table = read_map(release, private)
    places = {str(name): at for at, name in enumerate(original.ids)}
    under = {name: at for at, name in enumerate(_names(release.published))}
    if lacking := sum(name not in places for name in table["id"].unique()):
        raise InputError(
            f"{lacking} series of the map in the private folder are not in the table as read. Read the table the "
            "release was made from, with the same settings."
        )
    found = [
        (places[name], under[pseudonym])
        for name, pseudonym in zip(table["id"], table["pseudonym"], strict=True)
        if pseudonym in under
    ]
    if not found:
        raise InputError("The map in the private folder names no series of this release.")
    found.sort()
    of_original, of_published = np.array(found, dtype=np.int64).T
    if len(np.unique(of_original)) < len(of_original):
        raise InputError(
            "Some series are published under several pseudonyms, in slices; they cannot be compared one by one. Omit "
            "the private folder to compare the whole."
        )
    return of_original, of_published


def _names(published: Any) -> list[str]:
    """Pseudonyms in the order of the file."""
    return [str(name) for name in (published.names if isinstance(published, Profiles) else published.ids)]


def _events(source: Any, settings: Mapping[str, Any]) -> Events:
    sensitive = tuple(settings.get("sensitive") or ())
    if len(sensitive) != 1:
        raise ParameterError(
            f"This release has events, which have one sensitive column, but {len(sensitive)} are named. Give "
            "--sensitive COLUMN, and --quasi COLUMN for each quasi-identifier."
        )
    ours = ("id", "time", "subject", "every", "missing", "timezone", "sql", "sheet")
    named = {name: settings[name] for name in ours if name in settings}
    return read_events(source, sensitive=sensitive[0], quasi=tuple(settings.get("quasi") or ()), **named)
