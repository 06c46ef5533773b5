"""Parts of a release, written where the rows are.

A part is written aside, synced and renamed, and its bytes depend on its rows alone. So a task that is lost is done
again, and one that runs twice writes the same file twice.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.blocks import GROUP, LEVEL, OF, PUBLISHED, WORD, BlockCandidate
from shoal.engines.contract import Blocks
from shoal.engines.pseudonyms import NAME, rename
from shoal.engines.rows import ID, SUBJECT, unpack
from shoal.errors import ReleaseError
from shoal.release.certificate import FilePart, digest_file
from shoal.release.parts_layout import WORDS, Layout
from shoal.release.parts_names import DATA, MOST_BITS, PATTERNS, part_file

PART_BYTES = 64 * 2**20
"""Bytes of values in a part, about, before they are compressed."""

_PART = "part"
_RECEIPT = pa.schema(
    [
        ("file", pa.string()),
        ("sha256", pa.string()),
        ("bytes", pa.int64()),
        ("series", pa.int64()),
        ("missing", pa.int64()),
        ("repeated", pa.int64()),
        ("problem", pa.string()),
    ]
)


@dataclass(frozen=True)
class WrittenParts:
    """What the tasks wrote."""

    files: dict[str, FilePart]
    n_series: int
    n_missing: int


def bits_for(candidate: BlockCandidate, part_bytes: int = PART_BYTES) -> int:
    """Of how many leading bits the parts are, so that each has about that size and fits into a block of the engine."""
    width = candidate.clock.n_instants * candidate.clock.n_channels
    most = min(part_bytes, getattr(candidate.panel.engine, "block_bytes", part_bytes))
    wanted = -(-candidate.n_series * width * 8 // most)
    return min(MOST_BITS, max(0, (wanted - 1).bit_length()))


def write_parts(
    candidate: BlockCandidate, key: bytes, folder: Path, aside: Path, private: Path | None, *, bits: int
) -> WrittenParts:
    """Write everything that is published under names of this key, in parts.

    Parameters
    ----------
    candidate
        What is published.
    key
        The secret of the names.
    folder
        Where the tables go.
    aside
        Where files lie while they are written: on the same file system, and gone in the end.
    private
        Where the map of names and groups goes, in parts of the same names; None: it is forgotten.
    bits
        How many leading bits of a name tell its part.
    """
    engine = candidate.panel.engine
    layout = Layout.of(candidate.form, candidate.clock)
    tables = (DATA, PATTERNS) if candidate.form == "envelopes" else (DATA,)
    for table in tables:
        (folder / table).mkdir()
    columns = [NAME, PUBLISHED, *((LEVEL, WORD) if candidate.form == "envelopes" else ())]
    columns += [_original(candidate), SUBJECT, GROUP] if private is not None else []
    named = rename(engine, candidate.table, key)
    schema = pa.schema([pa.field(_PART, pa.int32()), *(named.schema.field(name) for name in columns)])
    placed = engine.map(named, PlaceInPart(bits, tuple(columns)), schema)
    work = WriteParts(layout, str(folder), str(aside), None if private is None else str(private), _original(candidate))
    receipts = engine.collect(engine.together(placed, [_PART], work, _RECEIPT, order=[NAME])).to_pylist()
    if problems := sorted({str(receipt["problem"]) for receipt in receipts if receipt["problem"]}):
        raise ReleaseError(
            f"A part of the release cannot be written: {problems[0]}. The folder must lie on a file system that this "
            "machine and all workers share, under the same path."
        )
    if any(receipt["repeated"] for receipt in receipts):
        raise ReleaseError("Two series got the same pseudonym. Run again, or use another key.")
    files = {r["file"]: FilePart(sha256=r["sha256"], bytes=r["bytes"]) for r in receipts}
    data = [r for r in receipts if r["file"].startswith(f"{DATA}/")]
    return WrittenParts(dict(sorted(files.items())), sum(r["series"] for r in data), sum(r["missing"] for r in data))


def _original(candidate: BlockCandidate) -> str:
    """The column that names the original of a published series: of slices that of the series they were cut from."""
    return OF if OF in candidate.table.schema.names else ID


@dataclass(frozen=True)
class PlaceInPart:
    """Give every row the number of its part."""

    bits: int
    columns: tuple[str, ...]

    def __call__(self, blocks: Blocks) -> Blocks:
        """The rows, with nothing but the columns that are written."""
        for block in blocks:
            numbers = pa.array(part_numbers(block.column(NAME), self.bits), pa.int32())
            listed = [block.column(name) for name in self.columns]
            yield pa.record_batch([numbers, *listed], names=[_PART, *self.columns])


def part_numbers(names: pa.Array, bits: int) -> NDArray[np.int32]:
    """The leading bits of hexadecimal names, as numbers.

    Examples
    --------
    >>> part_numbers(pa.array(["00ff", "7000", "f000"]), 2).tolist()
    [0, 1, 3]
    """
    digits = np.array(names.to_pylist(), dtype="S4").view(np.uint8).reshape(-1, 4).astype(np.int32)
    values = np.where(digits >= ord("a"), digits - ord("a") + 10, digits - ord("0"))
    number = values @ np.array([1 << 12, 1 << 8, 1 << 4, 1], dtype=np.int32)
    return (number >> (16 - bits)).astype(np.int32)


@dataclass(frozen=True)
class WriteParts:
    """Write the parts of sorted rows, and say what was written."""

    layout: Layout
    folder: str
    aside: str
    private: str | None = None
    original: str = ID

    def __call__(self, blocks: Blocks) -> Blocks:
        """A receipt for each file."""
        writer: _Writer | None = None
        try:
            for number, rows in _by_part(blocks):
                if writer is None or writer.number != number:
                    if writer is not None:
                        yield _receipts(writer.finish())
                    writer = _Writer(self, number)
                writer.add(rows)
            if writer is not None:
                yield _receipts(writer.finish())
        except OSError as error:
            # Told as a row: an error of a worker would be told with everything that the worker knows.
            nothing = {"file": "", "sha256": "", "bytes": 0, "series": 0, "missing": 0, "repeated": 0}
            yield _receipts([nothing | {"problem": error.strerror or "unknown error"}])
        finally:
            if writer is not None:
                writer.clear()


def _receipts(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=_RECEIPT)


def _by_part(blocks: Blocks) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Pieces of blocks that are of one part each."""
    for block in blocks:
        numbers = block.column(_PART).to_numpy()
        bounds = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for first, last in pairwise(bounds):
            if last > first:
                yield int(numbers[first]), block.slice(first, last - first)


