"""Check a release from its folder alone."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import date
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.contract import Engine
from shoal.engines.local import Local
from shoal.engines.store import count_repeated, run_on
from shoal.errors import ReleaseError
from shoal.guarantees import NoGuarantee, build_guarantee
from shoal.model import Envelopes, EventTables, Panel, Profiles, Published, Verdict
from shoal.model.verdict import Outcome
from shoal.release.certificate import (
    AGREEMENT_FILE,
    FILE_NAME,
    GROUP_FORMS,
    Certificate,
    FilePart,
    GuaranteePart,
    read_certificate,
)
from shoal.release.claims import (
    column_findings,
    count_findings,
    measured_findings,
    name_findings,
    pseudonym_findings,
    pseudonym_notes,
    range_findings,
    time_findings,
    told_apart,
    unchecked_parts,
)
from shoal.release.file_findings import digest_findings, file_findings, metadata_findings
from shoal.release.files import NotAPanelError, find_data
from shoal.release.form import Form
from shoal.release.forms import form_named
from shoal.release.lint import RULES, file_metadata, identifiers
from shoal.release.opened import parts_of
from shoal.release.publishers_word import contradictions, stands_without_check, word_of
from shoal.release.shapes import shape_findings
from shoal.release.signature import signature_findings, signature_notes
from shoal.release.stream_folder import look_at_stream, stream_notes

_MOST_NAMED = 3
"""Number of parts whose findings are listed."""


@dataclass(frozen=True)
class Verification:
    """What a recipient finds in a release folder.

    Parameters
    ----------
    findings
        What is wrong, with positions counted from 0.
    verdicts
        The name and verdict of each guarantee checked here, in the order of the certificate; if several have one name,
        with the parameters in which they differ. If subjects have several series, a promise about subjects is not
        judged, and the figure measured is of series.
    notes
        What is the publisher's word, because it cannot be checked from the folder.
    not_judged
        What this folder does not let anyone judge, mostly names of guarantees.
    unchecked
        Parts of release.json, and files, whose statements nothing in the folder confirms or refutes: they are as the
        publisher sealed them, no more.
    """

    findings: tuple[str, ...]
    verdicts: tuple[tuple[str, Verdict], ...]
    notes: tuple[str, ...]
    not_judged: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """ "does not hold" if something is wrong, "not judged" if a promise cannot be checked from the folder."""
        if self.findings:
            return "does not hold"
        return "not judged" if self.not_judged else "holds"

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong and every promise was judged here. True in an `if` exactly then."""
        return self.outcome == "holds"

    @property
    def words(self) -> str:
        """The outcome in one line: what is not judged is never said to hold."""
        if self.outcome != "not judged":
            return "DOES NOT HOLD" if self.findings else "holds"
        rest = "the rest holds" if any(verdict.holds for _, verdict in self.verdicts) else "the files are intact"
        return f"NOT JUDGED: {', '.join(self.not_judged)}; {rest}"

    def __bool__(self) -> bool:
        return self.holds


def verify(
    folder: str | Path,
    *,
    today: date | None = None,
    engine: Engine | None = None,
    processes: int = 1,
    key: str | Path | None = None,
) -> Verification:
    """Check hashes, then guarantees, on the published files alone.

    Raises ReleaseError if there is no readable release; everything else that is wrong is a finding.

    Parameters
    ----------
    folder
        The release, or a folder of releases that belong together: those of a growing panel.
    today
        The date for judging an agreement; by default today. An expired one is noted: the data is unchanged, but should
        have been deleted.
    engine
        Where a release in parts is checked, part by part; by default on this machine.
    processes
        How many parts are checked at once without an engine.
    key
        The publisher's public key, in PEM: the certificate must be signed with it.
    """
    from shoal.release.sequence import releases_in, verify_sequence

    if releases_in(Path(folder)):
        return verify_sequence(folder, today=today, key=key)
    return examine(Path(folder), today=today, engine=engine, processes=processes, key=key)[0]


