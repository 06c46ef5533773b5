"""Check a folder of releases that belong together: each of them, and all of them together."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from shoal.errors import ReleaseError
from shoal.guarantees import SequenceAnonymity
from shoal.guarantees.sequence_anonymity import Alike
from shoal.model import Panel, Verdict
from shoal.release.certificate import FILE_NAME, Certificate, read_certificate
from shoal.release.verification import Verification, examine, in_series


def releases_in(folder: Path) -> list[Path]:
    """The releases that a folder holds, by name; none if it is a release itself."""
    if not folder.is_dir() or (folder / FILE_NAME).exists():
        return []
    return sorted(p for p in folder.iterdir() if not p.name.startswith(".") and (p / FILE_NAME).is_file())


def verify_sequence(folder: str | Path, *, today: date | None = None, key: str | Path | None = None) -> Verification:
    """Check every release of a sequence, and the promise about all of them, on the published files alone.

    The verdicts are the weakest of each guarantee over all releases, and first that of the sequence. One release after
    the other is read, so that memory does not grow with their number.

    Parameters
    ----------
    folder
        The folder that holds the releases.
    today, key
        As in `verify`.
    """
    path = Path(folder)
    releases = releases_in(path)
    if not releases:
        raise ReleaseError(f"{str(folder)!r} holds no release: no folder in it has a {FILE_NAME}.")
    findings: list[str] = []
    notes: dict[str, None] = {}
    weakest: dict[str, Verdict] = {}
    not_judged: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    covered: list[tuple[str, str, str]] = []
    alike, k = Alike(), 0
    for release in releases:
        outcome, published = examine(release, today=today, key=key)
        findings += [f"{release.name}: {finding}" for finding in outcome.findings]
        notes |= dict.fromkeys(outcome.notes)
        not_judged |= dict.fromkeys(outcome.not_judged)
        unchecked |= dict.fromkeys(outcome.unchecked)
        for name, verdict in outcome.verdicts:
            if name not in weakest or _weakness(verdict) > _weakness(weakest[name]):
                weakest[name] = verdict
        certificate = read_certificate(release)
        if certificate is None or not isinstance(published, Panel):
            findings.append(
                f"{release.name}: it cannot be read as values of series, so it is not judged with the others"
            )
            continue
        promised, why_not = _promise(certificate)
        findings += [f"{release.name}: {why_not}"] if why_not else []
        k = max(k, promised)
        covered.append((certificate.time.first, certificate.time.last, release.name))
        alike = alike.and_then(published)
    findings += _overlaps(covered)
    if others := sum(p not in releases for p in path.iterdir()):
        findings.append(
            f"the folder holds {others} other file(s) or folder(s) besides the releases, including hidden ones"
        )
    verdicts = []
    if alike.n_releases and k:
        together = alike.verdict(k)
        if not together.holds:
            findings.append(_describe(together, covered))
        elif f"{SequenceAnonymity.name} in subjects" in not_judged:
            together = in_series(together)
        verdicts.append((SequenceAnonymity.name, together))
    verdicts += [(name, verdict) for name, verdict in weakest.items() if name != SequenceAnonymity.name]
    return Verification(tuple(findings), tuple(verdicts), tuple(notes), tuple(not_judged), tuple(unchecked))


def _weakness(verdict: Verdict) -> tuple[int, float]:
    """Orders verdicts on one guarantee: holds, not judged, does not hold; then the smaller figure."""
    return ("holds", "not judged", "does not hold").index(verdict.outcome), -(verdict.measured or 0)


def _promise(certificate: Certificate) -> tuple[int, str]:
    """The k that a release promises over its sequence, and why it cannot be judged as a part of one."""
    asked = [int(part.parameters["k"]) for part in certificate.guarantees if part.name == SequenceAnonymity.name]
    if not asked:
        return 0, f"it promises nothing about a sequence: {FILE_NAME} has no {SequenceAnonymity.name}"
    if certificate.pseudonyms != "keyed":
        return max(asked), "its series have names of their own, so it cannot be compared with the others"
    return max(asked), ""


def _overlaps(covered: list[tuple[str, str, str]]) -> list[str]:
    """Releases of the same instants."""
    found = []
    reach: tuple[str, str, str] | None = None  # the release so far that ends last
    for release in sorted(covered, key=lambda entry: _when(entry[0])):
        if reach is not None and _when(release[0]) <= _when(reach[1]):
            found.append(f"{reach[2]} and {release[2]} cover the same instants; what is published is never corrected")
        if reach is None or _when(release[1]) > _when(reach[1]):
            reach = release
    return found


def _when(instant: str) -> tuple[int, str]:
    """Instants in order: whole numbers by size, timestamps by the moment they name."""
    if instant.lstrip("-").isdigit():
        return int(instant), ""
    try:
        moment = datetime.fromisoformat(instant)
    except ValueError:
        return 0, instant
    # A time without an offset is UTC if others have one: earlier releases wrote it that way.
    return 0, (moment if moment.tzinfo is None else moment.astimezone(UTC)).strftime("%Y-%m-%dT%H:%M:%S.%f")


def _describe(verdict: Verdict, covered: list[tuple[str, str, str]]) -> str:
    text = f"together the releases do not hold: measured {verdict.measured}, required {verdict.required}"
    if isinstance(verdict.witness, dict):
        release = covered[verdict.witness["of release"]][2]
        text += f"; series {verdict.witness['series']} of {release} is in too small a crowd (counted from 0)"
    return text
