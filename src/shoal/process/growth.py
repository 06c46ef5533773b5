"""From a panel that grows to a sequence of releases: read, place, announce, publish, settle."""

from __future__ import annotations

import hashlib
import inspect
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import ParameterError, ReleaseError
from shoal.model import Method, Panel, Release
from shoal.model.keyed_names import keyed_names
from shoal.model.watcher import Watcher, silent
from shoal.model.watcher import tell as tell_subjects
from shoal.process.keep import Keep, apply_keep, kept_measures
from shoal.process.publication import held_back, publish
from shoal.process.remembered import remember
from shoal.process.stretches import Stretch, name_of, stretches
from shoal.read.options import given_options
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.facts import mapping
from shoal.release.opened import load_release
from shoal.release.private import data_digest, keep_measured, load_or_make_key, open_private, read_measured
from shoal.streams.checkpoint import different, locked
from shoal.streams.growing_panel import GrowingPanel
from shoal.streams.incremental_nlk import IncrementalNLK
from shoal.streams.incremental_state import OPERATORS, Growth, read_growth

_KEY = "pseudonym.key"


def publish_growing(
    source: Path,
    method: Method,
    to: Path,
    settings: Mapping[str, Any],
    *,
    private: Path | None,
    keep: Keep | None = None,
    options: Mapping[str, Any] | None = None,
    every: str | None = None,
    steps: Watcher = silent,
    tell: Callable[[str], None] = lambda note: None,
    **publishing: Any,
) -> dict[str, Any]:
    """Publish every stretch that has arrived, each as a release folder, so that all of them keep the promise together.

    A stretch that is already published stays as it is; run the same command again when more has arrived. Returns a
    summary.

    Parameters
    ----------
    source, every
        As in `stretches`.
    settings
        Those of `read_panel`.
    to
        The folder of the releases.
    private
        The folder of the state: who is in which group, the key of the pseudonyms, what is published.
    keep
        What must stay useful, as in `shoal.features.keep`: groups are formed on it, and each release measures it.
    options
        Those of `IncrementalMicroaggregation` (spare, join) or of `IncrementalNLK` (alone).
    publishing
        As in `publish`: format, ledger, accept, title, sign, ...
    """
    if private is None:
        raise ParameterError(
            "A growing panel needs --private DIR: it records which groups were published, and holds the key of the "
            "names."
        )
    method = apply_keep(method, keep)
    given = {
        "out": str(to.resolve()),
        "format": publishing.get("format", "parquet"),
        "every": every,
        **_operator(method, options or {}).options,
        "reading": json.loads(json.dumps(given_options(settings))),
        "method": _plain(method),
    }
    open_private(private, to)
    with locked(private):
        growth = _opened(private, method, _operator(method, options or {}), given)
        place = _Place(to, private, settings, method)
        place.settle(growth)
        place.find_unpublished(growth.operator, growth.releases)
        known = {entry["source"] for entry in growth.releases if entry["source"]}
        new: list[dict[str, Any]] = []
        notes: dict[str, Any] = {"held_back": []}
        steps.start("reading")
        for arrived in stretches(source, settings, every=every, known=known.__contains__, tell=tell):
            if not new:
                tell_subjects(steps, arrived.panel)
            steps.start("publishing")
            if (release := place.add(growth, arrived, publishing)) is not None:
                notes = notes if new else _notes(release)
                new.append(_lacks(release, growth.operator.n_series))
            steps.start("reading")
        return _summary(growth, new) | notes


def _operator(method: Method, options: Mapping[str, Any]) -> GrowingPanel:
    """A new growing panel."""
    if (of_method := OPERATORS.get(method.name)) is None:
        raise ParameterError(f"A growing panel is published by one of: {', '.join(OPERATORS)}; not by {method.name}.")
    taken = set(inspect.signature(of_method).parameters)
    if other := [name for name, value in options.items() if name not in taken and value]:
        raise ParameterError(f"--{other[0]} is not an option of a growing panel with --method {method.name}.")
    return of_method(method, **{name: value for name, value in options.items() if name in taken})