def examine(
    path: Path,
    *,
    today: date | None = None,
    engine: Engine | None = None,
    processes: int = 1,
    key: str | Path | None = None,
    lint_follows: bool = False,
) -> tuple[Verification, Published | EventTables | None]:
    """Like `verify`, but also gives the published data, if it can be read and is in one part.

    `lint_follows`: names, and what files carry besides their rows, are left to the lint, which a publisher may
    overrule.
    """
    if not (path / FILE_NAME).is_file():
        raise ReleaseError(f"{str(path)!r} is not a release: it has no {FILE_NAME}.")
    certificate = read_certificate(path)
    if certificate is None:
        finding = f"{FILE_NAME} was changed after the release: its content and its seal do not agree"
        return Verification(findings=(finding,), verdicts=(), notes=()), None
    if certificate.stream is not None:
        return _verified_stream(path, certificate, key), None
    findings = [*file_findings(path, certificate), *pseudonym_findings(certificate)]
    findings += signature_findings(certificate, key)
    parts = parts_of(certificate)
    published: Published | EventTables | None = None
    if len(parts) == 1:
        seen, published = _look_at(path, parts[0], lint_follows)
        looked = [seen]
    else:
        with Local(processes=processes) if engine is None else nullcontext(engine) as used:
            bare = certificate.model_copy(update={"files": {}})
            looked = run_on(used, [part.files for part in parts], partial(_see, path, bare, lint_follows))
            findings += _over_all(used, path, certificate, parts, looked)
    outcome = _concluded(certificate, findings, looked, today or date.today())
    return replace(outcome, notes=(*outcome.notes, *([] if findings else signature_notes(certificate, key)))), published


def _verified_stream(path: Path, certificate: Certificate, key: str | Path | None) -> Verification:
    """A folder of snapshots that were published one by one."""
    stream, certificate = look_at_stream(path, certificate)
    findings, verdicts = (*stream.findings, *signature_findings(certificate, key)), stream.verdicts
    if not findings and not verdicts and certificate.counts.snapshots:
        findings = (f"{FILE_NAME} names no guarantee that can be checked from here",)
    not_judged = stream.not_judged if verdicts else (*stream.not_judged, "anything, as no event is published yet")
    return Verification(findings, verdicts, stream_notes(certificate), not_judged, unchecked_parts(certificate))


@dataclass(frozen=True)
class Seen:
    """What one part of a release shows: findings in it, counts, and a verdict on each promise that anyone can check."""

    findings: tuple[str, ...]
    totals: PublishedCounts | None = None
    verdicts: tuple[Verdict | None, ...] = ()
    sizes: Mapping[str, int] | None = None
    frame: str = ""
    """A digest of instants, channels and types: the same in all parts."""


@dataclass(frozen=True)
class PublishedCounts:
    """Counts of what is published, of one part or of all."""

    n_series: int
    n_instants: int
    n_missing: int
    n_members: int

    @property
    def n_groups(self) -> int:
        """Number of profiles."""
        return self.n_series

    @property
    def counts(self) -> NDArray[np.int64]:
        """The subjects of all profiles, as one number."""
        return np.array([self.n_members])

    def __add__(self, other: PublishedCounts) -> PublishedCounts:
        return PublishedCounts(
            self.n_series + other.n_series,
            self.n_instants,
            self.n_missing + other.n_missing,
            self.n_members + other.n_members,
        )


def _see(path: Path, bare: Certificate, lint_follows: bool, number: int, files: dict[str, FilePart]) -> Seen:
    """Examine one of several parts; its findings name the part."""
    seen, _ = _look_at(path, bare.model_copy(update={"files": files}), lint_follows)
    name = find_data(Path(), files).name
    named = tuple(found if name in found else f"{name}: {found}" for found in seen.findings)
    return replace(seen, findings=named)


def _look_at(path: Path, certificate: Certificate, lint_follows: bool) -> tuple[Seen, Published | EventTables | None]:
    """Digests, what files carry besides their rows, and everything that can be judged from one part alone."""
    form = form_named(certificate.form)
    tables = [name for name in certificate.files if name.endswith((".csv", ".parquet"))]
    findings = digest_findings(path, certificate, tables)
    if not lint_follows and file_metadata.NAME not in certificate.accepted:
        findings += metadata_findings(path, certificate)
    try:
        published = form.read(path, certificate)
    except NotAPanelError as error:
        return Seen((*findings, str(error))), None
    findings += [*time_findings(published, certificate), *column_findings(form, published, certificate)]
    findings += [*count_findings(certificate, published), *range_findings(published)]
    if not lint_follows and identifiers.NAME not in certificate.accepted:
        findings += name_findings(published)
    if isinstance(published, EventTables):
        findings += form.findings(published, certificate)
    if isinstance(published, Panel):
        findings += shape_findings(path, certificate.files, published)
    verdicts: list[Verdict | None] = []
    for part, name in told_apart(certificate):
        guarantee = build_guarantee(part.name, part.parameters)
        # The definition says who can check it; the certificate is only asked for what it claims.
        if guarantee.needs_originals:
            verdicts.append(None)
            findings += contradictions(part, guarantee, certificate, published)
            continue
        verdict = guarantee.check(published)
        verdicts.append(verdict)
        if not verdict.holds:
            findings.append(_describe(name, verdict, published, certificate, form))
    sizes = form.sizes(published, certificate)
    return Seen(tuple(findings), _totals(published), tuple(verdicts), sizes, _frame_of(published)), published