@dataclass
class _Writer:
    """One part: its rows so far, and its files."""

    work: WriteParts
    number: int
    n_series: int = 0
    n_missing: int = 0
    n_repeated: int = 0
    last: str | None = None
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    n_waiting: int = 0
    files: dict[str, _File] = field(default_factory=dict)

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows, and write as many as make up a row group."""
        self.waiting.append(rows)
        self.n_waiting += rows.num_rows
        size = self.work.layout.series_at_once
        if self.n_waiting < size:
            return
        table = pa.Table.from_batches(self.waiting)
        first = 0
        while table.num_rows - first >= size:
            self._write(table.slice(first, size))
            first += size
        self.waiting, self.n_waiting = table.slice(first).to_batches(), table.num_rows - first

    def finish(self) -> list[dict[str, object]]:
        """Write the rest and put the files in place."""
        if self.n_waiting:
            self._write(pa.Table.from_batches(self.waiting))
        self.waiting, self.n_waiting = [], 0
        counted = {"series": self.n_series, "missing": self.n_missing, "repeated": self.n_repeated, "problem": ""}
        found = [
            {"file": name, "sha256": part.sha256, "bytes": part.bytes, **counted}
            for name, file in self.files.items()
            if (part := file.put_in_place()) is not None
        ]
        self.files = {}
        return found

    def clear(self) -> None:
        """Remove what was not put in place."""
        for file in self.files.values():
            file.remove()

    def _write(self, rows: pa.Table) -> None:
        rows = rows.combine_chunks()
        names = rows[NAME].combine_chunks()
        # Sorted by name, so that equal ones are neighbours, if need be over the end of what was written before.
        self.n_repeated += int(names[0].as_py() == self.last)
        self.n_repeated += pc.sum(pc.equal(names[1:], names[:-1])).as_py() or 0
        self.last = names[-1].as_py()
        self.n_series += len(names)
        self.n_missing += int(np.isnan(unpack(rows[PUBLISHED])).sum())
        work = self.work
        self._append(DATA, work.layout.table(names, rows[PUBLISHED]))
        if work.layout.form == "envelopes":
            levels, words = rows[LEVEL].combine_chunks(), rows[WORD].combine_chunks()
            listed_words = [names, levels.cast(pa.int64()), words.cast(pa.string())]
            self._append(PATTERNS, pa.table(listed_words, schema=WORDS))
        if work.private is not None:
            self._keep(rows, Path(work.private))

    def _append(self, table: str, rows: pa.Table) -> None:
        name = part_file(table, self.number)
        if name not in self.files:
            self.files[name] = _File.open(Path(self.work.folder) / name, Path(self.work.aside), rows.schema, 0o644)
        self.files[name].writer.write_table(rows, row_group_size=max(1, rows.num_rows))

    def _keep(self, rows: pa.Table, private: Path) -> None:
        """The map of names: with the publisher, for its owner alone."""
        map_rows = rows.select([self.work.original, SUBJECT, NAME, GROUP]).rename_columns(
            ["id", "subject", "pseudonym", "group"]
        )
        if "" not in self.files:
            place = private / Path(part_file(DATA, self.number)).name
            self.files[""] = _File.open(place, private, map_rows.schema, 0o600, told=False)
        self.files[""].writer.write_table(map_rows)


@dataclass
class _File:
    """A file that is written aside."""

    place: Path
    path: Path
    writer: pq.ParquetWriter
    sink: pa.NativeFile
    told: bool

    @classmethod
    def open(cls, place: Path, aside: Path, schema: pa.Schema, mode: int, *, told: bool = True) -> _File:
        path = aside / f".{place.name}.{secrets.token_hex(8)}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
        sink = pa.OSFile(str(path), "wb")
        # zstd, as of releases in one file: half the size of the default at the same speed of reading.
        return cls(place, path, pq.ParquetWriter(sink, schema, compression="zstd"), sink, told)

    def put_in_place(self) -> FilePart | None:
        """Sync and rename it; its digest, unless it stays with the publisher."""
        self.writer.close()
        self.sink.close()
        descriptor = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        digest = digest_file(self.path) if self.told else None
        self.path.rename(self.place)
        return digest

    def remove(self) -> None:
        with suppress(OSError, pa.ArrowException):
            self.writer.close()
            self.sink.close()
        self.path.unlink(missing_ok=True)
