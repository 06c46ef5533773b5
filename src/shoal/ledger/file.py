"""The ledger of earlier releases: it keeps a publisher from revealing in two releases what neither reveals alone.

The ledger is a file of JSON lines, one per release, each with the SHA-256 of all lines before it. Next to it are its
key, readable by its owner only, and, while a release is being written, a note of what is about to appear. A publishing
process locks the ledger from its first look until the new line is on disk, so that of two concurrent publishers the
later one sees what the earlier one did. Readers ignore a line that a killed process left unfinished, and the next
writer removes it. The number of lines is stored in a separate file once a line is on disk, so that lines cut off the
end are noticed.

The note is written before the key, and if a first release fails, the key is removed before the note. So if there is a
key, there is also a recorded release or a note; a key alone means that the ledger was lost.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import ReleaseError
from shoal.files.durable import sync, write_aside
from shoal.ledger.conflicts import refuse_together
from shoal.ledger.entries import LedgerEntry, Note, PackedMembers, fingerprint
from shoal.ledger.groups import GroupMembership, membership_of, older_hashes
from shoal.model import Candidate, EventsCandidate, Guarantee, Release
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.folder import refuse_inside_release

LINE_FEED = b"\n"


@dataclass(frozen=True)
class Interrupted:
    """A release that was being written when its process ended."""

    note: Note

    @property
    def folder(self) -> Path:
        """The folder in which it was to appear."""
        return Path(self.note.folder)

    @property
    def is_in_place(self) -> bool:
        """Whether the folder holds another release than before."""
        return bool(self.note.folder) and (now := _state_of(self.folder)) is not None and now != self.note.before


@contextmanager
def recording(
    ledger: str | Path | None,
    candidate: Candidate | EventsCandidate,
    to: str | Path,
    *,
    require: Sequence[Guarantee] = (),
    keyed: bool = False,
) -> Iterator[Callable[[Release], int | None]]:
    """Refuse a candidate that breaks a promise together with earlier releases; yield a function that records it.

    Call the function once the release is in place. It returns the number of earlier releases in the ledger. Without a
    ledger nothing is checked or recorded, and it returns None.

    Parameters
    ----------
    ledger
        The file; created, with its key, on first use.
    candidate
        What would be published.
    to
        The folder to write.
    require
        Guarantees required in addition to those the method aims at.
    keyed
        Whether its pseudonyms are made with a key, so that anyone can join it with other such releases.
    """
    if ledger is None:
        yield lambda release: None
        return
    path, folder = Path(ledger), Path(os.path.abspath(to))  # noqa: PTH100 - as the gate does
    if folder.resolve() in path.resolve().parents:
        raise ReleaseError("The ledger must not be inside the release.")
    refuse_inside_release(path, "The ledger")
    with _locked(path) as descriptor:
        try:
            entries, key = _settled(path, descriptor)
            membership = membership_of(candidate, (*candidate.guarantees, *require), key, keyed=keyed)
            refuse_together(_members(entries, candidate, key), membership)
            members = PackedMembers.packed(membership)
            note = Note(folder=str(folder), before=_state_of(folder), releases=len(entries), members=members)
            _announce(path, note)
            _keep_key(path, key)
        except OSError as error:
            raise ReleaseError(f"Cannot write next to the ledger {str(path)!r}: {error.strerror}.") from None

        def record(release: Release) -> int:
            """Write the line: from now on, later releases are judged together with this one."""
            try:
                _append(path, descriptor, note, key)
                _pending(path).unlink()
            except OSError as error:
                raise ReleaseError(
                    f"The release is in place, but the ledger could not be written: {error.strerror}. Free some "
                    "space; the next release with this ledger, or shoal ledger check, finds it."
                ) from None
            return len(entries)

        try:
            yield record
        except BaseException:
            # Refused, or failed before anything was in place.
            if not Interrupted(note).is_in_place:
                _forget(path, entries)
            raise


def record_shown(ledger: str | Path, candidate: Candidate, certificate: dict[str, Any], digest: str) -> None:
    """Record what analysts are about to be shown, or refuse it if it breaks a promise together with earlier releases.

    It is recorded before anyone sees it: at worst, a process ends in between, and later releases are judged together
    with something nobody saw.

    Parameters
    ----------
    ledger
        The file; created, with its key, on first use.
    candidate
        What is shown, with the promise that must hold together with later releases.
    certificate
        What a certificate would state: form, files, method, guarantees, counts and time.
    digest
        SHA-256 of what is shown.
    """
    path = Path(ledger)
    with _locked(path) as descriptor:
        try:
            entries, key = _settled(path, descriptor)
            membership = membership_of(candidate, candidate.guarantees, key)
            refuse_together(_members(entries, candidate, key), membership)
            # No folder: if the process ends before the line is written, there is nothing in place to record.
            note = Note(folder="", before=None, releases=len(entries), members=PackedMembers.packed(membership))
            _announce(path, note)
            _keep_key(path, key)
            _write_line(path, descriptor, LedgerEntry.of(certificate, digest, note, key))
            _pending(path).unlink()
        except OSError as error:
            raise ReleaseError(f"Cannot write the ledger {str(path)!r}: {error.strerror}. Nothing is shown.") from None


def read_ledger(path: str | Path) -> tuple[LedgerEntry, ...]:
    """The releases that a ledger records, in order."""
    entries = _read(path)
    if not entries:
        with _still(path) as is_still:
            if is_still:
                entries = _read(path)
                _refuse_lost(Path(path), entries)
    return entries


def unfinished(path: str | Path) -> tuple[Interrupted | None, bool]:
    """A release that was being written when its process ended, and whether someone is publishing right now."""
    with _still(path) as is_still:
        return (_interrupted(Path(path), _read(path)), False) if is_still else (None, True)


def _read(path: str | Path) -> tuple[LedgerEntry, ...]:
    # The count first: a line written meanwhile is then one too many, never one too few.
    n_written = _written(Path(path))
    try:
        lines = Path(path).read_bytes().split(LINE_FEED)
    except OSError as error:
        raise ReleaseError(f"Cannot read the ledger {str(path)!r}: {error.strerror}.") from None
    entries: list[LedgerEntry] = []
    so_far = hashlib.sha256()
    for number, line in enumerate(lines[:-1], start=1):  # anything after the last line feed is unfinished
        try:
            entry = LedgerEntry.from_line(line)
        except ValueError:
            raise ReleaseError(
                f"Line {number} of the ledger is damaged: it is not what was written. Restore a copy of the file."
            ) from None
        # Before format 4, lines had no chain; after a line that has one, all do.
        is_older = entry.chain is None and (not entries or entries[-1].chain is None)
        if entry.chain != so_far.hexdigest() and not is_older:
            raise ReleaseError(
                f"Line {number} of the ledger does not follow from the lines before it: some were removed, added, "
                "changed or reordered. Restore a copy of the file."
            )
        entries.append(entry)
        so_far.update(line + LINE_FEED)
    if 0 < len(entries) < n_written:  # a ledger without any line is recognised by its key
        raise ReleaseError(
            f"The ledger has {len(entries)} release(s), but had {n_written}: lines were cut off its end, and new "
            "releases would not be judged together with them. Restore a copy of the file."
        )
    return tuple(entries)


def _written(path: Path) -> int:
    """Number of lines when the last one was written; 0 if it was not recorded."""
    if not path.name:
        return 0  # a folder such as "." or "/", which cannot be read as a ledger
    try:
        return int(_count_of(path).read_bytes())
    except FileNotFoundError:
        return 0
    except (OSError, ValueError):
        raise ReleaseError(
            f"{str(_count_of(path))!r}, the number of releases in the ledger, is damaged. Restore a copy of it and of "
            "the ledger."
        ) from None


@contextmanager
def _still(path: str | Path) -> Iterator[bool]:
    """Whether nobody is publishing; if so, nobody can start meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise ReleaseError(f"Cannot read the ledger {str(path)!r}: {error.strerror}.") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            is_still = True
        except BlockingIOError:
            is_still = False
        yield is_still
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The ledger, open for appending by one writer at a time."""
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
    """The releases and the key, after completing or removing what an interrupted writer left."""
    _cut_unfinished(path, descriptor)
    entries = list(_read(path))
    _refuse_lost(path, entries)
    left = _interrupted(path, entries)
    if left is not None and not left.is_in_place:
        # With its key, if it was the first: a kill between here and the next note must not leave a key alone.
        _forget(path, entries)
        left = None
    key = _key(path, entries, is_needed=bool(entries) or left is not None)
    if left is not None:
        entries.append(_append(path, descriptor, left.note, key))
    _pending(path).unlink(missing_ok=True)
    return entries, key


def _refuse_lost(path: Path, entries: Sequence[LedgerEntry]) -> None:
    """Refuse a ledger that had releases and has none."""
    if entries or _pending(path).exists() or not _key_of(path).exists():
        return
    raise ReleaseError(
        f"The ledger {str(path)!r} records nothing, but its key exists: the releases it had are lost, and new ones "
        "would not be judged together with them. Restore a copy of the file. To start again without them, remove "
        f"{str(_key_of(path))!r}."
    )


def _members(
    entries: Sequence[LedgerEntry], candidate: Candidate | EventsCandidate, key: bytes
) -> list[GroupMembership]:
    """Group membership in earlier releases, under the current hashes of the candidate's subjects."""
    older = older_hashes(candidate, key) if any(entry.format == 1 for entry in entries) else {}
    found = [(entry.format, entry.members.unpacked()) for entry in entries]
    return [members.renamed(older) if written == 1 else members for written, members in found]