def _totals(published: Published | EventTables) -> PublishedCounts | None:
    if isinstance(published, EventTables):
        return None
    members = int(published.counts.sum()) if isinstance(published, Profiles) else 0
    return PublishedCounts(len(published), published.n_instants, getattr(published, "n_missing", 0), members)


def _frame_of(published: Published | EventTables) -> str:
    """A digest of what must be the same in all parts: instants themselves would be more than their counts."""
    if isinstance(published, EventTables):
        return ""
    columns = (getattr(published, "channels", ()), getattr(published, "bands", ()))
    clocks = [published.times, *([published.pattern_times] if isinstance(published, Envelopes) else [])]
    kinds = [(clock.dtype.str, clock.shape) for clock in map(np.asarray, clocks)]
    described = repr((kinds, published.timezone, *columns, getattr(published, "word_instants", None))).encode()
    return hashlib.sha256(b"".join(np.asarray(clock).tobytes() for clock in clocks) + described).hexdigest()


def _over_all(
    engine: Engine, path: Path, certificate: Certificate, parts: Sequence[Certificate], looked: Sequence[Seen]
) -> list[str]:
    """What no part shows by itself: names that occur twice, and instants that differ."""
    findings = []
    if len({seen.frame for seen in looked if seen.totals is not None}) > 1:
        findings.append("the parts do not have the same instants and columns")
    if all(seen.totals is not None for seen in looked):
        key = "group" if certificate.form in GROUP_FORMS else "id"
        if n := count_repeated(engine, partial(_names_in, path, key), [find_data(Path(), p.files).name for p in parts]):
            findings.append(f"{n} name(s) occur in more than one part: parts must hold different people")
    return findings


def _names_in(path: Path, key: str, number: int, name: str) -> list[str]:
    """The different names in the data of a part."""
    if name.endswith(".csv"):
        column = pl.read_csv(path / name, columns=[key], infer_schema=False, glob=False)[key]
    else:
        # From the dictionary: a name occurs in as many rows as there are instants.
        codes = pq.read_table(path / name, columns=[key], partitioning=None, read_dictionary=[key])[key]
        column = pl.Series(pl.from_arrow(codes.unique()))
    return list(column.unique().cast(pl.String))


