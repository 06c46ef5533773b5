"""Reading and verifying a folder of streamed snapshots, on the published files alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from shoal.errors import InputError, ReleaseError
from shoal.guarantees import build_guarantee
from shoal.methods.event_parts import concat
from shoal.model import EventTables, Guarantee, Verdict
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.release.certificate import FILE_NAME, Certificate, digest_file, read_certificate
from shoal.release.claims import measured_findings, told_apart
from shoal.release.events import EventsForm, read_table
from shoal.release.file_findings import digest_findings, require_files
from shoal.release.files import NotAPanelError, files_in, unreadable
from shoal.release.lint.file_metadata import beside_rows
from shoal.release.stream_index import INDEX_FILE, Account, SnapshotLine, read_lines
from shoal.streams.output import SUMMARY

_MOST_NAMED = 3
_TRIES = 5
"""A running stream may publish while its folder is being read."""


def read_stream(folder: Path, certificate: Certificate) -> EventTables:
    """All snapshots of a stream in memory."""
    form = EventsForm()
    tables = [read_snapshot(folder, line, certificate) for line in _lines(folder) if line.events]
    if not tables:
        raise ReleaseError(f"No event is published in {str(folder)!r} yet.")
    return form.renamed(concat(tables), [])


def read_snapshot(folder: Path, line: SnapshotLine, certificate: Certificate) -> EventTables:
    """The tables of one snapshot, with the types the certificate names."""
    said = certificate.columns.events
    if said is None:
        raise ReleaseError(f"{FILE_NAME} does not say how events were published.")
    complete = (TIME, GROUP, said.sensitive, COUNT)
    columns = {"data": [TIME, GROUP, *said.quasi], "sensitive": [TIME, GROUP, said.sensitive, COUNT]}
    if said.publish == "generalised":
        columns = {"data": list(said.types)}
    found = {}
    for name in line.files:
        wanted = columns.get(name.partition("-")[0])
        if wanted is None or any(column not in said.types for column in wanted):
            raise unreadable(folder / name)
        types = {column: said.types[column] for column in wanted}
        found[name.partition("-")[0]] = read_table(folder / name, types, complete, most_rows=line.events)
    if found.keys() != columns.keys():
        raise ReleaseError(f"{INDEX_FILE} does not name every file of snapshot {line.number}.")
    try:
        return EventTables(found["data"], found.get("sensitive"), said.quasi, said.sensitive)
    except InputError:
        raise unreadable(folder / next(iter(line.files))) from None


def _lines(folder: Path) -> list[SnapshotLine]:
    try:
        return list(read_lines((folder / INDEX_FILE).read_bytes()))
    except ValueError:
        raise ReleaseError(f"{INDEX_FILE} cannot be read: it is not as Shoal writes it.") from None


class StreamFindings:
    """What is wrong in a stream folder, and what its snapshots keep."""

    def __init__(self, folder: Path, certificate: Certificate) -> None:
        self._folder, self._certificate = folder, certificate
        self.guarantees: list[Guarantee] = [build_guarantee(p.name, p.parameters) for p in certificate.guarantees]
        self._names = [name for _, name in told_apart(certificate)]
        self._verdicts: list[list[Verdict]] = [[] for _ in self.guarantees]
        self.findings: list[str] = []
        self._n_wrong = 0
        self._account = Account()
        self._kind: str = "int64"
        self._timezone: str | None = None
        self._look()

    @property
    def verdicts(self) -> tuple[tuple[str, Verdict], ...]:
        """The verdict on each promise that anyone can check, over all snapshots."""
        pairs = zip(self.guarantees, self._verdicts, strict=True)
        return tuple((name, g.merge(found)) for name, (g, found) in zip(self._names, pairs, strict=True) if found)

    @property
    def not_judged(self) -> tuple[str, ...]:
        """Promises that only the publisher can check."""
        return tuple(name for name, g in zip(self._names, self.guarantees, strict=True) if g.needs_originals)

    def _look(self) -> None:
        certificate, folder = self._certificate, self._folder
        said = certificate.stream
        assert said is not None
        require_files(folder, certificate)
        if certificate.files.keys() != {INDEX_FILE, SUMMARY}:
            self.findings.append(f"{FILE_NAME} names other files than a stream has")
        self.findings += digest_findings(folder, certificate, certificate.files)
        try:
            lines = _lines(folder)
        except ReleaseError as error:
            self.findings.append(str(error).rstrip("."))
            return
        if [line.number for line in lines] != list(range(said.first, said.first + said.snapshots)):
            self.findings.append(
                f"{INDEX_FILE} does not have the {said.snapshots} snapshots from number {said.first} on that "
                f"{FILE_NAME} counts, each once"
            )
        self._account.first_number = said.first
        self._look_at_names(lines)
        for line in lines:
            wrong = list(self._look_at(line))
            if wrong and self._n_wrong < _MOST_NAMED:
                self.findings += wrong
            self._n_wrong += bool(wrong)
        if self._n_wrong > _MOST_NAMED:
            self.findings.append(f"{self._n_wrong - _MOST_NAMED} more snapshot(s) are wrong")
        if not self.findings:
            self._compare()

    def _look_at_names(self, lines: Sequence[SnapshotLine]) -> None:
        """Files that exist but are not counted, or belong to no snapshot."""
        said = self._certificate.columns.events
        tables = ["data"] if said is not None and said.publish == "generalised" else ["data", "sensitive"]
        odd = 0
        for line in lines:
            named = {f"{table}-{line.number:08d}.{kind}" for table in tables for kind in ("parquet", "csv")}
            odd += len(line.files) != len(tables) or not set(line.files) <= named
        if odd:
            self.findings.append(f"{INDEX_FILE} names {odd} time(s) other files than a snapshot has")
        counted = {name for line in lines for name in line.files}
        if extra := len(files_in(self._folder) - {FILE_NAME, *self._certificate.files, *counted}):
            self.findings.append(f"the folder holds {extra} file(s) that {FILE_NAME} does not account for")

    def _look_at(self, line: SnapshotLine) -> Iterator[str]:
        """What is wrong with one snapshot."""
        for name, part in line.files.items():
            path = self._folder / name
            if path.is_symlink() or not path.is_file():
                yield f"{name} is missing or not a plain file"
                return
            if digest_file(path) != part:
                yield f"{name} was changed after it was published: its SHA-256 is not the one in {INDEX_FILE}"
            if path.suffix == ".parquet":
                # An unreadable table is reported where it is read.
                with suppress(OSError, ValueError, pa.ArrowException):
                    yield from (f"{name} {found}" for found in beside_rows(path))
        try:
            tables = read_snapshot(self._folder, line, self._certificate)
        except (NotAPanelError, ReleaseError) as error:
            yield f"snapshot {line.number}: {str(error).rstrip('.')}"
            return
        if tables.n_events:
            for name, guarantee, verdicts in zip(self._names, self.guarantees, self._verdicts, strict=True):
                if guarantee.needs_originals:
                    continue
                verdict = guarantee.check(tables)
                verdicts.append(verdict)
                if not verdict.holds:
                    yield f"snapshot {line.number}: {name} {verdict.words}"
        yield from self._compare_line(line, tables)

    def _compare_line(self, line: SnapshotLine, tables: EventTables) -> Iterator[str]:
        if tables.n_events and tables.n_snapshots != 1:
            yield f"snapshot {line.number} has events of several times"
            return
        shown = SnapshotLine.of(line.number, tables, line.files)
        if shown != line:
            yield f"snapshot {line.number} does not match the counts in {INDEX_FILE}"
        form = EventsForm()
        ordered = form.renamed(tables, [])
        if not tables.records.equals(ordered.records) or (
            tables.counts is not None and ordered.counts is not None and not tables.counts.equals(ordered.counts)
        ):
            yield f"the rows of snapshot {line.number} are not sorted: their order might reveal when events arrived"
        said = self._certificate.columns
        if form.columns(tables, said.withheld) != said:
            yield f"snapshot {line.number} has other columns than {FILE_NAME} says"
        if shown.time is not None and self._account.last is not None and shown.time <= self._account.last:
            yield f"snapshot {line.number} is not later than the one before"
        self._account.add(shown)
        if tables.n_events:
            self._kind, self._timezone = tables.times.dtype.str, tables.timezone

    def _compare(self) -> None:
        """What the certificate sums up, compared with the sums over the snapshots."""
        certificate, account = self._certificate, self._account
        suppressed = certificate.counts.suppressed or 0
        figures = certificate.method.figures
        said = {"events": account.events + suppressed, "published": account.events, "suppressed": suppressed}
        wrong = any(figures.get(name, count) != count for name, count in said.items())
        if account.counts(suppressed) != certificate.counts or suppressed < 0 or wrong:
            self.findings.append(f"{FILE_NAME} counts other events, snapshots or groups than the folder has")
        if account.n_with_events and account.time(self._kind, self._timezone) != certificate.time:
            self.findings.append(
                f"{FILE_NAME} states other instants, another step or another time zone than the data has"
            )
        checked = zip(told_apart(certificate), self.guarantees, self._verdicts, strict=True)
        for (part, name), guarantee, found in checked:
            if part.statement != guarantee.statement or (part.checked_by == "publisher") != guarantee.needs_originals:
                self.findings.append(f"{FILE_NAME} does not state what {name} with its parameters promises")
            if found:
                merged = guarantee.merge(found)
                self.findings += measured_findings(part, merged, name, exact=True)
                if not part.verdict.holds or part.verdict.required != merged.required:
                    self.findings.append(f"{FILE_NAME} says something else about {name} than the data shows")


def look_at_stream(folder: Path, certificate: Certificate) -> tuple[StreamFindings, Certificate]:
    """What is wrong in the folder of a stream; examined again if the stream published meanwhile."""
    for _ in range(_TRIES):
        findings = StreamFindings(folder, certificate)
        now = read_certificate(folder)
        if not findings.findings or now is None or now.seal == certificate.seal:
            break
        certificate = now
    return findings, certificate


def stream_notes(certificate: Certificate) -> tuple[str, ...]:
    """What a reader should know about a stream."""
    assert certificate.stream is not None
    notes = []
    if not certificate.stream.finished:
        notes.append(f"the stream is not finished: this covers its first {certificate.counts.snapshots} snapshots")
    if certificate.stream.first > 1:
        notes.append(f"snapshots before number {certificate.stream.first} are not in this folder")
    return tuple(notes)
