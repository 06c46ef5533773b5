"""Open a release."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ReleaseError
from shoal.model import Release
from shoal.release.certificate import FILE_NAME, read_certificate
from shoal.release.forms import form_named
from shoal.release.verification import require_files


def load_release(folder: str | Path) -> Release:
    """The certificate and what is published in a release folder.

    It does not verify the guarantees; that is what `verify` is for.

    Parameters
    ----------
    folder
        The release.
    """
    path = Path(folder)
    if not (path / FILE_NAME).is_file():
        raise ReleaseError(f"{str(folder)!r} is not a release: it has no {FILE_NAME}.")
    certificate = read_certificate(path)
    if certificate is None:
        raise ReleaseError(f"{FILE_NAME} was changed after the release: its content and its seal do not agree.")
    require_files(path, certificate)
    published = form_named(certificate.form).read(path, certificate)
    return Release(path=path, certificate=certificate.as_dict(), published=published)
