"""The three ways out of a policy: a release for everyone, a copy for one recipient, a folder that only answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoal.errors import ParameterError
from shoal.model import Candidate, CandidateShards
from shoal.process.policy.schema import ReleasePart
from shoal.release import check_target
from shoal.release.agreement import Agreement

RELEASE = "release"
"""Location of the release inside a closed folder."""


def refuse_export(part: ReleasePart, to: Path) -> None:
    """Raise if nothing could be written in the end; call it before long work."""
    if part.model != "closed":
        check_target(to, overwrite=part.overwrite)
        return
    # Here, because answering needs methods that other ways out do not.
    from shoal.closed import refuse_taken

    refuse_taken(to)


def agreement_of(part: ReleasePart) -> Agreement | None:
    """The recipient of the release, if it is for one recipient."""
    if part.model != "agreement" or part.recipient is None or part.purpose is None or part.expires is None:
        return None
    if part.private is None:
        raise ParameterError(
            "model: agreement needs release.private, a folder for what you keep: it distinguishes the copies."
        )
    return Agreement(recipient=part.recipient, purpose=part.purpose, expires=part.expires, contact=part.contact)


@contextmanager
def exporting(part: ReleasePart, to: Path, candidate: Candidate | CandidateShards) -> Iterator[Path]:
    """Yield the folder for the release; for a closed folder, add what a service needs.

    The settings of a closed folder are written last: without them it is not served.
    """
    if part.model != "closed":
        yield to
        return
    from shoal.closed import make_closed_folder

    to.mkdir(mode=0o700, parents=True, exist_ok=True)
    to.chmod(0o700)
    try:
        yield to / RELEASE
        assert isinstance(candidate, Candidate)  # shards are refused before
        make_closed_folder(to, candidate, part.closed)
    finally:
        if not any(to.iterdir()):
            to.rmdir()
