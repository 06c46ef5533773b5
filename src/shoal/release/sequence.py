"""Check a folder of releases that belong together: each of them, and all of them together."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

from shoal.errors import ReleaseError
from shoal.guarantees import SequenceAnonymity, SequenceNLKAnonymity, build_guarantee
from shoal.guarantees.sequence_anonymity import Alike
from shoal.model import Guarantee, Panel, Verdict
from shoal.release.certificate import FILE_NAME, Certificate, read_certificate
from shoal.release.verification import Verification, examine, in_series, names_of

SequenceGuarantee = SequenceAnonymity | SequenceNLKAnonymity


def releases_in(folder: Path) -> list[Path]:
    """The releases that a folder holds, by name; none if it is a release itself."""
    if not folder.is_dir() or (folder / FILE_NAME).exists():
        return []
    return sorted(p for p in folder.iterdir() if not p.name.startswith(".") and (p / FILE_NAME).is_file())


def verify_sequence(folder: str | Path, *, today: date | None = None, key: str | Path | None = None) -> Verification:
    """Check every release of a sequence, and the promise about all of them, on the published files alone.

    The verdicts are the weakest of each guarantee over all releases, and first that of the sequence. One release after
    the other is read, so that memory does not grow with their number; under (n, l, k)-anonymity it does, as all must be
    side by side.

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
    found: dict[str, tuple[Guarantee, list[Verdict]]] = {}
    not_judged: dict[str, None] = {}
    unchecked: dict[str, None] = {}
    covered: list[tuple[str, str, str]] = []
    alike, panels = Alike(), list[Panel]()
    promises: dict[SequenceGuarantee, None] = {}
    for release in releases:
        outcome, published = examine(release, today=today, key=key)
        findings += [f"{release.name}: {finding}" for finding in outcome.findings]
        notes |= dict.fromkeys(outcome.notes)
        not_judged |= dict.fromkeys(outcome.not_judged)
        unchecked |= dict.fromkeys(outcome.unchecked)
        certificate = read_certificate(release)
        named = [] if certificate is None else zip(names_of(certificate), certificate.guarantees, strict=True)
        for name, part in named:
            of_part = found.setdefault(name, (build_guarantee(part.name, part.parameters), []))
            of_part[1].extend(verdict for other, verdict in outcome.verdicts if other == name)
        if certificate is None or not isinstance(published, Panel):
            findings.append(
                f"{release.name}: it cannot be read as values of series, so it is not judged with the others"
            )
            continue
        promised, why_not = _promised(certificate)
        findings += [f"{release.name}: {why_not}"] if why_not else []
        promises |= dict.fromkeys(promised)
        covered.append((certificate.time.first, certificate.time.last, release.name))
        if any(not isinstance(promise, SequenceAnonymity) for promise in promised):
            panels.append(published)
        else:
            alike = alike.and_then(published)
    findings += _overlaps(covered)
    if others := sum(p not in releases for p in path.iterdir()):
        findings.append(
            f"the folder holds {others} other file(s) or folder(s) besides the releases, including hidden ones"
        )
    if panels and alike.n_releases:
        findings.append(
            "some releases promise (n, l, k)-anonymity together and others do not: a sequence has one promise"
        )
    verdicts: dict[str, Verdict] = {}
    for promise in promises:
        together = alike.verdict(promise.k) if isinstance(promise, SequenceAnonymity) else promise.check(panels)
        if not together.holds:
            findings.append(_describe(together, covered))
        elif f"{promise.name} in subjects" in not_judged:
            together = in_series(together)
        before = verdicts.get(promise.name, together)
        verdicts[promise.name] = (before, together)[promise.weakest([before, together])]
    verdicts |= {
        name: several[guarantee.weakest(several)]
        for name, (guarantee, several) in found.items()
        if several and not guarantee.of_sequence
    }
    return Verification(tuple(findings), tuple(verdicts.items()), tuple(notes), tuple(not_judged), tuple(unchecked))


def _promised(certificate: Certificate) -> tuple[list[SequenceGuarantee], str]:
    """What a release promises over its sequence, and why it cannot be judged as a part of one."""
    every = [build_guarantee(part.name, part.parameters) for part in certificate.guarantees]
    asked = [guarantee for guarantee in every if isinstance(guarantee, SequenceGuarantee)]
    if not asked:
        return [], f"it promises nothing about a sequence: {FILE_NAME} has no {SequenceAnonymity.name}"
    if certificate.pseudonyms != "keyed":
        return asked, "its series have names of their own, so it cannot be compared with the others"
    return asked, ""


def _overlaps(covered: list[tuple[str, str, str]]) -> list[str]:
    """Releases of the same instants."""
    notes = []
    reach: tuple[str, str, str] | None = None  # the release so far that ends last
    for release in sorted(covered, key=lambda entry: _when(entry[0])):
        if reach is not None and _when(release[0]) <= _when(reach[1]):
            notes.append(f"{reach[2]} and {release[2]} cover the same instants; what is published is never corrected")
        if reach is None or _when(release[1]) > _when(reach[1]):
            reach = release
    return notes


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
        release = covered[verdict.witness.get("of release", 0)][2]
        series = f"series {verdict.witness['series']} of {release}"
        text += (
            f"; {len(verdict.witness['known'])} values of {series} let too many others be inferred (counted from 0)"
            if "known" in verdict.witness
            else f"; {series} is in too small a crowd (counted from 0)"
        )
    return text
