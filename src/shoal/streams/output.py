"""Published snapshots as files, and the running summary next to them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from shoal.errors import ReleaseError
from shoal.files.durable import Aside, write_aside
from shoal.model import EventTables, Suppression, ValueSuppression
from shoal.model.event_kinds import as_text, from_text
from shoal.model.event_tables import COUNT
from shoal.streams.checkpoint import refuse_unless_counts

if TYPE_CHECKING:
    from shoal.methods import Reposition
    from shoal.streams.arrivals import Arrivals
    from shoal.streams.reposition import PublishedSnapshot

FileFormat = Literal["parquet", "csv"]
SUMMARY = "summary.json"


@dataclass(frozen=True)
class PublishedTotals:
    """What was published so far."""

    snapshots: int = 0
    events: int = 0
    suppressed: int = 0
    moved: dict[int, int] = field(default_factory=dict)
    """How many published events were moved by how many snapshots; 0 is not moved."""
    values: dict[str, tuple[int, int]] = field(default_factory=dict)
    """For each sensitive value, how many events were published and how many suppressed: for the publisher only."""
    figures: dict[str, Any] = field(default_factory=dict)
    """The operator's account of its work, for the recipe."""

    def after(self, published: Sequence[PublishedSnapshot], figures: Mapping[str, Any]) -> PublishedTotals:
        """Add some snapshots, and the operator's account so far."""
        totals = self
        for snapshot in published:
            totals = totals.plus(snapshot)
        return replace(totals, figures=dict(figures))

    def plus(self, snapshot: PublishedSnapshot) -> PublishedTotals:
        """Add one snapshot."""
        distances = sorted({*self.moved, *snapshot.moved})
        moved = {d: self.moved.get(d, 0) + snapshot.moved.get(d, 0) for d in distances}
        values = dict(self.values)
        for value, published, suppressed in (
            *((value, n, 0) for value, n in _published_values(snapshot.tables).items()),
            *((value, 0, n) for value, n in snapshot.suppressed.items()),
        ):
            before = values.get(value, (0, 0))
            values[value] = (before[0] + published, before[1] + suppressed)
        return PublishedTotals(
            self.snapshots + 1,
            self.events + snapshot.tables.n_events,
            self.suppressed + snapshot.n_suppressed,
            moved,
            values,
            self.figures,
        )

    @property
    def suppression(self) -> Suppression:
        """What was suppressed of all events that have left the window."""
        # A stream started before values were counted has only partial figures.
        counted = sum(kept + lost for kept, lost in self.values.values()) == self.events + self.suppressed
        losses = [ValueSuppression(value, kept + lost, kept) for value, (kept, lost) in self.values.items() if counted]
        losses.sort(key=lambda loss: (-loss.before, str(loss.value)))
        return Suppression(self.events, self.suppressed, "events", tuple(losses))

    def facts(self) -> dict[str, Any]:
        """What JSON can hold."""
        moved = {str(distance): number for distance, number in self.moved.items()}
        values = {value: list(pair) for value, pair in self.values.items()}
        known = {"snapshots": self.snapshots, "events": self.events, "suppressed": self.suppressed}
        return known | {"moved": moved, "values": values, "figures": self.figures}

    @classmethod
    def restored(cls, facts: Mapping[str, Any]) -> PublishedTotals:
        """Continue from facts."""
        moved = {int(distance): number for distance, number in facts["moved"].items()}
        values = {value: (kept, lost) for value, (kept, lost) in facts.get("values", {}).items()}
        figures = dict(facts.get("figures", {}))
        totals = cls(facts["snapshots"], facts["events"], facts["suppressed"], moved, values, figures)
        refuse_unless_counts(totals.snapshots, totals.events, totals.suppressed)
        refuse_unless_counts(*moved, *moved.values(), *(number for pair in values.values() for number in pair))
        return totals


def summarise(method: Reposition, arrivals: Arrivals, totals: PublishedTotals, *, finished: bool) -> dict[str, Any]:
    """The figures of a stream so far: counts only."""
    arrived = arrivals.arrived
    taken = arrived.events - sum(arrived.rejected.values())
    return {
        "method": {"name": method.name, "parameters": method.parameters, "figures": totals.figures},
        "events": {
            "arrived": arrived.events,
            "taken": taken,
            "published": totals.events,
            "suppressed": totals.suppressed,
            "suppressed_share": round(totals.suppressed / max(1, totals.events + totals.suppressed), 4),
            "waiting": taken - totals.events - totals.suppressed,
        },
        "snapshots": {"closed": arrivals.n_closed, "published": totals.snapshots},
        "moved": totals.facts()["moved"],
        "rejected": arrived.rejected,
        "out_of_order": arrived.out_of_order,
        **({} if arrivals.subject is None else {"repeated": arrivals.n_repeated}),
        "position": arrivals.position.facts(),
        "finished": finished,
    }


