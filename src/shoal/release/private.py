"""What stays with the publisher: the pseudonym map, the group labels, the key."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from shoal.errors import ReleaseError
from shoal.files.durable import sync
from shoal.files.leftovers import abandoned, alone_in, hold, remove
from shoal.model import Candidate, EventsCandidate, Role
from shoal.release.certificate import FILE_NAME
from shoal.release.files import part_numbers, table_of
from shoal.release.folder import refuse_inside_release
from shoal.release.forms import form_of
from shoal.release.pseudonyms import names_of

_KEY = "pseudonym.key"

SECRETS = "shoal.secrets"
"""Where the map keeps seeds and the key of the input's digests, as JSON in its metadata."""

SECRETS_FILE = "_secrets.json"
"""Where a map in parts keeps them; readers of Parquet folders skip names with this prefix."""

INPUT_KEY = "input_key"


def open_private(folder: Path, release: Path) -> None:
    """Create the private folder, for its owner only, and refuse one that others can read or that would be released."""
    inside = release.resolve()
    if folder.resolve() == inside or inside in folder.resolve().parents:
        raise ReleaseError("The private folder must not be inside the release.")
    refuse_inside_release(folder / "x", "The private folder")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ReleaseError(f"Cannot make the private folder {str(folder)!r}: {error.strerror}.") from None
    if folder.stat().st_mode & 0o077:
        raise ReleaseError(f"The private folder {str(folder)!r} can be read by others. Run: chmod 700 {str(folder)!r}")
    sweep_private(folder)


def sweep_private(folder: Path) -> None:
    """Move into place the maps of releases whose process was killed before it could, and remove those of no release."""
    try:
        with alone_in(folder):
            for left in abandoned(folder, ".pseudonyms-", ".partial"):
                settle_map(left)
            for prefix in (".copy-", f".{_KEY}"):
                for left in abandoned(folder, prefix, ".partial"):
                    remove(left)
    except OSError as error:
        raise ReleaseError(f"Cannot write to the private folder {str(folder)!r}: {error.strerror}.") from None


def load_or_make_key(folder: Path) -> bytes:
    """The key of earlier releases, or a new one; processes that start at once all get the same."""
    path = folder / _KEY
    with alone_in(folder):
        if not path.exists():
            partial = folder / f".{_KEY}.partial"
            write_privately(partial, secrets.token_hex(32).encode())
            partial.rename(path)
            sync(folder)
    return path.read_bytes().strip()


def input_key(insecure_seed: int | None, keyed: bytes | None = None) -> bytes:
    """A key for the digests of the input: from the operating system, or a repeatable one if the release is."""
    if keyed is not None:
        return hmac.new(keyed, b"input", hashlib.sha256).digest()
    if insecure_seed is not None:
        return hashlib.sha256(f"shoal input of insecure seed {insecure_seed}".encode()).digest()
    return secrets.token_bytes(32)


def read_secrets(kept: Path) -> dict[str, Any]:
    """What is kept with a map, a file or a folder of parts: seeds and the key of the input's digests."""
    try:
        if kept.is_dir():
            secrets = json.loads((kept / SECRETS_FILE).read_bytes())
        else:
            secrets = json.loads((pq.read_schema(kept).metadata or {}).get(SECRETS.encode(), b"{}"))
        return secrets if isinstance(secrets, dict) else {}
    except (OSError, ValueError, pa.ArrowException):
        return {}


def read_input_key(kept: Path) -> bytes | None:
    """The key that was kept with a map; None with one of an earlier version."""
    try:
        return bytes.fromhex(read_secrets(kept)[INPUT_KEY])
    except (KeyError, ValueError, TypeError):
        return None


