"""What stays with the publisher of a release in parts: the map of pseudonyms and groups, in parts as well."""

from __future__ import annotations

import hashlib
import json
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shoal.release.certificate import Certificate
from shoal.release.parts_names import parts_of
from shoal.release.private import write_privately
from shoal.streams.durable import sync

SECRETS_FILE = "_secrets.json"
"""Seeds and the like; readers of Parquet folders pass over names that begin so."""


@contextmanager
def map_aside(private: Path | None, kept: Mapping[str, Any]) -> Iterator[Path | None]:
    """Yield a folder for the map beside its place; it is gone in the end unless `keep_map` took it."""
    if private is None:
        yield None
        return
    private.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = private / f".pseudonyms-{secrets.token_hex(8)}.partial"
    partial.mkdir(mode=0o700)
    try:
        if kept:
            write_privately(partial / SECRETS_FILE, json.dumps(dict(kept)).encode())
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def keep_map(partial: Path, certificate: Certificate) -> None:
    """Put a map in its place, under a name that says to which data it belongs; others stay."""
    for path in partial.glob(".*"):
        path.unlink()  # of a task that was given up
    for path in partial.iterdir():
        sync(path)
    sync(partial)
    place = partial.parent / f"pseudonyms-{data_digest(certificate.as_dict()['files'])[:16]}.parquet"
    if place.exists():
        shutil.rmtree(place)  # that of the same data under the same names
    partial.rename(place)
    sync(partial.parent)


def data_digest(files: Mapping[str, Any]) -> str:
    """One digest for the data of a release: that of its file, or of the digests of its parts in their order."""
    if parts := parts_of(files):
        return hashlib.sha256("\n".join(files[name]["sha256"] for name in parts).encode()).hexdigest()
    return next((str(part["sha256"]) for name, part in files.items() if name.startswith("data.")), "")
