"""Open a release."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.errors import ReleaseError
from shoal.model import EventTables, Published, Release, Suppression
from shoal.model.joined import join_published
from shoal.release.certificate import FILE_NAME, Certificate, read_certificate
from shoal.release.file_findings import require_files
from shoal.release.files import files_by_part, part_numbers
from shoal.release.forms import form_named
from shoal.release.stream_folder import read_stream

MOST_BYTES = 2**30
"""Largest size of values, in bytes, at which a release in parts is loaded."""


def load_release(folder: str | Path) -> Release:
    """Load the certificate and the published data of a release folder.

    It does not verify the guarantees; use `verify` for that. A release in parts is refused above 1 GiB of values: use a
    reader that takes it part by part.

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
    return Release(path=path, certificate=certificate.as_dict(), published=read_published(path, certificate))


def parts_of(certificate: Certificate) -> list[Certificate]:
    """The certificate for each part, with the files of that part alone; itself for a release in one part."""
    parts = files_by_part(certificate.files).values()
    return [certificate.model_copy(update={"files": files}) for files in parts] or [certificate]


def read_published(path: Path, certificate: Certificate) -> Published | EventTables:
    """What is published, in memory; parts, and snapshots of a stream, one after another."""
    if certificate.stream is not None:
        return read_stream(path, certificate)
    parts = parts_of(certificate)
    if len(parts) > 1:
        _refuse_large(certificate)
    form = form_named(certificate.form)
    parts_read = [form.read(path, part) for part in parts]
    return parts_read[0] if len(parts_read) == 1 else join_published(parts_read, names=True)


class ShardedRelease(Release):
    """A release made of shards. The published data is read from the folder on request, if it fits into memory.

    Parameters
    ----------
    path
        The folder.
    certificate
        The content of `release.json`.
    suppression, measured
        As in `Release`.
    """

    def __init__(
        self, path: Path, certificate: dict[str, Any], suppression: Suppression, measured: Mapping[str, Any]
    ) -> None:
        object.__setattr__(self, "path", path)
        object.__setattr__(self, "certificate", certificate)
        object.__setattr__(self, "suppression", suppression)
        object.__setattr__(self, "measured", measured)

    @cached_property
    def published(self) -> Published | EventTables:
        """All of it in memory, as `load_release` does."""
        return load_release(self.path).published

    def with_notes(self, **notes: Any) -> ShardedRelease:
        """The same release with more for its publisher in `measured`; the data stays where it is."""
        assert self.suppression is not None  # always given
        return ShardedRelease(self.path, self.certificate, self.suppression, {**self.measured, **notes})

    def __repr__(self) -> str:
        counts, n_parts = self.certificate["counts"], len(part_numbers(self.certificate["files"]))
        return f"Release({str(self.path)!r}, {counts['series']} series in {max(1, n_parts)} part(s))"


def _refuse_large(certificate: Certificate) -> None:
    counts = certificate.counts
    n_bytes = 8 * counts.series * counts.instants * counts.channels * (2 if certificate.form == "envelopes" else 1)
    if n_bytes > MOST_BYTES:
        raise ReleaseError(
            f"The release has {n_bytes / 2**30:.1f} GiB of values in parts; at most {MOST_BYTES // 2**30} GiB are "
            "loaded into memory. Read data-*.parquet with Spark, DuckDB or Polars, which read parts one by one; shoal "
            "verify checks a release of any size."
        )