@contextmanager
def map_aside(folder: Path | None, *, in_parts: bool = False) -> Iterator[Path | None]:
    """Yield a temporary place for a map; when the block ends it is moved into place, or removed if nothing was
    released.

    The map is complete and on disk, and says which release it belongs to (`kept_with`), before that release is in
    place. So wherever the process is killed, the next one with this private folder can complete the work.
    """
    if folder is None:
        yield None
        return
    with alone_in(folder):
        partial = folder / f".pseudonyms-{secrets.token_hex(8)}.partial"
        if in_parts:
            partial.mkdir(mode=0o700)
        else:
            write_privately(partial, b"")
        lock = hold(partial)
    try:
        yield partial
    finally:
        try:
            settle_map(partial)
        except OSError as error:
            raise ReleaseError(
                f"The map of the release could not be moved into place: {error.strerror}. Free some space; the next "
                "command with this private folder completes it."
            ) from None
        finally:
            os.close(lock)


def kept_with(release: Path, data_sha256: str, key: bytes | None) -> dict[str, Any]:
    """What is kept with the map of a release: the release's location, its data, and the key of the input's digests."""
    of_input = {} if key is None else {INPUT_KEY: key.hex()}
    return {"release": str(release), "data_sha256": data_sha256} | of_input


def settle_map(partial: Path) -> None:
    """Move a map into place if its release is in place; else remove it. Other maps stay."""
    kept = read_secrets(partial)
    data_sha256 = kept.get("data_sha256")
    if not data_sha256 or _data_in(Path(str(kept.get("release")))) != data_sha256:
        remove(partial)
        return
    # The name says to which data it belongs.
    place = partial.parent / f"pseudonyms-{str(data_sha256)[:16]}.parquet"
    if place.is_dir():
        shutil.rmtree(place)  # the map of the same data under the same names
    partial.rename(place)
    sync(partial.parent)


def _data_in(release: Path) -> str | None:
    """The digest of the data of the release in a folder; None if there is none."""
    try:
        return data_digest(json.loads((release / FILE_NAME).read_bytes())["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def data_digest(files: Mapping[str, Any]) -> str:
    """One digest for the data of a release: that of its file, or of the digests of its parts in their order."""
    data = sorted(name for name in files if table_of(name) == "data")
    if part_numbers(files):
        return hashlib.sha256("\n".join(files[name]["sha256"] for name in data).encode()).hexdigest()
    return str(files[data[0]]["sha256"]) if data else ""


def write_map(partial: Path, tables: Sequence[pl.DataFrame], kept: Mapping[str, Any]) -> None:
    """Write who is who, with what is kept, and wait until it is on disk."""
    table = pl.concat(tables).to_arrow().replace_schema_metadata({SECRETS: json.dumps(dict(kept))})
    pq.write_table(table, partial)
    sync(partial)


def finish_map(partial: Path, kept: Mapping[str, Any]) -> None:
    """Write what is kept with a map in parts, and wait until all of it is on disk."""
    for path in partial.glob(".*"):
        path.unlink()  # from abandoned work
    write_privately(partial / SECRETS_FILE, json.dumps(dict(kept)).encode())
    for path in partial.iterdir():
        sync(path)
    sync(partial)


def who_is_who(key: bytes, shard: int, candidate: Candidate | EventsCandidate) -> pl.DataFrame:
    """The map of one shard: who is behind which name."""
    if isinstance(candidate, EventsCandidate):
        return _whereabouts(candidate)
    names = form_of(candidate.published).name_of_each_series(candidate.private, names_of(key, shard, candidate))
    return _who_is_who(candidate, names)


def _whereabouts(candidate: EventsCandidate) -> pl.DataFrame:
    """Every original event in the order of time, and the snapshot it is published in; none if it is suppressed."""
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


def keep_measured(private: Path, data_sha256: str, measured: Mapping[str, Any]) -> None:
    """Keep the figures of a release that are for its publisher alone."""
    write_privately(_measured_file(private, data_sha256), json.dumps(measured, indent=2).encode())


def read_measured(private: Path, files: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a release, by its files, that were left out of its certificate; none if none were kept."""
    path = _measured_file(private, data_digest(files))
    if not path.is_file():
        return {}
    measured: dict[str, Any] = json.loads(path.read_bytes())
    return measured


def _measured_file(private: Path, data_sha256: str) -> Path:
    return private / f"measured-{data_sha256[:16]}.json"


def write_privately(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, and wait until it is on disk."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
