"""Whether the files of a release are those that its certificate names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from shoal.errors import ReleaseError
from shoal.release.certificate import AGREEMENT_FILE, FILE_NAME, Certificate, FilePart, digest_file
from shoal.release.lint.file_metadata import beside_rows
from shoal.release.parts_names import PATTERNS, files_in, parts_of

if TYPE_CHECKING:
    from shoal.engines.contract import Engine

_MOST_NAMED = 3


def file_findings(folder: Path, certificate: Certificate) -> list[str]:
    """What is wrong with the files of a folder; raises ReleaseError where one is missing."""
    require_files(folder, certificate)
    digests = {name: digest_file(folder / name) for name in certificate.files}
    # All tables are of one kind: beside data.parquet a data.csv would be read by nobody who checks.
    kind = "csv" if "data.csv" in certificate.files and "data.parquet" not in certificate.files else "parquet"
    known = {"report.html", AGREEMENT_FILE, *(f"{table}.{kind}" for table in tables_of(certificate))}
    return _findings(folder, certificate, digests, known)


def part_findings(folder: Path, certificate: Certificate, engine: Engine) -> list[str]:
    """The same where tables are in parts. A missing one is a finding: of many files one is easily lost."""
    from shoal.release.parts_reading import digest_parts

    parts = parts_of(certificate.files)
    if certificate.form == "envelopes":
        parts += parts_of(certificate.files, PATTERNS)
    known = {"report.html", *parts}
    absent = _absent(folder, set(certificate.files) & known)
    digests = digest_parts(engine, folder, [name for name in parts if name not in absent])
    if "report.html" in certificate.files and "report.html" not in absent:
        digests["report.html"] = digest_file(folder / "report.html")
    findings = _findings(folder, certificate, digests, known)
    if absent:
        others = f" and {len(absent) - _MOST_NAMED} more" if absent[_MOST_NAMED:] else ""
        findings.append(f"{', '.join(absent[:_MOST_NAMED])}{others}: missing, or no plain file")
    return findings


def metadata_findings(folder: Path, certificate: Certificate) -> list[str]:
    """What the tables carry beside their rows."""
    findings = []
    for name in sorted(certificate.files):
        if name.endswith(".parquet"):
            with suppress(OSError, pa.ArrowException):  # a table that cannot be read is told where it is read
                findings += [f"{name} {found}" for found in beside_rows(folder / name)]
    return findings


def tables_of(certificate: Certificate) -> set[str]:
    """The tables that a release of this form has: any other would be a table that nothing checks."""
    tables = {"data"}
    if certificate.form == "envelopes":
        tables |= {"patterns"} | ({"attributes"} if certificate.columns.sensitive else set())
    if certificate.columns.events is not None and certificate.columns.events.publish == "bucketised":
        tables.add("sensitive")
    return tables


def _findings(folder: Path, certificate: Certificate, digests: Mapping[str, FilePart], known: set[str]) -> list[str]:
    findings = [
        f"{name} was changed after the release: its SHA-256 is not the one in {FILE_NAME}"
        for name, found in digests.items()
        if found != certificate.files[name]
    ]
    if n_odd := sum(name not in known for name in certificate.files):
        findings.append(f"{FILE_NAME} names {n_odd} file(s) that no release of this form has")
    if (certificate.agreement is not None) != (AGREEMENT_FILE in certificate.files):
        findings.append(f"{FILE_NAME} and {AGREEMENT_FILE} do not agree on whether there is an agreement")
    if extra := len(files_in(folder) - {FILE_NAME, *certificate.files}):
        # Their names might be anything; the count is enough to go and look.
        findings.append(f"the folder holds {extra} file(s) that {FILE_NAME} does not name")
    return findings


def require_files(folder: Path, certificate: Certificate) -> None:
    """Every file the certificate names must be there as a plain file: a link would lead out of the release."""
    if missing := _absent(folder, certificate.files):
        raise ReleaseError(f"The release is incomplete: {', '.join(missing)} is missing or no plain file.")


def _absent(folder: Path, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not _is_plain(folder, name))


def _is_plain(folder: Path, name: str) -> bool:
    path = folder / name
    linked = path.is_symlink() or (path.parent != folder and path.parent.is_symlink())
    return path.is_file() and not linked
