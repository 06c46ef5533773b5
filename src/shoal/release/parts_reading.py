"""A release in parts, read where an engine runs: part by part, in blocks, never all at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockForm, BlockPublished
from shoal.engines.contract import Blocks, Engine
from shoal.engines.rows import ID, SUBJECT
from shoal.release.canonical import BLOCK_ROWS, count_odd_names, parquet_blocks
from shoal.release.certificate import Certificate, FilePart, digest_file
from shoal.release.files import NotAPanelError, column_times
from shoal.release.parts_layout import WORDS, Layout, PositionError
from shoal.release.parts_names import DATA, PATTERNS, parts_of

_FILE = "file"
_READ = pa.schema([(ID, pa.string()), (SUBJECT, pa.string()), (PUBLISHED, pa.binary())])
_READ_WORDS = pa.schema([*_READ, (LEVEL, pa.int64()), (WORD, pa.string())])
_DIGEST = pa.schema([(_FILE, pa.string()), ("sha256", pa.string()), ("bytes", pa.int64())])
_SCAN = pa.schema(
    [
        (_FILE, pa.string()),
        ("series", pa.int64()),
        ("missing", pa.int64()),
        ("odd_names", pa.int64()),
        ("first", pa.string()),
        ("last", pa.string()),
        ("problem", pa.string()),
    ]
)


@dataclass(frozen=True, eq=False)
class PartsPublished(BlockPublished):
    """What is published in the parts of a release; subjects are the pseudonyms.

    Parameters
    ----------
    n_missing
        Values that are not published.
    n_odd_names
        Names that are not written as pseudonyms are.
    """

    n_missing: int
    n_odd_names: int


def digest_parts(engine: Engine, folder: Path, names: list[str]) -> dict[str, FilePart]:
    """SHA-256 and size of each part, worked out where the engine runs."""
    if not names:
        return {}
    found = engine.collect(engine.map(_listed(engine, names), _Digest(str(folder)), _DIGEST))
    return {row[_FILE]: FilePart(sha256=row["sha256"], bytes=row["bytes"]) for row in found.to_pylist()}


def read_parts(engine: Engine, folder: Path, certificate: Certificate) -> PartsPublished:
    """Everything that is published, on the engine; raises NotAPanelError where the parts are no whole panel.

    Every part is read once here, to see that its series are whole, at the same instants and in order, which also
    means that no name is there twice.
    """
    form: BlockForm = "envelopes" if certificate.form == "envelopes" else "values"
    parts = parts_of(certificate.files)
    channels, zone = certificate.columns.channels, certificate.time.timezone
    _refuse_more_rows(folder, certificate)
    first = _first_instants(folder, parts[0], certificate)
    layout = Layout(form, first, zone, channels)
    if form == "envelopes" and [Path(name).name for name in parts] != [
        Path(name).name for name in parts_of(certificate.files, PATTERNS)
    ]:
        raise NotAPanelError(f"{PATTERNS} does not have the parts of {DATA}.")
    files = _listed(engine, parts)
    found = engine.collect(engine.map(files, _Scan(layout, str(folder)), _SCAN)).sort_by(_FILE).to_pylist()
    if problems := [f"{row[_FILE]} {row['problem']}" for row in found if row["problem"]]:
        more = f" ({len(problems) - 1} more part(s) are wrong)" if problems[1:] else ""
        raise NotAPanelError(f"{problems[0]}{more}")
    for one, other in pairwise(found):
        if not one["last"] < other["first"]:
            raise NotAPanelError(
                f"{one[_FILE]} and {other[_FILE]} are not in order, or have a series in common: series are sorted by "
                "their pseudonyms over all parts"
            )
    schema = _READ_WORDS if form == "envelopes" else _READ
    return PartsPublished(
        engine=engine,
        table=engine.map(files, _Read(layout, str(folder)), schema),
        clock=layout.clock,
        form=form,
        n_series=sum(row["series"] for row in found),
        n_missing=sum(row["missing"] for row in found),
        n_odd_names=sum(row["odd_names"] for row in found),
    )


def _refuse_more_rows(folder: Path, certificate: Certificate) -> None:
    """A small part may unpack to any size; its footer says so before."""
    n_series = certificate.counts.series
    for table, most in ((DATA, n_series * certificate.counts.instants), (PATTERNS, n_series)):
        n_rows = 0
        for name in parts_of(certificate.files, table):
            with suppress(OSError, pa.ArrowException):  # what cannot be read is told where it is read
                n_rows += pq.read_metadata(folder / name).num_rows
        if n_rows > most:
            raise NotAPanelError(f"the parts of {table} have {n_rows} rows, release.json counts {most}")


def _listed(engine: Engine, names: list[str]) -> Any:
    return engine.scatter(pa.table({_FILE: pa.array(names, pa.string())}))


def _first_instants(folder: Path, name: str, certificate: Certificate) -> NDArray[Any]:
    """The instants of the first series: those that all others must have."""
    length, ended, found = 0, False, []
    try:
        with pq.ParquetFile(folder / name, pre_buffer=False) as file:
            name_of_first = None
            for batch in file.iter_batches(BLOCK_ROWS, columns=["id", "time"], use_threads=False):
                if not batch.num_rows:
                    continue
                name_of_first = batch["id"][0] if name_of_first is None else name_of_first
                other = pc.fill_null(pc.not_equal(batch["id"], name_of_first), True).to_numpy(zero_copy_only=False)
                ended = bool(other.any())
                found.append(column_times(batch)[: int(other.argmax()) if ended else None])
                length += len(found[-1])
                if ended or length > certificate.counts.instants:
                    break
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError):
        raise NotAPanelError(f"{name} cannot be read: it is truncated, or has other columns.") from None
    if not 0 < length <= certificate.counts.instants:
        raise NotAPanelError(f"{name} is no longer a whole panel: rows are missing, added or out of order.")
    return np.concatenate(found)


@dataclass(frozen=True)
class _Digest:
    folder: str

    def __call__(self, blocks: Blocks) -> Blocks:
        for name in _names(blocks):
            part = digest_file(Path(self.folder) / name)
            yield pa.RecordBatch.from_pylist(
                [{_FILE: name, "sha256": part.sha256, "bytes": part.bytes}], schema=_DIGEST
            )


@dataclass(frozen=True)
class _Scan:
    """Look through parts without keeping a row."""

    layout: Layout
    folder: str

    def __call__(self, blocks: Blocks) -> Blocks:
        for name in _names(blocks):
            yield pa.RecordBatch.from_pylist([{_FILE: name, **self._look_through(name)}], schema=_SCAN)

    def _look_through(self, name: str) -> dict[str, Any]:
        nothing = {"series": 0, "missing": 0, "odd_names": 0, "first": "", "last": ""}
        n_series = n_missing = n_odd = 0
        first = last = ""
        try:
            for names, _, missing, *_ in _series(self.layout, Path(self.folder), name):
                if n_series == 0:
                    first = names[0].as_py()
                before = pa.concat_arrays([pa.array([last], pa.string()), names[:-1]]) if n_series else names[:-1]
                after = names if n_series else names[1:]
                if not pc.all(pc.less(before, after)).as_py() and len(after):
                    raise NotAPanelError("has series that are not in the order of their pseudonyms, or twice")
                n_odd += count_odd_names(names)
                n_series, n_missing, last = n_series + len(names), n_missing + missing, names[-1].as_py()
        except NotAPanelError as error:
            return nothing | {"problem": str(error)}
        if not n_series:
            return nothing | {"problem": "is empty"}
        counted = {"series": n_series, "missing": n_missing, "odd_names": n_odd}
        return counted | {"first": first, "last": last, "problem": ""}


@dataclass(frozen=True)
class _Read:
    """Read parts as rows of an engine."""

    layout: Layout
    folder: str

    def __call__(self, blocks: Blocks) -> Blocks:
        for name in _names(blocks):
            for names, rows, _, *words in _series(self.layout, Path(self.folder), name):
                schema = _READ_WORDS if words else _READ
                yield pa.record_batch([names, names, rows, *words], schema=schema)


def _names(blocks: Blocks) -> Iterator[str]:
    for block in blocks:
        yield from block.column(_FILE).to_pylist()


def _series(layout: Layout, folder: Path, name: str) -> Iterator[tuple[Any, ...]]:
    """Names, bytes and count of gaps of the series in a part, some at a time; of envelopes levels and words as well."""
    n_seen = 0
    words = _words(folder, name, layout.series_at_once) if layout.form == "envelopes" else None
    try:
        for rows in _chunks(folder / name, layout.schema, layout.series_at_once * len(layout.times)):
            try:
                names, published, missing = layout.series(rows)
            except PositionError as error:
                raise error.moved(n_seen) from None
            n_seen += len(names)
            if words is None:
                yield names, published, missing
                continue
            found = next(words, None)
            if found is None or not found["id"].combine_chunks().equals(names):
                raise NotAPanelError(f"and its part of {PATTERNS} do not name the same series in the same order")
            yield names, published, missing, found["level"].combine_chunks(), found["pattern"].combine_chunks()
        if words is not None and next(words, None) is not None:
            raise NotAPanelError(f"and its part of {PATTERNS} do not name the same series in the same order")
    except (OSError, pa.ArrowException, ValueError, TypeError):
        raise NotAPanelError("cannot be read: it is truncated, has other columns, or is no Parquet table") from None


def _words(folder: Path, name: str, n_series: int) -> Iterator[pa.Table]:
    return _chunks(folder / PATTERNS / Path(name).name, WORDS, n_series)


def _chunks(path: Path, schema: pa.Schema, n_rows: int) -> Iterator[pa.Table]:
    """The rows of a file, so many at a time, wherever its row groups end; raises unless the columns are these."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    try:
        for block in parquet_blocks(path, schema, n_rows):
            if any(block[name].null_count for name in _KEYS & set(schema.names)):
                raise NotAPanelError("has rows without a name or an instant")
            waiting.append(block)
            n_waiting += block.num_rows
            while n_waiting >= n_rows:
                table = pa.concat_tables(waiting)
                yield table.slice(0, n_rows).combine_chunks()
                waiting, n_waiting = [table.slice(n_rows)], n_waiting - n_rows
    except KeyError:
        raise NotAPanelError("has other columns than were released") from None
    if n_waiting:
        yield pa.concat_tables(waiting).combine_chunks()


_KEYS = {"id", "time", "level", "pattern"}
