"""Whether the files of a release are those that its certificate names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import ReleaseError
from shoal.release.certificate import AGREEMENT_FILE, FILE_NAME, Certificate, FilePart, digest_file
from shoal.release.parts_names import PATTERNS, files_in, parts_of

if TYPE_CHECKING:
    from shoal.engines.contract import Engine

_TABLES = ("data", "patterns", "sensitive", "attributes")
_KNOWN_FILES = {"report.html", AGREEMENT_FILE, *(f"{name}.{kind}" for name in _TABLES for kind in ("parquet", "csv"))}
_MOST_NAMED = 3


def file_findings(folder: Path, certificate: Certificate) -> list[str]:
    """What is wrong with the files of a folder; raises ReleaseError where one is missing."""
    require_files(folder, certificate)
    digests = {name: digest_file(folder / name) for name in certificate.files}
    return _findings(folder, certificate, digests, _KNOWN_FILES)


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


def _findings(folder: Path, certificate: Certificate, digests: Mapping[str, FilePart], known: set[str]) -> list[str]:
    findings = [
        f"{name} was changed after the release: its SHA-256 is not the one in {FILE_NAME}"
        for name, found in digests.items()
        if found != certificate.files[name]
    ]
    if n_odd := sum(name not in known for name in certificate.files):
        findings.append(f"{FILE_NAME} names {n_odd} file(s) that no release has")
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
