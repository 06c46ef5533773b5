"""The gate for snapshots of a stream: no snapshot gets its name unless it checks as read back from its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.errors import GuaranteeNotMetError
from shoal.files.durable import Aside, sync, write_aside
from shoal.methods.event_parts import concat
from shoal.model import EventTables, Guarantee, Recipe, Verdict
from shoal.model.event_tables import COUNT, GROUP, TIME
from shoal.release import certificate as cert
from shoal.release.certification import certify
from shoal.release.events import EventsForm
from shoal.release.lint import settle
from shoal.release.lint.file_metadata import judge_files, notes_in
from shoal.release.stream_index import INDEX_FILE, Index, SnapshotLine, read_index
from shoal.streams.output import SUMMARY, FileFormat, summary_bytes, write_snapshot
from shoal.streams.publisher import Admitted
from shoal.streams.reposition import PublishedSnapshot

METHOD = "Events moved forward by a few snapshots and published in groups, while they arrived."


@dataclass(frozen=True)
class AdmittedSnapshots:
    """Snapshots written to a temporary place, read back and checked."""

    asides: tuple[Aside, ...]
    lines: tuple[SnapshotLine, ...]
    tables: EventTables | None
    """One of them, for its columns."""
    verdicts: tuple[Verdict, ...]
    """The verdict on all of them together, for each guarantee; none if they have no events."""


@dataclass(frozen=True)
class _Examined:
    """A snapshot as it reads, and its line in the index."""

    line: SnapshotLine
    tables: EventTables
    further: tuple[Verdict, ...]
    """What the publisher's own checks found in tables that are equal to these, bit for bit."""

    @staticmethod
    def of(
        number: int, tables: EventTables, digests: Mapping[str, cert.FilePart], further: tuple[Verdict, ...] = ()
    ) -> _Examined:
        return _Examined(SnapshotLine.of(number + 1, tables, digests), tables, further)


def _admitted(asides: Sequence[Aside], found: Sequence[_Examined], verdicts: tuple[Verdict, ...]) -> AdmittedSnapshots:
    tables = next((one.tables for one in found if one.tables.n_events), found[-1].tables if found else None)
    return AdmittedSnapshots(tuple(asides), tuple(one.line for one in found), tables, verdicts)