def _published_values(tables: EventTables) -> dict[str, int]:
    """How many published events have each sensitive value, written as text."""
    if tables.counts is None:
        values, numbers = tables.records[tables.sensitive], np.ones(len(tables.records))
    else:
        values, numbers = tables.counts[tables.sensitive], tables.counts[COUNT].to_numpy()
    texts = values if values.dtype == pl.String else values.cast(pl.String)
    encoded = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).dictionary_encode("encode")
    sums = np.bincount(encoded.indices.to_numpy(), weights=numbers, minlength=len(encoded.dictionary))
    return dict(zip(encoded.dictionary.to_pylist(), sums.astype(np.int64).tolist(), strict=True))


def check_new(folder: Path) -> None:
    """Refuse a folder that is not empty: a stream starts in its own folder."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if not folder.is_dir() or folder.is_symlink():
        raise ReleaseError(f"{str(folder)!r} exists and is not a folder. Choose another name.")
    if any(folder.iterdir()):
        raise ReleaseError(
            f"{str(folder)!r} is not empty. Choose another folder, or continue the stream that was written there by "
            "giving its --private folder."
        )


@dataclass(frozen=True, eq=False)
class WrittenSnapshot:
    """A snapshot in temporary files: what reads back from them, and their digests by name."""

    number: int
    asides: tuple[Aside, ...]
    tables: EventTables
    digests: dict[str, tuple[str, int]]
    """SHA-256 and bytes of each file."""


def write_snapshot(folder: Path, snapshot: PublishedSnapshot, file_format: FileFormat) -> WrittenSnapshot:
    """Write the tables of a snapshot to temporary files and read them back; the names count from 1."""
    asides: list[Aside] = []
    tables_read: dict[str, pl.DataFrame] = {}
    digests: dict[str, tuple[str, int]] = {}
    for name, table in published_tables(snapshot.tables).items():
        place = folder / f"{name}-{snapshot.number + 1:08d}.{file_format}"
        content = _to_bytes(table, file_format)
        asides.append(write_aside(place, content))
        tables_read[name] = _read_back(asides[-1].path, file_format, table.schema)
        if not tables_read[name].equals(table):
            for written in asides:
                written.path.unlink()
            raise ReleaseError(f"{place.name} does not read back as it was written. Nothing of it was published.")
        digests[place.name] = (hashlib.sha256(content).hexdigest(), len(content))
    tables = replace(snapshot.tables, records=tables_read["data"], counts=tables_read.get("sensitive"))
    return WrittenSnapshot(snapshot.number, tuple(asides), tables, digests)


def complete_summary(folder: Path, summary: Mapping[str, Any]) -> str:
    """Write the summary of a finished stream if a kill at its end prevented it; returns a message."""
    try:
        is_there = json.loads((folder / SUMMARY).read_bytes()) == json.loads(json.dumps(summary))
    except (OSError, ValueError):
        is_there = False
    if is_there:
        return "This stream is finished; nothing was written."
    write_summary(folder, summary)
    return "This stream is finished; its summary was completed, and nothing else was written."


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Replace the running summary; not synced, because it can be restored from the checkpoint."""
    write_aside(folder / SUMMARY, summary_bytes(summary)).put_in_place()


def summary_bytes(summary: Mapping[str, Any]) -> bytes:
    """The only serialisation of a summary."""
    return (json.dumps(summary, indent=2, allow_nan=False) + "\n").encode()


def published_tables(tables: EventTables) -> dict[str, pl.DataFrame]:
    """The tables of a snapshot by the names of their files."""
    return {"data": tables.records} if tables.counts is None else {"data": tables.records, "sensitive": tables.counts}


def _to_bytes(table: pl.DataFrame, file_format: FileFormat) -> bytes:
    buffer = io.BytesIO()
    if file_format == "parquet":
        table.write_parquet(buffer)
    else:
        table.with_columns(as_text(column) for column in table).write_csv(buffer)
    return buffer.getvalue()


def _read_back(path: Path, file_format: FileFormat, schema: Mapping[str, Any]) -> pl.DataFrame:
    if file_format == "parquet":
        # With Arrow on this thread: polars would use its own threads and wait for them.
        with pq.ParquetFile(path) as file:
            return pl.DataFrame(file.read(use_threads=False), schema=dict(schema))
    texts = pl.read_csv(path, infer_schema=False, glob=False)
    return pl.DataFrame([from_text(texts[name], kind) for name, kind in schema.items()])
