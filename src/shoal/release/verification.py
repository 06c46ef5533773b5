"""Check a release from its folder alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import ReleaseError
from shoal.guarantees import build_guarantee
from shoal.guarantees.crowds import crowd_sizes, published_classes
from shoal.model import Panel, Verdict
from shoal.release.certificate import FILE_NAME, Certificate, digest_file, read_certificate
from shoal.release.tables import NotAPanelError, read_values


@dataclass(frozen=True)
class Verification:
    """What a recipient finds in a release folder.

    Parameters
    ----------
    holds
        Files are those the certificate names, and every guarantee that can be checked from them holds. True in an
        `if` exactly then.
    findings
        What is wrong, with positions counted from 0; empty when it holds.
    verdicts
        The name and verdict of each guarantee checked here, in the order of the certificate.
    notes
        What is the publisher's word, because it cannot be checked from the folder.
    """

    holds: bool
    findings: tuple[str, ...]
    verdicts: tuple[tuple[str, Verdict], ...]
    notes: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.holds


def verify(folder: str | Path) -> Verification:
    """Check hashes, then guarantees, on the published files alone.

    Raises ReleaseError where there is no readable release; everything else that is wrong is a finding.

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
        finding = f"{FILE_NAME} was changed after the release: its content and its seal do not agree"
        return Verification(holds=False, findings=(finding,), verdicts=(), notes=())
    findings = _file_findings(path, certificate)
    verdicts: list[tuple[str, Verdict]] = []
    notes: list[str] = []
    try:
        panel = read_published(path, certificate)
    except NotAPanelError as error:
        findings.append(str(error))
    else:
        findings += _count_findings(panel, certificate)
        for part in certificate.guarantees:
            guarantee = build_guarantee(part.name, part.parameters)
            if not part.verdict.holds:
                findings.append(f"{FILE_NAME} itself says that {part.name} does not hold")
            # The definition says who can check it; the certificate is only asked for what it claims.
            if guarantee.needs_originals:
                notes.append(
                    f"{part.name}: checked by the publisher, who has the originals; it cannot be checked from here"
                )
                continue
            verdict = guarantee.check(panel)
            verdicts.append((part.name, verdict))
            if not verdict.holds:
                findings.append(_describe(part.name, verdict, panel, certificate))
        # Sizes are counted in subjects, which the folder does not tell apart where they have several series.
        counts = certificate.counts
        if not findings and counts.subjects == counts.series and group_sizes(panel) != counts.group_sizes:
            findings.append(f"the groups of equal series in the data are not those that {FILE_NAME} counts")
        if not verdicts:
            findings.append(f"{FILE_NAME} names no guarantee that can be checked from here")
        if certificate.counts.subjects < certificate.counts.series:
            notes.append(
                "several series belong to one subject; from here the crowd is counted in series, not in subjects"
            )
    return Verification(holds=not findings, findings=tuple(findings), verdicts=tuple(verdicts), notes=tuple(notes))


def read_published(folder: Path, certificate: Certificate) -> Panel:
    """The published panel of a folder."""
    for name in ("data.parquet", "data.csv"):
        if name in certificate.files:
            return read_values(folder / name, certificate.columns.channels, certificate.time.timezone)
    raise ReleaseError(f"{FILE_NAME} names no data file.")


def _file_findings(folder: Path, certificate: Certificate) -> list[str]:
    found = {p.name for p in folder.iterdir()} - {FILE_NAME}
    require_files(folder, certificate)
    findings = [
        f"{name} was changed after the release: its SHA-256 is not the one in {FILE_NAME}"
        for name, part in certificate.files.items()
        if digest_file(folder / name) != part
    ]
    if extra := len(found - set(certificate.files)):
        # Their names might be anything; the count is enough to go and look.
        findings.append(f"the folder holds {extra} file(s) that {FILE_NAME} does not name")
    return findings


def require_files(folder: Path, certificate: Certificate) -> None:
    """Every file the certificate names must be there as a plain file: a link would lead out of the release."""
    missing = sorted(n for n in certificate.files if not (folder / n).is_file() or (folder / n).is_symlink())
    if missing:
        raise ReleaseError(f"The release is incomplete: {', '.join(missing)} is missing or no plain file.")


def _count_findings(panel: Panel, certificate: Certificate) -> list[str]:
    counts = certificate.counts
    if (panel.n_series, panel.n_instants) != (counts.series, counts.instants):
        return [
            f"the data has {panel.n_series} series of {panel.n_instants} instants, "
            f"{FILE_NAME} says {counts.series} of {counts.instants}"
        ]
    if panel.n_missing != counts.missing:
        return [f"the data has {panel.n_missing} missing values, {FILE_NAME} says {counts.missing}"]
    return []


def group_sizes(panel: Panel) -> dict[str, int]:
    """How many groups of equal series there are of each size, in subjects."""
    classes = published_classes(panel)
    sizes = crowd_sizes(classes, panel.subject_codes)[np.unique(classes)]
    found, times = np.unique(sizes, return_counts=True)
    return {str(size): int(count) for size, count in zip(found, times, strict=True)}


def _describe(name: str, verdict: Verdict, panel: Panel, certificate: Certificate) -> str:
    text = f"{name} does not hold: measured {verdict.measured}, required {verdict.required}"
    if not isinstance(verdict.witness, int):
        return text + (f" (witness: {_positions(verdict.witness)})" if verdict.witness else "")
    text += f"; series {verdict.witness}"
    instants = _odd_instants(panel, verdict.witness)
    if len(instants) == 0:
        return text
    data_file = next(name for name in certificate.files if name.startswith("data."))
    first = int(instants[0])
    return (
        f"{text} is alone at {len(instants)} instant(s), the first is instant {first} "
        f"({data_file} row {verdict.witness * panel.n_instants + first}; all counted from 0)"
    )


def _positions(witness: dict[str, Any] | None) -> str:
    return ", ".join(f"{key} {value}" for key, value in (witness or {}).items())


def _odd_instants(panel: Panel, row: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The instants at which a series differs from the series most like it."""
    bits = panel.values.view(np.uint64).reshape(panel.n_series, panel.n_instants, -1)
    differs = (bits != bits[row]).any(axis=2)
    distance = differs.sum(axis=1)
    distance[row] = panel.n_instants + 1
    return np.flatnonzero(differs[int(distance.argmin())])