def _cut_unfinished(path: Path, descriptor: int) -> None:
    """Remove what a killed writer left after the last complete line."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)


def _append(path: Path, descriptor: int, note: Note, key: bytes) -> LedgerEntry:
    """Write the line of the release that a note announces, and wait until it is on disk."""
    folder = Path(note.folder)
    certificate = read_certificate(folder)
    if certificate is None:
        raise ReleaseError(
            f"The release in {str(folder)!r} was changed before the ledger could record it. Restore it, or remove the "
            "folder if nobody has received it."
        )
    digest = hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()
    return _write_line(path, descriptor, LedgerEntry.of(certificate.as_dict(), digest, note, key))


def _write_line(path: Path, descriptor: int, entry: LedgerEntry) -> LedgerEntry:
    """Append an entry, chained to all others; nobody else writes meanwhile."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, "rb", closefd=False) as file:
        content = file.read()
    entry = entry.model_copy(update={"chain": hashlib.sha256(content).hexdigest()})
    line = memoryview(entry.as_line())
    while line:
        line = line[os.write(descriptor, line) :]
    os.fsync(descriptor)
    _write(_count_of(path), f"{content.count(LINE_FEED) + 1}\n".encode())
    return entry


def _key(path: Path, entries: Sequence[LedgerEntry], *, is_needed: bool) -> bytes:
    """The key next to the ledger; a new one, not yet written, if nothing recorded needs one."""
    place = _key_of(path)
    if not place.exists():
        if is_needed:
            raise ReleaseError(
                f"The key of the ledger, {str(place)!r}, is gone: without it nobody can tell whose releases these "
                "are. Restore it, or start a new ledger."
            )
        return secrets.token_hex(32).encode()
    if place.stat().st_mode & 0o077:
        raise ReleaseError(f"The key of the ledger can be read by others. Run: chmod 600 {str(place)!r}")
    key = place.read_bytes().strip()
    if any(entry.key != fingerprint(key) for entry in entries):
        raise ReleaseError(f"{str(place)!r} is not the key that the releases of the ledger were recorded with.")
    return key


