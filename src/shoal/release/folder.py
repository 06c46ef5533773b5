"""Where a release may be written."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ReleaseError
from shoal.files.whole_folder import put_back
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.files import files_in


def check_target(target: Path, *, overwrite: bool) -> None:
    """Raise if a release may not be written there; call it before long work."""
    refuse_inside_release(target, "A release")
    put_back(target)
    if not (target.exists() or target.is_symlink()):
        return
    if not target.is_dir() or target.is_symlink():
        raise ReleaseError(f"{str(target)!r} exists and is not a folder. Choose another name.")
    if not any(target.iterdir()):
        return
    if not overwrite:
        raise ReleaseError(f"{str(target)!r} exists. Choose another folder, or replace it with --overwrite.")
    certificate = read_certificate(target) if (target / FILE_NAME).is_file() else None
    if certificate is None or files_in(target) != {FILE_NAME, *certificate.files}:
        raise ReleaseError(
            f"{str(target)!r} holds something other than a release and is not replaced. Choose another folder."
        )


def refuse_inside_release(place: Path, what: str) -> None:
    """Raise if a place is inside the folder of a release: it would be given away with it, or change it."""
    # A link leads into the release it points to.
    for folder in place.resolve().parents:
        if is_release(folder):
            raise ReleaseError(f"{what} must not be inside a release, here {str(folder)!r}. Choose another place.")


def is_release(folder: Path) -> bool:
    """Whether a folder has a certificate, damaged or not."""
    try:
        return b'"seal"' in (folder / FILE_NAME).read_bytes()
    except OSError:
        return False
