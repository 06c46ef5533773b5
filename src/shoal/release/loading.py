"""Open a release."""

from __future__ import annotations

from pathlib import Path

from shoal.errors import ReleaseError
from shoal.model import Release
from shoal.release.certificate import FILE_NAME, Certificate, read_certificate
from shoal.release.file_findings import require_files
from shoal.release.forms import form_named
from shoal.release.parts_names import parts_of

MOST_BYTES = 2**30
"""Bytes of values up to which a release in parts is loaded."""


def load_release(folder: str | Path) -> Release:
    """The certificate and what is published in a release folder.

    It does not verify the guarantees; that is what `verify` is for. A release in parts is refused above 1 GiB of
    values: that is for readers that take it part by part.

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
    if parts_of(certificate.files):
        _refuse_large(certificate)
    published = form_named(certificate.form).read(path, certificate)
    return Release(path=path, certificate=certificate.as_dict(), published=published)


def _refuse_large(certificate: Certificate) -> None:
    counts = certificate.counts
    n_bytes = 8 * counts.series * counts.instants * (2 if certificate.form == "envelopes" else counts.channels)
    if n_bytes > MOST_BYTES:
        raise ReleaseError(
            f"The release has {n_bytes / 2**30:.1f} GiB of values in parts; up to {MOST_BYTES // 2**30} GiB are loaded "
            "into memory. Read its data.parquet with Spark, DuckDB or Polars, which take parts one by one; shoal "
            "verify checks a release of any size."
        )