class StreamGate:
    """Writes snapshots to a temporary place, reads them back, checks and lints them, and keeps the certificate of the
    folder.

    Parameters
    ----------
    folder
        Where snapshots are published.
    guarantees
        What every snapshot promises. Those that need the originals come with the snapshots, judged.
    recipe
        The method with its parameters.
    file_format
        "parquet" or "csv".
    n_withheld
        Columns that were read and are not published.
    n_published
        Snapshots that the state of the stream covers.
    """

    def __init__(
        self,
        folder: Path,
        guarantees: Sequence[Guarantee],
        recipe: Recipe,
        file_format: FileFormat,
        *,
        n_withheld: int = 0,
        n_published: int = 0,
    ) -> None:
        self._folder, self._guarantees, self._recipe, self._format = folder, guarantees, recipe, file_format
        self._further = [guarantee for guarantee in guarantees if guarantee.needs_originals]
        self._n_withheld = n_withheld
        self._index = Index(folder, n_published)
        self._columns: cert.ColumnsPart | None = None
        self._kind: str = "int64"
        self._timezone: str | None = None
        self._verdicts: tuple[Verdict, ...] = ()
        # For a folder that continues, the columns from its certificate.
        if (folder / cert.FILE_NAME).is_file() and (said := cert.read_certificate(folder)) is not None:
            self._columns, self._timezone = said.columns, said.time.timezone
            # Covers everything published: what the state does not cover is published again, unchanged.
            parts = [part.verdict for part in said.guarantees]
            if all(part.holds for part in parts):
                self._verdicts = tuple(Verdict("holds", p.measured, p.required, None, p.note) for p in parts)
            self._kind = "int64" if said.time.first.lstrip("-").isdigit() else "datetime64[us]"

    @property
    def first_number(self) -> int:
        """The number of the first snapshot in the folder, from 1."""
        return self._index.account.first_number

    def admit(self, snapshots: Sequence[PublishedSnapshot]) -> AdmittedSnapshots:
        """Write snapshots to a temporary place and check what was written."""
        asides: list[Aside] = []
        examined: list[_Examined] = []
        try:
            for snapshot in snapshots:
                written = write_snapshot(self._folder, snapshot, self._format)
                asides += written.asides
                digests = {name: cert.FilePart(sha256=digest, bytes=n) for name, (digest, n) in written.digests.items()}
                self._lint([aside.path for aside in written.asides])
                examined.append(_Examined.of(snapshot.number, written.tables, digests, snapshot.further))
            verdicts = self._check(examined)
        except BaseException:
            for aside in asides:
                aside.path.unlink(missing_ok=True)
            raise
        return _admitted(asides, examined, verdicts)

    def admit_in_place(self, quasi: tuple[str, ...], sensitive: str) -> AdmittedSnapshots:
        """Check what others have written here as Parquet since the end of the index."""
        examined: list[_Examined] = []
        number = self.first_number + self._index.account.n_snapshots
        while (data := self._folder / f"data-{number:08d}.parquet").exists():
            apart = self._folder / f"sensitive-{number:08d}.parquet"
            paths = [data, apart] if apart.exists() else [data]
            records, *counts = (pl.read_parquet(path, glob=False) for path in paths)
            tables = EventTables(records, counts[0] if counts else None, quasi, sensitive)
            digests = {path.name: cert.digest_file(path) for path in paths}
            self._lint(paths)
            examined.append(_Examined.of(number - 1, tables, digests))
            number += 1
        return _admitted([], examined, self._check(examined))

    def _check(self, found: Sequence[_Examined]) -> tuple[Verdict, ...]:
        """The verdicts on snapshots as read back; one that does not keep a promise is refused with the others."""
        full = [one for one in found if one.tables.n_events]
        if not full:
            return ()
        together = concat([one.tables for one in full])
        return tuple(self._judge(guarantee, together, full) for guarantee in self._guarantees)

    def _judge(self, guarantee: Guarantee, together: EventTables, full: Sequence[_Examined]) -> Verdict:
        if guarantee.needs_originals:
            judged = [one.further[self._further.index(guarantee)] if one.further else None for one in full]
            refused = [one for one, verdict in zip(full, judged, strict=True) if verdict is None or not verdict.holds]
            if not refused:
                return guarantee.merge([verdict for verdict in judged if verdict is not None])
        else:
            verdict = guarantee.check(together)
            if verdict.holds:
                return verdict
            refused = [one for one in full if not guarantee.check(one.tables).holds]
        position = (refused or full)[0].line.number - 1
        raise GuaranteeNotMetError(
            f"The snapshot at position {position} does not keep {guarantee.name} as it reads back from its file. It "
            "was not published."
        )

    def _lint(self, paths: Sequence[Path]) -> None:
        if self._format == "parquet":
            finding = judge_files(sum(notes_in(path) for path in paths), 0)
            settle([finding] if finding else [], ())

    def certify(self, admitted: Admitted, summary: Mapping[str, Any]) -> None:
        """Account for snapshots that are in place: the index, the summary, and the certificate of both."""
        assert isinstance(admitted, AdmittedSnapshots)
        self._index.append(admitted.lines)
        if admitted.tables is not None:
            self._columns = self._columns or EventsForm().columns(admitted.tables, self._n_withheld)
        if admitted.tables is not None and admitted.verdicts:
            pairs = zip(self._guarantees, self._verdicts or admitted.verdicts, admitted.verdicts, strict=True)
            self._verdicts = tuple(guarantee.merge(both) for guarantee, *both in pairs)
            self._kind, self._timezone = admitted.tables.times.dtype.str, admitted.tables.timezone
        content = summary_bytes(summary)
        write_aside(self._folder / SUMMARY, content).put_in_place()
        if self._columns is None:
            return
        final = self._certificate(summary, content).sealed()
        write_aside(self._folder / cert.FILE_NAME, final.as_bytes()).put_in_place()

    def _certificate(self, summary: Mapping[str, Any], content: bytes) -> cert.Certificate:
        assert self._columns is not None
        account = self._index.account
        verdicts = self._verdicts if account.n_with_events else [_not_yet(guarantee) for guarantee in self._guarantees]
        draft = certify(
            recipe=replace(self._recipe, figures=_figures(summary)),
            summary=METHOD,
            guarantees=tuple(zip(self._guarantees, verdicts, strict=True)),
            scores={},
            risks={},
            figures={},
            form="events",
            counts=account.counts(int(summary["events"]["suppressed"])),
            time=account.time(self._kind, self._timezone),
            input=cert.InputPart(kind="stream", sha256=(), rows=None, reading={}, panel_sha256=None),
            columns=self._columns,
            pseudonyms="random",
            files={INDEX_FILE: self._index.part, SUMMARY: cert.digest_bytes(content)},
        )
        part = cert.StreamPart(
            first=account.first_number, snapshots=account.n_snapshots, finished=bool(summary["finished"])
        )
        return draft.model_copy(update={"stream": part})

    def sync(self) -> None:
        """Wait until the index and the certificate are on disk."""
        self._index.sync()
        for name in (SUMMARY, cert.FILE_NAME):
            if (self._folder / name).exists():
                sync(self._folder / name)

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def _figures(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Counts of the method, under the names used for whole tables, for events that have left the window."""
    events = summary["events"]
    counts = {name: events[name] for name in ("published", "suppressed")}
    return {
        "events": sum(counts.values()),
        **counts,
        "moved": summary["moved"],
        **summary["method"].get("figures", {}),
    }


def _not_yet(guarantee: Guarantee) -> Verdict:
    """The verdict on a stream with no published event yet."""
    nothing = pl.DataFrame(schema={TIME: pl.Int64, GROUP: pl.Int64, "": pl.Int64, COUNT: pl.Int64})
    required = guarantee.check(EventTables(nothing.select(TIME, GROUP), nothing, (), "")).required
    return Verdict("not judged", None, required, None, "no event is published yet")


def certify_in_place(
    folder: Path,
    guarantees: Sequence[Guarantee],
    recipe: Recipe,
    *,
    quasi: tuple[str, ...],
    sensitive: str,
    n_withheld: int,
) -> None:
    """Take the snapshots that an engine has written to a folder, as Parquet and with a summary, through the gate."""
    indexed = read_index(folder)
    n_published = indexed[-1].number if indexed else 0
    gate = StreamGate(folder, guarantees, recipe, "parquet", n_withheld=n_withheld, n_published=n_published)
    try:
        gate.certify(gate.admit_in_place(quasi, sensitive), json.loads((folder / SUMMARY).read_bytes()))
        gate.sync()
    finally:
        gate.close()
