"""The ledger of earlier releases: what keeps a publisher from giving away in two releases what neither tells alone.

A file of JSON lines, one per release, each with the SHA-256 of all lines before it. Next to it lies its key, for its
owner alone, and, while a release is being written, a note of what is about to appear. Whoever publishes holds the
ledger locked from the first look at it until the new line is on disk, so that of two publishers at once the later one
sees what the earlier one did. A line that a killed process left unfinished is not there for readers, and is removed by
the next writer. How many lines there are is written beside it once a line is on disk: lines cut off the end are missed.

The note is there before the key is, and the key goes before the note does when a first release comes to nothing. So
wherever there is a key there is a release on record or a note; a key alone means that the ledger was lost.
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
        """Where it was to appear."""
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
    keyed
        Whether its names are made with a key, so that anyone can join it with other such releases.
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

        def record(release: Release) -> None:
            """Write the line: from now on later releases are judged together with this one."""
            try:
                _append(path, descriptor, note, key)
                _pending(path).unlink()
            except OSError as error:
                raise ReleaseError(
                    f"The release is in place, but the ledger could not be written: {error.strerror}. Free some "
                    "space; the next release with this ledger, or shoal ledger check, finds it."
                ) from None

        try:
            yield record
        except BaseException:
            # Refused, or failed before anything was in place.
            if not Interrupted(note).is_in_place:
                _forget(path, entries)
            raise


def record_shown(ledger: str | Path, candidate: Candidate, certificate: dict[str, Any], digest: str) -> None:
    """Record what analysts are about to be shown, or refuse it where it breaks a promise with earlier releases.

    It is written down before anyone sees it: at worst a process ends in between, and later releases are judged
    together with something nobody saw.

    Parameters
    ----------
    ledger
        The file; made, with its key, when it is first used.
    candidate
        What is shown, with the promise that is to hold together with later releases.
    certificate
        What a certificate would say of it: form, files, method, guarantees, counts and time.
    digest
        SHA-256 of what is shown.
    """
    path = Path(ledger)
    with _locked(path) as descriptor:
        try:
            entries, key = _settled(path, descriptor)
            membership = membership_of(candidate, candidate.guarantees, key)
            refuse_together(_members(entries, candidate, key), membership)
            # No folder: should the process end before the line is written, there is nothing in place to be recorded.
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
    # The count first: a line that somebody writes meanwhile is then one more, and not one too few.
    n_written = _written(Path(path))
    try:
        lines = Path(path).read_bytes().split(LINE_FEED)
    except OSError as error:
        raise ReleaseError(f"Cannot read the ledger {str(path)!r}: {error.strerror}.") from None
    entries: list[LedgerEntry] = []
    so_far = hashlib.sha256()
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line feed was never finished
        try:
            entry = LedgerEntry.from_line(line)
        except ValueError:
            raise ReleaseError(
                f"Line {number} of the ledger is damaged: it is not what was written. Restore a copy of the file."
            ) from None
        # Before format 4 lines had no chain; behind one that has, all do.
        is_older = entry.chain is None and (not entries or entries[-1].chain is None)
        if entry.chain != so_far.hexdigest() and not is_older:
            raise ReleaseError(
                f"Line {number} of the ledger does not follow from the lines before it: some were removed, added, "
                "changed or reordered. Restore a copy of the file."
            )
        entries.append(entry)
        so_far.update(line + LINE_FEED)
    if 0 < len(entries) < n_written:  # of a ledger without any line its key tells
        raise ReleaseError(
            f"The ledger has {len(entries)} release(s), but had {n_written}: lines were cut off its end, and new "
            "releases would not be judged together with them. Restore a copy of the file."
        )
    return tuple(entries)


def _written(path: Path) -> int:
    """How many lines the ledger had when the last one was written; 0 where nobody counted."""
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
    """Whether nobody is publishing; if so, nobody begins to meanwhile."""
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
    entries = list(_read(path))
    _refuse_lost(path, entries)
    left = _interrupted(path, entries)
    is_missing = left is not None and left.is_in_place
    key = _key(path, entries, is_needed=bool(entries) or is_missing)
    if left is not None and is_missing:
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
    """Who is in which group of earlier releases, under the hashes that the candidate's subjects have today."""
    older = older_hashes(candidate, key) if any(entry.format == 1 for entry in entries) else {}
    found = [(entry.format, entry.members.unpacked()) for entry in entries]
    return [members.renamed(older) if written == 1 else members for written, members in found]


def _cut_unfinished(path: Path, descriptor: int) -> None:
    """Remove what a killed writer left behind the last whole line."""
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)


def _append(path: Path, descriptor: int, note: Note, key: bytes) -> LedgerEntry:
    """Write the line of the release that a note is of, and wait until it is on disk."""
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
    """Write an entry behind all others, chained to them; nobody else writes meanwhile."""
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
    """The key next to the ledger; a new one, not written yet, where none is needed to tell what is there."""
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
    """Remove the note of what came to nothing; with a first release its key too, before it."""
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
    """Write down what is about to appear, before it does."""
    _write(_pending(path), note.as_line())


def _write(place: Path, content: bytes) -> None:
    """Put a file in its place, for its owner alone, and wait until it is on disk."""
    aside = write_aside(place, content, mode=0o600)
    aside.sync()
    aside.put_in_place()
    sync(place.absolute().parent)


def _interrupted(path: Path, entries: Sequence[LedgerEntry]) -> Interrupted | None:
    """What the note next to a ledger of these releases is of; None if the release was recorded before the kill."""
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
    """What tells the release in a folder from any other: its certificate, and the folder itself."""
    try:
        content = (folder / FILE_NAME).read_bytes()
        return {"certificate": hashlib.sha256(content).hexdigest(), "folder": folder.stat().st_ino}
    except OSError:
        return None