def _concluded(certificate: Certificate, findings: list[str], looked: Sequence[Seen], today: date) -> Verification:
    """The conclusion from all parts, compared with what the certificate says."""
    wrong = [seen for seen in looked if seen.findings]
    findings += [found for seen in wrong[:_MOST_NAMED] for found in seen.findings]
    if wrong[_MOST_NAMED:]:
        findings.append(f"{len(wrong) - _MOST_NAMED} more part(s) are wrong")
    verdicts: list[tuple[str, Verdict]] = []
    not_judged: list[str] = []
    notes = [*pseudonym_notes(certificate), *_agreement_notes(certificate, today)]
    readable = all(seen.verdicts or not certificate.guarantees for seen in looked)
    if readable:
        form, counts = form_named(certificate.form), certificate.counts
        if looked[0].totals is not None:
            whole: Any = reduce(PublishedCounts.__add__, [seen.totals for seen in looked if seen.totals is not None])
            findings += form.findings(whole, certificate)
        resting = False
        for at, (part, name) in enumerate(told_apart(certificate)):
            guarantee = build_guarantee(part.name, part.parameters)
            if not part.verdict.holds:
                findings.append(f"{FILE_NAME} itself says that {name} does not hold")
            if part.statement != guarantee.statement or (part.checked_by == "publisher") != guarantee.needs_originals:
                findings.append(f"{FILE_NAME} does not state what {name} with its parameters promises")
            if guarantee.needs_originals:
                is_named = part.name != NoGuarantee.name  # which is "none"
                not_judged.append(name if is_named else "what attacks achieve, as no guarantee is promised")
                notes.append(word_of(part, guarantee, name))
                resting = resting or stands_without_check(guarantee)
                continue
            verdict = guarantee.merge([found for seen in looked if (found := seen.verdicts[at]) is not None])
            if verdict.holds:
                # Of two things required, a verdict that does not hold names the one that is missing.
                if part.verdict.required != verdict.required:
                    findings.append(f"{FILE_NAME} says that {name} requires something else than it does")
                unseen = counts_unseen_subjects(part, certificate)
                # A release does not show what its sequence promised together with others; and the crowd of a shard may
                # be larger among all shards of a part.
                exact = not unseen and not guarantee.of_sequence and "shards" not in certificate.method.figures
                findings += measured_findings(part, verdict, name, exact=exact)
                if unseen:
                    verdict = in_series(verdict)
                    not_judged.append(f"{name} in subjects")
            verdicts.append((name, verdict))
        findings += _size_findings(certificate, looked) if not findings else []
        if not verdicts and not resting:
            findings.append(f"{FILE_NAME} names no guarantee that can be checked from here")
        if unknown := sum(name not in RULES for name in certificate.accepted):
            findings.append(f"{FILE_NAME} names {unknown} accepted finding(s) that no lint has")
        elif certificate.accepted:
            notes.append(f"the publisher accepted what the lint found: {', '.join(certificate.accepted)}")
        if any(counts_unseen_subjects(part, certificate) for part in certificate.guarantees):
            notes.append(
                f"{counts.series} series belong to {counts.subjects} subjects, and the folder does not say which "
                "belong together: that crowds are as large in subjects is the publisher's word"
            )
        if counts.subjects < counts.series and any(
            part.parameters.get("per") == "series" for part in certificate.guarantees
        ):
            notes.append("the promise counts series, and subjects have several: a crowd may belong to one subject")
    unchecked = unchecked_parts(certificate)
    return Verification(tuple(findings), tuple(verdicts), tuple(notes), tuple(dict.fromkeys(not_judged)), unchecked)


def _size_findings(certificate: Certificate, looked: Sequence[Seen]) -> list[str]:
    """Groups that differ from the certificate's counts. If a guarantee fails, different sizes are expected."""
    if any(seen.sizes is None for seen in looked):
        return []
    sizes: Counter[str] = Counter()
    for seen in looked:
        sizes.update(seen.sizes or {})
    counted = certificate.counts
    if dict(sizes) != counted.group_sizes:
        return [f"the groups in the data do not match the counts in {FILE_NAME}"]
    summed = (sum(sizes.values()), min(map(int, sizes)), max(map(int, sizes))) if sizes else None
    if summed and (counted.groups, counted.smallest_group, counted.largest_group) != summed:
        return [f"{FILE_NAME} does not sum up its own group sizes correctly"]
    return []


def counts_unseen_subjects(part: GuaranteePart, certificate: Certificate) -> bool:
    """Whether a promise is about subjects that the folder does not show: its rows are series, and some have several."""
    counts = certificate.counts
    return (
        counts.subjects < counts.series
        and certificate.form not in GROUP_FORMS  # these are published with their number of subjects
        and part.parameters.get("per") != "series"
    )


def in_series(verdict: Verdict) -> Verdict:
    """The verdict on subjects if only series were counted: there is none."""
    note = f"subjects cannot be distinguished here; counted in series it {verdict.words}"
    return replace(verdict, outcome="not judged", note=note)


def _agreement_notes(certificate: Certificate, today: date) -> list[str]:
    if certificate.agreement is None:
        return []
    expires = certificate.agreement.expires
    if today <= expires:
        return [f"for one recipient, under the agreement in {AGREEMENT_FILE}, until {expires}"]
    return [f"the agreement in {AGREEMENT_FILE} EXPIRED on {expires}: stop using the data and delete it"]


def _describe(
    name: str, verdict: Verdict, published: Published | EventTables, certificate: Certificate, form: Form[Any, Any]
) -> str:
    text = f"{name} {verdict.words}"
    if isinstance(verdict.witness, int):
        data_file = find_data(Path(), certificate.files).name
        return f"{text}; {form.describe(published, verdict.witness, data_file)}"
    return text + (f" (witness: {positions(verdict.witness)})" if verdict.witness else "")


def positions(witness: dict[str, Any] | None) -> str:
    """A witness of several positions in words."""
    return ", ".join(f"{key} {value}" for key, value in (witness or {}).items())