def _keep_key(path: Path, key: bytes) -> None:
    if not _key_of(path).exists():
        _write(_key_of(path), key)


def _forget(path: Path, entries: Sequence[LedgerEntry]) -> None:
    """Remove the note of a release that failed; if it was the first one, remove the key before it."""
    if not entries:
        _key_of(path).unlink(missing_ok=True)
        sync(path.absolute().parent)
    _pending(path).unlink(missing_ok=True)


def _key_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.key")


def _count_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.count")


def _pending(path: Path) -> Path:
    return path.with_name(f"{path.name}.pending")


def _announce(path: Path, note: Note) -> None:
    """Write the note of what is about to appear."""
    _write(_pending(path), note.as_line())


def _write(place: Path, content: bytes) -> None:
    """Put a file in place, readable by its owner only, and wait until it is on disk."""
    aside = write_aside(place, content, mode=0o600)
    aside.sync()
    aside.put_in_place()
    sync(place.absolute().parent)


def _interrupted(path: Path, entries: Sequence[LedgerEntry]) -> Interrupted | None:
    """The release that the note next to a ledger announces; None if it was recorded before the kill."""
    place = _pending(path)
    try:
        note = Note.from_line(place.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ReleaseError(f"Cannot read {str(place)!r}: {error.strerror}.") from None
    except ValueError:
        raise ReleaseError(
            f"{str(place)!r}, the note about a release that was being written when its process ended, is damaged. "
            "Check whether that release is in its folder and missing from shoal ledger list. If so and someone has "
            "received it, start a new ledger with other subjects; if not, or once its folder is removed, remove the "
            "note."
        ) from None
    if note.releases > len(entries):
        raise ReleaseError(
            f"The ledger has {len(entries)} release(s), but had {note.releases} when the last one was started. "
            "Restore a copy of the file."
        )
    state = _state_of(Path(note.folder))
    is_recorded = state is not None and state["certificate"] in {e.certificate for e in entries[note.releases :]}
    return None if is_recorded else Interrupted(note)


def _state_of(folder: Path) -> dict[str, Any] | None:
    """Identifies the release in a folder: its certificate, and the folder itself."""
    try:
        content = (folder / FILE_NAME).read_bytes()
        return {"certificate": hashlib.sha256(content).hexdigest(), "folder": folder.stat().st_ino}
    except OSError:
        return None