def _plain(method: Method) -> dict[str, Any]:
    """Its parameters as a state stores them."""
    parameters: dict[str, Any] = json.loads(json.dumps(method.parameters))
    return parameters


def _opened(private: Path, method: Method, operator: GrowingPanel, given: dict[str, Any]) -> Growth:
    key = private / _KEY
    growth = read_growth(private, method)
    if growth is None:
        if key.exists() and not key.read_bytes().strip():
            key.unlink()  # a process ended while creating it
        begun = {**given, "key": _fingerprint(load_or_make_key(private))}
        growth = Growth(operator, begun)
        growth.save(private)
        return growth
    # Earlier states lack options added later; their defaults apply.
    begun = {
        **growth.settings,
        "reading": given_options(growth.settings["reading"]),
        "method": _plain(_with_defaults(method)) | growth.settings["method"],
    }
    if names := different(begun, given):
        raise ParameterError(
            f"The growing panel was started with other settings: {', '.join(names)}. Use the same. A new sequence of "
            "the same subjects would not be judged together with this one."
        )
    if not key.exists() or _fingerprint(load_or_make_key(private)) != growth.settings["key"]:
        raise ReleaseError(
            f"{_KEY} in {str(private)!r} is not the key of the earlier releases: names would change from one release "
            "to the next. Restore a copy of it."
        )
    return growth


def _with_defaults(method: Method) -> Method:
    """The same method with the default of every parameter that has one."""
    required = {field.name for field in fields(method) if field.default is MISSING}
    return type(method)(**{name: value for name, value in method.get_params().items() if name in required})


def _fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"growing panel " + key).hexdigest()


