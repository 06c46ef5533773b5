"""Check a release from its folder alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import ReleaseError
from shoal.guarantees import NoGuarantee, build_guarantee
from shoal.model import EventTables, Guarantee, Published, Verdict
from shoal.model.verdict import Outcome
from shoal.release.certificate import AGREEMENT_FILE, FILE_NAME, Certificate, GuaranteePart, read_certificate
from shoal.release.claims import column_findings, count_findings, name_findings, pseudonym_notes, time_findings
from shoal.release.file_findings import file_findings, metadata_findings, part_findings
from shoal.release.files import NotAPanelError, find_data
from shoal.release.form import Form
from shoal.release.forms import form_named
from shoal.release.lint import file_metadata, identifiers
from shoal.release.lint.linting import RULES
from shoal.release.parts_names import parts_of
from shoal.release.publishers_word import contradictions, stands_without_check, word_of

if TYPE_CHECKING:  # on an engine only where a release is in parts
    from shoal.engines.blocks import BlockPublished
    from shoal.engines.contract import Engine
    from shoal.release.parts_form import PartsForm


@dataclass(frozen=True)
class Verification:
    """What a recipient finds in a release folder.

    Parameters
    ----------
    findings
        What is wrong, with positions counted from 0.
    verdicts
        The name and verdict of each guarantee checked here, in the order of the certificate. Where subjects have
        several series, a promise about subjects is not judged, and the figure measured is of series.
    notes
        What is the publisher's word, because it cannot be checked from the folder.
    not_judged
        What this folder does not let anyone judge, mostly names of guarantees.
    """

    findings: tuple[str, ...]
    verdicts: tuple[tuple[str, Verdict], ...]
    notes: tuple[str, ...]
    not_judged: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """ "does not hold" where something is wrong, "not judged" where a promise cannot be checked from the folder."""
        if self.findings:
            return "does not hold"
        return "not judged" if self.not_judged else "holds"

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong and every promise was judged here. True in an `if` exactly then."""
        return self.outcome == "holds"

    @property
    def words(self) -> str:
        """The outcome in a line: what is not judged is never said to hold."""
        if self.outcome != "not judged":
            return "DOES NOT HOLD" if self.findings else "holds"
        rest = "the rest holds" if any(verdict.holds for _, verdict in self.verdicts) else "the files are intact"
        return f"NOT JUDGED: {', '.join(self.not_judged)}; {rest}"

    def __bool__(self) -> bool:
        return self.holds


def verify(folder: str | Path, *, today: date | None = None, engine: Engine | None = None) -> Verification:
    """Check hashes, then guarantees, on the published files alone.

    Raises ReleaseError where there is no readable release; everything else that is wrong is a finding.

    Parameters
    ----------
    folder
        The release, or a folder of releases that belong together: those of a growing panel.
    today
        The day for which an agreement is judged; by default that of the clock. An expired one is noted: the data is
        what it was, and should have been deleted.
    engine
        Where a release in parts is checked; by default on this machine, in blocks.
    """
    from shoal.release.sequence import releases_in, verify_sequence

    if releases_in(Path(folder)):
        return verify_sequence(folder, today=today)
    return examine(Path(folder), today=today, engine=engine)[0]


def examine(
    path: Path, *, today: date | None = None, engine: Engine | None = None, lint_follows: bool = False
) -> tuple[Verification, Published | EventTables | BlockPublished | None]:
    """The same, and what is published, if it can be read; of parts only where the engine is given, and stays open.

    `lint_follows`: names, and what files carry beside their rows, are left to the lint, which a publisher may overrule.
    """
    if not (path / FILE_NAME).is_file():
        raise ReleaseError(f"{str(path)!r} is not a release: it has no {FILE_NAME}.")
    certificate = read_certificate(path)
    if certificate is None:
        finding = f"{FILE_NAME} was changed after the release: its content and its seal do not agree"
        return Verification(findings=(finding,), verdicts=(), notes=()), None
    if not parts_of(certificate.files):
        return _examine(path, certificate, form_named(certificate.form), today, lint_follows)
    from shoal.engines.local import Local
    from shoal.release.parts_form import PartsForm

    if engine is not None:
        return _examine(path, certificate, PartsForm(engine), today, lint_follows)
    with Local() as own:
        return _examine(path, certificate, PartsForm(own), today, lint_follows)[0], None


