"""What stays with the publisher: the map of pseudonyms, the group labels, the key."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from shoal.errors import ReleaseError
from shoal.model import Candidate, EventsCandidate, Role
from shoal.streams.durable import sync

_KEY = "pseudonym.key"

SECRETS = "shoal.secrets"
"""Where the map keeps seeds, as JSON in its metadata."""


def open_private(folder: Path, release: Path) -> None:
    """Make the private folder, for its owner alone, and refuse one that others can read or that would be released."""
    inside = release.resolve()
    if folder.resolve() == inside or inside in folder.resolve().parents:
        raise ReleaseError("The private folder must not lie inside the release.")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"Cannot make the private folder {str(folder)!r}: {error.strerror}.") from None
    if folder.stat().st_mode & 0o077:
        raise ReleaseError(f"The private folder {str(folder)!r} can be read by others. Run: chmod 700 {str(folder)!r}")


def load_or_make_key(folder: Path) -> bytes:
    """The key of earlier releases, or a new one."""
    path = folder / _KEY
    if not path.exists():
        write_privately(path, secrets.token_hex(32).encode())
    return path.read_bytes().strip()


def keep_aside(folder: Path, candidate: Candidate | EventsCandidate, names: list[str]) -> Path:
    """Write who is who beside its place, to be kept when the release is there."""
    table = _whereabouts(candidate) if isinstance(candidate, EventsCandidate) else _who_is_who(candidate, names)
    partial = folder / f".pseudonyms-{secrets.token_hex(8)}.partial"
    write_privately(partial, b"")
    secrets_kept = dict(candidate.private.secrets) if isinstance(candidate, Candidate) else {}
    metadata = {SECRETS: json.dumps(secrets_kept)} if secrets_kept else None
    pq.write_table(table.to_arrow().replace_schema_metadata(metadata), partial)
    sync(partial)
    return partial


def _whereabouts(candidate: EventsCandidate) -> pl.DataFrame:
    """Every original event in the order of time, and the snapshot it is published in; none where it is suppressed."""
    original, places = candidate.private.original, pl.Series(candidate.private.snapshots)
    times = original.frame[original.time].unique().sort()
    published = times.gather(places.replace(-1, None))
    names = original.roles.columns(Role.IDENTIFIER)
    free = next(name for name in ("published", "published_in", "published_in_snapshot") if name not in names)
    return original.frame.select(*names, original.time).with_columns(published.alias(free))


def _who_is_who(candidate: Candidate, names: list[str]) -> pl.DataFrame:
    """A row for each pseudonym of a series; its pseudonyms are separated by spaces. Fictive ones are in no row."""
    original = candidate.private.original
    subjects = original.subjects if original.subjects is not None else original.ids
    return pl.DataFrame(
        {
            "id": [str(i) for i in original.ids],
            "subject": [str(s) for s in subjects],
            "pseudonym": [name.split(" ") for name in names],
            "group": pl.Series(candidate.private.groups.tolist()),  # a list where groups are formed at each instant
        }
    ).explode("pseudonym")


def keep(partial: Path, data_sha256: str) -> None:
    """Put a map in its place, under a name that says to which data file it belongs; others stay."""
    partial.rename(partial.parent / f"pseudonyms-{data_sha256[:16]}.parquet")
    sync(partial.parent)


def write_privately(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, and wait until it is on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
