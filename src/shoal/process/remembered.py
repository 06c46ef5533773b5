"""Reading options given once: kept in the private folder with a release, and named if they differ."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ParameterError
from shoal.model import Panel, Release
from shoal.process.private_map import map_of
from shoal.read.options import different_options, given_options
from shoal.release.certification import keyed_digest
from shoal.release.private import data_digest, read_input_key, write_privately


def remember(private: Path | None, release: Release, settings: Mapping[str, Any], held_out: Sequence[str] = ()) -> None:
    """Keep the reading options of a release, and who was kept out, in the private folder, for its owner alone."""
    if private is not None:
        content: dict[str, Any] = {"release": str(release.path), "reading": given_options(settings)}
        if held_out:
            content["held_out"] = list(held_out)
        write_privately(_place(private, release), json.dumps(content, indent=2, ensure_ascii=False).encode())


def recall(private: Path | None, release: Release) -> dict[str, Any] | None:
    """The options that a release was read with; None if nothing is remembered."""
    reading = _kept(private, release).get("reading")
    return reading if isinstance(reading, dict) else None


def recall_held_out(private: Path | None, release: Release) -> list[str]:
    """The series that were kept out of a release."""
    names = _kept(private, release).get("held_out")
    return [str(name) for name in names] if isinstance(names, list) else []


def _kept(private: Path | None, release: Release) -> dict[str, Any]:
    if private is None:
        return {}
    try:
        kept = json.loads(_place(private, release).read_bytes())
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


@dataclass(frozen=True)
class Reading:
    """How the originals of a release are read again.

    Parameters
    ----------
    settings
        Those of `read_panel`: what was given now, and for the rest what is remembered.
    differing
        Options that are not those of the release.
    known
        Whether the private folder remembers how the release was read.
    """

    settings: Mapping[str, Any]
    differing: tuple[str, ...] = ()
    known: bool = False

    @staticmethod
    def of(release: Release, private: Path | None, given: Mapping[str, Any]) -> Reading:
        """The remembered options, overridden by those given."""
        kept = recall(private, release)
        settings = {**(kept or {}), **given}
        differing = () if kept is None else tuple(different_options(settings, kept))
        return Reading(settings, differing, kept is not None)

    @property
    def named(self) -> str:
        """The options that differ, as they are written."""
        return ", ".join(f"--{name.replace('_', '-')}" for name in self.differing)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """If reading or comparing fails, name the differing options next to the reason."""
        try:
            yield
        except (InputError, ParameterError) as error:
            if not self.differing:
                raise
            raise type(error)(
                f"{error} These options differ from those of the release: {self.named}. Omit them to use the ones "
                "from the private folder."
            ) from None

    def notes(self, original: Panel, release: Release, private: Path) -> tuple[str, ...]:
        """Whether the table is another one; the certificate's digest is compared by the key of the private folder."""
        told, own = release.certificate["input"]["panel_sha256"], original.digest()
        key = read_input_key(map_of(release, private))
        # Earlier versions had plain digests, and no key.
        if told is None or told == (own if key is None else keyed_digest(key, own)):
            return ()
        if self.differing:
            return (f"the table was read with other options than for the release: {self.named}",)
        if self.known:
            return ("the table is not the one the release was made from: it was read with the same options",)
        return ("the table is not the one the release was made from, or was read with other settings",)


def _place(private: Path, release: Release) -> Path:
    return private / f"reading-{data_digest(release.certificate['files'])[:16]}.json"