def _examine(
    path: Path, certificate: Certificate, form: Form | PartsForm, today: date | None, lint_follows: bool
) -> tuple[Verification, Published | EventTables | BlockPublished | None]:
    engine = getattr(form, "engine", None)
    findings = file_findings(path, certificate) if engine is None else part_findings(path, certificate, engine)
    verdicts: list[tuple[str, Verdict]] = []
    if not lint_follows and file_metadata.NAME not in certificate.accepted:
        findings += metadata_findings(path, certificate)
    not_judged: list[str] = []
    notes = [*pseudonym_notes(certificate), *_agreement_notes(certificate, today or date.today())]
    published: Published | EventTables | BlockPublished | None = None
    try:
        published = form.read(path, certificate)
    except NotAPanelError as error:
        findings.append(str(error))
    else:
        findings += form.findings(published, certificate)
        findings += [*time_findings(published, certificate), *column_findings(form, published, certificate)]
        findings += count_findings(certificate)
        if not lint_follows and identifiers.NAME not in certificate.accepted:
            findings += name_findings(published)
        resting = False
        for part in certificate.guarantees:
            guarantee = build_guarantee(part.name, part.parameters)
            if not part.verdict.holds:
                findings.append(f"{FILE_NAME} itself says that {part.name} does not hold")
            if part.statement != guarantee.statement or (part.checked_by == "publisher") != guarantee.needs_originals:
                findings.append(f"{FILE_NAME} does not state what {part.name} with its parameters promises")
            # The definition says who can check it; the certificate is only asked for what it claims.
            if guarantee.needs_originals:
                is_named = part.name != NoGuarantee.name  # which is "none"
                not_judged.append(part.name if is_named else "what attacks achieve, as no guarantee is promised")
                notes.append(word_of(part, guarantee))
                findings += contradictions(part, guarantee, certificate, published)
                resting = resting or stands_without_check(guarantee)
                continue
            verdict = _check(guarantee, published)
            if part.verdict.required != verdict.required:
                findings.append(f"{FILE_NAME} says that {part.name} requires something else than it does")
            if not verdict.holds:
                findings.append(_describe(part.name, verdict, published, certificate, form))
            elif counts_unseen_subjects(part, certificate):
                verdict = in_series(verdict)
                not_judged.append(f"{part.name} in subjects")
            verdicts.append((part.name, verdict))
        sizes = form.sizes(published, certificate)
        if not findings and sizes is not None and sizes != certificate.counts.group_sizes:
            # Where a guarantee fails, other sizes are no news.
            findings.append(f"the groups in the data are not those that {FILE_NAME} counts")
        counted = certificate.counts
        if (
            not findings
            and sizes
            and (counted.groups, counted.smallest_group, counted.largest_group)
            != (
                sum(sizes.values()),
                min(map(int, sizes)),
                max(map(int, sizes)),
            )
        ):
            findings.append(f"{FILE_NAME} does not sum up its own group sizes rightly")
        if not verdicts and not resting:
            findings.append(f"{FILE_NAME} names no guarantee that can be checked from here")
        if unknown := sum(name not in RULES for name in certificate.accepted):
            findings.append(f"{FILE_NAME} names {unknown} accepted finding(s) that no lint has")
        elif certificate.accepted:
            notes.append(f"the publisher accepted what the lint found: {', '.join(certificate.accepted)}")
        if any(counts_unseen_subjects(part, certificate) for part in certificate.guarantees):
            notes.append(
                f"{certificate.counts.series} series are of {certificate.counts.subjects} subjects, and the folder "
                "does not say which belong together: that crowds are as large in subjects is the publisher's word"
            )
        if certificate.counts.subjects < certificate.counts.series and any(
            part.parameters.get("per") == "series" for part in certificate.guarantees
        ):
            notes.append("the promise counts series, of which subjects have several: a crowd may be one subject's")
    outcome = Verification(tuple(findings), tuple(verdicts), tuple(notes), tuple(not_judged))
    return outcome, published


def counts_unseen_subjects(part: GuaranteePart, certificate: Certificate) -> bool:
    """Whether a promise is about subjects whom the folder does not show: its rows are series, and of some several."""
    counts = certificate.counts
    return (
        counts.subjects < counts.series
        and certificate.form != "profiles"  # these are published with their number of subjects
        and part.parameters.get("per") != "series"
    )


def in_series(verdict: Verdict) -> Verdict:
    """The verdict on subjects where only series were counted: there is none."""
    note = f"subjects cannot be told apart here; counted in series it {verdict.words}"
    return replace(verdict, outcome="not judged", note=note)


def _check(guarantee: Guarantee, published: Published | EventTables | BlockPublished) -> Verdict:
    """In memory, or where the blocks are."""
    if isinstance(published, Published | EventTables):
        return guarantee.check(published)
    from shoal.engines.checks import check

    return check(guarantee, published)


def _agreement_notes(certificate: Certificate, today: date) -> list[str]:
    if certificate.agreement is None:
        return []
    expires = certificate.agreement.expires
    if today <= expires:
        return [f"for one recipient, under the agreement in {AGREEMENT_FILE}, until {expires}"]
    return [f"the agreement in {AGREEMENT_FILE} EXPIRED on {expires}: the data must not be used any more, delete it"]


def _describe(
    name: str,
    verdict: Verdict,
    published: Published | EventTables | BlockPublished,
    certificate: Certificate,
    form: Form | PartsForm,
) -> str:
    text = f"{name} {verdict.words}"
    if not isinstance(published, Published | EventTables):
        return text + (f" ({verdict.note})" if verdict.note and verdict.outcome != "not judged" else "")
    if isinstance(verdict.witness, int):
        data_file = find_data(Path(), certificate.files).name
        return f"{text}; {form.describe(published, verdict.witness, data_file)}"
    return text + (f" (witness: {positions(verdict.witness)})" if verdict.witness else "")


def positions(witness: dict[str, Any] | None) -> str:
    """A witness of several positions in words."""
    return ", ".join(f"{key} {value}" for key, value in (witness or {}).items())
