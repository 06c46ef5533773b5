"""Whether the files of a release are those that its certificate names."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from shoal.errors import ReleaseError
from shoal.release.certificate import AGREEMENT_FILE, FILE_NAME, Certificate, digest_file
from shoal.release.datapackage import PACKAGE_FILE, package_bytes
from shoal.release.files import files_in, part_name, part_numbers, table_of
from shoal.release.lint.file_metadata import beside_rows
from shoal.release.shapes import SHAPES

_MOST_NAMED = 3


def file_findings(folder: Path, certificate: Certificate) -> list[str]:
    """Which files exist, whatever the tables hold; raises ReleaseError if one is missing."""
    require_files(folder, certificate)
    # All tables have one format: no check would read a data.csv next to data.parquet.
    kind = "csv" if any(table_of(n) == "data" and n.endswith(".csv") for n in certificate.files) else "parquet"
    tables = [f"{table}.{kind}" for table in tables_of(certificate)]
    numbers: list[int | None] = [*part_numbers(certificate.files)] or [None]
    known = {"report.html", PACKAGE_FILE, AGREEMENT_FILE, *(part_name(t, n) for n in numbers for t in tables)}
    # Tables are examined part by part.
    others = [name for name in certificate.files if not name.endswith((".csv", ".parquet"))]
    findings = digest_findings(folder, certificate, others)
    if PACKAGE_FILE in certificate.files and (folder / PACKAGE_FILE).read_bytes() != package_bytes(certificate):
        findings.append(f"{PACKAGE_FILE} does not describe the tables of the release")
    if n_odd := sum(name not in known for name in certificate.files):
        findings.append(f"{FILE_NAME} names {n_odd} file(s) that no release of this form has")
    if n_lost := sum(part_name(table, n) not in certificate.files for n in numbers for table in tables):
        findings.append(f"{FILE_NAME} does not name {n_lost} file(s) that a release of this form has")
    if (certificate.agreement is not None) != (AGREEMENT_FILE in certificate.files):
        findings.append(f"{FILE_NAME} and {AGREEMENT_FILE} do not agree on whether there is an agreement")
    if extra := len(files_in(folder) - {FILE_NAME, *certificate.files}):
        # Their names might be anything, so only the count is given.
        findings.append(f"the folder holds {extra} file(s) that {FILE_NAME} does not name")
    return findings


def digest_findings(folder: Path, certificate: Certificate, names: Iterable[str]) -> list[str]:
    """Files whose content is not that of the release."""
    return [
        f"{name} was changed after the release: its SHA-256 is not the one in {FILE_NAME}"
        for name in names
        if digest_file(folder / name) != certificate.files[name]
    ]


def metadata_findings(folder: Path, certificate: Certificate) -> list[str]:
    """What the tables carry besides their rows."""
    findings = []
    for name in sorted(certificate.files):
        if name.endswith(".parquet"):
            with suppress(OSError, ValueError, pa.ArrowException):  # an unreadable table is reported where it is read
                findings += [f"{name} {found}" for found in beside_rows(folder / name)]
    return findings


def tables_of(certificate: Certificate) -> set[str]:
    """The tables that a release of this form has: nothing would check any other."""
    tables = {"data"}
    if certificate.form == "envelopes":
        tables |= {"patterns"} | ({"attributes"} if certificate.columns.sensitive else set())
    if certificate.form == "values" and certificate.columns.attributes:
        tables.add("attributes")
    if certificate.columns.events is not None and certificate.columns.events.publish == "bucketised":
        tables.add("sensitive")
    if certificate.form == "values":  # perhaps in another shape as well, which must say the same
        tables |= {table_of(name) for name in certificate.files} & set(SHAPES)
    return tables


def require_files(folder: Path, certificate: Certificate) -> None:
    """Every file the certificate names must exist as a plain file: a link would lead out of the release."""
    if missing := _absent(folder, certificate.files):
        others = f" and {len(missing) - _MOST_NAMED} more" if missing[_MOST_NAMED:] else ""
        named = ", ".join(missing[:_MOST_NAMED])
        raise ReleaseError(f"The release is incomplete: {named}{others} is missing or not a plain file.")


def _absent(folder: Path, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not _is_plain(folder, name))


def _is_plain(folder: Path, name: str) -> bool:
    path = folder / name
    linked = path.is_symlink() or (path.parent != folder and path.parent.is_symlink())
    return path.is_file() and not linked