@dataclass(frozen=True)
class _Place:
    """The folder of the releases, and that of the state."""

    to: Path
    private: Path
    reading: Mapping[str, Any]
    method: Method

    def settle(self, growth: Growth) -> None:
        """Find out what happened to a release that was announced when a process ended."""
        for left in self.private.glob(".pseudonyms-*.partial"):
            if left.is_file():  # folders of this name are maps in parts, of runs in shards
                left.unlink()
        if growth.announced is None:
            return
        certificate = self._digest(growth.announced)
        if certificate is not None:
            growth.releases[-1]["certificate"] = certificate
        else:
            for left in self.to.glob(f".{growth.announced}.partial-*"):
                shutil.rmtree(left, ignore_errors=True)
            growth.take_back()
        growth.save(self.private)

    def find_unpublished(self, operator: GrowingPanel, releases: Sequence[Mapping[str, Any]]) -> None:
        """Find the members in the state of an earlier version of whom nothing is published."""
        if not isinstance(operator, IncrementalNLK) or operator.all_published:
            return
        folders = [self.to / entry["folder"] for entry in releases if entry["folder"]]
        there = [folder for folder in folders if (folder / FILE_NAME).is_file()]
        published = [load_release(folder).published for folder in there]
        seen = {name for panel in published if isinstance(panel, Panel) for name in panel.ids.tolist()}
        names = keyed_names(load_or_make_key(self.private), operator.members)
        unpublished = np.array([place for place, name in enumerate(names) if name not in seen], dtype=np.int64)
        if len(unpublished) and len(there) < len(folders):
            raise ReleaseError(
                f"{len(folders) - len(there)} of {len(folders)} releases of this growing panel are not in "
                f"{str(self.to)!r}. They are needed once, because an earlier version may have left members out of the "
                "release in which they began. Put them back."
            )
        operator.publish_next(unpublished)

    def add(self, growth: Growth, arrived: Stretch, publishing: Mapping[str, Any]) -> Release | None:
        """Publish a stretch; returns None if it is already published, or nothing of it may be published yet."""
        if growth.operator.knows(arrived.panel):
            return None
        folder = name_of(arrived.panel)
        # A stretch of a published period is refused below, for what is wrong with it.
        if folder not in {entry["folder"] for entry in growth.releases} and (self.to / folder).exists():
            raise ReleaseError(
                f"{str(self.to / folder)!r} exists, and is not a release of this growing panel. Move it away, or "
                "choose another folder with --out."
            )
        candidate = growth.operator.push(arrived.panel)
        entry: dict[str, Any] = {"folder": folder, "certificate": None, "source": arrived.source}
        if candidate is None:
            growth.releases.append(entry | {"folder": None})
            growth.save(self.private)
            return None
        growth.releases.append(entry)
        growth.save(self.private)
        try:
            measures = kept_measures(self.method, arrived.panel)
            kept = {"measures": measures, "process": {"kept": list(measures)}} if measures else {}
            given = {**kept, **publishing}
            release = publish(candidate, self.to / folder, pseudonyms="keyed", private=self.private, **given)
            release = self._with_account(release, arrived)
            remember(self.private, release, self.reading)
        except BaseException:
            # Refused or interrupted. If it is nevertheless in place, it has been published.
            if self._digest(folder) is None:
                growth.take_back()
                growth.save(self.private)
            raise
        entry["certificate"] = self._digest(folder)
        growth.save(self.private)
        return release

    def _with_account(self, release: Release, arrived: Stretch) -> Release:
        """What reading did, for the publisher alone: in the certificate, the counts would show how many were away."""
        files, origin = release.certificate["files"], arrived.panel.origin
        notes: dict[str, Any] = {"held_back": held_back(arrived.panel, release.certificate)}
        if origin is not None:
            read = {"rows": origin.n_rows, "reading": dict(origin.reading)}
            notes["input"] = release.certificate["input"] | read
            keep_measured(
                self.private, data_digest(files), read_measured(self.private, files) | {"input": notes["input"]}
            )
        return release.with_notes(**notes)

    def _digest(self, folder: str) -> str | None:
        """SHA-256 of the certificate in a folder, if there is one."""
        path = self.to / folder
        if not (path / FILE_NAME).is_file():
            return None
        if read_certificate(path) is None:
            raise ReleaseError(
                f"The release in {str(path)!r} was changed after it was written. Restore it, or remove the folder if "
                "nobody has received it."
            )
        return hashlib.sha256((path / FILE_NAME).read_bytes()).hexdigest()


def _lacks(release: Release, n_members: int) -> dict[str, Any]:
    """A new release, what of it is empty or absent, and what the publisher is warned of."""
    counts = release.certificate["counts"]
    notes = {name: release.measured[name] for name in ("dominance",) if name in release.measured}
    reading = mapping(mapping(release.measured.get("input")).get("reading"))
    return {
        "folder": release.path.name,
        "series": n_members,
        "absent": n_members - counts["series"],
        "values": counts["series"] * counts["instants"] * counts["channels"],
        "empty": counts["missing"],
        "reading": {name: n for name, n in reading.items() if type(n) is int},
        **notes,
    }


def _notes(first: Release) -> dict[str, Any]:
    """Which columns are not published; and the ledger, as the first of the new releases found it."""
    ledger = {"ledger": first.measured["ledger"]} if "ledger" in first.measured else {}
    return {"held_back": list(first.measured["held_back"]), **ledger}


def _summary(growth: Growth, new: list[dict[str, Any]]) -> dict[str, Any]:
    """The figures so far: counts only."""
    operator = growth.operator
    published = [entry["folder"] for entry in growth.releases if entry["folder"]]
    return {
        "written": len(new),
        "releases": len(published),
        "without": len(growth.releases) - len(published),
        "last": published[-1] if published else None,
        "series": operator.n_series,
        "groups": operator.n_cells,
        "waiting": operator.n_waiting,
        "new": new,
    }
