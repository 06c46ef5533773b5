"""The side-channel lint of a release in parts: the same rules, by summaries and samples.

Exact: notes in files, instants, gaps and sizes of groups. Decimals are counted exactly, in series. The order of rows
is judged on a sample. That no identifier survives follows from how parts are written: their columns are the pseudonym,
the instant and numbers; that names are pseudonyms of this release is asked of the sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.engines.blocks import PUBLISHED, BlockCandidate, chances
from shoal.engines.contract import Blocks
from shoal.engines.pseudonyms import NAME, rename
from shoal.engines.rows import ID, ROW, SUBJECT, unpack
from shoal.model import Guarantee
from shoal.release.certificate import CountsPart
from shoal.release.lint import Finding
from shoal.release.lint.file_metadata import judge_files, notes_in, odd_dates
from shoal.release.lint.gaps import finding_of as gaps_finding
from shoal.release.lint.group_sizes import OF_WHOLE_SERIES, judge_sizes
from shoal.release.lint.phase import judge_instants
from shoal.release.lint.precision import COMPUTED, NOTHING, different, precisions, rare_by
from shoal.release.lint.precision import finding_of as precision_finding
from shoal.release.lint.row_order import finding_of as order_finding
from shoal.release.lint.row_order import is_in_order
from shoal.release.lint.written import Crowd
from shoal.release.parts_counts import tally_keys

SAMPLE = 20_000
"""About how many rows the order is judged by."""

_MOST_TOLD = 24
"""More different values than this are never told by chance with too few decimals, of 10^18 series."""

_NOTES = pa.schema([("n", pa.int64())])
_NAMES = pa.schema([(ID, pa.string()), (NAME, pa.string())])
_GAPS = pa.schema([("gaps", pa.binary()), (SUBJECT, pa.string())])
_KINDS = ("precision", "told", "precision_before", "told_before")
_DECIMALS = pa.schema([*((name, pa.int64()) for name in _KINDS), ("n", pa.int64())])


@dataclass(frozen=True, eq=False)
class WrittenRelease:
    """What the lint looks at: a folder in parts that is not in place yet, beside what it was made from."""

    folder: Path
    candidate: BlockCandidate
    guarantees: Sequence[Guarantee]
    key: bytes
    began: float
    parts: Sequence[str]
    counts: CountsPart

    @property
    def disjoint(self) -> bool:
        """Whether nobody has two series, so that nobody is in two groups."""
        return self.counts.series == self.counts.subjects

    @property
    def crowd(self) -> Crowd:
        """What the guarantees ask for."""
        return Crowd.asked(self.guarantees)


def lint_parts(written: WrittenRelease) -> tuple[Finding, ...]:
    """What the release tells beside what it is meant to tell, in the order of the rules."""
    clock = written.candidate.clock
    found = (
        _row_order(written),
        _files(written),
        _decimals(written),
        judge_instants(clock.times, clock.timezone),
        _gaps(written),
        _sizes(written),
    )
    return tuple(finding for finding in found if finding is not None)


def _row_order(written: WrittenRelease) -> Finding | None:
    """Names in the order of the file against ids in theirs, which is the order of tables that were sorted."""
    candidate = written.candidate
    engine = candidate.panel.engine
    drawn = engine.map(candidate.table, _Drawn(min(1.0, SAMPLE / max(1, candidate.n_series))), _IDS)
    rows = engine.collect(rename(engine, drawn, written.key)).sort_by(NAME)
    ids = np.array(rows[ID].to_pylist(), dtype=object)
    ranks = np.empty(len(ids), dtype=np.int64)
    ranks[np.argsort(ids, kind="stable")] = np.arange(len(ids))
    return order_finding(f"The {len(ids)} rows that were drawn follow their ids") if is_in_order(ranks) else None


_IDS = pa.schema([(ID, pa.string())])


@dataclass(frozen=True)
class _Drawn:
    share: float

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            yield block.select([ID]).filter(pa.array(chances(block.column(ID), 3) < self.share))


def _files(written: WrittenRelease) -> Finding | None:
    engine = written.candidate.panel.engine
    listed = engine.scatter(pa.table({"file": pa.array(list(written.parts), pa.string())}))
    found = engine.collect(engine.map(listed, _CountNotes(str(written.folder)), _NOTES))
    files = [written.folder / name for name in written.parts]
    files += [path for path in written.folder.iterdir() if path.is_file()]
    return judge_files(sum(found["n"].to_pylist()), odd_dates(written.folder, files, written.began))


@dataclass(frozen=True)
class _CountNotes:
    folder: str

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            n = sum(notes_in(Path(self.folder) / name) for name in block.column("file").to_pylist())
            yield pa.record_batch([pa.array([n], pa.int64())], schema=_NOTES)


def _gaps(written: WrittenRelease) -> Finding | None:
    candidate, crowd = written.candidate, written.crowd
    if not written.counts.missing or candidate.form != "values":
        return None
    engine = candidate.panel.engine
    patterns = engine.map(candidate.table, _Gaps(by_series=crowd.per == "series"), _GAPS)
    few = {size: count for size, count in tally_keys(engine, patterns, ["gaps"]).items() if int(size) < crowd.size}
    n_few = sum(int(size) * count for size, count in few.items())
    return gaps_finding(f"Series of {n_few} subjects have a pattern", crowd.size) if n_few else None


@dataclass(frozen=True)
class _Gaps:
    """The pattern of gaps of each series."""

    by_series: bool

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            packed = np.packbits(np.isnan(unpack(block.column(PUBLISHED))), axis=1)
            offsets = np.arange(len(packed) + 1, dtype=np.int32) * np.int32(packed.shape[1])
            rows = pa.Array.from_buffers(
                pa.binary(), len(packed), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(packed))]
            )
            yield pa.record_batch([rows, block.column(ID if self.by_series else SUBJECT)], schema=_GAPS)


def _sizes(written: WrittenRelease) -> Finding | None:
    named = {guarantee.name for guarantee in written.guarantees}
    if written.candidate.form == "values" and "nlk-anonymity" in named:
        return None
    return judge_sizes(
        {int(size): n for size, n in written.counts.group_sizes.items()},
        written.crowd.size,
        alone_is_usual=written.candidate.form == "values" and not named & OF_WHOLE_SERIES,
        disjoint=written.disjoint,
    )


def _decimals(written: WrittenRelease) -> Finding | None:
    """Precisions of published series and of their originals, counted together; crowds are counted in series."""
    candidate, crowd = written.candidate, written.crowd.size
    if candidate.form != "values":
        return None
    engine = candidate.panel.engine
    found = engine.collect(engine.map(candidate.table, _CountDecimals(), _DECIMALS))
    counted: dict[tuple[int, ...], int] = {}
    for *kind, n in zip(*(found[name].to_pylist() for name in (*_KINDS, "n")), strict=True):
        counted[tuple(kind)] = counted.get(tuple(kind), 0) + n
    n_series = sum(counted.values())
    if not n_series:
        return None
    # As many rows of each kind as make a crowd alone are as good as more.
    kinds = np.repeat(np.array(list(counted)), [min(n, crowd) for n in counted.values()], axis=0)
    rows = np.arange(len(kinds))
    after, before = (rare_by(kinds[:, i], kinds[:, i + 1].astype(float), rows, crowd, n_series) for i in (0, 2))
    kept = {tuple(map(int, kind)) for kind in kinds[after & before & (kinds[:, 0] == kinds[:, 2])]}
    n_kept = sum(counted[kind] for kind in kept)
    return precision_finding(f"{n_kept} published series have", crowd) if n_kept else None


@dataclass(frozen=True)
class _CountDecimals:
    """How many series have which precision, published and before."""

    def __call__(self, blocks: Blocks) -> Blocks:
        for block in blocks:
            kinds = np.stack([*_decimals_of(block.column(PUBLISHED)), *_decimals_of(block.column(ROW))], axis=1)
            found, counts = np.unique(kinds, axis=0, return_counts=True)
            yield pa.record_batch([*(pa.array(column) for column in found.T), pa.array(counts)], schema=_DECIMALS)


def _decimals_of(column: Any) -> tuple[Any, Any]:
    rows = unpack(column)
    found = precisions(rows)
    told = np.zeros(len(rows), dtype=np.int64)
    some = np.flatnonzero((found != NOTHING) & (found < COMPUTED))
    told[some] = np.minimum(different(rows[some]), _MOST_TOLD)
    return found, told
