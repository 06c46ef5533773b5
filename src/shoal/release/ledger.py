"""The ledger of earlier releases: what keeps a publisher from giving away in two releases what neither tells alone.

A file of JSON lines, one per release. Beside it lies its key, for its owner alone, and, while a release is being
written, a note of what is about to appear. Whoever publishes holds the ledger locked from the first look at it until
the new line is on disk, so that of two publishers at once the later one sees what the earlier one did. A line that a
killed process left unfinished is not there for readers, and is removed by the next writer.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ReleaseError
from shoal.model import Candidate, EventsCandidate, Guarantee, Release
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.ledger_conflicts import refuse_together
from shoal.release.ledger_entries import LedgerEntry, Members, fingerprint
from shoal.release.ledger_groups import membership_of
from shoal.streams.durable import sync, write_aside


@dataclass(frozen=True)
class Interrupted:
    """A release that was being written when its process ended."""

    folder: Path
    before: dict[str, Any] | None
    members: Members

    @property
    def is_in_place(self) -> bool:
        """Whether the folder holds another release than before."""
        return (now := _state_of(self.folder)) is not None and now != self.before


@contextmanager
def recording(
    ledger: str | Path | None,
    candidate: Candidate | EventsCandidate,
    to: str | Path,
    *,
    require: Sequence[Guarantee] = (),
) -> Iterator[Callable[[Release], None]]:
    """Refuse a candidate that together with earlier releases breaks a promise; yield what records it once in place.

    Without a ledger nothing is asked and nothing recorded.

    Parameters
    ----------
    ledger
        The file; made, with its key, when it is first used.
    candidate
        What would be published.
    to
        The folder it goes to.
    require
        Guarantees asked for beyond those the method aims at.
    """
    if ledger is None:
        yield lambda release: None
        return
    path, folder = Path(ledger), Path(os.path.abspath(to))  # noqa: PTH100 - as the gate does
    if folder.resolve() in path.resolve().parents:
        raise ReleaseError("The ledger must not lie inside the release.")
    with _locked(path) as descriptor:
        try:
            entries, key = _settled(path, descriptor)
            membership = membership_of(candidate, (*candidate.guarantees, *require), key)
            refuse_together([entry.members.unpacked() for entry in entries], membership)
            about = Interrupted(folder, _state_of(folder), Members.packed(membership))
            _announce(path, about)
        except OSError as error:
            raise ReleaseError(f"Cannot write beside the ledger {str(path)!r}: {error.strerror}.") from None

        def record(release: Release) -> None:
            """Write the line: from now on later releases are judged beside this one."""
            try:
                _append(descriptor, folder, about.members, key)
                _pending(path).unlink()
            except OSError as error:
                raise ReleaseError(
                    f"The release is in place, but the ledger could not be written: {error.strerror}. Make room; the "
                    "next release with this ledger, or shoal ledger check, finds it."
                ) from None

        try:
            yield record
        except BaseException:
            # Refused, or failed before anything was in place.
            if not about.is_in_place:
                _pending(path).unlink(missing_ok=True)
            raise


def read_ledger(path: str | Path) -> tuple[LedgerEntry, ...]:
    """The releases that a ledger records, in order."""
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as error:
        raise ReleaseError(f"Cannot read the ledger {str(path)!r}: {error.strerror}.") from None
    entries = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line feed was never finished
        try:
            entries.append(LedgerEntry.from_line(line))
        except ValueError:
            raise ReleaseError(
                f"Line {number} of the ledger is damaged: it is not what was written. Put back a copy of the file."
            ) from None
    return tuple(entries)


def unfinished(path: str | Path) -> tuple[Interrupted | None, bool]:
    """A release that was being written when its process ended, and whether somebody is publishing right now."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return _interrupted(Path(path)), False
    except BlockingIOError:
        return None, True
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The ledger open for appending, for one writer at a time."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise ReleaseError(f"Cannot open the ledger {str(path)!r}: {error.strerror}.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _settled(path: Path, descriptor: int) -> tuple[list[LedgerEntry], bytes]:
    """The releases and the key, after what an interrupted writer has left is completed or removed."""
    _cut_unfinished(path, descriptor)
    entries = list(read_ledger(path))
    key = _key(path, entries)
    if (left := _interrupted(path)) is not None:
        if left.is_in_place:
            entries.append(_append(descriptor, left.folder, left.members, key))
        _pending(path).unlink()
    return entries, key


def _cut_unfinished(path: Path, descriptor: int) -> None:
    """Remove what a killed writer left behind the last whole line."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)


def _append(descriptor: int, folder: Path, members: Members, key: bytes) -> LedgerEntry:
    """Write the line of the release in a folder, and wait until it is on disk."""
    certificate = read_certificate(folder)
    if certificate is None:
        raise ReleaseError(
            f"The release in {str(folder)!r} was changed before the ledger could record it. Put it back as it was, or "
            "remove the folder if nobody has got it."
        )
    digest = hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()
    entry = LedgerEntry.of(certificate.as_dict(), digest, members, key)
    line = memoryview(entry.as_line())
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)
    return entry


def _key(path: Path, entries: Sequence[LedgerEntry]) -> bytes:
    """The key beside the ledger, made with the first release."""
    place = path.with_name(f"{path.name}.key")
    if not place.exists():
        if entries:
            raise ReleaseError(
                f"The key of the ledger, {str(place)!r}, is gone: without it nobody can tell whose releases these are. "
                "Put it back, or begin a new ledger."
            )
        aside = write_aside(place, secrets.token_hex(32).encode(), mode=0o600)
        aside.sync()
        aside.put_in_place()
        sync(place.parent)
    if place.stat().st_mode & 0o077:
        raise ReleaseError(f"The key of the ledger can be read by others. Run: chmod 600 {str(place)!r}")
    key = place.read_bytes().strip()
    if any(entry.key != fingerprint(key) for entry in entries):
        raise ReleaseError(f"{str(place)!r} is not the key that the releases of the ledger were recorded with.")
    return key


def _pending(path: Path) -> Path:
    return path.with_name(f"{path.name}.pending")


def _announce(path: Path, about: Interrupted) -> None:
    """Write down what is about to appear, before it does."""
    content = {"folder": str(about.folder), "before": about.before, "members": about.members.model_dump(mode="json")}
    aside = write_aside(_pending(path), json.dumps(content).encode(), mode=0o600)
    aside.sync()
    aside.put_in_place()
    sync(path.absolute().parent)


def _interrupted(path: Path) -> Interrupted | None:
    try:
        content = json.loads(_pending(path).read_bytes())
    except FileNotFoundError:
        return None
    return Interrupted(Path(content["folder"]), content["before"], Members.model_validate(content["members"]))


def _state_of(folder: Path) -> dict[str, Any] | None:
    """What tells the release in a folder from any other: its certificate, and the folder itself."""
    try:
        content = (folder / FILE_NAME).read_bytes()
        return {"certificate": hashlib.sha256(content).hexdigest(), "folder": folder.stat().st_ino}
    except OSError:
        return None
